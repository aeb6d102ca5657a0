"""Training steps on RDNA beside TensorFlow's own CPU, each in a process of its own: run it as a program.

    python tests/tensorflow/steps_beside_cpu.py

Keras's ResNet-50 on 8 images of 224 x 224, and 4 layers of BERT-base (768 numbers, 12 heads) on 4 texts of 128 words, in float32, with SGD
and momentum. Prints milliseconds, the least of five steps, and the last loss. Then what predictions of BERT take, with graphs that are
fused and that are left alone.
"""

from __future__ import annotations

import functools
import subprocess
import sys
import time
from typing import Any

MODELS = ("ResNet-50", "BERT")
PREDICTION = "prediction"
DEVICES = ("CPU:0", "RDNA:0")


def resnet() -> tuple[Any, Any, Any]:
    """The model, images and labels."""
    import keras
    import numpy as np

    rng = np.random.default_rng(0)
    model = keras.applications.ResNet50(
        weights=None, input_shape=(224, 224, 3), classes=1000, classifier_activation=None
    )
    return model, rng.random((8, 224, 224, 3), dtype=np.float32), rng.integers(0, 1000, 8)


def bert(layers: int = 4, width: int = 768) -> tuple[Any, Any, Any]:
    """The model, words and classes."""
    import keras
    import numpy as np

    words = keras.Input((128,), dtype="int32")
    x = keras.layers.Embedding(30_522, width)(words)
    for _ in range(layers):
        x = keras.layers.LayerNormalization()(x + keras.layers.MultiHeadAttention(12, width // 12)(x, x))
        wide = keras.layers.Dense(4 * width, activation="gelu")(x)
        x = keras.layers.LayerNormalization()(x + keras.layers.Dense(width)(wide))
    rng = np.random.default_rng(0)
    model = keras.Model(words, keras.layers.Dense(1000)(x[:, 0]))
    return model, rng.integers(0, 30_000, (4, 128)), rng.integers(0, 1000, 4)


def measure(name: str, device: str) -> None:
    """Prints the times of one model on one device."""
    import keras
    import tensorflow as tf
    import tf_rdna

    keras.utils.set_random_seed(0)
    with tf.device(device):
        model, x, y = resnet() if name == "ResNet-50" else bert()
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1e-3, momentum=0.9), loss)
        given = tf.constant(x), tf.constant(y)
        times = []
        for _ in range(7):
            begin = time.perf_counter()
            last = float(model.train_on_batch(*given))
            times.append(time.perf_counter() - begin)
    print(f"{name} on {device}: {min(times[2:]) * 1e3:.0f} ms a step, loss {last:.4f}", flush=True)
    if device.startswith("RDNA"):
        print("on the CPU:", tf_rdna.fallback_report(), flush=True)


def predict(device: str, layers: int = 2) -> None:
    """Prints what predictions of some layers of BERT take."""
    import tensorflow as tf
    import tf_rdna

    for is_fused in (True, False) if device.startswith("RDNA") else (True,):
        tf_rdna.set_fusion_enabled(is_fused)
        with tf.device(device):
            model, x, _ = bert(layers)
            call = tf.function(functools.partial(model, training=False))
            words = tf.constant(x)
            call(words)
            times = []
            for _ in range(6):
                begin = time.perf_counter()
                call(words).numpy()
                times.append(time.perf_counter() - begin)
        how = "" if is_fused else ", not fused"
        print(f"{layers} layers of BERT predict on {device}{how}: {min(times) * 1e3:.2f} ms", flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        name, device = sys.argv[1:]
        if name == PREDICTION:
            predict(device)
        else:
            measure(name, device)
    else:
        for model_name in (*MODELS, PREDICTION):
            for where in DEVICES:
                subprocess.run([sys.executable, __file__, model_name, where], check=True)

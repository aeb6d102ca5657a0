"""Trains Keras's ResNet-50 on the TensorFlow device RDNA, on images that are made up: each class has a pattern of its own under noise.

python examples/tensorflow/resnet50.py --device RDNA:0 --small
"""

from __future__ import annotations

import argparse

import keras
import numpy as np
import tensorflow as tf
import tf_rdna


def images(count: int, size: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Patterns of waves, one for each class, under noise."""
    random = np.random.default_rng(0)
    labels = np.arange(count) % classes
    places = np.linspace(0, 2 * np.pi, size)
    waves = np.sin(np.outer(np.arange(1, classes + 1), places))
    pattern = waves[labels][:, :, None] * waves[labels][:, None, :]
    noise = random.normal(scale=0.3, size=(count, size, size, 3))
    return (pattern[..., None] + noise).astype(np.float32), labels.astype(np.int32)


def main() -> None:
    """Trains, and prints losses, memory and what ran on the CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="RDNA:0", help="where the model is")
    parser.add_argument("--small", action="store_true", help="images of 32 x 32, a few steps")
    parser.add_argument("--rate", type=float, default=1e-4, help="learning rate of Adam")
    parser.add_argument("--seed", type=int, default=0, help="of the weights and the order of the images")
    options = parser.parse_args()
    keras.utils.set_random_seed(options.seed)
    size, count, batch, epochs = (32, 16, 8, 3) if options.small else (224, 1024, 32, 3)
    x, labels = images(count, size, classes=4)
    with tf.device(options.device):
        model = keras.applications.ResNet50(
            weights=None, input_shape=(size, size, 3), classes=4, classifier_activation=None
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(options.rate), loss, metrics=["accuracy"])
        losses = model.fit(x, labels, batch_size=batch, epochs=epochs, verbose=0).history["loss"]
    print(f"ResNet-50 on {options.device}: loss {losses[0]:.3f} -> {losses[-1]:.3f}")
    print("memory:", tf_rdna.config.get_memory_info("RDNA:0"))
    print("on the CPU:", tf_rdna.fallback_report())


if __name__ == "__main__":
    main()

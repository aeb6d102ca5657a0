"""Trains a small BERT that classifies texts on the TensorFlow device RDNA. The texts are made up: their class is which of two words occurs.

python examples/tensorflow/text_classification.py --device RDNA:0 --small
"""

from __future__ import annotations

import argparse
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf_rdna

WORDS = 1000


class Positions(keras.layers.Layer):
    """Adds a vector that is learnt for each place of a text."""

    def build(self, shape: Any) -> None:
        """Makes the vectors."""
        self.table = self.add_weight(shape=shape[1:], initializer="random_normal", name="table")

    def call(self, x: Any) -> Any:
        """The sum."""
        return x + self.table


def bert(layers: int, size: int, heads: int, length: int) -> keras.Model:
    """Attention and wide layers with residual paths and layer normalisation (Devlin et al. 2019), and a classifier over the first place."""
    tokens = keras.Input((length,), dtype="int32")
    x = Positions()(keras.layers.Embedding(WORDS, size)(tokens))
    x = keras.layers.LayerNormalization(epsilon=1e-12)(x)
    for _ in range(layers):
        heard = keras.layers.MultiHeadAttention(heads, size // heads)(x, x)
        x = keras.layers.LayerNormalization(epsilon=1e-12)(x + heard)
        wide = keras.layers.Dense(4 * size, activation=keras.activations.gelu)(x)
        x = keras.layers.LayerNormalization(epsilon=1e-12)(x + keras.layers.Dense(size)(wide))
    return keras.Model(tokens, keras.layers.Dense(2)(keras.layers.Dense(size, activation="tanh")(x[:, 0])))


def texts(count: int, length: int) -> tuple[np.ndarray, np.ndarray]:
    """Texts of words from 10 on, one of which is replaced by word 1 or 2: the class."""
    random = np.random.default_rng(0)
    tokens = random.integers(10, WORDS, size=(count, length))
    labels = random.integers(0, 2, size=count)
    tokens[np.arange(count), random.integers(1, length, size=count)] = labels + 1
    tokens[:, 0] = 0
    return tokens.astype(np.int32), labels.astype(np.int32)


def main() -> None:
    """Trains, and prints accuracy and what ran on the CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="RDNA:0", help="where the model is")
    parser.add_argument("--small", action="store_true", help="two layers of 32, short texts")
    options = parser.parse_args()
    layers, size, heads, length, count, epochs = (
        (1, 32, 4, 8, 256, 25) if options.small else (12, 768, 12, 128, 4096, 3)
    )
    tokens, labels = texts(count, length)
    keras.utils.set_random_seed(1)
    with tf.device(options.device):
        model = bert(layers, size, heads, length)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.AdamW(3e-3 if options.small else 3e-5), loss, metrics=["accuracy"])
        history = model.fit(tokens, labels, batch_size=32, epochs=epochs, verbose=0).history
    print(f"texts on {options.device}: accuracy {history['accuracy'][0]:.2f} -> {history['accuracy'][-1]:.2f}")
    print("on the CPU:", tf_rdna.fallback_report())


if __name__ == "__main__":
    main()

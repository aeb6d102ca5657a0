"""Keras models of the kinds that the device is for, as small as tests want them."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf


def mlp() -> tuple[keras.Model, np.ndarray, np.ndarray]:
    """A perceptron with dropout, and data that can be learnt."""
    random = np.random.default_rng(0)
    x = random.normal(size=(256, 20)).astype(np.float32)
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dropout(0.1), keras.layers.Dense(10)]
    return keras.Sequential(layers), x, x[:, :10].argmax(1).astype(np.int32)


def resnet(dtype: str = "float32") -> tuple[keras.Model, np.ndarray, np.ndarray]:
    """Residual blocks with batch normalisation, strides, padding and pooling, as ResNet-50 has them."""

    def block(x: Any, width: int, stride: int) -> Any:
        short = keras.layers.Conv2D(4 * width, 1, strides=stride)(x)
        short = keras.layers.BatchNormalization()(short)
        x = keras.layers.Conv2D(width, 1, strides=stride)(x)
        x = keras.layers.Activation("relu")(keras.layers.BatchNormalization()(x))
        x = keras.layers.Conv2D(width, 3, padding="same")(x)
        x = keras.layers.Activation("relu")(keras.layers.BatchNormalization()(x))
        x = keras.layers.BatchNormalization()(keras.layers.Conv2D(4 * width, 1)(x))
        return keras.layers.Activation("relu")(keras.layers.Add()([short, x]))

    images = keras.Input((32, 32, 3), dtype=dtype)
    x = keras.layers.ZeroPadding2D(3)(images)
    x = keras.layers.Conv2D(8, 7, strides=2)(x)
    x = keras.layers.Activation("relu")(keras.layers.BatchNormalization()(x))
    x = keras.layers.MaxPooling2D(3, strides=2, padding="same")(x)
    x = block(block(x, 8, 1), 8, 2)
    x = keras.layers.GlobalAveragePooling2D()(x)
    model = keras.Model(images, keras.layers.Dense(10, dtype="float32")(x))
    data = np.random.default_rng(0).normal(size=(8, 32, 32, 3)).astype(np.float32)
    return model, data, (np.arange(8) % 10).astype(np.int32)


class Positions(keras.layers.Layer):
    """Adds a vector that is learnt for each place of a sequence."""

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=shape[1:], initializer="random_normal", name="table")

    def call(self, x: Any) -> Any:
        return x + self.table


def bert(
    layers: int = 2, size: int = 32, words: int = 100, length: int = 12
) -> tuple[keras.Model, np.ndarray, np.ndarray]:
    """Embeddings, attention with a residual path, layer normalisation and gelu, as BERT has them, with a classifier."""
    tokens = keras.Input((length,), dtype="int32")
    x = Positions()(keras.layers.Embedding(words, size)(tokens))
    x = keras.layers.Dropout(0.1)(keras.layers.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(layers):
        heard = keras.layers.MultiHeadAttention(4, size // 4, dropout=0.1)(x, x)
        x = keras.layers.LayerNormalization(epsilon=1e-12)(x + heard)
        wide = keras.layers.Dense(4 * size, activation=keras.activations.gelu)(x)
        x = keras.layers.LayerNormalization(epsilon=1e-12)(
            x + keras.layers.Dropout(0.1)(keras.layers.Dense(size)(wide))
        )
    pooled = keras.layers.Dense(size, activation="tanh")(x[:, 0])
    model = keras.Model(tokens, keras.layers.Dense(2)(pooled))
    random = np.random.default_rng(0)
    return (
        model,
        random.integers(0, words, size=(16, length)).astype(np.int32),
        random.integers(0, 2, size=16).astype(np.int32),
    )


def gradients(model: keras.Model, x: Any, y: Any) -> list[np.ndarray]:
    """Gradients of the cross entropy by the variables that are trained, without dropout."""
    with tf.GradientTape() as tape:
        logits = model(x, training=False)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=tf.cast(logits, tf.float32))
        )
    found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    return [tf.convert_to_tensor(one).numpy() for one in found]

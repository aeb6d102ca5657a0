"""Leaky integrate-and-fire neurons as a Keras layer, trained through a surrogate gradient on the TensorFlow device RDNA.

A neuron adds its inputs to a potential that leaks, and fires when that passes the threshold, which is then taken off it. The derivative of
firing is replaced by 1 / (1 + 10 |v - threshold|)^2 (Zenke & Ganguli 2018). The task: which of two groups of inputs fires first.

    python examples/tensorflow/spiking.py --device RDNA:0 --small
"""

from __future__ import annotations

import argparse
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf_rdna


@tf.custom_gradient
def fires(distance: Any) -> Any:
    """1 where the potential has passed the threshold; the gradient is that of a smooth function."""

    def gradient(upstream: Any) -> Any:
        return upstream / tf.square(1.0 + 10.0 * tf.abs(distance))

    return tf.cast(distance > 0.0, distance.dtype), gradient


class LeakyIntegrateAndFire(keras.layers.Layer):
    """A layer of neurons over spikes of the shape (texts, steps, inputs); it gives spikes of the shape (texts, steps, neurons).

    Args:
        neurons: How many.
        leak: What stays of a potential from step to step.
        threshold: At which a neuron fires.
    """

    def __init__(self, neurons: int, leak: float = 0.9, threshold: float = 1.0) -> None:
        super().__init__()
        self.neurons, self.leak, self.threshold = neurons, leak, threshold

    def build(self, shape: Any) -> None:
        """Makes the weights of the inputs."""
        scale = keras.initializers.RandomNormal(stddev=2.0 / shape[-1] ** 0.5)
        self.weight = self.add_weight(shape=(shape[-1], self.neurons), initializer=scale, name="weight")

    def call(self, spikes: Any) -> Any:
        """Steps are unrolled: each is a few operations on the potentials of all neurons."""
        currents = tf.unstack(spikes @ self.weight, axis=1)
        potential = tf.zeros_like(currents[0])
        fired = []
        for current in currents:
            potential = self.leak * potential + current
            fired.append(fires(potential - self.threshold))
            potential -= self.threshold * fired[-1]
        return tf.stack(fired, axis=1)


def trains(count: int, steps: int, inputs: int) -> tuple[np.ndarray, np.ndarray]:
    """Spikes of two groups of inputs, one of which fires in the first half of the steps and the other one in the second half."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 2, size=count)
    rates = np.full((count, steps, inputs), 0.02)
    halves = (slice(0, steps // 2), slice(steps // 2, steps))
    for place, label in enumerate(labels):
        for half, group in zip(halves, (label, 1 - label), strict=True):
            rates[place, half, group * inputs // 2 : (group + 1) * inputs // 2] = 0.4
    return (random.uniform(size=rates.shape) < rates).astype(np.float32), labels.astype(np.int32)


def main() -> None:
    """Trains, and prints accuracy and what ran on the CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="RDNA:0", help="where the layer is")
    parser.add_argument("--small", action="store_true", help="few neurons and steps")
    options = parser.parse_args()
    neurons, steps, inputs, count, epochs = (32, 10, 16, 256, 20) if options.small else (256, 50, 128, 2048, 30)
    spikes, labels = trains(count, steps, inputs)
    keras.utils.set_random_seed(1)
    with tf.device(options.device):
        layers = [
            LeakyIntegrateAndFire(neurons),
            LeakyIntegrateAndFire(neurons),
            keras.layers.Flatten(),
            keras.layers.Dense(2),
        ]
        model = keras.Sequential(layers)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(3e-3), loss, metrics=["accuracy"])
        history = model.fit(spikes, labels, batch_size=32, epochs=epochs, verbose=0).history
    print(
        f"spiking neurons on {options.device}: accuracy {history['accuracy'][0]:.2f} -> {history['accuracy'][-1]:.2f}"
    )
    print("on the CPU:", tf_rdna.fallback_report())


if __name__ == "__main__":
    main()

"""Training steps on two devices RDNA by collectives of amdgpu beside those of TensorFlow: run it as a program.

    AMDGPU_TENSORFLOW_DEVICE=cpu,cpu python tests/tensorflow/steps_of_replicas.py

A perceptron of four layers of 1024, 64 rows of 256 numbers on each device, in float32, with SGD and momentum. Prints milliseconds, the
least of twenty steps, in turns of one process, and what the collectives did.
"""

from __future__ import annotations

import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf
import tf_rdna

DEVICES = ("RDNA:0", "RDNA:1")
STRATEGIES = {
    "amdgpu": lambda: tf_rdna.MirroredStrategy(DEVICES),
    "TensorFlow": lambda: tf.distribute.MirroredStrategy(DEVICES),
    "TensorFlow, to one device": lambda: tf.distribute.MirroredStrategy(
        DEVICES, cross_device_ops=tf.distribute.ReductionToOneDevice()
    ),
}


def stepper(strategy: Any) -> Any:
    """A function that takes a step of a new model and gives its loss."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Dense(1024, activation="relu") for _ in range(4)]
        model = keras.Sequential([*layers, keras.layers.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1e-2, momentum=0.9), loss)
    x = np.random.default_rng(0).normal(size=(128, 256)).astype(np.float32)
    y = x[:, :10].argmax(1)
    return lambda: float(model.train_on_batch(x, y))


def main() -> None:
    """Prints a line for each strategy."""
    steppers = {name: stepper(make()) for name, make in STRATEGIES.items()}
    times: dict[str, list[float]] = {name: [] for name in steppers}
    losses = {}
    for turn in range(23):
        for name, step in steppers.items():
            begin = time.perf_counter()
            losses[name] = step()
            if turn >= 3:
                times[name].append(time.perf_counter() - begin)
    for name, taken in times.items():
        print(f"{name}: {min(taken) * 1e3:.1f} ms a step, loss {losses[name]:.5f}")
    print(tf_rdna.collective_report())


if __name__ == "__main__":
    main()

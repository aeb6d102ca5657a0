"""Collectives and training steps on two devices RDNA, those of amdgpu beside those of TensorFlow: run it as a program.

    AMDGPU_TENSORFLOW_DEVICE=cpu,cpu python tests/tensorflow/steps_of_replicas.py
    AMDGPU_TENSORFLOW_DEVICE=cuda:0,cuda:1 python tests/tensorflow/steps_of_replicas.py --width 2048 --rows 256

A perceptron of four layers, rows of 256 numbers for both devices together, in float32, with SGD and momentum: milliseconds, the least of
twenty steps, in turns of one process. Then all-reduces of one tensor of 256 MB and of 64 of 64 KB, the least of four, and what the
collectives did. AMDGPU_TENSORFLOW_COLLECTIVES chooses the engine.
"""

from __future__ import annotations

import argparse
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


def stepper(strategy: Any, width: int, rows: int) -> Any:
    """A function that takes a step of a new model and gives its loss."""
    keras.utils.set_random_seed(0)
    with strategy.scope():
        layers = [keras.layers.Dense(width, activation="relu") for _ in range(4)]
        model = keras.Sequential([*layers, keras.layers.Dense(10)])
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.SGD(1e-2, momentum=0.9), loss)
    x = np.random.default_rng(0).normal(size=(rows, 256)).astype(np.float32)
    y = x[:, :10].argmax(1)
    return lambda: float(model.train_on_batch(x, y))


def seconds_of_all_reduce(strategy: Any, shapes: list[tuple[int, ...]]) -> float:
    """Of the mean of tensors over replicas."""

    def reduced(values: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.MEAN, values)

    @tf.function
    def start() -> Any:
        return strategy.run(lambda: [tf.ones(shape) for shape in shapes])

    @tf.function
    def four(given: Any) -> Any:
        for _ in range(4):
            given = strategy.run(reduced, args=(given,))
        return given

    def first_numbers(values: Any) -> list[float]:
        # Behind this everything is computed.
        return [float(tf.reshape(one, [-1])[0]) for one in strategy.experimental_local_results(values[0])]

    given = start()
    assert first_numbers(four(given)) == [1.0, 1.0]
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        first_numbers(four(given))
        times.append((time.perf_counter() - begin) / 4)
    return min(times)


def main() -> None:
    """Prints lines for each strategy."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=1024, help="of the layers")
    parser.add_argument("--rows", type=int, default=128, help="of a step, for both devices together")
    options = parser.parse_args()
    strategies = {name: make() for name, make in STRATEGIES.items()}
    steppers = {name: stepper(one, options.width, options.rows) for name, one in strategies.items()}
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
    for name, strategy in strategies.items():
        large = seconds_of_all_reduce(strategy, [(64 << 20,)])
        small = seconds_of_all_reduce(strategy, [(1 << 14,)] * 64)
        print(f"{name}: all-reduce of 256 MB {large * 1e3:.2f} ms, of 64 x 64 KB {small * 1e3:.2f} ms")
    print(tf_rdna.collective_report())


if __name__ == "__main__":
    main()

"""Training that tests of devices share: the same networks by the CPU and by the kernels of a device."""

from __future__ import annotations

from typing import Any

import amdgpu
import network_cases as cases
import numpy as np
import numpy.typing as npt
from tolerances import TRAINING_GRADIENT, TRAINING_WEIGHTS

OPTIMIZERS = {
    "sgd": {"learning_rate": 0.05},
    "momentum": {"learning_rate": 0.01, "optimizer_options": {"momentum": 0.8}},
    "adam": {"learning_rate": 0.01},
    "adaptive": {"learning_rate": 0.05},
}
CLASSIFIER = """
neuralNetwork classifier:
  seed = 3
  layer input(12)
  layer hidden(33, activation: tanh, bias: 0.1)
  layer output(4, activation: softmax)
  connect input -> hidden
  connect hidden -> output
"""
Numbers = dict[str, npt.NDArray[np.float32]]


def numbers(net: amdgpu.Network) -> Numbers:
    """All weights and biases."""
    return {name: net.weights[name] for name in net.weights} | {name: net.biases[name] for name in net.biases}


def targets(net: amdgpu.Network, count: int) -> npt.NDArray[np.float32]:
    """Rows that are shares, which every loss takes."""
    values = np.random.default_rng(11).random((count, net.output_size)).astype(np.float32)
    return values / values.sum(axis=1, keepdims=True)


def assert_near(found: Numbers, wanted: Numbers, bound: float) -> None:
    """Every array within a bound, relative to its largest value."""
    assert set(found) == set(wanted)
    for name, values in wanted.items():
        assert np.abs(found[name] - values).max(initial=0) <= bound * max(1.0, float(np.abs(values).max(initial=0))), (
            name
        )


def check_gradients(name: str, device: int | str | None, backend: str | None) -> None:
    """Loss and gradients of a network of `network_cases` are those of the CPU."""
    here, there = cases.network(name, "cpu:0"), cases.network(name, device)
    x = cases.inputs(here)[0]
    y = targets(here, len(x))
    options: dict[str, Any] = {"l2": 0.01}
    wanted_loss, wanted = here.gradients(x, y, **options)
    loss, found = there.gradients(x, y, backend=backend, **options)
    assert abs(loss - wanted_loss) <= TRAINING_GRADIENT * max(1.0, abs(wanted_loss))
    assert_near(found, wanted, TRAINING_GRADIENT)


def classes(count: int = 203) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Points around one centre for each class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, count)
    return (rng.standard_normal((4, 12))[labels] * 2 + 0.5 * rng.standard_normal((count, 12))).astype("float32"), labels


def trained(device: int | str | None, backend: str | None, **options: Any) -> amdgpu.Network:
    """A classifier after some epochs; the last batch of each is smaller."""
    net = amdgpu.Network(CLASSIFIER, device=0 if device is None else device)
    x, labels = classes()
    net.train(x, labels, **{"epochs": 3, "batch_size": 16, "seed": 5, "backend": backend} | options)
    return net


def check_training(optimizer: str, device: int | str | None, backend: str | None) -> None:
    """An optimizer ends near the weights and curves of the CPU, and at the same bits every time."""
    options = {"optimizer": optimizer, "l2": 1e-3, "validation_split": 0.2, **OPTIMIZERS[optimizer]}
    here = trained("cpu:0", None, **options)
    there, again = (trained(device, backend, **options) for _ in range(2))
    assert_near(numbers(there), numbers(here), TRAINING_WEIGHTS)
    for name, values in numbers(again).items():
        assert np.array_equal(numbers(there)[name], values), name
    assert here.history is not None
    assert there.history is not None
    assert there.history.loss[-1] < there.history.loss[0]
    for curve in ("loss", "validation_loss"):
        wanted = np.array(getattr(here.history, curve))
        assert np.abs(np.array(getattr(there.history, curve)) - wanted).max() <= TRAINING_WEIGHTS * max(
            1.0, wanted.max()
        )
    # A sample on the border between two classes may fall on the other side.
    for curve in ("accuracy", "validation_accuracy"):
        difference = np.array(getattr(there.history, curve)) - np.array(getattr(here.history, curve))
        assert np.abs(difference).max() < 0.03
    x, _ = classes()
    cases.check(there.forward(x), here.forward(x))

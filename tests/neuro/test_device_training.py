"""Training of layered networks by the kernels that GPUs get, run on the CPU device and compared with the CPU's own implementation."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import amdgpu
import network_cases as networks
import numpy as np
import pytest
import training_cases as cases
from amdgpu import errors
from device_ops_cases import fallbacks

# There are no archives for the CPU device, which is told.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. matrix_multiply does not run as preferred")
THERE = ("cpu:0", "generated")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Fallbacks would compare the CPU with itself."""
    before = fallbacks("matrix_multiply")
    yield
    assert fallbacks("matrix_multiply") == before


@pytest.mark.parametrize("name", list(networks.TEXTS))
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    cases.check_gradients(name, *THERE)


@pytest.mark.parametrize("optimizer", list(cases.OPTIMIZERS))
def test_every_optimizer_learns_what_it_learns_on_the_cpu(optimizer: str) -> None:
    cases.check_training(optimizer, *THERE)


@pytest.mark.parametrize("activation", ["identity", "relu", "leaky_relu(0.5)", "leaky_relu(-0.5)"])
@pytest.mark.parametrize("optimizer", list(cases.OPTIMIZERS))
def test_updates_have_the_bits_of_the_cpu(optimizer: str, activation: str) -> None:
    """Every sum is exact in any order, so what is left are slopes and the optimizer's own roundings, its state included."""
    rng = np.random.default_rng(1)
    weights = [rng.integers(-4, 5, shape).astype(np.float32) / 4 for shape in ((5, 6), (6, 4))]
    x, y = (rng.integers(-3, 4, (8, width)).astype(np.float32) for width in (5, 4))
    ends = []
    for backend in (None, "generated"):
        net = amdgpu.Network(
            f"layer a(5)\nlayer b(6, activation: {activation}, bias: 0.5)\nlayer c(4)\nconnect a -> b\nconnect b -> c\n",
            device="cpu:0",
        )
        for epoch in range(3):
            for name, values in zip(net.weights, weights, strict=True):
                net.weights[name] = values
            for name in net.biases:
                net.biases[name] = np.full_like(net.biases[name], 0.25)
            options = {
                "optimizer": optimizer,
                **cases.OPTIMIZERS[optimizer],
                "l2": 0.125,
                "batch_size": 8,
                "shuffle": False,
            }
            net.train(x, y, epochs=epoch + 1, resume=epoch > 0, backend=backend, **options)
        ends.append(cases.numbers(net))
    for name, values in ends[0].items():
        assert np.array_equal(ends[1][name], values), name
    assert not any(np.array_equal(ends[0][name], values) for name, values in zip(net.weights, weights, strict=True))


@pytest.mark.parametrize(("activation", "size"), [("lif(0.9, 25)", 5), ("lif(0.3)", 5), ("leaky(0.7)", 1)])
def test_layers_with_a_state_have_the_bits_of_the_cpu_forward_and_backward(activation: str, size: int) -> None:
    """No sum has more than two terms that are not exact, so its order does not matter."""
    rng = np.random.default_rng(2)
    net = amdgpu.Network(
        f"layer a(3)\nlayer b({size}, activation: {activation})\nlayer c(2)\nconnect a -> b\nconnect b -> c\n",
        device="cpu:0",
    )
    for _ in range(20):
        net.weights["a -> b"] = rng.integers(-6, 7, (3, size)) / 4
        net.weights["b -> c"] = rng.choice([-1.0, -0.5, 0.25, 1.0], (size, 2))
        x, y = rng.choice([-1.0, 1.0], (1, 2, 3)), rng.integers(-2, 3, (1, 2))
        assert np.array_equal(net.forward(x, backend="generated"), net.forward(x))
        wanted, found = (net.gradients(x, y, backend=backend) for backend in (None, "generated"))
        assert found[0] == wanted[0]
        for name, values in wanted[1].items():
            assert np.array_equal(found[1][name], values), name


def test_samples_that_are_kept_on_the_device_give_the_bits_of_those_of_the_host() -> None:
    """Samples of which one is not finite stay on the host, and are learnt from up to the batch with that one."""
    x, labels = cases.classes(64)
    options = {"epochs": 1, "batch_size": 16, "shuffle": False, "seed": 5, "backend": "generated"}
    kept, host = (amdgpu.Network(cases.CLASSIFIER, device="cpu:0") for _ in range(2))
    kept.train(x[:48], labels[:48], **options)
    x[60, 3] = np.nan
    with pytest.raises(ValueError, match=r"the input.*\[60, 3\]"):
        host.train(x, labels, **options)
    for name, values in cases.numbers(kept).items():
        assert np.array_equal(cases.numbers(host)[name], values), name


def test_labels_and_one_hot_rows_are_the_same_targets() -> None:
    net = amdgpu.Network(cases.CLASSIFIER, device="cpu:0")
    x, labels = cases.classes(20)
    for loss in ("cross_entropy", "mean_squared_error"):
        first = net.gradients(x, labels, loss=loss, backend="generated")
        second = net.gradients(x, np.eye(4)[labels], loss=loss, backend="generated")
        assert first[0] == second[0]
        assert all(np.array_equal(first[1][name], second[1][name]) for name in first[1])


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path: Path) -> None:
    whole = cases.trained(*THERE, epochs=4)
    half = cases.trained(*THERE, epochs=2)
    half.save(tmp_path / "half.npz")
    other = amdgpu.Network(cases.CLASSIFIER, device="cpu:0")
    other.restore(tmp_path / "half.npz")
    x, labels = cases.classes()
    other.train(x, labels, epochs=4, batch_size=16, seed=5, resume=True, backend="generated")
    for name, values in cases.numbers(whole).items():
        assert np.array_equal(cases.numbers(other)[name], values), name


def test_weights_that_the_caller_sets_between_two_trainings_are_learnt_from() -> None:
    found = []
    for backend in (None, "generated"):
        net = cases.trained("cpu:0", backend, epochs=1)
        for name in net.weights:
            net.weights[name] = np.full_like(net.weights[name], 0.125)
        x, labels = cases.classes()
        net.train(x, labels, epochs=2, batch_size=16, seed=5, resume=True, backend=backend)
        found.append(cases.numbers(net))
    cases.assert_near(found[1], found[0], cases.TRAINING_WEIGHTS)


def test_a_training_that_diverges_leaves_the_network_as_it_was_before_the_batch() -> None:
    net = amdgpu.Network("layer a(3)\nlayer b(2)\nconnect a -> b\n", device="cpu:0")
    x = np.full((4, 3), 1e30, np.float32)
    before = cases.numbers(net)
    with pytest.raises(errors.WeightsNotFiniteError):
        net.train(x, np.zeros((4, 2)), epochs=3, learning_rate=1e30, optimizer="sgd", backend="generated")
    for name, values in before.items():
        assert np.array_equal(cases.numbers(net)[name], values)


def test_bad_samples_are_refused_as_by_the_cpu() -> None:
    net = amdgpu.Network(cases.CLASSIFIER, device="cpu:0")
    x, labels = cases.classes(20)
    hole = x.copy()
    hole[7, 3] = np.nan
    shares = np.eye(4, dtype=np.float32)[labels]
    negative, wild = shares.copy(), shares.copy()
    negative[3, 1], wild[5, 2] = -0.5, np.inf
    for inputs, outputs in ((hole, labels), (x, negative), (x, wild), (x, labels + 9)):
        said = []
        for backend in (None, "generated"):
            with pytest.raises(errors.AmdgpuError) as refused:
                net.train(inputs, outputs, epochs=1, backend=backend)
            said.append((type(refused.value), str(refused.value)))
        assert said[0] == said[1]


def test_weights_are_those_of_the_last_batch_whenever_they_are_asked_for() -> None:
    net = amdgpu.Network(cases.CLASSIFIER, device="cpu:0")
    x, labels = cases.classes(60_000)
    begin = {name: values.copy() for name, values in cases.numbers(net).items()}
    met = []

    def look(progress: Any) -> None:
        if progress.samples == progress.samples_per_epoch:
            return
        there, here = net.forward(x[:50], backend="generated"), net.forward(x[:50])
        networks.check(there, here)
        met.append(max(float(np.abs(values - begin[name]).max()) for name, values in cases.numbers(net).items()))

    net.train(x, labels, epochs=1, batch_size=16, learning_rate=0.01, backend="generated", progress=look)
    assert met
    assert min(met) > 0.01
    networks.check(net.forward(x[:50], backend="generated"), net.forward(x[:50]))

"""Layered networks by the kernels that GPUs get, run on the CPU device and compared with the CPU's own implementation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import amdgpu
import network_cases as cases
import numpy as np
import pytest
from amdgpu import _native, device_network, errors
from device_ops_cases import fallbacks

# There are no archives for the CPU device, which is told.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. matrix_multiply does not run as preferred")


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """There are no archives for this device, which would be said; other fallbacks would compare the CPU with itself."""

    def record(operation: str, reason: str) -> None:
        assert operation == "matrix_multiply", f"{operation}: {reason}"

    monkeypatch.setattr(_native, "record_fallback", record)
    before = fallbacks("matrix_multiply")
    yield
    assert fallbacks("matrix_multiply") == before


@pytest.mark.parametrize("name", list(cases.TEXTS))
def test_the_forward_pass_agrees_with_the_cpus(cpu: Any, name: str) -> None:
    net = cases.network(name, "cpu:0")
    for x in cases.inputs(net):
        wanted = net.forward(x)
        found = device_network.forward(net._engine, x, device=cpu)
        assert isinstance(found, np.ndarray)
        cases.check(found, wanted)
        lent = device_network.forward(net._engine, amdgpu.array(x, "float32", device="cpu:0"), device=cpu)
        assert isinstance(lent, amdgpu.Array)
        assert np.array_equal(lent.numpy(), found)


def test_weights_that_change_are_uploaded_again(cpu: Any) -> None:
    net = cases.network("two inputs of a layer", "cpu:0")
    x = cases.inputs(net)[0]
    before = device_network.forward(net._engine, x, device=cpu)
    kept = device_network.structure.placed(cpu, net._engine)
    assert device_network.structure.placed(cpu, net._engine)[1] is kept[1]
    for name in net.weights:
        net.weights[name] = net.weights[name] * 0.5
    for name in net.biases:
        net.biases[name] = net.biases[name] + 1
    after = device_network.forward(net._engine, x, device=cpu)
    assert not np.allclose(after, before)
    cases.check(after, net.forward(x))
    net.train(np.atleast_2d(x), np.zeros((len(np.atleast_2d(x)), net.output_size)), epochs=1, loss="mean_squared_error")
    cases.check(device_network.forward(net._engine, x, device=cpu), net.forward(x))


def test_potentials_do_not_overwrite_the_callers_input(cpu: Any) -> None:
    net = amdgpu.Network("layer a(3, activation: leaky(0.5))\nlayer b(2)\nconnect a -> b\n", device="cpu:0")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    lent = amdgpu.array(x, device="cpu:0")
    cases.check(device_network.forward(net._engine, lent, device=cpu).numpy(), net.forward(x))
    assert np.array_equal(lent.numpy(), x)


def test_bad_inputs_are_refused_as_by_the_cpu(cpu: Any) -> None:
    net = cases.network("spiking layers", "cpu:0")
    wide = net.input_size
    hole = np.zeros((2, 3, wide), np.float32)
    hole[1, 2, 0] = np.inf
    for x in (
        np.zeros((2, 3, wide + 1)),
        np.zeros(wide),
        np.zeros((2, 0, wide)),
        hole,
        "text",
        np.zeros((3, wide), complex),
    ):
        with pytest.raises(errors.AmdgpuError) as wanted:
            net.forward(x)
        with pytest.raises(type(wanted.value)) as found:
            device_network.forward(net._engine, x, device=cpu)
        assert str(found.value) == str(wanted.value)
    with pytest.raises(errors.WeightsNotFiniteError, match=r"inf.* at \[5, 0\]"):
        device_network.forward(net._engine, amdgpu.array(hole, device="cpu:0"), device=cpu)


def test_nothing_in_gives_nothing_out(cpu: Any) -> None:
    net = cases.network("chain", "cpu:0")
    assert device_network.forward(net._engine, np.zeros((0, net.input_size)), device=cpu).shape == (0, net.output_size)


def test_what_a_device_cannot_do_is_computed_by_the_cpu_aloud(cpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    net = cases.network("chain", "cpu:0")
    said: list[str] = []

    def refuse(*_: Any, **__: Any) -> None:
        raise errors.NoImplementationError("no kernel")

    monkeypatch.setitem(device_network.forward.__globals__, "propagate", refuse)
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: said.append(f"{operation}: {reason}"))
    for x in cases.inputs(net):
        wanted = net.forward(x)
        assert np.array_equal(device_network.forward(net._engine, x, device=cpu), wanted)
        lent = device_network.forward(net._engine, amdgpu.array(x, "float32", device="cpu:0"), device=cpu)
        assert np.array_equal(lent.numpy(), wanted)
    assert said[0].startswith("dense_forward: the CPU computes what cpu:0 does not: no kernel")

"""Layered networks by the kernels that GPUs get, run on the CPU device and compared with the CPU's own implementation."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import amdgpu
import network_cases as cases
import numpy as np
import pytest
from amdgpu import errors
from device_ops_cases import fallbacks

# There are no archives for the CPU device, which is told.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. matrix_multiply does not run as preferred")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """There are no archives for this device, which is counted; other fallbacks would compare the CPU with itself."""
    before = fallbacks("matrix_multiply")
    yield
    assert fallbacks("matrix_multiply") == before


def forward(net: amdgpu.Network, x: Any) -> Any:
    return net.forward(x, backend="generated")


def uploaded_bytes() -> int:
    """Bytes that were copied to the CPU device so far."""
    counters = amdgpu.telemetry.snapshot()["counters"]
    copied = (one for one in counters if one["metric"] == "amdgpu_copy_bytes_total")
    return sum(int(one["value"]) for one in copied if set(one["labels"].values()) == {"cpu:0", "host-to-device"})


@pytest.mark.parametrize("name", list(cases.TEXTS))
def test_the_forward_pass_agrees_with_the_cpus(name: str) -> None:
    net = cases.network(name, "cpu:0")
    for x in cases.inputs(net):
        wanted = net.forward(x)
        found = forward(net, x)
        assert isinstance(found, np.ndarray)
        cases.check(found, wanted)
        lent = forward(net, amdgpu.array(x, "float32", device="cpu:0"))
        assert isinstance(lent, amdgpu.Array)
        assert np.array_equal(lent.numpy(), found)


def test_weights_that_change_are_uploaded_again() -> None:
    net = cases.network("two inputs of a layer", "cpu:0")
    x = cases.inputs(net)[0]
    before = forward(net, x)
    start = uploaded_bytes()
    assert np.array_equal(forward(net, x), before)
    assert uploaded_bytes() == start + x.nbytes
    for name in net.weights:
        net.weights[name] = net.weights[name] * 0.5
    for name in net.biases:
        net.biases[name] = net.biases[name] + 1
    start = uploaded_bytes()
    after = forward(net, x)
    assert uploaded_bytes() == start + x.nbytes + 4 * net.parameter_count
    assert not np.allclose(after, before)
    cases.check(after, net.forward(x))
    net.train(np.atleast_2d(x), np.zeros((len(np.atleast_2d(x)), net.output_size)), epochs=1, loss="mean_squared_error")
    cases.check(forward(net, x), net.forward(x))


def test_potentials_do_not_overwrite_the_callers_input() -> None:
    net = amdgpu.Network("layer a(3, activation: leaky(0.5))\nlayer b(2)\nconnect a -> b\n", device="cpu:0")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    lent = amdgpu.array(x, device="cpu:0")
    cases.check(forward(net, lent).numpy(), net.forward(x))
    assert np.array_equal(lent.numpy(), x)


def test_arrays_with_strides_and_of_other_dtypes_are_taken() -> None:
    net = cases.network("two inputs of a layer", "cpu:0")
    x = cases.inputs(net)[0]
    wanted = forward(net, x)
    for lent in (amdgpu.from_dlpack(x.T.copy().T), amdgpu.array(x, "float64", device="cpu:0")):
        found = forward(net, lent)
        assert isinstance(found, amdgpu.Array)
        assert np.array_equal(found.numpy(), wanted)


def test_bad_inputs_are_refused_as_by_the_cpu() -> None:
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
            forward(net, x)
        assert str(found.value) == str(wanted.value)
    with pytest.raises(errors.WeightsNotFiniteError, match=r"inf.* at \[5, 0\]"):
        forward(net, amdgpu.array(hole, device="cpu:0"))


def test_nothing_in_gives_nothing_out() -> None:
    net = cases.network("chain", "cpu:0")
    assert forward(net, np.zeros((0, net.input_size))).shape == (0, net.output_size)


FALLS_BACK = """
import json
import sys
sys.path[:0] = PATHS
import amdgpu
import network_cases as cases
import numpy as np
from amdgpu import codegen
from device_ops_cases import fallbacks

def refuse(*arguments):
    raise RuntimeError("no code")

codegen.generate = refuse
net = cases.network("chain", "cpu:0")
are_equal = []
for x in cases.inputs(net):
    wanted = net.forward(x)
    are_equal.append(np.array_equal(net.forward(x, backend="generated"), wanted))
    lent = net.forward(amdgpu.array(x, "float32", device="cpu:0"), backend="generated")
    are_equal.append(np.array_equal(lent.numpy(), wanted))
print(json.dumps([are_equal, sorted(fallbacks())]))
"""


def test_what_a_device_cannot_do_is_computed_by_the_cpu_aloud(run_python: Any) -> None:
    import sys

    paths = [path for path in sys.path if "tests" in path or "python" in path]
    done = run_python(FALLS_BACK.replace("PATHS", repr(paths)))
    are_equal, said = json.loads(done.stdout.splitlines()[-1])
    assert all(are_equal)
    assert any(
        one.startswith("dense_forward: the CPU computes what cpu:0 does not: ") and "no code" in one for one in said
    )

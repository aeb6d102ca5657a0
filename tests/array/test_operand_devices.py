"""An operation runs on the device of its operands, and its result stays there; operands of two devices are refused with both names."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops

FIRST, SECOND = "null:gfx1100", "null:gfx90a"
HOST = "cpu:0"


def _on(device, shape=(4, 4), dtype="float32"):
    return amdgpu.array(np.ones(shape, dtype), device=device)


CALLS = {
    "add": ops.add,
    "power": ops.power,
    "maximum": ops.maximum,
    "layer_norm": lambda a, b: ops.layer_norm(a, 4, b.reshape(16)),
    "matrix_multiply": amdgpu.matrix_multiply,
    "residual": lambda a, b: amdgpu.matrix_multiply(a, a, residual=b),
    "conv2d": lambda a, b: ops.conv2d(a.reshape(1, 1, 4, 4), b.reshape(1, 1, 4, 4)),
    "relu_gradient": ops.relu_gradient,
}


@pytest.mark.parametrize(("first", "second"), [(FIRST, SECOND), (SECOND, FIRST), (FIRST, HOST), (HOST, FIRST)])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_operands_of_two_devices_are_refused_with_both_names(call, first, second):
    with pytest.raises(errors.WrongDeviceError) as raised:
        call(_on(first), _on(second))
    assert first in str(raised.value)
    assert second in str(raised.value)


@pytest.mark.parametrize("device", [FIRST, SECOND, HOST])
def test_results_stay_on_the_device_of_the_operands(device):
    x = _on(device)
    results = {
        "add": ops.add(x, x),
        "with a NumPy array": ops.add(x, np.ones((4, 4), "float32")),
        "NumPy array first": ops.add(np.ones((4, 4), "float32"), x),
        "with a number": ops.multiply(x, 2.0),
        "sum": ops.sum(x, 1),
        "softmax": ops.softmax(x),
        "matrix_multiply": amdgpu.matrix_multiply(x, x),
        "second operand": amdgpu.matrix_multiply(np.ones((4, 4), "float32"), x),
        "as the requirement writes it": amdgpu.matrix_multiply(x, x, 0, "fp32"),
        "another device named": amdgpu.matrix_multiply(x, x, FIRST),
    }
    for name, result in results.items():
        assert isinstance(result, amdgpu.Array), name
        assert result.device == device, name


def test_out_decides_where_nothing_else_has_a_device():
    out = _on(SECOND)
    assert ops.add(np.ones((4, 4), "float32"), 1.0, out=out) is out


def test_out_of_another_device_is_refused():
    with pytest.raises(errors.WrongDeviceError, match=f"{FIRST}.*{SECOND}|{SECOND}.*{FIRST}"):
        ops.add(_on(FIRST), _on(FIRST), out=_on(SECOND))
    with pytest.raises(errors.WrongDeviceError, match=f"{FIRST}.*{SECOND}|{SECOND}.*{FIRST}"):
        amdgpu.matrix_multiply(_on(FIRST), _on(FIRST), out=_on(SECOND))


def test_values_without_a_device_are_computed_where_the_caller_says():
    a = np.eye(4, dtype="float32")
    assert isinstance(amdgpu.matrix_multiply(a, a, "cpu:0"), np.ndarray)
    assert isinstance(ops.add(a, a), np.ndarray)


def test_a_raw_kernel_runs_where_its_arrays_are():
    kernel = amdgpu.RawKernel("__global__ void f(float* x) { x[threadIdx.x] += 1; }", "f")
    for device in (FIRST, SECOND):
        kernel((1,), (4,), (_on(device),))
    with pytest.raises(errors.WrongDeviceError, match=SECOND):
        amdgpu.RawKernel(kernel.code, "f", device=FIRST)((1,), (4,), (_on(SECOND),))
    on_host = amdgpu.zeros(4, "float32", device="cpu:0")
    kernel((1,), (4,), (on_host,))
    assert (on_host.numpy() == 1).all()

"""Operations on arrays of a device, called again: as many launches, the same results and the same errors as the first time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors
from amdgpu.device import default_device


def launches(name: str) -> int:
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in _native.telemetry_prometheus(is_open_metrics=False).splitlines()
        if line.startswith("amdgpu_kernel_launches_total{") and f'"{name}"' in line
    )


@pytest.fixture
def null() -> Any:
    """A device whose launches do nothing, as functions of the package open it."""
    return default_device("null:gfx1100")


def test_operations_on_arrays_of_a_device_launch_as_often_each_time(null: Any) -> None:
    x, row = amdgpu.empty((64, 256), "float32", device=null), amdgpu.empty(256, "float32", device=null)
    image = amdgpu.empty((2, 8, 16, 16), "float32", device=null)
    weight, bias = amdgpu.empty((12, 8, 3, 3), "float32", device=null), amdgpu.empty(12, "float32", device=null)
    gradient = amdgpu.empty((2, 12, 14, 14), "float32", device=null)
    ops = amdgpu.ops
    calls: list[Callable[[], Any]] = [
        lambda: ops.add(x, x),
        lambda: ops.add(x, row),
        lambda: ops.multiply(x, 2.0),
        lambda: ops.leaky_relu(x, alpha=0.2),
        lambda: ops.add(x, x, out=x),
        lambda: ops.sum(x, 0),
        lambda: ops.var(x, [1], keepdims=True),
        lambda: ops.argmax(x),
        lambda: ops.softmax(x),
        lambda: ops.layer_norm(x, 256, row, row),
        lambda: ops.transpose(x),
        lambda: ops.cumsum(x),
        lambda: ops.max_pool2d(image, 2),
        lambda: ops.conv2d(image, weight),
        lambda: ops.conv2d(image, weight, bias, padding=1),
        lambda: ops.conv2d(image, weight, out=gradient, precision="tf32"),
        lambda: ops.conv2d_input_gradient(gradient, weight, image.shape),
        lambda: ops.conv2d_weight_gradient(image, gradient, weight.shape),
    ]

    def measured(call: Callable[[], Any]) -> tuple[Any, ...]:
        before = launches("null:gfx1100")
        result = call()
        return result.shape, str(result.dtype), launches("null:gfx1100") - before

    first = [measured(call) for call in calls]
    assert all(count > 0 for *_, count in first)
    assert [measured(call) for call in calls] == first


def test_errors_are_the_same_however_often_a_call_is_made(null: Any) -> None:
    x = amdgpu.empty((4, 4), "float32", device=null)
    amdgpu.ops.sum(x, 1)
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="axis 2"):
            amdgpu.ops.sum(x, 2)
        with pytest.raises(errors.InvalidTypeError, match="axis"):
            amdgpu.ops.sum(x, "1")  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidArgumentError, match="overlaps"):
            amdgpu.ops.transpose(x, out=x)


def test_results_are_written_to_out_which_may_be_an_input_and_overlaps_none() -> None:
    with amdgpu.initialize_device("cpu:0") as cpu:

        def vector(*values: float) -> Any:
            return amdgpu.array(np.array(values, "float32"), device=cpu)

        def subtract(a: Any, b: Any, out: Any = None) -> Any:
            return _native.elementwise_on_device("subtract", (a, b), out, device=cpu)

        a, b, out = vector(1, 2, 3, 4), vector(5, 9, 5, 9), vector(0, 0, 0, 0)
        assert subtract(a, a).numpy().tolist() == [0, 0, 0, 0]
        for _ in range(2):
            assert subtract(b, a, out) is out
            assert out.numpy().tolist() == [4, 7, 2, 5]
        assert subtract(a, b, a) is a
        assert a.numpy().tolist() == [-4, -7, -2, -5]
        with pytest.raises(errors.ShapeMismatchError, match="out has shape"):
            subtract(a, b, b.reshape(2, 2))
        b.free()
        with pytest.raises(errors.UseAfterFreeError):
            subtract(a, b)

"""Calls on arrays of a real GPU that repeat: the bits of the first call and of the CPU device, in the order of the device's stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu
import device_ops_cases as cases
import ml_dtypes
import numpy as np
import pytest
from amdgpu.device import default_device

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU as functions of the package open it: where their arrays and operations are."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    return default_device(GPU_NAMES[0])


def values(dtype: Any, seed: int) -> Any:
    return np.random.default_rng(seed).standard_normal((160, 512)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", ml_dtypes.bfloat16, "float64"], ids=str)
def test_calls_with_other_arrays_between_them_give_the_same_bits(gpu: Any, dtype: Any) -> None:
    ops = amdgpu.ops
    row = amdgpu.array(values(dtype, 7)[0], device=gpu)
    calls: list[Callable[[Any, Any], Any]] = [
        ops.add,
        lambda x, y: ops.add(x, row),
        lambda x, y: ops.gelu(x),
        lambda x, y: ops.sum(x, 0),
        lambda x, y: ops.var(x, 0),
        lambda x, y: ops.var(x, 1, keepdims=True),
        lambda x, y: ops.sum(x),
        lambda x, y: ops.argmax(x, 1),
        lambda x, y: ops.softmax(x),
        lambda x, y: ops.layer_norm(x, 512, row, row),
        lambda x, y: ops.transpose(x),
        lambda x, y: ops.cumsum(x, 0),
        lambda x, y: amdgpu.matrix_multiply(
            x, y, gpu.name, transpose_b=True, precision="fp64" if dtype == "float64" else "fp32"
        ),
        lambda x, y: ops.add(x, y, out=x),
    ]
    pairs = [(values(dtype, seed), values(dtype, seed + 10)) for seed in range(3)]
    for call in calls:
        results = []
        for _ in range(2):
            given = [tuple(amdgpu.array(one, device=gpu) for one in pair) for pair in pairs]
            results.append([call(x, y).numpy().tobytes() for x, y in given])
        assert results[0] == results[1]
        assert len(set(results[0])) == 3


@pytest.mark.parametrize("operation", ["var", "std", "argmax", "argmin", "sum"])
@pytest.mark.parametrize("axes", [(0,), (1,), None], ids=str)
def test_reductions_have_the_bits_of_the_cpu_device(gpu: Any, operation: str, axes: Any) -> None:
    with amdgpu.initialize_device("cpu:0") as cpu:
        for dtype in ("float32", "float16", "float64"):
            x = values(dtype, 3)
            x[0, 0] = 6e4
            on_gpu = cases.on_device("reduce")(operation, amdgpu.array(x, device=gpu), axes, device=gpu).numpy()
            on_cpu = cases.on_device("reduce")(operation, amdgpu.array(x, device=cpu), axes, device=cpu).numpy()
            assert on_gpu.tobytes() == on_cpu.tobytes()


@pytest.mark.parametrize("precision", ["bf16", "fp16", "tf32", "fp32"])
@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_products_that_repeat_find_the_descriptors_of_their_memory(
    gpu: Any, precision: str, activation: str | None
) -> None:
    dtype = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}.get(precision, np.float32)
    rng = np.random.default_rng(5)
    matrices = [amdgpu.array((rng.standard_normal((1024, 1024)) / 8).astype(dtype), device=gpu) for _ in range(4)]
    bias = None if activation is None else amdgpu.array(rng.standard_normal(1024).astype(dtype), device=gpu)

    def product(a: Any, b: Any) -> Any:
        return amdgpu.matrix_multiply(a, b, gpu.name, precision, bias=bias, activation=activation)

    expected = {}
    for i, a in enumerate(matrices):
        for j, b in enumerate(matrices):
            expected[i, j] = product(a, b).numpy().tobytes()
    for _ in range(3):
        results = {(i, j): product(a, b) for i, a in enumerate(matrices) for j, b in enumerate(matrices)}
        for place, result in results.items():
            assert result.numpy().tobytes() == expected[place]


def test_memory_of_dropped_results_is_handed_on_in_order(gpu: Any) -> None:
    x = amdgpu.array(np.arange(1 << 16, dtype="float32"), device=gpu)
    y = x
    for _ in range(500):
        y = amdgpu.ops.add(amdgpu.ops.multiply(amdgpu.ops.add(y, x), 0.5), 1.0)
    expected = np.arange(1 << 16, dtype="float32")
    base = expected.copy()
    for _ in range(500):
        expected = (expected + base) * np.float32(0.5) + np.float32(1)
    assert np.array_equal(y.numpy(), expected)


def test_arrays_that_others_know_are_written_when_the_call_returns(gpu: Any) -> None:
    x = amdgpu.array(np.ones(1 << 16, np.float32), device=gpu)
    out = amdgpu.empty(1 << 16, "float32", device=gpu)
    amdgpu.ops.add(x, 1.0, out=out)
    assert out.ptr
    for value in (2.0, 3.0):
        amdgpu.ops.add(x, value, out=out)
        amdgpu.ops.add(x, value, out=out)
        # The device's own order is not asked: whoever knows the address reads at once.
        host = np.empty(1 << 16, np.float32)
        host[...] = out.numpy()
        assert host[0] == 1 + value

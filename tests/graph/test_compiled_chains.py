"""Elementwise steps that a CPU device computes by one compiled kernel: large results, whose bits are those of the operations one by one."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu._generated.operations import ELEMENTWISE as OPERATIONS

EXACT = sorted(
    row.name
    for row in OPERATIONS.values()
    if row.call
    and row.absolute_ulps is None
    and (row.ulps is None or row.ulps <= 0.5)
    and hasattr(amdgpu.ops, row.name)
)
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, -1e-40, 65504.0, 1e-7]
ROWS = 64


def values(shape: tuple[int, ...], dtype: str, seed: int) -> amdgpu.Array:
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal(shape) * rng.choice([1e-3, 1.0, 30.0], shape)
    if np.dtype(dtype).kind == "f":
        places = rng.random(shape) < 0.2
        drawn[places] = rng.choice(SPECIAL, int(places.sum()))
        with np.errstate(over="ignore"):
            return amdgpu.array(drawn.astype(dtype), device="cpu:0")
    return amdgpu.array(np.abs(drawn * 3).astype(dtype), device="cpu:0")


def launches() -> int:
    counters = amdgpu.telemetry.snapshot()["counters"]
    return sum(int(one["value"]) for one in counters if one["metric"] == "amdgpu_kernel_launches_total")


def check(function: object, *arguments: amdgpu.Array, kernels: bool = True) -> None:
    """The graph of a function has the function's bits, and launches kernels or does not."""
    assert callable(function)
    traced = amdgpu.jit(function)
    traced(*arguments)
    before = launches()
    got = traced(*arguments)
    assert (launches() > before) == kernels
    expected = function(*arguments)
    assert got.dtype == expected.dtype
    assert got.numpy().tobytes() == expected.numpy().tobytes() or np.array_equal(
        got.numpy(), expected.numpy(), equal_nan=np.dtype(str(got.dtype)).kind == "f"
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32", "uint8"])
@pytest.mark.parametrize("name", EXACT)
def test_operation_with_others_around_it(name: str, dtype: str) -> None:
    operation = getattr(amdgpu.ops, name)
    count = len(OPERATIONS[name].inputs)
    arrays = [values((ROWS, 1024), dtype, seed) for seed in range(count)]
    if name == "where":
        arrays[0] = arrays[0] > 0
    try:
        operation(*arrays)
    except amdgpu.errors.AmdgpuError:
        pytest.skip("takes no such arrays")
    traced = amdgpu.jit(lambda *given: amdgpu.maximum(operation(*given), given[-1]))
    expected = amdgpu.maximum(operation(*arrays), arrays[-1]).numpy()
    np.testing.assert_array_equal(traced(*arrays).numpy(), expected)


@pytest.mark.parametrize("width", [256, 257, 768, 1000, 4096, 8192, 8193, 10_000, 70_001])
def test_rows_of_any_length(width: int) -> None:
    rows = 1 + (1 << 16) // width
    check(lambda x, y: (x * 2.0 - y) * x, values((rows, width), "float32", 1), values((rows, width), "float32", 2))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((8_400_001,), "float32"),
        ((4096, 2064), "float32"),  # each row begins with a cache line
        ((7, 1_200_003), "float32"),  # rows that do not, long ones
        ((4100, 2050), "float32"),  # and short ones
        ((70_000, 512), "uint8"),  # more rows than a grid has in y
        ((17_000_000,), "float16"),
        ((4_200_007,), "float64"),
        ((34_000_000,), "uint8"),
    ],
)
def test_results_that_pass_the_caches(shape: tuple[int, ...], dtype: str) -> None:
    # 32 MiB and more.
    rng = np.random.default_rng(5)
    x = amdgpu.array(rng.integers(0, 100, shape).astype(dtype), device="cpu:0")
    check(lambda x: amdgpu.maximum(x * 3, 20) - x, x)
    if len(shape) > 1:
        y = amdgpu.array(rng.integers(0, 9, shape[-1]).astype(dtype), device="cpu:0")
        check(lambda x, y: amdgpu.maximum(x * 3, y) - x, x, y)


def test_arrays_that_repeat_along_axes() -> None:
    x = values((8, 16, 512), "float32", 1)
    for shape in ((512,), (16, 1), (8, 1, 1), (16, 512), (1, 1, 1), (8, 1, 512)):
        check(lambda x, y: (x + y) * y - x, x, values(shape, "float32", 2))


def test_views_and_assignments() -> None:
    x = values((64, 2, 600), "float32", 3)
    check(lambda x: (x[:, 0, 3:] + x[:, 1, :-3]) * 0.5, x)

    def assigned(x: amdgpu.Array) -> amdgpu.Array:
        y = x * 2.0
        y[:, 0] = y[:, 1] * 0.5 + x[:, 0]
        return y

    check(assigned, x)


def test_what_is_rounded_otherwise_by_kernels_is_computed_in_parts() -> None:
    check(lambda x: amdgpu.exp(x) * 2.0 + 1.0, values((ROWS, 1024), "float32", 1), kernels=False)


def test_small_results_and_short_rows_are_computed_in_parts() -> None:
    check(lambda x: x * 2.0 + 1.0, values((16, 1024), "float32", 1), kernels=False)
    check(lambda x, y: x * 2.0 + y, values((4096, 64), "float32", 1), values((4096, 1), "float32", 2), kernels=False)


def test_truth_values_between_the_steps() -> None:
    x, y = values((ROWS, 1024), "float16", 1), values((ROWS, 1024), "float16", 2)
    check(lambda x, y: amdgpu.where(~((x * 3.0 > y) & (y < 0)), x * 7.0, y - 1), x, y)
    check(lambda x, y: (x * 1.37) * y > x * y, x, y)
    check(lambda x, y: (x * 3) * y > x * y, *(values((ROWS, 1024), "uint8", seed) for seed in (1, 2)))

"""Sums of a whole grid that the entry of a kernel keeps for the blocks that it runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from kernel_harness import Kernels

BLOCKS, THREADS = 7, 37
LEVELS = [(), ("--level", "none"), ("--disable", "work-item-vectorization")]


@pytest.mark.parametrize("flags", LEVELS)
@pytest.mark.parametrize(
    ("type_name", "dtype"),
    [("int", np.int32), ("unsigned long long", np.uint64), ("float", np.float32), ("double", np.float64)],
)
def test_additions_of_all_blocks_arrive(flags: tuple[str, ...], type_name: str, dtype: type) -> None:
    source = f"""
    __global__ void k(const {type_name}* __restrict__ in, {type_name}* total, {type_name}* __restrict__ even, int limit) {{
        __shared__ {type_name} tile[64];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        tile[t] = in[i];
        __syncthreads();
        if (i < limit) atomicAdd(total, tile[(t + 1) % blockDim.x]);
        if (t == 0) atomicAdd(total, tile[0]);
        if (blockIdx.x % 2 == 0) atomicAdd(even, tile[t]);
    }}
    __global__ void plain(const {type_name}* __restrict__ in, {type_name}* total) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i % 3) atomicAdd(total, in[i]);
    }}
    """
    values = np.arange(BLOCKS * THREADS).astype(dtype) % 100
    kernels = Kernels(source, *flags)
    assert kernels.unit["llvm_ir"].count("sum0.add:") == 2
    for limit in (0, 50, BLOCKS * THREADS):
        total, even = np.array([5], dtype), np.array([9], dtype)
        kernels("k", (BLOCKS,), (THREADS,), values, total, even, limit)
        rows = values.reshape(BLOCKS, THREADS)
        rolled = np.roll(rows, -1, axis=1).ravel()
        assert total[0] == 5 + rolled[:limit].sum() + rows[:, 0].sum()
        assert even[0] == 9 + rows[::2].sum()
    total = np.array([1], dtype)
    kernels("plain", (BLOCKS,), (THREADS,), values, total)
    assert total[0] == 1 + values[np.arange(values.size) % 3 != 0].sum()


@pytest.mark.parametrize("flags", LEVELS)
def test_a_sum_without_additions_is_not_touched(flags: tuple[str, ...]) -> None:
    source = """
    __global__ void k(float* total, int* count, float part, int turns) {
        if (blockIdx.x + threadIdx.x < turns) { atomicAdd(total, part); atomicAdd(count, 1); }
    }
    """
    kernels = Kernels(source, *flags)
    nowhere = SimpleNamespace(ctypes=SimpleNamespace(data=0))
    kernels("k", (3,), (20,), nowhere, nowhere, np.float32(2), 0)
    total, count = np.array([-0.0], np.float32), np.zeros(1, np.int32)
    kernels("k", (3,), (20,), total, count, np.float32(-0.0), 4)
    assert np.signbit(total[0])
    assert count[0] == 4 + 3 + 2


def test_sums_in_waves_are_kept_too() -> None:
    source = """
    __global__ void k(const int* __restrict__ in, int* total) {
        int value = in[blockIdx.x * blockDim.x + threadIdx.x];
        for (int d = 16; d > 0; d /= 2) value += __shfl_down_sync(0xffffffff, value, d);
        if (threadIdx.x % 32 == 0) atomicAdd(total, value);
    }
    """
    kernels = Kernels(source)
    assert "sum0.add:" in kernels.unit["llvm_ir"]
    values, total = np.arange(5 * 64, dtype=np.int32), np.zeros(1, np.int32)
    kernels("k", (5,), (64,), values, total)
    assert total[0] == values.sum()


@pytest.mark.parametrize(
    "body",
    [
        "out[i] = atomicAdd(total, 1);",
        "atomicAdd(total, 1); out[i] = *total;",
        "atomicAdd(total, 1); total[1] = 0;",
        "atomicAdd(total, 1); atomicMax(total, 3);",
        "atomicAdd(total, 1); __threadfence(); out[i] = 1;",
        "atomicAdd(total, 1); out[i] = *(volatile int*)(out + i);",
        "atomicAdd(total, 1); free_ends[i] = 1;",
        "atomicAdd(total, 1); out[i] = *links[i];",
        "atomicAdd(total, 1); out[i] = shared_by_all;",
        "atomicAdd(total + i % 2, 1);",
        "atomicAdd_system(total, 1);",
    ],
)
def test_sums_that_somebody_may_read_meanwhile_are_not_kept(body: str) -> None:
    source = f"""
    __device__ int shared_by_all;
    __global__ void k(int* total, int* __restrict__ out, int* free_ends, int* const* __restrict__ links) {{
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        {body}
    }}
    """
    assert "sum0" not in Kernels(source).unit["llvm_ir"]

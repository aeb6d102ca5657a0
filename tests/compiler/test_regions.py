"""Regions between barriers: rows of which only the first work-items do anything, decisions that a block takes once, whole vectors
and parts of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_harness import Kernels

LEAST, MOST = -(2**31), 2**31 - 1
# Blocks below, at and above the 16 lanes of the widest vectors, in one to three dimensions.
BLOCKS = ((1,), (5,), (16,), (17,), (32,), (70,), (8, 6), (16, 3), (20, 3, 2), (1, 40))
BOUNDS = (LEAST, -3, 0, 1, 15, 16, 17, 31, 64, 70, 1000, MOST - 20, MOST)

Condition = Callable[[Any, Any, Any, int], Any]


def wrapped(values: Any) -> Any:
    """What 32 bits keep of a sum."""
    return (np.asarray(values, np.int64) & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def unsigned(values: Any) -> Any:
    return np.asarray(values, np.int64) & 0xFFFFFFFF


CONDITIONS: dict[str, Condition] = {
    "t < s": lambda t, y, i, s: t < s,
    "t <= s": lambda t, y, i, s: t <= s,
    "s > t": lambda t, y, i, s: s > t,
    "s >= t": lambda t, y, i, s: s >= t,
    "!(t >= s)": lambda t, y, i, s: t < s,
    "t == 0": lambda t, y, i, s: t == 0,
    "t == s": lambda t, y, i, s: t == s,
    "!(t != s)": lambda t, y, i, s: t == s,
    "t >= s": lambda t, y, i, s: t >= s,
    "t != s": lambda t, y, i, s: t != s,
    "threadIdx.x < s": lambda t, y, i, s: t < unsigned(s),
    "threadIdx.x <= (unsigned)s": lambda t, y, i, s: t <= unsigned(s),
    "i < s": lambda t, y, i, s: i < s,
    "t + s < 20": lambda t, y, i, s: wrapped(t + s) < 20,
    "t - s <= 3": lambda t, y, i, s: wrapped(t - s) <= 3,
    "threadIdx.x + s < 40u": lambda t, y, i, s: unsigned(t + s) < 40,
    "(long long)t < s * 2ll": lambda t, y, i, s: t < s * 2,
    "t < s && y < 2": lambda t, y, i, s: (t < s) & (y < 2),
    "y == 1 && t < s": lambda t, y, i, s: (y == 1) & (t < s),
    "t < s && t < 9": lambda t, y, i, s: (t < s) & (t < 9),
    "t < s || t == 20": lambda t, y, i, s: (t < s) | (t == 20),
    "t < s - y": lambda t, y, i, s: t < wrapped(s - y),
    "s - t > 0": lambda t, y, i, s: wrapped(s - t) > 0,
    "t * 2 < s": lambda t, y, i, s: t * 2 < s,
}


@pytest.mark.parametrize("cpu", [None, "x86-64-v3", "x86-64-v2"])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_work_items_beyond_a_bound_are_left_out_exactly(condition: str, cpu: str | None) -> None:
    source = f"""
    __global__ void k(int* out, int s) {{
        extern __shared__ int tile[];
        int t = threadIdx.x, y = threadIdx.y, i = blockIdx.x * blockDim.x + t;
        int count = blockDim.x * blockDim.y * blockDim.z;
        int place = (threadIdx.z * blockDim.y + y) * blockDim.x + t;
        tile[place] = place;
        __syncthreads();
        if ({condition}) tile[place] += 1000;
        __syncthreads();
        int other = tile[count - 1 - place];
        if ({condition}) out[blockIdx.x * count + place] = tile[place] + 10000 * (other >= 1000);
    }}
    """
    compiled = Kernels(source, cpu=cpu)
    for block in BLOCKS:
        x, y, z = (*block, 1, 1)[:3]
        count = x * y * z
        place = np.arange(count)
        t, row = place % x, place // x % y
        for s in BOUNDS:
            out = np.full((3, count), -1, np.int32)
            compiled("k", (3,), block, out, np.int32(s), shared_bytes=4 * count)
            for number in range(3):
                is_there = np.broadcast_to(CONDITIONS[condition](t, row, number * x + t, s), (count,))
                tile = place + 1000 * is_there
                expected = np.where(is_there, tile + 10000 * (tile[::-1] >= 1000), -1)
                assert out[number].tolist() == expected.tolist(), f"{condition}, block {block}, s = {s}"


@pytest.mark.parametrize("flags", [(), ("--level", "none"), ("--disable", "work-item-vectorization")])
def test_decisions_of_a_block_are_taken_where_work_items_wait_at_other_barriers(flags: tuple[str, ...]) -> None:
    source = """
    __global__ void k(int* out, int u, int v) {
        __shared__ int tile[64];
        int t = threadIdx.x, n = blockDim.x;
        tile[t] = t;
        __syncthreads();
        if (t & 1) {
            tile[t] += 1;
            __syncthreads();
            if (u > 1) out[t] = tile[(t + 1) % n];
            else if (u > 0) out[t] = 7;
            __syncthreads();
            tile[t] += 5;
        } else {
            tile[t] += 2;
            __syncthreads();
            if (v > 1) out[t] = tile[(t + 1) % n] + 100;
            __syncthreads();
            tile[t] += 10;
        }
        __syncthreads();
        if (u + v > 3) out[t] += 1000 * tile[(t + 3) % n];
    }
    """
    compiled = Kernels(source, *flags)
    for n in (4, 16, 38, 64):
        t = np.arange(n)
        odd = t % 2 == 1
        first = t + np.where(odd, 1, 2)
        second = first + np.where(odd, 5, 10)
        for u, v in [(0, 0), (1, 2), (2, 1), (2, 2), (0, 5)]:
            out = np.zeros(n, np.int32)
            compiled("k", (1,), (n,), out, u, v)
            ones = np.roll(first, -1) if u > 1 else np.full(n, 7 if u > 0 else 0)
            twos = np.roll(first, -1) + 100 if v > 1 else np.zeros(n, int)
            expected = np.where(odd, ones, twos) + (1000 * np.roll(second, -3) if u + v > 3 else 0)
            assert out.tolist() == expected.tolist(), (n, u, v)


@pytest.mark.parametrize("flags", [(), ("--level", "none"), ("--disable", "work-item-vectorization")])
def test_values_of_work_items_stay_where_they_are_while_a_block_decides(flags: tuple[str, ...]) -> None:
    source = """
    __global__ void k(const int* in, int* out, int turns, int limit) {
        __shared__ int tile[96];
        int t = threadIdx.x + blockDim.x * threadIdx.y, n = blockDim.x * blockDim.y;
        int a = in[t], b = 1;
        tile[t] = 0;
        __syncthreads();
        if (a < 0) { out[t] = -5; return; }
        for (int turn = 0; turn < turns; ++turn) {
            tile[t] = a;
            __syncthreads();
            int other = tile[(t * 5 + turn) % n];
            __syncthreads();
            if (turn == limit) continue;
            if (turn > limit + 3) break;
            int swap = a;
            a = b + other;
            b = swap;
        }
        out[t] = a * 3 + b;
    }
    """
    compiled = Kernels(source, *flags)
    for block in ((1,), (16,), (33,), (8, 4), (24, 4)):
        n = int(np.prod(block))
        for returned in (False, True):
            values = np.arange(n, dtype=np.int32) % 11
            if returned:
                values[:: max(n // 3, 1)] = -1
            alive = values >= 0
            for turns, limit in [(0, 0), (1, 5), (6, 2), (9, 1)]:
                out = np.zeros(n, np.int32)
                compiled("k", (1,), block, values, out, turns, limit)
                a, b, tile = values.astype(np.int64), np.ones(n, np.int64), np.zeros(n, np.int64)
                for turn in range(turns):
                    tile = np.where(alive, a, tile)
                    other = tile[(np.arange(n) * 5 + turn) % n]
                    if turn == limit:
                        continue
                    if turn > limit + 3:
                        break
                    a, b = b + other, a
                expected = np.where(alive, a * 3 + b, -5)
                assert out.tolist() == expected.tolist(), (block, returned, turns, limit)


@pytest.mark.parametrize("cpu", [None, "x86-64-v3", "x86-64-v2"])
def test_bounds_that_change_from_turn_to_turn(cpu: str | None) -> None:
    source = """
    __global__ void k(int* out, int turns, int first) {
        extern __shared__ int tile[];
        int t = threadIdx.x, size = blockDim.x, row = (threadIdx.z * blockDim.y + threadIdx.y) * size;
        int count = size * blockDim.y * blockDim.z;
        int* next = tile + count;
        tile[row + t] = row + t;
        next[row + t] = 0;
        __syncthreads();
        for (int turn = 0, s = first; turn < turns; ++turn, s = s * 2 + 1) {
            if (t < s && s < 2000) next[row + t] = tile[row + (t + s) % size] + 1;
            __syncthreads();
            if (t <= turn) tile[row + t] = next[row + t] ^ turn;
            __syncthreads();
            if (t == turn) tile[row + t] += 7;
            __syncthreads();
        }
        if (t == 0) out[blockIdx.x * count + row] = tile[row];
        else out[blockIdx.x * count + row + t] = -tile[row + t];
    }
    """
    compiled = Kernels(source, cpu=cpu)
    for block in BLOCKS:
        x, y, z = (*block, 1, 1)[:3]
        t = np.arange(x)
        for turns, first in [(0, 1), (1, 5), (6, 0), (9, 3), (4, -9)]:
            out = np.zeros((2, y * z, x), np.int32)
            compiled("k", (2,), block, out, turns, first, shared_bytes=8 * x * y * z)
            tile = np.arange(x * y * z).reshape(y * z, x)
            other = np.zeros_like(tile)
            s = first
            for turn in range(turns):
                if s < 2000:
                    other[:, t < s] = (tile[:, (t + s) % x] + 1)[:, t < s]
                tile[:, t <= turn] = other[:, t <= turn] ^ turn
                tile[:, t == turn] += 7
                s = s * 2 + 1
            expected = np.where(t == 0, tile, -tile)
            assert (out == expected).all(), (block, turns, first)


def test_private_memory_that_lanes_clear_one_by_one_is_read_where_each_lane_has_it() -> None:
    """It is accessed by two sizes and kept across a barrier, so that each lane's copy is in one piece."""
    source = """
    __global__ void k(int* __restrict__ sums) {
        int i = threadIdx.x;
        __align__(8) int local[4] = {1, 2, 3};
        unsigned char u8 = sums[i * 4 + 1];
        if (30 > i) { for (int k = 0; k < 2; ++k) local[i & 3] = local[u8 & 3]; }
        __syncthreads();
        for (int k = 0; k < 1; ++k) { switch (2147483647 & 7) { case 3: *(long long*)local = i; } }
        sums[i * 4] = local[i & 3];
    }"""
    i = np.arange(48)
    sums = np.zeros(192, np.int32)
    sums[1::4] = i * 5 // 3
    expected = np.array([1, 2, 3, 0])[np.where(i < 30, i * 5 // 3, i) & 3]
    # Folded, the store of the other size is gone before the region gets its memory.
    Kernels(source, "--disable", "constant-folding", level=0)("k", (1,), (48,), sums)
    assert sums[::4].tolist() == expected.tolist()

"""Work-items as SIMD lanes give the bits that work-items one by one give: random kernels, and the shapes of blocks they meet."""

from __future__ import annotations

import random

import numpy as np
import pytest
from kernel_harness import Kernels

PARAMETERS = "int* out, const int* in, float* reals, int n, int limit"
BLOCKS = [((3,), (64,)), ((2,), (37,)), ((2, 2), (5, 3)), ((1,), (1,)), ((2,), (16, 2, 2))]


class Source:
    """A random kernel in which every loop ends and every access is inside its array."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = 0

    def text(self) -> str:
        body = self.block(3, loops=0)
        has_barrier = self.random.random() < 0.4
        meet = "shared[t] = a; __syncthreads(); b ^= shared[size - 1 - t]; __syncthreads();" if has_barrier else ""
        early = "if (in[i & 255] % 7 == 3) return;" if self.random.random() < 0.5 else ""
        again = self.block(2, loops=0)
        return f"""
        __global__ void k({PARAMETERS}) {{
            __shared__ int shared[256];
            int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
            int size = blockDim.x * blockDim.y * blockDim.z;
            int i = (blockIdx.x + gridDim.x * blockIdx.y) * size + t;
            if (i >= n) return;
            int a = in[i & 255], b = limit, c = i;
            float f = a * 0.25f, g = 1.0f;
            int mine[8] = {{0}};
            {body}
            {early}
            {meet}
            {again}
            out[i] = a ^ b ^ c ^ mine[a & 7] ^ mine[3];
            reals[i] = f + g;
        }}"""

    def integer(self) -> str:
        pick = self.random.choice
        one, other = (
            pick("abc"),
            pick(["a", "b", "c", "i", "limit", "in[(a + c) & 255]", "mine[b & 7]", "in[(t + 5) & 255]", "3"]),
        )
        return pick(
            [
                f"({one} {pick('+-*^&|')} {other})",
                f"({one} {pick(['<<', '>>'])} ({other} & 7))",
                f"({one} / {other})",
                f"({one} % {other})",
                f"({one} < {other} ? {other} : {one})",
                f"(int)((unsigned){one} / ((unsigned){other} | 1u))",
                "(int)f",
            ]
        )

    def condition(self) -> str:
        return self.random.choice(
            [
                f"({self.integer()} & 3) == {self.random.randrange(4)}",
                f"{self.integer()} < {self.integer()}",
                "limit > 2",
                "(i & 1) == 0",
                "f > g",
            ]
        )

    def block(self, depth: int, loops: int) -> str:
        return "\n".join(self.statement(depth, loops) for _ in range(self.random.randint(1, 3)))

    def statement(self, depth: int, loops: int) -> str:
        kind = self.random.randrange(10 if depth else 4)
        if kind < 2:
            return f"{self.random.choice('abc')} = {self.integer()};"
        if kind == 2:
            return f"mine[{self.integer()} & 7] = {self.integer()};"
        if kind == 3:
            return self.random.choice(
                ["f = f * g + 0.5f;", "g = f > 8.0f ? 0.125f : g + f;", "f = sqrtf(fabsf(f)) + expf(-g);"]
            )
        if kind < 6:
            return f"if ({self.condition()}) {{ {self.block(depth - 1, loops)} }} else {{ {self.block(depth - 1, loops)} }}"
        if kind == 6:
            leave = (
                "break;"
                if loops and self.random.random() < 0.3
                else "return;"
                if self.random.random() < 0.3
                else "a += 1;"
            )
            return f"if ({self.condition()}) {{ {self.block(depth - 1, loops)} {leave} }}"
        if kind == 7:
            cases = "".join(
                f"case {number}: {self.block(depth - 1, 0)} {self.random.choice(['break;', ''])}\n"
                for number in range(3)
            )
            return f"switch ({self.integer()} & 3) {{ {cases} default: c ^= 5; }}"
        self.names += 1
        turn = f"x{self.names}"
        bound = self.random.choice(["5", "limit", "(a & 7)", "(t & 3) + 1"])
        leave = (
            f"if ({self.condition()}) {self.random.choice(['break', 'continue'])};"
            if self.random.random() < 0.6
            else ""
        )
        body = f"c += {turn}; {self.block(depth - 1, loops + 1)} {leave} b ^= {turn};"
        return f"for (int {turn} = 0, e = {bound}; {turn} < e && {turn} < 9; ++{turn}) {{ {body} }}"


def run(kernels: Kernels, grid: tuple[int, ...], block: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    count = int(np.prod(grid) * np.prod(block))
    values = np.random.default_rng(7).integers(-50, 50, 256).astype(np.int32)
    out, reals = np.full(count + 64, 77, np.int32), np.full(count + 64, 7, np.float32)
    kernels("k", grid, block, out, values, reals, count - 3, 4)
    return out, reals


@pytest.mark.parametrize("seed", range(24))
def test_random_kernels_give_the_bits_of_work_items_one_by_one(seed: int) -> None:
    source = Source(seed).text()
    lanes, scalar = Kernels(source, level=1), Kernels(source, "--disable", "work-item-vectorization", level=1)
    assert [entry["scalar_fallback"] for entry in lanes.unit["telemetry"]["lanes"]] == [None]
    assert scalar.unit["telemetry"]["lanes"] == []
    for grid, block in BLOCKS:
        for ours, theirs in zip(run(lanes, grid, block), run(scalar, grid, block), strict=True):
            unequal = ours.view(np.int32) != theirs.view(np.int32)
            bad = unequal & ~(np.isnan(ours.astype(np.float64)) & np.isnan(theirs.astype(np.float64)))
            assert not bad.any(), f"{grid} {block}: {np.flatnonzero(bad)[:5]}\n{source}"


def test_locks_between_work_items_of_a_block_run_one_by_one() -> None:
    source = """
    __global__ void k(int* lock, int* sum) {
        while (atomicExch(lock, 1) != 0) {}
        *sum += threadIdx.x;
        atomicExch(lock, 0);
    }"""
    kernels = Kernels(source)
    (entry,) = kernels.unit["telemetry"]["lanes"]
    assert entry["lanes"] == 1
    assert "lock" in entry["scalar_fallback"]
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int32)
    kernels("k", (3,), (64,), lock, total)
    assert total[0] == 3 * 63 * 64 // 2


def test_unsigned_indices_below_zero_of_inactive_lanes_do_no_harm() -> None:
    source = """
    __global__ void k(int* out, const int* in) {
        unsigned int before = threadIdx.x - 1u;
        out[threadIdx.x] = threadIdx.x > 0 ? in[before] : -1;
    }"""
    values = np.arange(50, 150, dtype=np.int32)
    out = np.zeros(100, np.int32)
    Kernels(source)("k", (1,), (100,), out, values)
    assert (out == np.concatenate([[-1], values[:-1]])).all()


def test_neighbours_that_wrap_are_the_numbers_they_are() -> None:
    source = """
    __global__ void k(long long* out, unsigned int start, int first) {
        out[threadIdx.x] = (long long)(start + threadIdx.x) - (long long)(int)(first + threadIdx.x);
    }"""
    out = np.zeros(40, np.int64)
    Kernels(source)("k", (1,), (40,), out, 2**32 - 10, 2**31 - 20)
    lane = np.arange(40, dtype=np.int64)
    signed = (lane + 2**31 - 20 + 2**31) % 2**32 - 2**31
    assert (out == (lane + 2**32 - 10) % 2**32 - signed).all()

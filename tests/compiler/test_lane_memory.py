"""How lanes reach memory: accesses in runs, atomics lane after lane, rows that are put together, conversions. Results are those of
work-items one by one, or of NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_harness import Kernels

COUNT = 3 * 90
MAPS = {
    "neighbours behind a uniform start": "limit * 3 + i / 90 * 90 + i % 90",
    "clamped": "i - 20 < 0 ? 0 : i - 20 >= n - 40 ? n - 41 : i - 20",
    "rows of 18": "i / 18 * 40 + i % 18",
    "rows of 5": "i / 5 * 7 + i % 5",
    "mirrored": "i < n / 2 ? i : n - 1 - i",
    "swapped halves": "i ^ 16",
    "swapped pairs": "i ^ 1",
    "two interleaved": "(i & 1) * 5 + i / 2 * 2",
    "the same twice": "i / 2",
    "the same after the end of a row": "i % 20 + i / 20 * 10",
    "scattered": "(i * i) % 271",
    "backwards": "i < limit ? i : n - i",
    "unsigned, below zero before the mask": "(unsigned)i % 60u - 7u + 7u * (i % 60 < 7)",
}
TYPES = {"unsigned char": np.uint8, "short": np.int16, "int": np.int32, "float": np.float32, "double": np.float64}


@pytest.mark.parametrize("name", MAPS)
def test_addresses_that_follow_from_indices_are_those_of_work_items_one_by_one(name: str) -> None:
    kernels = "\n".join(
        f"""
        __global__ void load{number}({ty}* out, const {ty}* in, int n, int limit) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i % 7 != 3 || i > 200) out[i] = in[{MAPS[name]}];
        }}
        __global__ void store{number}({ty}* out, const {ty}* in, int n, int limit) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i % 7 != 3 || i > 200) out[{MAPS[name]}] = in[i];
        }}"""
        for number, ty in enumerate(TYPES)
    )
    lanes, scalar = Kernels(kernels, level=1), Kernels(kernels, "--disable", "work-item-vectorization", level=1)
    for number, dtype in enumerate(TYPES.values()):
        values = np.random.default_rng(number).integers(0, 100, 1000).astype(dtype)
        for kernel in (f"load{number}", f"store{number}"):
            results = []
            for program in (lanes, scalar):
                out = np.full(1000, 77, dtype)
                program(kernel, (3,), (90,), out, values, COUNT, 10)
                results.append(out)
            assert (results[0] == results[1]).all(), f"{kernel} of {dtype}"
            assert (results[0] != 77).sum() > 40


def test_loads_in_runs_ask_for_them_and_random_ones_do_not() -> None:
    source = """
    __global__ void counted(float* out, const float* in) {
        int i = threadIdx.x;
        out[i] = in[i / 18 * 40 + i % 18];
    }
    __global__ void looked_up(float* out, const float* in, const int* where) {
        out[threadIdx.x] = in[where[threadIdx.x]];
    }"""
    text = Kernels(source, cpu="x86-64-v4", level=0).unit["llvm_ir"]
    counted, looked_up = text.split("define internal void @looked_up")
    assert ".two:" in counted
    assert "gather" in counted
    assert ".two:" not in looked_up
    assert "gather" in looked_up


def test_rows_and_columns_of_one_index_are_neighbours() -> None:
    source = """
    __global__ void k(int* out, unsigned int* same, int width) {
        __shared__ int tile[10][18];
        int i = threadIdx.x;
        if (i < 180) tile[i / 18][i % 18] = i * 3;
        __syncthreads();
        if (i < 180) out[i] = tile[i / 18][i % 18];
        int x = i - 90, y = x - x / 16 * 16;
        unsigned int u = i * 40000000u;
        same[3 * i] = (u / 19u) * 19u + 7u + u % 19u - u;
        same[3 * i + 1] = (x / width) * width + x % width - x;
        same[3 * i + 2] = y - x % 16;
    }"""
    kernels = Kernels(source)
    assert "masked.scatter.v" in kernels.unit["llvm_ir"]
    first = kernels.unit["llvm_ir"].split("define internal <")[1]
    assert "scatter" not in first
    out, same = np.zeros(180, np.int32), np.full(600, 9, np.uint32)
    for width in (7, -3, 0, 1):
        kernels("k", (1,), (200,), out, same, width)
        assert (out == np.arange(180) * 3).all()
        assert (same.reshape(200, 3) == [7, 0, 0]).all()


ATOMICS = {
    "atomicAdd(&local[key], i)": "add",
    "atomicSub(&local[key], i)": "subtract",
    "atomicMin(&local[key], i * 7 % 31 - 15)": "min",
    "atomicMax(&local[key], i * 7 % 31 - 15)": "max",
    "atomicOr(&local[key], 1 << i % 31)": "or",
    "atomicExch(&local[key], i)": "exchange",
    "atomicCAS(&local[key], 0, i)": "compare and exchange",
}


@pytest.mark.parametrize("operation", ATOMICS)
@pytest.mark.parametrize("key", ["bytes[i]", "words[i]", "i / 9", "(int)reals[i]"])
def test_atomics_of_a_block_go_from_lane_to_lane(operation: str, key: str) -> None:
    source = f"""
    __global__ void k(int* out, int* old, const unsigned char* bytes, const short* words, const float* reals, int n) {{
        __shared__ int local[64];
        if (threadIdx.x < 64) local[threadIdx.x] = 0;
        __syncthreads();
        int i = threadIdx.x;
        if (i < n) {{
            int key = {key};
            {operation};
        }}
        __syncthreads();
        if (threadIdx.x < 64) out[threadIdx.x] = local[threadIdx.x];
        __syncthreads();
        if (i < n && (i % 5 != 2 || i < 128)) {{
            int key = {key};
            old[i] = {operation};
        }}
    }}"""
    keys = np.random.default_rng(3).integers(0, 64, 300)
    results = []
    for program in (Kernels(source, level=1), Kernels(source, "--disable", "work-item-vectorization", level=1)):
        out, old = np.zeros(64, np.int32), np.full(300, -7, np.int32)
        program("k", (1,), (310,), out, old, keys.astype(np.uint8), keys.astype(np.int16), keys.astype(np.float32), 300)
        results.append((out, old))
    assert (results[0][0] == results[1][0]).all()
    assert (results[0][1] == results[1][1]).all()
    assert results[0][0].any()


def test_atomics_on_shared_memory_are_not_locked() -> None:
    source = """
    __global__ void k(int* out) {
        __shared__ int local[8];
        if (threadIdx.x < 8) local[threadIdx.x] = 0;
        __syncthreads();
        atomicAdd(&local[threadIdx.x % 8], 1);
        __syncthreads();
        if (threadIdx.x < 8) out[threadIdx.x] = local[threadIdx.x];
    }"""
    kernels = Kernels(source)
    assert "atomicrmw" not in kernels.unit["llvm_ir"]
    out = np.zeros(8, np.int32)
    kernels("k", (1,), (100,), out)
    assert (out == [13, 13, 13, 13, 12, 12, 12, 12]).all()


INTEGERS = {
    "signed char": np.int8,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "long long": np.int64,
    "unsigned long long": np.uint64,
}


@pytest.mark.parametrize("real", ["float", "double"])
@pytest.mark.parametrize("integer", INTEGERS)
def test_floats_become_the_nearest_integers_there_are(real: str, integer: str) -> None:
    source = f"""
    __global__ void k({integer}* out, const {real}* in, int n) {{
        int i = threadIdx.x;
        if (i < n) out[i] = ({integer})in[i];
    }}"""
    dtype = np.float32 if real == "float" else np.float64
    powers = [np.float64(2) ** exponent for exponent in (7, 8, 15, 16, 31, 32, 63, 64)]
    near = [step for power in powers for step in (np.nextafter(dtype(power), dtype(0)), power, power + power / 1024)]
    ends = [0.0, -0.0, 0.5, -0.5, 0.999, -0.999, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e30, -1e30, 1e-40]
    values = np.array([*ends, *near, *[-number for number in near]], dtype)
    lanes, scalar = Kernels(source, level=1), Kernels(source, "--disable", "work-item-vectorization", level=1)
    results = []
    for program in (lanes, scalar):
        out = np.zeros(len(values), INTEGERS[integer])
        program("k", (1,), (96,), out, values, len(values))
        results.append(out)
    assert (results[0] == results[1]).all()
    assert "fpto" in lanes.unit["llvm_ir"]

"""Kernels with shared memory, barriers and atomics, executed on this machine and compared with NumPy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from kernel_harness import CompileFailed, Kernels, emit

KERNELS = Path(__file__).resolve().parents[1] / "kernels"


def load(name: str, *flags: str) -> Kernels:
    return Kernels((KERNELS / f"{name}.hip").read_text(), *flags)


@pytest.mark.parametrize("block", [1, 2, 64, 256])
@pytest.mark.parametrize("count", [1, 255, 5000])
def test_block_reduction_adds_everything(count: int, block: int, rng: np.random.Generator) -> None:
    values = rng.integers(-100, 100, count).astype(np.float32)
    grid = -(-count // block)
    partial, total = np.zeros(grid, np.float32), np.zeros(1, np.float32)
    load("block_reduction")("block_reduction", (grid,), (block,), values, partial, total, count)
    padded = np.zeros(grid * block, np.float32)
    padded[:count] = values
    # Sums of small whole numbers are exact in any order.
    assert np.array_equal(partial, padded.reshape(grid, block).sum(1))
    assert total[0] == values.sum()


@pytest.mark.parametrize("block", [1, 3, 100, 256])
def test_inclusive_scan_in_dynamic_shared_memory(block: int, rng: np.random.Generator) -> None:
    values = rng.integers(-1000, 1000, 1000).astype(np.int32)
    out = np.zeros_like(values)
    load("inclusive_scan")("inclusive_scan", (-(-1000 // block),), (block,), values, out, 1000, shared_bytes=8 * block)
    expected = np.concatenate([np.cumsum(values[start : start + block]) for start in range(0, 1000, block)])
    assert np.array_equal(out, expected)


def test_tiled_transpose_with_partial_tiles(rng: np.random.Generator) -> None:
    source = rng.standard_normal((37, 91)).astype(np.float32)
    out = np.zeros((91, 37), np.float32)
    load("tiled_transpose")("tiled_transpose", (6, 3), (16, 16), source, out, 91, 37)
    assert np.array_equal(out, source.T)


@pytest.mark.parametrize("shape", [(16, 16, 16), (33, 50, 17), (1, 1, 40)])
def test_tiled_gemm_is_exact_on_whole_numbers(shape: tuple[int, int, int], rng: np.random.Generator) -> None:
    m, n, k = shape
    a, b = rng.integers(-8, 8, (m, k)).astype(np.float32), rng.integers(-8, 8, (k, n)).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    load("tiled_gemm")("tiled_gemm", (-(-n // 16), -(-m // 16)), (16, 16), a, b, c, m, n, k)
    assert np.array_equal(c, a @ b)


@pytest.mark.parametrize("block", [1, 96, 512])
def test_shared_histogram_counts_everything(block: int, rng: np.random.Generator) -> None:
    values = rng.integers(0, 256, 10_000, dtype=np.uint8)
    bins = np.zeros(256, np.uint32)
    load("shared_histogram")("shared_histogram", (5,), (block,), values, bins, 10_000)
    assert np.array_equal(bins, np.bincount(values, minlength=256))


def test_stencil_with_halo(rng: np.random.Generator) -> None:
    source = rng.integers(-50, 50, (45, 70)).astype(np.float32)
    out = np.zeros_like(source)
    load("stencil_halo")("stencil_halo", (5, 6), (16, 8), source, out, 70, 45)
    p = np.pad(source, 1, mode="edge")
    total = p[1:-1, 1:-1] + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    assert np.array_equal(out, total * np.float32(0.2))


def test_softmax_of_rows_with_barriers_in_device_functions(rng: np.random.Generator) -> None:
    source = rng.standard_normal((20, 300)).astype(np.float32) * 5
    out = np.zeros_like(source)
    load("softmax_rows")("softmax_rows", (20,), (128,), source, out, 300)
    exact = np.exp(source.astype(np.float64) - source.max(1, keepdims=True))
    assert np.allclose(out, exact / exact.sum(1, keepdims=True), rtol=1e-5, atol=0)


@pytest.mark.parametrize("block", [1, 2, 64, 512])
def test_bitonic_sort(block: int, rng: np.random.Generator) -> None:
    values = rng.integers(0, 2**32, 4 * block, dtype=np.uint32)
    expected = np.sort(values.reshape(4, block), axis=1).ravel()
    load("bitonic_sort")("bitonic_sort", (4,), (block,), values, shared_bytes=4 * block)
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("flags", [(), ("--level", "none"), ("--disable", "constant-folding")])
def test_work_items_may_return_before_a_barrier(flags: tuple[str, ...]) -> None:
    source = """
    __global__ void k(const int* in, int* out, int n) {
        __shared__ int tile[64];
        int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
        if (i >= n) return;
        tile[t] = in[i];
        __syncthreads();
        int sum = 0;
        for (int d = 0; d < 3; ++d) {
            int at = t + d;
            if (blockIdx.x * blockDim.x + at < n && at < 64) sum += tile[at];
            __syncthreads();
            if (sum > 1000000) return;
        }
        out[i] = sum;
    }
    """
    values = np.arange(150, dtype=np.int32) ** 2
    values[20] = 2_000_000
    out = np.full(150, -1, np.int32)
    Kernels(source, *flags)("k", (3,), (64,), values, out, 150)
    expected = [int(sum(values[i : min(i + 3, (i // 64 + 1) * 64, 150)])) for i in range(150)]
    assert out.tolist() == [-1 if value > 1_000_000 else value for value in expected]


def test_barriers_in_uniform_branches_loops_and_switches() -> None:
    source = """
    __device__ void turn(int* tile, int t, int n) {
        int next = tile[(t + 1) % n];
        __syncthreads();
        tile[t] = next;
        __syncthreads();
    }
    __global__ void k(int* out, int turns, int mode) {
        __shared__ int tile[96];
        int local[3] = {1, 2, 3};
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        int n = blockDim.x * blockDim.y * blockDim.z;
        tile[t] = t;
        __syncthreads();
        int i = 0;
        do {
            if (mode > 0) turn(tile, t, n);
            local[i % 3] += t;
            switch (mode) {
                case 2: turn(tile, t, n);
                case 1: turn(tile, t, n); break;
                default: break;
            }
        } while (++i < turns);
        bool is_even = (t & 1) == 0;
        __syncthreads();
        out[blockIdx.x * n + t] = tile[t] * 1000 + local[0] + local[1] + local[2] + (is_even ? 500 : 0);
    }
    """
    kernels = Kernels(source)
    t = np.arange(96)
    for mode, each in [(0, 0), (1, 2), (2, 3)]:
        out = np.zeros((4, 96), np.int32)
        kernels("k", (4,), (8, 4, 3), out, 5, mode)
        expected = (t + 5 * each) % 96 * 1000 + 6 + 5 * t + np.where(t % 2 == 0, 500, 0)
        assert np.array_equal(out, np.broadcast_to(expected, (4, 96))), mode


def test_loops_whose_work_items_leave_at_different_turns_keep_their_values() -> None:
    source = """
    __global__ void k(const int* table, int* out) {
        __shared__ int tile[128];
        int t = threadIdx.x, turns = 0, last = 0;
        while (turns < t % 5) {
            last = table[turns];
            ++turns;
        }
        tile[t] = turns;
        __syncthreads();
        out[t] = last * 1000 + turns * 10 + tile[127 - t];
    }
    """
    table = np.array([7, 11, 13, 17, 19], np.int32)
    out = np.zeros(128, np.int32)
    Kernels(source)("k", (1,), (128,), table, out)
    t = np.arange(128)
    last = np.where(t % 5 == 0, 0, table[t % 5 - 1])
    assert np.array_equal(out, last * 1000 + t % 5 * 10 + (127 - t) % 5)


def test_shared_memory_without_barriers_and_of_many_kinds() -> None:
    source = """
    struct Pair { double value; char tag; };
    __shared__ int counter;
    __global__ void k(double* out, int* count) {
        __shared__ Pair pairs[4];
        __shared__ char letters[3];
        extern __shared__ double dynamic[];
        if (threadIdx.x == 0) { counter = 0; letters[2] = 'x'; }
        pairs[threadIdx.x].value = threadIdx.x * 0.5;
        pairs[threadIdx.x].tag = 'a';
        dynamic[threadIdx.x] = 100 + threadIdx.x;
        __syncthreads();
        atomicAdd(&counter, 2);
        Pair other = pairs[3 - threadIdx.x];
        out[threadIdx.x] = other.value + other.tag + letters[2] + dynamic[3 - threadIdx.x];
        __syncthreads();
        if (threadIdx.x == 0) *count = counter;
    }
    __global__ void alone(int* out) {
        __shared__ int one[2];
        one[0] = 5;
        out[0] = one[0] + 1;
    }
    """
    kernels = Kernels(source)
    out, count = np.zeros(4), np.zeros(1, np.int32)
    kernels("k", (1,), (4,), out, count, shared_bytes=32)
    t = np.arange(3, -1, -1)
    assert np.array_equal(out, t * 0.5 + ord("a") + ord("x") + 100 + t)
    assert count[0] == 8
    only = np.zeros(1, np.int32)
    kernels("alone", (1,), (1,), only)
    assert only[0] == 6
    # A counter, four pairs of 16 bytes, three letters, padding between them at most.
    assert 4 + 64 + 3 <= kernels.signatures["k"]["static_shared_bytes"] <= 4 + 64 + 3 + 8
    assert kernels.signatures["alone"]["static_shared_bytes"] == 8


def test_atomics_give_what_one_after_the_other_would() -> None:
    count = 192
    i = np.zeros(9, np.int32)
    i[4] = -1
    u = np.array([2**32 - 1, 0, 0, 0], np.uint32)
    w, f, d, old = np.zeros(3, np.uint64), np.zeros(2, np.float32), np.zeros(1), np.zeros(count, np.int32)
    source = (KERNELS.parent.parent / "crates/amdgpu-compiler/tests/golden/atomics.hip").read_text()
    Kernels(source)("k", (3,), (64,), i, u, w, f, d, old)
    t = np.arange(count)
    total = int(t.sum())
    ones = np.bitwise_or.reduce(1 << (t % 31))
    assert i.tolist()[:8] == [total, -total, -191, 191, ~int(ones), int(ones), int(np.bitwise_xor.reduce(t)), count]
    assert i[8] == 3 * count
    assert u.tolist() == [4_000_000_000 - 191, 3_000_000_191, count % 10, (10 - count % 10) % 10]
    assert w.tolist() == [count << 40, 191 << 33, 77]
    assert f.tolist() == [count, 2.5]
    assert d[0] == count / 2
    assert sorted(old.tolist()) == list(range(count))


def test_barriers_that_count_and_decide() -> None:
    source = """
    __global__ void k(const int* in, int* out) {
        int t = threadIdx.x;
        for (int i = 0; i < 3; ++i) {
            int value = in[i * 70 + t];
            int count = __syncthreads_count(value > 1), any = __syncthreads_or(value > 2), all = __syncthreads_and(value);
            out[i * 70 + t] = count * 100 + any * 10 + all;
        }
    }
    """
    values = np.ones((3, 70), np.int32)
    values[0, ::3] = 2
    values[1, 5] = 9
    values[2, 4] = 0
    out = np.zeros_like(values)
    Kernels(source)("k", (1,), (70,), values, out)
    assert [sorted(set(row.tolist())) for row in out] == [[2401], [111], [0]]


def test_results_are_the_same_bits_with_passes_on_and_off(rng: np.random.Generator) -> None:
    source = rng.standard_normal((4, 300)).astype(np.float32)
    results = []
    for flags in [(), ("--level", "none"), ("--disable", "address-spaces"), ("--disable", "common-subexpressions")]:
        out = np.zeros_like(source)
        load("softmax_rows", *flags)("softmax_rows", (4,), (128,), source, out, 300)
        results.append(out.view(np.uint32))
    assert all(np.array_equal(result, results[0]) for result in results)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("__global__ void k(int* a) { __shared__ int s[4] = {1}; }", "cannot have an initial value"),
        ("__global__ void k(int* a) { __shared__ int s[]; }", "must be extern"),
        ("__global__ void k(char* a) { atomicAdd(a, 1); }", "does not work on 'char"),
        ("__global__ void k(float* a) { atomicAnd(a, 1); }", "does not work on 'float"),
        ("__global__ void k(const int* a) { atomicAdd(a, 1); }", "does not work on 'const int"),
        ("__global__ void k(int* a) { atomicCAS(a, 1); }", "takes 3"),
        ("__global__ void k(int* a) { __syncthreads(1); }", "takes 0"),
        (
            "__device__ int f(int n) { __syncthreads(); return n ? f(n - 1) : 0; } __global__ void k(int* a) { *a = f(3); }",
            "recursion of a function with barriers",
        ),
    ],
)
def test_wrong_uses_are_refused(source: str, message: str) -> None:
    with pytest.raises(CompileFailed, match=message.replace("(", r"\(")):
        emit(source)


def test_structs_by_value_and_templates_with_shared_memory() -> None:
    source = """
    struct Scale { char shift; double factor; int offsets[3]; };
    template <typename T, int N> __device__ T turned(T value) {
        __shared__ T tile[N];
        tile[threadIdx.x] = value;
        __syncthreads();
        T result = tile[(threadIdx.x + 1) % N];
        __syncthreads();
        return result;
    }
    __global__ void k(Scale s, double* out, int n) {
        auto add = [=](double x) { return x + s.offsets[threadIdx.x % 3]; };
        double first = turned<double, 48>(add(threadIdx.x * s.factor));
        int second = turned<int, 48>(threadIdx.x << s.shift);
        out[threadIdx.x] = first + second * n;
    }
    """
    layout = np.dtype({"names": ["shift", "factor", "offsets"], "formats": ["i1", "f8", ("i4", 3)]}, align=True)
    scale = np.zeros((), layout)
    scale["shift"], scale["factor"], scale["offsets"] = 2, 0.5, (10, 20, 30)
    out = np.zeros(48)
    Kernels(source)("k", (1,), (48,), scale, out, 3)
    t = (np.arange(48) + 1) % 48
    assert np.array_equal(out, t * 0.5 + np.array([10, 20, 30])[t % 3] + (t << 2) * 3)


@pytest.mark.parametrize("work_items", ["", "if (t == 37) return;"])
def test_kernels_of_many_barriers(work_items: str) -> None:
    turns = 20
    steps = "".join(
        f"s[t] = v * {i + 3} + a; __syncthreads(); v += s[(t + {i + 1}) % 64] & 4095; __syncthreads();\n"
        for i in range(turns)
    )
    source = f"""__global__ void k(int* out, int a) {{
        __shared__ int s[64];
        int t = threadIdx.x, v = out[t];
        s[t] = 0;
        __syncthreads();
        {work_items}
        {steps}
        out[t] = v;
    }}"""
    t = np.arange(64)
    out = t.astype(np.int32)
    Kernels(source)("k", (1,), (64,), out, 5)
    v, shared, runs = t.copy(), np.zeros(64, np.int64), t != 37 if work_items else t >= 0
    for i in range(turns):
        shared[runs] = (v * (i + 3) + 5)[runs]
        v = np.where(runs, v + (shared[(t + i + 1) % 64] & 4095), v)
    assert np.array_equal(out, v.astype(np.int32))


def test_kernels_of_too_many_barriers_are_refused_on_the_cpu_alone() -> None:
    source = "__global__ void k(int* a) { " + "__syncthreads(); " * 1001 + "}"
    with pytest.raises(CompileFailed, match="more than 1000 barriers"):
        emit(source)
    assert "llvm.nvvm" in emit(source, "--target", "sm_90")["llvm_ir"]

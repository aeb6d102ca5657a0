"""Operations of waves: executed on this machine and compared with NumPy, assembled for every GPU target."""

from __future__ import annotations

import numpy as np
import pytest
from amdgpu import codegen
from kernel_harness import CompileFailed, Kernels, emit
from wave_sources import EVERYTHING, REDUCTION

# The largest is more than LLVM is asked to optimise in full, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:amdgpu. codegen does not run as preferred")
LANE = np.arange(32)


def values_of(dtype: str, count: int, rng: np.random.Generator) -> np.ndarray:
    if dtype.startswith("float"):
        return rng.standard_normal(count).astype(dtype)
    return rng.integers(0, 2**62, count).astype(dtype)


TYPES = [
    ("int", "int32"),
    ("unsigned", "uint32"),
    ("long", "int64"),
    ("unsigned long long", "uint64"),
    ("float", "float32"),
    ("double", "float64"),
]


@pytest.mark.parametrize(("ctype", "dtype"), TYPES)
def test_shuffles_of_every_type_direction_and_width(ctype: str, dtype: str, rng: np.random.Generator) -> None:
    source = f"""
    template <int W> __device__ void all(const {ctype}* in, {ctype}* out, int d) {{
        {ctype} v = in[threadIdx.x];
        out[threadIdx.x] = __shfl(v, d, W);
        out[96 + threadIdx.x] = __shfl_up(v, d, W);
        out[192 + threadIdx.x] = __shfl_down_sync(0xffffffff, v, d, W);
        out[288 + threadIdx.x] = __shfl_xor_sync(~0ull, v, d, W);
    }}
    __global__ void k(const {ctype}* in, {ctype}* out, int d) {{
        all<32>(in, out, d); all<8>(in, out + 384, d); all<2>(in, out + 768, d);
    }}
    """
    kernels = Kernels(source)
    values = values_of(dtype, 96, rng)
    first = np.arange(96) // 32 * 32
    lane = np.arange(96) % 32
    for d in (0, 1, 5, 31, 40):
        out = np.zeros((3, 4, 96), dtype)
        kernels("k", (1,), (96,), values, out, d)
        for index, width in enumerate((32, 8, 2)):
            group, own = lane & ~(width - 1), lane & (width - 1)
            other = lane ^ (d & 31)
            sources = [
                group | d & (width - 1),
                np.where(own >= d, lane - d, lane),
                np.where(own + d < width, lane + d, lane),
                np.where(other < group + width, other, lane),
            ]
            for row, wanted in enumerate(sources):
                assert np.array_equal(out[index, row], values[first + wanted]), (d, width, row)


def test_shuffle_of_narrow_integers_and_bools() -> None:
    source = """
    __global__ void k(int* out) {
        char c = threadIdx.x; unsigned short s = 60000 + threadIdx.x; bool b = threadIdx.x == 3;
        out[threadIdx.x] = __shfl(c, 9) + __shfl_xor(s, 1) * 100 + __shfl(b, 3) * 10000000;
    }
    """
    out = np.zeros(32, np.int32)
    Kernels(source)("k", (1,), (32,), out)
    assert np.array_equal(out, 9 + (60000 + (LANE ^ 1)) * 100 + 10_000_000)


def test_votes_masks_and_matches() -> None:
    source = """
    __global__ void k(const int* in, unsigned long long* out) {
        int t = threadIdx.x, v = in[t], all = -1;
        out[t] = __ballot(v & 1);
        out[64 + t] = __ballot_sync(0xffff, v & 1);
        out[128 + t] = __any(v == 7) + 2 * __all(v < 100) + 4 * __any_sync(0xff00, v == 7) + 8 * __all_sync(0xf, v != 7);
        out[192 + t] = __match_any_sync(0xffffffff, v % 3);
        out[256 + t] = __match_all_sync(0xffffffff, v / 100, &all) * 2 + all;
        out[320 + t] = __match_any((double)(v % 2)) + (__match_all(1ull << 40, &all) == __activemask());
        out[384 + t] = __lanemask_lt(); out[448 + t] = __lanemask_le(); out[512 + t] = __lanemask_eq();
        out[576 + t] = __lanemask_gt(); out[640 + t] = __lanemask_ge(); out[704 + t] = __lane_id() + 100 * warpSize;
    }
    """
    v = np.arange(64, dtype=np.int32) * 5 % 51
    v[40] = 170
    out = np.zeros((12, 64), np.uint64)
    Kernels(source)("k", (1,), (64,), v, out)

    def mask(condition: np.ndarray) -> int:
        return sum(1 << lane for lane in range(32) if condition[lane])

    full = 2**32 - 1
    for wave in (0, 1):
        w, rows = v[wave * 32 :][:32], out[:, wave * 32 :][:, :32]
        assert set(rows[0]) == {mask(w % 2 == 1)}
        assert set(rows[1]) == {mask(w % 2 == 1) & 0xFFFF}
        some = (w == 7)[8:16].any()
        first = (w != 7)[:4].all()
        assert set(rows[2]) == {(w == 7).any() + 2 * (w < 100).all() + 4 * some + 8 * first}
        assert [int(value) for value in rows[3]] == [mask(w % 3 == w[lane] % 3) for lane in range(32)]
        assert set(rows[4]) == {2 * full + 1 if wave == 0 else 0}
        assert [int(value) for value in rows[5]] == [mask(w % 2 == w[lane] % 2) + 1 for lane in range(32)]
        assert [int(value) for value in rows[6]] == [(1 << lane) - 1 for lane in range(32)]
        assert [int(value) for value in rows[7]] == [(2 << lane) - 1 for lane in range(32)]
        assert [int(value) for value in rows[8]] == [1 << lane for lane in range(32)]
        assert [int(value) for value in rows[9]] == [full & ~((2 << lane) - 1) for lane in range(32)]
        assert [int(value) for value in rows[10]] == [full & ~((1 << lane) - 1) for lane in range(32)]
        assert rows[11].tolist() == [3200 + lane for lane in range(32)]


@pytest.mark.parametrize(("ctype", "dtype"), [TYPES[0], TYPES[1], TYPES[3]])
@pytest.mark.parametrize("block", [32, 20])
def test_reductions_of_whole_and_partial_waves(ctype: str, dtype: str, block: int, rng: np.random.Generator) -> None:
    names = ("add", "min", "max", "and", "or", "xor")
    lines = "".join(
        f"out[{2 * i} * 32 + t] = __reduce_{name}_sync(0xffffffff, v); "
        f"if (t % 3 == 1) out[{2 * i + 1} * 32 + t] = __reduce_{name}_sync(some, v);\n"
        for i, name in enumerate(names)
    )
    source = f"""__global__ void k(const {ctype}* in, {ctype}* out) {{
        int t = threadIdx.x; {ctype} v = in[t];
        unsigned long long some = __ballot(t % 3 == 1);
        {lines}
    }}"""
    values = values_of(dtype, 32, rng)
    out = np.zeros((6, 2, 32), dtype)
    Kernels(source)("k", (1,), (block,), values, out)
    here = block > LANE
    for i, combine in enumerate((np.add, np.minimum, np.maximum, np.bitwise_and, np.bitwise_or, np.bitwise_xor)):
        for row, chosen in enumerate((here, here & (LANE % 3 == 1))):
            wanted = np.where(chosen, combine.reduce(values[chosen], dtype=dtype), 0).astype(dtype)
            assert np.array_equal(out[i, row], wanted), (i, row)


@pytest.mark.parametrize("block", [32, 64, 256, 1024])
def test_block_reduction_by_shuffles_in_functions_templates_and_lambdas(block: int, rng: np.random.Generator) -> None:
    values = rng.integers(-100, 100, 5000).astype(np.int32)
    out, doubles = np.zeros(3, np.int32), np.zeros(3)
    Kernels(REDUCTION)("sums", (3,), (block,), values, out, doubles, 5000)
    owner = np.arange(5000) // block % 3
    expected = np.array([values[owner == index].sum() for index in range(3)])
    assert np.array_equal(out, 3 * expected)
    assert np.array_equal(doubles, expected * 0.5)


def test_waves_of_a_block_go_their_own_ways() -> None:
    source = """
    __global__ void k(int* out) {
        int t = threadIdx.x, wave = t / warpSize, v = t;
        for (int turn = 0; turn < wave * 3; ++turn) v += __shfl_xor(v, 1 + turn % 4);
        if (wave == 1) v = __shfl(v, 5);
        else if (wave == 2) { __syncwarp(); v = __popcll(__ballot(v & 1)); }
        __syncthreads();
        if (wave == 3) return;
        v += __shfl_down(v, 1);
        __syncthreads();
        out[t] = v;
    }
    """
    out = np.full(128, -1, np.int32)
    Kernels(source)("k", (1,), (128,), out)
    v = np.arange(128).reshape(4, 32)
    for wave in range(4):
        for turn in range(wave * 3):
            v[wave] = v[wave] + v[wave][LANE ^ (1 + turn % 4)]
    v[1] = v[1][5]
    v[2] = (v[2] & 1).sum()
    v = v + v[:, np.minimum(LANE + 1, 31)]
    v[3] = -1
    assert np.array_equal(out, v.astype(np.int32).ravel())


def test_compaction_by_ballot_and_early_return() -> None:
    source = """
    __global__ void k(const int* in, int* out, int* count, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i >= n) return;
        bool keep = in[i] % 3 == 0;
        unsigned long long mask = __ballot(keep);
        int leader = __ffsll(mask) - 1, base = 0;
        if (mask != 0 && __lane_id() == leader) base = atomicAdd(count, __popcll(mask));
        if (mask != 0) base = __shfl(base, leader);
        if (keep) out[base + __popcll(mask & __lanemask_lt())] = in[i];
    }
    """
    values = np.arange(1000, dtype=np.int32) * 7
    out, count = np.zeros(1000, np.int32), np.zeros(1, np.int32)
    Kernels(source)("k", (8,), (128,), values, out, count, 1000)
    kept = values[values % 3 == 0]
    assert count[0] == kept.size
    assert sorted(out[: kept.size].tolist()) == kept.tolist()


def test_lanes_that_skip_an_operation_in_a_loop_wait_for_the_others() -> None:
    source = """
    __global__ void k(int* out) {
        int t = threadIdx.x, seen = 0;
        for (int turn = 0; turn < 5; ++turn) {
            if ((t + turn) % 4 == 0) continue;
            seen += __popcll(__ballot(turn == 2)) + (turn << 8);
            if (t % 8 == turn) break;
            seen += __popcll(__activemask()) << 16;
        }
        out[t] = seen;
    }
    """
    out = np.zeros(32, np.int32)
    Kernels(source)("k", (1,), (32,), out)
    seen = np.zeros(32, np.int64)
    left = np.zeros(32, bool)
    for turn in range(5):
        here = ~left & ((LANE + turn) % 4 != 0)
        seen[here] += (here.sum() if turn == 2 else 0) + (turn << 8)
        left |= here & (turn == LANE % 8)
        here &= ~left
        seen[here] += here.sum() << 16
    assert np.array_equal(out, seen)


def test_lanes_are_counted_along_x_then_y_then_z_and_the_last_wave_may_be_partial() -> None:
    source = """
    __global__ void k(int* out) {
        int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
        out[t] = __lane_id() + 100 * __popcll(__activemask()) + 10000 * __shfl_down(t, 1);
    }
    """
    kernels = Kernels(source)
    for block in [(5, 7, 3), (1,), (33,), (16, 16), (3, 1, 11)]:
        size = int(np.prod(block))
        out = np.zeros(size, np.int32)
        kernels("k", (1,), block, out)
        t = np.arange(size)
        count = np.minimum(32, size - t // 32 * 32)
        own = t % 32
        below = np.where(own + 1 < count, t + 1, t)
        assert np.array_equal(out, own + 100 * count + 10000 * below), block


TARGETS = [
    "gfx900",
    "gfx906",
    "gfx908",
    "gfx90a",
    "gfx942",
    "gfx950",
    "gfx1010",
    "gfx1030",
    "gfx1100",
    "gfx1101",
    "gfx1102",
    "gfx1103",
    "gfx1151",
    "gfx1200",
    "gfx1201",
    "sm_70",
    "sm_75",
    "sm_80",
    "sm_86",
    "sm_89",
    "sm_90",
]


@pytest.mark.parametrize("target", TARGETS)
def test_every_gpu_target_assembles_every_operation(target: str) -> None:
    unit = emit(EVERYTHING, "--target", target)
    is_nvidia = target.startswith("sm_")
    triple = "nvptx64-nvidia-cuda" if is_nvidia else "amdgcn-amd-amdhsa"
    features = "+ptx63" if target == "sm_70" else ""
    text = codegen.generate(unit["llvm_ir"], triple, target, features, 3, "assembly").decode()
    if is_nvidia:
        wanted = ["shfl.sync.idx.b32", "vote.sync.ballot", "match.any.sync.b32", "match.any.sync.b64", "activemask"]
        wanted += ["bar.warp.sync", "%laneid"]
    else:
        is_wide = target[3] == "9"
        wanted = ["ds_bpermute_b32", "v_readfirstlane_b32", "v_mbcnt_lo"]
        assert "@llvm.amdgcn.wave.barrier()" in unit["llvm_ir"]
        wanted.append(f".wavefront_size: {64 if is_wide else 32}")
        assert ("v_mbcnt_hi" in text) == is_wide
    for name in wanted:
        assert name in text, name


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("a[0] = __shfl(a, 1);", r"no '__shfl' takes \(int\*, int\)"),
        ("a[0] = __shfl_down(a[0]);", "no '__shfl_down' takes"),
        ("__syncwarp(1, 2);", "takes 1"),
        ("a[0] = __builtin_wave_lane(3);", "takes 0"),
        ("warpSize = 3;", "assign|written|variable"),
        ("int b[warpSize];", "known at compile time"),
    ],
)
def test_wrong_uses_are_errors(statement: str, message: str) -> None:
    with pytest.raises(CompileFailed, match=message):
        emit(f"__global__ void k(int* a) {{ {statement} }}")


def test_recursion_through_a_wave_is_refused() -> None:
    source = "__device__ int f(int n) { return n ? f(__shfl(n, 1)) : 0; } __global__ void k(int* a) { *a = f(3); }"
    with pytest.raises(CompileFailed, match="recursion"):
        emit(source)

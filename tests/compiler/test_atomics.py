"""Atomics of every type, order and scope, executed on this machine and compared with NumPy, and as code for GPUs."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from amdgpu import codegen
from atomic_sources import COUNT, FLOATS, INTEGERS, SCOPES, float_source, integer_source
from kernel_harness import CompileFailed, Kernels, emit


@pytest.fixture(scope="module")
def integers() -> Kernels:
    return Kernels(integer_source())


@pytest.mark.parametrize("number", range(len(INTEGERS) * len(SCOPES)))
def test_integer_atomics_of_every_scope(integers: Kernels, number: int, rng: np.random.Generator) -> None:
    dtype = list(INTEGERS.values())[number // len(SCOPES)]
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, COUNT, dtype, endpoint=True)
    out = np.array([5, 6, info.max, info.min, -1 & info.max, 0, 7, 3, 4, 9, 1000], dtype)
    start, old = out.copy(), np.zeros(COUNT, dtype)
    integers(f"k{number}", (3,), (64,), x, out, old, COUNT)
    with np.errstate(over="ignore"):
        total = np.add.reduce(x, dtype=dtype)
        assert out[0] == start[0] + total
        assert out[1] == start[1] - total
        assert out[9] == start[9] + total
    assert out[2:7].tolist() == [
        x.min(),
        x.max(),
        np.bitwise_and.reduce(x) & start[4],
        np.bitwise_or.reduce(x),
        np.bitwise_xor.reduce(x) ^ start[6],
    ]
    up, down = 3, 4
    for _ in range(COUNT):
        up = 0 if up >= 9 else up + 1
        down = 9 if down == 0 or down > 9 else down - 1
    is_wrapping = info.min == 0
    assert out[7:9].tolist() == ([up, down] if is_wrapping else [3 + COUNT, 4 - COUNT])
    assert sorted([*old.tolist(), int(out[10])]) == sorted([1000, *range(COUNT)])


@pytest.fixture(scope="module")
def floats() -> Kernels:
    return Kernels(float_source())


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("ty", FLOATS)
def test_float_atomics_of_every_scope(floats: Kernels, ty: str, scope: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(COUNT).astype(FLOATS[ty])
    x[3] = np.nan
    out = np.array([np.inf, -np.inf, 0, 0, 0, 0], FLOATS[ty])
    floats(f"k_{ty}{scope}", (3,), (64,), x, out)
    total = COUNT * (COUNT - 1) // 2
    assert out.tolist() == [np.nanmin(x), np.nanmax(x), total, -total, COUNT, x[7]]


def test_minimum_and_maximum_order_zeros_and_skip_nan() -> None:
    source = "__global__ void k(const float* in, float* out) { atomicMin(&out[0], in[threadIdx.x]); atomicMax(&out[1], in[threadIdx.x]); }"
    out = np.array([0.0, -0.0], np.float32)
    Kernels(source)("k", (1,), (3,), np.array([np.nan, 0.0, -0.0], np.float32), out)
    assert np.signbit(out).tolist() == [True, False]


def test_narrow_floats_add_one_after_the_other() -> None:
    source = """
    __global__ void k(__half* h, __half2* pairs, __hip_bfloat16* b, __hip_bfloat162* two) {
        atomicAdd(&h[1], __half(1.0f)); atomicAdd_system(&h[2], __half(0.5f));
        atomicAdd(&pairs[1], __half2{__half(1.0f), __half(-2.0f)}); unsafeAtomicAdd(&pairs[0], __half2{__half(0.25f), __half(0.0f)});
        atomicAdd(&b[1], __hip_bfloat16(1.0f));
        atomicAdd(two, __hip_bfloat162{__hip_bfloat16(1.0f), __hip_bfloat16(2.0f)});
    }
    """
    h, pairs = np.array([7, 0, 0], np.float16), np.zeros(4, np.float16)
    b, two = np.zeros(3, ml_dtypes.bfloat16), np.zeros(2, ml_dtypes.bfloat16)
    Kernels(source)("k", (2,), (48,), h, pairs, b, two)
    assert h.tolist() == [7, 96, 48]
    assert pairs.tolist() == [24, 0, 96, -192]
    assert b.astype(float).tolist() == [0, 96, 0]
    assert two.astype(float).tolist() == [96, 192]


def test_builtins_with_order_and_scope() -> None:
    source = """
    __global__ void k(int* i, unsigned long long* w, float* f, int* old) {
        int t = blockIdx.x * blockDim.x + threadIdx.x;
        __hip_atomic_fetch_add(&i[0], 2, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        __hip_atomic_fetch_sub(&i[1], 2, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
        __hip_atomic_fetch_max(&i[2], t, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WORKGROUP);
        __hip_atomic_fetch_min(&i[3], -t, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        __atomic_fetch_or(&w[0], 1ull << (t % 64), __ATOMIC_RELAXED);
        __atomic_fetch_xor(&w[1], t, __ATOMIC_ACQUIRE);
        __hip_atomic_fetch_add(f, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
        float seen = __atomic_load_n(&f[1], __ATOMIC_RELAXED);
        while (!__hip_atomic_compare_exchange_weak(&f[1], &seen, seen + 2, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {}
        old[t] = __atomic_exchange_n(&i[4], t, __ATOMIC_SEQ_CST);
        int expected = -5;
        if (t == 0) {
            bool is_done = __atomic_compare_exchange_n(&i[5], &expected, 9, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
            i[6] = is_done ? 1 : expected;
            __atomic_store_n(&i[7], 77u, __ATOMIC_RELEASE);
            i[8] = __hip_atomic_load(&i[7], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP);
        }
    }
    """
    i, w, f, old = np.zeros(9, np.int32), np.zeros(2, np.uint64), np.zeros(2, np.float32), np.zeros(COUNT, np.int32)
    i[4], i[5] = 1000, 42
    Kernels(source)("k", (3,), (64,), i, w, f, old)
    t = np.arange(COUNT)
    assert i.tolist()[:4] == [2 * COUNT, -2 * COUNT, COUNT - 1, 1 - COUNT]
    assert w.tolist() == [2**64 - 1, int(np.bitwise_xor.reduce(t))]
    assert f.tolist() == [COUNT, 2 * COUNT]
    assert sorted([*old.tolist(), int(i[4])]) == sorted([1000, *range(COUNT)])
    assert i.tolist()[5:] == [42, 42, 77, 77]


def test_own_overloads_of_atomics_stand_beside_ours() -> None:
    source = """
    struct Pair { int a, b; };
    __device__ int atomicAdd(Pair* p, int x) { atomicAdd(&p->a, x); return atomicAdd(&p->b, -x); }
    __global__ void k(Pair* p, int* n) { atomicAdd(p, 2); atomicAdd(n, 1); }
    """
    pair, n = np.zeros(2, np.int32), np.zeros(1, np.int32)
    Kernels(source)("k", (1,), (40,), pair, n)
    assert [*pair.tolist(), *n.tolist()] == [80, -80, 40]


def test_clocks_move_on_and_nan_is_one() -> None:
    source = """
    __global__ void k(long long* out, float* f, double* d) {
        long long begin = clock64(), wall = wall_clock64(), short_one = clock();
        for (int i = 0; i < 1000; ++i) __threadfence();
        out[0] = clock64() - begin; out[1] = wall_clock64() - wall; out[2] = clock() - short_one;
        f[0] = nanf(""); d[0] = nan("0x12");
    }
    """
    out, f, d = np.zeros(3, np.int64), np.zeros(1, np.float32), np.zeros(1)
    Kernels(source)("k", (1,), (1,), out, f, d)
    assert (out > 0).all()
    assert (f.view(np.uint32)[0], d.view(np.uint64)[0]) == (0x7FC00000, 0x7FF8000000000000)


SCOPED = """
__global__ void k(int* i, float* f, double* d, __half* h, long long* t) {
    int n = threadIdx.x;
    i[8 + n] = atomicAdd(i + n, 1); i[9 + n] = atomicAdd_system(i + n, 1); i[10 + n] = atomicCAS_system(i + n, 1, n);
    atomicMin(f + n, 2.0f); atomicAdd(d + n, 1.0); atomicAdd(h + n, __half(1.0f)); t[0] = clock64(); t[1] = wall_clock64();
}
"""


@pytest.mark.parametrize(
    ("triple", "cpu", "wanted"),
    [
        ("amdgcn-amd-amdhsa", "gfx1100", ["global_atomic_add_u32", "global_atomic_cmpswap_b64", "REALTIME"]),
        ("amdgcn-amd-amdhsa", "gfx90a", ["global_atomic_add", "global_atomic_cmpswap", "s_memtime", "s_memrealtime"]),
        (
            "nvptx64-nvidia-cuda",
            "sm_90",
            [r"atom.sys.add.u32", r"atom.relaxed.sys.global.cas.b32", "atom.global.add.u32", "clock64", "globaltimer"],
        ),
    ],
)
def test_code_for_gpus_has_atomics_of_both_scopes(triple: str, cpu: str, wanted: list[str]) -> None:
    unit = emit(SCOPED, "--target", cpu)
    text = codegen.generate(unit["llvm_ir"], triple, cpu, "", 3, "assembly").decode()
    for pattern in wanted:
        assert re.search(pattern, text), pattern


def test_every_atomic_of_the_system_has_code_for_gpus() -> None:
    source = integer_source() + float_source()
    for triple, target in [("amdgcn-amd-amdhsa", "gfx1100"), ("nvptx64-nvidia-cuda", "sm_90")]:
        unit = emit(source, "--target", target)
        text = codegen.generate(unit["llvm_ir"], triple, target, "", 3, "assembly").decode()
        found = set(re.findall(r"atom\.sys\.(\w+\.\w+) ", text))
        if target == "sm_90":
            minima = {f"{name}.{ty}{bits}" for name in ("min", "max") for ty in "su" for bits in (32, 64)}
            logic = {f"{name}.b{bits}" for name in ("and", "or", "xor", "exch") for bits in (32, 64)}
            assert found == minima | logic | {"add.u32", "add.u64", "add.f32", "add.f64", "inc.u32", "dec.u32"}


def test_what_has_no_atomics_is_refused() -> None:
    with pytest.raises(CompileFailed, match="does not work on 'char"):
        emit("__global__ void k(char* a) { atomicAdd_system(a, 1); }")
    with pytest.raises(CompileFailed, match="takes 2"):
        emit("__global__ void k(float* a) { atomicMin_block(a); }")

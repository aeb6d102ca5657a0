"""`volatile`: accesses happen as often as they are written, in every stage and on every target."""

from __future__ import annotations

import re
import threading
import warnings

import amdgpu
import numpy as np
import pytest
from kernel_harness import CompileFailed, Kernels, emit

HANDSHAKE = """
__global__ void answer(volatile int* box, int* out) {
    box[0] = 1;
    long long turns = 0;
    while (box[1] == 0 && turns < 20000000000LL) turns++;
    out[0] = box[1];
}
"""
VALUES = """
struct Mailbox { int data; volatile int ready; volatile unsigned bits : 4, more : 12; };
__device__ volatile int counter;
__device__ void add(volatile int& to, int by) { to += by; }
template <typename T> __device__ T twice(volatile T* p) { return *p + *p; }
__global__ void k(Mailbox* box, volatile int* p, int* out) {
    __shared__ volatile int shared[4];
    volatile int own = 3;
    volatile int pair[2] = {4, 5};
    own = own * own; own++;
    shared[1] = own; shared[1] += 2;
    add(p[1], 7); add(own, 1);
    box->ready = box->data; box->ready -= 2;
    box->bits = 21; box->more = box->bits + 1;
    counter = 4; counter++;
    volatile bool flag = p[0] > 1;
    out[0] = own; out[1] = shared[1]; out[2] = p[1]; out[3] = box->ready; out[4] = counter; out[5] = flag;
    out[6] = twice(p); out[7] = pair[0] + pair[1]; out[8] = box->bits; out[9] = box->more; out[10] = *(volatile int*)out;
}
"""
WRITTEN = """
__global__ void k(volatile int* p, int* q) {
    p[0] = 1; p[0] = 1;
    *p;
    q[0] = p[1] + p[1];
    while (p[2] == 0) {}
}
"""


def test_a_polling_kernel_sees_what_the_host_writes_while_it_runs() -> None:
    for level, flags in [(3, ()), (0, ("--level", "none"))]:
        kernels = Kernels(HANDSHAKE, *flags, level=level)
        box, out = np.zeros(2, np.int32), np.zeros(1, np.int32)
        thread = threading.Thread(target=kernels, args=("answer", (1,), (1,), box, out))
        thread.start()
        while box[0] == 0 and thread.is_alive():
            pass
        box[1] = 5
        thread.join()
        assert out[0] == 5


def test_volatile_variables_fields_and_references_compute_like_others() -> None:
    for level, flags in [(3, ()), (0, ("--level", "none"))]:
        box, p, out = np.array([9, 0, 0], np.int32), np.array([2, 3], np.int32), np.zeros(11, np.int32)
        Kernels(VALUES, *flags, level=level)("k", (1,), (1,), box, p, out)
        assert out.tolist() == [11, 12, 10, 7, 5, 1, 4, 9, 5, 6, 11]


@pytest.mark.parametrize("target", ["x86_64", "gfx1100", "gfx90a", "sm_70", "sm_90"])
def test_every_target_gets_the_accesses_that_are_written(target: str) -> None:
    text = str(emit(WRITTEN, "--target", target))
    assert len(re.findall(r"store volatile", text)) == 2
    assert len(re.findall(r"load volatile", text)) == 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("int* q = p; q[0] = 1;", "'volatile int*' does not convert to 'int*'"),
        ("take(p[0]);", "take"),
        ("int& r = p[0]; r = 1;", "this is volatile, and the reference is not"),
        (
            "struct S { typedef volatile int flag; }; S::flag f = 1; p[0] = f;",
            "a name for a volatile type inside of a struct is not supported",
        ),
        ("struct S { int x; __device__ int get() { return x; } }; volatile S s; p[0] = s.get();", "S::get"),
    ],
)
def test_volatile_is_not_lost_in_silence(body: str, message: str) -> None:
    source = f"__device__ void take(int& r) {{ r = 1; }}\n__global__ void k(volatile int* p) {{ {body} }}"
    with pytest.raises(CompileFailed, match=re.escape(message)):
        emit(source)


NAMED = """
typedef volatile int flag_t;
using counter_t = volatile unsigned int;
struct Cell { int x; __device__ int get() volatile { return x; } __device__ int both() const volatile { return x; } };
__device__ void set(flag_t* flag, int value) { *flag = value; }
__global__ void k(int* p) {
    flag_t* flags = (flag_t*)p;
    flag_t one = 5;
    set(flags, one);
    flags[1] = flags[0] + 1;
    volatile Cell cell;
    cell.x = 7;
    flags[2] = cell.get() + cell.both();
    { typedef int flag_t; flag_t plain = 1; p[3] = plain; }
    flag_t two = 2;
    p[4] = two;
}"""


def test_names_for_volatile_types_and_volatile_member_functions() -> None:
    p = np.zeros(5, np.int32)
    Kernels(NAMED)("k", (1,), (1,), p)
    assert p.tolist() == [5, 6, 14, 1, 2]
    text = emit(NAMED, "--target", "gfx1100", "--level", "none")["llvm_ir"]
    assert len(re.findall(r"load volatile i32", text)) == 5
    assert len(re.findall(r"store volatile i32", text)) == 4


ATOMICS = """
__global__ void k(volatile int* p, volatile float* f) {
    atomicAdd(p, 2);
    atomicCAS(p, 2, 9);
    __hip_atomic_fetch_add(p, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    __atomic_store_n(&p[1], __atomic_load_n(p, __ATOMIC_ACQUIRE) + 5, __ATOMIC_RELEASE);
    p[2] = __hip_atomic_load(p, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    atomicMax(f, 2.5f);
    atomicAdd(&f[1], 1.5f);
}"""


def test_atomics_take_pointers_to_volatile_memory() -> None:
    p, f = np.zeros(3, np.int32), np.zeros(2, np.float32)
    Kernels(ATOMICS)("k", (1,), (1,), p, f)
    assert p.tolist() == [10, 15, 10]
    assert f.tolist() == [2.5, 1.5]


REDUCTION = """
__device__ void finish(volatile int* s, int t) {
    s[t] += s[t + 16]; s[t] += s[t + 8]; s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
}
__global__ void reduce(int* out, const int* in) {
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = in[t];
    __syncthreads();
    if (t < 32) finish(s, t);
    if (t == 0) out[0] = s[0];
}
"""


def test_code_that_relies_on_lockstep_warns_with_its_line() -> None:
    device = amdgpu.initialize_device("cpu:0")
    with pytest.warns(
        UserWarning, match=r"kernel\.hip:3:1: warning: .*__shared__ memory(.|\n)*hint: put __syncwarp\(\)"
    ):
        device.compile_kernel(REDUCTION)


def test_a_barrier_of_the_wave_makes_it_right_and_silent() -> None:
    body = "".join(f"    v += s[t + {step}]; __syncwarp(); s[t] = v; __syncwarp();\n" for step in (16, 8, 4, 2, 1))
    start, end = REDUCTION.index("    s[t] += s[t + 16]"), REDUCTION.index("}\n__global__")
    source = REDUCTION[:start] + "    int v = s[t];\n" + body + REDUCTION[end:]
    values = np.arange(64, dtype=np.int32)
    out = np.zeros(1, np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = amdgpu.initialize_device("cpu:0").compile_kernel(source)
    kernel[1, 64](out, values)
    assert out[0] == values[:32].sum()

"""Variables of modules: `__device__`, `__constant__`, static variables of functions; what Python sees of them."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors
from elf_file import DYNAMIC_SYMBOLS, ElfFile

FILTER = """
__constant__ float taps[5];
__device__ unsigned int calls;
__global__ void convolve(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&calls, 1u);
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k) {
        int j = i + k - 2;
        if (j >= 0 && j < n) sum += taps[k] * in[j];
    }
    out[i] = sum;
}
__global__ void reset() { calls = 0; }
"""
STRUCTS = """
struct Limits { float low; double high; int count[3]; };
__constant__ Limits limits = {1.5f, 2.5, {7, 8}};
__device__ Limits measured;
__global__ void copy(double* out) {
    measured = limits;
    out[0] = limits.low; out[1] = limits.high; out[2] = limits.count[0]; out[3] = limits.count[1]; out[4] = limits.count[2];
}
"""
COUNTERS = """
__device__ int next_number() { static int number = 40; return atomicAdd(&number, 1); }
__device__ int other_number() { static int number; return atomicAdd(&number, 2); }
__global__ void take(int* out) { out[0] = next_number(); out[1] = other_number(); }
"""
SHARED_IN_FUNCTION = """
__device__ int* slots() { static __shared__ int memory[64]; return memory; }
__global__ void reverse(int* data) {
    slots()[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    data[threadIdx.x] = slots()[63 - threadIdx.x];
}
"""
BIG = "__device__ float field[1 << 20]; __global__ void set() { field[threadIdx.x + (1 << 20) - 32] = 3.0f; }"


def test_constants_are_written_and_counters_read(device):
    kernel = device.compile_kernel(FILTER, name="convolve")
    taps = np.array([0.1, 0.2, 0.4, 0.2, 0.1], "float32")
    kernel.module_global("taps").copy_from(taps)
    x = np.arange(100, dtype="float32")
    out = np.zeros_like(x)
    kernel[1, 128](x, out, x.size)
    np.testing.assert_allclose(out[2:-2], np.convolve(x, taps, "valid"), rtol=1e-6)
    calls = kernel.module_global("calls")
    assert (calls.shape, calls.dtype) == ((), np.dtype("uint32"))
    assert int(calls.numpy()) == 100
    device.compile_kernel(FILTER, name="reset")[1, 1]()
    assert int(calls.numpy()) == 0, "kernels of one source share their variables"


def test_the_list_of_variables_tells_type_and_shape(device):
    kernel = device.compile_kernel(FILTER, name="convolve")
    assert kernel.module_globals == [
        {
            "name": "taps",
            "type_name": "float[5]",
            "dtype": "float32",
            "shape": [5],
            "size_bytes": 20,
            "is_constant": True,
        },
        {
            "name": "calls",
            "type_name": "unsigned int",
            "dtype": "uint32",
            "shape": [],
            "size_bytes": 4,
            "is_constant": False,
        },
    ]


def test_structs_keep_their_initial_values_and_are_seen_as_bytes(device):
    kernel = device.compile_kernel(STRUCTS)
    layout = np.dtype([("low", "f4"), ("high", "f8"), ("count", "i4", 3)], align=True)
    out = np.zeros(5)
    kernel[1, 1](out)
    assert out.tolist() == [1.5, 2.5, 7, 8, 0]
    measured = kernel.module_global("measured").numpy().view(layout)[0]
    assert (measured["low"], measured["high"], measured["count"].tolist()) == (1.5, 2.5, [7, 8, 0])
    changed = np.zeros((), layout)
    changed["high"] = 9.25
    kernel.module_global("limits").copy_from(np.frombuffer(changed.tobytes(), "uint8"))
    kernel[1, 1](out)
    assert out.tolist() == [0, 9.25, 0, 0, 0]


@pytest.mark.parametrize("level", ["none", "low", "high", "max"])
def test_static_variables_of_functions_live_from_launch_to_launch(device, level):
    kernel = device.compile_kernel(COUNTERS, optimization_level=level)
    assert kernel.module_globals == []
    out = np.zeros(2, "int32")
    seen = []
    for _ in range(3):
        kernel[1, 1](out)
        seen.append(out.tolist())
    assert seen == [[40, 0], [41, 2], [42, 4]]


def test_static_shared_memory_of_functions_is_one_for_all_its_calls(device):
    data = np.arange(64, dtype="int32")
    device.compile_kernel(SHARED_IN_FUNCTION)[1, 64](data)
    assert data.tolist() == list(range(63, -1, -1))


def test_large_zeroed_variables_take_no_room_in_the_code(device):
    kernel = device.compile_kernel(BIG)
    kernel[1, 32]()
    field = kernel.module_global("field").numpy()
    assert (field.shape, field[-32:].tolist(), field[:-32].any()) == ((1 << 20,), [3.0] * 32, False)
    unit = _native.compile_source(BIG, "x86_64")
    assert len(unit["content"]) < 10_000


def test_variables_start_with_their_values_again_in_another_compilation(device):
    source = "__device__ int state = 5; __global__ void step(int* out) { out[0] = state++; }"
    out = np.zeros(1, "int32")
    seen = []
    for defines in ({}, {}, {"OTHER": "1"}):
        device.compile_kernel(source, defines=defines)[1, 1](out)
        seen.append(int(out[0]))
    assert seen == [5, 6, 5]


def test_memory_of_a_module_outlives_its_kernel(device):
    memory = device.compile_kernel("__device__ int value = 17; __global__ void k() { value += 1; }").module_global(
        "value"
    )
    assert int(memory.numpy()) == 17


def test_unknown_names_are_refused_with_those_that_there_are(device):
    kernel = device.compile_kernel(FILTER, name="reset")
    with pytest.raises(errors.GlobalNotFoundError, match="`nothing`; it has `taps`, `calls`"):
        kernel.module_global("nothing")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("__constant__ float big[20000];", "__constant__ variables take 80000 bytes; the limit is 65536"),
        ("__device__ char big[200000000];", "the variables outside of functions take 2000000"),
        ("__constant__ int c; __device__ void f() { c = 1; }", "const"),
        ("namespace a { __device__ int x; } namespace b { __device__ int x; }", "two variables named 'x'"),
        ("__device__ int f() { return 1; } __device__ int x = f();", "the initial value of a global variable"),
        ("__device__ const int x;", "'x' is const and needs an initial value"),
        ("extern __device__ int x;", "a variable of another file"),
        ("__managed__ int x;", "__managed__"),
    ],
)
def test_what_cannot_be_is_told_at_its_place(device, source, message):
    with pytest.raises((errors.CompileError, errors.UnsupportedFeatureError)) as caught:
        device.compile_kernel(source + "\n__global__ void k() {}")
    assert message in str(caught.value)
    assert "kernel.hip:1:" in str(caught.value)


def test_code_objects_for_amd_export_the_variables():
    for target in ("gfx90a", "gfx1100", "gfx1201"):
        file = ElfFile(_native.compile_source(FILTER, target)["content"])
        symbols = {symbol.name: symbol for symbol in file.symbols(DYNAMIC_SYMBOLS)}
        assert (symbols["taps"].size, symbols["calls"].size) == (20, 4)


def test_ptx_declares_the_variables_by_their_names():
    ptx = _native.compile_source(FILTER, "sm_90")["content"]
    assert ".visible .const .align 4 .b8 taps[20]" in ptx
    assert ".visible .global .align 4 .b8 calls[4]" in ptx


def test_null_devices_give_memory_for_variables():
    with amdgpu.initialize_device("null:gfx1100") as device:
        kernel = device.compile_kernel(FILTER, name="convolve")
        taps = kernel.module_global("taps")
        assert (taps.shape, taps.nbytes) == ((5,), 20)
        taps.copy_from(np.zeros(5, "float32"))

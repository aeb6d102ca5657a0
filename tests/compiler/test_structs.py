"""Structs by value as parameters of kernels: where they lie, what Python passes for them, what is refused."""

from __future__ import annotations

import ctypes
import re

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, codegen
from kernel_harness import CompileFailed, Kernels, emit

SOURCE = """
struct Inner { char tag; double weight; };
struct Options { unsigned char flag; float scale[3]; Inner inner; short count; bool on; int* table; };
struct alignas(16) Wide { float x, y; };
struct Empty {};
__global__ void k(char first, Options o, bool second, Wide w, Empty e, short third, float4 v, double* out) {
    out[0] = first; out[1] = o.flag; out[2] = o.scale[0]; out[3] = o.scale[2]; out[4] = o.inner.tag; out[5] = o.inner.weight;
    out[6] = o.count; out[7] = o.on; out[8] = o.table[1]; out[9] = second; out[10] = w.x; out[11] = w.y; out[12] = third;
    out[13] = v.x; out[14] = v.w;
    o.scale[1] = 7; int i = (int)second; out[15] = o.scale[i];
}
"""
INNER = np.dtype([("tag", "i1"), ("weight", "f8")], align=True)
OPTIONS = np.dtype(
    [
        ("flag", "u1"),
        ("scale", "f4", 3),
        ("inner", INNER),
        ("count", "i2"),
        ("on", "?"),
        ("table", "u8"),
    ],
    align=True,
)
WIDE = np.dtype({"names": ["x", "y"], "formats": ["f4", "f4"], "itemsize": 16})
FLOAT4 = np.dtype([(name, "f4") for name in "xyzw"])


def values() -> tuple[np.ndarray, list[np.ndarray], list[float]]:
    table = np.array([5, 6, 7], np.int32)
    options = np.array((200, (1.5, 2.5, 3.5), (-3, 0.1), -300, True, table.ctypes.data), OPTIONS)
    wide = np.array((8.5, 9.5), WIDE)
    vector = np.array((1, 2, 3, 4), FLOAT4)
    expected = [-1, 200, 1.5, 3.5, -3, 0.1, -300, 1, 6, 1, 8.5, 9.5, -2, 1, 4, 7]
    return table, [options, wide, np.zeros((), "V1"), vector], expected


def test_structs_arrive_as_c_lays_them_out() -> None:
    _table, (options, wide, empty, vector), expected = values()
    for flags, level in [((), 3), (("--level", "none"), 0)]:
        out = np.zeros(16)
        Kernels(SOURCE, *flags, level=level)("k", (1,), (1,), -1, options, True, wide, empty, -2, vector, out)
        assert out.tolist() == expected


@pytest.mark.parametrize(("target", "triple"), [("gfx1100", "amdgcn-amd-amdhsa"), ("sm_90", "nvptx64-nvidia-cuda")])
def test_gpus_read_the_parameters_where_the_signature_has_them(target: str, triple: str) -> None:
    unit = emit(SOURCE, "--target", target)
    (kernel,) = unit["kernels"]
    text = codegen.generate(unit["llvm_ir"], triple, target, "", 3, "assembly").decode()
    places = {parameter["name"]: parameter["offset_bytes"] for parameter in kernel["parameters"]}
    assert places == {"first": 0, "o": 8, "second": 56, "w": 64, "e": 80, "third": 82, "v": 96, "out": 112}
    assert kernel["argument_buffer_bytes"] == 120
    if target.startswith("gfx"):
        metadata = text[text.index(".amdgpu_metadata") :]
        offsets = [int(number) for number in re.findall(r"\.offset: +(\d+)", metadata)]
        names = re.findall(r"\.name: +(\w+)", metadata)
        assert {8, 56, 64, 82, 96, 112} <= set(offsets), (offsets, names)
        assert int(re.search(r"\.kernarg_segment_size: +(\d+)", metadata)[1]) == 120
    else:
        sizes = {
            "b8": 1,
            "b16": 2,
            "b32": 4,
            "b64": 8,
            "u8": 1,
            "u16": 2,
            "u32": 4,
            "u64": 8,
            "f32": 4,
            "f64": 8,
            "s8": 1,
        }
        end = 0
        head = text[text.index(".entry k(") : text.index("{", text.index(".entry k("))]
        for kind in re.findall(r"\.param \.(\w+)", head):
            end = -(-end // sizes[kind]) * sizes[kind] + sizes[kind]
        assert end == 120


def test_python_passes_structured_scalars_arrays_ctypes_and_bytes() -> None:
    class Pair(ctypes.Structure):
        _fields_ = (("x", ctypes.c_float), ("n", ctypes.c_int))

    source = "struct Pair { float x; int n; }; __global__ void k(Pair p, float* out) { out[threadIdx.x] = p.x * p.n; }"
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    kernel = device.compile_kernel(source)
    dtype = np.dtype([("x", "f4"), ("n", "i4")])
    for given in [
        np.array((1.5, 4), dtype),
        np.array([(1.5, 4)], dtype)[0],
        Pair(1.5, 4),
        np.array((1.5, 4), dtype).tobytes(),
    ]:
        out = np.zeros(3, np.float32)
        kernel[1, 3](given, out)
        assert out.tolist() == [6, 6, 6]
    assert kernel.parameters[0]["size_bytes"] == 8
    out = np.zeros(3, np.float32)
    with pytest.raises(amdgpu.errors.InvalidArgumentError, match=r"`Pair` has 8 bytes, and 4 are given"):
        kernel[1, 3](b"abcd", out)
    for wrong in [3, 1.5, None, "text", np.zeros(2, dtype), out]:
        with pytest.raises(
            amdgpu.errors.InvalidTypeError, match=r"`Pair` is a struct of 8 bytes: pass a NumPy structured scalar"
        ):
            kernel[1, 3](wrong, out)


def test_more_bytes_than_devices_take_are_refused() -> None:
    with pytest.raises(CompileFailed, match="take 8000 bytes; the limit is 4096"):
        emit("struct Big { float x[2000]; }; __global__ void k(Big b) {}")


SHARED_EXITS = """
__global__ void k(float2* q, int n) {
    float2 p;
    switch (n) { case 40: break; case 41: break; case 42: p.x = 1; break; }
    q[0].x = p.x;
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100", "sm_90"])
def test_cases_that_share_an_exit_compile_for_gpus(target: str) -> None:
    # LLVM wants an entry of a phi for each edge, and said that there was one too few.
    assert _native.compile_source(SHARED_EXITS, target)["content"]

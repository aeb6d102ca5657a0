"""`__builtin_nontemporal_load` and `__builtin_nontemporal_store`: the values of plain accesses, past the caches where vectors are whole."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile

import amdgpu
import numpy as np
import pytest
from amdgpu import codegen
from kernel_harness import Kernels, emit

TYPES = {
    "unsigned char": "uint8",
    "short": "int16",
    "_Float16": "float16",
    "int": "int32",
    "float": "float32",
    "double": "float64",
    "bool": "bool",
}
COPY = """
__global__ void copy(const T* from, T* to, unsigned long long n) {
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) __builtin_nontemporal_store(__builtin_nontemporal_load(from + i), to + i);
}
"""
ODD_ONES = """
__global__ void odd(const int* from, int* to) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (from[i] & 1) __builtin_nontemporal_store(from[i] * 3, to + i);
    __builtin_nontemporal_store(from[i], to + gridDim.x * blockDim.x * 2 - 1 - i);
}
"""
NEIGHBOURS = """
__global__ void neighbours(const float* from, float* to, float* out) {
    int t = threadIdx.x, first = blockIdx.x * blockDim.x;
    __builtin_nontemporal_store(from[first + t] + 1.0f, to + first + t);
    __syncthreads();
    out[first + t] = to[first + (t + 1) % blockDim.x] * 2.0f;
}
"""


@pytest.mark.parametrize("ctype", TYPES)
@pytest.mark.parametrize("cpu", [None, "x86-64-v3", "x86-64-v2"])
def test_copies_have_the_values_of_plain_ones(ctype: str, cpu: str | None) -> None:
    kernels = Kernels(f"typedef {ctype} T;{COPY}", cpu=cpu)
    dtype = np.dtype(TYPES[ctype])
    source = np.random.default_rng(1).integers(0, 100, 3000).astype(dtype)
    # Addresses that are a vector's, and such that are not; blocks of whole vectors and of parts of one.
    for begin in (0, 1, 5, 16):
        for block in (1, 7, 64, 100):
            for count in (1, 63, 640, 1000):
                to = np.zeros(3100, dtype)
                kernels("copy", (-(-count // block),), (block,), source[begin:], to[begin:], count)
                np.testing.assert_array_equal(to[begin : begin + count], source[begin : begin + count])
                assert not to[:begin].any()
                assert not to[begin + count :].any()


def test_lanes_that_part_and_addresses_that_go_down() -> None:
    source = np.random.default_rng(2).integers(0, 1000, 512).astype(np.int32)
    for level in (0, 3):
        to = np.full(1024, -1, np.int32)
        Kernels(ODD_ONES, level=level)("odd", (4,), (128,), source, to)
        np.testing.assert_array_equal(to[:512], np.where(source & 1, source * 3, -1))
        np.testing.assert_array_equal(to[512:], source[::-1])


def test_a_block_reads_what_its_work_items_wrote_past_the_caches() -> None:
    source = np.random.default_rng(3).standard_normal(1024).astype(np.float32)
    to, out = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    Kernels(NEIGHBOURS)("neighbours", (4,), (256,), source, to, out)
    shifted = np.roll((source + 1).reshape(4, 256), -1, axis=1).reshape(-1)
    np.testing.assert_array_equal(out, shifted * 2)


def test_all_threads_see_the_result_of_a_large_launch() -> None:
    device = amdgpu.initialize_device("cpu:0")
    kernel = device.compile_kernel(f"typedef float T;{COPY}")
    source = np.random.default_rng(4).standard_normal(3_000_001).astype(np.float32)
    to = np.zeros_like(source)
    kernel[-(-source.size // 256), 256](source, to, source.size)
    np.testing.assert_array_equal(to, source)


def test_every_target_is_told() -> None:
    source = f"typedef float T;{COPY}"
    for flags in (("--target", "gfx1100"), ("--target", "sm_90"), ("--target", "x86_64")):
        text = emit(source, *flags)["llvm_ir"]
        assert re.search(r"store .*!nontemporal", text)
    # The host's fence stands behind all blocks that a thread runs.
    assert re.search(r"done:\n  fence seq_cst\n  ret void", text)
    assert "fence" not in emit("__global__ void k(float* p) { p[threadIdx.x] = 1.0f; }", *flags)["llvm_ir"]


@pytest.mark.llvm
@pytest.mark.skipif(shutil.which("objdump") is None, reason="reads machine code with objdump")
def test_vectors_pass_the_caches() -> None:
    triple, cpu, features = codegen.host_target()
    if not triple.startswith("x86_64"):
        pytest.skip("asks for an instruction of x86-64")
    unit = emit(f"typedef float T;{COPY}", "--triple", triple, "--cpu", cpu, "--features", features)
    code = codegen.generate(unit["llvm_ir"], triple, cpu, features, 3, "object")
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code)
        file.flush()
        text = subprocess.run(["objdump", "-d", file.name], capture_output=True, text=True, check=True).stdout
    assert re.search(r"v?movntps .*[xyz]mm", text)
    assert "movnti" not in text

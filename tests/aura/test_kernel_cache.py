"""The kernel cache keeps its size: in memory, on the disk, and in the code generator."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import amdgpu
import numpy as np
import pytest
from amdgpu import _native
from amdgpu.codegen import generate, host_target
from amdgpu.errors import InvalidArgumentError, InvalidHandleError

# Room for some 12 small kernels.
SMALL_MEMORY_BYTES = 256 << 10
KERNELS = 30
# llvmlite keeps 1.7 KiB of every module: what `LLVMPY_CreatePassBuilder` allocates beside the builder.
CODEGEN_BYTES_PER_MODULE = 5 << 10


def source(number: int, name: str = "set") -> str:
    return f"__global__ void {name}(float* x) {{ x[threadIdx.x] = {number}.0f; }}"


def resident_bytes() -> int:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> amdgpu.AMDGPUDevice:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AMDGPU_CACHE_MEMORY_BYTES", str(SMALL_MEMORY_BYTES))
    return amdgpu.initialize_device("cpu:0")


def test_kernels_nobody_holds_are_dropped_when_memory_is_full(small_memory: amdgpu.AMDGPUDevice) -> None:
    device = small_memory
    handles = [str(device.compile_kernel(source(number))) for number in range(KERNELS)]
    sizes = device.native.kernel_cache_sizes()
    assert sizes["limit_bytes"] == SMALL_MEMORY_BYTES
    assert sizes["kept_bytes"] <= SMALL_MEMORY_BYTES
    assert 5 < sizes["kept_kernels"] < KERNELS - 5
    assert max(sizes["known_kernels"], sizes["known_units"]) <= KERNELS
    with pytest.raises(InvalidHandleError, match="has no kernel with the handle"):
        device.native.kernel(handles[0])
    assert device.native.kernel(handles[-1]).name == "set"
    again = device.compile_kernel(source(0))
    assert (again.cache_answer, str(again)) == ("disk", handles[0])


def test_kernels_that_are_used_stay(small_memory: amdgpu.AMDGPUDevice) -> None:
    device = small_memory
    used = str(device.compile_kernel(source(7)))
    x = np.zeros(4, np.float32)
    for number in range(100, 100 + KERNELS):
        device.compile_kernel(source(number))
        device.execute(used, x, grid=1, block=4)
    assert x.tolist() == [7.0] * 4


def test_a_kernel_that_is_held_keeps_its_handle_and_its_module(small_memory: amdgpu.AMDGPUDevice) -> None:
    device = small_memory
    text = "__device__ int count; __global__ void add(int* out) { count += 1; out[0] = count; }"
    held = device.compile_kernel(text)
    out = np.zeros(1, np.int32)
    held[1, 1](out)
    for number in range(200, 200 + KERNELS):
        device.compile_kernel(source(number))
    assert device.native.kernel(str(held)).name == "add"
    again = device.compile_kernel(text)
    assert again.cache_answer == "memory"
    again[1, 1](out)
    assert out[0] == 2, "one source has one set of variables as long as a kernel of it is held"


def test_a_wrong_limit_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_MEMORY_BYTES", "64M")
    with pytest.raises(InvalidArgumentError, match="AMDGPU_CACHE_MEMORY_BYTES is `64M`; expected a positive number"):
        amdgpu.initialize_device("cpu:0")


def test_the_folder_keeps_its_size(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    limit = 256 << 10
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AMDGPU_CACHE_DISK_BYTES", str(limit))
    device = amdgpu.initialize_device("cpu:0")
    for number in range(120):
        device.compile_kernel(source(number), optimization_level="none")
    folders = [folder for folder in (tmp_path / "kernels").iterdir() if folder.is_dir()]
    entries = [[file.stat().st_size for file in folder.iterdir()] for folder in folders]
    assert all(len(sizes) == 1 or sum(sizes) <= limit // 256 for sizes in entries)
    assert sum(map(len, entries)) < 115


@pytest.mark.llvm
def test_the_code_generator_keeps_next_to_nothing_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    # What runs in child processes otherwise.
    monkeypatch.setattr("amdgpu.codegen.llvm_process._is_guarded", True)
    text = _native.compile_source(source(1), "host", emit="llvm")["content"]
    target = host_target()
    for _ in range(40):
        generate(text, *target, 3, "object")
    before = resident_bytes()
    for _ in range(80):
        generate(text, *target, 3, "object")
    assert (resident_bytes() - before) / 80 < CODEGEN_BYTES_PER_MODULE


PROGRAM = """
import os, sys
import amdgpu
from tests.test_kernel_cache import resident_bytes, source

device = amdgpu.initialize_device("cpu:0")
for number in range(20_001):
    if number % 5_000 == 0:
        print(resident_bytes(), flush=True)
    device.compile_kernel(source(number, f"kernel_{number}"))
"""


@pytest.mark.slow
def test_twenty_thousand_compilations_do_not_grow_the_process(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = os.environ | {"AMDGPU_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, cwd=root
    )
    sizes = [int(line) for line in done.stdout.split()]
    # LLVM's share lies in processes that are replaced now and then; here names stay, which telemetry knows kernels by.
    assert sizes[-1] - sizes[1] < 15_000 * 1024, sizes

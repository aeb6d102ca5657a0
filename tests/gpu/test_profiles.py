"""Profiles and tuning of kernels on every GPU of this machine: the counts are those of the CPU, and a profile changes no bit.

Needs Python with numpy, pytest and llvmlite, nothing else: `python -m pytest tests/gpu/test_profiles.py -q`. Skipped with a reason where
`list_devices()` shows no GPU.
"""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from corpus import CORPUS

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
# What the order of atomics decides is counted differently in each run, too.
NAMES = sorted(name for name, entry in CORPUS.items() if not entry.launch(entry.sizes[0]).order_dependent)


@pytest.fixture(scope="module", params=GPU_NAMES or [None])
def gpu(request):
    """Each GPU of this machine, opened."""
    if request.param is None:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def cpu():
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def profile_of(device, entry, launch):
    kernel = device.compile_kernel(entry.path.read_text(), name=launch.kernel or entry.name)
    return device.profile_kernel(
        kernel, launch.arguments, grid=launch.grid, block=launch.block, shared_bytes=launch.shared_bytes
    )


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["saxpy", "gray_scott", "binomial_options", "gemm_naive", "tiled_gemm"])
def test_counts_are_those_of_the_cpu(gpu, cpu, name):
    entry = CORPUS[name]
    launch = entry.launch(entry.sizes[0])
    ours, theirs = (profile_of(device, entry, launch).facts()["kernel"] for device in (gpu, cpu))
    for what in ("blocks", "branches", "loops", "constants", "accesses"):
        assert ours[what] == theirs[what], what


@pytest.mark.gpu
@pytest.mark.parametrize("name", NAMES)
def test_a_profile_changes_no_bit(gpu, name):
    entry = CORPUS[name]
    launch = entry.launch(entry.sizes[0])
    plain, profiled = (
        entry.run(gpu, launch, **options) for options in ({}, {"profile": profile_of(gpu, entry, launch)})
    )
    assert launch.problem(profiled) == ""
    for place, (a, b) in enumerate(zip(plain, profiled, strict=True)):
        if isinstance(a, np.ndarray) and place not in launch.scratch:
            assert a.tobytes() == b.tobytes(), f"argument {place}"


@pytest.mark.gpu
def test_kernels_are_tuned(gpu, tmp_path, monkeypatch):
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    source = """
    extern "C" __global__ void axpy(const float* a, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) y[i] += 2.0f * a[i];
    }"""
    kernel, n = gpu.compile_kernel(source), 100_000
    a, y = amdgpu.array(np.ones(n, np.float32), device=gpu), amdgpu.zeros(n, np.float32, device=gpu)
    tuned = kernel.tune((a, y, n), block=[64, 256, 1024])
    assert sorted(tuned.record.seconds) == ["block=1024", "block=256", "block=64"]
    kernel(a, y, n)
    np.testing.assert_array_equal(y.numpy(), np.full(n, 2, np.float32))

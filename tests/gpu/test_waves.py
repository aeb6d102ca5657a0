"""Operations of waves on a real GPU: the same bits as on the CPU, where a wave has as many lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_harness import run
from wave_programs import Program
from wave_sources import EVERYTHING, REDUCTION


@pytest.fixture(autouse=True)
def waves_of_32(gpu: Any) -> None:
    """Waves of 64 lanes give other results than those of the CPU, and right ones."""
    kernel = "__global__ void size(int* out) { out[0] = warpSize; }"
    if run(gpu, kernel, "size", 1, 1, np.zeros(1, np.int32))[0][0] != 32:
        pytest.skip("this GPU has waves of 64 lanes")


@pytest.mark.gpu
@pytest.mark.parametrize("seed", range(16))
def test_random_portable_kernels_give_the_bits_of_the_cpu_and_of_lockstep(gpu: Any, cpu: Any, seed: int) -> None:
    program = Program(1000 + seed, is_portable=True)
    for block in (64, 256):
        zeros = np.zeros(3 * block, np.int32)
        results = [run(device, program.source, "k", 3, block, zeros, 333, 517)[0] for device in (gpu, cpu)]
        assert np.array_equal(*results), program.source
        assert results[0].tolist() == program.run(block, 3, 333, 517), program.source


@pytest.mark.gpu
@pytest.mark.parametrize("block", [32, 256, 1024])
def test_block_reductions_by_shuffles_give_the_bits_of_the_cpu(gpu: Any, cpu: Any, block: int, rng: Any) -> None:
    values = rng.integers(-100, 100, 5000).astype(np.int32)
    arrays = (values, np.zeros(3, np.int32), np.zeros(3), 5000)
    on_gpu, on_cpu = (run(device, REDUCTION, "sums", 3, block, *arrays) for device in (gpu, cpu))
    for left, right in zip(on_gpu, on_cpu, strict=True):
        assert np.array_equal(left, right)


@pytest.mark.gpu
def test_every_operation_gives_the_bits_of_the_cpu(gpu: Any, cpu: Any, rng: Any) -> None:
    integers, doubles = rng.integers(0, 5, 128).astype(np.int32), rng.integers(0, 3, 128).astype(np.float64)
    arrays = (integers, doubles, np.zeros(128, np.uint64))
    on_gpu, on_cpu = (run(device, EVERYTHING, "k", 1, 128, *arrays) for device in (gpu, cpu))
    for left, right in zip(on_gpu, on_cpu, strict=True):
        assert np.array_equal(left, right)


@pytest.mark.gpu
def test_float_sums_by_shuffles_give_the_bits_of_the_cpu(gpu: Any, cpu: Any, rng: Any) -> None:
    source = """
    __global__ void sum(const float* in, float* out, int n) {
        float v = 0;
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += in[i];
        for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(0xffffffff, v, step);
        if (threadIdx.x % 32 == 0) out[(blockIdx.x * blockDim.x + threadIdx.x) / 32] = v;
    }
    """
    values = rng.standard_normal(100_000).astype(np.float32)
    results = [
        run(device, source, "sum", 8, 128, values, np.zeros(32, np.float32), values.size)[1] for device in (gpu, cpu)
    ]
    assert np.array_equal(results[0].view(np.uint32), results[1].view(np.uint32))

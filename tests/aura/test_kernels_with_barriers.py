"""Shared memory and barriers from Python: sizes reach the launch, limits are told."""

from __future__ import annotations

import re

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

REVERSE = """
__global__ void reverse(const float* in, float* out) {
    __shared__ float tile[128];
    extern __shared__ float more[];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    tile[t] = in[i];
    more[t] = 2 * in[i];
    __syncthreads();
    out[i] = tile[blockDim.x - 1 - t] + more[blockDim.x - 1 - t];
}
"""


def test_static_and_dynamic_shared_memory_reach_every_block_of_a_launch() -> None:
    device = amdgpu.initialize_device("cpu:0")
    kernel = device.compile_kernel(REVERSE)
    values = np.arange(300 * 128, dtype=np.float32)
    for block in (128, 96, 128):
        out = np.zeros_like(values)
        kernel[values.size // block, block, 4 * block](values, out)
        used = values[: values.size // block * block]
        assert np.array_equal(out[: used.size], 3 * used.reshape(-1, block)[:, ::-1].ravel())


def test_shared_memory_above_the_limit_is_refused() -> None:
    device = amdgpu.initialize_device("cpu:0")
    values = np.zeros(128, np.float32)
    limit = 64 * 1024
    kernel = device.compile_kernel(REVERSE)
    with pytest.raises(errors.InvalidLaunchError, match=re.escape("beside the 512 bytes that the kernel declares")):
        kernel[1, 128, limit - 511](values, values)
    large = device.compile_kernel(
        f"__global__ void k(char* p) {{ __shared__ char s[{limit + 1}]; s[0] = 1; *p = s[0]; }}"
    )
    with pytest.raises(errors.InvalidLaunchError, match=f"declares {limit + 1} bytes of __shared__ memory"):
        large[1, 1](np.zeros(1, np.int8))

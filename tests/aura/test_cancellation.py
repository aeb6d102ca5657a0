"""Time limits: a kernel past its limit is stopped between blocks, and the device goes on."""

from __future__ import annotations

import numpy as np
import pytest
from amdgpu import errors

# Blocks count themselves, and each takes a while.
SLOW = """
__global__ void slow(unsigned int* blocks, float* out, int turns) {
    float x = 1.0f + threadIdx.x;
    for (int i = 0; i < turns; ++i) x = x * 0.999f + sqrtf(x);
    out[threadIdx.x] = x;
    if (threadIdx.x == 0) atomicAdd(blocks, 1u);
}
"""
BLOCKS = 2_000_000


def test_a_kernel_past_its_limit_is_stopped_and_the_next_launch_works(device):
    kernel = device.compile_kernel(SLOW)
    counter, out = np.zeros(1, "uint32"), np.zeros(64, "float32")
    for _ in range(2):
        with pytest.raises(errors.KernelTimeoutError, match="did not end within 20 ms; it was stopped"):
            device.execute(kernel, counter, out, 2000, grid=BLOCKS, block=64, timeout_ms=20)
    done = int(counter[0])
    assert 0 < done < 2 * BLOCKS
    device.execute(kernel, counter, out, 10, grid=7, block=64, timeout_ms=10_000)
    assert int(counter[0]) == done + 7, "nothing of the stopped launches goes on"


def test_pending_kernels_are_stopped_too(device):
    kernel = device.compile_kernel(SLOW)
    counter, out = np.zeros(1, "uint32"), np.zeros(64, "float32")
    pending = device.execute(kernel, counter, out, 2000, grid=BLOCKS, block=64, timeout_ms=20, async_execution=True)
    with pytest.raises(errors.KernelTimeoutError, match="it was stopped"):
        pending.result()
    assert pending.done()
    assert int(counter[0]) < BLOCKS


def test_what_waits_behind_a_stopped_kernel_does_not_begin_and_the_stream_goes_on(device):
    kernel = device.compile_kernel(SLOW)
    first, second, out = np.zeros(1, "uint32"), np.zeros(1, "uint32"), np.zeros(64, "float32")
    stream = device.create_stream()
    kernel[BLOCKS, 64, 0, stream](first, out, 2000)
    kernel[BLOCKS, 64, 0, stream](second, out, 2000)
    assert stream.stop()
    assert int(second[0]) == 0
    kernel[5, 64, 0, stream](second, out, 1)
    stream.synchronize()
    assert int(second[0]) == 5


def test_an_idle_stream_has_nothing_to_stop(device):
    stream = device.create_stream()
    assert not stream.stop()
    stream.synchronize()

"""Atomics of every type and scope on a real GPU: the same memory as on the CPU where the order does not matter."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from atomic_sources import COUNT, FLOATS, INTEGERS, SCOPES, float_source, integer_source
from gpu_harness import run


@pytest.mark.gpu
@pytest.mark.parametrize("number", range(len(INTEGERS) * len(SCOPES)))
def test_integer_atomics_leave_what_the_cpu_leaves(gpu, cpu, number, rng):
    dtype = list(INTEGERS.values())[number // len(SCOPES)]
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max, COUNT, dtype, endpoint=True)
    out = np.array([5, 6, info.max, info.min, -1 & info.max, 0, 7, 3, 4, 9, 1000], dtype)
    case = (integer_source(), f"k{number}", (3,), (64,), x, out, np.zeros(COUNT, dtype), COUNT)
    (_, ours, old), (_, theirs, _) = run(gpu, *case), run(cpu, *case)
    assert np.array_equal(ours[:10], theirs[:10])
    assert sorted([*old.tolist(), int(ours[10])]) == sorted([1000, *range(COUNT)])


@pytest.mark.gpu
@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("ty", FLOATS)
def test_float_atomics_leave_what_the_cpu_leaves(gpu, cpu, ty, scope, rng):
    x = rng.standard_normal(COUNT).astype(FLOATS[ty])
    out = np.array([np.inf, -np.inf, 0, 0, 0, 0], FLOATS[ty])
    case = (float_source(), f"k_{ty}{scope}", (3,), (64,), x, out)
    assert np.array_equal(run(gpu, *case)[1], run(cpu, *case)[1])


@pytest.mark.gpu
def test_narrow_atomics_and_clocks(gpu, cpu):
    source = """
    __global__ void k(__half* h, __half2* pairs, long long* clocks) {
        atomicAdd(&h[1], __half(1.0f));
        atomicAdd(pairs, __half2{__half(1.0f), __half(2.0f)});
        if (threadIdx.x == 0 && blockIdx.x == 0) {
            long long begin = clock64(), wall = wall_clock64();
            for (int i = 0; i < 1000; ++i) __threadfence();
            clocks[0] = clock64() - begin;
            clocks[1] = wall_clock64() - wall;
        }
    }
    """
    for device in (gpu, cpu):
        h, pairs, clocks = run(
            device, source, "k", (2,), (48,), np.zeros(3, np.float16), np.zeros(2, np.float16), np.zeros(2, np.int64)
        )
        assert h.tolist() == [0, 96, 0]
        assert pairs.tolist() == [96, 192]
        assert (clocks > 0).all()


def test_the_cpu_runs_these_kernels_too(cpu, rng):
    x = rng.standard_normal(COUNT).astype(np.float32)
    out = np.array([np.inf, -np.inf, 0, 0, 0, 0], np.float32)
    left = run(cpu, float_source(), "k_float", (3,), (64,), x, out)[1]
    assert left[:2].tolist() == [x.min(), x.max()]
    assert amdgpu.list_devices()

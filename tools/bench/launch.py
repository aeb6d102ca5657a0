"""Cost of a call: kernel launches and small operations from Python, and the work that hides it.

The kernel is written in HIP-C, compiled before the clock starts, and checked against NumPy. `-- small` measures the calls of `amdgpu.ops`
alone; their figures are minima of many short rounds, because another process on the core takes longer than a round.
"""

from __future__ import annotations

import sys
from pathlib import Path

import amdgpu
import numpy as np
from frame import Report, alone, in_turns, side_by_side

PEER = "NumPy doing the same into a given result"
VECTOR_ADD = """
extern "C" __global__ void vector_add(const float* a, const float* b, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] + b[i];
}
"""
BLOCK_THREADS = 256


def run(report: Report, arguments: list[str]) -> None:
    """Launches of vector_add from one element to ten million, then the smallest matrix product, then small calls of operations."""
    if arguments != ["small"]:
        launches(report)
    small_calls(report)


def small_calls(report: Report) -> None:
    """Operations on next to nothing."""
    sys.path.insert(0, str(Path(__file__).with_name("suite")))
    import small_calls as suite

    for name, ours, peer in suite.cases():
        np.testing.assert_allclose(np.asarray(ours()), np.asarray(peer()), rtol=1e-2, atol=1e-3)
        ours_seconds, peer_seconds = in_turns([ours, peer], rounds=150, round_seconds=0.001)
        report.add(name, "us", min(ours_seconds) * 1e6, min(peer_seconds) * 1e6)


def launches(report: Report) -> None:
    """Kernels, from one element to ten million."""
    device = amdgpu.initialize_device("cpu:0", ["aura", "matrix"])
    kernel = device.compile_kernel(VECTOR_ADD)
    for count in (1, 1_000, 100_000, 10_000_000):
        a, b = (np.arange(count, dtype=np.float32) + offset for offset in range(2))
        out, expected = np.empty_like(a), np.empty_like(a)
        bound = kernel[(count + BLOCK_THREADS - 1) // BLOCK_THREADS, BLOCK_THREADS]

        def ours(bound=bound, a=a, b=b, out=out, count=count) -> None:  # noqa: ANN001
            bound(a, b, out, count)

        def peer(a=a, b=b, out=expected) -> None:  # noqa: ANN001
            np.add(a, b, out=out)

        ours()
        peer()
        np.testing.assert_array_equal(out, expected)
        seconds_ours, seconds_peer = side_by_side(ours, peer)
        report.add(f"vector add, {count:,} elements", "us", seconds_ours * 1e6, seconds_peer * 1e6)
    small = np.eye(2, dtype=np.float32)
    small_out = np.empty_like(small)
    seconds_ours, seconds_peer = side_by_side(
        lambda: amdgpu.matrix_multiply(small, small, "cpu:0", out=small_out),
        lambda: np.matmul(small, small, out=small_out),
    )
    report.add("matrix product, 2 x 2", "us", seconds_ours * 1e6, seconds_peer * 1e6)
    report.add("compile_kernel, cached", "us", alone(lambda: device.compile_kernel(VECTOR_ADD)) * 1e6, None)
    report.add("list_devices", "us", alone(amdgpu.list_devices) * 1e6, None)

"""Launch overhead and memory bandwidth on a GPU, ours beside PyTorch's: run it as a program.

    python tests/gpu/measure.py [cuda:0]

Prints one JSON object. Times are medians of repetitions after a warm-up; bandwidth counts bytes read and written.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import amdgpu

VECTOR_ADD = """
__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
VECTOR_ADD_BY_FOUR = """
__global__ void vector_add_by_four(const float4* a, const float4* b, float4* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (4 * i >= n) return;
    float4 x = a[i], y = b[i];
    c[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
"""
REPETITIONS = 7
BYTES_PER_ELEMENT = 3 * 4


def median_seconds(run: Callable[[], Any], count: int) -> float:
    """Median over repetitions of the mean time of one call."""
    times = []
    for _ in range(REPETITIONS + 1):
        begin = time.perf_counter()
        for _ in range(count):
            run()
        times.append((time.perf_counter() - begin) / count)
    return statistics.median(times[1:])


def gigabytes_per_second(n: int, seconds: float) -> float:
    return round(n * BYTES_PER_ELEMENT / seconds / 1e9, 1)


def ours(device: Any, n: int, source: str = VECTOR_ADD, per_thread: int = 1) -> dict[str, float]:
    """Bandwidth of our kernel, waited for each time and queued in a stream."""
    kernel = device.compile_kernel(source)
    a, b, c = (amdgpu.zeros(n, device=device.name) for _ in range(3))
    blocks = -(-n // (256 * per_thread))
    launcher = kernel[blocks, 256]
    waited = median_seconds(lambda: launcher(a, b, c, n), 20)
    stream = device.create_stream()
    queued_launcher = kernel[blocks, 256, 0, stream]

    def queued() -> None:
        for _ in range(50):
            queued_launcher(a, b, c, n)
        stream.synchronize()

    return {
        "waited": gigabytes_per_second(n, waited),
        "queued": gigabytes_per_second(n, median_seconds(queued, 1) / 50),
    }


def torch_add(n: int) -> dict[str, float]:
    """Bandwidth of `torch.add(out=)`, waited for each time and queued."""
    import torch

    a, b, c = (torch.zeros(n, device="cuda") for _ in range(3))

    def waited() -> None:
        torch.add(a, b, out=c)
        torch.cuda.synchronize()

    def queued() -> None:
        for _ in range(50):
            torch.add(a, b, out=c)
        torch.cuda.synchronize()

    return {
        "waited": gigabytes_per_second(n, median_seconds(waited, 20)),
        "queued": gigabytes_per_second(n, median_seconds(queued, 1) / 50),
    }


def cupy_kernel(n: int) -> dict[str, float]:
    """Bandwidth of the same source compiled by NVRTC and launched by CuPy."""
    import cupy

    kernel = cupy.RawKernel('extern "C" ' + VECTOR_ADD.strip(), "vector_add", options=("-std=c++17",))
    a, b, c = (cupy.zeros(n, dtype="float32") for _ in range(3))
    arguments = (a, b, c, cupy.int32(n))

    def queued() -> None:
        for _ in range(50):
            kernel((-(-n // 256),), (256,), arguments)
        cupy.cuda.Device().synchronize()

    return {"queued": gigabytes_per_second(n, median_seconds(queued, 1) / 50)}


def main() -> None:
    device = amdgpu.initialize_device(sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    info = device.info()
    report: dict[str, Any] = {
        "device": info.name,
        "architecture": info.architecture,
        "driver": info.details.get("driver_version"),
        "memory_bytes": info.total_memory_bytes,
        "compute_units": info.compute_units,
    }
    kernel = device.compile_kernel(VECTOR_ADD)
    report["compile_seconds"] = kernel.compile_seconds
    a, b, c = (amdgpu.zeros(1000, device=device.name) for _ in range(3))
    launcher = kernel[4, 256]
    report["launch_and_wait_us"] = round(1e6 * median_seconds(lambda: launcher(a, b, c, 1000), 2000), 2)
    stream = device.create_stream()
    queued = kernel[4, 256, 0, stream]

    def burst() -> None:
        for _ in range(100):
            queued(a, b, c, 1000)

    times = []
    for _ in range(20):
        begin = time.perf_counter()
        burst()
        times.append((time.perf_counter() - begin) / 100)
        stream.synchronize()
    report["launch_in_stream_us"] = round(1e6 * statistics.median(times), 2)
    for n in (10_000_000, 250_000_000):
        row: dict[str, Any] = {"ours": ours(device, n), "ours_by_four": ours(device, n, VECTOR_ADD_BY_FOUR, 4)}
        for name, peer in (("torch", torch_add), ("cupy_same_source", cupy_kernel)):
            try:
                row[name] = peer(n)
            except Exception as error:  # noqa: BLE001  (a peer that is missing or broken is said, not fatal)
                row[name] = repr(error)
        report[f"vector_add_{n}_gigabytes_per_second"] = row
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

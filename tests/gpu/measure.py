"""Launch overhead and memory bandwidth on a GPU, beside the driver's own call, PyTorch and CuPy: run it as a program.

    python tests/gpu/measure.py [cuda:0]

Prints one JSON object. Times are medians of repetitions after a warm-up; bandwidth counts bytes read and written. Launches are timed on
the host, in bursts of 100 that fit the driver's queue, with an empty stream before each burst.
"""

from __future__ import annotations

import ctypes
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import amdgpu
from amdgpu.types import TelemetryLevel

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
SMALL = "__global__ void small(float* x, float value, int n) { int i = threadIdx.x; if (i < n) x[i] = value; }"
REPETITIONS = 7
BURST = 100
BURSTS = 40
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
    a, b, c = (amdgpu.zeros(n, "float32", device=device.name) for _ in range(3))
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


def burst_us(launch: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Host time of one of many launches that nobody waits for."""
    times = []
    for _ in range(BURSTS):
        begin = time.perf_counter()
        for _ in range(BURST):
            launch()
        times.append((time.perf_counter() - begin) / BURST)
        wait()
    return round(1e6 * statistics.median(times), 3)


def driver_us(device: Any) -> dict[str, Any]:
    """The driver's own `cuLaunchKernel` of our PTX, called through ctypes, whose own time is measured with a function that does nothing."""
    from amdgpu import _native

    driver = ctypes.CDLL("libcuda.so.1")
    unit = _native.compile_source(SMALL, str(device.info().architecture))
    x = amdgpu.zeros(32, "float32", device=device.name)
    stream = device.create_stream()
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    status = driver.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(str(unit["content"]).encode() + b"\0"))
    status = status or driver.cuModuleGetFunction(ctypes.byref(function), module, b"small")
    if status:
        return {"error": f"the driver answers {status}"}
    values = (ctypes.c_uint64(x.ptr), ctypes.c_float(1), ctypes.c_int(32))
    pointers = (ctypes.c_void_p * 3)(*(ctypes.cast(ctypes.pointer(value), ctypes.c_void_p) for value in values))
    arguments = (function, 1, 1, 1, 32, 1, 1, 0, ctypes.c_void_p(stream.native_handle), pointers, None)
    nothing = ctypes.CDLL(None).abs
    with_ctypes = burst_us(lambda: driver.cuLaunchKernel(*arguments), stream.synchronize)
    of_ctypes = burst_us(lambda: nothing(*arguments), stream.synchronize)
    return {"call": round(with_ctypes - of_ctypes, 3), "with_ctypes": with_ctypes, "of_ctypes": of_ctypes}


def torch_launch_us() -> float:
    import torch

    a, b, c = (torch.zeros(32, device="cuda") for _ in range(3))
    return burst_us(lambda: torch.add(a, b, out=c), torch.cuda.synchronize)


def cupy_launch_us() -> float:
    import cupy

    kernel = cupy.RawKernel('extern "C" ' + SMALL, "small")
    arguments = (cupy.zeros(32, dtype="float32"), cupy.float32(1), cupy.int32(32))
    return burst_us(lambda: kernel((1,), (32,), arguments), cupy.cuda.Device().synchronize)


def or_reason(measure: Callable[[], Any]) -> Any:
    """What is measured, or why it cannot be: a peer that is missing or broken is said, not fatal."""
    try:
        return measure()
    except Exception as error:  # noqa: BLE001
        return repr(error)


def launches(name: str, level: TelemetryLevel) -> dict[str, Any]:
    """Host time per launch in a stream, by the way it is launched, and of a launch that is waited for."""
    with amdgpu.initialize_device(name, telemetry=level) as device:
        kernel = device.compile_kernel(SMALL)
        x = amdgpu.zeros(32, "float32", device=name)
        stream = device.create_stream()
        queued, waited = kernel[1, 32, 0, stream], kernel[1, 32]
        prepared = kernel.prepare(1, 32, x, 1.0, 32, stream=stream)
        return {
            "in_stream": burst_us(lambda: queued(x, 1.0, 32), stream.synchronize),
            "prepared_in_stream": burst_us(prepared, stream.synchronize),
            "waited_for": round(1e6 * median_seconds(lambda: waited(x, 1.0, 32), 2000), 3),
        }


def graphs(name: str) -> dict[str, Any]:
    """A chain of small kernels as a graph and launched one by one: microseconds per kernel, on the host alone and until all is done."""
    with amdgpu.initialize_device(name) as device:
        kernel = device.compile_kernel(SMALL)
        x = amdgpu.zeros(32, "float32", device=name)
        stream = device.create_stream()
        prepared = kernel.prepare(1, 32, x, 1.0, 32, stream=stream)
        with amdgpu.CapturedGraph() as graph:
            for _ in range(BURST):
                prepared()

        def eager() -> None:
            for _ in range(BURST):
                prepared()
            stream.synchronize()

        def replayed() -> None:
            graph.replay(stream)
            stream.synchronize()

        host = []
        for _ in range(BURSTS):
            begin = time.perf_counter()
            graph.replay(stream)
            host.append(time.perf_counter() - begin)
            stream.synchronize()
        return {
            "replay_host_per_node": round(1e6 * statistics.median(host) / BURST, 4),
            "replay_per_node": round(1e6 * median_seconds(replayed, 20) / BURST, 4),
            "eager_per_node": round(1e6 * median_seconds(eager, 20) / BURST, 4),
        }


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
    report["compile_seconds"] = device.compile_kernel(VECTOR_ADD).compile_seconds
    levels: tuple[TelemetryLevel, ...] = ("off", "standard", "detailed")
    report["launch_us"] = {level: launches(device.name, level) for level in levels} | {
        "driver": or_reason(lambda: driver_us(device)),
        "torch_add": or_reason(torch_launch_us),
        "cupy_raw_kernel": or_reason(cupy_launch_us),
    }
    report["graph_us"] = graphs(device.name)
    for n in (10_000_000, 250_000_000):
        row: dict[str, Any] = {"ours": ours(device, n), "ours_by_four": ours(device, n, VECTOR_ADD_BY_FOUR, 4)}
        for name, peer in (("torch", torch_add), ("cupy_same_source", cupy_kernel)):
            row[name] = or_reason(partial(peer, n))
        report[f"vector_add_{n}_gigabytes_per_second"] = row
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()

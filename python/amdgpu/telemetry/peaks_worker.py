"""The child that measures the processor: prints one line of JSON.

Arithmetic: chains of fused multiply-adds that need no memory. Memory: the sum of two arrays into a third, all far larger than the caches;
bytes are those that the kernel names, as they are counted for every kernel. Caches: the same sum again and again over three arrays that
fill half of the cache, a part of them for each thread. The shortest of several runs counts.
"""

from __future__ import annotations

import json
import os
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from amdgpu import _native
from amdgpu.device import AMDGPUDevice

# Twelve chains hide the latency of a multiply-add on every processor so far, and fit its registers.
CHAINS = 12
TURNS = 4096
BLOCK_THREADS = 64
BLOCKS = 64
SUM_BLOCK_THREADS = 256
# Four times the last cache, within what a small machine has to spare.
MIN_ARRAY_BYTES = 32 << 20
MAX_ARRAY_BYTES = 256 << 20
RUNS = 8
# Of a cache, so that what else is in it does not push the arrays out.
CACHE_SHARE = 0.5
CACHE_BLOCK_THREADS = 64
# Bytes that each thread moves in a run: about a millisecond in the fastest cache, far more than a launch.
CACHE_RUN_BYTES = 64 << 20

_NAMES = [f"s{chain}" for chain in range(CHAINS)]
SOURCE = f"""
extern "C" __global__ void multiply_adds(float* out, float factor, float addend, int turns) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float {", ".join(f"{name} = i + {chain}.0f" for chain, name in enumerate(_NAMES))};
    for (int turn = 0; turn < turns; ++turn) {{
        {" ".join(f"{name} = fmaf({name}, factor, addend);" for name in _NAMES)}
    }}
    out[i] = {" + ".join(_NAMES)};
}}
extern "C" __global__ void sum(const float* a, const float* b, float* c) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}}
extern "C" __global__ void repeated_sum(const float* a, const float* b, float* c, int items, int rounds) {{
    int first = blockIdx.x * items;
    for (int round = 0; round < rounds; ++round) {{
        for (int i = threadIdx.x; i < items; i += blockDim.x) c[first + i] = a[first + i] + b[first + i];
    }}
}}
"""


def main() -> None:
    """Measure and print."""
    device = AMDGPUDevice("cpu:0", ["aura"])
    device.initialize()
    details = next(info for info in _native.list_devices() if info["kind"] == "cpu")
    multiply_adds = device.compile_kernel(SOURCE, name="multiply_adds")
    items = BLOCKS * BLOCK_THREADS
    out = np.zeros(items, np.float32)
    seconds = _shortest(lambda: multiply_adds[BLOCKS, BLOCK_THREADS](out, 0.5, 1.0, TURNS))
    flops = 2.0 * CHAINS * TURNS * items / seconds

    array_bytes = 4 * int(details.get("level3_cache_bytes") or details.get("level2_cache_bytes") or 0)
    array_bytes = min(max(array_bytes, MIN_ARRAY_BYTES), MAX_ARRAY_BYTES)
    blocks = array_bytes // (4 * SUM_BLOCK_THREADS)
    a, b, c = (np.ones(blocks * SUM_BLOCK_THREADS, np.float32) for _ in range(3))
    sums = device.compile_kernel(SOURCE, name="sum")
    seconds = _shortest(lambda: sums[blocks, SUM_BLOCK_THREADS](a, b, c))
    caches = _caches(device, details)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "flops_per_second": flops,
                "bytes_per_second": 3.0 * a.nbytes / seconds,
                "cache_bytes_per_second": caches,
                "cpu_seconds": used.ru_utime + used.ru_stime,
            }
        )
    )


def _caches(device: AMDGPUDevice, details: Mapping[str, Any]) -> dict[str, float]:
    """Bytes a second of each cache that the processor tells, the one next to the core first."""
    threads = int(os.environ.get("AMDGPU_CPU_THREADS") or details["logical_cores"])
    cores = max(min(threads, int(details["physical_cores"])), 1)
    # The threads of a core share its caches, and all cores the last one.
    sizes = {
        "L1": int(details.get("level1_data_cache_bytes") or 0) * cores // threads,
        "L2": int(details.get("level2_cache_bytes") or 0) * cores // threads,
        "L3": int(details.get("level3_cache_bytes") or 0) // threads,
    }
    sums = device.compile_kernel(SOURCE, name="repeated_sum")
    found = {}
    for name, bytes_of_thread in sizes.items():
        items = (
            int(CACHE_SHARE * min(bytes_of_thread, MAX_ARRAY_BYTES) / 12) // CACHE_BLOCK_THREADS * CACHE_BLOCK_THREADS
        )
        if items == 0:
            continue
        a, b, c = (np.ones(threads * items, np.float32) for _ in range(3))
        rounds = max(CACHE_RUN_BYTES // (12 * items), 1)
        seconds = _shortest(lambda: sums[threads, CACHE_BLOCK_THREADS](a, b, c, items, rounds))  # noqa: B023  (called at once)
        found[name] = 12.0 * items * threads * rounds / seconds
    return found


def _shortest(run: Callable[[], None]) -> float:
    """Seconds of the shortest run; the first warms caches and clocks."""
    run()
    times = []
    for _ in range(RUNS):
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return min(times)

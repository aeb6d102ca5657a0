"""What being watched costs a program, and how long a record takes to whoever watches.

A loop of launches runs with telemetry off, on, and on with a watcher in another process, in turns of a few milliseconds; the least time of
each counts. The launch of one block of 64 work-items is the cheapest there is, that of 64 blocks an ordinary small one.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import amdgpu
import numpy as np
from amdgpu.telemetry import attach
from frame import Report

PEER = "the same launches with telemetry off"
PROGRAM = Path(__file__).resolve().parents[2] / "tests" / "support" / "telemetry_program.py"
SAXPY = """
extern "C" __global__ void saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
# A watcher as a dashboard is one: sixty looks a second at launches. It says when it has found the process.
WATCHER = """
import sys
from amdgpu.telemetry import attach
with attach.Watcher(kinds=["launch"], interval_seconds=0.016, capacity=256) as watcher:
    while int(sys.argv[1]) not in [info.pid for info in watcher.processes if info.version]:
        watcher.poll(0.05)
    print("watching", flush=True)
    while True:
        watcher.poll(0.016)
"""
ROUNDS = 60
LAUNCHES = 2000
LATENCY_RECORDS = 300
LATENCY_RATE_HZ = 100.0


def run(report: Report, arguments: list[str]) -> None:
    """Launches in turns, then latencies."""
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    kernel = device.compile_kernel(SAXPY)
    attach.listen()
    for blocks, name in ((1, "1 block"), (64, "64 blocks")):
        x, y = np.ones(blocks * 256, "float32"), np.zeros(blocks * 256, "float32")
        launch = kernel.prepare(blocks, 64 if blocks == 1 else 256, x, y, 2.0, x.size)
        off, on = _in_turns(launch)
        report.add(f"launch of {name}, telemetry on, nobody watches", "ns", on * 1e9, off * 1e9)
        with subprocess.Popen(
            [sys.executable, "-c", WATCHER, str(_own_pid())], stdout=subprocess.PIPE, text=True
        ) as child:
            try:
                if child.stdout is None or child.stdout.readline() != "watching\n":
                    raise RuntimeError("the watcher did not find this process")
                off, on = _in_turns(launch)
            finally:
                child.kill()
        report.add(f"launch of {name}, telemetry on, watched from another process", "ns", on * 1e9, off * 1e9)
    for name, seconds in (("this process", _latency_inside(kernel)), ("another process", _latency_outside())):
        report.add(f"record to a subscriber in {name}, median", "us", statistics.median(seconds) * 1e6, None)
        seconds.sort()
        report.add(f"record to a subscriber in {name}, 95 %", "us", seconds[int(len(seconds) * 0.95)] * 1e6, None)


def _own_pid() -> int:
    import os

    return os.getpid()


def _in_turns(launch: object) -> tuple[float, float]:
    """Least seconds of a launch with telemetry off and on; processor time, because other work runs on the machine too."""
    least = {False: float("inf"), True: float("inf")}
    try:
        for turn in range(2 * ROUNDS):
            enabled = turn % 2 == 1
            amdgpu.telemetry.set_enabled(enabled)
            begin = time.thread_time_ns()
            for _ in range(LAUNCHES):
                launch()  # type: ignore[operator]
            least[enabled] = min(least[enabled], (time.thread_time_ns() - begin) / LAUNCHES / 1e9)
    finally:
        amdgpu.telemetry.set_enabled(True)
    return least[False], least[True]


def _latency_inside(kernel: amdgpu.Kernel) -> list[float]:
    """Seconds from the end of a launch to its record in another thread of this process."""
    latencies: list[float] = []
    with attach.attach() as process:
        records = process.records(kinds=["launch"], timeout_seconds=5.0)

        def read() -> None:
            for row in records:
                latencies.append((time.monotonic_ns() - row["start_ns"] - row["duration_ns"]) / 1e9)
                if len(latencies) == LATENCY_RECORDS:
                    return

        reader = threading.Thread(target=read)
        reader.start()
        out = np.zeros(64, "float32")
        while reader.is_alive():
            kernel[1, 64](out, out, 1.0, 64)
            time.sleep(1 / LATENCY_RATE_HZ)
        reader.join()
    return latencies


def _latency_outside() -> list[float]:
    """Seconds from the end of a launch in a child to its record here."""
    command = [sys.executable, str(PROGRAM), "--seconds", "60", "--rate", str(LATENCY_RATE_HZ), "--parts", "kernels"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            if child.stdout is None or not child.stdout.readline():
                raise RuntimeError("the program to watch did not start")
            with attach.attach(child.pid) as process:
                records = process.records(kinds=["launch"], timeout_seconds=5.0)
                return [
                    (time.monotonic_ns() - row["start_ns"] - row["duration_ns"]) / 1e9
                    for row, _ in zip(records, range(LATENCY_RECORDS), strict=False)
                ]
        finally:
            child.kill()

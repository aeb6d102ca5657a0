"""The server: calls over WebSocket, processor time with one viewer, what a watched program loses.

Processor time is that of the whole process (user and system) per second of wall time, sampling of sensors and watching included, less that
of the same process when nobody watches.
"""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import amdgpu
import numpy as np
from frame import ROOT, Report, side_by_side

sys.path.insert(0, str(ROOT / "tests" / "support"))

from server_client import Client, client

PEER = "limits of the issue (10 ms, 1 %, 1 ms) where no peer is named; the same without a viewer where one is"
CALLS = 300
VIEW_SECONDS = 10.0
FILL = """
extern "C" __global__ void fill(float* out, float value) { out[threadIdx.x] = value; }
"""


@contextlib.contextmanager
def serving(*options: str) -> Iterator[subprocess.Popen[str]]:
    """`amdgpu serve` in a process of its own; `process.address` is where its socket is."""
    command = [sys.executable, "-m", "amdgpu", "serve", "--port", "0", "--json", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process
    finally:
        process.terminate()
        process.wait(30)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()  # noqa: SIM115, PTH123
    return (int(fields[11]) + int(fields[12])) / 100


class _Address:
    def __init__(self, said: dict[str, object]) -> None:
        self.base_url = f"http://127.0.0.1:{said['port']}/"


def run(report: Report, arguments: list[str]) -> None:
    """Calls, then a viewer, then a watched program."""
    seconds = float(arguments[0]) if arguments else VIEW_SECONDS
    with serving() as process:
        assert process.stdout is not None
        address = _Address(json.loads(process.stdout.readline()))
        _calls(report, address)
        idle = _cores(process.pid, seconds)
        with client(address) as viewer:
            _, schema = viewer.join("gpu:telemetry")
            watched = _view(viewer, process.pid, seconds)
        columns = len(schema["devices"]) * len(schema["metrics"])
        report.add("server with nobody watching", "% core", idle * 100, None)
        report.add(
            "server with one viewer at 60 Hz", "% core", watched * 100, 1.0, note=f"{columns} values a frame; limit 1 %"
        )
        _watched_program(report, address)
    _to_subscriber(report)


def _calls(report: Report, address: _Address) -> None:
    with client(address) as api:
        api.join("gpu:api")
        api.call("device:list")
        taken = []
        for _ in range(CALLS):
            started = time.perf_counter()
            status, _ = api.call("device:list")
            taken.append(time.perf_counter() - started)
            assert status == "ok"
    taken.sort()
    report.add("call over WebSocket, median", "ms", statistics.median(taken) * 1e3, 10.0, note="limit 10 ms")
    report.add(
        "call over WebSocket, 99th percentile", "ms", taken[int(len(taken) * 0.99)] * 1e3, 10.0, note="limit 10 ms"
    )


def _cores(pid: int, seconds: float) -> float:
    before, started = cpu_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(pid) - before) / (time.monotonic() - started)


def _view(viewer: Client, pid: int, seconds: float) -> float:
    for _ in range(60):
        viewer.frame()
    before, started, frames = cpu_seconds(pid), time.monotonic(), 0
    while time.monotonic() - started < seconds:
        viewer.frame()
        frames += 1
    taken = time.monotonic() - started
    print(f"  {frames / taken:.1f} frames a second arrived")
    return (cpu_seconds(pid) - before) / taken


def _watched_program(report: Report, address: _Address) -> None:
    """A busy loop of launches with a viewer, and without."""
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    kernel = device.compile_kernel(FILL)
    out = np.zeros(64, dtype=np.float32)
    bound = kernel[1, 64]
    with contextlib.ExitStack() as stack:
        viewer = None

        def unwatched() -> None:
            bound(out, 1.0)

        seconds_alone, _ = side_by_side(unwatched, unwatched)
        viewer = stack.enter_context(client(address))
        viewer.join("gpu:telemetry")
        is_seen = threading.Event()
        launching = threading.Thread(target=lambda: [bound(out, 1.0) for _ in iter(lambda: is_seen.wait(0.01), True)])
        launching.start()
        viewer.event("kernel_launched")
        is_seen.set()
        launching.join()
        seconds_watched, _ = side_by_side(unwatched, unwatched)
    report.add("launch in a program that is watched", "us", seconds_watched * 1e6, seconds_alone * 1e6)


def _to_subscriber(report: Report) -> None:
    """From the end of a launch to the record in the hands of a subscriber of the same process."""
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    kernel = device.compile_kernel(FILL)
    out = np.zeros(64, dtype=np.float32)
    taken = []
    subscription = amdgpu._native.Subscription(1024)  # noqa: SLF001  (what telemetry.events reads)
    for _ in range(200):
        time.sleep(0.002)
        subscription.poll(0)
        kernel[1, 64](out, 1.0)
        line = subscription.poll(5).splitlines()[0]
        arrived = time.monotonic_ns()
        event = json.loads(line)
        taken.append(arrived - event["start_ns"] - event["duration_ns"])
    report.add(
        "event to subscriber in process, median", "us", statistics.median(taken) / 1e3, 1000.0, note="limit 1 ms"
    )

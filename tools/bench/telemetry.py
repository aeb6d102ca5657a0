"""What telemetry costs: a kernel launch with it on and off, the export of everything it knows, and the sensors.

The launch is that of a one-block kernel through `kernel[grid, block]`, the cheapest call that is recorded.
"""

from __future__ import annotations

import struct
import time

import amdgpu
import numpy as np
import prometheus_client
from amdgpu.telemetry import sensors
from frame import Report, alone, side_by_side

PEER = "the same launch with telemetry off; prometheus_client for the page"
FILL = """
extern "C" __global__ void fill(float* out, float value) { out[threadIdx.x] = value; }
"""
BLOCK_THREADS = 64
# Devices and metrics of the largest dashboard.
FRAME_DEVICES = 8
FRAME_METRICS = 32
# Long enough for twenty reads of what is read once a second.
SAMPLING_SECONDS = 20


def run(report: Report, arguments: list[str]) -> None:
    """Launches on and off in alternation, then snapshot and pages."""
    device = amdgpu.initialize_device("cpu:0", ["aura"])
    kernel = device.compile_kernel(FILL)
    out = np.zeros(BLOCK_THREADS, dtype=np.float32)
    bound = kernel[1, BLOCK_THREADS]

    def launch_with(enabled: bool) -> None:
        amdgpu.telemetry.set_enabled(enabled)
        bound(out, 1.0)

    try:
        seconds_on, seconds_off = side_by_side(lambda: launch_with(True), lambda: launch_with(False))
    finally:
        amdgpu.telemetry.set_enabled(True)
    report.add("launch, telemetry on", "us", seconds_on * 1e6, seconds_off * 1e6)
    report.add("telemetry per launch", "ns", max(seconds_on - seconds_off, 0.0) * 1e9, None)
    report.add("snapshot", "us", alone(amdgpu.telemetry.snapshot) * 1e6, None)
    page_ours = amdgpu.telemetry.prometheus()
    page_peer = _peer_page(page_ours)
    seconds_ours, seconds_peer = side_by_side(amdgpu.telemetry.prometheus, page_peer)
    samples = sum(1 for line in page_ours.splitlines() if line and not line.startswith("#"))
    report.add(f"Prometheus page, {samples} samples", "us", seconds_ours * 1e6, seconds_peer * 1e6)
    _sensors(report)


def _sensors(report: Report) -> None:
    """Readings, frames, histories, and the share of a core that sampling takes; the peer of a frame is `struct` over the same values."""
    report.add("sensors.read()", "us", alone(sensors.read) * 1e6, None)
    with sensors.Sampler() as sampler:
        before, began = _sampling_seconds(sampler), time.monotonic()
        time.sleep(SAMPLING_SECONDS)
        spent = {source: seconds - before.get(source, 0.0) for source, seconds in _sampling_seconds(sampler).items()}
        elapsed = time.monotonic() - began
        for source, seconds in spent.items():
            report.add(f"sampling {source}", "% of a core", 100 * seconds / elapsed, None)
        report.add("sampling, all sources", "% of a core", 100 * sum(spent.values()) / elapsed, None)
        names = sorted({row["metric"] for row in sampler.series() if "device" in row["labels"]})
        metrics = tuple(names[place % len(names)] for place in range(FRAME_METRICS))
        devices = tuple(f"cpu:{number}" for number in range(FRAME_DEVICES))
        packer = struct.Struct(f"<{FRAME_DEVICES * FRAME_METRICS}f")
        values = packer.unpack(sampler.frame_values(devices, metrics))
        ours, peer = side_by_side(lambda: sampler.frame_values(devices, metrics), lambda: packer.pack(*values))
        report.add(f"frame {FRAME_DEVICES}x{FRAME_METRICS}", "us", ours * 1e6, peer * 1e6)
        report.add("latest(), all series", "us", alone(sampler.latest) * 1e6, None)
        report.add("history of a minute", "us", alone(lambda: sampler.history(0)) * 1e6, None)
        report.add("histories, all series", "KiB", sampler.history_bytes() / 1024, None)


def _sampling_seconds(sampler: sensors.Sampler) -> dict[str, float]:
    return {
        row["labels"]["source"]: row["value"] or 0.0
        for row in sampler.readings()
        if row["metric"] == "amdgpu_sampling_seconds_total"
    }


def _peer_page(page: str):  # noqa: ANN202  (a callable without arguments)
    """A registry of prometheus_client with as many gauge samples as `page` has."""
    registry = prometheus_client.CollectorRegistry()
    gauge = prometheus_client.Gauge("peer", "As many samples as ours", ["index"], registry=registry)
    for index, line in enumerate(page.splitlines()):
        if line and not line.startswith("#"):
            gauge.labels(str(index)).set(float(line.rsplit(maxsplit=1)[-1]))
    return lambda: prometheus_client.generate_latest(registry)

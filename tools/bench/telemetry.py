"""What telemetry costs: a kernel launch with it on and off, and the export of everything it knows.

The launch is that of a one-block kernel through `kernel[grid, block]`, the cheapest call that is recorded.
"""

from __future__ import annotations

import amdgpu
import numpy as np
import prometheus_client
from frame import Report, alone, side_by_side

PEER = "the same launch with telemetry off; prometheus_client for the page"
FILL = """
extern "C" __global__ void fill(float* out, float value) { out[threadIdx.x] = value; }
"""
BLOCK_THREADS = 64


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


def _peer_page(page: str):  # noqa: ANN202  (a callable without arguments)
    """A registry of prometheus_client with as many gauge samples as `page` has."""
    registry = prometheus_client.CollectorRegistry()
    gauge = prometheus_client.Gauge("peer", "As many samples as ours", ["index"], registry=registry)
    for index, line in enumerate(page.splitlines()):
        if line and not line.startswith("#"):
            gauge.labels(str(index)).set(float(line.rsplit(maxsplit=1)[-1]))
    return lambda: prometheus_client.generate_latest(registry)

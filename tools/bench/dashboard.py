"""The dashboard in headless Chromium: frame rate with eight devices of 32 metrics, first paint, event to pixel.

The pages come from the real server, fed by `suite/load_server.py`; the last figure is of a real program
(`tests/support/telemetry_program.py`) behind `amdgpu serve`. Chromium draws in software here, so a machine with a GPU does better.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from frame import ROOT, Report

PEER = "the issue's target: 60 frames a second, first paint 300 ms, event to pixel 16 ms + one frame"
TARGET_FRAMES = 60.0
TARGET_FIRST_PAINT_MS = 300.0
TARGET_EVENT_MS = 16.0 + 1000 / 60
LIMIT_SECONDS = 300


def run(report: Report, arguments: list[str]) -> None:
    """Bundles the measuring script, runs it, and turns its answer into rows."""
    figures = measure()
    for name, title in (("overview", "overview"), ("allDevices", "device page, all devices"), ("kernels", "kernels")):
        found = figures[name]
        note = (
            f"p95 {found['p95Ms']:.1f} ms between pictures, {found['longShare']:.1%} longer than 25 ms, "
            f"{found['taskMsPerFrame']:.1f} ms of work each, {found['lostFrames']} frames lost"
        )
        report.add(f"frame rate, {title}", "1/s", found["perSecond"], TARGET_FRAMES, higher_is_better=True, note=note)
    first_data = f"first values after {figures['firstDataMs']:.0f} ms"
    report.add("first paint", "ms", figures["firstPaintMs"], TARGET_FIRST_PAINT_MS, note=first_data)
    for name, title in (("loadEventToPixelMs", "server's event"), ("programEventToPixelMs", "launch in a program")):
        found = figures[name]
        if found["events"]:
            note = f"p95 {found['p95']:.1f} ms, {found['events']} events"
            report.add(f"{title} to pixel", "ms", found["p50"], TARGET_EVENT_MS, note=note)


def measure() -> dict[str, Any]:
    """The figures of js/dashboard/tests/measure.ts."""
    npm = ["npm", "--prefix", str(ROOT / "js"), "run", "--silent", "bundle-tests", "--workspace", "dashboard"]
    subprocess.run(npm, check=True, cwd=ROOT)
    script = ROOT / "js" / "dashboard" / "build" / "tests" / "measure.js"
    environment = {**os.environ, "AMDGPU_PYTHON": sys.executable}
    done = subprocess.run(
        ["node", str(script)], check=True, cwd=ROOT, env=environment, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS
    )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures

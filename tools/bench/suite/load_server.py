"""The real server with a source that stands for eight devices of 32 metrics each, for the measurement and the screenshots under load.

Everything but the numbers is the server's own: codec, hub, outboxes, REST, files. Prints one line of JSON when it listens, as
`amdgpu serve --json` does, and ends when its standard input is closed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from typing import Any

import numpy as np
from amdgpu.server import app
from amdgpu.server.run import Server
from amdgpu.server.settings import Settings
from amdgpu.server.source import Source

DEVICES = 8
CORES = ("aura", "matrix", "neuromorphic")
LANGUAGES = {"aura": "hip-c", "matrix": "zig", "neuromorphic": "nim"}
# name, labels, unit, mean, swing, seconds a sensor takes between two readings
METRICS: tuple[tuple[str, dict[str, str], str, float, float, float], ...] = (
    *(("amdgpu_busy_ratio", {"core": core}, "ratio", 0.5 - 0.1 * i, 0.35, 0.02) for i, core in enumerate(CORES)),
    ("amdgpu_memory_used_bytes", {}, "bytes", 40e9, 6e9, 0.1),
    ("amdgpu_memory_total_bytes", {}, "bytes", 96e9, 0.0, 1.0),
    ("amdgpu_memory_controller_busy_ratio", {}, "ratio", 0.4, 0.3, 0.05),
    *(
        ("amdgpu_temperature_celsius", {"sensor": s}, "celsius", t, 6.0, 1.0)
        for s, t in (("edge", 58.0), ("junction", 71.0), ("memory", 64.0))
    ),
    ("amdgpu_power_watts", {"kind": "package"}, "watts", 310.0, 90.0, 0.1),
    ("amdgpu_power_limit_watts", {"kind": "package"}, "watts", 500.0, 0.0, 1.0),
    *(
        ("amdgpu_clock_hertz", {"domain": d}, "hertz", c, c / 12, 0.1)
        for d, c in (("sclk", 2.1e9), ("mclk", 1.6e9), ("fclk", 1.8e9))
    ),
    ("amdgpu_fan_speed_rpm", {}, "rpm", 2400.0, 300.0, 1.0),
    *(
        ("amdgpu_pcie_throughput_bytes_per_second", {"direction": d}, "bytes_per_second", 4e9, 3e9, 0.05)
        for d in ("read", "write")
    ),
    *(
        ("amdgpu_engine_busy_ratio", {"engine": e}, "ratio", 0.3, 0.25, 0.05)
        for e in ("gfx", "compute", "copy", "decode")
    ),
    *(("amdgpu_voltage_volts", {"rail": r}, "volts", 0.9, 0.08, 0.2) for r in ("gfx", "soc")),
    *(("amdgpu_pool_bytes", {"pool": "device", "state": s}, "bytes", 8e9, 3e9, 0.02) for s in ("active", "reserved")),
    ("amdgpu_queue_depth", {"stream": "0"}, "1", 6.0, 6.0, 0.02),
    *(("amdgpu_partition_busy_ratio", {"partition": str(p)}, "ratio", 0.5, 0.4, 0.02) for p in range(6)),
)
METRIC_COUNT = 32
KERNELS = (
    ("attention_forward", "aura", 3.1e-3),
    ("layer_norm", "aura", 0.2e-3),
    ("gemm_bf16_256x128", "matrix", 1.4e-3),
    ("gemm_fp32_128x128", "matrix", 2.2e-3),
    ("lif_step", "neuromorphic", 0.4e-3),
    ("deliver_spikes", "neuromorphic", 0.9e-3),
    ("softmax_rows", "aura", 0.3e-3),
    ("gelu", "aura", 0.1e-3),
)


class LoadSource(Source):
    """Waves of different periods, held between the readings of each sensor as real ones are."""

    def open(self) -> None:
        metrics = METRICS[:METRIC_COUNT]
        assert len(metrics) == METRIC_COUNT
        self.devices = [
            {"name": f"load:{i}", "kind": "load", "description": "a source of test values"} for i in range(DEVICES)
        ]
        self.metrics = [{"name": m[0], "labels": m[1], "unit": m[2], "scale": 1} for m in metrics]
        self._mean = np.array([m[3] for m in metrics])
        self._swing = np.array([m[4] for m in metrics])
        self._hold = np.array([m[5] for m in metrics])
        device, metric = np.mgrid[0:DEVICES, 0:METRIC_COUNT]
        self._phase = device * 0.9 + metric * 0.37
        self._speed = 0.4 + 0.11 * ((device * 7 + metric * 3) % 11)
        self._began = time.monotonic()
        self._told = self._began

    def close(self) -> None:
        pass

    def frame(self) -> bytes:
        now = time.monotonic() - self._began
        held = np.floor(now / self._hold) * self._hold
        wave = np.sin(held * self._speed + self._phase) * 0.7 + np.sin(held * self._speed * 5.3 + self._phase) * 0.3
        values: bytes = (self._mean + self._swing * wave).astype("<f4").tobytes()
        return values

    def frame_time_ns(self) -> int:
        return time.monotonic_ns()

    def drain_events(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        now = time.monotonic()
        launches = []
        for index, (name, core, seconds) in enumerate(KERNELS):
            count = int(now * (40 + 9 * index)) - int(self._told * (40 + 9 * index))
            for launch in range(count):
                duration = seconds * (1 + 0.2 * math.sin(now * 3 + index))
                launches.append(
                    {
                        "pid": os.getpid(),
                        "name": name,
                        "core": core,
                        "language": LANGUAGES[core],
                        "device": f"load:{(index + launch) % DEVICES}",
                        "stream": 0,
                        "start_ns": int((now - duration) * 1e9),
                        "duration_ns": int(duration * 1e9),
                        "work_items": 1 << 20,
                    }
                )
        self._told = now
        return launches, [], 0

    def totals(self) -> dict[str, Any]:
        return {"devices": {}}

    def sensors(self) -> dict[str, dict[str, float | None]]:
        return {}

    def read_summary(self) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
        return {"boundaries": [], "kernels": []}, None


def main() -> int:
    """Serves until standard input ends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--token", help="demand this token")
    parser.add_argument("--port", type=int, default=0, help="listen at this port instead of a free one")
    options = parser.parse_args()
    app.Source = LoadSource  # type: ignore[misc]
    server = Server(
        Settings(port=options.port, token=options.token, allow_anonymous=options.token is None, idle_rate_hz=60.0)
    )
    server.start()
    print(json.dumps({"url": f"http://{server.host}:{server.port}/", "pid": os.getpid()}), flush=True)
    sys.stdin.read()
    server.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where the server's numbers come from: the one place that knows the sampler, the watcher and the bus.

Methods named `read_…` may take milliseconds and are called in threads; the others take microseconds and are called every tick.
"""

from __future__ import annotations

import json
import os
import struct
import time
from typing import Any

from amdgpu import _native, list_devices, telemetry

# Newest records win: more than this in one tick is more than a page shows.
RECORDS_PER_TICK = 512


class Source:
    """What is known of this machine's devices and of the programs that use them. Opened while somebody watches."""

    def __init__(self) -> None:
        self.devices: list[dict[str, str]] = []
        self.metrics: list[dict[str, Any]] = []
        self._subscription: _native.Subscription | None = None
        self._dropped = 0

    def open(self) -> None:
        """Start sampling and watching."""
        self.devices = [{"name": info.device, "kind": info.kind, "description": info.name} for info in list_devices()]
        self.metrics = [{"name": "amdgpu_kernel_launches_total", "labels": {}, "unit": "1", "scale": 1}]
        self._subscription = _native.Subscription(RECORDS_PER_TICK)

    def close(self) -> None:
        """Stop sampling and watching."""
        self._subscription = None

    def frame(self) -> bytes:
        """The values of all devices and metrics now: float32, NaN where absent."""
        totals = {
            row["labels"]["device"]: row["value"]
            for row in telemetry.snapshot()["counters"]
            if row["metric"] == "amdgpu_kernel_launches_total"
        }
        return struct.pack(f"<{len(self.devices)}f", *(totals.get(d["name"], 0.0) for d in self.devices))

    def frame_time_ns(self) -> int:
        """When the values of `frame` were taken."""
        return time.monotonic_ns()

    def happened(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """Launches, steps of networks, and how many records were lost, since the last call."""
        if self._subscription is None:
            return [], [], 0
        records = [json.loads(line) for line in self._subscription.poll(0).splitlines()]
        lost = self._subscription.dropped - self._dropped
        self._dropped += lost
        kernels = [
            {
                "pid": os.getpid(),
                "name": record["name"],
                "core": record["core"],
                "language": record["to"],
                "device": record["device_name"],
                "stream": record["stream"],
                "start_ns": record["start_ns"],
                "duration_ns": record["duration_ns"],
                "work_items": record["value"],
            }
            for record in records
            if record["kind"] == "launch"
        ]
        return kernels, [], lost

    def totals(self) -> dict[str, Any]:
        """Rates and sums of all programs, per device."""
        return {"devices": {}}

    def sensors(self) -> dict[str, dict[str, float | None]]:
        """Temperature in °C and power in W per device."""
        return {}

    def reason(self, device: str, name: str) -> str:
        """Why a sensor of `sensors` is absent."""
        return f"{device} has no sensor of {name}"

    def index(self, device: str) -> int:
        """The position of a device in `list_devices()`."""
        return next((i for i, entry in enumerate(self.devices) if entry["name"] == device), -1)

    def read_summary(self) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
        """Totals for `profile_update`, and the processes if one came or went."""
        return {"boundaries": telemetry.boundaries(), "kernels": []}, None

    def clock(self) -> dict[str, int]:
        """One instant on the monotonic clock and in the calendar."""
        return {"monotonic_ns": time.monotonic_ns(), "epoch_ns": time.time_ns()}

    def keep_sampling(self) -> None:
        """Have sensors read for a while, since somebody asks again and again."""

    def read_others(self) -> list[tuple[int, dict[str, Any]]]:
        """Snapshots of the other processes."""
        return []

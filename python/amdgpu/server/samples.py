"""`telemetry_update`: one core type of one device, in the form of the requirement documents."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from amdgpu.server.source import KernelId, Source

# A kernel counts as active for so long after its last launch: a page shows it a moment, not a frame.
ACTIVE_NS = 1_000_000_000
MAX_ACTIVE_KERNELS = 32
NO_PROGRESS = "no device tells how far a kernel is; launches are told when they have ended"


class SampleMaker:
    """Makes samples from the source's totals and the launches it has seen."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._launches: deque[dict[str, Any]] = deque(maxlen=4096)
        self._totals: dict[str, Any] = {}
        self._processes: dict[int, Any] = {}
        self._sensors: dict[str, dict[str, float | None]] = {}

    def note(self, kernels: list[dict[str, Any]]) -> None:
        """Remember launches, as `kernel_launched` tells them."""
        self._launches.extend(kernels)

    def begin(self) -> None:
        """Look at the source once for all samples that follow."""
        oldest = time.monotonic_ns() - ACTIVE_NS
        while self._launches and self._launches[0]["start_ns"] < oldest:
            self._launches.popleft()
        totals = self._source.totals()
        self._totals, self._processes = totals["devices"], totals["processes"]
        self._sensors = self._source.sensors()

    def sample(self, device: str, core_type: str) -> dict[str, Any]:
        """One sample. What is not known is None, and `absent` says why."""
        totals = self._totals.get(device, {})
        sensors = self._sensors.get(device, {})
        values = {
            "utilization": totals.get("busy_ratio", {}).get(core_type),
            "memoryUsage": sensors.get("memory"),
            "temperature": sensors.get("temperature"),
            "powerConsumption": sensors.get("power"),
        }
        return {
            "timestamp": time.time_ns() // 1_000_000,
            "deviceId": self._source.index(device),
            "device": device,
            "coreType": core_type,
            **values,
            "launchesPerSecond": totals.get("launches_per_second"),
            "activeKernels": self._active(device, core_type),
            "absent": {name: self._reason(device, name) for name, value in values.items() if value is None},
        }

    @staticmethod
    def _reason(device: str, name: str) -> str:
        if name == "utilization":
            return "no program uses this core type of the device now"
        return f"no sensor of {device} tells it; /api/v1/sensors says why"

    def _active(self, device: str, core_type: str) -> list[dict[str, Any]]:
        found: dict[KernelId, tuple[str, list[int]]] = {}
        for launch in self._launches:
            if launch["device"] == device and launch["core"] == core_type:
                kernel = (launch["pid"], launch["device"], launch["id"])
                found.setdefault(kernel, (launch["name"], []))[1].append(launch["duration_ns"])
        newest = list(found.items())[-MAX_ACTIVE_KERNELS:]
        return [
            {
                "id": f"{kernel[0]}:{kernel[1]}:{name}:{kernel[2]}",
                "name": name,
                # Of the launches that were timed; how many there were, is counted.
                "executionTime": sum(durations) / len(durations) / 1e9,
                "launches": self._launch_count(kernel),
                **self._occupancy(kernel),
            }
            for kernel, (name, durations) in newest
        ]

    def _launch_count(self, kernel: KernelId) -> int | None:
        """Launches of an active kernel in the last second, those without a record included; None before its process has told twice."""
        pid, device, number = kernel
        rows = self._processes.get(pid, {}).get("kernels", [])
        return next(
            (round(row["calls_per_second"]) for row in rows if (row["device"], row["id"]) == (device, number)), None
        )

    def _occupancy(self, kernel: KernelId) -> dict[str, Any]:
        """Occupancy and progress of an active kernel, with the reasons where there is none."""
        occupancy, reason = self._source.occupancy(kernel)
        absent = {"progress": NO_PROGRESS} if occupancy is not None else {"progress": NO_PROGRESS, "occupancy": reason}
        return {"occupancy": occupancy, "progress": None, "absent": absent}

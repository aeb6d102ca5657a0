"""Frames from a recording: what the live view would have shown at any moment of it."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Any

from amdgpu.cli import figures, recordings
from amdgpu.cli.top.frame import Frame, KernelNow, PoolNow, ProcessNow, device_now

if TYPE_CHECKING:
    from amdgpu.telemetry.recorder import Recording

# Rates are those of so much time before the moment.
WINDOW_NS = 1_000_000_000
NS = 1e-9


class RecordedSource:
    """Plays a recording: time goes on as it did, and `seek` goes anywhere.

    Args:
        recording: What `recordings.read` gave.
        at_seconds: Where to begin.
    """

    is_live = False

    def __init__(self, recording: Recording, at_seconds: float = 0.0) -> None:
        self.recording = recording
        self.records = recording.records
        self.starts = [record["start_ns"] for record in self.records]
        self.begin_ns = recording.start_ns or 0
        self.end_ns = recording.end_ns or 0
        self.commands = {one.pid: " ".join(one.command) for one in recording.processes}
        self.position_ns = self.begin_ns + round(at_seconds / NS)
        self._shown_at: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the end is reached."""
        return self.position_ns >= self.end_ns

    def seek(self, seconds: float) -> bool:
        """Go forward or back, at most to the end or the beginning."""
        self.position_ns = min(max(self.position_ns + round(seconds / NS), self.begin_ns), self.end_ns)
        self._shown_at = None
        return True

    def play(self) -> None:
        """Let time go on: the next frame is later by as much as has passed since the last one."""
        now_ns = time.monotonic_ns()
        if self._shown_at is not None:
            self.position_ns = min(self.position_ns + now_ns - self._shown_at, self.end_ns)
        self._shown_at = now_ns

    def position_text(self) -> str:
        """Where the view is."""
        return f"{(self.position_ns - self.begin_ns) * NS:.1f} of {(self.end_ns - self.begin_ns) * NS:.1f} s"

    def kernel_text(self, kernel: KernelNow) -> str:
        """A recording has no sources."""
        return f"{kernel.name}: a recording holds what kernels did, not what they are; `amdgpu top` shows running ones"

    def frame(self) -> Frame:
        """The frame at the position."""
        now_ns = self.position_ns
        # The first moment shows the window that follows it.
        until_ns = max(now_ns, min(self.begin_ns + WINDOW_NS, self.end_ns))
        recent = self.records[bisect_left(self.starts, until_ns - WINDOW_NS) : bisect_right(self.starts, until_ns)]
        seconds = max(min(WINDOW_NS, until_ns - self.begin_ns), 1) * NS
        known = self.recording.snapshot_at(until_ns)
        by_process = {pid: [row for row in recent if row.get("pid") == pid] for pid in self.commands}
        kernels = [row for pid, rows in by_process.items() for row in _kernels(pid, rows, seconds)]
        kernels.sort(key=lambda kernel: (-kernel.busy_ratio, kernel.name))
        processes = [
            _process(pid, self.commands[pid], rows, known["totals"].get(pid), seconds)
            for pid, rows in by_process.items()
        ]
        notes = [recordings.NO_RECORDS] if not self.records else []
        return Frame(
            now_ns, self._devices(known["readings"], recent, seconds), processes, kernels, _pools(known), notes
        )

    def _devices(self, readings: list[dict[str, Any]], recent: Any, seconds: float) -> list[Any]:
        names = [row["labels"]["device"] for row in readings if "device" in row["labels"]]
        names += [row["device_name"] for row in recent if row.get("device_name")]
        rows = []
        for name in dict.fromkeys(names):
            launches = [row for row in recent if row["kind"] == "launch" and row.get("device_name") == name]
            copied = sum(row["value"] for row in recent if row["kind"] == "copy" and row.get("device_name") == name)
            busy: dict[str, float] = {}
            for row in launches:
                busy[row["core"]] = busy.get(row["core"], 0.0) + row["duration_ns"] * NS / seconds
            rows.append(
                device_now(
                    name,
                    "",
                    readings,
                    core_busy=busy,
                    launches_per_second=len(launches) / seconds,
                    copy_bytes_per_second=copied / seconds,
                )
            )
        return rows


def _kernels(pid: int | None, rows: list[dict[str, Any]], seconds: float) -> list[KernelNow]:
    return [
        KernelNow(
            pid=pid or 0,
            name=row["name"],
            device=row["device"],
            core=row["core"],
            calls=row["calls"],
            calls_per_second=row["calls"] / seconds,
            seconds=row["seconds"],
            busy_ratio=row["seconds"] / seconds,
            p50_seconds=row["p50_seconds"],
        )
        for row in figures.kernels_of_records(row for row in rows if row["kind"] == "launch")
    ]


def _process(
    pid: int | None, command: str, rows: list[dict[str, Any]], totals: dict[str, Any] | None, seconds: float
) -> ProcessNow:
    launches = [row for row in rows if row["kind"] == "launch"]
    pools = [] if totals is None else [device["pool_bytes"].get("reserved", 0) for device in totals["devices"].values()]
    return ProcessNow(
        pid=pid or 0,
        command=command,
        launches_per_second=len(launches) / seconds,
        busy_ratio=sum(row["duration_ns"] for row in launches) * NS / seconds,
        boundary_calls_per_second=sum(row["kind"] == "boundary" for row in rows) / seconds,
        pool_reserved_bytes=int(sum(pools)),
        fallbacks=0 if totals is None else int(totals["fallbacks"]),
        problem=None,
    )


def _pools(known: dict[str, Any]) -> list[PoolNow]:
    snapshot = known["snapshot"]
    if snapshot is None:
        return []
    return [
        PoolNow(
            snapshot["process_id"],
            row["device"],
            row["pool"],
            row["active_bytes"],
            row["reserved_bytes"],
            row["reserved_peak_bytes"],
        )
        for row in figures.figures([snapshot])["pools"]
    ]

"""Frames from a recording: what the live view would have shown at any moment of it."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from amdgpu.cli.top.frame import Frame, KernelNow, Look, frame_of
from amdgpu.cli.watch import figures, recordings

if TYPE_CHECKING:
    from amdgpu.telemetry.recorder import Recording
    from amdgpu.telemetry.recording import RecordedProcess

# Rates are those of so much time before the moment.
WINDOW_NS = 1_000_000_000
NS = 1e-9
NOT_TOLD = "the recording has nothing that it counted"


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
        self._totals = {one.source: recording.totals_of(one.source) for one in recording.processes}
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
        readings = self.recording.snapshot_at(until_ns)["readings"]
        looks = [self._look(process, until_ns, recent) for process in self.recording.processes]
        earlier = {process.pid or 0: self._look(process, until_ns - WINDOW_NS) for process in self.recording.processes}
        names = [row["labels"]["device"] for row in readings if "device" in row["labels"]]
        names += [name for look in looks if look.totals is not None for name in look.totals["devices"]]
        shown = frame_of(now_ns, dict.fromkeys(names, ""), readings, looks, earlier)
        return shown if self.records or self.recording.totals else replace(shown, notes=[recordings.NO_RECORDS])

    def _look(self, process: RecordedProcess, time_ns: int, records: Sequence[dict[str, Any]] = ()) -> Look:
        """What a process had counted at a moment; before it told for the first time, what it told then."""
        told = self._totals[process.source]
        place = bisect_right(told, time_ns, key=figures.time_of)
        own = (row for row in records if row.get("pid") == process.pid)
        totals = told[max(place - 1, 0)] if told else None
        return Look(process.pid or 0, " ".join(process.command), totals, figures.kernel_medians(own), NOT_TOLD)

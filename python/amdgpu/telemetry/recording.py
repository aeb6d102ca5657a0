"""A recording that is read back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amdgpu import _native, arguments

LINES_AT_ONCE = 50_000


@dataclass(frozen=True)
class RecordedProcess:
    """A process of a recording."""

    source: int
    pid: int | None
    command: list[str]
    records: int
    lost: int


class Recording:
    """What could be read of a recording; `replay` makes it.

    Attributes:
        damage: What could not be read, in a sentence; None where everything could. Everything else is there.
        is_complete: Whether it was ended properly.
        header: Schema, version and clock; empty where the first frame is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self._native = _native.Recording(arguments.path("replay", "path", path))
        self.damage = self._native.damage
        self.is_complete = self._native.is_complete
        self.header: dict[str, Any] = json.loads(self._native.header or "{}")
        self._records: list[dict[str, Any]] | None = None
        documents = self._native.documents()
        self.readings: list[dict[str, Any]] = [json.loads(text) for kind, _, text in documents if kind == "readings"]
        self.snapshots: list[dict[str, Any]] = [json.loads(text) for kind, _, text in documents if kind == "snapshot"]
        self.totals: list[tuple[int, dict[str, Any]]] = [
            (source, json.loads(text)) for kind, source, text in documents if kind == "totals"
        ]
        self.networks: list[tuple[int, list[dict[str, Any]]]] = [
            (source, json.loads(text)) for kind, source, text in documents if kind == "networks"
        ]

    @property
    def processes(self) -> list[RecordedProcess]:
        """Who was recorded."""
        rows = []
        for source, text, records, lost in self._native.sources():
            process = json.loads(text or "{}")
            rows.append(RecordedProcess(source, process.get("pid"), process.get("command", []), records, lost))
        return rows

    def iterate(self, *, start_ns: int | None = None, end_ns: int | None = None) -> Iterator[dict[str, Any]]:
        """Records of one process after the other, each in the order of time, a part at a time; `records` has all at once."""
        first_ns, last_ns = (
            None if value is None else arguments.integer("iterate", name, value)
            for name, value in (("start_ns", start_ns), ("end_ns", end_ns))
        )
        return self._iterate(first_ns, last_ns)

    def _iterate(self, start_ns: int | None, end_ns: int | None) -> Iterator[dict[str, Any]]:
        for process in self.processes:
            for first in range(0, process.records, LINES_AT_ONCE):
                for line in self._native.lines(process.source, first, LINES_AT_ONCE).splitlines():
                    row = json.loads(line)
                    if (start_ns is None or row["start_ns"] >= start_ns) and (
                        end_ns is None or row["start_ns"] < end_ns
                    ):
                        yield row

    @property
    def records(self) -> Sequence[dict[str, Any]]:
        """All records in the order of time, as `amdgpu.telemetry.events()` gave them, with `pid`."""
        if self._records is None:
            self._records = sorted(self.iterate(), key=lambda row: row["start_ns"])
        return self._records

    @property
    def start_ns(self) -> int | None:
        """Monotonic time of the first thing in it."""
        return min(self._times(), default=None)

    @property
    def end_ns(self) -> int | None:
        """Monotonic time of the last thing in it."""
        return max(self._times(), default=None)

    @property
    def duration_seconds(self) -> float:
        """From the first thing to the last."""
        first, last = self.start_ns, self.end_ns
        return 0.0 if first is None or last is None else (last - first) / 1e9

    def _times(self) -> Iterator[int]:
        for row in self.records:
            if row["start_ns"] == 0:
                continue  # Its producer did not say when.
            yield row["start_ns"]
            yield row["start_ns"] + row["duration_ns"]
        for _, totals in self.totals:
            yield totals["time_ns"]
        for reading in self.readings:
            yield reading["time_ns"]

    def totals_of(self, source: int) -> list[dict[str, Any]]:
        """What one process had counted, again and again, in the order of time."""
        found = [totals for owner, totals in self.totals if owner == source]
        return sorted(found, key=lambda totals: int(totals["time_ns"]))

    def snapshot_at(self, time_ns: int) -> dict[str, Any]:
        """What was known at a moment: the last `snapshot`, `readings` and `totals` (by process) from before it; None or empty without."""
        time_ns = arguments.integer("snapshot_at", "time_ns", time_ns)
        snapshots = [one for one in self.snapshots if one["clock"]["monotonic_ns"] <= time_ns]
        readings = [one for one in self.readings if one["time_ns"] <= time_ns]
        pids = {process.source: process.pid for process in self.processes}
        totals = {pids.get(source): one for source, one in self.totals if one["time_ns"] <= time_ns}
        return {
            "time_ns": time_ns,
            "snapshot": snapshots[-1] if snapshots else None,
            "readings": readings[-1]["readings"] if readings else [],
            "totals": totals,
        }

    def __repr__(self) -> str:
        count = sum(process.records for process in self.processes)
        return f"<amdgpu.telemetry.recorder.Recording {count} records of {len(self.processes)} processes>"

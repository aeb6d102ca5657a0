"""A program run from its start to its end with everything that was seen of it: how it ended, its reports, energy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from amdgpu.cli import machine
from amdgpu.cli.watch import program, traces
from amdgpu.cli.watch.figures import figures
from amdgpu.telemetry import report

Snapshot = dict[str, Any]

NO_REPORT = (
    "no process of the program told what it did: it does not import amdgpu, or it was killed, or it left by os._exit"
)


@dataclass(frozen=True)
class Watched:
    """What was seen of a program.

    Attributes:
        words: Program and arguments.
        ended: How it ended.
        snapshots: The last snapshot of each of its processes that use amdgpu.
        processes: pid, command, peak memory, and whether the snapshot was taken at the end (`is_final`), a dict per process.
        records: The records of each process, in the words of `amdgpu.telemetry.events()`; None where none were kept.
        energy: Per device the joules used meanwhile by all that runs on it, or None and the reason.
        dropped: Records that were overwritten because more were written than are kept.
    """

    words: list[str]
    ended: program.Ended
    snapshots: list[Snapshot]
    processes: list[dict[str, Any]]
    records: list[list[dict[str, Any]] | None]
    energy: list[dict[str, Any]]
    dropped: int

    def figures(self) -> dict[str, Any]:
        """Sums over all processes, and what is missing in them."""
        return {**figures(self.snapshots), "absent": self.absent}

    @property
    def absent(self) -> str | None:
        """Why there are no figures."""
        return None if self.snapshots else NO_REPORT

    def with_records(self) -> list[Snapshot]:
        """The snapshots, each with all records that were kept of its process."""
        return [
            snapshot if records is None else traces.with_records(snapshot, records)
            for snapshot, records in zip(self.snapshots, self.records, strict=True)
        ]


def run(words: Sequence[str], *, records: int = 0) -> Watched:
    """Run a program to its end.

    Args:
        words: Program and arguments.
        records: How many of its newest records are kept.

    Raises:
        InvalidArgumentError: The program is not there or may not be run.
    """
    with program.report_folder() as folder:
        before = machine.readings()
        environment = {"AMDGPU_REPORT": str(folder), "AMDGPU_REPORT_RECORDS": str(records)}
        ended = program.run(words, environment)
        after = machine.readings()
        reports = report.read_reports(folder)
    return Watched(
        words=list(words),
        ended=ended,
        snapshots=[one["snapshot"] for one in reports],
        processes=[
            {key: one[key] for key in ("pid", "command", "peak_resident_bytes")} | {"is_final": True} for one in reports
        ],
        records=[one["records"] for one in reports],
        energy=energy(before, after),
        dropped=sum(one["dropped"] for one in reports),
    )


def energy(before: Sequence[machine.Reading], after: Sequence[machine.Reading]) -> list[dict[str, Any]]:
    """Joules that each device used between two looks at its counters, or the reason why they are not known."""
    rows = []
    names = dict.fromkeys(row["labels"]["device"] for row in after if "device" in row["labels"])
    for name in names:
        start, _ = machine.find(before, "amdgpu_energy_joules_total", name)
        end, reason = machine.find(after, "amdgpu_energy_joules_total", name)
        joules = end - start if start is not None and end is not None and end >= start else None
        rows.append(
            {
                "device": name,
                "joules": joules,
                "reason": None if joules is not None else reason or "its counter began anew",
            }
        )
    return rows

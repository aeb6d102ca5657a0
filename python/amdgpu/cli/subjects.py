"""What `explain` looks at: a program run to its end, a process watched for a while, or a recording, as the same figures."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from amdgpu.cli import figures, watched
from amdgpu.cli.failure import UsageError

# Of launches in a stream of a GPU only one in 64 has a record; what records say of the time between launches then means nothing.
COMPLETE_SHARE = 0.9


@dataclass(frozen=True)
class Subject:
    """What was looked at, for how long, and what was counted."""

    name: str
    seconds: float
    figures: dict[str, Any]
    kernel_details: list[dict[str, Any]]
    exit_code: int


def of_program(words: list[str], records: int) -> Subject:
    """A program, run to its end."""
    seen = watched.run(words, records=records)
    kept = [record for snapshot in seen.with_records() for record in snapshot["records"]]
    content = {**seen.figures(), **(_timeline(kept, seen.figures()["launches_total"]) if seen.snapshots else {})}
    return Subject(" ".join(words), seen.ended.seconds, content, [], seen.ended.exit_code)


def of_process(pid: int, seconds: float) -> Subject:
    """A running process, watched for `seconds`."""
    from amdgpu.telemetry import attach

    if not (math.isfinite(seconds) and 0 < seconds <= 3600):
        raise UsageError(f"--seconds is {seconds}; more than 0 and at most 3600 are possible")
    process = attach.attach(pid)
    try:
        before, start_ns = process.snapshot(records=0), time.monotonic_ns()
        kept = list(_records_until(process, start_ns + round(seconds * 1e9)))
        after, end_ns = process.snapshot(records=0), time.monotonic_ns()
        details = process.kernels()
    finally:
        process.close()
    content = figures.figures([figures.difference(before, after)])
    content |= {"absent": None, **_timeline(kept, content["launches_total"])}
    return Subject(f"process {pid}", (end_ns - start_ns) / 1e9, content, details, 0)


def of_recording(path: str) -> Subject:
    """A recording of `amdgpu record`."""
    from amdgpu.cli import recordings

    recording = recordings.read(path)
    content = figures.of_records(recording.records) | {"absent": None if recording.records else recordings.NO_RECORDS}
    content |= _timeline(list(recording.records), content["launches_total"])
    return Subject(path, recording.duration_seconds, content, [], 0)


def _records_until(process: Any, end_ns: int) -> Any:
    for record in process.records(timeout_seconds=max((end_ns - time.monotonic_ns()) / 1e9, 0.0)):
        yield record
        if time.monotonic_ns() >= end_ns:
            return


def _timeline(records: list[dict[str, Any]], launches: int) -> dict[str, float]:
    known = figures.timeline(records)
    if launches and known["launch_records"] < COMPLETE_SHARE * launches:
        return {"copy_seconds": known["copy_seconds"]}
    return known

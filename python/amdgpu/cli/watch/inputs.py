"""What `explain` looks at: a program run to its end, a process watched for a while, or a recording, as the same figures."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.cli.failure import UsageError
from amdgpu.cli.watch import figures, watched

if TYPE_CHECKING:
    from amdgpu.telemetry import attach

# A process that ends while it is watched is known up to its last look.
LOOK_SECONDS = 0.25


@dataclass(frozen=True)
class Subject:
    """What was looked at, for how long, and what was counted."""

    name: str
    seconds: float
    figures: dict[str, Any]
    kernel_details: list[dict[str, Any]]
    exit_code: int


def of_program(words: list[str]) -> Subject:
    """A program, run to its end."""
    seen = watched.run(words)
    return Subject(" ".join(words), seen.ended.seconds, seen.figures(), [], seen.ended.exit_code)


def of_process(pid: int, seconds: float) -> Subject:
    """A running process, watched for `seconds`."""
    from amdgpu.telemetry import attach

    if not (math.isfinite(seconds) and 0 < seconds <= 3600):
        raise UsageError(f"--seconds must be above 0 and at most 3600, got {seconds}")
    with attach.attach(pid) as process:
        before, details = process.totals(), process.kernels()
        after = _last_totals(process, time.monotonic() + seconds) or before
    content = figures.figures([figures.difference(before, after)]) | {"absent": None}
    watched_seconds = (figures.time_of(after) - figures.time_of(before)) * figures.NS
    return Subject(f"process {pid}", watched_seconds, content, details, 0)


def of_recording(path: str) -> Subject:
    """A recording of `amdgpu record`."""
    from amdgpu.cli.watch import recordings

    recording = recordings.read(path)
    content = figures.figures(recordings.counted(recording)) | {"absent": recordings.absent(recording)}
    return Subject(path, recordings.counted_seconds(recording), content, [], 0)


def _last_totals(process: attach.Process, end: float) -> dict[str, Any] | None:
    """What the process has counted at the end of the time, or before its own end."""
    from amdgpu.errors import ProcessGoneError

    known = None
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, LOOK_SECONDS))
        try:
            known = process.totals()
        except ProcessGoneError:
            break
    return known

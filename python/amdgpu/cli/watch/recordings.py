"""Recordings of `amdgpu record`, read for `explain` and `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.cli.failure import CommandError

if TYPE_CHECKING:
    from amdgpu.telemetry.recorder import Recording

NO_RECORDS = "the recording holds no records: nothing used amdgpu while it was made"


def counted(recording: Recording) -> list[dict[str, Any]]:
    """What each process of a recording counted between the first and the last time that it told."""
    from amdgpu.cli.watch import figures

    looks = [recording.totals_of(process.source) for process in recording.processes]
    return [figures.difference(told[0], told[-1]) for told in looks if told]


def counted_seconds(recording: Recording) -> float:
    """How long that was, from the first process to the last."""
    times = [totals["time_ns"] for _, totals in recording.totals]
    return (max(times) - min(times)) / 1e9 if times else 0.0


def absent(recording: Recording) -> str | None:
    """Why there is nothing to say of a recording."""
    return None if recording.records or recording.totals else NO_RECORDS


def read(path: str) -> Recording:
    """The recording in a file. What is damaged in it, `damage` says.

    Raises:
        CommandError: There is no such file.
        AmdgpuError: It is no recording.
    """
    from pathlib import Path

    from amdgpu.telemetry import recorder

    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}; `amdgpu record {path} --pid PID` makes one")
    return recorder.replay(path)

"""Recordings of `amdgpu record`, read for `explain` and `replay`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli.failure import CommandError

if TYPE_CHECKING:
    from amdgpu.telemetry.recorder import Recording

NO_RECORDS = "the recording holds no records: nothing used amdgpu while it was made"


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

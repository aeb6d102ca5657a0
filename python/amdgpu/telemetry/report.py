"""What a program did, written when it ends: what `amdgpu run`, `trace`, `explain` and `record` read.

A process that finds `AMDGPU_REPORT` in its environment writes `PID.json` into that folder when its interpreter ends, and `PID.ndjson` with
the newest records if `AMDGPU_REPORT_RECORDS` asks for some. Without the variable nothing happens. A process that is killed, or that leaves
by `os._exit` (children of multiprocessing do), writes nothing.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from amdgpu import _native
from amdgpu.errors import AmdgpuError, InvalidArgumentError

__all__ = ["MAX_RECORDS", "SCHEMA", "read_reports", "start_if_asked"]

SCHEMA = "amdgpu.report/1"
# 64 bytes each while the program runs, about 300 in the file: 64 MiB and 300 MB.
MAX_RECORDS = 1 << 20
# The system keeps this many bytes of a command line at most; longer ones are cut there.
MAX_COMMAND_BYTES = 4096


class _Writer:
    """Takes what is to be kept from the start of the process, and writes it at its end."""

    def __init__(self, folder: Path, records: int) -> None:
        self.folder = folder
        self.records = records
        self._begin()

    def _begin(self) -> None:
        self.start_ns = time.monotonic_ns()
        self.subscription = _native.Subscription(self.records) if self.records else None

    def restart(self) -> None:
        """In a child of fork, whose bus is empty."""
        self._begin()

    def write(self) -> None:
        """Write both files, each whole or not at all. A folder that is gone or full costs the report and not the program."""
        lines, dropped = self._lines()
        pid = os.getpid()
        content = {
            "schema": SCHEMA,
            "pid": pid,
            "command": _command(),
            "start_ns": self.start_ns,
            "end_ns": time.monotonic_ns(),
            "peak_resident_bytes": _peak_resident_bytes(),
            "dropped": dropped,
            "snapshot": json.loads(_native.telemetry_snapshot()),
        }
        try:
            if lines:
                _write_whole(self.folder / f"{pid}.ndjson", lines)
            _write_whole(self.folder / f"{pid}.json", json.dumps(content))
        except OSError as error:
            print(f"amdgpu: the report of process {pid} is not written: {error}", file=sys.stderr)

    def _lines(self) -> tuple[str, int]:
        """The newest records as lines, and how many older ones there were. Threads may hand over more while the queue is emptied."""
        from collections import deque

        kept: deque[str] = deque(maxlen=self.records)
        if self.subscription is None:
            return "", 0
        taken = 0
        while taken <= 2 * MAX_RECORDS:
            lines = self.subscription.poll(0.0).splitlines(keepends=True)
            if not lines:
                break
            taken += len(lines)
            kept.extend(lines)
        return "".join(kept), self.subscription.dropped + taken - len(kept)


def start_if_asked() -> None:
    """Arrange for what the environment asks for: the report, a recording of this process."""
    if os.environ.get("AMDGPU_REPORT_RECORDING"):
        _begin_recording(Path(os.environ["AMDGPU_REPORT_RECORDING"]))
    folder = os.environ.get("AMDGPU_REPORT")
    if not folder:
        return
    import atexit

    writer = _Writer(Path(folder), _record_count(os.environ.get("AMDGPU_REPORT_RECORDS") or "0"))
    atexit.register(writer.write)
    os.register_at_fork(after_in_child=writer.restart)


def _begin_recording(path: Path) -> None:
    """Record this process beside `path` from now on. Where that is not possible, the program runs without it."""
    from amdgpu.telemetry import recorder

    try:
        recorder.begin(path.with_name(f"{path.name}.{os.getpid()}"))
    except AmdgpuError as error:
        print(f"amdgpu: process {os.getpid()} is not recorded: {error}", file=sys.stderr)
        return


def read_reports(folder: Path) -> list[dict[str, Any]]:
    """The reports in a folder, in the order in which the processes began; each with its `records`, None where none were kept.

    Raises:
        InvalidArgumentError: A file is damaged.
    """
    reports = []
    for path in folder.glob("*.json"):
        try:
            report = _checked(json.loads(path.read_text(encoding="utf-8")))
            kept = path.with_suffix(".ndjson")
            report["records"] = (
                [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()] if kept.exists() else None
            )
        except (ValueError, OSError) as error:
            raise InvalidArgumentError(f"the report {path} cannot be read: {error}") from None
        reports.append(report)
    return sorted(reports, key=lambda report: int(report["start_ns"]))


def _checked(report: Any) -> dict[str, Any]:
    if not isinstance(report, dict) or report.get("schema") != SCHEMA:
        raise ValueError(f"it is no {SCHEMA}")
    return report


def _record_count(text: str) -> int:
    if not text.isdecimal() or int(text) > MAX_RECORDS:
        raise InvalidArgumentError(f"AMDGPU_REPORT_RECORDS must be a number from 0 to {MAX_RECORDS}, got {text!r}")
    return int(text)


def _command() -> str:
    """The command line as the system has it."""
    try:
        raw = Path("/proc/self/cmdline").read_bytes()[:MAX_COMMAND_BYTES]
    except OSError:
        return " ".join(sys.argv)
    return raw.rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")


def _peak_resident_bytes() -> int | None:
    """Most memory that this program had at once. `getrusage` would count what its parent had before the program was loaded."""
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
    except OSError:
        return None
    line = next((line for line in status.splitlines() if line.startswith("VmHWM:")), "")
    return int(line.split()[1]) * 1024 if line else None


def _write_whole(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise

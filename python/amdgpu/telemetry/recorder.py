"""Keeping what happened: the last minutes in memory, recordings in files, and their replay.

The flight recorder is off until `start()`: it needs the thread that collects records, which costs about a hundredth of a core while
records come. A recording is whole up to its last frame at every moment: whatever ends it, what was written can be replayed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import InvalidArgumentError, ProcessGoneError

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Recorder", "Recording", "is_running", "record", "replay", "save", "start", "stop"]

SPAN_SECONDS = 300.0
CAPACITY_BYTES = 64 << 20
# Sensors are read as often as their history keeps them.
READINGS_EVERY_SECONDS = 0.1
# Kept in the recording as a whole: kernels, memory and counters move slowly.
SNAPSHOT_EVERY_SECONDS = 10.0
LINES_AT_ONCE = 50_000


def start(seconds: float = SPAN_SECONDS, capacity_bytes: int = CAPACITY_BYTES) -> None:
    """Keep the records of the last `seconds` in at most `capacity_bytes` of memory from now on; starting again begins anew."""
    if not seconds > 0 or capacity_bytes <= 0:
        raise InvalidArgumentError(f"seconds is {seconds}, capacity_bytes is {capacity_bytes}; both are more than 0")
    _native.flight_start(float(seconds), int(capacity_bytes))


def stop() -> None:
    """Keep nothing any more, and forget what was kept."""
    _native.flight_stop()


def is_running() -> bool:
    """Whether the flight recorder runs."""
    return _native.flight_status() is not None


def status() -> dict[str, Any] | None:
    """What the flight recorder holds: `records`, `forgotten`, `begin_ns`, `capacity_records`, `span_ns`; None while it is off."""
    text = _native.flight_status()
    result: dict[str, Any] | None = None if text is None else json.loads(text)
    return result


def save(path: str | Path) -> int:
    """Write what the flight recorder holds, a snapshot, and the sensors' last minutes into a recording; returns the number of records.

    Raises:
        InvalidArgumentError: The flight recorder does not run.
        WriteFailedError: The file cannot be written; the message says what it holds all the same.
    """
    documents = [("readings", json.dumps(reading)) for reading in _sensor_history()]
    count = _native.flight_save(Path(path), documents)
    if count is None:
        raise InvalidArgumentError("the flight recorder does not run; call amdgpu.telemetry.recorder.start() first")
    return count


def record(
    path: str | Path,
    *,
    pid: int | str | None = None,
    duration: float | None = None,
    on_progress: Callable[[int, int], object] | None = None,
) -> int:
    """Record until the time is over, the process ends, or Ctrl-C; returns the number of records.

    Args:
        path: The file; one that is there is replaced.
        pid: A process, "all" of this user, those that come later too, or None for this one.
        duration: Seconds; None records until the process ends or Ctrl-C is pressed.
        on_progress: Is called now and then with records and bytes so far.

    Raises:
        WriteFailedError: The disk is full, say; the message says what the file holds, which can be replayed.
    """
    begin = time.monotonic()
    with Recorder(path, pid=pid) as recorder:
        try:
            while duration is None or time.monotonic() - begin < duration:
                recorder.take(0.05)
                if on_progress is not None:
                    on_progress(*recorder.progress)
                if recorder.is_over:
                    break
        except KeyboardInterrupt:
            pass
        return recorder.close()


class Recorder:
    """A recording that grows: call `take` again and again, then `close`; a thread of your own may do it.

    Args:
        path: The file; one that is there is replaced.
        pid: A process, "all" of this user, or None for this one.
        with_readings: Also write the values of the sensors.
    """

    def __init__(self, path: str | Path, *, pid: int | str | None = None, with_readings: bool = True) -> None:
        if isinstance(pid, str) and pid != "all":
            raise InvalidArgumentError(f"pid is {pid!r}; it is a number, 'all', or None for this process")
        self._writer = _native.RecordingWriter(Path(path))
        self._all = pid == "all"
        self._streams: dict[int, _native.RecordStream] = {}
        self._sources: dict[int, int] = {}
        self._next_look = 0.0
        self._next_reading = 0.0
        self._next_snapshot = 0.0
        self._next_flush = 0.0
        self._sensors = _sensor_reader() if with_readings else None
        self._count: int | None = None
        if self._all:
            self._look()
        else:
            self._attach(None if pid is None else int(pid))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()

    @property
    def progress(self) -> tuple[int, int]:
        """Records and bytes so far."""
        return self._writer.progress()

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more: the process has ended."""
        return not self._all and not self._streams

    def take(self, timeout_seconds: float = 0.0) -> int:
        """Write what has come, waiting up to `timeout_seconds` for it; returns the number of records."""
        now = time.monotonic()
        if self._all and now >= self._next_look:
            self._look()
            self._next_look = now + 0.5
        count = 0
        share = timeout_seconds / max(len(self._streams), 1)
        for pid, stream in list(self._streams.items()):
            try:
                count += self._writer.take(self._sources[pid], stream, share)
            except ProcessGoneError:
                del self._streams[pid]
        if not self._streams and timeout_seconds > 0 and self._all:
            time.sleep(timeout_seconds)
        if self._sensors is not None and now >= self._next_reading:
            self._next_reading = now + READINGS_EVERY_SECONDS
            self._writer.document("readings", 0, json.dumps(self._sensors()))
        if now >= self._next_snapshot:
            self._next_snapshot = now + SNAPSHOT_EVERY_SECONDS
            self._snapshots()
        if now >= self._next_flush:
            # What is written survives whatever happens to this process.
            self._next_flush = now + 1.0
            self._writer.flush()
        return count

    def close(self) -> int:
        """Write the end; returns the number of records."""
        if self._count is None:
            self._snapshots()
            self._count = self._writer.finish()
            self._streams.clear()
        return self._count

    def _attach(self, pid: int | None) -> None:
        import os

        stream = _native.RecordStream(pid, interval_seconds=0.002, totals_seconds=0.1, networks=True)
        number = os.getpid() if pid is None else pid
        self._streams[number] = stream
        source = self._sources.setdefault(number, len(self._sources))
        command = Path(f"/proc/{number}/cmdline")
        try:
            words = [word for word in command.read_bytes().decode(errors="replace").split("\0") if word]
        except OSError:
            words = []
        self._writer.document("process", source, json.dumps({"pid": number, "command": words}))

    def _look(self) -> None:
        from amdgpu.errors import AmdgpuError
        from amdgpu.telemetry import attach

        for info in attach.processes():
            if info.pid not in self._streams and info.state == "running":
                try:
                    self._attach(info.pid)
                except AmdgpuError:
                    continue  # It went between being listed and being asked.

    def _snapshots(self) -> None:
        from amdgpu.errors import AmdgpuError
        from amdgpu.telemetry import attach

        for pid in self._streams:
            try:
                with attach.attach(None if pid == _own_pid() else pid) as process:
                    self._writer.document("snapshot", self._sources[pid], json.dumps(process.snapshot(records=0)))
            except AmdgpuError as error:
                if error.name == "write-failed":
                    raise
                continue  # Gone or stopped: there is nothing to ask it.


def _own_pid() -> int:
    import os

    return os.getpid()


def _sensor_reader() -> Callable[[], dict[str, Any]] | None:
    try:
        from amdgpu.telemetry import sensors
    except ImportError:
        return None

    def read() -> dict[str, Any]:
        return {"time_ns": time.monotonic_ns(), "readings": sensors.read()}

    return read


def _sensor_history() -> Iterator[dict[str, Any]]:
    """What the sensors said in the last minutes, as far as a sampler runs, and say now."""
    reader = _sensor_reader()
    if reader is None:
        return
    from amdgpu.telemetry import sensors

    begin_ns = time.monotonic_ns() - int(SPAN_SECONDS * 1e9)
    by_time: dict[int, list[dict[str, Any]]] = {}
    with sensors.Sampler() as sampler:
        for series in sampler.series():
            points = sampler.history(series["index"], tier="10hz", start_ns=begin_ns)
            for time_ns, mean in zip(points["time_ns"], points["mean"], strict=True):
                value = {"metric": series["metric"], "labels": series["labels"], "value": float(mean)}
                by_time.setdefault(int(time_ns), []).append(value)
    for time_ns in sorted(by_time):
        yield {"time_ns": time_ns, "readings": by_time[time_ns]}
    yield reader()


def replay(path: str | Path) -> Recording:
    """Read a recording.

    Raises:
        DamagedFileError: It is none, or of a later version.
        InvalidArgumentError: It cannot be opened.
    """
    return Recording(path)


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
        self._native = _native.Recording(Path(path))
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

    def snapshot_at(self, time_ns: int) -> dict[str, Any]:
        """What was known at a moment: the last `snapshot`, `readings` and `totals` (by process) from before it; None or empty without."""
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

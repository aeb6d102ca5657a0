"""Keeping what happened: the last minutes in memory, recordings in files, and their replay.

The flight recorder is off until `start()`: it needs the thread that collects records, which costs about a hundredth of a core while
records come. A recording is whole up to its last frame at every moment: whatever ends it, what was written can be replayed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import AmdgpuError, InvalidArgumentError, ProcessGoneError
from amdgpu.telemetry import sensors
from amdgpu.telemetry.attach import LARGEST_PID
from amdgpu.telemetry.recording import Recording

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Recorder", "Recording", "begin", "is_running", "record", "replay", "save", "start", "status", "stop"]

SPAN_SECONDS = 300.0
CAPACITY_BYTES = 64 << 20
# A hundred sensors take 15 KB of text each time.
READINGS_EVERY_SECONDS = 1.0
# Kept in the recording as a whole: kernels, memory and counters move slowly.
SNAPSHOT_EVERY_SECONDS = 10.0
LONGEST_REST_SECONDS = 0.5
# Of rates over a second; a process that is killed is known up to then.
TOTALS_EVERY_SECONDS = 0.2


# What this process had counted when the flight recorder was started.
_flight_totals: list[str] = []


def start(seconds: float = SPAN_SECONDS, capacity_bytes: int = CAPACITY_BYTES) -> None:
    """Keep the records of the last `seconds` in at most `capacity_bytes` of memory from now on; starting again begins anew."""
    seconds = arguments.positive("start", "seconds", seconds)
    _native.flight_start(seconds, arguments.count("start", "capacity_bytes", capacity_bytes, 1))
    _flight_totals[:] = [_own_totals()]


def stop() -> None:
    """Keep nothing any more, and forget what was kept."""
    _native.flight_stop()
    _flight_totals.clear()


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
    file = arguments.path("save", "path", path)
    documents = [("readings", json.dumps(reading)) for reading in _sensor_history()]
    documents += [("totals", totals) for totals in (*_flight_totals, _own_totals())]
    count = _native.flight_save(file, documents)
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
    if duration is not None:
        duration = arguments.seconds("record", "duration", duration)
    if on_progress is not None:
        arguments.function("record", "on_progress", on_progress)
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


def begin(path: str | Path, *, pid: int | str | None = None) -> BackgroundRecorder:
    """Record in the background from now on until `close()` or the end of this process; arguments as for `record`.

    Raises:
        WriteFailedError: The file cannot be made.
    """
    return BackgroundRecorder(Recorder(path, pid=pid))


class BackgroundRecorder:
    """A recording that a thread of its own writes; `begin` makes it."""

    def __init__(self, recorder: Recorder) -> None:
        import atexit
        import threading

        self._recorder = recorder
        self._is_ended = threading.Event()
        self._error: AmdgpuError | None = None
        self._thread = threading.Thread(target=self._run, name="amdgpu-recorder", daemon=True)
        self._thread.start()
        self._owner = _own_pid()
        atexit.register(self.close)

    def _run(self) -> None:
        try:
            while not self._is_ended.is_set() and not self._recorder.is_over:
                self._recorder.take(0.05)
        except AmdgpuError as error:
            self._error = error

    def close(self) -> int:
        """End the recording; returns the number of records. A child made by `fork()` does not have it: nothing is done there.

        Raises:
            WriteFailedError: The disk became full, say; the message says what the file holds.
        """
        import atexit

        atexit.unregister(self.close)
        if _own_pid() != self._owner:
            return 0
        self._is_ended.set()
        self._thread.join()
        error, self._error = self._error, None
        if error is not None:
            raise error
        return self._recorder.close()


class Recorder:
    """A recording that grows: call `take` again and again, then `close`; a thread of your own may do it.

    Args:
        path: The file; one that is there is replaced.
        pid: A process, "all" of this user, or None for this one.
        with_readings: Also write the values of the sensors.
    """

    def __init__(self, path: str | Path, *, pid: int | str | None = None, with_readings: bool = True) -> None:
        if isinstance(pid, str) and pid != "all":
            raise InvalidArgumentError(f"pid must be a number, 'all', or None for this process, got {pid!r}")
        if pid is not None and not isinstance(pid, str):
            pid = arguments.count("record", "pid", pid, 1, LARGEST_PID)
        arguments.truth("record", "with_readings", with_readings)
        self._writer = _native.RecordingWriter(arguments.path("record", "path", path))
        self._all = pid == "all"
        self._streams: dict[int, _native.RecordStream] = {}
        self._sources: dict[int, int] = {}
        self._next_look = 0.0
        self._next_reading = 0.0
        self._next_snapshot = 0.0
        self._next_totals = 0.0
        self._next_flush = 0.0
        self._sampler = sensors.Sampler() if with_readings else None
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
        elif self._sampler is not None:
            self._sampler.close()

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
        timeout_seconds = arguments.seconds("take", "timeout_seconds", timeout_seconds)
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
        if self._sampler is not None and now >= self._next_reading:
            self._next_reading = now + READINGS_EVERY_SECONDS
            readings = {"time_ns": time.monotonic_ns(), "readings": self._sampler.readings()}
            self._writer.document("readings", 0, json.dumps(readings))
        if now >= self._next_totals and _own_pid() in self._streams:
            # Other processes send theirs themselves.
            self._next_totals = now + TOTALS_EVERY_SECONDS
            self._totals(_own_pid())
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
            # A snapshot also hands out the records that nobody has collected yet.
            self._snapshots()
            self._take_rest()
            for pid in self._streams:
                self._totals(pid)
            self._count = self._writer.finish()
            self._streams.clear()
            if self._sampler is not None:
                self._sampler.close()
        return self._count

    def _take_rest(self) -> None:
        """What came before the end; not what a busy program goes on to send."""
        end = time.monotonic() + LONGEST_REST_SECONDS
        for pid, stream in list(self._streams.items()):
            # A launch in a stream is told of by another thread, a moment after who waited for it goes on.
            wait = 0.01 if pid == _own_pid() else 0.05
            try:
                while self._writer.take(self._sources[pid], stream, wait) and time.monotonic() < end:
                    pass
            except ProcessGoneError:
                del self._streams[pid]

    def _attach(self, pid: int | None) -> None:
        import os

        stream = _native.RecordStream(pid, interval_seconds=0.002, totals_seconds=TOTALS_EVERY_SECONDS, networks=True)
        number = os.getpid() if pid is None else pid
        self._streams[number] = stream
        source = self._sources.setdefault(number, len(self._sources))
        command = Path(f"/proc/{number}/cmdline")
        try:
            words = [word for word in command.read_bytes().decode(errors="replace").split("\0") if word]
        except OSError:
            words = []
        self._writer.document("process", source, json.dumps({"pid": number, "command": words}))
        self._totals(number)

    def _look(self) -> None:
        from amdgpu.telemetry import attach

        for info in attach.processes():
            if info.pid not in self._streams and info.state == "running":
                try:
                    self._attach(info.pid)
                except AmdgpuError:
                    continue  # It went between being listed and being asked.

    def _totals(self, pid: int) -> None:
        """Write what a process has counted now: where the recording begins and ends. In between its stream tells."""
        try:
            totals = _own_totals() if pid == _own_pid() else _totals_of(pid)
        except AmdgpuError:
            return  # Gone or stopped: there is nothing to ask it.
        self._writer.document("totals", self._sources[pid], totals)

    def _snapshots(self) -> None:
        from amdgpu.telemetry import attach

        for pid in self._streams:
            try:
                with attach.attach(None if pid == _own_pid() else pid) as process:
                    self._writer.document("snapshot", self._sources[pid], json.dumps(process.snapshot(records=0)))
            except AmdgpuError as error:
                if error.name == "write-failed":
                    raise
                continue  # Gone or stopped: there is nothing to ask it.


def _own_totals() -> str:
    return _totals_of(None)


def _totals_of(pid: int | None) -> str:
    from amdgpu.telemetry import attach

    with attach.attach(pid) as process:
        return json.dumps(process.totals())


def _own_pid() -> int:
    import os

    return os.getpid()


def _sensor_history() -> Iterator[dict[str, Any]]:
    """What the sensors said in the last minutes, as far as a sampler ran, and say now."""
    begin_ns = time.monotonic_ns() - int(SPAN_SECONDS * 1e9)
    by_time: dict[int, list[dict[str, Any]]] = {}
    with sensors.Sampler() as sampler:
        for series in sampler.series():
            points = sampler.history(series["index"], tier="1hz", start_ns=begin_ns)
            for time_ns, mean in zip(points["time_ns"], points["mean"], strict=True):
                value = {"metric": series["metric"], "labels": series["labels"], "value": float(mean)}
                by_time.setdefault(int(time_ns), []).append(value)
        now = {"time_ns": time.monotonic_ns(), "readings": sampler.readings()}
    for time_ns in sorted(by_time):
        yield {"time_ns": time_ns, "readings": by_time[time_ns]}
    yield now


def replay(path: str | Path) -> Recording:
    """Read a recording.

    Raises:
        DamagedFileError: It is none, or of a later version.
        InvalidArgumentError: It cannot be opened.
    """
    return Recording(path)

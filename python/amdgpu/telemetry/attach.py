"""Watching processes that use amdgpu: this one, another one of the same user, or all of them.

A process listens as soon as it opens a device (`AMDGPU_ATTACH=off` forbids it). Watching costs it next to nothing: a reader that is too
slow loses records, which is counted, and nobody waits for it.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.telemetry.rates import STALE_SECONDS, Rates

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Process", "ProcessInfo", "Watcher", "attach", "listen", "processes"]

# Long enough for a busy machine; a stopped process is told at once when it is asked what it is.
REQUEST_TIMEOUT_SECONDS = 5.0
# The system counts processes in 32 bits.
LARGEST_PID = 2**31 - 1
# Rates over less than this jump; over more they lag.
TOTALS_EVERY_SECONDS = 0.1


@dataclass(frozen=True)
class ProcessInfo:
    """A process that can be watched.

    Attributes:
        pid: Its number.
        command: Its command line.
        started_epoch_ns: When it began, nanoseconds since 1970; None where the system does not tell.
        version: Of amdgpu in it; None where it did not answer (yet).
        state: "running", "stopped" (by a signal or a debugger) or "silent".
    """

    pid: int
    command: list[str]
    started_epoch_ns: int | None
    version: str | None
    state: str


def processes(timeout_seconds: float = 0.3) -> list[ProcessInfo]:
    """The processes of this user that can be watched, by number; this one too when it listens.

    Sockets that killed processes left behind are removed.

    Args:
        timeout_seconds: How long all together have to say who they are. One that is stopped is listed all the same.

    Example:
        >>> import amdgpu.telemetry.attach
        >>> isinstance(amdgpu.telemetry.attach.processes(), list)
        True
    """
    timeout_seconds = arguments.seconds("processes", "timeout_seconds", timeout_seconds)
    return [ProcessInfo(**row) for row in json.loads(_native.attach_processes(timeout_seconds))]


def listen() -> bool:
    """Let others watch this process, as opening a device does; False where that is forbidden or impossible, which is said once."""
    return _native.attach_start()


def attach(pid: int | None = None) -> Process:
    """Connect to a process of this user; None means this process, which need not listen for it.

    Raises:
        ProcessGoneError: There is no such process (any more).
        ConnectionFailedError: It does not listen.
        NotPermittedError: It belongs to another user.

    Example:
        >>> import amdgpu.telemetry.attach
        >>> with amdgpu.telemetry.attach.attach() as process:
        ...     sorted(process.totals())[:2]
        ['boundaries', 'counters']
    """
    return Process(pid)


class Process:
    """A process that is watched. Its methods may be called from any thread.

    Every request raises `ProcessGoneError` when the process has ended, and `RequestTimeoutError` when it does not answer, for example
    because it is stopped.
    """

    def __init__(self, pid: int | None = None) -> None:
        import os

        self.pid = os.getpid() if pid is None else arguments.count("attach", "pid", pid, 1, LARGEST_PID)
        self.is_self = pid is None
        self._client = None if pid is None else _native.AttachClient(self.pid)
        self._streams: list[_native.RecordStream] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the connection."""
        self._client = None
        self._streams.clear()

    def request(self, op: str, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS, **options: Any) -> Any:
        """The answer to a request of the attach protocol (docs/attach.md), as plain values."""
        arguments.text("request", "op", op, "the name of a request")
        timeout_seconds = arguments.seconds("request", "timeout_seconds", timeout_seconds)
        line = arguments.json_text("request", "options", {"op": op, **options})
        if self.is_self:
            answer = json.loads(_native.attach_answer(line))
            if "answer" not in answer:
                from amdgpu.errors import InvalidMessageError

                raise InvalidMessageError(f"process {self.pid} refuses {op}: {answer.get('error')}")
            return answer["answer"]
        if self._client is None:
            from amdgpu.errors import ClosedError

            raise ClosedError(f"the connection to process {self.pid} is closed")
        return json.loads(self._client.request(line, timeout_seconds))

    def snapshot(self, *, records: int | None = None) -> dict[str, Any]:
        """Everything its bus knows; the shape is that of `amdgpu.telemetry.snapshot()`. `records` bounds the newest records in it."""
        options = {} if records is None else {"records": arguments.count("snapshot", "records", records)}
        result: dict[str, Any] = self.request("snapshot", **options)
        return result

    def totals(self) -> dict[str, Any]:
        """Sums since the process began, by device and network. Much cheaper than a snapshot."""
        result: dict[str, Any] = self.request("totals")
        return result

    def records(
        self,
        *,
        capacity: int = 65536,
        timeout_seconds: float | None = None,
        interval_seconds: float = 0.0,
        kinds: Sequence[str] | None = None,
    ) -> Iterator[dict[str, Any]]:
        """Records as they happen, as `amdgpu.telemetry.events()` gives them, with `pid`.

        Watching begins with the call, not with the first record that is taken.

        Args:
            capacity: Records that wait for this reader in the process; past it the oldest are lost and counted in `dropped`.
            timeout_seconds: Stop after this long without a record; None waits for ever.
            interval_seconds: The process sends at most this often: fewer wake-ups, later records.
            kinds: Only these ("launch", "compile", "neural_update" …).

        Raises:
            ProcessGoneError: The process has ended; what it sent before was given.
        """
        if timeout_seconds is not None:
            timeout_seconds = arguments.seconds("records", "timeout_seconds", timeout_seconds)
        stream = _native.RecordStream(
            None if self.is_self else self.pid,
            capacity=arguments.count("records", "capacity", capacity, 1),
            kinds=None if kinds is None else arguments.names("records", "kinds", kinds),
            interval_seconds=arguments.seconds("records", "interval_seconds", interval_seconds),
        )
        self._streams.append(stream)
        return self._records(stream, timeout_seconds)

    def _records(self, stream: _native.RecordStream, timeout_seconds: float | None) -> Iterator[dict[str, Any]]:
        while True:
            lines = stream.poll(timeout_seconds)
            if not lines:
                return
            for line in lines.splitlines():
                yield json.loads(line)

    @property
    def dropped(self) -> int:
        """Records that the iterators of `records` lost because they were too slow."""
        return sum(stream.dropped for stream in self._streams)

    def kernels(self) -> list[dict[str, Any]]:
        """The kernels that are loaded, the busiest first; see docs/attach.md for the keys."""
        rows: list[dict[str, Any]] = self.request("kernels") or []
        return rows

    def kernel(self, handle: str) -> dict[str, Any]:
        """Everything about a kernel: source, options, passes with the IR before and after each, LLVM IR, assembly, resources.

        The process keeps none of the compiler's texts: they are made again here, from source, options and target. `recomputed` says so,
        `remark` what may differ or why a text is None.

        Raises:
            InvalidMessageError: The process has no such kernel.
        """
        from amdgpu.telemetry.kernel_texts import with_texts

        arguments.text("kernel", "handle", handle, "the handle of a kernel")
        return with_texts(self.request("kernel", handle=handle))

    def memory(self, *, size_bytes: int | None = None) -> dict[str, Any]:
        """Pools, segments and blocks of every device with their owners, the largest free block, and leaks.

        Args:
            size_bytes: Pools say in `fit` what an allocation of so many bytes on the default stream would find now: a free block
                (`free_block_bytes`), or none, so that the device is asked for a segment (`segment_bytes`).
        """
        options = {} if size_bytes is None else {"size_bytes": arguments.count("memory", "size_bytes", size_bytes)}
        return self.request("memory", **options) or {
            "devices": [],
            "owners": [],
            "leaks": [],
            "fragmentation_ratio": None,
        }

    def networks(self) -> list[dict[str, Any]]:
        """Networks that live now: populations, rates, a sample of spikes and weights, the learning curve."""
        rows: list[dict[str, Any]] = self.request("networks") or []
        return rows

    def lanes(self) -> list[dict[str, Any]]:
        """What the lanes of the last checked launches did; empty where there were none."""
        answer = self.request("lanes") or {}
        rows: list[dict[str, Any]] = answer.get("launches", [])
        return rows

    def graphs(self) -> list[dict[str, Any]]:
        """Graphs of operations that are ready to run, those that ran last first: nodes, what was joined, memory, runs, the last profile."""
        rows: list[dict[str, Any]] = self.request("graphs") or []
        return rows

    def __repr__(self) -> str:
        return f"<amdgpu.telemetry.attach.Process {self.pid}{' (this one)' if self.is_self else ''}>"


class Watcher:
    """Attached to all processes of this user, those that come later too; this one included when it listens.

    Args:
        interval_seconds: Processes send at most this often.
        kinds: Only records of these kinds; None means all.
        capacity: Records that one `poll` gives of one process; older ones are lost and counted.
        totals_seconds: Processes send their sums this often.

    Example:
        >>> import amdgpu.telemetry.attach
        >>> with amdgpu.telemetry.attach.Watcher() as watcher:
        ...     sorted(watcher.totals())[:2]
        ['devices', 'networks']
    """

    def __init__(
        self,
        *,
        interval_seconds: float = 0.004,
        kinds: Sequence[str] | None = None,
        capacity: int = 65536,
        totals_seconds: float = TOTALS_EVERY_SECONDS,
    ) -> None:
        import threading
        from collections import deque

        self._native: _native.Watcher | None = _native.Watcher(
            capacity=arguments.count("Watcher", "capacity", capacity, 1),
            kinds=None if kinds is None else arguments.names("Watcher", "kinds", kinds),
            interval_seconds=arguments.seconds("Watcher", "interval_seconds", interval_seconds),
            totals_seconds=arguments.positive("Watcher", "totals_seconds", totals_seconds),
        )
        self._capacity = capacity
        self._waiting: deque[dict[str, Any]] = deque()
        self._lost_here = 0
        self._seen_changes = 0
        self._rates = Rates()
        # What `totals` gave last, with the number of processes' changes that it knew.
        self._document: dict[str, Any] | None = None
        self._known_changes = -1
        self._document_until = 0.0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of every process."""
        self._native = None
        self._waiting.clear()

    @property
    def _open(self) -> _native.Watcher:
        if self._native is None:
            from amdgpu.errors import ClosedError

            raise ClosedError("the watcher is closed")
        return self._native

    @property
    def processes(self) -> list[ProcessInfo]:
        """The processes that are watched now, by number."""
        return [ProcessInfo(**row) for row in json.loads(self._open.processes())]

    @property
    def changed(self) -> bool:
        """Whether a process came or went since this was asked last."""
        changes = self._open.changes
        is_new = changes != self._seen_changes
        self._seen_changes = changes
        return is_new

    @property
    def descriptor(self) -> int | None:
        """A file descriptor that becomes readable when something has come to be polled: for event loops.

        Processes that are new are found by polling alone. None where the system has no descriptor left.
        """
        return self._open.descriptor

    def acknowledge(self) -> None:
        """Make the descriptor unreadable until something else comes."""
        self._open.acknowledge()

    @property
    def dropped(self) -> int:
        """Records lost so far because this reader was too slow."""
        return self._open.dropped + self._lost_here

    def poll(self, timeout_seconds: float = 0.0) -> list[dict[str, Any]]:
        """Records that came since the last call, each with `pid`; waits up to `timeout_seconds` for the first."""
        timeout_seconds = arguments.seconds("poll", "timeout_seconds", timeout_seconds)
        with self._lock:
            self._take(0.0)
            if timeout_seconds > 0.0 and not self._waiting:
                deadline = time.monotonic() + timeout_seconds
                # Totals arrive between records; only records end the wait.
                while not self._waiting and (left := deadline - time.monotonic()) > 0:
                    self._take(left)
            if not self._waiting:
                return []
            records = list(self._waiting)
            self._waiting.clear()
            return records

    def totals(self) -> dict[str, Any]:
        """Rates and levels of all processes together, and of each; new ten times a second. See docs/attach.md for the keys.

        As long as there is nothing new, the very same dict is given again.
        """
        with self._lock:
            self._take(0.0)
            changes = self._open.changes
            if changes != self._known_changes:
                self._known_changes = changes
                self._document = None
                self._rates.keep_only({info["pid"] for info in json.loads(self._open.processes())})
            # Rates of a process that has fallen silent end.
            if self._document is None or time.monotonic() >= self._document_until:
                self._document = self._rates.document()
                self._document_until = time.monotonic() + STALE_SECONDS / 4 if self._document["processes"] else math.inf
            return self._document

    def _take(self, timeout_seconds: float) -> None:
        lines, documents = self._open.poll(timeout_seconds, self._capacity)
        for pid, kind, text in documents:
            if kind == "totals":
                self._rates.add(pid, json.loads(text))
                self._document = None
        if lines:
            self._waiting.extend(json.loads(line) for line in lines.splitlines())
            while len(self._waiting) > self._capacity:
                self._waiting.popleft()
                self._lost_here += 1

"""Processes that compile what clients send.

A source can make any compiler take hours or all memory, and a fault in it may end the process that it runs in. So sources of strangers are
compiled by child processes, which the system ends at their limits; each compiles one source at a time, and is replaced when it is gone.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from pathlib import Path
from typing import IO

from amdgpu.codegen.worker import DONE, LENGTH, write_frame
from amdgpu.errors import (
    BY_CODE,
    AmdgpuError,
    ClosedError,
    InternalError,
    LimitExceededError,
    RequestTimeoutError,
)
from amdgpu.server.settings import Limits

# While others wait for a process, the job that has run longest may go on for so long: many times what a usual kernel takes.
CONTENDED_SECONDS = 2.0
# A process starts Python and LLVM: a third of a second, and many times that on a machine that is busy.
START_SECONDS = 30.0
# Jobs of one process: LLVM's bindings keep 2 KiB of each, see `amdgpu.codegen.llvm`.
MAX_JOBS = 2000
# Idle processes that stay, 100 MB each; others end when they have answered.
MAX_IDLE = 2
# Largest answer: a cache entry cannot be larger.
MAX_ANSWER_BYTES = 256 << 20
READ_BYTES = 1 << 20
ERROR_TAIL_BYTES = 4096
SIMPLER = "make the source smaller: fewer or shallower templates, macros, nested types and unrolled loops"


class Compilers:
    """Compiles jobs of `Device.compile(..., remote=...)`, at most `limits.compilers` at a time."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._condition = threading.Condition()
        self._idle: list[_Child] = []
        self._busy: list[_Child] = []
        self._waiting: deque[object] = deque()
        self._is_closed = False

    def longest_seconds(self) -> float:
        """How long `compile` takes at most: the wait for a process, its start, and the job."""
        return 2 * self._limits.compile_seconds + START_SECONDS

    def compile(self, job: bytes) -> bytes:
        """Have a job compiled. Called in any thread.

        Raises:
            AmdgpuError: The compiler's errors.
            RequestTimeoutError: It took too long and was stopped.
            LimitExceededError: It needed too much memory and was stopped.
        """
        child = self._take(time.monotonic() + self._limits.compile_seconds)
        try:
            return child.ask(job)
        finally:
            self._give_back(child)

    def process_ids(self) -> list[int]:
        """The processes that there are, those that compile first."""
        with self._condition:
            return [child.pid for child in (*self._busy, *self._idle)]

    def close(self) -> None:
        """End all processes; what they compile fails."""
        with self._condition:
            self._is_closed = True
            idle, self._idle = self._idle, []
            # Those who asked them end them when they hear of it.
            for child in self._busy:
                child.stop("the server is closing")
            self._condition.notify_all()
        for child in idle:
            child.end()

    def _take(self, deadline: float) -> _Child:
        """A process, for those who wait in the order in which they came."""
        ticket = object()
        with self._condition:
            self._waiting.append(ticket)
            try:
                while not self._is_closed and not (self._waiting[0] is ticket and self._has_room()):
                    now = time.monotonic()
                    if now >= deadline:
                        raise RequestTimeoutError(
                            f"no compiler became free within {self._limits.compile_seconds:g} s; try again in a while"
                        )
                    self._condition.wait(min(self._make_way(now), deadline - now))
            finally:
                self._waiting.remove(ticket)
                # The next in line looks whether there is room for it too.
                self._condition.notify_all()
            if self._is_closed:
                raise ClosedError("the server is closing")
            child = self._idle_or_new()
            # Not at work before it is asked, which may be when it has started.
            child.started = math.inf
            self._busy.append(child)
            return child

    def _has_room(self) -> bool:
        return len(self._busy) < self._limits.compilers

    def _idle_or_new(self) -> _Child:
        while self._idle:
            child = self._idle.pop()
            if child.is_running:
                return child
            # Somebody else ended it.
            child.end()
        return _Child(self._limits)

    def _make_way(self, now: float) -> float:
        """Stop as many jobs as others wait, of those that have run for too long; seconds until there may be another one."""
        by_age = sorted(self._busy, key=lambda child: child.started)
        for child in by_age[: len(self._waiting)]:
            left = child.started + CONTENDED_SECONDS - now
            if left > 0:
                return min(left, CONTENDED_SECONDS)
            child.stop(
                f"compiling was stopped after {CONTENDED_SECONDS:g} s because others wait; try again later, or {SIMPLER}"
            )
        return CONTENDED_SECONDS

    def _give_back(self, child: _Child) -> None:
        with self._condition:
            self._busy.remove(child)
            is_kept = child.is_usable and len(self._idle) < MAX_IDLE and not self._is_closed
            if is_kept:
                self._idle.append(child)
            elif not self._is_closed and not self._idle:
                # Started now, so that the next job finds one that is ready.
                with contextlib.suppress(AmdgpuError):
                    self._idle.append(_Child(self._limits))
            self._condition.notify_all()
        if not is_kept:
            child.end()


class _Child:
    """One process. Only the thread that took it asks it; others may stop it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._jobs = 0
        self._is_ready = False
        self._stopped: str | None = None
        # When it was given its job.
        self.started = math.inf
        # A file cannot fill up as a pipe does; what was written last tells why a process ended.
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `end`)
        try:
            self._process = subprocess.Popen(
                _command(limits),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=_environment(),
                start_new_session=True,
            )
        except OSError as error:
            self._errors.close()
            raise InternalError(f"the compiler's process cannot be started: {error.strerror}") from None

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @property
    def is_usable(self) -> bool:
        """Whether it can take another job."""
        return self._is_ready and self._jobs < MAX_JOBS and self.is_running

    @property
    def is_running(self) -> bool:
        """Whether nothing has ended it."""
        return self._stopped is None and self._process.poll() is None

    def ask(self, job: bytes) -> bytes:
        """The answer to a job."""
        stdin = self._process.stdin
        if stdin is None:
            raise InternalError("the compiler's process has no pipe")
        if not self._is_ready:
            self._read(time.monotonic() + START_SECONDS, "the compiler's process did not start")
            self._is_ready = True
        self._jobs += 1
        self.started = time.monotonic()
        try:
            write_frame(stdin, job)  # type: ignore[arg-type]  # a pipe is a binary stream
        except OSError:
            raise self._lost() from None
        answer = self._read(self.started + self._limits.compile_seconds)
        if answer[:1] == DONE:
            return answer[1:]
        try:
            failure = json.loads(answer[1:])
            kind, message, language = BY_CODE[failure["code"]], failure["message"], failure["language"]
        except (ValueError, KeyError, TypeError):
            self.stop("nonsense")
            raise InternalError("the compiler's process answered nonsense") from None
        raise kind(message, language=language)

    def stop(self, reason: str) -> None:
        """End the process; who waits for its answer is told the reason."""
        self._stopped = self._stopped or reason
        with contextlib.suppress(ProcessLookupError):
            # Not reaped before `end`, so that the number is still its own.
            self._process.send_signal(signal.SIGKILL)

    def end(self) -> None:
        """Make sure that it is gone, and all that belongs to it."""
        self.stop("gone")
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _read(self, deadline: float, reason: str | None = None) -> bytes:
        """The next frame of the process, which is stopped for the reason at the deadline."""
        stdout = self._process.stdout
        if stdout is None:
            raise InternalError("the compiler's process has no pipe")
        received = bytearray()
        wanted = LENGTH.size
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            while len(received) < wanted:
                left = deadline - time.monotonic()
                if left <= 0 or not selector.select(left):
                    self.stop(reason or self._too_long())
                    raise self._lost()
                piece = os.read(stdout.fileno(), READ_BYTES)
                if not piece:
                    raise self._lost()
                received += piece
                if wanted == LENGTH.size and len(received) >= LENGTH.size:
                    wanted += LENGTH.unpack_from(received)[0]
                    if wanted > MAX_ANSWER_BYTES:
                        self.stop("the compiler's answer is too large")
                        raise self._lost()
        return bytes(received[LENGTH.size :])

    def _too_long(self) -> str:
        return f"compiling took longer than {self._limits.compile_seconds:g} s and was stopped; {SIMPLER}"

    def _lost(self) -> AmdgpuError:
        """Why the process gives no answer."""
        status = self._process.wait()
        if self._stopped is not None:
            return RequestTimeoutError(self._stopped)
        if status == -signal.SIGXCPU:
            return RequestTimeoutError(self._too_long())
        self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(0, self._errors.tell() - ERROR_TAIL_BYTES))
        said = self._errors.read().decode("utf-8", "replace").lower()
        if any(sign in said for sign in ("memory", "bad_alloc")):
            mebibytes = self._limits.compile_bytes >> 20
            return LimitExceededError(f"compiling took more than {mebibytes} MiB of memory and was stopped; {SIMPLER}")
        return InternalError(f"the compiler ended by {_ending(status)}; {SIMPLER}, and please report it")


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def _command(limits: Limits) -> list[str]:
    # Neither `-m` nor `-c` alone: files of the folder that this process works in must not stand in for modules.
    program = (
        "import sys; sys.path[:] = filter(None, sys.path)\nfrom amdgpu.codegen.worker import main\nmain(sys.argv[1:])"
    )
    return [sys.executable, "-c", program, str(limits.compile_bytes), str(limits.compile_seconds)]


def _environment() -> dict[str, str]:
    """What a process sees: the packages of this one, nobody who watches it, and no report of its own."""
    package = str(Path(__file__).resolve().parents[2])
    folders = [package, *(folder for folder in sys.path if folder and folder != package)]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AMDGPU_REPORT")}
    own = {
        "PYTHONPATH": os.pathsep.join(folders),
        "AMDGPU_ATTACH": "off",
        "AMDGPU_TELEMETRY": "off",
        "AMDGPU_TUNE": "off",
    }
    return kept | own

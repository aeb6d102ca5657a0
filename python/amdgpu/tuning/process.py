"""The child that measures. It may hang or crash: the question it was asked is lost, and the next one gets a new child.

One line of JSON goes to its standard input for each question, one comes back on its standard output. Besides the parent, which kills the
child when time is up, the child has set itself an alarm that ends it, so that it does not outlive a parent that was killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

# Answers are short; a child that writes more has lost its way.
_MAX_ANSWER_BYTES = 1 << 16
# From the end of a child's output to its end.
_EXIT_SECONDS = 5.0


class WorkerLostError(Exception):
    """The child hung, crashed or talked nonsense; it is gone, and the question with it."""


def worker_command() -> list[str]:
    """The program that measures, in this very Python."""
    # Neither `-m` nor `-c` alone: files of the folder that this process works in must not stand in for modules.
    return [
        sys.executable,
        "-c",
        "import sys; sys.path[:] = filter(None, sys.path)\nfrom amdgpu.tuning.worker import run\nrun()",
    ]


def worker_environment() -> dict[str, str]:
    """What the child sees: the packages of this process, and no tuning of its own."""
    package = str(Path(__file__).resolve().parents[2])
    folders = [package, *(folder for folder in sys.path if folder and folder != package)]
    return os.environ | {"PYTHONPATH": os.pathsep.join(folders), "AMDGPU_TUNE": "off", "AMDGPU_MATMUL": "auto"}


class Worker:
    """A child process that answers questions one at a time.

    Args:
        command: The program; None takes our own.
        now: Gives seconds, for limits.
        is_verbose: What the child writes to its standard error is shown.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        *,
        now: Callable[[], float] = time.monotonic,
        is_verbose: bool = False,
    ) -> None:
        self._command = list(command) if command is not None else worker_command()
        self._now = now
        self._stderr = None if is_verbose else subprocess.DEVNULL
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._owner = os.getpid()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_running(self) -> bool:
        """Whether there is a child."""
        return self._process is not None

    def ask(self, question: dict[str, Any], limit_seconds: float) -> dict[str, Any]:
        """The child's answer.

        Args:
            question: Anything that JSON can say.
            limit_seconds: After that time the child is killed.

        Raises:
            WorkerLostError: No answer in time, no answer at all, or one that is not JSON.
        """
        deadline = self._now() + limit_seconds
        while True:
            line = self._answer(question | {"limit_seconds": limit_seconds}, deadline)
            if line is not None:
                break
            status = self._ended()
            # A child that was idle for long goes by itself, perhaps just when it was asked.
            if status != 0 or self._now() >= deadline:
                raise WorkerLostError(f"ended by {_ending(status)}")
        try:
            answer = json.loads(line)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            self.close()
            raise WorkerLostError("the answer was nonsense")
        return answer

    def _answer(self, question: dict[str, Any], deadline: float) -> bytes | None:
        """One line of the child; None when it ended."""
        process = self._running()
        stdin, stdout = process.stdin, process.stdout
        if stdin is None or stdout is None:
            raise WorkerLostError("there are no pipes")
        try:
            stdin.write(json.dumps(question).encode() + b"\n")
            stdin.flush()
            return self._read_line(stdout.fileno(), deadline)
        except BrokenPipeError:
            return None
        except BaseException:
            # Whoever interrupts must not leave an answer behind that the next question would take for its own.
            self.close()
            raise

    def _ended(self) -> int:
        """The exit status of a child that closed its end of the pipes."""
        if self._process is not None:
            # Its status is there a moment after the pipe's end is.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_EXIT_SECONDS)
        return self.close()

    def close(self) -> int:
        """Ends the child; gives its exit status."""
        process, self._process, self._unread = self._process, None, b""
        if process is None or self._owner != os.getpid():
            return 0
        if process.poll() is None:
            # A session of its own: what the child started ends with it.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        return status

    def _running(self) -> subprocess.Popen[bytes]:
        # In a child of fork() the process belongs to the parent.
        if self._process is None or self._owner != os.getpid():
            self._owner, self._unread = os.getpid(), b""
            try:
                self._process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._stderr,
                    env=worker_environment(),
                    start_new_session=True,
                )
            except OSError as error:
                # A program that has Python inside has no interpreter to start.
                raise WorkerLostError(
                    f"{self._command[0] or 'the interpreter'} cannot be started: {error.strerror}"
                ) from None
        return self._process

    def _read_line(self, descriptor: int, deadline: float) -> bytes | None:
        """One line; None when the child closed its end."""
        with selectors.DefaultSelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                left = deadline - self._now()
                if left <= 0 or not selector.select(left):
                    self.close()
                    raise WorkerLostError("no answer in time")
                piece = os.read(descriptor, _MAX_ANSWER_BYTES)
                self._unread += piece
                if not piece:
                    return None
                if len(self._unread) > _MAX_ANSWER_BYTES:
                    self.close()
                    raise WorkerLostError("the answer was nonsense")
        line, _, self._unread = self._unread.partition(b"\n")
        return line


def _ending(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"

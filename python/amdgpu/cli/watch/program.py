"""Runs the program that `run`, `trace`, `explain` and `record` are asked to watch, as if the shell had started it.

Its standard streams are ours, signals for us go to it, and its exit code is ours. A signal of the terminal (Ctrl-C) reaches the whole
foreground group without our help, so only those that somebody sent to this process alone are passed on.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from amdgpu.cli.failure import CommandError, UsageError

if TYPE_CHECKING:
    import argparse

FORWARDED = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM}
)
# How often a program that runs is looked at; its end is seen at once.
LOOK_SECONDS = 0.2
SIGNAL_EXIT = 128


@dataclass(frozen=True)
class Ended:
    """How a program ended, and what the system says that it used, its children included.

    Attributes:
        peak_resident_bytes: None when it stayed below what this process has: a child begins with the peak of its parent, so the system
            cannot tell the two apart.
    """

    exit_code: int
    signal_name: str | None
    start_ns: int
    end_ns: int
    user_seconds: float
    system_seconds: float
    peak_resident_bytes: int | None

    @property
    def seconds(self) -> float:
        """From start to end."""
        return (self.end_ns - self.start_ns) / 1e9


def add_program_argument(parser: argparse.ArgumentParser, *, is_required: bool = True) -> None:
    """The program and its arguments: everything that follows the options, `--` before it or not."""
    import argparse

    parser.add_argument(
        "program",
        nargs=argparse.REMAINDER,
        metavar="-- PROGRAM ...",
        help=f"program and its arguments{'' if is_required else ', to watch one from its start'}",
    )


def program_of(options: argparse.Namespace) -> list[str]:
    """The program that was named; empty when none was."""
    words: list[str] = list(options.program)
    return words[1:] if words[:1] == ["--"] else words


def require_program(options: argparse.Namespace) -> list[str]:
    """The program that was named.

    Raises:
        CommandError: None was.
    """
    words = program_of(options)
    if not words:
        raise UsageError(f"which program? For example: amdgpu {options.command} -- python train.py")
    return words


@contextmanager
def report_folder() -> Iterator[Path]:
    """A private folder for what the program reports at its end."""
    folder = Path(tempfile.mkdtemp(prefix="amdgpu-report-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run(
    words: Sequence[str],
    environment: dict[str, str],
    look: Callable[[int], None] | None = None,
    *,
    look_seconds: float = LOOK_SECONDS,
) -> Ended:
    """Run the program to its end.

    Args:
        words: Program and arguments.
        environment: Variables that the program gets in addition.
        look: Called with the program's id now and then while it runs.
        look_seconds: How often.

    Raises:
        CommandError: The program is not there or may not be run.
    """
    executable = shutil.which(words[0])
    if executable is None:
        raise CommandError(_why_not_found(words[0]))
    watched = FORWARDED | {signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    try:
        start_ns = time.monotonic_ns()
        try:
            pid = os.posix_spawn(executable, list(words), os.environ | environment, setsigmask=before)
        except OSError as error:
            raise CommandError(f"{words[0]} cannot be run: {error.strerror}") from None
        status, usage = _wait(pid, watched, look, look_seconds)
        end_ns = time.monotonic_ns()
        # What came for a program that is gone is not for us either.
        while signal.sigtimedwait(watched, 0) is not None:
            pass
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    peak = usage.ru_maxrss * 1024
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return Ended(
        exit_code=SIGNAL_EXIT + number if number is not None else os.WEXITSTATUS(status),
        signal_name=None
        if number is None
        else signal.Signals(number).name
        if number in set(signal.Signals)
        else str(number),
        start_ns=start_ns,
        end_ns=end_ns,
        user_seconds=usage.ru_utime,
        system_seconds=usage.ru_stime,
        peak_resident_bytes=peak if peak > own else None,
    )


def _wait(
    pid: int, watched: frozenset[signal.Signals], look: Callable[[int], None] | None, look_seconds: float
) -> tuple[int, resource.struct_rusage]:
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        if ended == pid:
            return status, usage
        came = signal.sigtimedwait(watched, look_seconds)
        if came is None:
            if look is not None:
                look(pid)
        elif came.si_signo != signal.SIGCHLD and came.si_pid != 0:
            # From a process (from the terminal it is the kernel's, with no sender): ours alone, so the program has not got it.
            os.kill(pid, came.si_signo)


def _why_not_found(name: str) -> str:
    path = Path(name)
    if path.is_dir():
        return f"{name} is a folder, not a program"
    if "/" not in name:
        local = f"; `./{name}` runs the one in this folder" if path.exists() else ""
        return f"there is no program {name} on PATH{local}"
    if not path.exists():
        return f"there is no file {name}"
    return f"{name} is not executable; `chmod +x {name}`, or name its interpreter: python {name}"

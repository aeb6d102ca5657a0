"""Runs a command with its output in a log file and a sign of life on the console."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from x.console import HEARTBEAT_S, Console, seconds_text
from x.failure import Failure
from x.paths import LOGS, ROOT, shown

SPINNER = "|/-\\"
REFRESH_S = 0.1
KILL_GRACE_S = 5.0
FAILURE_TAIL_LINES = 40
FAILURE_LINE_CHARACTERS = 300
# The capacity of a Linux pipe (pipe(7)).
PIPE_READ_BYTES = 1 << 16
LIVE_LINE_WINDOW_BYTES = 4096
# Colour codes would land in the log files and hide the summaries that the suites read.
PLAIN_OUTPUT = {"NO_COLOR": "1", "CARGO_TERM_COLOR": "never", "PY_COLORS": "0", "CLICOLOR": "0", "TERM": "dumb"}
# Where the environment forbids it, Python compiles the package anew in each of the many processes that tests start, and pytest all tests.
KEPT_BYTECODE = {"PYTHONDONTWRITEBYTECODE": ""}


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end."""

    command: tuple[str, ...]
    exit_code: int
    output: str
    seconds: float
    log: Path
    # Of the command and of all that it waited for.
    processor_seconds: float = 0.0

    def require(self, sentence: str, *, fix: str = "") -> Finished:
        """Itself when the command succeeded; otherwise a `Failure` with the end of the output."""
        if self.exit_code == 0:
            return self
        hint = fix or f"the whole output is in {shown(self.log)}"
        raise Failure(f"{sentence} (exit code {self.exit_code})", fix=hint, detail=self.tail())

    def tail(self, lines: int = FAILURE_TAIL_LINES) -> str:
        """The last lines of the output, indented."""
        return "\n".join("    " + text[:FAILURE_LINE_CHARACTERS] for text in self.output.rstrip().splitlines()[-lines:])


class _Reader(threading.Thread):
    """Collects a pipe into memory and a log, and remembers the line being written."""

    def __init__(self, pipe: IO[bytes], log: Path, doing: str) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.log = log
        self.chunks: list[bytes] = []
        self.last_line = doing

    def run(self) -> None:
        recent = b""
        with self.pipe, self.log.open("wb", buffering=0) as log:
            while chunk := os.read(self.pipe.fileno(), PIPE_READ_BYTES):
                self.chunks.append(chunk)
                log.write(chunk)
                # A line may arrive in several writes, so the newest bytes are looked at together.
                recent += chunk
                if len(recent) > LIVE_LINE_WINDOW_BYTES:
                    # The rest of a line that began before the window says nothing to anybody.
                    recent = recent[-LIVE_LINE_WINDOW_BYTES:].partition(b"\n")[2]
                self.last_line = last_readable_line(recent.decode(errors="replace")) or self.last_line


def last_readable_line(text: str) -> str:
    """The last line of `text` that means something to a person: neither blank nor a JSON record."""
    lines = (line.strip() for line in reversed(text.replace("\r", "\n").split("\n")))
    return next((line for line in lines if line and not line.startswith("{")), "")


def run(
    command: Sequence[str],
    *,
    console: Console,
    label: str,
    log_name: str,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
    doing: str = "",
) -> Finished:
    """Runs `command` without stdin and returns when it has ended; Ctrl-C ends it and its children.

    `doing` is shown as long as the command has written nothing. Raises `Failure` when the program is not there.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**os.environ, **PLAIN_OUTPUT, **KEPT_BYTECODE, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise Failure(f"cannot start `{command[0]}`: {error.strerror}", fix="./x doctor") from error
    assert process.stdout is not None  # asked for with PIPE above
    reader = _Reader(process.stdout, log, doing)
    reader.start()
    try:
        with _registered(process):
            processor_seconds = _wait(process, reader, console, label, started)
    finally:
        console.clear_live()
    # A grandchild that keeps the pipe open must not hang us: what it writes after its parent ended is not ours.
    reader.join(timeout=KILL_GRACE_S)
    output = b"".join(reader.chunks).decode(errors="replace")
    seconds = time.monotonic() - started
    return Finished(tuple(command), process.returncode, output, seconds, log, processor_seconds)


def _wait(process: subprocess.Popen[bytes], reader: _Reader, console: Console, label: str, started: float) -> float:
    """Shows signs of life until the command has ended; its processor seconds."""
    next_heartbeat = started + HEARTBEAT_S
    spin = 0
    try:
        while True:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                process.returncode = os.waitstatus_to_exitcode(status)
                return usage.ru_utime + usage.ru_stime
            time.sleep(REFRESH_S / 10 if time.monotonic() - started < REFRESH_S else REFRESH_S)
            now = time.monotonic()
            spin += 1
            elapsed = seconds_text(now - started)
            if console.interactive:
                console.live(f"{SPINNER[spin % len(SPINNER)]} {label}  {elapsed}  {reader.last_line}", key=label)
            elif now >= next_heartbeat:
                next_heartbeat += HEARTBEAT_S
                console.line(f"      ... {label}, {elapsed}: {reader.last_line[:100] or 'no output yet'}")
    finally:
        console.forget_live(label)


# Commands that run now, in whatever thread.
_running: set[subprocess.Popen[bytes]] = set()
_running_lock = threading.Lock()


@contextlib.contextmanager
def _registered(process: subprocess.Popen[bytes]) -> Iterator[None]:
    with _running_lock:
        _running.add(process)
    try:
        yield
    except BaseException:
        _end_group(process)
        raise
    finally:
        with _running_lock:
            _running.discard(process)


def end_all() -> None:
    """Ends every command that runs, for a main thread that was told to stop while others wait for theirs."""
    with _running_lock:
        processes = list(_running)
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and whatever it started; it leads its own session, so its id is the group's."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=KILL_GRACE_S)
            return
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def capture(command: Sequence[str], *, cwd: Path = ROOT, timeout_s: float = 30.0) -> str | None:
    """The output of a short question to a tool, or None when it is missing, fails or does not answer."""
    try:
        done = subprocess.run(
            list(command),
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=timeout_s,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace").strip()

"""Runs a command with its output in a log file and a sign of life on the console."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class Finished:
    """A command that ran to its end."""

    command: tuple[str, ...]
    exit_code: int
    output: str
    seconds: float
    log: Path

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

    def __init__(self, pipe: IO[bytes], log: Path) -> None:
        super().__init__(daemon=True)
        self.pipe = pipe
        self.log = log
        self.chunks: list[bytes] = []
        self.last_line = ""

    def run(self) -> None:
        recent = b""
        with self.pipe, self.log.open("wb", buffering=0) as log:
            while chunk := os.read(self.pipe.fileno(), PIPE_READ_BYTES):
                self.chunks.append(chunk)
                log.write(chunk)
                # A line may arrive in several writes, so the newest bytes are looked at together.
                recent = (recent + chunk)[-LIVE_LINE_WINDOW_BYTES:]
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
) -> Finished:
    """Runs `command` without stdin and returns when it has ended; Ctrl-C ends it and its children.

    Raises `Failure` when the program is not there.
    """
    LOGS.mkdir(parents=True, exist_ok=True)
    log = LOGS / f"{log_name}.log"
    started = time.monotonic()
    try:
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**os.environ, **PLAIN_OUTPUT, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (FileNotFoundError, PermissionError) as error:
        raise Failure(f"cannot start `{command[0]}`: {error.strerror}", fix="./x doctor") from error
    assert process.stdout is not None  # asked for with PIPE above
    reader = _Reader(process.stdout, log)
    reader.start()
    try:
        _wait(process, reader, console, label, started)
    except BaseException:
        _end_group(process)
        raise
    finally:
        console.clear_live()
    # A grandchild that keeps the pipe open must not hang us: what it writes after its parent ended is not ours.
    reader.join(timeout=KILL_GRACE_S)
    output = b"".join(reader.chunks).decode(errors="replace")
    return Finished(tuple(command), process.returncode, output, time.monotonic() - started, log)


def _wait(process: subprocess.Popen[bytes], reader: _Reader, console: Console, label: str, started: float) -> None:
    next_heartbeat = started + HEARTBEAT_S
    turn = 0
    while True:
        try:
            process.wait(timeout=REFRESH_S)
            return
        except subprocess.TimeoutExpired:
            now = time.monotonic()
        turn += 1
        elapsed = seconds_text(now - started)
        if console.interactive:
            console.live(f"  {SPINNER[turn % len(SPINNER)]} {label}  {elapsed}  {reader.last_line}")
        elif now >= next_heartbeat:
            next_heartbeat += HEARTBEAT_S
            console.line(f"      ... {label}, {elapsed}: {reader.last_line[:100]}")


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

"""Runs one test program with a limit on time and memory, and says at the first failed test what failed."""

from __future__ import annotations

import contextlib
import os
import re
import resource
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# A fault can make a loop allocate for ever; this is what one may take before it counts as noticed.
MEMORY_LIMIT_BYTES = 8 << 30
FILE_LIMIT_BYTES = 2 << 30
READ_BYTES = 1 << 16
KEPT_BYTES = 1 << 20
POLL_S = 0.5
# What the test runners of our languages print when a test has failed.
FAILED_TEST = re.compile(
    rb"^(?:test (?P<rust>\S+)(?: - should panic)? \.\.\. FAILED"
    rb"|(?:FAILED|ERROR) (?P<python>\S+)"
    rb"|\s*not ok \d+ - (?P<tap>.+)"
    rb"|error: '(?P<zig>[^']+)' failed"
    rb"|\s*\[FAILED\]\s+(?P<nim>.+)"
    rb"|(?P<julia>.+): (?:Test Failed|Error During Test) at .+)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Outcome:
    """How a test program ended; `noticed_by` is the test that failed or the way it died, or empty when all passed."""

    noticed_by: str
    seconds: float
    output: str


def run(
    command: Sequence[str], *, cwd: Path, environment: Mapping[str, str], limit_s: float, stop_early: bool = True
) -> Outcome:
    """Runs the program in a temporary folder of its own; with `stop_early` it is ended at the first failed test."""
    folder = tempfile.mkdtemp(prefix="mutate-")
    variables = {**os.environ, "TMPDIR": folder, "AMDGPU_CACHE_DIR": os.path.join(folder, "cache"), **environment}
    started = time.monotonic()
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=_set_limits,
    )
    try:
        output, noticed = _read(process, started + limit_s, stop_early=stop_early)
        if not noticed:
            noticed = _wait(process, started + limit_s)
    finally:
        # Whatever the program started is in its session; it may not outlive the trial.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
        shutil.rmtree(folder, ignore_errors=True)
    return Outcome(noticed, time.monotonic() - started, output.decode(errors="replace"))


def _set_limits() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_LIMIT_BYTES, FILE_LIMIT_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _read(process: subprocess.Popen[bytes], deadline: float, *, stop_early: bool) -> tuple[bytes, str]:
    """The end of the output, and the first failed test in it or `time limit`."""
    assert process.stdout is not None  # asked for with PIPE
    output = bytearray()
    noticed = ""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return bytes(output), noticed or "time limit"
            if not selector.select(min(left, POLL_S)):
                # A grandchild that keeps the pipe open must not hold us when the program itself has ended.
                if process.poll() is not None:
                    return bytes(output), noticed
                continue
            chunk = os.read(process.stdout.fileno(), READ_BYTES)
            if not chunk:
                return bytes(output), noticed
            output += chunk
            noticed = noticed or failed_test(bytes(output[-2 * READ_BYTES :]))
            if noticed and stop_early:
                return bytes(output), noticed
            del output[:-KEPT_BYTES]


def failed_test(output: bytes) -> str:
    """The first test that the output calls failed."""
    match = FAILED_TEST.search(output)
    if match is None:
        return ""
    return next(text for text in match.groups() if text is not None).decode(errors="replace").strip()


def _wait(process: subprocess.Popen[bytes], deadline: float) -> str:
    try:
        code = process.wait(timeout=max(deadline - time.monotonic(), 0.1))
    except subprocess.TimeoutExpired:
        return "time limit"
    if code == 0:
        return ""
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"

"""Processes that LLVM runs in, apart from this one.

Whatever LLVM does there - exit, abort, crash, go on for ever, take all memory - this process gets an answer or an exception.
A process is started when the first module is to be compiled and answers one request at a time; threads that compile at once get a process
each. After a fork the child starts its own. Where none can be started (Python inside a program without an interpreter beside it) LLVM
runs in this process, which is counted as a fallback.
"""

from __future__ import annotations

import atexit
import functools
import importlib.util
import json
import os
import signal

# Loaded here, not with the first kernel: a child that is forked while another thread imports a module waits for it for ever.
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from amdgpu.codegen import llvm_worker
from amdgpu.codegen.loader import binding, loading

if TYPE_CHECKING:
    from typing import IO, Any

# Each holds about 60 MB once it has compiled.
MAX_PROCESSES: Final = max(1, min(4, os.cpu_count() or 1))
# Modules that a process compiles before another takes its place: of each 1.7 KiB stay in llvmlite, which frees no pass builders.
MAX_MODULES: Final = 5_000
# Characters of what LLVM printed that a message repeats.
_SHOWN: Final = 500


class WorkLimitError(RuntimeError):
    """LLVM used up the processor time that it may take for a module."""


# Whether LLVM is to run in this process, which others guard.
_is_guarded = False


def run_here(is_guarded: bool = True) -> None:
    """Lets LLVM run in this process from now on: it has limits of its own, and another process replaces it when it ends."""
    global _is_guarded
    _is_guarded = is_guarded


@functools.cache
def _interpreter() -> str | None:
    """The Python that this process runs; `None` inside of other programs."""
    if getattr(sys, "frozen", False):
        return None
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    beside = [str(Path(sys.exec_prefix) / "bin" / name) for name in (version, "python3")]
    named = [sys.executable] if sys.executable and "python" in Path(sys.executable).name else []
    return next((path for path in named + beside if os.access(path, os.X_OK)), None)


@functools.cache
def _folder_of_llvmlite() -> str:
    with loading():
        found = importlib.util.find_spec("llvmlite")
    if found is None or not found.submodule_search_locations:
        raise ImportError("No module named 'llvmlite'")
    return str(Path(next(iter(found.submodule_search_locations))).parent)


class _Process:
    def __init__(self, interpreter: str) -> None:
        # A file, since nobody reads while the process runs. In memory: `tempfile` holds a lock while it looks for its folder, and a
        # child that is forked meanwhile waits for it for ever.
        self._printed: IO[bytes] = os.fdopen(os.memfd_create("amdgpu-llvm"), "w+b")
        self._process = subprocess.Popen(
            [interpreter, "-I", llvm_worker.__file__, _folder_of_llvmlite()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            start_new_session=True,
        )
        self.asked = 0

    def ask(self, request: dict[str, Any], text: bytes = b"") -> tuple[int, bytes]:
        """The kind of the answer and the answer.

        Raises:
            EOFError: The process ended instead.
        """
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        header = json.dumps(request).encode()
        self.asked += 1
        try:
            requests.write(llvm_worker.REQUEST.pack(len(header), len(text)) + header)
            requests.write(text)
            requests.flush()
        except BrokenPipeError:
            raise EOFError from None
        head = answers.read(llvm_worker.ANSWER.size)
        if len(head) < llvm_worker.ANSWER.size:
            raise EOFError
        kind, size = llvm_worker.ANSWER.unpack(head)
        answer = answers.read(size)
        if len(answer) < size:
            raise EOFError
        return kind, answer

    def end(self) -> int:
        """Ends the process; gives its exit status, which is its own where it had ended before."""
        status = self._process.poll()
        if status is None:
            self._process.kill()
        self.forget()
        return self._process.wait() if status is None else status

    def last_status(self) -> int:
        """The exit status of a process that closed its pipes."""
        try:
            return self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            return self.end()

    def printed(self) -> str:
        self._printed.seek(0)
        lines = self._printed.read().decode(errors="replace").strip().splitlines()
        return " ".join(lines)[-_SHOWN:]

    def forget(self) -> None:
        """Closes this side of the pipes, and what was printed."""
        for pipe in (self._process.stdin, self._process.stdout, self._printed):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    # What was not sent yet has no reader any more.
                    continue

    def disown(self) -> None:
        """For the child of a fork, whose process this is not."""
        self.forget()
        self._process.returncode = 0


class _Pool:
    def __init__(self) -> None:
        self.lock = threading.Condition()
        self.idle: list[_Process] = []
        self.count = 0

    def take(self) -> _Process | None:
        """A process, to be given back or counted off; `None` where none can be started."""
        interpreter = _interpreter()
        if interpreter is None:
            return None
        with self.lock:
            while not self.idle and self.count >= MAX_PROCESSES:
                self.lock.wait()
            if self.idle:
                return self.idle.pop()
            self.count += 1
        try:
            return _Process(interpreter)
        except OSError:
            self.gone()
            return None
        except BaseException:
            self.gone()
            raise

    def give_back(self, process: _Process) -> None:
        if process.asked >= MAX_MODULES:
            process.end()
            self.gone()
            return
        with self.lock:
            self.idle.append(process)
            self.lock.notify()

    def gone(self) -> None:
        with self.lock:
            self.count -= 1
            self.lock.notify()


_pool = _Pool()


def _after_fork() -> None:
    global _pool
    for process in _pool.idle:
        process.disown()
    _pool = _Pool()


def _end_all() -> None:
    for process in _pool.idle:
        process.end()
    _pool.idle.clear()


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_end_all)


def ask(request: dict[str, Any], text: str = "") -> bytes:
    """What LLVM answers.

    Raises:
        RuntimeError: LLVM refuses; the message is LLVM's own, or says how its process ended.
        WorkLimitError: It took longer than the request allows.
        ImportError: llvmlite is not installed or cannot be loaded.
    """
    if _is_guarded:
        return _ask_here(request, text)
    pool = _pool
    process = pool.take()
    if process is None:
        _fall_back(
            "LLVM runs in this process, which it can end: no Python interpreter was found that could run it beside"
        )
        return _ask_here(request, text)
    try:
        kind, answer = process.ask(request, text.encode())
    except EOFError:
        status = process.last_status()
        printed = process.printed()
        process.end()
        pool.gone()
        if status == -signal.SIGPROF:
            raise WorkLimitError(
                f"LLVM takes more than {request['seconds']:.1f} s of processor time for this kernel: simplify or split it"
            ) from None
        raise RuntimeError(_obituary(status, printed)) from None
    except BaseException:
        # An interrupt between request and answer: the answer would be taken for that of the next request.
        process.end()
        pool.gone()
        raise
    pool.give_back(process)
    if kind == llvm_worker.NO_LLVM:
        raise ImportError(answer.decode())
    if kind == llvm_worker.REFUSAL:
        raise RuntimeError(answer.decode())
    return answer


def _obituary(status: int, printed: str) -> str:
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return f"LLVM gave up on this kernel: {printed}" if printed else f"LLVM gave up on this kernel: its process {how}"


def _ask_here(request: dict[str, Any], text: str) -> bytes:
    llvm = binding()
    if request["ask"] == "host":
        return json.dumps(llvm_worker.host(llvm)).encode()
    return llvm_worker.generate(llvm, text, request)


def _fall_back(reason: str) -> None:
    from amdgpu import _native

    _native.record_fallback("codegen", reason)

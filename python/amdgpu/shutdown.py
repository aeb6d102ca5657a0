"""What ends with the process: work of CPU devices that nobody waits for any more."""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading

from amdgpu import _native

# Work that is about to end may do so: what kernels print is then still seen.
GRACE_SECONDS = 0.2
# Kernels stop in about 10 ms; what does not (host functions) is left to the end of the process.
LIMIT_SECONDS = 0.5


def _end() -> None:
    _native.end_cpu_work(GRACE_SECONDS, LIMIT_SECONDS)


def _stop_after_interrupt() -> None:
    """Before the interpreter joins threads: after Ctrl-C has ended the main thread, kernels of the others do not hold the process."""
    ended_by = getattr(sys, "last_type", None)
    if isinstance(ended_by, type) and issubclass(ended_by, KeyboardInterrupt):
        _native.stop_cpu_work(LIMIT_SECONDS)


def register() -> None:
    """Have the interpreter call both when it ends."""
    atexit.register(_end)
    before_threads = getattr(threading, "_register_atexit", None)
    if before_threads is not None:
        # Refused by an interpreter that already ends.
        with contextlib.suppress(RuntimeError):
            before_threads(_stop_after_interrupt)

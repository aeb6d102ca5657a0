"""Loads llvmlite into this process and sets it up once, whatever thread comes first: only where LLVM cannot run in a process of its own.

A fork waits until no thread is inside LLVM or imports llvmlite: the child would find locked what such a thread holds, and wait for it for
ever. Python does not free the locks of imports that other threads were in.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from amdgpu.codegen import llvm_worker

if TYPE_CHECKING:
    from types import ModuleType

_lock = threading.RLock()
_binding: ModuleType | None = None


def _before_fork() -> None:
    _lock.acquire()
    if _binding is not None:
        # The lock that llvmlite holds during every call of LLVM; it has no public name.
        _binding.ffi.lib._lock.__enter__()  # noqa: SLF001


def _after_fork() -> None:
    if _binding is not None:
        _binding.ffi.lib._lock.__exit__(None, None, None)  # noqa: SLF001
    _lock.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


def loading() -> threading.RLock:
    """To be held around imports of llvmlite."""
    return _lock


def binding() -> ModuleType:
    """The module ``llvmlite.binding`` with all targets registered.

    Raises:
        ImportError: llvmlite is not installed or cannot be loaded.
    """
    global _binding
    if _binding is not None:
        return _binding
    with _lock:
        if _binding is None:
            _binding = llvm_worker.set_up()
    return _binding

"""Loads llvmlite on first use and sets it up once, whatever thread comes first."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

_lock = threading.Lock()
_binding: ModuleType | None = None


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
            import llvmlite.binding as llvm

            llvm.initialize_all_targets()
            llvm.initialize_all_asmprinters()
            _binding = llvm
    return _binding

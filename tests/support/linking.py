"""Links objects in memory by LLVM, in this process.

LLVM asks the system for the memory of code and of constants separately. Code reaches constants that are at most 2 GiB away, and LLVM ends
the process where they are not: where a gap between mappings has room for one of the two only. So such gaps are filled first.
"""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

from amdgpu import codegen
from amdgpu.codegen.loader import binding

_NEAR_BYTES = 1 << 30
# Sections of tests' objects are smaller.
_ROOM_BYTES = 1 << 20
_RESERVED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
_PROT_NONE = 0

SYSTEM = ctypes.CDLL(None, use_errno=True)
SYSTEM.mmap.restype = ctypes.c_void_p
SYSTEM.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long)
SYSTEM.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)


def reserve(size: int) -> int:
    """The first address of so much address space, without memory."""
    address = SYSTEM.mmap(None, size, _PROT_NONE, _RESERVED, -1, 0)
    if address == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"no address space for {size} bytes")
    return int(address)


def fill_gaps() -> None:
    """Reserves for good what has room for small sections and lies far from where larger ones go."""
    room = reserve(_ROOM_BYTES)
    size = _ROOM_BYTES // 2
    while size >= mmap.PAGESIZE:
        place = reserve(size)
        if abs(place - room) < _NEAR_BYTES:
            SYSTEM.munmap(place, size)
            size //= 2
    SYSTEM.munmap(room, _ROOM_BYTES)


def link(code: bytes, triple: str | None = None) -> Any:
    """The engine that has the functions of an object; `triple` is the host's where none is given."""
    llvm = binding()
    triple = triple or codegen.host_target()[0]
    fill_gaps()
    module = llvm.parse_assembly(f'target triple = "{triple}"')
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_triple(triple).create_target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine

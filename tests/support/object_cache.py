"""Objects that LLVM made for tests of the compiler, kept between runs: the same text for the same machine gives the same object.

What our own compiler makes of a source is never kept, only what LLVM makes of its output. `AMDGPU_TEST_OBJECTS=off` keeps nothing.
"""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import llvmlite
from amdgpu import codegen

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".x" / "test-objects"
# What no run asked for so long is deleted.
KEPT_SECONDS = 7 * 86400


def generate(ir: str, triple: str, cpu: str, features: str, level: int) -> bytes:
    """The object of an IR text, from the folder or from `amdgpu.codegen`."""
    if os.environ.get("AMDGPU_TEST_OBJECTS") == "off":
        return codegen.generate(ir, triple, cpu, features, level, "object")
    path = FOLDER / _key(ir, triple, cpu, features, str(level))
    try:
        code = path.read_bytes()
        os.utime(path)
        return code
    except FileNotFoundError:
        code = codegen.generate(ir, triple, cpu, features, level, "object")
    FOLDER.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}")
    draft.write_bytes(code)
    draft.replace(path)
    return code


def _key(*parts: str) -> str:
    state = hashlib.blake2b(digest_size=20)
    for part in (llvmlite.__version__, *(source.read_text() for source in _code_generator()), *parts):
        state.update(part.encode() + b"\0")
    return state.hexdigest()


def _code_generator() -> list[Path]:
    return sorted(Path(codegen.__file__).parent.glob("*.py"))


def forget_old() -> None:
    """Deletes what was not used for a week."""
    oldest = time.time() - KEPT_SECONDS
    for path in FOLDER.glob("*") if FOLDER.is_dir() else ():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue

"""Code that LLVM made, kept between runs of the tests: the same text with the same request gives the same code.

What our own compiler makes of a source is never kept, only what LLVM makes of its output. Tests of LLVM's part carry `@pytest.mark.llvm`,
and get nothing that is kept. `AMDGPU_TEST_OBJECTS=off` keeps nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import llvmlite
from amdgpu import codegen
from amdgpu.codegen import llvm_process

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".x" / "test-objects"
# What no run asked for so long is deleted.
KEPT_SECONDS = 7 * 86400

_ask = llvm_process.ask
_is_serving = True


def install() -> None:
    """Answers from the folder what this process asks LLVM for, from now on."""
    if os.environ.get("AMDGPU_TEST_OBJECTS") != "off":
        llvm_process.ask = ask


def serve(is_serving: bool) -> None:
    """Whether what is kept is given."""
    global _is_serving
    _is_serving = is_serving


def ask(request: dict[str, Any], text: str = "") -> bytes:
    """The code for a request, from the folder or from LLVM; refusals and other questions are LLVM's."""
    if not _is_serving or request["ask"] != "code":
        return _ask(request, text)
    path = FOLDER / key(request, text)
    try:
        code = path.read_bytes()
        os.utime(path)
        return code
    except FileNotFoundError:
        code = _ask(request, text)
    FOLDER.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    draft.write_bytes(code)
    draft.replace(path)
    return code


def key(request: dict[str, Any], text: str) -> str:
    """A hash of all that the code depends on."""
    state = _of_the_generator().copy()
    # How long LLVM may take changes nothing in what it makes.
    state.update(json.dumps({**request, "seconds": None}, sort_keys=True).encode() + b"\0" + text.encode())
    return state.hexdigest()


@functools.cache
def _of_the_generator() -> hashlib.blake2b:
    state = hashlib.blake2b(llvmlite.__version__.encode(), digest_size=20)
    for source in sorted(Path(codegen.__file__).parent.glob("*.py")):
        state.update(source.read_bytes() + b"\0")
    return state


def forget_old() -> None:
    """Deletes what was not used for a week."""
    oldest = time.time() - KEPT_SECONDS
    for path in FOLDER.glob("*") if FOLDER.is_dir() else ():
        try:
            if path.stat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue

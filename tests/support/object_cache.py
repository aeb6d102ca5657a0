"""Code that LLVM made, kept between runs of the tests: the same text with the same request gives the same code.

What our own compiler makes of a source is never kept, only what LLVM makes of its output. Tests of LLVM's part carry `@pytest.mark.llvm`,
and get nothing that is kept. `AMDGPU_TEST_OBJECTS=off` keeps nothing.

Two thirds of LLVM's time for a kernel of a processor go into registers and schedules, which change no bit of what it computes. Of
kernels whose full code the folder does not have, the seed of `sampling` draws one in `FULL_ONE_IN` for it; the others get the same passes
and then LLVM's quick code generation. With `-m slow`, `AMDGPU_TEST_SEED=all`, and where tests are named, all get what users get.
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
import pytest
import sampling
from amdgpu import codegen
from amdgpu.codegen import llvm_process

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".x" / "test-objects"
# What no run asked for so long is deleted.
KEPT_SECONDS = 7 * 86400
FULL_ONE_IN = 8

ask_llvm = llvm_process.ask
_is_serving = True
is_all_full = False


def install(config: pytest.Config) -> None:
    """Answers from the folder what this process asks LLVM for, from now on; call it before `sampling.choose_seed`."""
    global is_all_full
    # A failure of quick code is repeated by its seed.
    is_all_full = sampling.is_complete(config, is_by_name=sampling.VARIABLE not in os.environ)
    if os.environ.get("AMDGPU_TEST_OBJECTS") != "off":
        llvm_process.ask = ask


def serve(is_serving: bool) -> None:
    """Whether what is kept is given."""
    global _is_serving
    _is_serving = is_serving


def ask(request: dict[str, Any], text: str = "") -> bytes:
    """The code for a request, from the folder or from LLVM; refusals and other questions are LLVM's."""
    if not _is_serving or request["ask"] != "code":
        return ask_llvm(request, text)
    name = key(request, text)
    if (code := _kept(name)) is not None:
        return code
    if can_be_quick(request) and not (is_all_full or is_drawn(name)):
        request = {**request, "code_level": 0}
        name = key(request, text)
        if (code := _kept(name)) is not None:
            return code
    code = ask_llvm(request, text)
    _keep(name, code)
    return code


def can_be_quick(request: dict[str, Any]) -> bool:
    """Whether the code is for a processor, which computes the same with it. Of GPUs' code, tests read the instructions."""
    return request["level"] > 0 and not request["is_text"] and request["triple"].startswith(("x86_64", "aarch64"))


def is_drawn(name: str) -> bool:
    """Whether this kernel gets all of LLVM's effort in this run."""
    drawn = hashlib.blake2b(f"{os.environ[sampling.VARIABLE]} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(drawn, "big") % FULL_ONE_IN == 0


def _kept(name: str) -> bytes | None:
    path = FOLDER / name
    try:
        code = path.read_bytes()
        os.utime(path)
    except FileNotFoundError:
        return None
    return code


def _keep(name: str, code: bytes) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    path = FOLDER / name
    draft = path.with_suffix(f".{os.getpid()}-{threading.get_ident()}")
    draft.write_bytes(code)
    draft.replace(path)


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

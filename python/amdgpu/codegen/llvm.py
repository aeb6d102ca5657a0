"""Runs LLVM's optimiser and code generator through llvmlite, in a process apart from this one.

May be called from any thread. Every call works in an LLVM context of its own, so nothing is shared between calls and nothing stays behind.
LLVM may take processor time in proportion to the text that it is given.
"""

from __future__ import annotations

import re
from typing import Final

from amdgpu.codegen import llvm_process
from amdgpu.codegen.loader import loading

_EMITTED: Final = ("object", "assembly")
_MAX_LEVEL: Final = 3
# Counts changes of what follows here: code in the cache was made with the pipelines of its number.
_PIPELINES: Final = 3
_GPU_TRIPLES: Final = ("amdgcn", "nvptx")
_PARALLEL_LOOP: Final = "llvm.loop.parallel_accesses"
# LLVM's standard pipeline takes 4 to 12 µs for a byte of text with loops to vectorise, the clean-up passes 0.3 µs, measured with 50
# kernels of 5 kB, 80 barriers in 390 kB and 100 loops in 140 kB. It is linear in the number of functions, but not in the loops of one:
# 400 in 570 kB take minutes. So the first size is that of one function with all that is inlined into it, the second that of a module.
# For GPUs the pipeline takes 0.2 to 3 µs, one case of 600 loops 11 µs; generating code of what only the clean-up passes saw takes longer
# than that saves.
LARGE_BYTES: Final = 200_000
_HUGE_BYTES: Final = 3_000_000
# Processor time that LLVM may take for a module: eight times what it takes of the kernels measured above, since
# a busy machine counts up to three times as much. Past it the module is compiled once
# more without optimisation, in the same time.
_BASE_SECONDS: Final = 1.5
_SECONDS_PER_BYTE: Final = 100e-6
_FUNCTION: Final = re.compile(r'^define [^\n]*?@("[^"\n]*"|[\w.$]+)\(.*?^}', re.MULTILINE | re.DOTALL)
_CALL: Final = re.compile(r' call [^@\n]*@("[^"\n]*"|[\w.$]+)\(')


def identity() -> str:
    """Name and version of the code generator and of its pipelines; part of the key of cached kernels.

    Does not load LLVM: a process that finds all its kernels in the cache never needs it, and a version of llvmlite belongs to one
    version of LLVM.
    """
    with loading():
        import llvmlite

    return f"llvmlite {llvmlite.__version__}, pipelines {_PIPELINES}"


def generate(  # noqa: PLR0917 the signature that the Rust side calls
    llvm_ir: str, triple: str, cpu: str, features: str, optimization_level: int, emit: str
) -> bytes:
    """Optimises a module and generates code for it.

    Args:
        llvm_ir: Text of the module.
        triple: Target triple.
        cpu: Processor, as LLVM names it; empty for a generic one.
        features: LLVM feature string, for example ``+fma,+avx2``.
        optimization_level: 0 to 3; loops and straight-line code are vectorised from 2 on.
        emit: ``object`` for a relocatable object (for ``nvptx64`` PTX text), ``assembly`` for text.

    Returns:
        The object or the text.

    Raises:
        RuntimeError: LLVM refuses the module or the target, with LLVM's own message; or it ended its process, or took too long.
        ValueError: an argument has no meaning.
        ImportError: llvmlite is not installed.
    """
    if emit not in _EMITTED:
        raise ValueError(f"emit is '{emit}'; it can be {' or '.join(_EMITTED)}")
    if not 0 <= optimization_level <= _MAX_LEVEL:
        raise ValueError(f"optimization_level is {optimization_level}; it can be 0 to {_MAX_LEVEL}")
    level, is_finished = _affordable(llvm_ir, triple, optimization_level)
    request = {
        "ask": "code",
        "triple": triple,
        "cpu": cpu,
        "features": features,
        "level": level,
        "is_finished": is_finished,
        "is_text": emit == "assembly" or triple.startswith("nvptx"),
        "seconds": _BASE_SECONDS + _SECONDS_PER_BYTE * len(llvm_ir),
    }
    try:
        return llvm_process.ask(request, llvm_ir)
    except llvm_process.WorkLimitError as error:
        if level == 0:
            raise
        _fall_back(f"LLVM does not optimise a module: {error}")
    return llvm_process.ask({**request, "level": 0, "is_finished": True}, llvm_ir)


def _affordable(llvm_ir: str, triple: str, level: int) -> tuple[int, bool]:
    """The level that a module of this size can be given, and whether the clean-up passes are enough for it."""
    size = len(llvm_ir)
    is_finished = _is_finished(llvm_ir, triple)
    if level > 0 and size > _HUGE_BYTES:
        _fall_back(f"a module of {size} bytes of LLVM IR is not optimised by LLVM")
        return 0, is_finished
    if level == 0 or size <= LARGE_BYTES or is_finished or triple.startswith(_GPU_TRIPLES):
        return level, is_finished
    largest = largest_function(llvm_ir)
    if largest > LARGE_BYTES:
        _fall_back(f"a module with a function of {largest} bytes of LLVM IR gets LLVM's clean-up passes only")
        return level, True
    return level, False


def largest_function(llvm_ir: str) -> int:
    """Bytes of text of the largest function, with everything that it calls in place of the calls."""
    texts = {found[1]: found[0] for found in _FUNCTION.finditer(llvm_ir)}
    sizes: dict[str, int] = {}
    # Callees come off the stack, with their sizes known, before those who put them there are looked at again.
    stack = list(texts)
    is_open: set[str] = set()
    while stack:
        name = stack[-1]
        if name in sizes:
            stack.pop()
            continue
        callees = [callee for callee in _CALL.findall(texts[name]) if callee in texts]
        waiting = [callee for callee in callees if callee not in sizes and callee not in is_open]
        if name not in is_open and waiting:
            is_open.add(name)
            stack += waiting
            continue
        # A call that is still open leads back to itself: recursion is not inlined.
        sizes[name] = len(texts[name]) + sum(sizes.get(callee, 0) for callee in callees)
        stack.pop()
    return max(sizes.values(), default=0)


def _fall_back(reason: str) -> None:
    from amdgpu import _native

    _native.record_fallback("codegen", reason)


def _is_finished(llvm_ir: str, triple: str) -> bool:
    """Whether the kernel compiler made SIMD code itself.

    It has then optimised the loops too, and LLVM's standard pipeline would take ten times as long for next to nothing. Loops that
    LLVM's vectoriser is to turn into SIMD code are marked as parallel.
    """
    return not triple.startswith(_GPU_TRIPLES) and _PARALLEL_LOOP not in llvm_ir

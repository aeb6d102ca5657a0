"""Random programs of integers: our compiler at every level, clang (`zig c++`) and an interpreter of the IR leave the same memory.

The programs come from `crates/amdgpu-compiler/tests/support/programs.rs`. Numbers for which C++ leaves an operator undefined follow the
rules of `docs/language.md`, which the prologue for clang spells out.
"""

from __future__ import annotations

import ctypes
import functools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_harness import Kernels, example_program

BATCHES = 3
BATCH = 20
# The seeds of the crate's own test come before these.
FIRST_SEED = 1000
LEVELS = ("none", "high", "max")
DTYPES = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
CLANG_PROLOGUE = """
template <class A, class B> auto quotient(A a, B b) {
    decltype(a / b) x = a, y = b;
    return y == 0 ? x - x : decltype(y)(-1) < 0 && y == decltype(y)(-1) ? -x : x / y;
}
template <class A, class B> auto rest(A a, B b) {
    decltype(a % b) x = a, y = b;
    return y == 0 ? x : decltype(y)(-1) < 0 && y == decltype(y)(-1) ? x - x : x % y;
}
#define SHL(x, n) ((x) << ((n) & (8 * sizeof(+(x)) - 1)))
#define SHR(x, n) ((x) >> ((n) & (8 * sizeof(+(x)) - 1)))
#define DIV(x, d) quotient(x, d)
#define REM(x, d) rest(x, d)
#define __global__ extern "C"
#define __device__ static
#define __align__(n) __attribute__((aligned(n)))
struct float2 { float x, y; };
"""


@functools.cache
def batch(number: int) -> dict[str, Any]:
    """Programs, and what the interpreter says that each leaves, which it finds the same after every pass."""
    command = [str(example_program("random_programs")), str(FIRST_SEED + BATCH * number), str(BATCH)]
    answer: dict[str, Any] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert len(answer["programs"]) == BATCH
    return answer


def source(number: int, prologue: str) -> str:
    programs = batch(number)
    return prologue + programs["declarations"] + "\n".join(program["kernel"] for program in programs["programs"])


def differing(number: int, run: Any) -> list[str]:
    """The programs that leave other memory by `run(name, memory, arguments)` than by the interpreter."""
    programs = batch(number)
    wrong = []
    for index, program in enumerate(programs["programs"]):
        # Aligned as an array of the largest type.
        memory = np.array(programs["memory"], np.uint8).view(np.int64).copy()
        numbers = [
            np.array(bits, np.uint64).astype(dtype) for bits, dtype in zip(program["arguments"], DTYPES, strict=True)
        ]
        run(f"k{FIRST_SEED + BATCH * number + index}", memory, numbers)
        found, expected = memory.view(np.uint8), np.array(program["memory"], np.uint8)
        if at := np.flatnonzero(found != expected).tolist():
            wrong.append(
                f"bytes {at} are {found[at]}, not {expected[at]}, of {program['arguments']} in\n{program['kernel']}"
            )
    return wrong


@pytest.mark.parametrize("number", range(BATCHES))
@pytest.mark.parametrize("level", LEVELS)
def test_machine_code_of_random_integer_programs_does_what_the_ir_says(level: str, number: int) -> None:
    text = source(number, batch(number)["prologue"])
    for llvm_level in (0, 3):
        kernels = Kernels(text, "--level", level, level=llvm_level)
        wrong = differing(
            number, lambda name, memory, numbers, kernels=kernels: kernels(name, (1,), (1,), memory, *numbers)
        )
        assert not wrong, f"LLVM's level {llvm_level}: {wrong[0]}"


@pytest.mark.parametrize("number", range(BATCHES))
def test_clang_gives_random_integer_programs_the_same_results(number: int, tmp_path: Path) -> None:
    path, library = tmp_path / "oracle.cpp", tmp_path / "oracle.so"
    path.write_text(source(number, CLANG_PROLOGUE))
    # Without optimisation, since what has no value is copied with the aggregate around it.
    flags = ["-O0", "-shared", "-fPIC", "-fwrapv", "-fno-strict-aliasing", "-fno-sanitize=all", "-w", "-nostdlib"]
    subprocess.run([sys.executable, "-m", "ziglang", "c++", *flags, str(path), "-o", str(library)], check=True)
    clang = ctypes.CDLL(str(library))

    def run(name: str, memory: np.ndarray, numbers: list[np.ndarray]) -> None:
        function = getattr(clang, name)
        function.argtypes = [ctypes.c_void_p, *(np.ctypeslib.as_ctypes_type(dtype) for dtype in DTYPES)]
        function.restype = None
        function(memory.ctypes.data, *(one.item() for one in numbers))

    assert not (wrong := differing(number, run)), wrong[0]

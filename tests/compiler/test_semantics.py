"""Random expressions compiled by our compiler and by clang (`zig c++`), compared bit for bit.

The expressions are well defined C++: divisors are positive, shift counts small, conversions in range. `-fwrapv` gives clang our
rule for signed overflow, `-ffp-contract=on` the contraction rule that both share.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from kernel_harness import Kernels

if TYPE_CHECKING:
    from pathlib import Path

INTEGERS = {
    "c": ("signed char", np.int8),
    "uc": ("unsigned char", np.uint8),
    "s": ("short", np.int16),
    "us": ("unsigned short", np.uint16),
    "i": ("int", np.int32),
    "u": ("unsigned int", np.uint32),
    "l": ("long long", np.int64),
    "ul": ("unsigned long long", np.uint64),
}
FLOATS = {"f": ("float", np.float32), "g": ("float", np.float32), "d": ("double", np.float64)}
ITEMS = 512
EXPRESSIONS = 60


class Writer:
    """Writes random expressions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def integer(self, depth: int) -> str:
        pick = self.random
        if depth == 0:
            literals = [
                "0",
                "1",
                "-1",
                "127",
                "255u",
                "65535",
                "2147483647",
                "0x80000000",
                "1ull << 40",
                "'a'",
                "-5ll",
                "true",
            ]
            return pick.choice([*INTEGERS] * 2 + [f"({literal})" for literal in literals])
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        kind = pick.randrange(12)
        if kind < 5:
            return f"({left} {pick.choice(['+', '-', '*', '&', '|', '^', '+', '-'])} {right})"
        if kind == 5:
            return f"({left} {pick.choice(['/', '%'])} (({right} & 15) + 1))"
        if kind == 6:
            return f"({left} {pick.choice(['<<', '>>'])} ({right} & 7))"
        if kind == 7:
            operator = pick.choice(["<", "<=", ">", ">=", "==", "!="])
            return f"({left} {operator} {right})"
        if kind == 8:
            return f"({left} {pick.choice(['&&', '||'])} {right} ? {self.integer(depth - 1)} : {left})"
        if kind == 9:
            return f"{pick.choice(['-', '~', '!', '+'])}({left})"
        if kind == 10:
            return f"(({pick.choice([name for name, _ in INTEGERS.values()])}){left})"
        operator = pick.choice(["<", ">=", "==", "!="])
        return f"(({self.small_float()}) {operator} ({self.small_float()}) ? {left} : (int)({self.small_float()}))"

    def small_float(self) -> str:
        return self.random.choice(["f * 10", "g", "d * 3", "f + g", "(float)s", "c * 0.5f"])

    def floating(self, depth: int) -> str:
        pick = self.random
        if depth == 0:
            return pick.choice(
                ["f", "g", "d", "f", "g", "1.5f", "0.1", "(float)i", "(double)l", "u * 0.25f", "(float)ul", "(-2.0f)"]
            )
        left, right = self.floating(depth - 1), self.floating(depth - 1)
        kind = pick.randrange(9)
        if kind < 6:
            return f"({left} {pick.choice(['+', '-', '*', '*', '+', '-'])} {right})"
        if kind == 6:
            return f"({left} / ({right} * 0 + 3))"
        if kind == 7:
            return f"({left} < {right} ? {left} : (float)({right}))"
        return f"-({left})"

    def statements(self) -> list[str]:
        pick = self.random
        lines = []
        for index in range(EXPRESSIONS):
            if index % 3 == 2:
                lines.append(f"floats[{ITEMS} * {index} + n] = {self.floating(pick.randrange(1, 4))};")
            elif index % 7 == 3:
                name = pick.choice([*INTEGERS])
                operator = pick.choice(["+=", "-=", "*=", "&=", "|=", "^="])
                lines.append(
                    f"{name} {operator} {self.integer(2)}; integers[{ITEMS} * {index} + n] = {name}{pick.choice(['', '++', '--'])};"
                )
            elif index % 7 == 5:
                name = pick.choice(["f", "g"])
                limited = f"{name} = {name} > 1e6 || {name} < -1e6 || {name} != {name} ? 1 : {name};"
                change = f"{name} {pick.choice(['+=', '-=', '*='])} {self.floating(2)};"
                lines.append(f"{change} {limited} floats[{ITEMS} * {index} + n] = {name};")
            else:
                lines.append(f"integers[{ITEMS} * {index} + n] = {self.integer(pick.randrange(1, 5))};")
        return lines


def sources(seed: int) -> tuple[str, str]:
    names = {**INTEGERS, **FLOATS}
    parameters = ", ".join(
        [f"const {ty}* {name}_" for name, (ty, _) in names.items()] + ["long long* integers", "double* floats"]
    )
    loads = " ".join(f"{ty} {name} = {name}_[n];" for name, (ty, _) in names.items())
    body = "\n    ".join(Writer(seed).statements())
    kernel = f"__global__ void k({parameters}) {{\n    int n = blockIdx.x * blockDim.x + threadIdx.x; {loads}\n    {body}\n}}\n"
    oracle = (
        f'extern "C" void k({parameters}) {{\n  for (int n = 0; n < {ITEMS}; ++n) {{ {loads}\n    {body}\n  }}\n}}\n'
    )
    return kernel, oracle


def arrays(seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    values: list[np.ndarray] = []
    for _, dtype in INTEGERS.values():
        info = np.iinfo(dtype)
        random_values = rng.integers(info.min, info.max, ITEMS, dtype=dtype, endpoint=True)
        random_values[:6] = [0, 1, info.max, info.min, 7, info.max - 1]
        values.append(random_values)
    values.extend(rng.uniform(-50, 50, ITEMS).astype(dtype) for _, dtype in FLOATS.values())
    return values


def outputs() -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(ITEMS * EXPRESSIONS, np.int64), np.zeros(ITEMS * EXPRESSIONS, np.float64)


@pytest.mark.parametrize("seed", range(8))
def test_random_expressions_have_the_bits_that_clang_gives(seed: int, tmp_path: Path) -> None:
    kernel, oracle = sources(seed)
    source, library = tmp_path / "oracle.cpp", tmp_path / "oracle.so"
    source.write_text(oracle)
    flags = [
        "-O1",
        "-shared",
        "-fPIC",
        "-fwrapv",
        "-ffp-contract=on",
        "-fno-sanitize=all",
        "-march=x86_64_v3",
        "-w",
        "-nostdlib",
    ]
    subprocess.run([sys.executable, "-m", "ziglang", "c++", *flags, str(source), "-o", str(library)], check=True)
    inputs = arrays(seed)
    expected = outputs()
    ctypes.CDLL(str(library)).k(*[ctypes.c_void_p(array.ctypes.data) for array in (*inputs, *expected)])
    lines = Writer(seed).statements()
    for flags_of_run in ([], ["--level", "none"]):
        ours = outputs()
        Kernels(kernel, *flags_of_run)("k", (ITEMS // 64,), (64,), *inputs, *ours)
        for found, wanted in zip(ours, expected, strict=True):
            same = (found.view(np.uint64) == wanted.view(np.uint64)) | ((found != found) & (wanted != wanted))
            wrong = np.flatnonzero(~same)
            assert wrong.size == 0, (
                f"{lines[wrong[0] // ITEMS]}: item {wrong[0] % ITEMS} is {found[wrong[0]]}, clang says {wanted[wrong[0]]}"
            )

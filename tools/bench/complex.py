"""Operations on complex numbers beside NumPy: arithmetic and functions of a million numbers, sums, matrix multiplication.

Results are compared before anything is timed. The shortest time of each side counts, because the machine may be busy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import amdgpu
import numpy as np
from amdgpu import _native
from frame import Report, in_turns

PEER = "NumPy doing the same into a given result; products by its OpenBLAS"
COUNT = 1_000_000
FUNCTIONS = ("absolute", "conj", "square", "sqrt", "exp", "log", "sin", "tanh", "acos")
Case = tuple[str, Callable[[], Any], Callable[[], Any]]


def run(report: Report, arguments: list[str]) -> None:
    """Both dtypes; other words choose cases by parts of their names."""
    for name, ours, peer in cases():
        if arguments and not any(word in name for word in arguments):
            continue
        np.testing.assert_allclose(ours(), peer(), rtol=1e-3)
        ours_seconds, peer_seconds = in_turns([ours, peer], rounds=15, round_seconds=0.02)
        report.add(name, "us", min(ours_seconds) * 1e6, min(peer_seconds) * 1e6)


def cases() -> Iterator[Case]:
    """A name, our call and NumPy's."""
    rng = np.random.default_rng(0)
    for dtype in ("complex64", "complex128"):
        a, b = ((rng.standard_normal((COUNT, 2)) @ [1, 1j]).astype(dtype) for _ in range(2))
        out, expected = np.empty_like(a), np.empty_like(a)
        for name in ("add", "multiply", "divide"):
            ours = partial(_native.elementwise, name, (a, b), out)
            yield f"{name} {dtype}", ours, partial(getattr(np, name), a, b, out=expected)
        for name in FUNCTIONS:
            given = (
                (np.empty(COUNT, a.real.dtype), np.empty(COUNT, a.real.dtype))
                if name == "absolute"
                else (out, expected)
            )
            function = np.arccos if name == "acos" else getattr(np, name)
            yield (
                f"{name} {dtype}",
                partial(_native.elementwise, name, (a,), given[0]),
                partial(function, a, out=given[1]),
            )
        yield f"sum {dtype}", partial(amdgpu.ops.sum, a), partial(np.sum, a)
        for side in (32, 256, 1000):
            x, y = (a[: side * side].reshape(side, side), b[: side * side].reshape(side, side))
            yield f"matmul {side} {dtype}", partial(amdgpu.matrix_multiply, x, y), partial(np.matmul, x, y)

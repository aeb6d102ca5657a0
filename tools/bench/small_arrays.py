"""Operators, views and methods of `amdgpu.Array` of 1,000 numbers on the CPU device beside NumPy's: what an expression costs.

Results are compared before anything is timed. Figures are minima of many short rounds in turns, because another process on the core takes
longer than a round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
from frame import Report, in_turns

PEER = "NumPy's arrays of the same values"
ROUNDS, ROUND_SECONDS = 150, 0.001
# Expressions of two vectors of 1,000 numbers and a matrix of 10 rows of 100.
OPERATORS = (
    "a + b",
    "a * 2.0",
    "2.0 * a",
    "-a",
    "abs(a)",
    "a < b",
    "a < 0.5",
    "a / b",
    "a.sum()",
    "a.max()",
    "a.argmax()",
    "a.mean()",
    "m.sum(axis=0)",
)
VIEWS = (
    "a[1:]",
    "a[1:-1]",
    "a[::2]",
    "a[None]",
    "a[..., 0]",
    "a[5]",
    "a.T",
    "a.reshape(10, 100)",
    "a.reshape(-1)",
    "m[1:, ::2]",
    "m.T",
    "m[..., 0]",
    "a.shape",
)


def run(report: Report, arguments: list[str]) -> None:
    """Operators, then views; other words choose cases by parts of their names."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal(1_000).astype(np.float32) for _ in range(2))
    theirs = {"a": a, "b": b, "m": b.reshape(10, 100)}
    ours = {name: amdgpu.array(value, device="cpu:0") for name, value in theirs.items()}
    for text in (*OPERATORS, *VIEWS):
        if not arguments or any(word in text for word in arguments):
            compare(report, text, expression(text, ours), expression(text, theirs))


def expression(text: str, names: dict[str, Any]) -> Callable[[], Any]:
    """A function that computes the expression, with its variables as defaults: those are found fastest."""
    given = ", ".join(f"{name}={name}" for name in names)
    made: Callable[[], Any] = eval(f"lambda {given}: {text}", dict(names))
    return made


def compare(report: Report, text: str, ours: Callable[[], Any], peer: Callable[[], Any]) -> None:
    """One expression with both kinds of arrays."""
    np.testing.assert_allclose(np.asarray(ours()), peer(), rtol=1e-4, atol=1e-4)
    seconds, peer_seconds = in_turns([ours, peer], rounds=ROUNDS, round_seconds=ROUND_SECONDS)
    report.add(text, "us", min(seconds) * 1e6, min(peer_seconds) * 1e6)

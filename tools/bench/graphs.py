"""Graphs of operations beside their operations one by one: chains, norms with what surrounds them, attention.

Results are compared before anything is timed. The shortest time of each side counts, because the machine may be busy. What a graph
leaves as it is takes as long on both sides; cases say what was joined. `AMDGPU_CPU_THREADS=1` measures one thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
from amdgpu import ops
from frame import Report, in_turns

PEER = "the same graph with every operation as it is, one after the other"
Case = tuple[str, Callable[..., Any], list[amdgpu.Array]]


def run(report: Report, arguments: list[str]) -> None:
    """All cases; words choose cases by parts of their names."""
    for name, function, given in cases():
        if arguments and not any(word in name for word in arguments):
            continue
        joined = amdgpu.jit(function).graph(*given)
        plain = amdgpu.jit(function, optimize=False).graph(*given)
        for ours, peer in zip(joined(*given), plain(*given), strict=True):
            np.testing.assert_allclose(ours.numpy(), peer.numpy(), rtol=2e-2, atol=2e-3)
        own, other = in_turns([lambda: joined(*given), lambda: plain(*given)], rounds=15, round_seconds=0.02)  # noqa: B023
        what = next((kind for kind in KINDS if kind in str(joined)), "nothing")
        report.add(f"{name} (joined: {what})", "us", min(own) * 1e6, min(other) * 1e6)


KINDS = ("scaled_dot_product_attention", "rows", "fused")


def cases() -> Iterator[Case]:
    """A name, a function and its arguments."""
    for shape in ((64, 256), (512, 768), (2048, 1024), (16384, 768)):
        size, values = shape[-1], [array(shape, seed) for seed in range(2)]
        yield f"tanh(x / 2 + r) * r {shape}", lambda x, r: amdgpu.tanh(x * 0.5 + r) * r, values
        yield f"softmax(x / 8 + r) * r {shape}", lambda x, r: ops.softmax(x * 0.125 + r) * r, values
        yield (
            f"relu(layer_norm(x + r)) * r {shape}",
            lambda x, r, n=size: ops.relu(ops.layer_norm(x + r, n)) * r,
            values,
        )
        yield f"layer_norm(x + r) {shape}", lambda x, r, n=size: ops.layer_norm(x + r, n), values
    for dtype in ("float32", "float16"):
        for batch, length in ((8, 64), (8, 256), (8, 512), (32, 256)):
            shape = (batch, length, 64)
            values = [array(shape, seed, dtype) for seed in range(3)]
            yield f"attention {shape} {dtype}", attention, values
            yield f"attention with a mask {shape} {dtype}", attention, [*values, array((length, length), 3, dtype)]


def attention(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
    """softmax(q k^T / 8 + mask) v"""
    scores = q @ k.swapaxes(-1, -2) * 0.125
    return ops.softmax(scores if mask is None else scores + mask) @ v


def array(shape: tuple[int, ...], seed: int, dtype: str = "float32") -> amdgpu.Array:
    """Normally distributed numbers."""
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")

"""Small calls of `amdgpu.ops` beside NumPy's: what a call costs where there is next to nothing to compute.

Each operation allocates its result or writes to `out=`, on 10 and on 1,000 elements. NumPy has no softmax and no norm: there the peer is
what one writes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
from amdgpu import ops

# A case: name, ours, peer.
Case = tuple[str, Callable[[], Any], Callable[[], Any]]
SIZES = (10, 1_000)


def cases() -> Iterator[Case]:
    """Every operation allocating and with `out=`, small and smaller."""
    for size in SIZES:
        yield from elementwise(size)
        yield from over_rows(size)
    a, b = (np.random.default_rng(6).standard_normal((8, 8)).astype(np.float32) for _ in range(2))
    yield from both_ways("matrix product, 8 x 8", amdgpu.matrix_multiply, np.matmul, (a, b))
    # A null device runs nothing: what is left is what a call on a GPU keeps the host for, but for the driver.
    out = np.empty_like(a)
    there_a, there_b, there_out = (amdgpu.array(values, device="null:gfx1100") for values in (a, b, out))
    name = "matmul of a null device, 8 x 8"
    yield name, lambda: amdgpu.matrix_multiply(there_a, there_b), lambda: np.matmul(a, b)
    yield (
        f"{name}, out=",
        lambda: amdgpu.matrix_multiply(there_a, there_b, out=there_out),
        lambda: np.matmul(a, b, out=out),
    )


def elementwise(size: int) -> Iterator[Case]:
    """Arithmetic of arrays, numbers, rows and narrow types."""
    generator = np.random.default_rng(5)
    x, y = (generator.standard_normal(size).astype(np.float32) for _ in range(2))
    whole = generator.integers(0, 9, size).astype(np.int32)
    matrix = x.reshape(-1, 5)
    half, double = x.astype(np.float16), x.astype(np.float64)
    for name, ours, peer, arguments in (
        ("add", ops.add, np.add, (x, y)),
        ("add 1.0", ops.add, np.add, (x, 1.0)),
        ("sqrt", ops.sqrt, np.sqrt, (np.abs(x),)),
        ("exp", ops.exp, np.exp, (x,)),
        ("less", ops.less, np.less, (x, y)),
        ("multiply float64", ops.multiply, np.multiply, (double, double)),
        ("multiply int32", ops.multiply, np.multiply, (whole, whole)),
        ("multiply float16", ops.multiply, np.multiply, (half, half)),
        ("add a row of 5", ops.add, np.add, (matrix, x[:5])),
    ):
        yield from both_ways(f"{name}, {size:,}", ours, peer, arguments)
    ours_x, ours_y, ours_out = (amdgpu.array(values, device="cpu:0") for values in (x, y, np.empty_like(x)))
    out = np.empty_like(x)
    name = f"add of amdgpu.Array, {size:,}"
    yield name, lambda: ops.add(ours_x, ours_y), lambda: np.add(x, y)
    yield f"{name}, out=", lambda: ops.add(ours_x, ours_y, out=ours_out), lambda: np.add(x, y, out=out)


def over_rows(size: int) -> Iterator[Case]:
    """Reductions and norms."""
    x = np.random.default_rng(7).standard_normal(size).astype(np.float32)
    for name, ours, peer in (
        ("sum", ops.sum, np.sum),
        ("max", ops.max, np.max),
        ("argmax", ops.argmax, np.argmax),
        ("softmax", ops.softmax, softmax),
    ):
        yield from both_ways(f"{name}, {size:,}", ours, peer, (x,))
    yield from both_ways(f"layer norm, {size:,}", ops.layer_norm, layer_norm, (x, size))


def both_ways(
    name: str, ours: Callable[..., Any], peer: Callable[..., Any], arguments: tuple[Any, ...]
) -> Iterator[Case]:
    """With a new result each time, and with one that is there."""
    out = np.empty_like(ours(*arguments))
    for into, suffix in ((None, ""), (out, ", out=")):
        yield f"{name}{suffix}", call(ours, arguments, into), call(peer, arguments, into)


def call(function: Callable[..., Any], arguments: tuple[Any, ...], out: Any) -> Callable[[], Any]:
    """The call as one writes it: arguments that are unpacked cost a tenth of a microsecond more."""
    if len(arguments) == 1:
        (x,) = arguments
        return (lambda: function(x)) if out is None else (lambda: function(x, out=out))
    x, y = arguments
    return (lambda: function(x, y)) if out is None else (lambda: function(x, y, out=out))


def softmax(x: Any, out: Any = None) -> Any:
    """As one writes it with NumPy."""
    powers = np.exp(x - x.max(), out=out)
    powers /= powers.sum()
    return powers


def layer_norm(x: Any, size: int, out: Any = None) -> Any:
    """As one writes it with NumPy."""
    centered = np.subtract(x, x.mean(), out=out)
    centered /= np.sqrt(np.dot(centered, centered) / size + 1e-5)
    return centered

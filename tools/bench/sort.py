"""Sorting, top-k, prefix sums, segments and different values beside NumPy: one thread where NumPy has one, and all of them.

Arrays are random. `ours` of the first rows is one thread in both; the last column tells what all threads take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import numpy as np
from amdgpu import _native, ops
from amdgpu.ops.sets import unique_values
from frame import Report, alone, side_by_side

PEER = f"NumPy {np.__version__}, which has one thread"
DTYPES = ("float32", "float64", "int32", "int64")
LENGTHS = (1000, 10_000, 100_000, 1_000_000, 10_000_000)
LENGTH = 1_000_000
SEGMENTS = 10_000


def _values(dtype: str, length: int) -> Any:
    rng = np.random.default_rng(length)
    if dtype.startswith("float"):
        return rng.standard_normal(length).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, length, dtype)


def _others() -> Iterator[tuple[str, Callable[[], Any], Callable[[], Any]]]:
    """Name, ours and NumPy's: they must agree."""
    x = _values("float32", LENGTH)
    keys = np.random.default_rng(1).integers(0, SEGMENTS, LENGTH)
    few = (x * 10).astype(np.int32)
    mask = x > 0
    held, held_few, held_mask = (amdgpu.array(array, device="cpu:0") for array in (x, few, mask))

    def sums() -> Any:
        out = np.zeros(SEGMENTS)
        np.add.at(out, keys, x)
        return out.astype(np.float32)

    yield "argsort, float32", lambda: ops.argsort(x), lambda: np.argsort(x, kind="stable")
    yield "largest 100, float32", lambda: ops.top_k(x, 100)[0], lambda: np.sort(np.partition(x, -100)[-100:])[::-1]
    yield (
        "largest 10,000, float32",
        lambda: ops.top_k(x, 10_000)[0],
        lambda: np.sort(np.partition(x, -10_000)[-10_000:])[::-1],
    )
    yield "running maximum, float32", lambda: ops.accumulate(x, "max"), lambda: np.maximum.accumulate(x)
    yield f"sums of {SEGMENTS:,} segments", lambda: ops.segment_sum(x, keys, SEGMENTS), sums
    yield "different values of few", lambda: unique_values(held_few), lambda: np.unique(few)
    yield "elements of a mask", lambda: held[held_mask], lambda: x[mask]


def run(report: Report, arguments: list[str]) -> None:
    """Sorts by dtype and length, then what is made of them."""
    for dtype in DTYPES:
        for length in LENGTHS:
            x = _values(dtype, length)

            def one(x: Any = x) -> Any:
                return _native.sort(x, -1, threads=1)

            def all_threads(x: Any = x) -> Any:
                return ops.sort(x)

            def peer(x: Any = x) -> Any:
                return np.sort(x)

            assert np.asarray(one()).tobytes() == peer().tobytes()
            seconds, seconds_peer = side_by_side(one, peer)
            note = f"all threads: {alone(all_threads) * 1e6:,.1f} us"
            report.add(f"sort, {dtype}, {length:,}", "us", seconds * 1e6, seconds_peer * 1e6, note=note)
    for name, ours, peers in _others():
        np.testing.assert_allclose(np.asarray(ours()), peers(), rtol=1e-5)
        seconds, seconds_peer = side_by_side(ours, peers)
        report.add(f"{name} of {LENGTH:,}", "us", seconds * 1e6, seconds_peer * 1e6)

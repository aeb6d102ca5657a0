"""Inputs, launch shapes and tolerances of the 12 kernels; the HIP-C sources stand in tests/kernels.

Imported by every contender's process, in environments that have nothing but NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

KERNELS = Path(__file__).resolve().parents[3] / "tests" / "kernels"
# `quick` is for trying the benchmark out; `gpu` has enough work to fill an H200.
SIZES = ("quick", "full", "gpu")
SEED = 20261121


@dataclass(frozen=True)
class Case:
    """One kernel with its data. `arguments` are NumPy arrays and NumPy scalars in the order of the kernel's parameters."""

    name: str
    file: str
    kernel: str
    work: str
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    outputs: tuple[int, ...]
    # Elements whose difference from the other contender's is above `absolute + relative * |value|`, as a share of all, may be this many.
    relative: float = 0.0
    absolute: float = 0.0
    unequal_ratio: float = 0.0
    shared_bytes: int = 0

    @property
    def path(self) -> Path:
        """The HIP-C source."""
        return KERNELS / f"{self.file}.hip"

    def copies(self) -> tuple[Any, ...]:
        """The arguments with fresh arrays, aligned to cache lines, for a contender to work on."""
        return tuple(_aligned(value) if isinstance(value, np.ndarray) else value for value in self.arguments)

    def disagreement(self, ours: Any, theirs: Any) -> str:
        """What is wrong between two results of this case; empty when they agree."""
        for index, a, b in zip(self.outputs, ours, theirs, strict=True):
            difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
            bad = ~(difference <= self.absolute + self.relative * np.abs(b.astype(np.float64)))
            if bad.mean() > self.unequal_ratio:
                where = tuple(int(place) for place in np.argwhere(bad)[0])
                return (
                    f"{self.name}: {int(bad.sum())} of {bad.size} elements of argument {index} differ, first at {where}: "
                    f"{a[where]!r} and {b[where]!r}"
                )
        return ""


def _aligned(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    raw = np.empty(values.nbytes + 64, np.uint8)
    start = -raw.ctypes.data % 64
    copy = raw[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    copy[...] = values
    return copy


def names() -> list[str]:
    """The kernels in the order of the report."""
    return list(_BUILDERS)


def build(name: str, size: str) -> Case:
    """The case of a kernel, with data from a fixed seed."""
    return _BUILDERS[name](SIZES.index(size), np.random.default_rng(SEED))


def _blocks(count: int, threads: int) -> int:
    return -(-count // threads)


def _floats(rng: np.random.Generator, *shape: int) -> np.ndarray[Any, Any]:
    return rng.random(shape, dtype=np.float32)


def _millions(count: int) -> str:
    return f"{count / 1e6:.3g} M elements"


def _vector_add(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 20, 1 << 22, 1 << 26)[size]
    a, b = _floats(rng, 2, n)
    arguments = (a, b, np.zeros(n, np.float32), np.int32(n))
    return Case("vector add", "vector_add", "vector_add", _millions(n), (_blocks(n, 256),), (256,), arguments, (2,))


def _saxpy(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 20, 1 << 22, 1 << 26)[size]
    x, y = _floats(rng, 2, n)
    arguments = (np.float32(1e-3), x, y, np.uint32(n))
    # One rounding or two.
    return Case("saxpy", "saxpy", "saxpy", _millions(n), (_blocks(n, 256),), (256,), arguments, (2,), relative=2.0**-22)


def _reduction(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 20, 1 << 22, 1 << 26)[size]
    blocks = _blocks(n, 256)
    arguments = (_floats(rng, n), np.zeros(blocks, np.float32), np.zeros(1, np.float32), np.int32(n))
    # Sums of 256 positive numbers in any order, then of all blocks in any order: 0.5 eps for each of up to `blocks` additions.
    relative = 2.0**-24 * (256 + blocks)
    case = ("reduction", "block_reduction", "block_reduction", _millions(n), (blocks,), (256,), arguments, (1, 2))
    return Case(*case, relative=relative)


def _scan(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 20, 1 << 22, 1 << 26)[size]
    arguments = (rng.integers(-1000, 1000, n, dtype=np.int32), np.zeros(n, np.int32), np.int32(n))
    work = f"{_millions(n)} in blocks of 256"
    case = ("scan", "inclusive_scan", "inclusive_scan", work, (_blocks(n, 256),), (256,), arguments, (1,))
    return Case(*case, shared_bytes=2 * 4 * 256)


def _n_body(size: int, rng: np.random.Generator) -> Case:
    n = (2048, 4096, 1 << 16)[size]
    bodies = _floats(rng, n, 4)
    arguments = (bodies, np.zeros_like(bodies), np.int32(n), np.float32(0.01))
    # Terms of order n that cancel in part, summed in any order; rsqrt differs by a few units in the last place.
    case = ("n-body", "n_body", "n_body", f"{n:,} bodies", (_blocks(n, 128),), (128,), arguments, (1,))
    return Case(*case, relative=1e-3, absolute=2e-4 * n)


def _mandelbrot(size: int, rng: np.random.Generator) -> Case:
    width, height = ((512, 384), (1024, 768), (8192, 6144))[size]
    step = np.float32(3.0 / width)
    arguments = (np.zeros((height, width), np.int32), np.int32(width), np.int32(height))
    arguments += (np.float32(-2.2), np.float32(-1.125), step, np.int32(256))
    grid = (_blocks(width, 16), _blocks(height, 16))
    # Chaotic at the border of the set: products are fused or not, and the orbit goes another way.
    case = ("Mandelbrot", "mandelbrot", "mandelbrot", f"{width} x {height}, 256 steps", grid, (16, 16), arguments, (0,))
    return Case(*case, unequal_ratio=0.02)


def _black_scholes(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 18, 1 << 20, 1 << 24)[size]
    price, strike = _floats(rng, 2, n) * np.float32(25) + np.float32(5)
    years = _floats(rng, n) * np.float32(9.75) + np.float32(0.25)
    results = (np.zeros(n, np.float32), np.zeros(n, np.float32))
    arguments = (*results, price, strike, years, np.float32(0.02), np.float32(0.3), np.int32(n))
    blocks = (64, 256, 4096)[size]
    # Differences of prices up to 30, each of about 10 roundings.
    case = ("Black-Scholes", "black_scholes", "black_scholes", _millions(n), (blocks,), (256,), arguments, (0, 1))
    return Case(*case, absolute=5e-5)


def _stencil(size: int, rng: np.random.Generator) -> Case:
    width, height = ((1024, 1024), (2048, 2048), (16384, 8192))[size]
    picture = _floats(rng, height, width)
    arguments = (picture, np.zeros_like(picture), np.int32(width), np.int32(height))
    grid = (_blocks(width, 16), _blocks(height, 8))
    # Five numbers below 1, summed in another order.
    case = ("2-D stencil", "stencil_halo", "stencil_halo", f"{width} x {height}", grid, (16, 8), arguments, (1,))
    return Case(*case, absolute=4e-7)


def _gemm(size: int, rng: np.random.Generator) -> Case:
    n = (256, 512, 4096)[size]
    a, b = _floats(rng, 2, n, n)
    arguments = (a, b, np.zeros((n, n), np.float32), np.int32(n), np.int32(n), np.int32(n))
    grid = (_blocks(n, 16), _blocks(n, 16))
    # k eps sum |a||b| for each contender (Higham, section 3.5), and all terms are positive.
    case = ("tiled GEMM", "tiled_gemm", "tiled_gemm", f"{n} x {n} x {n}", grid, (16, 16), arguments, (2,))
    return Case(*case, relative=2 * n * 2.0**-24)


def _transpose(size: int, rng: np.random.Generator) -> Case:
    width, height = ((1024, 1024), (2048, 2048), (16384, 8192))[size]
    picture = _floats(rng, height, width)
    arguments = (picture, np.zeros((width, height), np.float32), np.int32(width), np.int32(height))
    grid = (_blocks(width, 16), _blocks(height, 16))
    work = f"{width} x {height}"
    return Case("transpose", "tiled_transpose", "tiled_transpose", work, grid, (16, 16), arguments, (1,))


def _histogram(size: int, rng: np.random.Generator) -> Case:
    n = (1 << 20, 1 << 22, 1 << 26)[size]
    arguments = (rng.integers(0, 256, n, dtype=np.uint8), np.zeros(256, np.uint32), np.int32(n))
    blocks = (16, 64, 2048)[size]
    work = f"{n / 1e6:.3g} M bytes"
    return Case("histogram", "shared_histogram", "shared_histogram", work, (blocks,), (256,), arguments, (1,))


def _softmax(size: int, rng: np.random.Generator) -> Case:
    rows, columns = ((256, 1024), (1024, 1024), (32768, 1024))[size]
    scores = _floats(rng, rows, columns) * np.float32(20)
    arguments = (scores, np.zeros_like(scores), np.int32(columns))
    # Sums of 1,024 positive terms in any order, two exponentials with an error of a unit or two each.
    case = (
        "softmax",
        "softmax_rows",
        "softmax_rows",
        f"{rows:,} rows of {columns:,}",
        (rows,),
        (128,),
        arguments,
        (1,),
    )
    return Case(*case, relative=2e-5, absolute=1e-9)


_BUILDERS: dict[str, Callable[[int, np.random.Generator], Case]] = {
    "vector_add": _vector_add,
    "saxpy": _saxpy,
    "reduction": _reduction,
    "scan": _scan,
    "n_body": _n_body,
    "mandelbrot": _mandelbrot,
    "black_scholes": _black_scholes,
    "stencil": _stencil,
    "gemm": _gemm,
    "transpose": _transpose,
    "histogram": _histogram,
    "softmax": _softmax,
}

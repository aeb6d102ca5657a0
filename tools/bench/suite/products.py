"""The matrix products of `./x bench matmul`: squares, and the shapes that ResNet-50 and BERT multiply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Product:
    """out[rows, columns] = a[rows, depth] @ b[depth, columns], row-major; a transposed operand is stored the other way round."""

    group: str
    rows: int
    columns: int
    depth: int
    transpose_a: bool = False
    transpose_b: bool = False
    # Whether a call makes its result, as `a @ b` does; else it writes to an array that is there.
    is_fresh: bool = False

    @property
    def name(self) -> str:
        """What the tables call it."""
        extents = (self.rows, self.columns, self.depth)
        text = str(self.rows) if len(set(extents)) == 1 else " x ".join(map(str, extents))
        layout = "".join(
            f", {name} transposed" for name, is_so in (("a", self.transpose_a), ("b", self.transpose_b)) if is_so
        )
        return f"{self.group} {text}{layout}"

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.rows * self.columns * self.depth

    def operands(self, dtype: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """The same numbers for every contender."""
        generator = np.random.default_rng(2)

        def matrix(rows: int, columns: int, is_transposed: bool) -> np.ndarray[Any, Any]:
            shape = (columns, rows) if is_transposed else (rows, columns)
            if dtype == "int8":
                values = generator.integers(-128, 128, shape, dtype=np.int8)
            else:
                values = (generator.random(shape, dtype=np.float32) - 0.5).astype(dtype)
            placed = empty(shape, dtype)
            placed[...] = values
            return placed.T if is_transposed else placed

        return matrix(self.rows, self.depth, self.transpose_a), matrix(self.depth, self.columns, self.transpose_b)


def empty(shape: tuple[int, int], dtype: Any) -> np.ndarray[Any, Any]:
    """An array that begins 16 bytes behind a cache line, as the large ones of malloc do, for both sides.

    Where small ones begin differs from process to process. In float64 on an Intel Xeon ours reaches 0.985 of NumPy at 64 x 64 where all
    begin with a line and 1.04 here, 1.42 and 1.29 at 128 x 128.
    """
    wanted = np.dtype(dtype)
    bytes_needed = shape[0] * shape[1] * wanted.itemsize
    room = np.empty(bytes_needed + CACHE_LINE_BYTES, np.uint8)
    first = (MALLOC_HEADER_BYTES - room.ctypes.data) % CACHE_LINE_BYTES
    return room[first : first + bytes_needed].view(wanted).reshape(shape)


def disagreement(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], out: np.ndarray[Any, Any], epsilon: float) -> str:
    """What is wrong with a product, or nothing: out @ v against a @ (b @ v), within the rounding of a product in that precision (Higham,
    Accuracy and Stability, section 3.5) for a random v (Freivalds 1979)."""
    probe = np.random.default_rng(3).random(b.shape[1])
    # Operands are converted row by row: in float64 the whole of them would take more memory than the benchmark.
    inner = np.array([row @ probe for row in b.astype(np.float64, copy=False)])
    bound = np.array([np.abs(row) @ probe for row in b.astype(np.float64, copy=False)])
    for index, row in enumerate(a):
        wide = row.astype(np.float64)
        difference = abs(out[index].astype(np.float64) @ probe - wide @ inner)
        if not difference <= (a.shape[1] + 2) * epsilon * (np.abs(wide) @ bound) + 1e-9:
            return f"row {index} of the product is wrong by {difference}"
    return ""


CACHE_LINE_BYTES, MALLOC_HEADER_BYTES = 64, 16

SQUARES = (64, 128, 256, 512, 1024, 2048, 4096)
# One image of 224 x 224: pixels of the result, output channels, input channels times the filter's area. One of each stage's kinds.
RESNET_50 = (
    (12544, 64, 147),
    (3136, 64, 64),
    (3136, 64, 576),
    (3136, 256, 64),
    (784, 128, 1152),
    (784, 512, 128),
    (196, 256, 2304),
    (196, 1024, 256),
    (49, 512, 4608),
    (49, 2048, 512),
    (1, 1000, 2048),
)
# BERT-base: projections, both layers of the feed-forward network, scores and context of one head; 128 and 384 tokens.
BERT = (
    (128, 768, 768),
    (128, 3072, 768),
    (128, 768, 3072),
    (128, 128, 64),
    (128, 64, 128),
    (384, 768, 768),
    (384, 3072, 768),
    (384, 384, 64),
)
THIN = (
    (1, 4096, 4096, False, False),
    (1, 4096, 4096, False, True),
    (4096, 1, 4096, False, False),
    (4096, 1, 4096, True, False),
    (4, 1024, 1024, False, False),
    (1024, 8, 1024, False, False),
    (4096, 16, 256, False, True),
    (1024, 1024, 1, False, False),
    (4, 4, 65536, False, False),
)
SMALL = (8, 16, 32, 64, 128)
NARROW = (256, 512, 1024, 2048)

GROUPS = {
    "square": [Product("square", size, size, size) for size in SQUARES],
    "ResNet-50": [Product("ResNet-50", *extents) for extents in RESNET_50],
    "BERT": [Product("BERT", *extents) for extents in BERT],
    "thin": [Product("thin", *extents) for extents in THIN],
    "whole call": [Product("whole call", size, size, size, is_fresh=True) for size in SMALL],
    "narrow": [Product("narrow", size, size, size) for size in NARROW],
}

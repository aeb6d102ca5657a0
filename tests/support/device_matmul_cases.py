"""Calls of `amdgpu.matrix_multiply` that tests share: vectors, stacks, dtypes that differ, everything that follows the sums."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from amdgpu._generated.dtypes import FORMATS, PRECISIONS
from amdgpu._generated.operations import ACTIVATIONS as TABLE
from device_ops_cases import values

DTYPES = {name: np.dtype(FORMATS[row.format].dtype) for name, row in PRECISIONS.items()}
ACTIVATIONS = tuple(name for name, row in TABLE.items() if row.follows_matmul and name != "identity")
# Of both operands and, beside them, of the result.
SHAPES = (
    ((7, 5), (5, 9)),
    ((5,), (5, 9)),
    ((7, 5), (5,)),
    ((5,), (5,)),
    ((3, 7, 5), (3, 5, 9)),
    ((3, 7, 5), (5, 9)),
    ((7, 5), (3, 5, 9)),
    ((2, 1, 7, 5), (3, 5, 9)),
    ((2, 3, 7, 5), (5,)),
    ((70, 130), (130, 66)),
    ((4, 70, 65), (65, 72)),
    ((3, 64, 64), (3, 64, 64)),
    ((4, 0), (0, 3)),
    ((0, 4), (4, 3)),
)


def calls(precision: str, shapes: tuple[Any, ...] = SHAPES) -> Iterator[tuple[tuple[Any, Any], dict[str, Any]]]:
    """Operands and options."""
    dtype = np.dtype(DTYPES[precision])
    sums = FORMATS[FORMATS[PRECISIONS[precision].format].sums].dtype
    for number, (first, second) in enumerate(shapes):
        a, b = values(first, dtype, number), values(second, dtype, number + 100)
        yield (a, b), {}
        columns, options = (second[-1], {}) if len(second) > 1 else (1, {})
        options = {"bias": values((columns,), sums, 5)}
        if precision == "int8":
            yield (a, b), {**options, "activation": "relu", "alpha": 2}
            continue
        yield (a, b), {**options, "activation": ACTIVATIONS[number % len(ACTIVATIONS)], "alpha": 0.5}
        residual = values((columns,) if len(second) > 1 else (), sums, 6)
        yield (a, b), {"residual": residual, "activation": "silu"}
    # Square matrices stored either way, stacks too.
    a, b = values((66, 66), dtype, 1), values((66, 66), dtype, 2)
    for transposes in ((True, False), (False, True), (True, True)):
        options = {"transpose_a": transposes[0], "transpose_b": transposes[1]}
        yield (a, b), options
        yield (np.stack([a, b]), a), options
    if precision == "int8":
        return
    for activation in ACTIVATIONS:
        yield (a, b), {"activation": activation, "bias": values((66,), dtype, 3)}
    # Operands of other dtypes are converted, and rounded where the precision says so.
    for other in ("float64", "float32", "float16", "int32", "bool"):
        yield (values((66, 64), other, 4), values((64, 68), "float32", 5)), {"activation": "tanh"}
        yield (values((9, 64), other, 4), values((64, 8), dtype, 5)), {}

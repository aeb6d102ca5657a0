"""Sums of matrices."""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = ["geam"]


def geam(
    a: Any,
    b: Any,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
) -> Any:
    """The sum alpha op(a) + beta op(b) of matrices, or of batches of them; op is the matrix itself or its transpose.

    Args:
        a: Floats or complex numbers of at least two axes.
        b: Values of the dtype of a, whose last two axes fit those of op(a); leading axes broadcast.
        alpha: Factor of a, rounded to its dtype; where it is 0, a is not read.
        beta: Factor of b, as alpha.
        transpose_a: True to swap the last two axes of a.
        transpose_b: True to swap the last two axes of b.
        out: Receives the result. It may be a or b itself where that is not transposed; else it must not overlap them.

    Returns:
        Values of the dtype of a.

    Raises:
        InvalidArgumentError: `out` overlaps a or b without being the same view.
        ShapeMismatchError: a or b is no matrix, or their shapes do not fit.
        UnsupportedDtypeError: Neither floats nor complex numbers, or values of two dtypes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.geam([[1.0, 2.0]], [[10.0], [20.0]], alpha=2.0, transpose_b=True).tolist()
        [[12.0, 24.0]]

    Source: `geam` of rocBLAS, whose matrices are column-major.
    """
    factors = {name: arguments.number("geam", name, value) for name, value in (("alpha", alpha), ("beta", beta))}
    is_transposed = {
        name: arguments.truth("geam", name, value)
        for name, value in (("transpose_a", transpose_a), ("transpose_b", transpose_b))
    }
    return placement.run(("geam",), (a, b, out), a, b, out, **factors, **is_transposed)

"""Linear algebra: the names of the array API standard's extension `linalg` that are there, and a clear answer for those that come later.

Source: Python array API standard 2025.12, "Linear Algebra Extension".
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING, Any

from amdgpu import later
from amdgpu.errors import InvalidArgumentError, NoImplementationError
from amdgpu.ops.linear_algebra import matmul, tensordot, vecdot
from amdgpu.ops.manipulation import matrix_transpose

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = [
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]

__getattr__ = later.answer(
    __name__,
    "cholesky cross det eig eigh eigvals eigvalsh inv matrix_power matrix_rank pinv qr slogdet solve svd svdvals".split(),  # noqa: SIM905
)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The elements of matrices whose column is `offset` behind their row, as a read-only view."""
    return x.diagonal(offset, -2, -1)


def trace(x: Array, /, *, offset: int = 0, dtype: npt.DTypeLike | None = None) -> Array:
    """The sum of a diagonal of matrices."""
    from amdgpu import ops

    result: Array = ops.sum(diagonal(x, offset=offset), -1, dtype=dtype)
    return result


def outer(a: Array, b: Array, /) -> Array:
    """The products of all pairs of two vectors."""
    from amdgpu import ops

    if a.ndim != 1 or b.ndim != 1:
        raise InvalidArgumentError(f"outer: arrays with {a.ndim} and {b.ndim} axes; two vectors are expected")
    result: Array = ops.multiply(a.reshape(-1, 1), b)
    return result


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002 (the standard's name)
) -> Array:
    """The norm of vectors along axes: (sum of |x|^ord)^(1/ord).

    For infinity and its negative that is the largest and the smallest |x|, for 0 how many are other than zero.
    """
    from amdgpu import ops

    size = ops.absolute(x)
    if ord == float("inf"):
        found: Any = ops.max(size, axis, keepdims=keepdims)
    elif ord == float("-inf"):
        found = ops.min(size, axis, keepdims=keepdims)
    elif ord == 0:
        found = ops.sum(ops.not_equal(x, 0), axis, keepdims=keepdims).astype(size.dtype)
    elif ord == 1:
        found = ops.sum(size, axis, keepdims=keepdims)
    elif ord == 2:
        found = ops.sqrt(ops.sum(ops.square(size), axis, keepdims=keepdims))
    else:
        found = ops.power(ops.sum(ops.power(size, ord), axis, keepdims=keepdims), 1 / ord)
    return found  # type: ignore[no-any-return]


def matrix_norm(
    x: Array,
    /,
    *,
    keepdims: bool = False,
    ord: float | str = "fro",  # noqa: A002 (the standard's name)
) -> Array:
    """The norm of matrices: "fro", or the largest (infinity: of rows, 1: of columns) or smallest (negative) sum of |x|.

    Raises:
        NoImplementationError: "nuc", 2 and -2, which need singular values.
    """
    from amdgpu import ops

    if ord == "fro":
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    if not isinstance(ord, int | float) or builtins.abs(ord) not in (1, float("inf")):
        raise NoImplementationError(f"matrix_norm: ord={ord!r} is not there yet; numpy.linalg.norm takes x.numpy()")
    along, across = (-2, -1) if builtins.abs(ord) == 1 else (-1, -2)
    sums = ops.sum(ops.absolute(x), along, keepdims=True)
    found = (ops.max if ord > 0 else ops.min)(sums, across, keepdims=True)
    result: Array = found if keepdims else found.squeeze((-2, -1))
    return result

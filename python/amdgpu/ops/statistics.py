"""Counting, differences and running sums in the words of the array API standard.

Functions and arguments are those of the Python array API standard 2025.12, "Statistical" and "Utility functions". Errors are those of
`amdgpu.ops.reduce` and `amdgpu.ops.scan`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = ["count_nonzero", "cumulative_prod", "cumulative_sum", "diff"]


def count_nonzero(x: Array, /, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Array:
    """How many values are other than zero, as int64."""
    from amdgpu.ops import not_equal
    from amdgpu.ops import sum as total

    result: Array = total(not_equal(x, 0), axis, keepdims=keepdims)
    return result


def _axis_of(operation: str, x: Array, axis: int | None) -> int:
    """The standard runs over all elements of arrays with one axis alone; `cumsum` and `cumprod` flatten, as in NumPy."""
    if axis is None and x.ndim != 1:
        raise InvalidArgumentError(f"{operation}: an array with {x.ndim} axes needs an axis")
    return 0 if axis is None else axis


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Running sums along an axis; with `include_initial` a zero comes first.

    Args:
        x: Numbers.
        axis: May be None for one axis.
        dtype: What is summed in and comes out; None sums integers in 64 bits.
        include_initial: Whether the sum of nothing comes first.
    """
    from amdgpu.ops import cumsum

    place = _axis_of("cumulative_sum", x, axis)
    result: Array = cumsum(x, place, dtype, include_initial=include_initial)
    return result


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Running products along an axis; with `include_initial` a one comes first. Arguments as for `cumulative_sum`."""
    from amdgpu.ops import cumprod

    place = _axis_of("cumulative_prod", x, axis)
    result: Array = cumprod(x, place, dtype, include_initial=include_initial)
    return result


def diff(x: Array, /, n: int = 1, axis: int = -1, prepend: Array | None = None, append: Array | None = None) -> Array:
    """The n-th differences of neighbours along an axis, of `prepend`, x and `append` in a row.

    Raises:
        InvalidArgumentError: `n` is negative.
    """
    from amdgpu import ops
    from amdgpu.ops.manipulation import concat

    if n < 0:
        raise InvalidArgumentError(f"diff: n is {n}; it is not negative")
    parts = [part for part in (prepend, x, append) if part is not None]
    result: Any = concat(parts, axis=axis) if len(parts) > 1 else x
    before = (slice(None),) * (axis % x.ndim)
    later, earlier = (*before, slice(1, None)), (*before, slice(0, -1))
    subtract = ops.not_equal if result.dtype.kind == "b" else ops.subtract
    for _ in range(n):
        result = subtract(result[later], result[earlier])
    found: Array = result if n else result.copy()
    return found

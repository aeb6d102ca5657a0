"""Reductions over axes.

What holds for all of them

- Inputs and results are as in `amdgpu.ops.elementwise`. `axis` is an integer, a tuple of them, or None for all axes; negative ones count
  from the end. With `keepdims` reduced axes stay with extent 1.
- Complex numbers have sums, products, means, variances (of the distances from the mean), `any` and `all`; nothing that needs an order.
- Sums are pairwise: the error grows with the logarithm of the number of values. float16 and bfloat16 are summed in float32 and rounded
  once.
- Work is cut at fixed places, so results do not depend on the number of threads; sums may differ in the last bits between instruction sets.
- Errors: InvalidArgumentError (no such axis, or one named twice; nothing to choose from; `out` overlaps x), InvalidTypeError (an axis that
  is no integer), UnsupportedDtypeError, ShapeMismatchError and ReadOnlyError for an unfit `out`.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import fast_call, placement

__all__ = [
    "all",
    "any",
    "argmax",
    "argmin",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def _in_dtype(x: Any, dtype: Any) -> Any:
    if dtype is None:
        return x
    from amdgpu.ops.data_types import astype

    return astype(x, dtype, copy=False)


def _run(
    operation: str, x: Any, axis: Any, out: Any, *, keepdims: Any, correction: Any = 0.0, dtype: Any = None
) -> Any:
    axes = None if axis is None else arguments.integers(operation, "axis", axis)
    keepdims = arguments.truth(operation, "keepdims", keepdims)
    correction = arguments.number(operation, "correction", correction)
    compute = placement.implementation("reduce", x, out, said=operation)
    made = compute(operation, x, axes, out, keepdims=keepdims, correction=correction)
    # Integers are joined in 64 bits, of which the low ones are those of a narrower sum.
    return made if dtype is None or out is not None else _in_dtype(made, dtype)


@fast_call.reduce
def sum(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The sum; of truth values and integers in int64 (without a sign in uint64), wrapping.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        dtype: What is computed in and comes out; None for the dtype that is said above.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.sum([[1.0, 2.0], [3.0, 4.0]], 0).tolist()
        [4.0, 6.0]
    """
    return _run("sum", _in_dtype(x, dtype), axis, out, keepdims=keepdims, dtype=dtype)


@fast_call.reduce
def prod(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    dtype: Any = None,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The product; of truth values and integers in int64 (without a sign in uint64), wrapping.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        dtype: What is computed in and comes out; None for the dtype that is said above.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("prod", _in_dtype(x, dtype), axis, out, keepdims=keepdims, dtype=dtype)


@fast_call.reduce
def mean(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The arithmetic mean; of integers in float64, NaN of nothing.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("mean", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def max(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The largest value; NaN when there is one.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("max", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def min(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The smallest value; NaN when there is one.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("min", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def any(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Whether any value is other than zero.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("any", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def all(x: Any, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """Whether every value is other than zero.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("all", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def var(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The variance: the mean of the squared distances from the mean, in one pass (on GPUs two of float64).

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        correction: Taken off the number of values that the sum of squares is divided by.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("var", x, axis, out, keepdims=keepdims, correction=correction)


@fast_call.reduce
def std(
    x: Any,
    axis: int | tuple[int, ...] | None = None,
    *,
    correction: float = 0.0,
    keepdims: bool = False,
    out: Any = None,
) -> Any:
    """The standard deviation, the root of the variance.

    Args:
        x: Values.
        axis: Axes to reduce; None for all.
        correction: Taken off the number of values that the sum of squares is divided by.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result.
    """
    return _run("std", x, axis, out, keepdims=keepdims, correction=correction)


@fast_call.reduce
def argmax(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The first place of the largest value; the first NaN counts as the largest.

    Args:
        x: Values.
        axis: Axis to search; None for all values in row-major order.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result, int64.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.argmax([[1.0, 3.0], [5.0, 4.0]], 1).tolist()
        [1, 0]
    """
    return _run("argmax", x, axis, out, keepdims=keepdims)


@fast_call.reduce
def argmin(x: Any, axis: int | None = None, *, keepdims: bool = False, out: Any = None) -> Any:
    """The first place of the smallest value; the first NaN counts as the smallest.

    Args:
        x: Values.
        axis: Axis to search; None for all values in row-major order.
        keepdims: Keep reduced axes with extent 1.
        out: Receives the result, int64.
    """
    return _run("argmin", x, axis, out, keepdims=keepdims)

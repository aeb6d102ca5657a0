"""Functions that NumPy has beside the array API standard, made of those.

Arguments and results are those of NumPy's functions of these names; arrays without a device go where the others are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import InvalidArgumentError, ShapeMismatchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from amdgpu._native import Array

__all__ = [
    "allclose",
    "array_equal",
    "atleast_1d",
    "atleast_2d",
    "average",
    "column_stack",
    "copy",
    "diagonal",
    "dot",
    "dstack",
    "flatnonzero",
    "fliplr",
    "flipud",
    "hstack",
    "identity",
    "inner",
    "isclose",
    "nan_to_num",
    "outer",
    "ptp",
    "trace",
    "transpose",
    "unique",
    "vstack",
]


def _arrays(operation: str, *values: Any) -> list[Array]:
    from amdgpu.ops.creation import as_arrays

    return as_arrays(operation, values)


def transpose(x: Any, /, axes: Sequence[int] | None = None) -> Array:
    """The view with axes in another order; in the opposite one where none is given."""
    (array,) = _arrays("transpose", x)
    return array.T if axes is None and array.ndim == 2 else array.transpose(*(axes or range(array.ndim)[::-1]))


def copy(x: Any, /) -> Array:
    """A row-major copy."""
    return _arrays("copy", x)[0].copy()


def identity(n: int, dtype: npt.DTypeLike | None = None, *, device: Any = None) -> Array:
    """A square matrix with ones on its diagonal."""
    from amdgpu.ops.creation import eye

    return eye(n, dtype="float64" if dtype is None else dtype, device=device)


def atleast_1d(x: Any, /) -> Array:
    """The array, with one axis where it has none."""
    (array,) = _arrays("atleast_1d", x)
    return array if array.ndim else array.reshape(1)


def atleast_2d(x: Any, /) -> Array:
    """The array with two axes at least; a line becomes a row."""
    (array,) = _arrays("atleast_2d", x)
    return array if array.ndim > 1 else array.reshape(1, -1)


def hstack(arrays: Sequence[Any], /) -> Array:
    """Arrays one after the other along the second axis; lines along their only one."""
    from amdgpu.ops.manipulation import concat

    parts = [atleast_1d(one) for one in _arrays("hstack", *arrays)]
    return concat(parts, axis=0 if parts and parts[0].ndim == 1 else 1)


def vstack(arrays: Sequence[Any], /) -> Array:
    """Arrays one after the other along the first axis; lines count as rows."""
    from amdgpu.ops.manipulation import concat

    return concat([atleast_2d(one) for one in _arrays("vstack", *arrays)], axis=0)


def dstack(arrays: Sequence[Any], /) -> Array:
    """Arrays one after the other along the third axis, which lines and matrices get."""
    from amdgpu.ops.manipulation import concat

    flat = [atleast_2d(one) for one in _arrays("dstack", *arrays)]
    return concat([one if one.ndim > 2 else one.reshape((*one.shape, 1)) for one in flat], axis=2)


def column_stack(arrays: Sequence[Any], /) -> Array:
    """Arrays side by side as the columns of a matrix; lines are single columns."""
    from amdgpu.ops.manipulation import concat

    given = _arrays("column_stack", *arrays)
    return concat([one if one.ndim > 1 else one.reshape(-1, 1) for one in given], axis=1)


def flipud(x: Any, /) -> Array:
    """The view with the first axis in opposite order."""
    return _arrays("flipud", x)[0].flip(0)


def fliplr(x: Any, /) -> Array:
    """The view with the second axis in opposite order."""
    return _arrays("fliplr", x)[0].flip(1)


def diagonal(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The read-only view of the elements whose indices along two axes differ by `offset`, as its last axis."""
    return _arrays("diagonal", x)[0].diagonal(offset, axis1, axis2)


def trace(x: Any, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: npt.DTypeLike | None = None) -> Array:
    """The sum of a diagonal."""
    from amdgpu import ops

    result: Array = ops.sum(diagonal(x, offset, axis1, axis2), -1, dtype=dtype)
    return result


def outer(a: Any, b: Any, /) -> Array:
    """The products of all pairs of elements; operands are flattened."""
    from amdgpu import ops

    first, second = _arrays("outer", a, b)
    result: Array = ops.multiply(first.reshape(-1, 1), second.reshape(-1))
    return result


def dot(a: Any, b: Any, /) -> Array:
    """Sums of products over the last axis of a and the last but one of b; a number multiplies."""
    from amdgpu import ops
    from amdgpu.ops.linear_algebra import matmul, tensordot

    first, second = _arrays("dot", a, b)
    if first.ndim == 0 or second.ndim == 0:
        product: Array = ops.multiply(first, second)
        return product
    if second.ndim <= 2:
        return matmul(first, second)
    return tensordot(first, second, axes=([first.ndim - 1], [second.ndim - 2]))


def inner(a: Any, b: Any, /) -> Array:
    """Sums of products over the last axes of both; a number multiplies."""
    from amdgpu import ops
    from amdgpu.ops.linear_algebra import tensordot

    first, second = _arrays("inner", a, b)
    if first.ndim == 0 or second.ndim == 0:
        product: Array = ops.multiply(first, second)
        return product
    return tensordot(first, second, axes=([first.ndim - 1], [second.ndim - 1]))


def flatnonzero(x: Any, /) -> Array:
    """The places of elements other than zero in the flattened array."""
    from amdgpu.ops.indexing import nonzero

    (places,) = nonzero(_arrays("flatnonzero", x)[0].reshape(-1))
    return places  # type: ignore[no-any-return]


def isclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Array:
    """Whether |a - b| <= atol + rtol |b|, element by element; infinities are close to themselves."""
    from amdgpu import ops

    first, second = _arrays("isclose", a, b)
    distance = ops.absolute(ops.subtract(first, second))
    is_near = ops.less_equal(distance, ops.add(ops.multiply(ops.absolute(second), rtol), atol))
    found = ops.logical_or(ops.logical_and(is_near, ops.isfinite(second)), ops.equal(first, second))
    if equal_nan:
        found = ops.logical_or(found, ops.logical_and(ops.isnan(first), ops.isnan(second)))
    return found  # type: ignore[no-any-return]


def allclose(a: Any, b: Any, /, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` says; the host waits for the answer."""
    from amdgpu import ops

    return bool(ops.all(isclose(a, b, rtol, atol, equal_nan)).item())


def array_equal(a: Any, b: Any, /, equal_nan: bool = False) -> bool:
    """Whether shapes and all elements are the same; the host waits for the answer."""
    from amdgpu import ops

    first, second = _arrays("array_equal", a, b)
    if first.shape != second.shape:
        return False
    same = ops.equal(first, second)
    if equal_nan:
        same = ops.logical_or(same, ops.logical_and(ops.isnan(first), ops.isnan(second)))
    return bool(ops.all(same).item())


def nan_to_num(
    x: Any, /, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """Numbers in the place of NaN and infinities, which become the largest and smallest of the dtype where no other is given.

    Without `copy` the array itself is written.
    """
    from amdgpu import ops
    from amdgpu.ops.data_types import finfo

    (array,) = _arrays("nan_to_num", x)
    if array.dtype.kind != "f":
        return array.copy() if copy else array
    limits = finfo(array.dtype)
    found = ops.where(ops.isnan(array), nan, array)
    found = ops.where(ops.equal(array, float("inf")), limits.max if posinf is None else posinf, found)
    lowest = limits.min if neginf is None else neginf
    found = ops.where(ops.equal(array, -float("inf")), lowest, found)
    if copy:
        return found  # type: ignore[no-any-return]
    array[...] = found
    return array


def ptp(x: Any, /, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Array:
    """The distance of the largest from the smallest value."""
    from amdgpu import ops

    (array,) = _arrays("ptp", x)
    largest, smallest = ops.max(array, axis, keepdims=keepdims), ops.min(array, axis, keepdims=keepdims)
    return ops.subtract(largest, smallest)  # type: ignore[no-any-return]


def average(x: Any, /, axis: int | None = None, weights: Any = None) -> Array:
    """The mean, in which each value counts as much as its weight.

    Args:
        x: Values.
        axis: Along which they are averaged; None for all.
        weights: In the shape of x, or one for each place along the axis.

    Raises:
        InvalidArgumentError: The weights add up to zero.
        ShapeMismatchError: Weights of another shape.
    """
    from amdgpu import ops

    if weights is None:
        return ops.mean(_arrays("average", x)[0], axis)  # type: ignore[no-any-return]
    array, given = _arrays("average", x, weights)
    if given.shape != array.shape:
        if axis is None or given.shape != (array.shape[axis],):
            raise ShapeMismatchError(f"average: weights have shape {given.shape}, and x {array.shape}; axis is {axis}")
        given = given.reshape(tuple(-1 if place == axis % array.ndim else 1 for place in range(array.ndim)))
    total = ops.sum(ops.multiply(ops.add(array, 0.0 if array.dtype.kind in "biu" else 0), given), axis)
    weight = ops.sum(given.broadcast_to(*array.shape), axis)
    if bool(ops.any(ops.equal(weight, 0)).item()):
        raise InvalidArgumentError("average: the weights add up to zero")
    return ops.divide(total, weight)  # type: ignore[no-any-return]


def unique(x: Any, /, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """The different values in ascending order, and what is asked for besides, in a tuple.

    Args:
        x: Values of any shape. NaN is one value, as NumPy has it; `unique_values` counts each.
        return_index: Where each occurs first, in the flattened array.
        return_inverse: Which of them each element of x is.
        return_counts: How often each occurs.
    """
    from amdgpu.ops.sets import unique_all

    (array,) = _arrays("unique", x)
    values, *rest = _with_one_nan(*unique_all(array))
    wanted = (return_index, return_inverse, return_counts)
    asked = [part for part, is_asked in zip(rest, wanted, strict=True) if is_asked]
    return (values, *asked) if asked else values


def _with_one_nan(values: Array, places: Array, inverse: Array, counts: Array) -> tuple[Array, ...]:
    """NaN values, which stand last, joined to one."""
    from amdgpu import ops

    several = int(ops.sum(ops.isnan(values)).item()) if values.dtype.kind == "f" else 0
    if several < 2:
        return values, places, inverse, counts
    first = values.shape[0] - several
    counts = counts[: first + 1].copy()
    counts[first] = several
    return values[: first + 1], places[: first + 1], ops.minimum(inverse, first), counts

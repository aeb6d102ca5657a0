"""Running sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.ops import placement
from amdgpu.ops.data_types import astype

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["cumprod", "cumsum"]

# The sum and the product of nothing.
_NEUTRAL = {"cumsum": 0, "cumprod": 1}


def cumsum(
    x: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    *,
    include_initial: bool = False,
    out: Any = None,
) -> Any:
    """Running sums along an axis, added in order.

    Args:
        x: Values, complex ones for sums alone; integers are summed in int64 (without a sign in uint64) and wrap, float16 and bfloat16
            in float32.
        axis: Axis to run along; negative counts from the end. None runs over all elements in row-major order, and the result has one axis.
        dtype: What the values are converted to before they are summed, and the result has; None leaves floats as they are.
        include_initial: Whether the sum of nothing, 0, comes first: the axis is one longer then.
        out: Receives the result; may be x.

    Returns:
        Values of the shape of x, but for what `axis` and `include_initial` say.

    Raises:
        InvalidArgumentError: No such axis; `out` overlaps x.
        ShapeMismatchError: `out` has another shape.
        UnsupportedDtypeError: `out` has another dtype, or `dtype` is not known.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cumsum([[1, 2], [3, 4]]).tolist()
        [1, 3, 6, 10]
        >>> amdgpu.ops.cumsum([[1, 2], [3, 4]], 1, include_initial=True).tolist()
        [[0, 1, 3], [0, 3, 7]]
    """
    return _run("cumsum", x, axis, dtype, include_initial=include_initial, out=out)


def cumprod(
    x: Any,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    *,
    include_initial: bool = False,
    out: Any = None,
) -> Any:
    """Running products along an axis; arguments and errors as for `cumsum`, but that the product of nothing is 1.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cumprod([1, 2, 3, 4], dtype="float32").tolist()
        [1.0, 2.0, 6.0, 24.0]
    """
    return _run("cumprod", x, axis, dtype, include_initial=include_initial, out=out)


def _run(operation: str, x: Any, axis: Any, dtype: Any, *, include_initial: bool, out: Any) -> Any:
    values = x
    if axis is None:
        values = _flat(placement.held(operation, "x", x))
    place = 0 if axis is None else arguments.integer(operation, "axis", axis)
    if dtype is None and not include_initial:
        return _scan(operation, values, place, out)
    result = _scan(operation, values if dtype is None else astype(values, dtype, copy=False), place, None)
    if dtype is not None:
        result = astype(result, dtype, copy=False)
    if include_initial:
        result = _with_first(result, place, _NEUTRAL[operation])
    return result if out is None else astype(result, result.dtype, out=out)


def _flat(values: Any) -> Any:
    """All elements along one axis: a view where memory allows it."""
    if len(values.shape) == 1:
        return values
    if not isinstance(values, _native.Array) and not values.flags.c_contiguous:
        values = placement.elementwise("identity", (values,), None)
    return values.reshape(-1)


def _scan(operation: str, x: Any, place: int, out: Any) -> Any:
    return placement.run(("scan", operation, place), (x, out), operation, x, place, out)


def _with_first(result: Any, place: int, first: int) -> Any:
    """The result behind a slice of the value of nothing, along the axis."""
    from amdgpu.array import empty

    shape = list(result.shape)
    shape[place] += 1
    if isinstance(result, _native.Array):
        made: Any = empty(shape, result.dtype, device=result.device)
    else:
        import numpy as np

        made = np.empty(shape, result.dtype)
    before = (slice(None),) * (place % len(shape))
    head, tail = (*before, slice(0, 1)), (*before, slice(1, None))
    made[head] = first
    made[tail] = result
    return made

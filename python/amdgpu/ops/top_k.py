"""The best values of each line."""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = ["top_k"]


def top_k(x: Any, k: int, axis: int = -1, *, largest: bool = True) -> tuple[Any, Any]:
    """The k largest or smallest values along an axis, best first, and their places.

    Of equal values the one that stands first is better; NaN is larger than any number.

    Args:
        x: Values, at least one axis.
        k: How many; 0 to the extent of the axis.
        axis: Axis to search; negative counts from the end.
        largest: False for the smallest values.

    Returns:
        Values of the dtype of x and int64 places, both of the shape of x with extent k along the axis.

    Raises:
        InvalidArgumentError: No such axis; k is negative or larger than its extent.
        InvalidTypeError: k or axis is no integer.
        UnsupportedDtypeError: x does not hold real numbers.

    Example:
        >>> import amdgpu
        >>> values, places = amdgpu.ops.top_k([3.0, 9.0, 5.0], 2)
        >>> values.tolist(), places.tolist()
        ([9.0, 5.0], [1, 2])
    """
    k, axis = arguments.integer("top_k", "k", k), arguments.integer("top_k", "axis", axis)
    is_largest = arguments.truth("top_k", "largest", largest)
    best: tuple[Any, Any] = placement.implementation("top_k", x)(x, k, axis, largest=is_largest)
    return best

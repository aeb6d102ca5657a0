"""Values in order."""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement
from amdgpu.ops.data_types import astype, result_type
from amdgpu.ops.indexing import take

__all__ = ["argsort", "searchsorted", "sort"]


def sort(x: Any, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The values of each line in order, as a new array.

    Equal values stay in order, whether `stable` asks for it or not; -0.0 equals 0.0; NaN comes last in both directions.

    Args:
        x: Real values, integers or truth values of at least one axis.
        axis: Axis to sort along; negative counts from the end.
        descending: True for the largest values first.
        stable: Accepted for the array API standard; every order is a stable one.

    Returns:
        Values of the shape and dtype of x.

    Raises:
        InvalidArgumentError: No such axis.
        UnsupportedDtypeError: x does not hold real numbers.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.sort([3.0, 1.0, 2.0]).tolist()
        [1.0, 2.0, 3.0]
    """
    return _run("sort", x, axis, descending, stable)


def argsort(x: Any, axis: int = -1, *, descending: bool = False, stable: bool = True) -> Any:
    """The places that the values of each sorted line come from; arguments and errors as for `sort`.

    Returns:
        int64 places of the shape of x: `take_along_axis(x, argsort(x))` is `sort(x)`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.argsort([3.0, 1.0, 2.0]).tolist()
        [1, 2, 0]
    """
    return _run("argsort", x, axis, descending, stable)


def searchsorted(x: Any, values: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where values belong in a line of values in ascending order.

    Args:
        x: Values of one axis, in the order that `sort` gives them.
        values: Values of any shape; where their dtype is another one, both are promoted.
        side: "left" for the place before equal values, "right" for the one behind them.
        sorter: Places that bring x into ascending order, as `argsort` gives them; None where x is in order.

    Returns:
        int64 places of the shape of the values.

    Raises:
        InvalidArgumentError: `side` is neither.
        ShapeMismatchError: x has another number of axes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.searchsorted([1.0, 2.0, 2.0, 3.0], [2.0, 9.0]).tolist()
        [1, 4]
    """
    is_right = arguments.choice("searchsorted", "side", side, ("left", "right")) == "right"
    x, values = placement.held("searchsorted", "x", x), placement.held("searchsorted", "values", values)
    if sorter is not None:
        x = take(x, sorter, axis=0)
    if x.dtype != values.dtype:
        both = result_type(x, values)
        x, values = astype(x, both, copy=False), astype(values, both, copy=False)
    return placement.run(("search_sorted", "searchsorted"), (x, values), x, values, right=is_right)


def _run(operation: str, x: Any, axis: Any, descending: Any, stable: Any) -> Any:
    place = arguments.integer(operation, "axis", axis)
    is_descending = arguments.truth(operation, "descending", descending)
    arguments.truth(operation, "stable", stable)
    keywords = {"descending": is_descending, "places": operation == "argsort"}
    return placement.run(("sort", operation), (x,), x, place, **keywords)

"""Every element joined to those before it along an axis, by any of the operations that have no order."""

from __future__ import annotations

from typing import Any, NamedTuple

from amdgpu import arguments
from amdgpu.ops import placement
from amdgpu.ops.data_types import astype

__all__ = ["CumulativeBest", "accumulate", "cummax", "cummin"]

# What `accumulate` is asked for -> what the core calls it.
_SCANS = {
    "sum": "cumsum",
    "prod": "cumprod",
    "max": "cummax",
    "min": "cummin",
    "any": "cumulative_any",
    "all": "cumulative_all",
}


class CumulativeBest(NamedTuple):
    """What `cummax` and `cummin` return."""

    values: Any
    indices: Any


def accumulate(
    x: Any, operation: str, axis: int = -1, *, exclusive: bool = False, reverse: bool = False, out: Any = None
) -> Any:
    """Every element joined to those before it along an axis.

    Args:
        x: Values of at least one axis.
        operation: "sum" or "prod", of integers in 64 bits, which wrap; "max" or "min", NaN winning over any number;
            "any" or "all" of values that are not zero.
        axis: Axis to run along; negative counts from the end.
        exclusive: True where an element takes no part in its own result: the first is what joins to every element without a change.
        reverse: True to run from the last element to the first.
        out: Receives the result; may be x, unless the scan is exclusive.

    Returns:
        Values of the shape of x.

    Raises:
        InvalidArgumentError: No such axis or operation; `out` overlaps x.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.accumulate([3, 1, 2], "max", reverse=True).tolist()
        [3, 2, 2]
        >>> amdgpu.ops.accumulate([3, 1, 2], "sum", exclusive=True).tolist()
        [0, 3, 4]

    Source: Blelloch 1990, "Prefix sums and their applications".
    """
    known = _SCANS[arguments.choice("accumulate", "operation", operation, tuple(_SCANS))]
    place = arguments.integer("accumulate", "axis", axis)
    is_exclusive = arguments.truth("accumulate", "exclusive", exclusive)
    is_reversed = arguments.truth("accumulate", "reverse", reverse)
    if operation in ("any", "all"):
        x = astype(placement.held("accumulate", "x", x), "bool", copy=False)
    options = ("scan", known, place, is_exclusive, is_reversed)
    return placement.run(options, (x, out), known, x, place, out, exclusive=is_exclusive, reverse=is_reversed)


def cummax(x: Any, axis: int = -1) -> CumulativeBest:
    """The largest value so far along an axis, and where it stands, as PyTorch's `cummax`.

    Args:
        x: Values of at least one axis; NaN is larger than any number, and stays.
        axis: Axis to run along; negative counts from the end.

    Returns:
        `values` of shape and dtype of x, and int64 `indices`: of equal values the last one so far.

    Raises:
        InvalidArgumentError: No such axis.

    Example:
        >>> import amdgpu
        >>> found = amdgpu.ops.cummax([1.0, 3.0, 2.0, 3.0])
        >>> found.values.tolist(), found.indices.tolist()
        ([1.0, 3.0, 3.0, 3.0], [0, 1, 1, 3])
    """
    return _best("cummax", x, axis)


def cummin(x: Any, axis: int = -1) -> CumulativeBest:
    """The smallest value so far along an axis, NaN winning over any number, and where it stands; arguments and errors as for `cummax`."""
    return _best("cummin", x, axis)


def _best(operation: str, x: Any, axis: Any) -> CumulativeBest:
    place = arguments.integer(operation, "axis", axis)
    return CumulativeBest(*placement.run(("cumulative_best", operation, place), (x,), operation, x, place))

"""Running sums and products."""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = ["cumprod", "cumsum"]


def cumsum(x: Any, axis: int = -1, *, out: Any = None) -> Any:
    """Running sums along an axis, added in order.

    Args:
        x: Values, at least one axis, complex ones for sums alone; integers are summed in int64 (without a sign in uint64) and wrap,
            float16 and bfloat16 in float32.
        axis: Axis to run along; negative counts from the end.
        out: Receives the result; may be x.

    Returns:
        Values of the shape of x.

    Raises:
        InvalidArgumentError: No such axis; `out` overlaps x.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cumsum([1, 2, 3]).tolist()
        [1, 3, 6]
    """
    return _run("cumsum", x, axis, out)


def cumprod(x: Any, axis: int = -1, *, out: Any = None) -> Any:
    """Running products along an axis; arguments and errors as for `cumsum`."""
    return _run("cumprod", x, axis, out)


def _run(operation: str, x: Any, axis: Any, out: Any) -> Any:
    place = arguments.integer(operation, "axis", axis)
    return placement.run(("scan", operation, place), (x, out), operation, x, place, out)

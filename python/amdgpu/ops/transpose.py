"""Axes in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.ops import fast_call, placement

__all__ = ["transpose"]


@fast_call.transpose
def transpose(x: Any, axes: Sequence[int] | None = None, *, out: Any = None) -> Any:
    """A row-major copy with the axes in another order.

    Args:
        x: Values of any strides and dtype of `amdgpu.ops.elementwise`.
        axes: Axis i of the result is axis `axes[i]` of x; None reverses them. Negative ones count from the end.
        out: Receives the copy; must not overlap x.

    Returns:
        The copy.

    Raises:
        InvalidArgumentError: `axes` does not name every axis once, or `out` overlaps x.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.transpose([[1, 2], [3, 4]]).tolist()
        [[1, 3], [2, 4]]
    """
    order = None if axes is None else arguments.integers("transpose", "axes", axes)
    return placement.run(("transpose", order), (x, out), x, order, out)

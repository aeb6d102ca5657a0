"""Rows of a table by index."""

from __future__ import annotations

from typing import Any

from amdgpu.ops import placement

__all__ = ["embedding"]


def embedding(indices: Any, table: Any, *, out: Any = None) -> Any:
    """Gathers rows of a table, in the argument order of PyTorch's `embedding`.

    Args:
        indices: int32 or int64 values of any shape, each a row of the table; negative ones are refused.
        table: Values of shape (rows, ...).
        out: Receives the result; must not overlap the inputs.

    Returns:
        Values of shape `indices.shape + table.shape[1:]`.

    Raises:
        InvalidArgumentError: An index is no row; nothing is written then.
        UnsupportedDtypeError: Indices of another dtype.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.embedding([2, 0], [[1.0], [2.0], [3.0]]).tolist()
        [[3.0], [1.0]]
    """
    return placement.implementation("embedding", table, indices, out)(table, indices, out)

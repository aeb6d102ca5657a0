"""Values joined row by row: segmented reductions, values added and reduced by index, rows by index, gradients of embeddings.

Each row joins its values in a fixed order, so that sums of floats have the same bits in every run, on a GPU as well.
float16 and bfloat16 are joined in float32, sums of float32 in float64, and rounded once; integers wrap. A GPU checks
the indices first and joins the values meanwhile: a call waits for the check alone, and refuses an index before anybody
can use the result.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError
from amdgpu.ops import placement
from amdgpu.ops.data_types import astype
from amdgpu.ops.indexing import take

__all__ = [
    "embedding_gradient",
    "index_add",
    "index_select",
    "scatter_reduce",
    "segment_max",
    "segment_mean",
    "segment_min",
    "segment_prod",
    "segment_sum",
]

# Names of PyTorch's for joins.
_JOINS = ("sum", "prod", "mean", "amax", "amin")


def segment_sum(
    x: Any, segment_ids: Any = None, num_segments: int | None = None, *, offsets: Any = None, axis: int = 0
) -> Any:
    """The sum of the rows of each segment.

    Args:
        x: Values of at least one axis.
        segment_ids: int32 or int64 of one axis: the segment of each row of x, in any order.
        num_segments: How many segments there are; None for one more than the largest of the ids, which are read for that.
        offsets: Instead of ids, where each segment begins and the last one ends: int32 or int64 that do not fall.
        axis: Axis of x along which its rows lie; negative counts from the end.

    Returns:
        Values of the dtype of x and its shape with the number of segments in the place of the axis. A segment without
        rows gives 0 as a sum or mean, 1 as a product, and what every value is better than as the largest or smallest
        one: infinity, or the end of an integer's range.

    Raises:
        IndexOutOfRangeError: An id or offset is none.
        InvalidArgumentError: Both ids and offsets, or neither; no such axis.
        ShapeMismatchError: There are not as many ids as rows.
        UnsupportedDtypeError: Ids that are not int32 or int64; the mean of truth values.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.segment_sum([1.0, 2.0, 3.0], [1, 0, 1]).tolist()
        [2.0, 4.0]
        >>> amdgpu.ops.segment_sum([1.0, 2.0, 3.0], offsets=[0, 1, 1, 3]).tolist()
        [1.0, 0.0, 5.0]

    Source: `segment_sum` of JAX, `torch.segment_reduce`.
    """
    return _segments("segment_sum", "sum", x, segment_ids, num_segments, offsets=offsets, axis=axis)


def segment_prod(
    x: Any, segment_ids: Any = None, num_segments: int | None = None, *, offsets: Any = None, axis: int = 0
) -> Any:
    """The product of the rows of each segment; arguments and errors as for `segment_sum`."""
    return _segments("segment_prod", "prod", x, segment_ids, num_segments, offsets=offsets, axis=axis)


def segment_mean(
    x: Any, segment_ids: Any = None, num_segments: int | None = None, *, offsets: Any = None, axis: int = 0
) -> Any:
    """The mean of the rows of each segment, of integers rounded down; arguments and errors as for `segment_sum`."""
    return _segments("segment_mean", "mean", x, segment_ids, num_segments, offsets=offsets, axis=axis)


def segment_max(
    x: Any, segment_ids: Any = None, num_segments: int | None = None, *, offsets: Any = None, axis: int = 0
) -> Any:
    """The largest values of each segment, NaN winning over any number; arguments and errors as for `segment_sum`."""
    return _segments("segment_max", "amax", x, segment_ids, num_segments, offsets=offsets, axis=axis)


def segment_min(
    x: Any, segment_ids: Any = None, num_segments: int | None = None, *, offsets: Any = None, axis: int = 0
) -> Any:
    """The smallest values of each segment, NaN winning over any number; arguments and errors as for `segment_sum`."""
    return _segments("segment_min", "amin", x, segment_ids, num_segments, offsets=offsets, axis=axis)


def index_select(x: Any, axis: int, index: Any) -> Any:
    """Rows of an array by their index along an axis, in the argument order of PyTorch's `index_select`.

    Args:
        x: Values of at least one axis.
        axis: Axis that the indices are for; negative counts from the end.
        index: Integers of one axis; negative ones count from the end.

    Returns:
        Values of the shape of x with as many rows along the axis as there are indices.

    Raises:
        IndexOutOfRangeError: An index is none of the axis.
        ShapeMismatchError: The indices have another number of axes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.index_select([[1, 2], [3, 4]], 0, [1, 1]).tolist()
        [[3, 4], [3, 4]]
    """
    wanted = placement.held("index_select", "index", index)
    if wanted.ndim != 1:
        raise ShapeMismatchError(f"index_select: index has {wanted.ndim} axes; it has one (take accepts any number)")
    return take(x, wanted, axis=arguments.integer("index_select", "axis", axis))


def index_add(x: Any, axis: int, index: Any, source: Any, *, alpha: float = 1) -> Any:
    """A copy of an array with values added to the rows that indices name, in the argument order of PyTorch's `index_add`.

    Args:
        x: Values of at least one axis.
        axis: Axis that the indices are for; negative counts from the end.
        index: int32 or int64 of one axis; negative ones count from the end. Rows that occur twice receive both values.
        source: Values of the shape of x, with a row for each index; they are converted to the dtype of x.
        alpha: Factor of the values.

    Returns:
        Values of shape and dtype of x.

    Raises:
        IndexOutOfRangeError: An index is none of the axis.
        InvalidArgumentError: No such axis.
        ShapeMismatchError: The shapes do not fit.
        UnsupportedDtypeError: Indices that are not int32 or int64.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.index_add([1.0, 2.0, 3.0], 0, [2, 0, 2], [10.0, 20.0, 30.0]).tolist()
        [21.0, 2.0, 43.0]
    """
    values, given = _both("index_add", x, source)
    if alpha != 1:
        from amdgpu.ops.elementwise import multiply

        given = astype(multiply(given, alpha), values.dtype, copy=False)
    place = arguments.integer("index_add", "axis", axis)
    return placement.run(("index_add", "index_add"), (values, index, given), values, place, index, given)


def scatter_reduce(x: Any, axis: int, index: Any, src: Any, reduce: str, *, include_self: bool = True) -> Any:
    """A copy of an array whose elements along an axis join the values whose index names them, line by line.

    Args:
        x: Values of at least one axis.
        axis: Axis that the indices are for; negative counts from the end.
        index: int32 or int64 of as many axes as x, no longer than x but along the axis; negative ones count from the
            end.
        src: Values of the shape of the indices; they are converted to the dtype of x.
        reduce: "sum", "prod", "mean", "amax" or "amin"; means of integers are rounded down.
        include_self: False where what x holds takes no part, but in elements that no index names.

    Returns:
        Values of shape and dtype of x.

    Raises:
        IndexOutOfRangeError: An index is none of the axis.
        InvalidArgumentError: No such axis or reduction.
        ShapeMismatchError: The shapes do not fit.
        UnsupportedDtypeError: Indices that are not int32 or int64; the mean of truth values.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.scatter_reduce([[1.0, 2.0]], 1, [[0, 0, 1]], [[5.0, 7.0, 9.0]], "amax").tolist()
        [[7.0, 9.0]]

    Source: `torch.Tensor.scatter_reduce`.
    """
    values, given = _both("scatter_reduce", x, src)
    place = arguments.integer("scatter_reduce", "axis", axis)
    known = arguments.choice("scatter_reduce", "reduce", reduce, _JOINS)
    includes_self = arguments.truth("scatter_reduce", "include_self", include_self)
    options, arrays = ("scatter_reduce", "scatter_reduce"), (values, index, given)
    return placement.run(options, arrays, values, place, index, given, known, include_self=includes_self)


def embedding_gradient(
    gradient: Any, indices: Any, rows: int, padding_idx: int | None = None, scale_by_frequency: bool = False
) -> Any:
    """The gradient of `embedding` by its table: each row receives the gradients of the results that it was looked up for.

    Args:
        gradient: Gradient of the result, of shape `indices.shape + (...)`.
        indices: int32 or int64 values of any shape, each a row of the table; negative ones are refused.
        rows: Number of rows of the table.
        padding_idx: A row that receives nothing; negative counts from the end.
        scale_by_frequency: True to divide what a row receives by how often it was looked up.

    Returns:
        Values of the dtype of the gradient, of shape (rows, ...).

    Raises:
        IndexOutOfRangeError: An index is no row.
        InvalidArgumentError: A negative number of rows.
        ShapeMismatchError: The gradient does not begin with the shape of the indices.
        UnsupportedDtypeError: Indices of another dtype.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.embedding_gradient([[1.0], [2.0], [4.0]], [2, 0, 2], 3).tolist()
        [[2.0], [0.0], [5.0]]

    Source: `torch.nn.functional.embedding`.
    """
    name = "embedding_gradient"
    count = arguments.integer(name, "rows", rows)
    padding = None if padding_idx is None else arguments.integer(name, "padding_idx", padding_idx)
    is_scaled = arguments.truth(name, "scale_by_frequency", scale_by_frequency)
    compute = placement.implementation(name, gradient, indices)
    return compute(gradient, indices, count, padding, scale_by_frequency=is_scaled)


def _both(operation: str, x: Any, given: Any) -> tuple[Any, Any]:
    """x, and values in its dtype."""
    values, others = placement.held(operation, "x", x), placement.held(operation, "the values", given)
    return values, astype(others, values.dtype, copy=False)


def _segments(operation: str, reduce: str, x: Any, ids: Any, count: Any, *, offsets: Any, axis: Any) -> Any:
    place = arguments.integer(operation, "axis", axis)
    if (ids is None) == (offsets is None):
        raise InvalidArgumentError(f"{operation}: pass segment_ids or offsets, one of both")
    if ids is None:
        if count is not None:
            raise InvalidArgumentError(f"{operation}: offsets say how many segments there are; leave num_segments out")
        options, arrays = ("segment_reduce", operation), (x, offsets)
        return placement.run(options, arrays, reduce, x, offsets, None, place, offsets=True)
    segments = placement.held(operation, "segment_ids", ids)
    if count is None:
        count = _most(segments) + 1
    number = arguments.integer(operation, "num_segments", count)
    return placement.run(("segment_reduce", operation), (x, segments), reduce, x, segments, number, place)


def _most(segments: Any) -> int:
    """The largest id, -1 where there are none."""
    if 0 in segments.shape or segments.dtype.kind not in "iu":
        return -1
    largest = placement.run(("reduce", "max"), (segments,), "max", segments)
    return int(placement.values_of(largest))

"""Elements by index."""

from __future__ import annotations

from typing import Any

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, ShapeMismatchError
from amdgpu.ops import placement
from amdgpu.ops.data_types import astype

__all__ = ["argwhere", "masked_select", "nonzero", "put_along_axis", "take", "take_along_axis"]


def take(x: Any, indices: Any, axis: int | None = None) -> Any:
    """Elements of an array by their indices along an axis.

    Args:
        x: Values of any shape.
        indices: Integers of any shape; negative ones count from the end of the axis.
        axis: Axis that the indices are for; negative counts from the end. None takes elements of x in row-major order.

    Returns:
        Values of the shape of x with that of the indices in the place of the axis.

    Raises:
        IndexOutOfRangeError: An index is none of the axis. On a GPU the call waits for that to be known.
        InvalidArgumentError: No such axis.
        UnsupportedDtypeError: Indices that are no integers.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.take([[1, 2, 3], [4, 5, 6]], [2, 0], axis=1).tolist()
        [[3, 1], [6, 4]]
    """
    values, wanted = placement.held("take", "x", x), placement.held("take", "indices", indices)
    if axis is None:
        values = _in_a_line(values)
        place = 0
    else:
        place = arguments.axis("take", axis, values.ndim)
    strides = _strides(values)
    # Axes before the one that is indexed go through all their indices, those behind it are taken whole.
    lines = [_numbers(values.shape[before], place - before - 1 + wanted.ndim) for before in range(place)]
    offsets = _offsets(values, [*lines, wanted], values.shape[: place + 1], strides[: place + 1], range(place + 1))
    return _gather(values, offsets, values.shape[place + 1 :], strides[place + 1 :])


def take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    """Elements of each line of an array by indices of its own, as `argsort` and `argmax` give them.

    Args:
        x: Values of at least one axis.
        indices: Integers of as many axes, whose extents are those of x or 1 but for `axis`; negative ones count from the end.
        axis: Axis that the indices are for; negative counts from the end.

    Returns:
        Values of the shape of the indices, broadcast to that of x but for `axis`.

    Raises:
        IndexOutOfRangeError: An index is none of the axis. On a GPU the call waits for that to be known.
        InvalidArgumentError: No such axis.
        ShapeMismatchError: The shapes do not fit.
        UnsupportedDtypeError: Indices that are no integers.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.take_along_axis([[10, 30, 20]], [[0, 2, 1]], axis=1).tolist()
        [[10, 20, 30]]
    """
    values, wanted = placement.held("take_along_axis", "x", x), placement.held("take_along_axis", "indices", indices)
    return _gather(values, _along("take_along_axis", values, wanted, axis), (), ())


def put_along_axis(x: Any, indices: Any, values: Any, axis: int = -1, *, mode: str = "assign") -> None:
    """Writes to elements of each line of an array by indices of its own, in place.

    Args:
        x: The array that is written, of at least one axis.
        indices: Integers as for `take_along_axis`.
        values: Values that broadcast to the shape of the indices; they are converted to the dtype of x.
        axis: Axis that the indices are for; negative counts from the end.
        mode: What an element does with a value: "assign", "add", "multiply", "maximum" or "minimum". Of values for one element the last is
            assigned (on a GPU any of them); the others take in every one (floats on a GPU in no fixed order).

    Raises:
        IndexOutOfRangeError: An index is none of the axis; nothing is written then.
        InvalidArgumentError: No such axis or mode.
        InvalidTypeError: x is no array.
        ShapeMismatchError: The shapes do not fit.

    Example:
        >>> import amdgpu, numpy
        >>> x = numpy.zeros((1, 3))
        >>> amdgpu.ops.put_along_axis(x, [[2, 2]], [[5.0, 6.0]], axis=1, mode="add")
        >>> x.tolist()
        [[0.0, 0.0, 11.0]]
    """
    import numpy as np

    if not isinstance(x, (np.ndarray, _native.Array)):
        raise InvalidTypeError("put_along_axis: x must be an array to write to")
    wanted, given = (
        placement.held("put_along_axis", "indices", indices),
        placement.held("put_along_axis", "values", values),
    )
    offsets = _along("put_along_axis", x, wanted, axis)
    if given.dtype != x.dtype:
        given = astype(given, x.dtype)
    scatter = placement.implementation("scatter", x, offsets, given, said="put_along_axis")
    scatter(x, offsets, (), (), given, mode)


def masked_select(x: Any, mask: Any) -> Any:
    """The elements of an array where another one of its shape is not zero, in row-major order, as PyTorch's `masked_select`.

    Args:
        x: Values of any shape.
        mask: Truth values or numbers of that shape; NaN is not zero.

    Returns:
        Values of the dtype of x, of one axis. The call waits for the device, because their number decides the shape.

    Raises:
        ShapeMismatchError: The shapes differ.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.masked_select([[1, 2], [3, 4]], [[True, False], [False, True]]).tolist()
        [1, 4]
    """
    return placement.run(("masked_select", "masked_select"), (x, mask), x, mask)


def argwhere(x: Any) -> Any:
    """The indices of the elements that are not zero, a row for each, in row-major order.

    Args:
        x: Values of any shape; NaN is not zero.

    Returns:
        int64 of shape (elements that are not zero, axes of x). The call waits for the device, because their number decides the shape.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.argwhere([[0, 7], [8, 0]]).tolist()
        [[0, 1], [1, 0]]
    """
    return placement.run(("nonzero", "argwhere"), (x,), x)


def nonzero(x: Any) -> tuple[Any, ...]:
    """The indices of the elements that are not zero, an array for each axis, in row-major order.

    Args:
        x: Values of at least one axis; NaN is not zero.

    Returns:
        int64 arrays of one axis. The call waits for the device, because the number of elements decides their shape.

    Raises:
        InvalidArgumentError: x has no axes.

    Example:
        >>> import amdgpu
        >>> [places.tolist() for places in amdgpu.ops.nonzero([[0, 7], [8, 0]])]
        [[0, 1], [1, 0]]
    """
    import numpy as np

    values = placement.held("nonzero", "x", x)
    if values.ndim == 0:
        raise InvalidArgumentError("nonzero: x has no axes; give it one with reshape(1)")
    rows = placement.run(("nonzero", "nonzero"), (values,), values)
    count, rank = rows.shape
    if rank == 1:
        return (rows.reshape(count),)
    return tuple(_gather(rows, np.array([axis]), (count,), (rank,)).reshape(count) for axis in range(rank))


def _strides(values: Any) -> tuple[int, ...]:
    """In elements."""
    return tuple(stride // values.itemsize for stride in values.strides)


def _in_a_line(values: Any) -> Any:
    """The elements in row-major order along one axis."""
    import numpy as np

    if isinstance(values, np.ndarray):
        return values.reshape(-1)
    try:
        return values.reshape(values.size)
    except ValueError:
        return placement.run(("cast", "take"), (values,), values, np.dtype(values.dtype).name).reshape(values.size)


def _numbers(extent: int, axes_behind: int) -> Any:
    """0, 1, … along an axis with so many behind it."""
    import numpy as np

    return np.arange(extent, dtype=np.int32 if extent < 2**31 else np.int64).reshape(extent, *(1,) * axes_behind)


def _along(operation: str, values: Any, wanted: Any, axis: Any) -> Any:
    """Offsets of the elements of lines by indices of their own."""
    import numpy as np

    place = arguments.axis(operation, axis, values.ndim)
    if wanted.ndim != values.ndim:
        raise ShapeMismatchError(
            f"{operation}: x has {values.ndim} axes and the indices {wanted.ndim}; they must have as many"
        )
    for other, (extent, own) in enumerate(zip(values.shape, wanted.shape, strict=True)):
        if other != place and own not in (1, extent) and extent != 1:
            raise ShapeMismatchError(
                f"{operation}: x has shape {tuple(values.shape)} and the indices {tuple(wanted.shape)}, which differ along axis {other}"
            )
    rank = values.ndim
    lines = [wanted if own == place else _numbers(values.shape[own], rank - own - 1) for own in range(rank)]
    for own in range(rank):
        # One line of x serves all lines of the indices.
        if own != place and values.shape[own] == 1:
            lines[own] = np.zeros((1,) * rank, np.int32)
    return _offsets(values, lines, values.shape, _strides(values), range(rank))


def _offsets(values: Any, indices: list[Any], extents: Any, strides: Any, axes: Any) -> Any:
    function = placement.implementation("offsets", values, *indices)
    return function(tuple(indices), tuple(extents), tuple(strides), axes=tuple(axes))


def _gather(values: Any, offsets: Any, shape: Any, strides: Any) -> Any:
    return placement.implementation("gather", values, offsets)(values, offsets, tuple(shape), tuple(strides))

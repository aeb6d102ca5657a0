"""Arrays with other shapes, joined, taken apart and repeated.

What holds for all of them

- Functions that only rename places (`reshape`, `permute_dims`, `flip`, `squeeze`, `expand_dims`, `broadcast_to` …) give views of the same
  memory where strides can say the result; `concat`, `stack`, `roll`, `tile` and `repeat` give new arrays.
- Axes may be negative, counted from the end.
- Errors: IndexOutOfRangeError (no such axis), InvalidArgumentError (an axis named twice), ShapeMismatchError, WrongDeviceError (arrays of
  two devices).
- Functions and arguments are those of the Python array API standard 2025.12, "Manipulation functions", with NumPy's besides.
"""

from __future__ import annotations

import builtins
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.array import empty
from amdgpu.errors import IndexOutOfRangeError, InvalidArgumentError, InvalidTypeError, ShapeMismatchError

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "repeat",
    "reshape",
    "roll",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "unstack",
]


def _axis(operation: str, axis: Any, rank: int) -> int:
    return arguments.axis(operation, axis, rank, IndexOutOfRangeError)


def _along(axis: int, item: Any) -> tuple[Any, ...]:
    """The key for an index or slice of one axis, the axes before it whole."""
    return (slice(None),) * axis + (item,)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all of these broadcast to.

    Raises:
        ShapeMismatchError: There is none.

    Example:
        >>> import amdgpu
        >>> amdgpu.broadcast_shapes((2, 1), (3,))
        (2, 3)
    """
    given = [arguments.integers("broadcast_shapes", "shapes", shape) for shape in shapes]
    found = _native.broadcast_shapes(given)
    if found is None:
        raise ShapeMismatchError(f"shapes do not broadcast: {', '.join(map(str, given))}")
    return found


def broadcast_to(x: Array, /, shape: int | Sequence[int]) -> Array:
    """A read-only view of x repeated along new axes and axes of extent 1."""
    return x.broadcast_to(*arguments.integers("broadcast_to", "shape", shape))


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Read-only views of all arrays in the shape that they broadcast to."""
    shape = broadcast_shapes(*(one.shape for one in arrays))
    return tuple(one.broadcast_to(*shape) for one in arrays)


def reshape(x: Array, /, shape: int | Sequence[int], *, copy: bool | None = None) -> Array:
    """The elements of x in row-major order under another shape, one extent of which may be -1.

    Args:
        x: An array.
        shape: Extents; as many elements as x has.
        copy: True always copies, False never does and raises where it would have to.
    """
    return x.reshape(arguments.integers("reshape", "shape", shape), copy=copy)


def ravel(x: Array, /) -> Array:
    """The elements of x in row-major order along one axis."""
    return x.reshape(-1)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """The view with axes in another order: axis i of the result is axis `axes[i]` of x."""
    return x.transpose(*arguments.integers("permute_dims", "axes", axes)) if x.ndim else x.reshape(())


def matrix_transpose(x: Array, /) -> Array:
    """The view with the last two axes swapped."""
    return x.mT


def moveaxis(x: Array, source: int | Sequence[int], destination: int | Sequence[int], /) -> Array:
    """The view in which each axis of `source` stands at the place of `destination`; the others keep their order."""
    rank = x.ndim
    begin = [_axis("moveaxis", axis, rank) for axis in arguments.integers("moveaxis", "source", source)]
    end = [_axis("moveaxis", axis, rank) for axis in arguments.integers("moveaxis", "destination", destination)]
    if len(begin) != len(end) or len(set(begin)) != len(begin) or len(set(end)) != len(end):
        raise InvalidArgumentError(
            f"moveaxis: source {source} and destination {destination} are not as many different axes"
        )
    order = [axis for axis in range(rank) if axis not in begin]
    for place, axis in sorted(zip(end, begin, strict=True)):
        order.insert(place, axis)
    return x.transpose(*order) if rank else x


def swapaxes(x: Array, axis1: int, axis2: int, /) -> Array:
    """The view with two axes swapped."""
    order = list(range(x.ndim))
    a, b = _axis("swapaxes", axis1, x.ndim), _axis("swapaxes", axis2, x.ndim)
    order[a], order[b] = order[b], order[a]
    return x.transpose(*order)


def expand_dims(x: Array, /, axis: int | Sequence[int] = 0) -> Array:
    """The view with new axes of extent 1 at these places of the result."""
    return x.expand_dims(arguments.integers("expand_dims", "axis", axis))


def squeeze(x: Array, /, axis: int | Sequence[int] | None = None) -> Array:
    """The view without axes of extent 1: those named, or all.

    Raises:
        InvalidArgumentError: A named axis has another extent.
    """
    return x.squeeze(None if axis is None else arguments.integers("squeeze", "axis", axis))


def flip(x: Array, /, axis: int | Sequence[int] | None = None) -> Array:
    """The view with its elements in opposite order along these axes, or all."""
    return x.flip(None if axis is None else arguments.integers("flip", "axis", axis))


def _arrays(operation: str, arrays: Any) -> list[Array]:
    try:
        given = list(arrays)
    except TypeError:
        raise InvalidTypeError(f"{operation}: a sequence of arrays is expected") from None
    if not given:
        raise InvalidArgumentError(f"{operation}: at least one array is needed")
    for one in given:
        if not isinstance(one, _native.Array):
            raise InvalidTypeError(
                f"{operation}: {type(one).__name__} among the arrays; make it one with amdgpu.asarray"
            )
    return given


def concat(arrays: Sequence[Array], /, axis: int | None = 0) -> Array:
    """Arrays one after the other along an axis; None joins them flattened.

    Args:
        arrays: Arrays of one device whose shapes differ along `axis` alone; dtypes are promoted.
        axis: Where they are joined.

    Example:
        >>> import amdgpu
        >>> amdgpu.concat([amdgpu.asarray([1, 2]), amdgpu.asarray([3])]).tolist()
        [1, 2, 3]
    """
    from amdgpu.ops.data_types import result_type

    given = _arrays("concat", arrays)
    if axis is None:
        given, axis = [one.reshape(-1) for one in given], 0
    rank = given[0].ndim
    place = _axis("concat", axis, rank)
    rest = given[0].shape[:place], given[0].shape[place + 1 :]
    for one in given[1:]:
        if one.ndim != rank or (one.shape[:place], one.shape[place + 1 :]) != rest:
            raise ShapeMismatchError(
                f"concat: shapes {given[0].shape} and {one.shape} differ elsewhere than along axis {place}"
            )
    total = builtins.sum(one.shape[place] for one in given)
    made = empty((*rest[0], total, *rest[1]), result_type(*given), device=given[0].device)
    begin = 0
    for one in given:
        end = begin + one.shape[place]
        made[_along(place, slice(begin, end))] = one
        begin = end
    return made


def stack(arrays: Sequence[Array], /, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis."""
    given = _arrays("stack", arrays)
    for one in given[1:]:
        if one.shape != given[0].shape:
            raise ShapeMismatchError(f"stack: shapes {given[0].shape} and {one.shape} differ")
    place = _axis("stack", axis, given[0].ndim + 1)
    return concat([one.expand_dims((place,)) for one in given], axis=place)


def unstack(x: Array, /, axis: int = 0) -> tuple[Array, ...]:
    """Views of x, one for each place along an axis, without that axis."""
    place = _axis("unstack", axis, x.ndim)
    return tuple(x[_along(place, index)] for index in range(x.shape[place]))


def split(x: Array, parts: int | Sequence[int], /, axis: int = 0) -> list[Array]:
    """Views of x between places along an axis: so many equal parts, or the parts that begin at these indices."""
    place = _axis("split", axis, x.ndim)
    extent = x.shape[place]
    if isinstance(parts, int):
        if parts < 1 or extent % parts:
            raise InvalidArgumentError(f"split: {extent} elements do not make {parts} equal parts")
        bounds = list(range(0, extent + 1, extent // parts)) if extent else [0] * (parts + 1)
    else:
        bounds = [0, *arguments.integers("split", "parts", parts), extent]
    return [x[_along(place, slice(begin, end))] for begin, end in zip(bounds[:-1], bounds[1:], strict=True)]


def roll(x: Array, /, shift: int | Sequence[int], axis: int | Sequence[int] | None = None) -> Array:
    """Elements moved along axes; those that leave at one end come back at the other. Without an axis x is flattened meanwhile."""
    if axis is None:
        flat = roll(x.reshape(-1), builtins.sum(arguments.integers("roll", "shift", shift)), axis=0)
        return flat.reshape(x.shape)
    axes = arguments.integers("roll", "axis", axis)
    shifts = arguments.integers("roll", "shift", shift)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise InvalidArgumentError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    result = x
    for amount, named in zip(shifts, axes, strict=True):
        place = _axis("roll", named, x.ndim)
        extent = x.shape[place]
        cut = -amount % extent if extent else 0
        if cut:
            result = concat([result[_along(place, slice(cut, None))], result[_along(place, slice(0, cut))]], axis=place)
    return result.copy() if result is x else result


def tile(x: Array, repetitions: int | Sequence[int], /) -> Array:
    """X repeated so many times along each axis; missing axes come in front."""
    counts = arguments.integers("tile", "repetitions", repetitions)
    rank = max(x.ndim, len(counts))
    counts = (1,) * (rank - len(counts)) + counts
    shape = (1,) * (rank - x.ndim) + x.shape
    if builtins.any(count < 0 for count in counts):
        raise InvalidArgumentError(f"tile: repetitions {counts} are negative")
    # Each axis becomes two, of which the first is repeated.
    split_shape = [extent for pair in zip((1,) * rank, shape, strict=True) for extent in pair]
    wide = [extent for pair in zip(counts, shape, strict=True) for extent in pair]
    result_shape = tuple(map(operator.mul, counts, shape))
    return x.reshape(split_shape).broadcast_to(*wide).reshape(result_shape, copy=True)


def repeat(x: Array, repeats: int | Array, /, axis: int | None = None) -> Array:
    """Each element of x so many times in a row along an axis; without one x is flattened.

    Args:
        x: An array.
        repeats: A number, or an array of one for each place along the axis, which is read by the host.
        axis: Along which elements are repeated.
    """
    if axis is None:
        x, axis = x.reshape(-1), 0
    place = _axis("repeat", axis, x.ndim)
    if isinstance(repeats, _native.Array) and repeats.size != 1:
        import numpy as np

        from amdgpu.ops.indexing import take

        counts = repeats.numpy()
        if repeats.ndim != 1 or len(counts) != x.shape[place]:
            raise ShapeMismatchError(f"repeat: repeats of shape {repeats.shape} for {x.shape[place]} places")
        if (counts < 0).any():
            raise InvalidArgumentError("repeat: repeats are not negative")
        places = np.repeat(np.arange(x.shape[place]), counts)
        result: Array = take(x, _native_array(places, x), axis=place)
        return result
    count = arguments.count("repeat", "repeats", repeats.item() if isinstance(repeats, _native.Array) else repeats)
    wide = (*x.shape[: place + 1], count, *x.shape[place + 1 :])
    shape = (*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :])
    return x.expand_dims((place + 1,)).broadcast_to(*wide).reshape(shape, copy=True)


def _native_array(values: Any, like: Array) -> Array:
    from amdgpu.array import array

    return array(values, device=like.device)

"""Indexing by arrays: `x[rows, :, columns]` and `x[mask]`, as NumPy's advanced indexing defines them.

Integer arrays pick elements one by one and their shapes broadcast; truth values pick where they are true. The picked axes stand where the
first of them was when they were neighbours, else in front. Reading gives new arrays; writing changes x.

Source: NumPy user guide, "Indexing on ndarrays", sections "Advanced indexing" and "Combining advanced and basic indexing".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.errors import IndexOutOfRangeError, InvalidArgumentError, InvalidTypeError

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["assign", "get"]


class _Pick:
    """A key taken apart: the view that its slices and new axes give, and the index arrays for some axes of that view."""

    def __init__(self, x: Array, key: Any) -> None:
        items = _expanded(x, key if isinstance(key, tuple) else (key,))
        picked = [isinstance(item, _native.Array | int | _OfNewAxis) for item in items]
        places = [place for place, is_picked in enumerate(picked) if is_picked]
        # Neighbours keep their place among the axes; a slice, a new axis or an ellipsis between them moves all to the front.
        self.is_adjacent = places[-1] - places[0] == len(places) - 1
        self.view = x[tuple(_of_view(item, is_picked) for item, is_picked in zip(items, picked, strict=True))]
        # Every item is one axis of the view.
        self.axes = places
        self.indices = [
            item.indices if isinstance(item, _OfNewAxis) else item for item in (items[place] for place in places)
        ]
        self.rest = [axis for axis in range(self.view.ndim) if axis not in places]

    def order(self, picked_rank: int) -> list[int]:
        """Axes of the result in the order of picked axes, then the rest; the result's own order is the inverse of it."""
        rank = picked_rank + len(self.rest)
        first = self.axes[0] if self.is_adjacent else 0
        picked = list(range(first, first + picked_rank))
        return picked + [axis for axis in range(rank) if axis not in picked]


class _OfNewAxis:
    """A truth value without axes: a new axis that is picked from once, or not at all."""

    def __init__(self, x: Array, is_true: bool) -> None:
        from amdgpu.array import zeros

        self.indices = zeros(int(is_true), "int64", device=x.device)


def _of_view(item: Any, is_picked: bool) -> Any:
    if isinstance(item, _OfNewAxis):
        return None
    return slice(None) if is_picked else item


def _expanded(x: Array, key: tuple[Any, ...]) -> list[Any]:
    """One item for each axis of x and each new one: slices, None, integers and arrays of integers."""
    items: list[Any] = []
    for item in key:
        items += _as_indices(x, item)
    used = sum(item is not None and item is not Ellipsis and not isinstance(item, _OfNewAxis) for item in items)
    if used > x.ndim:
        raise IndexOutOfRangeError(f"too many indices: the array has {x.ndim} axes, and {used} were indexed")
    if sum(item is Ellipsis for item in items) > 1:
        raise InvalidArgumentError("an index has one ellipsis (...) at most")
    whole = [slice(None)] * (x.ndim - used)
    place = next((place for place, item in enumerate(items) if item is Ellipsis), None)
    if place is None:
        return items + whole
    return items[:place] + whole + items[place + 1 :]


def _with_arrays(key: Any) -> Any:
    """The key with NumPy's arrays in the place of lists."""
    if isinstance(key, tuple):
        return tuple(_with_arrays(item) if isinstance(item, list) else item for item in key)
    if not isinstance(key, list):
        return key
    import numpy as np

    values = np.asarray(key)
    return values if key else values.astype("int64")


def _as_indices(x: Array, item: Any) -> list[Any]:
    if item is None or item is Ellipsis or isinstance(item, slice):
        return [item]
    if isinstance(item, int) and not isinstance(item, bool):
        return [item]
    array = _on_device(x, item)
    if array.dtype.kind != "b":
        if array.dtype.kind not in "iu":
            raise InvalidTypeError(f"index arrays hold integers or truth values, not {array.dtype}")
        return [array]
    if array.ndim == 0:
        return [_OfNewAxis(x, bool(array))]
    return list(_native_nonzero(array))


def _native_nonzero(mask: Array) -> tuple[Array, ...]:
    from amdgpu.ops.indexing import nonzero

    found: tuple[Array, ...] = nonzero(mask)
    return found


def _on_device(x: Array, item: Any) -> Array:
    """An index array where x is."""
    import numpy as np

    from amdgpu.ops.creation import asarray

    if isinstance(item, _native.Array):
        return item
    values = np.asarray(item)
    if values.dtype.kind not in "biuf":
        raise InvalidTypeError(f"index arrays hold integers or truth values, not {values.dtype}")
    return asarray(values, device=x.device)


def get(x: Array, key: Any) -> Array:
    """`x[key]` for a key with arrays: a new array."""
    key = _with_arrays(key)
    _check_mask(x, key)
    if isinstance(key, _native.Array) and key.dtype.kind == "b" and key.ndim == x.ndim > 0 and x.dtype.kind != "c":
        from amdgpu.ops.indexing import masked_select

        chosen: Array = masked_select(x, key)
        return chosen
    pick = _Pick(x, key)
    found = _native.pick_by_arrays(pick.view, pick.axes, pick.indices)
    order = pick.order(found.ndim - len(pick.rest))
    if order == sorted(order):
        return found
    inverse = sorted(range(len(order)), key=order.__getitem__)
    return found.transpose(*inverse)


def assign(x: Array, key: Any, values: Any) -> None:
    """`x[key] = values` for a key with arrays; of indices that occur twice the last value counts on the CPU, any of them on a GPU."""
    from amdgpu.ops import where

    key = _with_arrays(key)
    _check_mask(x, key)
    is_number = isinstance(values, bool | int | float)
    if is_number and isinstance(key, _native.Array) and key.dtype.kind == "b" and key.ndim == x.ndim:
        x[...] = where(key, values, x)
        return
    pick = _Pick(x, key)
    shape = _native.picked_shape(pick.view, pick.axes, pick.indices)
    order = pick.order(len(shape) - len(pick.rest))
    if not is_number:
        given = _on_device(x, values)
        result_shape = [0] * len(order)
        for place, axis in enumerate(order):
            result_shape[axis] = shape[place]
        # Axes in front that the target does not have must be of extent 1, as NumPy allows.
        while given.ndim > len(result_shape) and given.shape[0] == 1:
            given = given.reshape(given.shape[1:])
        values = given.broadcast_to(*result_shape)
        values = values.transpose(*order) if order else values
    _native.put_by_arrays(pick.view, pick.axes, pick.indices, values)


def _check_mask(x: Array, key: Any) -> None:
    """Refuses masks that do not have the extents of the axes that they pick from."""
    axis = 0
    for item in key if isinstance(key, tuple) else (key,):
        shape = getattr(item, "shape", ())
        kind = getattr(getattr(item, "dtype", None), "kind", "")
        if kind == "b" and shape:
            own = x.shape[axis : axis + len(shape)]
            if tuple(shape) != own:
                raise IndexOutOfRangeError(f"the mask has shape {tuple(shape)} and picks from axes of shape {own}")
            axis += len(shape)
        elif item is Ellipsis:
            axis = x.ndim - _axes_behind_ellipsis(key)
        elif item is not None:
            axis += 1


def _axes_behind_ellipsis(key: Any) -> int:
    items = key if isinstance(key, tuple) else (key,)
    place = next(index for index, item in enumerate(items) if item is Ellipsis)
    behind = 0
    for item in items[place + 1 :]:
        is_mask = getattr(getattr(item, "dtype", None), "kind", "") == "b"
        behind += len(item.shape) if is_mask else item is not None
    return behind

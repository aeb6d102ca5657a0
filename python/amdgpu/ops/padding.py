"""Arrays with a border around them.

Source: NumPy's `pad`, of whose modes those are there that only repeat what the array holds, or a constant.
"""

from __future__ import annotations

from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.array import empty
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NoImplementationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from amdgpu._native import Array

__all__ = ["pad"]

_MODES = ("constant", "edge", "reflect", "symmetric", "wrap")
_NUMPYS_MODES = ("empty", "linear_ramp", "maximum", "mean", "median", "minimum")


def pad(
    x: Any,
    pad_width: int | Sequence[int] | Sequence[Sequence[int]],
    mode: str = "constant",
    *,
    constant_values: Any = 0,
) -> Array:
    """The array with a border along each axis.

    Args:
        x: An array.
        pad_width: How many elements come before and behind: `((before, behind), …)` for each axis, one pair or one number for all.
        mode: What they are: "constant"; "edge", the first and the last element; "reflect", the elements mirrored at those, without them
            once more; "symmetric", with them; "wrap", the elements of the other end.
        constant_values: Of mode "constant", in the form of `pad_width`; they take the dtype of x.

    Returns:
        A new array on the device of x.

    Raises:
        InvalidArgumentError: A negative width, an unknown mode, or an empty axis that has nothing to repeat.
        InvalidTypeError: Widths that are no integers, or not two for each axis.
        NoImplementationError: NumPy's other modes.

    Example:
        >>> import amdgpu
        >>> amdgpu.pad(amdgpu.asarray([1, 2, 3]), (2, 1), "reflect").tolist()
        [3, 2, 1, 2, 3, 2]
    """
    from amdgpu.ops.creation import as_arrays

    if mode in _NUMPYS_MODES or callable(mode):
        raise NoImplementationError(f"pad: mode {mode!r} is not there; numpy.pad takes x.numpy()")
    arguments.choice("pad", "mode", mode, _MODES)
    (array,) = as_arrays("pad", (x,))
    widths = [
        tuple(arguments.integers("pad", "pad_width", pair)) for pair in _pairs("pad_width", pad_width, array.ndim)
    ]
    if any(width < 0 for pair in widths for width in pair):
        raise InvalidArgumentError(f"pad: pad_width is {shortened(pad_width)}; widths are not negative")
    if mode == "constant":
        return _with_constants(array, widths, _pairs("constant_values", constant_values, array.ndim))
    return _with_repeats(array, widths, mode)


def _pairs(name: str, value: Any, rank: int) -> list[Any]:
    """One pair for each axis."""
    import numpy as np

    try:
        return list(np.broadcast_to(np.asarray(value), (rank, 2)).tolist())
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"pad: {name} is {shortened(value)}; a number, a pair, or a pair for each of {rank} axes is expected"
        ) from None


def _with_constants(x: Array, widths: Sequence[Any], values: Sequence[Any]) -> Array:
    shape = [before + extent + behind for extent, (before, behind) in zip(x.shape, widths, strict=True)]
    made = empty(shape, x.dtype, device=x.device)
    for axis, ((before, behind), (first, last)) in enumerate(zip(widths, values, strict=True)):
        # Corners have the values of the last of their axes.
        if before:
            made[_along(axis, slice(0, before))] = first
        if behind:
            made[_along(axis, slice(shape[axis] - behind, None))] = last
    made[tuple(slice(before, before + extent) for extent, (before, _) in zip(x.shape, widths, strict=True))] = x
    return made


def _along(axis: int, part: slice) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, part)


def _with_repeats(x: Array, widths: Sequence[Any], mode: str) -> Array:
    from amdgpu.ops.creation import asarray
    from amdgpu.ops.indexing import take

    result: Any = x.copy()
    for axis, (before, behind) in enumerate(widths):
        if not before and not behind:
            continue
        extent = x.shape[axis]
        if extent == 0:
            raise InvalidArgumentError(f"pad: axis {axis} is empty, and mode {mode!r} has nothing to repeat")
        places = asarray(_places(mode, extent, before, behind), device=x.device)
        result = take(result, places, axis=axis)
    padded: Array = result
    return padded


def _places(mode: str, extent: int, before: int, behind: int) -> Any:
    """Which element of an axis stands at each place of the padded axis."""
    import numpy as np

    places = np.arange(-before, extent + behind)
    if mode == "edge":
        return places.clip(0, extent - 1)
    if mode == "wrap":
        return places % extent
    # A mirror at either end makes a period: to and fro, with the last element twice or once.
    is_twice = mode == "symmetric"
    period = 2 * extent if is_twice else max(2 * (extent - 1), 1)
    places = places % period
    return np.where(places < extent, places, period - is_twice - places)

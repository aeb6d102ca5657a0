"""How often values occur: `bincount` of small integers, `histogram` of values between edges.

Source: NumPy's functions of these names. How large the largest value is, and whether values are finite, is read by the host.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.array import zeros
from amdgpu.errors import InvalidArgumentError, InvalidTypeError, NoImplementationError, ShapeMismatchError

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["bincount", "histogram"]


def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Array:
    """How often each of the numbers 0, 1, 2 … occurs.

    Args:
        x: Integers of one axis, none negative.
        weights: What each element counts, as float64; None counts 1. They are added in a fixed order, so that sums have the same bits in
            every run.
        minlength: The least length of the result.

    Returns:
        int64 counts, or float64 sums of weights, for each number up to the largest of x.

    Raises:
        InvalidArgumentError: A negative number or length.
        InvalidTypeError: x holds other things than integers.
        ShapeMismatchError: x has not one axis, or `weights` another length.

    Example:
        >>> import amdgpu
        >>> amdgpu.bincount(amdgpu.asarray([1, 3, 1])).tolist()
        [0, 2, 0, 1]
    """
    from amdgpu import ops
    from amdgpu.ops.creation import as_arrays

    least = arguments.count("bincount", "minlength", minlength)
    places, *counted = as_arrays("bincount", (x,) if weights is None else (x, weights))
    if places.ndim != 1:
        raise ShapeMismatchError(f"bincount: x has {places.ndim} axes, not one; flatten it with x.reshape(-1)")
    # NumPy's empty list is of floats.
    if places.size and places.dtype.kind not in "iub":
        raise InvalidTypeError(f"bincount: x holds {places.dtype}; integers are expected")
    if not places.size:
        return zeros(least, "int64" if weights is None else "float64", device=places.device)
    low, high = int(ops.min(places).item()), int(ops.max(places).item())
    if low < 0:
        raise InvalidArgumentError(f"bincount: x holds {low}; numbers are not negative")
    return _summed(places.astype("int64", copy=False), _weights("bincount", counted, places), max(high + 1, least))


def _weights(operation: str, given: Sequence[Array], x: Array) -> Array | None:
    if not given:
        return None
    (weights,) = given
    if weights.shape != x.shape:
        raise ShapeMismatchError(f"{operation}: weights have shape {weights.shape}, and x {x.shape}")
    return weights.astype("float64", copy=False)


def _summed(places: Array, weights: Array | None, length: int) -> Array:
    from amdgpu import ops
    from amdgpu.ops.creation import ones_like

    if weights is not None:
        sums: Array = ops.index_add(zeros(length, "float64", device=places.device), 0, places, weights)
        return sums
    # Integers add up to the same in every order.
    counts = zeros(length, "int64", device=places.device)
    ops.put_along_axis(counts, places, ones_like(places), axis=0, mode="add")
    return counts


def histogram(
    x: Any,
    /,
    bins: int | Any = 10,
    range: tuple[float, float] | None = None,  # noqa: A002 (NumPy's name)
    *,
    density: bool = False,
    weights: Any = None,
) -> tuple[Array, Array]:
    """How many values lie between neighbouring edges; the last bin holds its right edge too.

    Args:
        x: Real values of any shape.
        bins: A number of bins of one width, or their edges in ascending order.
        range: The first and the last edge where `bins` is a number; None for the smallest and the largest value.
        density: Whether counts are divided by their sum and the width of their bin.
        weights: What each value counts, in the shape of x; None counts 1.

    Returns:
        int64 counts (float64 with weights or as a density), and one edge more than bins.

    Raises:
        InvalidArgumentError: No bins, edges that descend, or a range that is not finite or ends before it begins.
        NoImplementationError: NumPy's rules that choose bins, such as "auto".
        ShapeMismatchError: Edges that have not one axis, or weights of another shape.

    Example:
        >>> import amdgpu
        >>> counts, edges = amdgpu.histogram(amdgpu.asarray([1.0, 2.0, 1.0]), bins=[0.0, 1.0, 2.0, 3.0])
        >>> counts.tolist()
        [0, 2, 1]
    """
    from amdgpu import ops
    from amdgpu.ops.creation import as_arrays

    is_density = arguments.truth("histogram", "density", density)
    array, *counted = as_arrays("histogram", (x,) if weights is None else (x, weights))
    weight = _weights("histogram", counted, array)
    flat = array.reshape(-1)
    edges = _edges(flat, bins, range)
    # Behind the last edge of those that are not greater: an edge belongs to the bin that it begins.
    place = ops.subtract(ops.searchsorted(edges, flat, side="right"), 1)
    last = edges.shape[0] - 1
    place = ops.where(ops.equal(flat, edges[last]), last - 1, place)
    # What lies outside, NaN too, is counted in a bin before the others or in one behind them.
    inside = ops.logical_and(ops.greater_equal(place, 0), ops.less(place, last))
    place = ops.where(inside, place, last)
    counts = _summed(place, None if weight is None else weight.reshape(-1), last + 1)[:last]
    if not is_density:
        return counts, edges
    widths = ops.subtract(edges[1:], edges[:-1])
    return ops.divide(ops.divide(counts, widths), ops.sum(counts).item()), edges


def _edges(x: Array, bins: Any, bounds: Any) -> Array:
    import numpy as np

    from amdgpu import ops
    from amdgpu.ops.creation import asarray

    if isinstance(bins, str):
        raise NoImplementationError(
            f"histogram: bins is {bins!r}; rules that choose them are not there; pass edges, or numpy.histogram takes x.numpy()"
        )
    if isinstance(bins, list | tuple) or getattr(bins, "ndim", 0) > 0:
        edges = asarray(bins, device=x.device)
        if edges.ndim != 1 or edges.size < 2:
            raise ShapeMismatchError(f"histogram: edges have shape {edges.shape}; two of one axis are the least")
        if bool(ops.any(ops.less(edges[1:], edges[:-1])).item()):
            raise InvalidArgumentError("histogram: edges do not ascend; sort them first")
        return edges
    count = arguments.count("histogram", "bins", bins, 1)
    first, last = _bounds(x, bounds)
    is_real = x.dtype.kind == "f"
    if is_real and bounds is None:
        # Rounded as NumPy does, whose smallest and largest values have the dtype of x.
        first, last = x.dtype.type(first), x.dtype.type(last)
    places = np.linspace(first, last, count + 1, dtype=x.dtype if is_real else "float64")
    return asarray(places, device=x.device)


def _bounds(x: Array, bounds: Any) -> tuple[float, float]:
    from amdgpu import ops

    if bounds is not None:
        first, last = (arguments.number("histogram", "range", one) for one in bounds)
    elif x.size:
        first, last = float(ops.min(x).item()), float(ops.max(x).item())
    else:
        first, last = 0.0, 1.0
    if not (math.isfinite(first) and math.isfinite(last)):
        raise InvalidArgumentError(
            f"histogram: the range from {first} to {last} is not finite; pass range=(first, last)"
        )
    if first > last:
        raise InvalidArgumentError(f"histogram: range is {shortened(bounds)}; it ends before it begins")
    return (first - 0.5, last + 0.5) if first == last else (first, last)

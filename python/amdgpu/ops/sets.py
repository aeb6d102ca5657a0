"""Different values of an array, and whether values are among others.

Functions and arguments are those of the Python array API standard 2025.12, "Set functions". NaN equals nothing, so that each is a value of
its own; -0.0 and 0.0 are one value. How many values there are is read by the host.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from amdgpu.ops import placement

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


class UniqueAll(NamedTuple):
    """What `unique_all` returns."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` returns."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` returns."""

    values: Any
    inverse_indices: Any


def unique_all(x: Array, /) -> UniqueAll:
    """The different values in ascending order, where each occurs first, which of them each element is, and how often each occurs.

    Returns:
        `values` of the dtype of x; `indices` into x flattened, `inverse_indices` of the shape of x and `counts`, all int64.

    Example:
        >>> import amdgpu
        >>> found = amdgpu.unique_all(amdgpu.asarray([3, 1, 3]))
        >>> found.values.tolist(), found.counts.tolist()
        ([1, 3], [1, 2])
    """
    from amdgpu import ops
    from amdgpu.array import empty
    from amdgpu.ops.creation import asarray, zeros_like
    from amdgpu.ops.indexing import nonzero, take
    from amdgpu.ops.manipulation import concat
    from amdgpu.ops.sorting import argsort
    from amdgpu.ops.statistics import diff

    flat = x.reshape(-1)
    if flat.size == 0:
        places = empty(0, "int64", device=x.device)
        return UniqueAll(flat.copy(), places, zeros_like(x, dtype="int64"), places.copy())
    order = _order_of_pairs(flat) if flat.dtype.kind == "c" else argsort(flat)
    ordered = take(flat, order, axis=0)
    begins = concat([asarray([True], device=x.device), ops.not_equal(ordered[1:], ordered[:-1])])
    (places,) = nonzero(begins)
    inverse = empty(flat.shape, "int64", device=x.device)
    inverse[order] = ops.subtract(ops.cumsum(begins, 0), 1)
    ends = asarray([flat.size], device=x.device)
    return UniqueAll(
        take(ordered, places, axis=0),
        take(order, places, axis=0),
        inverse.reshape(x.shape),
        diff(concat([places, ends])),
    )


def _order_of_pairs(x: Array) -> Array:
    """The places of complex numbers by ascending real parts, equal ones by imaginary parts."""
    from amdgpu.ops.indexing import take
    from amdgpu.ops.sorting import argsort

    by_imaginary = argsort(x.imag)
    result: Array = take(by_imaginary, argsort(take(x.real, by_imaginary, axis=0)), axis=0)
    return result


def unique_counts(x: Array, /) -> UniqueCounts:
    """The different values in ascending order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The different values in ascending order, and which of them each element of x is."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: Array, /) -> Array:
    """The different values in ascending order."""
    from amdgpu.ops.sorting import sort

    flat = x.reshape(-1)
    if flat.size == 0:
        return flat.copy()
    if flat.dtype.kind == "c":
        found: Array = unique_all(flat).values
        return found
    ordered = sort(flat)
    result: Array = placement.run(("unique_consecutive", "unique_values"), (ordered,), ordered)
    return result


def isin(x: Any, test: Any, /, *, invert: bool = False) -> Array:
    """Whether each element of x is among the values of `test`, or with `invert` whether it is not."""
    from amdgpu import ops
    from amdgpu.ops.creation import asarray
    from amdgpu.ops.data_types import result_type
    from amdgpu.ops.indexing import take
    from amdgpu.ops.sorting import searchsorted

    given = asarray(x) if not hasattr(x, "device") else x
    values = asarray(test, device=given.device) if not hasattr(test, "device") else test
    dtype = result_type(given, values)
    if dtype.kind == "c":
        return _is_among(given.astype(dtype, copy=False), values.astype(dtype, copy=False), invert=invert)
    flat = unique_values(values.astype(dtype, copy=False))
    if flat.size == 0:
        from amdgpu.ops.creation import full

        return full(given.shape, invert, device=given.device)
    wanted = given.astype(dtype, copy=False)
    place = ops.minimum(searchsorted(flat, wanted), flat.size - 1)
    found = ops.equal(take(flat, place.reshape(-1), axis=0).reshape(wanted.shape), wanted)
    result: Array = ops.logical_not(found) if invert else found
    return result


def _is_among(x: Array, values: Array, *, invert: bool) -> Array:
    """As `isin`, for numbers without an order: those that share a value share its number."""
    from amdgpu.ops.creation import full
    from amdgpu.ops.manipulation import concat

    found = unique_all(concat([x.reshape(-1), values.reshape(-1)]))
    is_there = full(found.values.shape, invert, device=x.device)
    is_there[found.inverse_indices[x.size :]] = not invert
    result: Array = is_there[found.inverse_indices[: x.size]].reshape(x.shape)
    return result

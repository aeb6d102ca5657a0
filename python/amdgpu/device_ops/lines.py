"""Operations along one axis of a dense array see it as (outer, length, inner): lines of `length` values, `inner` apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from amdgpu.errors import InvalidArgumentError


@dataclass(frozen=True)
class Lines:
    """How the values of an array are cut into lines.

    Attributes:
        count: Lines.
        length: Values of a line.
        inner: From one value of a line to the next, in elements.
    """

    count: int
    length: int
    inner: int


def resolve_axes(operation: str, shape: Sequence[int], axes: Sequence[int]) -> tuple[int, ...]:
    """Axes counted from the start, in the order given.

    Raises:
        InvalidArgumentError: No such axis, or one named twice.
    """
    rank = len(shape)
    found: list[int] = []
    for axis in axes:
        place = axis + rank if axis < 0 else axis
        if not 0 <= place < rank:
            raise InvalidArgumentError(f"{operation}: axis {axis} is out of range for x of shape {list(shape)}")
        if place in found:
            raise InvalidArgumentError(f"{operation}: axis {axis} is named twice in {list(axes)}")
        found.append(place)
    return tuple(found)


def lines_of(shape: Sequence[int], axis: int, *, last: int | None = None) -> Lines:
    """The lines along an axis, or along all from it to `last`."""
    end = axis if last is None else last
    length, inner = math.prod(shape[axis : end + 1]), math.prod(shape[end + 1 :])
    return Lines(math.prod(shape[:axis]) * inner, length, inner)

"""Arguments of operations that are no arrays: what does not fit is refused with the names of operation and argument."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from reprlib import repr as shortened
from typing import Any

from amdgpu.errors import InvalidArgumentError, InvalidTypeError

# What the libraries count in.
_MOST_BITS = 63


def integer(operation: str, name: str, value: Any) -> int:
    """An integer of 64 bits."""
    try:
        return _counted(operation, name, operator.index(value))
    except TypeError:
        raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; an integer is expected") from None


def integers(operation: str, name: str, value: Any) -> tuple[int, ...]:
    """Integers of 64 bits, of one or of several."""
    try:
        # Arrays without axes count as one, and as iterable.
        many = value if isinstance(value, Iterable) and getattr(value, "ndim", True) else (value,)
        found = tuple(operator.index(one) for one in many)
    except (TypeError, ValueError):
        raise InvalidTypeError(
            f"{operation}: {name} is {shortened(value)}; an integer or a tuple of integers is expected"
        ) from None
    return tuple(_counted(operation, name, one) for one in found)


def pair(operation: str, name: str, value: Any) -> tuple[int, int]:
    """(along rows, along columns) of an integer or a pair of integers."""
    try:
        rows, columns = (value, value) if hasattr(value, "__index__") else value
        rows, columns = operator.index(rows), operator.index(columns)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; an integer or two are expected") from None
    return _counted(operation, name, rows), _counted(operation, name, columns)


def number(operation: str, name: str, value: Any) -> float:
    """A real number; not one that is written as text."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except (TypeError, ValueError):
        pass
    except OverflowError:
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}, beyond what float64 holds") from None
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a number is expected")


def truth(operation: str, name: str, value: Any) -> bool:
    """True or False, of NumPy too."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_") and hasattr(value, "dtype"):
        return bool(value)
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; True or False is expected")


def text(operation: str, name: str, value: Any, known: str) -> str:
    """A name; whether it is one of those known is for the operation to say."""
    if isinstance(value, str):
        return value
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; {known} is expected")


def choice(operation: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the names that are known."""
    if isinstance(value, str) and value in known:
        return value
    raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; known are {', '.join(known)}")


def _counted(operation: str, name: str, value: int) -> int:
    if value.bit_length() > _MOST_BITS:
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}, beyond what 64 bits hold")
    return value

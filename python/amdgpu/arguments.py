"""Arguments of operations that are no arrays: what does not fit is refused with the names of operation and argument."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import TYPE_CHECKING, Any

from amdgpu.errors import AmdgpuError, InvalidArgumentError, InvalidTypeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# What the libraries count in.
_MOST_BITS = 63
# As `crates/amdgpu-python/src/operand.rs` says it of the arrays that it takes.
_MASKED = "arrays with a mask are not understood; pass x.filled(value) in their place, or x.data to ignore the mask"


def integer(operation: str, name: str, value: Any) -> int:
    """An integer of 64 bits."""
    try:
        return _counted(operation, name, operator.index(value))
    except TypeError:
        raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; an integer is expected") from None


def axis(operation: str, value: Any, rank: int, error: type[AmdgpuError] = InvalidArgumentError) -> int:
    """An axis of so many, counted from the first; `error` is raised for one that does not exist."""
    place = integer(operation, "axis", value)
    if not -rank <= place < rank:
        raise error(f"{operation}: axis {place} is out of bounds for an array with {rank} axes")
    return place % rank


def count(operation: str, name: str, value: Any, low: int = 0, high: int = 2**_MOST_BITS - 1) -> int:
    """An integer from `low` to `high`; True and False are no counts."""
    try:
        if not isinstance(value, bool):
            found = operator.index(value)
            if low <= found <= high:
                return found
            bounds = f"from {low} to {high}" if high < 2**_MOST_BITS - 1 or found > high else f"at least {low}"
            raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; it must be {bounds}")
    except TypeError:
        pass
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; an integer is expected")


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


def along(operation: str, name: str, value: Any, count: int) -> tuple[int, ...]:
    """Integers for each of so many axes, at most three, of one integer or as many."""
    try:
        many = (value,) * count if hasattr(value, "__index__") else tuple(value)
        found = tuple(operator.index(one) for one in many)
    except (TypeError, ValueError):
        found = ()
    if len(found) != count:
        wanted = ("an integer is", "an integer or two are", "an integer or three are")[count - 1]
        raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; {wanted} expected")
    return tuple(_counted(operation, name, one) for one in found)


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


def finite(operation: str, name: str, value: Any, low: float = -math.inf) -> float:
    """A real number that is neither NaN nor infinite, and at least `low`."""
    found = number(operation, name, value)
    if not (math.isfinite(found) and found >= low):
        what = "a finite number" if low == -math.inf else f"a finite number of at least {low:g}"
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; {what} is expected")
    return found


def positive(operation: str, name: str, value: Any) -> float:
    """A finite number above 0."""
    found = number(operation, name, value)
    if not (math.isfinite(found) and found > 0):
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; a finite number above 0 is expected")
    return found


def share(operation: str, name: str, value: Any) -> float:
    """A number from 0 to below 1."""
    found = number(operation, name, value)
    if not 0 <= found < 1:
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; a number from 0 to below 1 is expected")
    return found


def seconds(operation: str, name: str, value: Any) -> float:
    """How long to wait, from 0 on; infinity waits for ever."""
    found = number(operation, name, value)
    if not found >= 0:
        raise InvalidArgumentError(
            f"{operation}: {name} is {shortened(value)}; a number of seconds from 0 on is expected"
        )
    return found


def truth(operation: str, name: str, value: Any) -> bool:
    """True or False, of NumPy too."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool", "bool_") and hasattr(value, "dtype"):
        return bool(value)
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; True or False is expected")


def text(operation: str, name: str, value: Any, known: str) -> str:
    """A text; whether it is one of those known is for the operation to say."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidArgumentError(
                    f"{operation}: {name} is {shortened(value)}, which is no Unicode text: {error.reason} at {error.start}"
                ) from None
        return value
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; {known} is expected")


def choice(operation: str, name: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the names that are known."""
    if isinstance(value, str) and value in known:
        return value
    raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}; known are {', '.join(known)}")


def sequence(operation: str, name: str, value: Any, what: str) -> list[Any]:
    """The items of a list, a tuple, an array or another collection; a text is none."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping) and getattr(value, "ndim", True):
        return list(value)
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a list of {what} is expected")


def names(operation: str, name: str, value: Any) -> list[str]:
    """A collection of names, a mapping's keys too; a single text is none."""
    found = list(value) if isinstance(value, Mapping) else sequence(operation, name, value, "names")
    return [text(operation, f"{name}[{place}]", one, "a name") for place, one in enumerate(found)]


def path(operation: str, name: str, value: Any) -> Path:
    """Where a file or a folder is."""
    try:
        found = os.fspath(value)
    except TypeError:
        found = None
    if not isinstance(found, str):
        raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a path is expected")
    try:
        if not found or b"\0" in os.fsencode(found):
            raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}, which names no file")
    except UnicodeEncodeError:
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}, which names no file") from None
    return Path(found)


def mapping(operation: str, name: str, value: Any, what: str) -> Mapping[Any, Any]:
    """A dict or another mapping."""
    if isinstance(value, Mapping):
        return value
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a dict of {what} is expected")


def two(operation: str, name: str, value: Any, what: str) -> tuple[Any, Any]:
    """Two things, such as the (x, y) of `validation_data`."""
    if isinstance(value, tuple | list) and len(value) == 2:
        return value[0], value[1]
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a pair {what} is expected")


def json_text(operation: str, name: str, value: Any) -> str:
    """A value as JSON."""
    try:
        return json.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidTypeError(f"{operation}: {name} cannot be written as JSON: {error}") from None


def function(operation: str, name: str, value: Any) -> Callable[..., Any]:
    """What can be called."""
    if callable(value):
        found: Callable[..., Any] = value
        return found
    raise InvalidTypeError(f"{operation}: {name} is {shortened(value)}; a function is expected")


def progress(operation: str, value: Any) -> Any:
    """True, False or a function; None says the same as False."""
    if value is None or value is True or value is False or callable(value):
        return value or False
    raise InvalidTypeError(f"{operation}: progress is {shortened(value)}; True, False or a function is expected")


def values(operation: str, name: str, value: Any) -> npt.NDArray[Any]:
    """An array of whatever is given; which dtypes are possible is for the operation to say. A mask would be lost without a word."""
    import numpy as np

    if isinstance(value, np.ma.MaskedArray):
        raise InvalidArgumentError(f"{operation}: {name}: {_MASKED}")
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidTypeError(f"{operation}: {name} is no array of numbers: {error}") from None


def reals(operation: str, name: str, value: Any) -> npt.NDArray[np.float64]:
    """An array of real numbers, as float64."""
    import numpy as np

    found = values(operation, name, value)
    # Without values the dtype says nothing: `[]` is an array of float64 whatever was meant.
    if found.dtype.kind not in "biuf" and (found.size or found.dtype.kind in "cmM"):
        raise InvalidTypeError(f"{operation}: {name} holds {found.dtype}; real numbers are expected")
    return np.array(found, np.float64, order="C")


def _counted(operation: str, name: str, value: int) -> int:
    if value.bit_length() > _MOST_BITS:
        raise InvalidArgumentError(f"{operation}: {name} is {shortened(value)}, beyond what 64 bits hold")
    return value

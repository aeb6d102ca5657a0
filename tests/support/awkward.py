"""Values that nobody means as arguments, and the sweep that puts each in every place of a call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from amdgpu import errors


class Broken:
    """Claims every protocol of numbers and arrays, and keeps none."""

    def __index__(self) -> int:
        raise ZeroDivisionError("broken index")

    def __float__(self) -> float:
        raise ZeroDivisionError("broken float")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ZeroDivisionError("broken array")

    def __repr__(self) -> str:
        return "Broken()"


AWKWARD: dict[str, Any] = {
    "none": None,
    "minus one": -1,
    "beyond 64 bits": 10**30,
    "beyond float64": 10**400,
    "fraction": 1.5,
    "nan": float("nan"),
    "infinity": float("inf"),
    "negative beyond 64 bits": -(10**30),
    "truth": True,
    "text": "x",
    "empty text": "",
    "null character": "a\0b",
    "lone surrogate": "\ud800",
    "bytes": b"x",
    "empty list": [],
    "nested": [1, [2]],
    "dict": {},
    "object": object(),
    "complex": 1j,
    "type": int,
    "masked": np.ma.masked_array([1.0, 2.0], [True, False]),
    "masked constant": np.ma.masked,
    "strings": np.array(["a", "b"]),
    "objects": np.array([None, 1], dtype=object),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
    "five axes of nothing": np.empty((0, 0, 0, 0, 0), np.float32),
    "foreign bytes": np.arange(4, dtype=">f4"),
}
Call = tuple[Callable[..., Any], tuple[Any, ...]]


def named(call: Callable[..., Any]) -> Callable[..., Any]:
    """A call that is wrong with the arguments that it is swept with, too: there is no such name."""

    def refused(*arguments: Any) -> Any:
        with contextlib.suppress(errors.AmdgpuError):
            return call(*arguments)

    return refused


def changed(arguments: tuple[Any, ...], place: int, value: Any) -> tuple[Any, ...]:
    return (*arguments[:place], value, *arguments[place + 1 :])


def strays(calls: dict[str, Call]) -> list[str]:
    """What came out beside errors of amdgpu, of every call with every awkward value in every place."""
    found = []
    for name, (call, arguments) in calls.items():
        call(*arguments)
        for place in range(len(arguments)):
            for kind, value in [*AWKWARD.items(), ("broken", Broken())]:
                try:
                    call(*changed(arguments, place, value))
                except errors.AmdgpuError:
                    pass
                except OSError as error:
                    # What the system says of a file is passed on, with the file's name, where an argument is a path.
                    if not isinstance(arguments[place], Path) or error.filename is None:
                        found.append(f"{name}, argument {place}, {kind}: {type(error).__name__}: {error}")
                except Exception as error:  # noqa: BLE001  (whatever comes out is what the test is about)
                    # What an object of the caller raises may pass as it is.
                    if isinstance(error, ZeroDivisionError) and "broken" in str(error):
                        continue
                    found.append(f"{name}, argument {place}, {kind}: {type(error).__name__}: {error}")
    return found

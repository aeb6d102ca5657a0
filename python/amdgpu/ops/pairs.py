"""Arguments that are one integer for both axes of an image, or two."""

from __future__ import annotations

import operator
from typing import Any

from amdgpu.errors import InvalidTypeError


def pair(operation: str, name: str, value: Any) -> tuple[int, int]:
    """(along rows, along columns) of an integer or a pair of integers."""
    try:
        rows, columns = (value, value) if hasattr(value, "__index__") else value
        return operator.index(rows), operator.index(columns)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{operation}: {name} is {value!r}; an integer or two are expected") from None

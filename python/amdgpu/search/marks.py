"""Marked ranges of a network text: `choice(a, b, …)` and `range(low, high)`, replaced where they stand.

The words are looked for in the text itself, so that whatever the language has there can be marked: sizes, activations, lists of layers,
parameters of plasticity. Comments and strings are left alone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

# A range of more values than this is cut into as many steps.
LARGEST_LEVELS = 1024
# A range of real numbers has so many values.
REAL_LEVELS = 64
WORD = re.compile(r"(?<![\w.])(choice|range)\s*\(")
NUMBER = re.compile(r"\s*([+-]?(?:\d[\d_]*)(\.\d[\d_]*)?([eE][+-]?\d+)?)((?:\.|\*)?[A-Za-z]\w*)?\s*\Z")


@dataclass(frozen=True, slots=True)
class Mark:
    """One marked range.

    Attributes:
        start: Position of its first character in the text.
        end: Position behind its last one.
        line: Line number, from 1.
        source: How it is written.
        levels: What it can be replaced with, in order.
        is_ordered: Whether neighbours among the levels are alike, as those of `range` are.
    """

    start: int
    end: int
    line: int
    source: str
    levels: tuple[str, ...]
    is_ordered: bool


def find_marks(text: str) -> list[Mark]:
    """All marked ranges of a text, in order.

    Raises:
        InvalidArgumentError: A marked range that cannot be read; the message has its line.

    Example:
        >>> from amdgpu.search import find_marks
        >>> [mark.levels for mark in find_marks("layer a(range(2, 4), activation: choice(relu, tanh))")]
        [('2', '3', '4'), ('relu', 'tanh')]
    """
    arguments.text("find_marks", "text", text, "a network's text")
    hidden = _hidden(text)
    marks: list[Mark] = []
    for found in WORD.finditer(text):
        if hidden[found.start()] or (marks and found.start() < marks[-1].end):
            continue
        line = text.count("\n", 0, found.start()) + 1
        end, parts = _arguments(text, found.end(), hidden, line)
        source = text[found.start() : end]
        is_choice = found.group(1) == "choice"
        levels = _choices(parts, source, line) if is_choice else _range(parts, source, line)
        marks.append(Mark(found.start(), end, line, source, levels, is_ordered=not is_choice))
    return marks


def substitute(text: str, marks: Sequence[Mark], levels: Sequence[int]) -> str:
    """The text with every mark replaced by the level of that number."""
    pieces = []
    position = 0
    for mark, level in zip(marks, levels, strict=True):
        pieces += [text[position : mark.start], mark.levels[level]]
        position = mark.end
    return "".join([*pieces, text[position:]])


def _hidden(text: str) -> list[bool]:
    """Whether each character belongs to a comment or a string."""
    hidden = [False] * (len(text) + 1)
    inside = ""
    for place, character in enumerate(text):
        if inside:
            hidden[place] = True
            if character == "\n" or (inside == character == '"'):
                inside = ""
        elif character in '#"':
            hidden[place] = True
            inside = character
    return hidden


def _arguments(text: str, start: int, hidden: Sequence[bool], line: int) -> tuple[int, list[str]]:
    """Position behind the closing parenthesis, and what stands between the commas of the outermost level."""
    depth = 1
    parts: list[str] = []
    first = start
    for place in range(start, len(text)):
        if hidden[place]:
            continue
        character = text[place]
        if character in "([{":
            depth += 1
        elif character in ")]}":
            depth -= 1
            if depth == 0:
                return place + 1, [*parts, text[first:place].strip()]
        elif character == "," and depth == 1:
            parts.append(text[first:place].strip())
            first = place + 1
    raise InvalidArgumentError(
        f"line {line}: a marked range has no closing parenthesis: {text[start - 8 : start + 24]!r}"
    )


def _choices(parts: list[str], source: str, line: int) -> tuple[str, ...]:
    if len(parts) < 2 or not all(parts):
        raise InvalidArgumentError(f"line {line}: {source} gives nothing to choose from: choice(relu, tanh)")
    if len(parts) > LARGEST_LEVELS:
        raise InvalidArgumentError(f"line {line}: {len(parts)} choices; at most {LARGEST_LEVELS}")
    if any(WORD.search(part) for part in parts):
        raise InvalidArgumentError(f"line {line}: {source} has a marked range within another")
    return tuple(parts)


def _range(parts: list[str], source: str, line: int) -> tuple[str, ...]:
    example = "range(16, 256), range(16, 256, 16), range(0.001, 0.1) or range(0.0001, 0.1, log)"
    is_logarithmic = len(parts) == 3 and parts[2] == "log"
    found = [NUMBER.match(part) for part in (parts[:2] if is_logarithmic else parts)]
    numbers = [number for number in found if number is not None]
    if len(numbers) != len(found) or not 2 <= len(parts) <= 3:
        raise InvalidArgumentError(f"line {line}: {source} is no range: {example}")
    units = {number.group(4) or "" for number in numbers}
    if len(units) != 1:
        raise InvalidArgumentError(f"line {line}: {source} mixes units")
    unit = units.pop()
    values = [float(number.group(1).replace("_", "")) for number in numbers]
    low, high = values[:2]
    if not (math.isfinite(low) and math.isfinite(high) and low < high) or (is_logarithmic and low <= 0):
        raise InvalidArgumentError(
            f"line {line}: {source} is empty: the first number lies below the second, with log above 0"
        )
    is_whole = all(number.group(2) is None and number.group(3) is None for number in numbers)
    if len(values) == 3:
        if values[2] <= 0:
            raise InvalidArgumentError(f"line {line}: the step of {source} is not above 0")
        count = math.floor((high - low) / values[2] * (1 + 1e-12)) + 1
        spread = [low + index * values[2] for index in range(min(count, LARGEST_LEVELS + 1))]
        if count > LARGEST_LEVELS:
            raise InvalidArgumentError(f"line {line}: {source} has {count} values; at most {LARGEST_LEVELS}")
    else:
        count = int(min(high - low + 1, LARGEST_LEVELS)) if is_whole else REAL_LEVELS
        shares = [index / (count - 1) for index in range(count)]
        spread = [low * (high / low) ** share if is_logarithmic else low + (high - low) * share for share in shares]
    written = [f"{round(value)}{unit}" if is_whole else f"{value:.6g}{unit}" for value in spread]
    return tuple(dict.fromkeys(written))

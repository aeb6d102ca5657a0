"""Graphs of a terminal: an area under the last values, in braille (2 by 4 dots a cell) or in ASCII (4 steps a cell)."""

from __future__ import annotations

import math
from collections.abc import Sequence

BRAILLE = 0x2800
# Dots of a cell from the bottom up, left column and right column (Unicode 15, "Braille Patterns").
LEFT_DOTS = (0x40, 0x04, 0x02, 0x01)
RIGHT_DOTS = (0x80, 0x20, 0x10, 0x08)
STEPS = 4
ASCII_STEPS = " .:|#"


def graph(values: Sequence[float | None], width: int, height: int, *, is_ascii: bool = False) -> list[str]:
    """Lines of a graph, the newest value at the right.

    Args:
        values: Shares, 0 to 1; None leaves a gap. In braille two of them share a cell.
        width: Cells of a line.
        height: Lines.
        is_ascii: ASCII in place of braille.
    """
    columns = width if is_ascii else 2 * width
    shown = list(values)[-columns:] if columns else []
    heights = [_dots(value, height) for value in [None] * (columns - len(shown)) + shown]
    lines = []
    for line in reversed(range(height)):
        filled = [min(max(dots - line * STEPS, 0), STEPS) for dots in heights]
        if is_ascii:
            lines.append("".join(ASCII_STEPS[count] for count in filled))
        else:
            pairs = zip(filled[::2], filled[1::2], strict=True)
            lines.append(
                "".join(chr(BRAILLE + sum(LEFT_DOTS[:left]) + sum(RIGHT_DOTS[:right])) for left, right in pairs)
            )
    return lines


def _dots(value: float | None, height: int) -> int:
    """Dots of a column. What is not nothing is seen: at least one dot."""
    if value is None or math.isnan(value) or value <= 0:
        return 0
    return max(round(min(value, 1.0) * height * STEPS), 1)


def scaled(values: Sequence[float | None]) -> tuple[list[float | None], float]:
    """Values without a bound of their own as shares of the largest, and that."""
    largest = max((value for value in values if value is not None), default=0.0)
    if largest <= 0:
        return list(values), 0.0
    return [None if value is None else value / largest for value in values], largest

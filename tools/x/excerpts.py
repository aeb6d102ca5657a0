"""What a failing runner printed about each failure, so that the log of a CI run is enough to find it."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Of one failure; a panic with its backtrace fits, a loop that prints does not.
MAX_LINES_PER_FAILURE = 80
MAX_FAILURES = 20
# What a runner prints last says how it ended when no test is named: a signal, a compiler error, a hanging test.
TAIL_LINES = 40

_CARGO_BLOCK = re.compile(r"^---- (.+) stdout ----$")
_CARGO_FAILED = re.compile(r"^test (.+) \.\.\. FAILED$")
_CARGO_NOTICE = re.compile(
    r"has been running for over|signal: \d+|process didn't exit successfully|^error(\[E\d+\])?: "
)
_PYTEST_SECTION = re.compile(r"^=+ (FAILURES|ERRORS) =+$")
_PYTEST_TITLE = re.compile(r"^_{3,} .+ _{3,}$")
_DURATIONS = re.compile(r"^=+ processor time: ")
_DURATION = re.compile(r"^ *\d+\.\d s  ")
_PYTEST_END = re.compile(r"^=+ .+ =+$")


def of_cargo(output: str) -> str:
    """The block of each failed test, which holds its panic with message and place, and what says how a binary died."""
    lines = output.splitlines()
    failed = {found[1] for line in lines if (found := _CARGO_FAILED.match(line))}
    titled = [(_CARGO_BLOCK.match(block[0]), block) for block in _cargo_blocks(lines)]
    blocks = [block for title, block in titled if title is not None and title[1] in failed]
    notices = [line for line in lines if _CARGO_NOTICE.search(line)]
    return _joined([*blocks, *([notices] if notices else [])], lines)


def of_pytest(output: str) -> str:
    """The report of each failed test and of each error in a fixture or while collecting."""
    lines = output.splitlines()
    blocks: list[list[str]] = []
    inside = False
    for line in lines:
        if _PYTEST_SECTION.match(line):
            inside = True
        elif inside and _PYTEST_END.match(line):
            inside = False
        elif inside and _PYTEST_TITLE.match(line):
            blocks.append([line])
        elif inside and blocks:
            blocks[-1].append(line)
    return _joined(blocks, lines)


def of_durations(output: str) -> str:
    """The tests and files that took the most processor time, as tests/support/processor_time.py writes them."""
    lines = output.splitlines()
    begin = next((number for number, line in enumerate(lines) if _DURATIONS.match(line)), len(lines))
    rows = [line for line in lines[begin + 1 :] if _DURATION.match(line)]
    return "\n".join([*lines[begin : begin + 1], *rows])


def of_others(output: str) -> str:
    """The end of the output, for runners that print failures last."""
    return "\n".join(output.splitlines()[-2 * TAIL_LINES :])


def _cargo_blocks(lines: Sequence[str]) -> list[list[str]]:
    blocks: list[list[str]] = []
    inside = False
    for line in lines:
        if _CARGO_BLOCK.match(line):
            blocks.append([line])
            inside = True
        elif line == "failures:" or line.startswith("test result:"):
            inside = False
        elif inside:
            blocks[-1].append(line)
    return blocks


def _joined(blocks: Sequence[Sequence[str]], lines: Sequence[str]) -> str:
    if not blocks:
        return "\n".join(lines[-2 * TAIL_LINES :])
    parts = []
    for block in blocks[:MAX_FAILURES]:
        shown = list(block)
        while shown and not shown[-1].strip():
            shown.pop()
        if len(shown) > MAX_LINES_PER_FAILURE:
            left_out = len(shown) - MAX_LINES_PER_FAILURE
            half = MAX_LINES_PER_FAILURE // 2
            shown = [*shown[:half], f"  ... {left_out} lines are left out here; the log has them ...", *shown[-half:]]
        parts.append("\n".join(shown))
    if len(blocks) > MAX_FAILURES:
        parts.append(f"... and {len(blocks) - MAX_FAILURES} more failures; the log has them")
    parts.append("\n".join(lines[-TAIL_LINES:]))
    return "\n\n".join(parts)

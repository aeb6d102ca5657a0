"""What `./x` prints: numbered steps, one live line on a terminal, plain lines in a log file, tables.

`NO_COLOR` and `TERM=dumb` are honoured; output that is no terminal gets neither colour nor a live line but a sign of
life every `HEARTBEAT_S` seconds.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TextIO

HEARTBEAT_S = 15.0
COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "bold": "1", "dim": "2"}


class Console:
    """One output stream; safe to call from several threads."""

    def __init__(self, stream: TextIO | None = None, environment: Mapping[str, str] | None = None) -> None:
        self.stream = sys.stdout if stream is None else stream
        variables = os.environ if environment is None else environment
        self.interactive = self.stream.isatty() and variables.get("TERM") != "dumb"
        self.coloured = self.interactive and not variables.get("NO_COLOR")
        self._live_shown = False
        # Texts of commands that run side by side, which share the line.
        self._live: dict[str, str] = {}
        self._lock = threading.Lock()

    def paint(self, text: str, *colours: str) -> str:
        """`text` in colour where colour is wanted."""
        if not self.coloured or not colours:
            return text
        codes = ";".join(COLOURS[colour] for colour in colours)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "", *colours: str) -> None:
        """Prints a line for good."""
        with self._lock:
            self._erase_live()
            self.stream.write(self.paint(text, *colours) + "\n")
            self.stream.flush()

    def live(self, text: str, key: str = "") -> None:
        """Shows a line that the next one with its key replaces, beside those of other keys; nothing where the output is no terminal."""
        if not self.interactive:
            return
        with self._lock:
            self._live[key] = text
            text = " | ".join(self._live.values())
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\x1b[K" + self.paint(printable(text)[:width], "dim"))
            self.stream.flush()
            self._live_shown = True

    def forget_live(self, key: str) -> None:
        """Takes the text of a key out of the live line."""
        with self._lock:
            self._live.pop(key, None)

    def clear_live(self) -> None:
        """Takes the live line away."""
        with self._lock:
            self._erase_live()
            self.stream.flush()

    def _erase_live(self) -> None:
        if self._live_shown:
            self.stream.write("\r\x1b[K")
            self._live_shown = False

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> None:
        """Prints aligned columns; `right` names the columns set flush right."""
        for number, text in enumerate(table_lines(header, rows, right=right)):
            self.line(text, *(("bold",) if number == 0 else ()))


def printable(text: str) -> str:
    """`text` without control characters, tabs as blanks."""
    return "".join(
        " " if character == "\t" else character for character in text if character == "\t" or character.isprintable()
    )


def table_lines(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """The lines of a table: header, rule, rows."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]

    def one(row: Sequence[str]) -> str:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [one(header), "  ".join("-" * width for width in widths), *(one(row) for row in rows)]


def seconds_text(seconds: float) -> str:
    """A duration for a person: `0.04 s`, `12.3 s`, `3 min 05 s`."""
    if seconds < 1:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"

"""How commands print: versioned JSON, or text that is fine without colour and in a file."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

LOG_WIDTH_COLUMNS = 120
# SGR numbers of ECMA-48; the terminal's own palette decides what they look like.
SHADES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}
# Eighths of a cell, so that a bar of 20 cells shows 160 steps.
EIGHTHS = " ▏▎▍▌▋▊▉█"
# What a terminal acts on, or what hides or reorders the text beside it: every character of the general categories Cc, Cf, Cs, Zl and Zp
# (Unicode 15, table 4-4) of the planes in use, but tab and line feed.
CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e007f]"
)
# Opens the colours of `paint`. Nothing from outside of this process knows it, so `say` can tell them from escapes in foreign names.
_OWN_ESCAPE = f"\x1b{secrets.token_hex(8)}"
_OWN_COLOUR = re.compile(f"({_OWN_ESCAPE}\\[[0-9;]+m)")


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """The option that every command has."""
    parser.add_argument("--json", action="store_true", help="print JSON with a versioned schema")


def print_json(schema: str, content: dict[str, Any]) -> None:
    """Print one JSON document; `schema` is NAME/VERSION and changes when a field changes its meaning."""
    print(_json({"schema": schema, **content}, indent=2))


def json_text(schema: str, content: dict[str, Any]) -> str:
    """One JSON document for people to read as well."""
    return _json({"schema": schema, **content}, indent=2)


def print_json_line(schema: str, content: dict[str, Any]) -> None:
    """Print one JSON document as one line, and hand it over at once: what commands that watch do."""
    print(_json({"schema": schema, **content}, indent=None), flush=True)


def _json(document: dict[str, Any], indent: int | None) -> str:
    """JSON with its non-ASCII text readable, but for controls: they stand only in strings, where their escaped form means the same."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, default=str)
    return CONTROLS.sub(lambda found: json.dumps(found[0])[1:-1], text)


def plain(text: str, *, is_one_line: bool = False) -> str:
    """Text from outside (a command line, a name, a path, a message) with its control characters written out as Python does.

    Tabs and line feeds stay, or are written out too in text that must stand on one line.
    """
    if is_one_line:
        text = text.replace("\t", "\\t").replace("\n", "\\n")
    # Python's own spelling: \x1b, \u202e, \U000e0001.
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def say(text: str, file: TextIO | None = None, *, flush: bool = False) -> None:
    """Print text for people: colours of `paint` reach the terminal, control characters from anywhere else are written out."""
    parts = _OWN_COLOUR.split(text)
    shown = [part.replace(_OWN_ESCAPE, "\x1b") if place % 2 else plain(part) for place, part in enumerate(parts)]
    print("".join(shown), file=sys.stdout if file is None else file, flush=flush)


def has_colour() -> bool:
    """Whether standard output is a terminal that wants colour (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def has_unicode(stream: Any = None) -> bool:
    """Whether a stream (default: standard output) can take block characters; what cannot gets ASCII."""
    stream = sys.stdout if stream is None else stream
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "").replace("_", "")
    return encoding.startswith("utf")


def paint(text: str, *shades: str) -> str:
    """The text in these shades, where there is colour; for `say`."""
    if not shades or not has_colour():
        return text
    return f"{_OWN_ESCAPE}[{';'.join(SHADES[shade] for shade in shades)}m{text}{_OWN_ESCAPE}[0m"


def bar(share: float, width: int, *, is_ascii: bool) -> str:
    """A bar of `width` cells, filled to `share` (0 to 1)."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    if is_ascii:
        full = round(eighths / 8)
        return "#" * full + "." * (width - full)
    full, part = divmod(eighths, 8)
    text = EIGHTHS[8] * full + (EIGHTHS[part] if part else "")
    return text + "░" * (width - len(text))


def console() -> Console:
    """A rich console; colour only on terminals, NO_COLOR is honoured, files get a fixed width."""
    from rich.console import Console

    result = Console(highlight=False)
    if not result.is_terminal:
        result = Console(highlight=False, width=LOG_WIDTH_COLUMNS)
    return result


def print_table(title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """Print a table; `columns` are (header, left or right)."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(plain(title)), title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for header, side in columns:
        table.add_column(header, justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        # As `Text`, so that square brackets are text and not Rich's markup.
        table.add_row(*(Text(plain(cell, is_one_line=True)) for cell in row))
    console().print(table)


def table_lines(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table as lines of text, without the time that Rich takes to load; `columns` are (header, left or right)."""
    rows = [[plain(cell, is_one_line=True) for cell in row] for row in rows]
    widths = [max(len(header), *(len(row[place]) for row in rows), 0) for place, (header, _) in enumerate(columns)]
    lines = []
    for row in ([header for header, _ in columns], *rows):
        cells = [
            cell.rjust(width) if side == "right" else cell.ljust(width)
            for cell, width, (_, side) in zip(row, widths, columns, strict=True)
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def bytes_text(count: float) -> str:
    """A number of bytes as people read it, in powers of 1024."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def seconds_text(seconds: float) -> str:
    """A duration as people read it."""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.2f} ms"
    return f"{seconds * 1e6:.2f} µs"


def estimate_text(kernel: Mapping[str, Any]) -> str:
    """The time of a kernel as `figures.kernels` has it, marked where only a sample of its launches was timed."""
    return f"{'~' if kernel['is_estimated'] else ''}{seconds_text(kernel['seconds'])}"


def count_text(count: float) -> str:
    """A number as people read it, in powers of 1000."""
    for unit in ("", "k", "M", "G"):
        if abs(count) < 1000:
            return f"{count:.0f}{unit}" if not unit or abs(count) >= 100 else f"{count:.1f}{unit}"
        count /= 1000
    return f"{count:.1f}T"


def command_text(command: str) -> str:
    """A command line with the names of its files instead of their paths, for places that are narrow."""
    return " ".join(word.rpartition("/")[2] or word for word in command.split(" "))


def percent_text(share: float) -> str:
    """A share (0 to 1) in percent."""
    return f"{share * 100:.0f} %" if share >= 0.1 or share == 0 else f"{share * 100:.1f} %"

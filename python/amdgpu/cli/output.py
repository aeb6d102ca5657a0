"""How commands print: versioned JSON, or text that is fine without colour and in a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from rich.console import Console

LOG_WIDTH_COLUMNS = 120


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """The option that every command has."""
    parser.add_argument("--json", action="store_true", help="print JSON with a versioned schema")


def print_json(schema: str, content: dict[str, Any]) -> None:
    """Print one JSON document; `schema` is NAME/VERSION and changes when a field changes its meaning."""
    print(json.dumps({"schema": schema, **content}, indent=2, ensure_ascii=False, default=str))


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

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    for header, side in columns:
        table.add_column(header, justify="right" if side == "right" else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)


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

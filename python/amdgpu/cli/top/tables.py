"""The tables of the live view: their columns, how they are sorted, and what Enter shows of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from textual.widgets import DataTable

from amdgpu.cli import output
from amdgpu.cli.top.frame import DeviceNow, Frame, KernelNow, PoolNow, ProcessNow

Entry = DeviceNow | KernelNow | PoolNow | ProcessNow


@dataclass(frozen=True)
class Column:
    """One column: its header, the text of a cell, and what it is sorted by."""

    header: str
    text: Callable[[Any], str]
    key: Callable[[Any], Any]
    is_number: bool = True


@dataclass(frozen=True)
class Spec:
    """A table: its id, its title, which entries of a frame it has, its columns, and the column that sorts at first."""

    name: str
    title: str
    entries: Callable[[Frame], Sequence[Entry]]
    columns: tuple[Column, ...]
    sorted_by: int


def _number(header: str, key: Callable[[Any], float | None], text: Callable[[float], str]) -> Column:
    def cell(entry: Any) -> str:
        value = key(entry)
        return "-" if value is None else text(value)

    return Column(header, cell, lambda entry: -1.0 if (value := key(entry)) is None else value)


def _word(header: str, key: Callable[[Any], str]) -> Column:
    return Column(header, key, key, is_number=False)


def _rate(value: float) -> str:
    return output.count_text(value)


def _command(row: ProcessNow) -> str:
    short = output.command_text(row.command)
    return short if row.problem is None else f"{short} ({row.problem})"


TABLES = (
    Spec(
        "processes",
        "processes",
        lambda frame: frame.processes,
        (
            _number("pid", lambda row: row.pid, str),
            _number("busy", lambda row: row.busy_ratio, output.percent_text),
            _number("launches/s", lambda row: row.launches_per_second, _rate),
            _number("calls/s", lambda row: row.boundary_calls_per_second, _rate),
            _number("memory", lambda row: row.pool_reserved_bytes, output.bytes_text),
            _number("fallbacks", lambda row: row.fallbacks, str),
            _word("command", _command),
        ),
        1,
    ),
    Spec(
        "kernels",
        "kernels",
        lambda frame: frame.kernels,
        (
            _word("kernel", lambda row: row.title),
            _word("device", lambda row: row.device),
            _number("busy", lambda row: row.busy_ratio, output.percent_text),
            _number("calls/s", lambda row: row.calls_per_second, _rate),
            _number("calls", lambda row: row.calls, output.count_text),
            _number("median", lambda row: row.p50_seconds, output.seconds_text),
            Column("time", lambda row: output.estimate_text(asdict(row)), lambda row: row.seconds),
            _number("pid", lambda row: row.pid, str),
        ),
        2,
    ),
    Spec(
        "pools",
        "memory",
        lambda frame: [pool for pool in frame.pools if pool.reserved_peak_bytes or pool.reserved_bytes],
        (
            _number("pid", lambda row: row.pid, str),
            _word("device", lambda row: row.device),
            _word("pool", lambda row: row.pool),
            _number("in use", lambda row: row.active_bytes, output.bytes_text),
            _number("reserved", lambda row: row.reserved_bytes, output.bytes_text),
            _number("peak", lambda row: row.reserved_peak_bytes, output.bytes_text),
        ),
        4,
    ),
    Spec(
        "devices",
        "devices",
        lambda frame: frame.devices,
        (
            _word("device", lambda row: row.device),
            _number("busy", lambda row: row.busy_ratio, output.percent_text),
            _number("memory", lambda row: row.memory_ratio, output.percent_text),
            _number("launches/s", lambda row: row.launches_per_second, _rate),
            _number("heat", lambda row: row.temperature_celsius, lambda value: f"{value:.0f} C"),
            _number("power", lambda row: row.power_watts, lambda value: f"{value:.0f} W"),
            _word("name", lambda row: row.description),
        ),
        1,
    ),
)


class Table:
    """A table on the screen, filled from frames, sorted as the user likes."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.sort_place = spec.sorted_by
        self.is_descending = spec.columns[spec.sorted_by].is_number
        self.is_ascii = False
        self._rows: list[Entry] = []
        self._widget: DataTable[Any] | None = None

    def widget(self) -> DataTable[Any]:
        """The widget, made once."""
        table: DataTable[Any] = DataTable(id=self.spec.name, cursor_type="row", zebra_stripes=True)
        for column in self.spec.columns:
            table.add_column(column.header)
        self._widget = table
        return table

    @property
    def sort_title(self) -> str:
        """Header of the column that sorts."""
        return self.spec.columns[self.sort_place].header

    def sort_next(self) -> None:
        """Sort by the next column."""
        self._sort((self.sort_place + 1) % len(self.spec.columns))

    def sort_by(self, place: int) -> None:
        """Sort by a column; by the same one again, the other way round."""
        if place == self.sort_place:
            self.is_descending = not self.is_descending
        else:
            self._sort(place)

    def _sort(self, place: int) -> None:
        self.sort_place = place
        self.is_descending = self.spec.columns[place].is_number

    def fill(self, frame: Frame) -> None:
        """Show the entries of a frame. The cursor stays on its line."""
        from rich.text import Text

        if self._widget is None:
            return
        key = self.spec.columns[self.sort_place].key
        self._rows = sorted(self.spec.entries(frame), key=key, reverse=self.is_descending)
        table = self._widget
        line, left = table.cursor_row, table.scroll_offset
        table.clear()
        for row in self._rows:
            cells = [
                (column, self._plain(output.plain(column.text(row), is_one_line=True))) for column in self.spec.columns
            ]
            table.add_row(*(Text(text, justify="right" if column.is_number else "left") for column, text in cells))
        if self._rows:
            table.move_cursor(row=min(line, len(self._rows) - 1), animate=False, scroll=False)
            table.scroll_to(left.x, left.y, animate=False, force=True)

    def entry(self, line: int) -> Entry | None:
        """The entry on a line."""
        return self._rows[line] if 0 <= line < len(self._rows) else None

    def details(self, entry: Entry) -> tuple[str, str]:
        """Title and text of what Enter shows: every field, reasons for what is absent included."""
        fields = asdict(entry)
        reasons = fields.pop("reasons", {})
        width = max(len(name) for name in (*fields, *reasons))
        lines = [f"{name.ljust(width)}  {'-' if value is None else value}" for name, value in fields.items()]
        lines += [f"{name.ljust(width)}  not known: {reason}" for name, reason in reasons.items()]
        return self.spec.title, self._plain("\n".join(lines))

    def _plain(self, text: str) -> str:
        shown = output.plain(text)
        return shown.replace("µ", "u").encode("ascii", "replace").decode() if self.is_ascii else shown

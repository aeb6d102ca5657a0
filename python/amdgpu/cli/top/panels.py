"""Parts of the live view's screen: a graph with its figures, and the row of pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from textual import events
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from amdgpu.cli import output
from amdgpu.cli.top.graph import graph, scaled

# Lines of a panel that are text and not graph.
TEXT_LINES = 2
GAP_CELLS = 2


class GraphPanel(Widget):
    """A graph under its title, with a line of figures above and one below."""

    is_ascii: reactive[bool] = reactive(False)

    def __init__(self, *, id: str) -> None:  # noqa: A002  (Textual's name)
        super().__init__(id=id)
        self._lines = ("", "")
        self._values: list[float | None] = []

    def show(
        self, title: str, above: str, below: str, values: Sequence[float | None], *, is_scaled: bool = False
    ) -> None:
        """Show figures and values; `is_scaled` draws values without a bound, the largest at the top."""
        self.border_title = output.plain(title, is_one_line=True).replace("[", "\\[")
        self._lines = output.plain(above, is_one_line=True), output.plain(below, is_one_line=True)
        self._values, _ = scaled(list(values)) if is_scaled else (list(values), 1.0)
        self.refresh()

    def render(self) -> Any:
        """The lines of the panel."""
        from rich.text import Text

        width, height = self.size
        above, below = self._lines
        drawn = graph(self._values, width, max(height - TEXT_LINES, 1), is_ascii=self.is_ascii)
        text = Text(no_wrap=True, overflow="crop")
        text.append(above[:width].ljust(width) + "\n", "bold")
        text.append("\n".join(drawn) + "\n", self.rich_style.color and str(self.rich_style.color.name))
        text.append(below[:width])
        return text


class TabBar(Widget):
    """The pages, of which one is shown; clicked or chosen by number."""

    current: reactive[int] = reactive(0)

    class Chosen(Message):
        """A page was clicked."""

        def __init__(self, place: int) -> None:
            super().__init__()
            self.place = place

    def __init__(self, titles: Sequence[str], *, id: str) -> None:  # noqa: A002  (Textual's name)
        super().__init__(id=id)
        self._cells = [f" {number} {title} " for number, title in enumerate(titles, 1)]

    def render(self) -> Any:
        """The titles in a row."""
        from rich.text import Text

        text = Text(no_wrap=True)
        for place, cell in enumerate(self._cells):
            text.append(cell, "reverse bold" if place == self.current else "")
            text.append(" " * GAP_CELLS)
        return text

    def on_click(self, event: events.Click) -> None:
        """Find the title under the pointer."""
        start = 0
        for place, cell in enumerate(self._cells):
            if start <= event.x < start + len(cell):
                self.post_message(self.Chosen(place))
            start += len(cell) + GAP_CELLS

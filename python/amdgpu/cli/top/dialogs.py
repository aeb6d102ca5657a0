"""Screens over the live view: the keys, and text about a row."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from amdgpu.cli import output

HELP = """\
1 2 3 4, Tab        pages: processes, kernels, memory, devices
d                   graphs of the next device
s, r                sort by the next column, the other way round
Enter, click        details of a row: of a kernel its source and assembly
click a header      sort by that column
Space, p            pause and go on
+ and -             read more often, less often
Left, Right         back and forward in a recording
t                   next theme          (NO_COLOR: no colours)
a                   ASCII in place of braille and lines
q, Ctrl-C           quit

busy is what the device's sensor says; aura, matrix and neuromorphic are the
shares of the time in which kernels of that core ran, as their processes
measured them. A dash is not known; the devices page says why.
"""


class TextScreen(ModalScreen[None]):
    """Text that scrolls, until a key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,enter,question_mark", "close", "close", priority=True)]

    def __init__(self, title: str, text: str, *, is_ascii: bool) -> None:
        super().__init__()
        self._title = output.plain(title, is_one_line=True)
        self._text = output.plain(text)
        self.set_class(is_ascii, "ascii")

    def compose(self) -> ComposeResult:
        """A box with a title, and how to leave it."""
        with VerticalScroll(id="dialog") as box:
            box.border_title = self._title.replace("[", "\\[")
            box.border_subtitle = "Esc closes"
            yield Static(self._text, markup=False)

    def action_close(self) -> None:
        """Back to the view."""
        self.dismiss()


class HelpScreen(TextScreen):
    """The keys."""

    def __init__(self, *, is_ascii: bool) -> None:
        super().__init__("keys", HELP, is_ascii=is_ascii)

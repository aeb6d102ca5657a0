"""The live view itself: graphs of a device, and tables of processes, kernels, pools and devices, for keyboard and mouse."""

from __future__ import annotations

import socket
import time
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any, ClassVar, Protocol

from textual import events, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.reactive import reactive
from textual.widgets import ContentSwitcher, DataTable, Static

from amdgpu.cli import output
from amdgpu.cli.top.dialogs import HelpScreen, TextScreen
from amdgpu.cli.top.frame import DeviceNow, Frame, KernelNow
from amdgpu.cli.top.panels import GraphPanel, TabBar
from amdgpu.cli.top.tables import TABLES, Table

MIN_COLUMNS, MIN_LINES = 80, 24
# Samples that a graph keeps: two to a cell in braille, for a terminal of 300 columns.
HISTORY = 600
# From this width on there is room for a third graph.
THREE_GRAPHS_COLUMNS = 110
INTERVALS = (0.25, 0.5, 1.0, 2.0, 5.0)
# Colours that people with any colour vision tell apart come first; the rest are Textual's own.
THEMES = ("textual-dark", "textual-light", "nord", "gruvbox", "solarized-light", "textual-ansi")


class Source(Protocol):
    """Where frames come from: what runs now, or a recording."""

    def frame(self) -> Frame:
        """The frame of this moment."""

    def play(self) -> None:
        """Let the time of a recording go on."""

    def kernel_text(self, kernel: KernelNow) -> str:
        """What is known about a kernel: source, passes, assembly."""

    def position_text(self) -> str:
        """Where in a recording the view is; empty for what runs now."""

    def seek(self, seconds: float) -> bool:
        """Go that far in a recording; False for what runs now."""


class TopApp(App[None]):
    """`amdgpu top`."""

    ENABLE_COMMAND_PALETTE = False
    TITLE = "amdgpu top"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", "quit"),
        Binding("question_mark,h,f1", "help", "help"),
        Binding("space,p", "pause", "pause"),
        Binding("1", "tab(0)", "processes"),
        Binding("2", "tab(1)", "kernels"),
        Binding("3", "tab(2)", "memory"),
        Binding("4", "tab(3)", "devices"),
        Binding("tab", "next_tab(1)", "next page", priority=True),
        Binding("shift+tab", "next_tab(-1)", "page before", priority=True),
        Binding("d", "next_device", "device"),
        Binding("s", "sort", "sort"),
        Binding("r", "reverse", "reverse"),
        Binding("t", "theme", "theme"),
        Binding("a", "ascii", "ASCII"),
        Binding("plus,equals_sign", "rate(-1)", "faster"),
        Binding("minus", "rate(1)", "slower"),
        Binding("left", "seek(-5)", "back", priority=True),
        Binding("right", "seek(5)", "forward", priority=True),
    ]

    is_paused: reactive[bool] = reactive(False)
    is_ascii: reactive[bool] = reactive(False)

    def __init__(
        self, source: Source, *, interval_seconds: float = 1.0, is_ascii: bool = False, theme: str = THEMES[0]
    ) -> None:
        super().__init__()
        self.source = source
        self.interval_seconds = interval_seconds
        self.shown: Frame | None = None
        self.problem = ""
        self.device_place = 0
        self.history: defaultdict[tuple[str, str], deque[float | None]] = defaultdict(lambda: deque(maxlen=HISTORY))
        self.tables = [Table(spec) for spec in TABLES]
        self.tab_place = 0
        self._is_reading = False
        self._due = 0.0
        self.set_reactive(TopApp.is_ascii, is_ascii)
        self.theme = theme

    def compose(self) -> ComposeResult:
        """The parts of the screen."""
        yield Static(id="title", markup=False)
        with Horizontal(id="graphs"):
            yield GraphPanel(id="busy")
            yield GraphPanel(id="memory")
            yield GraphPanel(id="launches")
        yield TabBar([table.spec.title for table in self.tables], id="tabs")
        with ContentSwitcher(initial=self.tables[0].spec.name, id="pages"):
            for table in self.tables:
                yield table.widget()
        yield Static(id="keys", markup=False)
        yield Static(id="small", markup=False)

    def on_mount(self) -> None:
        """Begin to read."""
        self.watch_is_ascii(self.is_ascii)
        self._fit()
        self._page().focus()
        self.set_interval(min(INTERVALS) / 2, self._tick)
        self.read_frame()

    def _tick(self) -> None:
        if not self.is_paused and time.monotonic() >= self._due:
            self.read_frame()

    def read_frame(self) -> None:
        """Ask for a frame in a thread of its own; one at a time, so a machine that answers slowly is not asked more often."""
        if not self._is_reading:
            self._is_reading = True
            self._due = time.monotonic() + self.interval_seconds
            self._read()

    @work(thread=True)
    def _read(self) -> None:
        try:
            self.source.play()
            frame = self.source.frame()
        except Exception as error:  # noqa: BLE001  (whatever it is, the view says so and goes on)
            self.call_from_thread(self._failed, str(error) or type(error).__name__)
        else:
            self.call_from_thread(self.show_frame, frame)

    def _failed(self, problem: str) -> None:
        self._is_reading = False
        self.problem = problem.splitlines()[0]
        self._draw()

    def show_frame(self, frame: Frame) -> None:
        """Show a frame, and add it to the graphs."""
        self._is_reading = False
        self.problem = ""
        missed = self._missed(frame)
        self.shown = frame
        peaks: dict[str, float | None] = {}
        for device in frame.devices:
            peaks = {
                "busy": device.busy_ratio
                if device.busy_ratio is not None
                else max(device.core_busy_ratios.values(), default=None),
                "memory": device.memory_ratio,
                "launches": device.launches_per_second,
            }
            for name, value in peaks.items():
                self.history[device.device, name].extend([*[None] * missed, value])
        self._draw()

    def _missed(self, frame: Frame) -> int:
        """Frames that did not come since the last one, because the view was paused or the machine too busy: gaps of the graphs."""
        if self.shown is None:
            return 0
        elapsed_seconds = (frame.time_ns - self.shown.time_ns) / 1e9
        # A frame that comes a little late is none that is missing.
        return min(max(round(elapsed_seconds / self.interval_seconds) - 1, 0), HISTORY)

    def _draw(self) -> None:
        if not self.query("#title"):
            # A frame that was under way when the view was closed.
            return
        self.query_one("#title", Static).update(self._title())
        self.query_one("#keys", Static).update(self._keys())
        frame = self.shown
        if frame is None:
            return
        if frame.devices:
            self._draw_graphs(frame.devices[self.device_place % len(frame.devices)])
        for table in self.tables:
            table.fill(frame)

    def _draw_graphs(self, device: DeviceNow) -> None:
        busy, memory, launches = (self.query_one(f"#{name}", GraphPanel) for name in ("busy", "memory", "launches"))
        dot = "|" if self.is_ascii else "·"
        # Short names, so that all three stand beside each other in half of the smallest terminal.
        shares = ((core.replace("neuromorphic", "neuro"), ratio) for core, ratio in device.core_busy_ratios.items())
        cores = f" {dot} ".join(f"{core} {output.percent_text(ratio)}" for core, ratio in shares)
        known = "-" if device.busy_ratio is None else output.percent_text(device.busy_ratio)
        conditions = [
            "" if device.temperature_celsius is None else f"{device.temperature_celsius:.0f} C",
            "" if device.power_watts is None else f"{device.power_watts:.0f} W",
            "" if device.clock_hertz is None else f"{device.clock_hertz / 1e6:.0f} MHz",
        ]
        more = "  ".join(part for part in conditions if part)
        busy.show(
            f"{device.device} {device.description}",
            f"busy {known}  {more}".rstrip(),
            cores,
            self.history[device.device, "busy"],
        )
        used, total = device.memory_used_bytes, device.memory_total_bytes
        amount = (
            device.reasons.get("memory_used_bytes", "not known")
            if used is None or total is None
            else f"{output.bytes_text(used)} of {output.bytes_text(total)}"
        )
        copied = f"copies {output.bytes_text(device.copy_bytes_per_second)}/s"
        memory.show("memory", amount, copied, self.history[device.device, "memory"])
        rate = f"{output.count_text(device.launches_per_second)}/s"
        launches.show("launches", rate, "", self.history[device.device, "launches"], is_scaled=True)

    def _title(self) -> str:
        dot = "|" if self.is_ascii else "·"
        state = "paused" if self.is_paused else self.source.position_text() or f"every {self.interval_seconds:g} s"
        count = 0 if self.shown is None else len(self.shown.processes)
        parts = [f"amdgpu top {dot} {socket.gethostname()}", f"{count} process{'' if count == 1 else 'es'}", state]
        parts += [self.problem] if self.problem else []
        parts += self.shown.notes if self.shown is not None else []
        return output.plain(f" {dot} ".join(parts), is_one_line=True)

    def _keys(self) -> str:
        table = self.tables[self.tab_place]
        arrow = ("v" if table.is_descending else "^") if self.is_ascii else ("↓" if table.is_descending else "↑")
        return f" q quit  ? help  space pause  1-4 pages  d device  s sort: {table.sort_title}{arrow}  enter details  t theme  a ascii"

    def _page(self) -> DataTable[Any]:
        return self.query_one(f"#{self.tables[self.tab_place].spec.name}", DataTable)

    def watch_is_ascii(self, is_ascii: bool) -> None:
        """Everything that is drawn with more than ASCII has a second form."""
        self.set_class(is_ascii, "ascii")
        for panel in self.query(GraphPanel):
            panel.is_ascii = is_ascii
        for table in self.tables:
            table.is_ascii = is_ascii
        self._draw()

    def watch_is_paused(self) -> None:
        """Say so at once."""
        self._draw()

    def on_resize(self, event: events.Resize) -> None:
        """Use the room there is, and say when it is too little."""
        self._fit(event.size.width, event.size.height)

    def _fit(self, width: int | None = None, height: int | None = None) -> None:
        columns, lines = width or self.size.width, height or self.size.height
        is_small = columns < MIN_COLUMNS or lines < MIN_LINES
        self.set_class(is_small, "too-small")
        self.query_one("#small", Static).update(
            f"The terminal has {columns} x {lines} cells.\n"
            f"amdgpu top needs {MIN_COLUMNS} x {MIN_LINES}: enlarge it,\nor `amdgpu top --once` (q quits)."
        )
        self.query_one("#launches").display = columns >= THREE_GRAPHS_COLUMNS

    def action_help(self) -> None:
        """Show the keys."""
        self.push_screen(HelpScreen(is_ascii=self.is_ascii))

    def action_pause(self) -> None:
        """Stop reading, or go on."""
        self.is_paused = not self.is_paused
        # A recording goes on from here, not from where it would be by now.
        self.source.seek(0)

    def action_tab(self, place: int) -> None:
        """Show a page."""
        self.tab_place = place
        self.query_one("#pages", ContentSwitcher).current = self.tables[place].spec.name
        self.query_one(TabBar).current = place
        self._page().focus()
        self._draw()

    def action_next_tab(self, step: int) -> None:
        """Show the page beside this one."""
        self.action_tab((self.tab_place + step) % len(self.tables))

    def action_next_device(self) -> None:
        """Draw the graphs of the next device."""
        self.device_place += 1
        self._draw()

    def action_sort(self) -> None:
        """Sort by the next column."""
        self.tables[self.tab_place].sort_next()
        self._draw()

    def action_reverse(self) -> None:
        """Sort the other way round."""
        self.tables[self.tab_place].is_descending ^= True
        self._draw()

    def action_theme(self) -> None:
        """Take the next theme."""
        place = THEMES.index(self.theme) if self.theme in THEMES else -1
        self.theme = THEMES[(place + 1) % len(THEMES)]

    def action_ascii(self) -> None:
        """Draw with ASCII, or not."""
        self.is_ascii = not self.is_ascii

    def action_rate(self, step: int) -> None:
        """Read less or more often."""
        nearest = min(range(len(INTERVALS)), key=lambda place: abs(INTERVALS[place] - self.interval_seconds))
        self.interval_seconds = INTERVALS[min(max(nearest + step, 0), len(INTERVALS) - 1)]
        self._due = 0.0
        self._draw()

    def action_seek(self, seconds: int) -> None:
        """Go back or forward in a recording."""
        if self.source.seek(seconds):
            self.history.clear()
            self.read_frame()

    def on_tab_bar_chosen(self, event: TabBar.Chosen) -> None:
        """A page was clicked."""
        self.action_tab(event.place)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """A column was clicked: sort by it, and the second time the other way round."""
        self.tables[self.tab_place].sort_by(event.column_index)
        self._draw()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """A row was chosen: show more of it."""
        entry = self.tables[self.tab_place].entry(event.cursor_row)
        if isinstance(entry, KernelNow):
            self._show_kernel(entry)
        elif entry is not None:
            self.push_screen(TextScreen(*self.tables[self.tab_place].details(entry), is_ascii=self.is_ascii))

    @work(thread=True)
    def _show_kernel(self, kernel: KernelNow) -> None:
        text = self.source.kernel_text(kernel)
        self._from_thread(lambda: self.push_screen(TextScreen(f"kernel {kernel.title}", text, is_ascii=self.is_ascii)))

    def _from_thread(self, call: Callable[[], object]) -> None:
        self.call_from_thread(call)

"""`amdgpu top`: devices, processes and kernels live; one picture or JSON lines where there is no terminal to draw on."""

from __future__ import annotations

import math
import os
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.failure import CommandError, UsageError

if TYPE_CHECKING:
    import argparse

    from amdgpu.cli.top.frame import Frame

SCHEMA = "amdgpu.top/1"
DEFAULT_SECONDS = 1.0
# Rates of one picture are those of this long.
ONCE_SECONDS = 0.5
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 3600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--pid", type=int, metavar="PID", help="only this process")
    add_view_options(parser)


def add_view_options(parser: argparse.ArgumentParser) -> None:
    """The options that `top` and `replay` share."""
    parser.add_argument(
        "--interval",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="seconds between two looks (default: %(default)s)",
    )
    parser.add_argument("--once", action="store_true", help="print one picture and stop")
    parser.add_argument("--count", type=int, metavar="N", help="with --json: stop after N lines")
    parser.add_argument(
        "--ascii", action="store_true", help="ASCII in place of braille and lines; NO_COLOR takes the colours away"
    )
    parser.add_argument(
        "--theme", default="textual-dark", metavar="NAME", help="one of Textual's themes (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document a line, with a versioned schema")


def run(options: argparse.Namespace) -> int:
    """Watch until the user has seen enough."""
    check_view_options(options)
    if not options.once and not options.json:
        require_screen()
    from amdgpu.cli.top.live import LiveSource

    with LiveSource(options.pid) as source:
        source.require_process()
        return show(source, options)


def check_view_options(options: argparse.Namespace) -> None:
    """Refuse numbers that make no sense.

    Raises:
        UsageError: One does not.
    """
    if not (math.isfinite(options.interval) and SHORTEST_SECONDS <= options.interval <= LONGEST_SECONDS):
        raise UsageError(
            f"--interval must be between {SHORTEST_SECONDS} and {LONGEST_SECONDS:.0f} seconds, got {options.interval}"
        )
    if options.count is not None and options.count < 1:
        raise UsageError(f"--count must be at least 1, got {options.count}")


def show(source: Any, options: argparse.Namespace) -> int:
    """Show the frames of a source in the form that was asked for."""
    is_ascii = options.ascii or not output.has_unicode()
    if options.json:
        return _print_lines(source, options)
    if options.once:
        output.say("\n".join(_once(source, is_ascii=is_ascii)))
        return 0
    from amdgpu.cli.top.app import TopApp

    app = TopApp(source, interval_seconds=options.interval, is_ascii=is_ascii)
    if options.theme not in app.available_themes:
        raise UsageError(f"--theme must be one of {', '.join(sorted(app.available_themes))}, got {options.theme}")
    app.theme = options.theme
    app.run()
    return app.return_code or 0


def require_screen() -> None:
    """Say what to do where the live view cannot be drawn.

    Raises:
        CommandError: There is no terminal, or no Textual.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError("the live view needs a terminal; `--once` prints one picture, `--json` one document a line")
    if os.environ.get("TERM") == "dumb":
        raise CommandError("the live view needs more than a dumb terminal; `--once` prints one picture")
    if find_spec("textual") is None:
        raise CommandError(
            "the live view needs Textual: pip install 'amdgpu-framework[top]'; `--once` and `--json` work without it"
        )


def _once(source: Any, *, is_ascii: bool) -> list[str]:
    from amdgpu.cli.top import text

    return text.lines(_second_frame(source, ONCE_SECONDS), is_ascii=is_ascii)


def _second_frame(source: Any, seconds: float) -> Frame:
    """Rates need two looks."""
    frame: Frame = source.frame()
    if source.is_live:
        threading.Event().wait(seconds)
        frame = source.frame()
    return frame


def _print_lines(source: Any, options: argparse.Namespace) -> int:
    count = 1 if options.once else options.count
    frame = _second_frame(source, min(options.interval, ONCE_SECONDS))
    printed = 0
    while True:
        output.print_json_line(SCHEMA, frame.as_json())
        printed += 1
        if printed == count or source.is_over:
            return 0
        if source.is_live:
            threading.Event().wait(options.interval)
        else:
            source.seek(options.interval)
        frame = source.frame()

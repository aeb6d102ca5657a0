"""`amdgpu run -- PROGRAM`: run a program, then sum up on one card what it did and what it cost."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.watch import card, program, watched

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.run/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--md", action="store_true", help="the card as Markdown")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write the card or the JSON there; default: standard error, JSON to standard output",
    )
    output.add_json_option(parser)
    program.add_program_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the program and print the card; the exit code is the program's."""
    words = program.require_program(options)
    seen = watched.run(words)
    content = summary(seen)
    if options.json:
        _write(options.output, output.json_text(SCHEMA, content), sys.stdout)
    else:
        text = card.markdown(content) if options.md else card.text(content)
        # Standard output belongs to the program, which may be one end of a pipe.
        _write(options.output, text, sys.stderr)
    return seen.ended.exit_code


def summary(seen: watched.Watched) -> dict[str, Any]:
    """The card as a JSON document shows it."""
    ended = seen.ended
    return {
        "program": seen.words,
        "exit_code": ended.exit_code,
        "signal": ended.signal_name,
        "seconds": ended.seconds,
        "user_seconds": ended.user_seconds,
        "system_seconds": ended.system_seconds,
        "peak_resident_bytes": _peak(seen),
        "energy": seen.energy,
        "processes": seen.processes,
        **seen.figures(),
    }


def _peak(seen: watched.Watched) -> int | None:
    """The largest of the program's processes; None when none is known."""
    known = [process["peak_resident_bytes"] for process in seen.processes] + [seen.ended.peak_resident_bytes]
    return max((peak for peak in known if peak is not None), default=None)


def _write(path: str | None, text: str, stream: Any) -> None:
    if path is None:
        output.say(text, file=stream)
    else:
        Path(path).write_text(text + "\n", encoding="utf-8")

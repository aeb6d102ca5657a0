"""`amdgpu record FILE`: what a process or a program does, into a file that `replay` and `explain` read."""

from __future__ import annotations

import glob
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from amdgpu.cli import output
from amdgpu.cli.failure import CommandError, UsageError
from amdgpu.cli.watch import program, recordings

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.record/1"
NOTHING = "nothing was recorded: no process of the program imported amdgpu"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="the recording; a file that is there is replaced")
    parser.add_argument("--pid", type=int, metavar="PID", help="record this process")
    parser.add_argument(
        "--all", action="store_true", help="record all processes of this user, those that come later too"
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="of a process: stop after so long; default: at its end or at Ctrl-C"
    )
    output.add_json_option(parser)
    parser.usage = "%(prog)s [-h] [--pid PID | --all] [--seconds S] [--json] FILE [-- PROGRAM ...]"
    parser.set_defaults(program=[])


def run(options: argparse.Namespace) -> int:
    """Record. The exit code is the program's where one was run."""
    words: list[str] = options.program
    if sum((bool(words), options.pid is not None, options.all)) != 1:
        raise UsageError("record what? One of: --pid PID, --all, -- PROGRAM ...")
    if options.seconds is not None and not (math.isfinite(options.seconds) and options.seconds > 0):
        raise UsageError(f"--seconds must be above 0, got {options.seconds}")
    if words and options.seconds is not None:
        raise UsageError("--seconds is for processes that run already; a program is recorded to its end")
    if words:
        return _program(options, words)
    from amdgpu.telemetry import recorder

    count = recorder.record(options.file, pid="all" if options.all else options.pid, duration=options.seconds)
    _tell(options, count, None, [])
    return 0


def _program(options: argparse.Namespace, words: list[str]) -> int:
    """Each process of the program records itself from its first moment, beside the file; the largest recording becomes the file."""
    target = Path(options.file).absolute()
    if not target.parent.is_dir():
        raise CommandError(f"there is no folder {target.parent} for {options.file}")
    ended = program.run(words, {"AMDGPU_REPORT_RECORDING": str(target)})
    parts = sorted(target.parent.glob(f"{glob.escape(target.name)}.[0-9]*"), key=lambda part: -part.stat().st_size)
    if parts:
        parts[0].replace(target)
    count = sum(one.records for one in recordings.read(str(target)).processes) if parts else None
    _tell(options, count, ended.exit_code, [str(part) for part in parts[1:]])
    return ended.exit_code or (1 if count is None else 0)


def _tell(options: argparse.Namespace, count: int | None, exit_code: int | None, others: list[str]) -> None:
    size = Path(options.file).stat().st_size if count is not None else None
    if options.json:
        content = {
            "file": options.file if count is not None else None,
            "records": count,
            "bytes": size,
            "exit_code": exit_code,
        }
        output.print_json(SCHEMA, {**content, "absent": NOTHING if count is None else None})
    elif count is None or size is None:
        output.say(f"amdgpu: {NOTHING}", file=sys.stderr)
    else:
        output.say(
            f"amdgpu: {options.file}: {output.count_text(count)} records, {output.bytes_text(size)}; "
            f"`amdgpu replay {options.file}` shows it",
            file=sys.stderr,
        )
        if others:
            output.say(f"amdgpu: further processes of the program: {', '.join(others)}", file=sys.stderr)

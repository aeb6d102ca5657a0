"""`amdgpu trace -- PROGRAM`: run a program and write what happened when, for Perfetto or Chrome."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from amdgpu.cli import output
from amdgpu.cli.failure import UsageError
from amdgpu.cli.watch import program, traces, watched
from amdgpu.telemetry.report import MAX_RECORDS

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.trace/1"
DEFAULT_FILE = "amdgpu-trace.json"
DEFAULT_RECORDS = 1 << 18


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "-o",
        "--output",
        default=DEFAULT_FILE,
        metavar="FILE",
        help="FILE.pftrace for Perfetto, FILE.json for Chrome (default: %(default)s)",
    )
    parser.add_argument(
        "--records",
        type=int,
        default=DEFAULT_RECORDS,
        metavar="N",
        help="the newest N records are kept (default: %(default)s)",
    )
    output.add_json_option(parser)
    program.add_program_argument(parser)


def run(options: argparse.Namespace) -> int:
    """Run the program and write the trace; the exit code is the program's, or 1 if there is nothing to write."""
    words = program.require_program(options)
    traces.check_ending(options.output)
    if not 1 <= options.records <= MAX_RECORDS:
        raise UsageError(f"--records must be between 1 and {MAX_RECORDS}, got {options.records}")
    seen = watched.run(words, records=options.records)
    snapshots = seen.with_records()
    count = sum(len(snapshot["records"]) for snapshot in snapshots)
    size = traces.write(options.output, snapshots) if snapshots else None
    if options.json:
        content = {
            "output": options.output if size is not None else None,
            "bytes": size,
            "records": count,
            "dropped": seen.dropped,
            "exit_code": seen.ended.exit_code,
            "absent": seen.absent,
        }
        output.print_json(SCHEMA, content)
    elif size is None:
        output.say(f"amdgpu: no trace: {seen.absent}", file=sys.stderr)
    else:
        lost = f", {output.count_text(seen.dropped)} older ones lost (--records keeps more)" if seen.dropped else ""
        where = "ui.perfetto.dev" if not options.output.endswith(".json") else "ui.perfetto.dev or chrome://tracing"
        output.say(
            f"amdgpu: {options.output}: {output.count_text(count)} records, {output.bytes_text(size)}{lost}; open it in {where}",
            file=sys.stderr,
        )
    return seen.ended.exit_code or (1 if size is None else 0)

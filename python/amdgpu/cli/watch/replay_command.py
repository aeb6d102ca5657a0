"""`amdgpu replay FILE`: the live view over a recording, or its summary."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.failure import UsageError
from amdgpu.cli.top import top_command
from amdgpu.cli.watch import figures, recordings

if TYPE_CHECKING:
    import argparse

    from amdgpu.telemetry.recorder import Recording

SCHEMA = "amdgpu.replay/1"
TOP_KERNELS = 10


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("file", metavar="FILE", help="a recording of `amdgpu record`")
    parser.add_argument("--summary", action="store_true", help="print what is in it, and stop")
    parser.add_argument("--at", type=float, default=0.0, metavar="S", help="begin so many seconds after its start")
    top_command.add_view_options(parser)


def run(options: argparse.Namespace) -> int:
    """Show the recording. Damage is said, and what could be read is shown."""
    top_command.check_view_options(options)
    recording = recordings.read(options.file)
    if recording.damage:
        output.say(f"amdgpu: {options.file}: {recording.damage}", file=sys.stderr)
    if options.summary:
        _print_summary(options, recording)
        return 0
    if not options.once and not options.json:
        top_command.require_screen()
    from amdgpu.cli.top.recorded import RecordedSource

    if not 0 <= options.at <= recording.duration_seconds:
        raise UsageError(
            f"--at must be within the recording, which is {recording.duration_seconds:.1f} s long, got {options.at}"
        )
    return top_command.show(RecordedSource(recording, options.at), options)


def summary(recording: Recording) -> dict[str, Any]:
    """What is in a recording, as a JSON document shows it."""
    return {
        "seconds": recording.duration_seconds,
        "is_complete": recording.is_complete,
        "damage": recording.damage,
        "processes": [
            {"pid": one.pid, "command": " ".join(one.command), "records": one.records, "lost": one.lost}
            for one in recording.processes
        ],
        "readings": len(recording.readings),
        "counted_seconds": recordings.counted_seconds(recording),
        **_figures(recording),
    }


def _figures(recording: Recording) -> dict[str, Any]:
    """What was counted; the medians are those of the launches that have records."""
    content = figures.figures(recordings.counted(recording))
    medians = figures.kernel_medians(recording.records)
    for row in content["kernels"]:
        row["p50_seconds"] = medians.get(figures.kernel_key(row))
    return content


def _print_summary(options: argparse.Namespace, recording: Recording) -> None:
    content = summary(recording)
    if options.json:
        output.print_json(SCHEMA, content)
        return
    ending = "" if content["is_complete"] else ", not ended properly"
    output.say(
        f"{options.file}: {output.seconds_text(content['seconds'])}{ending}, {content['readings']} looks at the sensors"
    )
    rows = [
        [str(one["pid"]), str(one["records"]), str(one["lost"]), output.command_text(one["command"])]
        for one in content["processes"]
    ]
    columns = [("pid", "right"), ("records", "right"), ("lost", "right"), ("command", "left")]
    output.say("\n".join(["", *output.table_lines(columns, rows)]))
    kernels = [
        [row["title"], row["device"], output.count_text(row["calls"]), output.estimate_text(row)]
        for row in content["kernels"][:TOP_KERNELS]
    ]
    if kernels:
        columns = [("kernel", "left"), ("device", "left"), ("calls", "right"), ("time", "right")]
        output.say("\n".join(["", *output.table_lines(columns, kernels)]))

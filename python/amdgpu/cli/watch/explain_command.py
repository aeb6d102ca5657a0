"""`amdgpu explain`: at most three findings about what costs a program, a running process or a recording its time."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amdgpu.cli import output
from amdgpu.cli.failure import UsageError
from amdgpu.cli.watch import program, rules

if TYPE_CHECKING:
    import argparse

    from amdgpu.cli.watch.rules import Finding

SCHEMA = "amdgpu.explain/1"
DEFAULT_SECONDS = 5.0
TEXT_COLUMNS = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument(
        "--pid", type=int, metavar="PID", help="watch this process for a while, instead of running a program"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=DEFAULT_SECONDS,
        metavar="S",
        help="how long a process is watched (default: %(default)s)",
    )
    parser.add_argument("--recording", metavar="FILE", help="explain a recording of `amdgpu record`")
    output.add_json_option(parser)
    program.add_program_argument(parser, is_required=False)


def run(options: argparse.Namespace) -> int:
    """Print the findings. The exit code is the program's; of a process or a recording it is 0."""
    from amdgpu.cli.watch import inputs

    words = program.program_of(options)
    if sum((bool(words), options.pid is not None, options.recording is not None)) != 1:
        raise UsageError(
            "explain what? One of: amdgpu explain -- PROGRAM ..., amdgpu explain --pid PID, amdgpu explain --recording FILE"
        )
    if options.pid is not None:
        subject = inputs.of_process(options.pid, options.seconds)
    elif options.recording is not None:
        subject = inputs.of_recording(options.recording)
    else:
        subject = inputs.of_program(words)
    found = rules.findings(subject.figures, subject.seconds, subject.kernel_details)
    if options.json:
        output.print_json(SCHEMA, _content(subject, found))
    else:
        # Standard output belongs to the program.
        output.say(text(subject, found), file=sys.stderr if words else sys.stdout)
    return subject.exit_code


def _content(subject: Any, found: list[Finding]) -> dict[str, Any]:
    return {
        "subject": subject.name,
        "seconds": subject.seconds,
        "exit_code": subject.exit_code,
        "absent": subject.figures["absent"],
        "figures": {name: value for name, value in subject.figures.items() if name != "absent"},
        "findings": [{**asdict(finding), "speedup": finding.speedup} for finding in found],
    }


def text(subject: Any, found: list[Finding]) -> str:
    """The findings for people."""
    head = f"{subject.name}: watched for {output.seconds_text(subject.seconds)}"
    absent = subject.figures["absent"]
    if absent:
        return f"{head}\n{textwrap.fill(absent, TEXT_COLUMNS, initial_indent='  ', subsequent_indent='  ')}"
    if not found:
        share = output.percent_text(rules.WORTHWHILE_SHARE)
        return f"{head}\n  no rule has a finding: nothing that amdgpu counts takes {share} of the time in vain"
    lines = [head]
    for number, finding in enumerate(found, 1):
        gain = "" if finding.speedup is None else f" (at most {finding.speedup:.2f} times as fast without it)"
        lines += ["", f"{number}. {finding.title}{gain}"]
        for label, part in (
            ("evidence", finding.evidence),
            ("fix", finding.fix),
            ("rule", f"{finding.rule}: {finding.threshold}"),
        ):
            indent = f"   {label.ljust(10)}"
            lines.append(textwrap.fill(part, TEXT_COLUMNS, initial_indent=indent, subsequent_indent=" " * len(indent)))
    return "\n".join(lines)

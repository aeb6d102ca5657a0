"""`amdgpu doctor`: what is installed, what is missing, what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the findings; exit code 1 when a required part is missing."""
    from amdgpu.doctor import doctor, report

    findings = doctor()
    if options.json:
        content = report()
        output.print_json(content.pop("schema"), content)
    else:
        output.print_table(
            "Installation",
            [("part", "left"), ("state", "left"), ("found", "left"), ("what to do", "left")],
            [
                [f.name, "ok" if f.is_ok else "missing" if f.is_required else "absent (optional)", f.found, f.fix]
                for f in findings
            ],
        )
    return 1 if any(f.is_required and not f.is_ok for f in findings) else 0

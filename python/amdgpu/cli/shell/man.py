"""`amdgpu man`: the manual page, as tools/cli_pages made it from the argument parser; `amdgpu man | man -l -` shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli import output, pages

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.man/1"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = "`amdgpu man | man -l -` shows it; in ~/.local/share/man/man1/amdgpu.1 it is found by `man amdgpu`."
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the page."""
    page = pages.read("amdgpu.1")
    if options.json:
        output.print_json(SCHEMA, {"page": page})
    else:
        print(page, end="")
    return 0

"""`amdgpu completion SHELL`: the completion script of a shell, as tools/cli_pages made it from the argument parser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli import output, pages

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.completion/1"
SHELLS = ("bash", "zsh", "fish")
WHERE = {
    "bash": "~/.local/share/bash-completion/completions/amdgpu",
    "zsh": "a folder of $fpath, as _amdgpu",
    "fish": "~/.config/fish/completions/amdgpu.fish",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.epilog = "Where it belongs: " + "; ".join(f"{shell}: {place}" for shell, place in WHERE.items()) + "."
    parser.add_argument("shell", choices=SHELLS, help="whose script")
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    script = pages.read(f"amdgpu.{options.shell}")
    if options.json:
        output.print_json(SCHEMA, {"shell": options.shell, "place": WHERE[options.shell], "script": script})
    else:
        print(script, end="")
    return 0

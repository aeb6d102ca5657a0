"""Arguments and exit codes of the command `amdgpu`.

Exit codes: 0 done; 1 the command failed (the message says why); 2 the arguments are wrong; 130 interrupted.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from amdgpu.cli import compile_command, doctor_command, info, metrics, net, serve, tune_command
from amdgpu.errors import AmdgpuError


def build_parser() -> argparse.ArgumentParser:
    """The argument parser, one sub-command per module of this package."""
    from amdgpu._generated.constants import PACKAGE_VERSION

    parser = argparse.ArgumentParser(
        prog="amdgpu", description="Compute on AMD, NVIDIA and CPU devices, and see what they do."
    )
    parser.add_argument("--version", action="version", version=f"amdgpu {PACKAGE_VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for module in (info, compile_command, net, tune_command, metrics, serve, doctor_command):
        module.add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The exit code.
    """
    parser = build_parser()
    options = parser.parse_args(argv)
    if options.command is None:
        options = parser.parse_args(["info"])
    try:
        result: int = options.run(options)
    except AmdgpuError as error:
        print(f"amdgpu: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        # A reader that closed the pipe (`amdgpu metrics | head`) is no failure worth a message.
        if isinstance(error, BrokenPipeError):
            sys.stderr.close()
            return 0
        print(f"amdgpu: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return result

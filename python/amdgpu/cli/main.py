"""Arguments and exit codes of the command `amdgpu`.

Exit codes: 0 done; 1 the command failed (the message says why); 2 the arguments are wrong; 130 interrupted. `run`, `trace`, `explain`
and `record` of a program end with the program's own code, 128 + N when signal N ended it.

A command is a module with `configure(parser)`, which adds its arguments, and `run(options)`, which returns the exit code. Only the module
of the command that was named is imported: the bare command answers before a GPU library, NumPy or Rich would be loaded.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from typing import NoReturn

# Name of the command: its module by group, and the line that --help shows.
COMMANDS: dict[str, tuple[str, str]] = {
    "overview": ("status.overview", "devices, memory, sensors and processes at a glance; what `amdgpu` alone shows"),
    "devices": ("status.devices", "list the devices, best first"),
    "pick": ("status.pick", "propose the device that is free"),
    "top": ("top.top_command", "watch devices, processes and kernels live"),
    "run": ("watch.run_command", "run a program and sum up what it did"),
    "trace": ("watch.trace_command", "run a program and write a trace for Perfetto or Chrome"),
    "explain": ("watch.explain_command", "say what costs a program its time, with evidence and a fix"),
    "record": ("watch.record_command", "record a program or a process into a file"),
    "replay": ("watch.replay_command", "look at a recording"),
    "serve": ("serving.serve", "serve the dashboard, the API and the metrics"),
    "metrics": ("serving.metrics", "print the metrics in Prometheus text format"),
    "compile": ("compute.compile_command", "compile kernel files for targets, without their devices"),
    "net": ("compute.net", "check a network file, show what it is, and run it"),
    "tune": ("compute.tune_command", "measure which kernels compute matrix products and convolutions fastest on a GPU"),
    "info": ("status.info", "devices, cores, memory, libraries"),
    "doctor": ("status.doctor_command", "check the installation"),
    "completion": ("shell.completion", "print the completion script of a shell"),
    "man": ("shell.man", "print the manual page"),
}
DEFAULT_COMMAND = "overview"
PROGRAM_COMMANDS = ("run", "trace", "explain", "record")
TOP_OPTIONS = ("-h", "--help", "--version")
WRONG_ARGUMENTS = 2
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser whose messages show arguments with their control characters written out."""

    def error(self, message: str) -> NoReturn:
        """Print usage and message, and end with exit code 2."""
        from amdgpu.cli import output

        super().error(output.plain(message))


def build_parser(names: Iterable[str] = tuple(COMMANDS)) -> argparse.ArgumentParser:
    """The argument parser with the arguments of the commands `names`; the others are listed with their help line only."""
    from importlib import import_module

    from amdgpu._generated.constants import PACKAGE_VERSION

    wanted = frozenset(names)
    parser = _Parser(
        prog="amdgpu",
        description="Compute on AMD, NVIDIA and CPU devices, and see what they do.",
        epilog="`amdgpu COMMAND --help` says more about a command; without one, the overview is shown.",
    )
    parser.add_argument("--version", action="version", version=f"amdgpu {PACKAGE_VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, (module_name, summary) in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if name in wanted:
            module = import_module(f"amdgpu.cli.{module_name}")
            module.configure(command)
            command.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        argv: Arguments without the program's name; None takes those of the process.

    Returns:
        The exit code.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in TOP_OPTIONS):
        arguments.insert(0, DEFAULT_COMMAND)
    # What follows `--` belongs to the program that a command runs, whatever it looks like.
    own, program = arguments, []
    if arguments[0] in PROGRAM_COMMANDS and "--" in arguments:
        place = arguments.index("--")
        own, program = arguments[:place], arguments[place + 1 :]
    options = build_parser(name for name in own[:1] if name in COMMANDS).parse_args(own)
    if program:
        options.program = program
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    """The command itself; what it raises becomes a sentence and an exit code."""
    from amdgpu.cli.failure import UsageError
    from amdgpu.errors import AmdgpuError

    try:
        code: int = options.run(options)
        # A pipe that closed shows here, and not when the interpreter has no way left to be quiet about it.
        sys.stdout.flush()
    except UsageError as error:
        return _fail(str(error), code=WRONG_ARGUMENTS)
    except AmdgpuError as error:
        return _fail(str(error))
    except BrokenPipeError:
        # A reader that closed the pipe (`amdgpu metrics | head`) is no failure worth a message.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    return code


def _fail(message: str, *, code: int = 1) -> int:
    from amdgpu.cli import output

    output.say(f"amdgpu: {message}", file=sys.stderr)
    return code

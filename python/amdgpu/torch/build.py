"""`python -m amdgpu.torch.build` compiles the C++ part of the device `rdna` for the PyTorch that is installed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from amdgpu.torch.compiling import build, installed_torch, shim_path


def main(arguments: Sequence[str] | None = None) -> int:
    """The command: prints where the shim is, or why it cannot be compiled; the exit code is 0 or 1."""
    parser = argparse.ArgumentParser(
        prog="python -m amdgpu.torch.build",
        description="Compile the PyTorch device rdna for the PyTorch that is installed.",
    )
    parser.add_argument("--force", action="store_true", help="compile again what is there already")
    parser.add_argument("--verbose", action="store_true", help="print the commands of the compiler")
    parser.add_argument("--path", action="store_true", help="print where the shim is kept and compile nothing")
    options = parser.parse_args(arguments)
    try:
        if options.path:
            print(shim_path(installed_torch()))
            return 0
        torch = installed_torch()
        was_there = shim_path(torch).exists() and not options.force
        if not was_there:
            print(f"compiling the device rdna for torch {torch.version}; this takes about a minute", flush=True)
        print(build(force=options.force, verbose=options.verbose))
    except ImportError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

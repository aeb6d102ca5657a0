"""Runs one benchmark: `python tools/bench NAME`.

A benchmark is a file here with `PEER: str`, what ours is compared with, and `run(report, arguments)`, which measures.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import frame


def main(arguments: list[str]) -> int:
    """Runs the benchmark named first; what follows is the benchmark's own."""
    if not arguments:
        print("usage: python tools/bench NAME [ARGUMENTS]", file=sys.stderr)
        return 2
    module = importlib.import_module(arguments[0])
    report = frame.Report(arguments[0], module.PEER)
    report.start((module.__doc__ or "").splitlines()[0])
    module.run(report, arguments[1:])
    if report.rows:
        report.write()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

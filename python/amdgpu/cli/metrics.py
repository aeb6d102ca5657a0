"""`amdgpu metrics`: the Prometheus page of this machine's devices, once or again and again."""

from __future__ import annotations

import math
import threading
from typing import TYPE_CHECKING

from amdgpu.cli import output
from amdgpu.cli.failure import CommandError

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.metrics/1"
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 86_400.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--open-metrics", action="store_true", help="OpenMetrics instead of Prometheus text")
    parser.add_argument(
        "--watch", type=float, metavar="S", help="again every S seconds; with --json one document a line"
    )
    parser.add_argument("--count", type=int, metavar="N", help="with --watch: stop after N times")
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the metrics of every device."""
    import amdgpu

    if options.watch is not None and not (
        math.isfinite(options.watch) and SHORTEST_SECONDS <= options.watch <= LONGEST_SECONDS
    ):
        raise CommandError(
            f"--watch is {options.watch}; from {SHORTEST_SECONDS} to {LONGEST_SECONDS:.0f} seconds are possible"
        )
    for device in amdgpu.list_devices():
        amdgpu.initialize_device(device.device)
    printed = 0
    while True:
        _print(options)
        printed += 1
        if options.watch is None or printed == options.count:
            return 0
        threading.Event().wait(options.watch)


def _print(options: argparse.Namespace) -> None:
    import amdgpu

    if not options.json:
        print(amdgpu.telemetry.prometheus(open_metrics=options.open_metrics), end="", flush=True)
        return
    bus = amdgpu.telemetry.snapshot()
    content = {kind: bus[kind] for kind in ("counters", "gauges", "histograms")}
    show = output.print_json if options.watch is None else output.print_json_line
    show(SCHEMA, content)

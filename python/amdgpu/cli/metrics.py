"""`amdgpu metrics`: the Prometheus page of this machine's devices, once or again and again."""

from __future__ import annotations

import math
import sys
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING

from amdgpu.cli import output
from amdgpu.cli.failure import CommandError, UsageError

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.metrics/1"
SHORTEST_SECONDS, LONGEST_SECONDS = 0.1, 86_400.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--open-metrics", action="store_true", help="OpenMetrics instead of Prometheus text")
    parser.add_argument(
        "--compat",
        choices=("amd", "dcgm"),
        help="the names of AMD's or NVIDIA's exporter, of GPUs only; needs the extra `server`",
    )
    parser.add_argument(
        "--watch", type=float, metavar="S", help="again every S seconds; with --json one document a line"
    )
    parser.add_argument("--count", type=int, metavar="N", help="with --watch: stop after N times")
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the metrics of every device."""
    import amdgpu
    from amdgpu.telemetry.sensors import Sampler, read

    if options.watch is not None and not (
        math.isfinite(options.watch) and SHORTEST_SECONDS <= options.watch <= LONGEST_SECONDS
    ):
        raise UsageError(
            f"--watch is {options.watch}; from {SHORTEST_SECONDS} to {LONGEST_SECONDS:.0f} seconds are possible"
        )
    if options.compat and options.json:
        raise UsageError("--compat names a text page; --json has amdgpu's own names only")
    if options.compat and find_spec("starlette") is None:
        raise CommandError("--compat needs the server's parts: pip install 'amdgpu-framework[server]'")
    for device in amdgpu.list_devices():
        amdgpu.initialize_device(device.device)
    printed = 0
    # While it is open, the bus has the sensors too; a reading waits for its first look at them.
    with Sampler():
        read()
        while True:
            _print(options)
            printed += 1
            if options.watch is None or printed == options.count:
                return 0
            threading.Event().wait(options.watch)


def _print(options: argparse.Namespace) -> None:
    import amdgpu

    if options.compat:
        _print_page(_compat_page(options.compat, open_metrics=options.open_metrics))
        return
    if not options.json:
        _print_page(amdgpu.telemetry.prometheus(open_metrics=options.open_metrics))
        return
    bus = amdgpu.telemetry.snapshot()
    content = {kind: bus[kind] for kind in ("counters", "gauges", "histograms")}
    show = output.print_json if options.watch is None else output.print_json_line
    show(SCHEMA, content)


def _print_page(page: str) -> None:
    """Programs get every byte of the page; a terminal does not get the control characters that a name may have."""
    print(output.plain(page) if sys.stdout.isatty() else page, end="", flush=True)


def _compat_page(names: str, *, open_metrics: bool) -> str:
    from dataclasses import asdict

    import amdgpu
    from amdgpu.server import compat

    snapshot = amdgpu.telemetry.snapshot()
    devices = [asdict(device) for device in amdgpu.list_devices()]
    return compat.page(names, [*snapshot["counters"], *snapshot["gauges"]], devices, open_metrics=open_metrics)

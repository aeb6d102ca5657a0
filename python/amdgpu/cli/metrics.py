"""`amdgpu metrics`: the Prometheus page of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.cli import output

if TYPE_CHECKING:
    import argparse

SCHEMA = "amdgpu.metrics/1"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("metrics", help="print the metrics in Prometheus text format")
    parser.add_argument("--open-metrics", action="store_true", help="OpenMetrics instead of Prometheus text")
    output.add_json_option(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the metrics of every device."""
    import amdgpu

    for device in amdgpu.list_devices():
        amdgpu.initialize_device(device.device)
    if options.json:
        bus = amdgpu.telemetry.snapshot()
        output.print_json(SCHEMA, {kind: bus[kind] for kind in ("counters", "gauges", "histograms")})
        return 0
    print(amdgpu.telemetry.prometheus(open_metrics=options.open_metrics), end="")
    return 0

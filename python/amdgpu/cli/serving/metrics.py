"""`amdgpu metrics`: the Prometheus page of this machine's devices and of the programs that use them, once or again and again."""

from __future__ import annotations

import math
import sys
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING

from amdgpu.cli import output
from amdgpu.cli.failure import CommandError, UsageError

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from amdgpu.telemetry import attach, metrics_page

SCHEMA = "amdgpu.metrics/1"
FIRST_RATES_SECONDS = 0.5
RATES_PAUSE_SECONDS = 0.05
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
    parser.add_argument(
        "--histogram-series",
        type=int,
        default=32,
        metavar="N",
        help="series that each histogram names; further ones are counted as `other` (default: %(default)s)",
    )
    output.add_json_option(parser)


def run(options: argparse.Namespace) -> int:
    """Print the metrics of every device and program."""
    import amdgpu
    from amdgpu.telemetry import attach, metrics_page
    from amdgpu.telemetry.sensors import Sampler, read

    if options.watch is not None and not (
        math.isfinite(options.watch) and SHORTEST_SECONDS <= options.watch <= LONGEST_SECONDS
    ):
        raise UsageError(
            f"--watch must be between {SHORTEST_SECONDS} and {LONGEST_SECONDS:.0f} seconds, got {options.watch}"
        )
    if options.compat and options.json:
        raise UsageError("--compat names a text page; --json has amdgpu's own names only")
    if options.compat and find_spec("starlette") is None:
        raise CommandError("--compat needs the server's parts: pip install 'amdgpu-framework[server]'")
    for device in amdgpu.list_devices():
        amdgpu.initialize_device(device.device)
    printed = 0
    # While it is open, the bus has the sensors too; a reading waits for its first look at them.
    with Sampler(), attach.Watcher(kinds=(), capacity=1) as watcher:
        read()
        programs = _Programs(watcher, metrics_page.SeriesLimit(options.histogram_series))
        while True:
            _print(options, programs)
            printed += 1
            if options.watch is None or printed == options.count:
                return 0
            threading.Event().wait(options.watch)


class _Programs:
    """The programs that run now, as `/metrics` of the server shows them."""

    def __init__(self, watcher: attach.Watcher, limit: metrics_page.SeriesLimit) -> None:
        self.limit = limit
        self._watcher = watcher

    def snapshots(self) -> list[tuple[int, dict[str, Any]]]:
        """(process id, snapshot) of each."""
        from amdgpu.telemetry import metrics_page

        return metrics_page.others()

    def busy_rows(self) -> list[dict[str, Any]]:
        """How busy they keep each core of each device."""
        from amdgpu.telemetry import metrics_page

        deadline = time.monotonic() + FIRST_RATES_SECONDS
        # A rate needs two sums; they come ten times a second.
        while True:
            self._watcher.poll(timeout_seconds=RATES_PAUSE_SECONDS)
            rows = metrics_page.core_busy_rows(self._watcher.totals())
            if rows or not self._watcher.processes or time.monotonic() >= deadline:
                return rows


def _print(options: argparse.Namespace, programs: _Programs) -> None:
    import amdgpu
    from amdgpu.telemetry import metrics_page

    if options.compat:
        _print_page(_compat_page(options.compat, open_metrics=options.open_metrics))
        return
    busy_rows, others = programs.busy_rows(), programs.snapshots()
    bus = amdgpu.telemetry.snapshot()
    if not options.json:
        page = amdgpu.telemetry.prometheus(open_metrics=options.open_metrics)
        _print_page(
            metrics_page.merge(
                page, bus, others, limit=programs.limit, open_metrics=options.open_metrics, gauges=busy_rows
            )
        )
        return
    content = {kind: list(bus[kind]) for kind in ("counters", "gauges", "histograms")}
    content["gauges"] += busy_rows
    for pid, snapshot in others:
        for kind, rows in content.items():
            rows += [row | {"labels": row["labels"] | {"pid": str(pid)}} for row in snapshot[kind]]
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

"""Metrics to an OpenTelemetry collector: the bus's counters, gauges and histograms over OTLP/HTTP, through the opentelemetry SDK."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from itertools import groupby
from reprlib import repr as shortened
from types import TracebackType
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import ConnectionFailedError, InvalidArgumentError, InvalidTypeError, LibraryMissingError
from amdgpu.telemetry.bus import snapshot
from amdgpu.telemetry.exporters import hardware

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import DataT, MetricsData
    from typing_extensions import Self

DEFAULT_ENDPOINT = "http://localhost:4318"
METRICS_PATH = "/v1/metrics"
# What OpenTelemetry calls the units that the names of metrics end in (UCUM).
UNITS = {
    "bytes_per_second": "By/s",
    "seconds": "s",
    "bytes": "By",
    "ratio": "1",
    "celsius": "Cel",
    "watts": "W",
    "joules": "J",
    "hertz": "Hz",
    "volts": "V",
    "rpm": "{revolution}/min",
}


def export_otlp(
    endpoint: str = DEFAULT_ENDPOINT,
    *,
    headers: Mapping[str, str] | None = None,
    interval_seconds: float = 10.0,
    timeout_seconds: float = 10.0,
    attributes: Mapping[str, str] | None = None,
    source: Callable[[], dict[str, Any]] = snapshot,
) -> OtlpExport:
    """Send all metrics to an OpenTelemetry collector, now and every `interval_seconds`, until the result is closed.

    Args:
        endpoint: Base address of the collector; `/v1/metrics` is added where it is missing.
        headers: More HTTP headers, for example an API key.
        interval_seconds: Between two exports.
        timeout_seconds: For one export, its retries included.
        attributes: More attributes of the resource; `service.name` is "amdgpu" unless it is given.
        source: Where snapshots come from; `Process.snapshot` exports another process.

    Returns:
        A context manager with `flush()`, `close()`, `exports`, `failures`.

    Raises:
        LibraryMissingError: The opentelemetry packages are not installed (`pip install amdgpu-framework[otlp]`).
        InvalidArgumentError: The interval or the time-out is not a positive number.

    Example:
        >>> import amdgpu
        >>> export = amdgpu.telemetry.export_otlp("http://localhost:4318", interval_seconds=60)  # doctest: +SKIP
        >>> export.close()  # doctest: +SKIP
    """
    arguments.text("export_otlp", "endpoint", endpoint, "an address, such as http://localhost:4318,")
    for name, seconds in (("interval_seconds", interval_seconds), ("timeout_seconds", timeout_seconds)):
        if arguments.positive("export_otlp", name, seconds) >= threading.TIMEOUT_MAX:
            raise InvalidArgumentError(
                f"export_otlp: {name} must be below {threading.TIMEOUT_MAX:g} seconds, got {seconds}"
            )
    for name, given in (("headers", headers), ("attributes", attributes)):
        if given is not None and not all(
            isinstance(part, str)
            for item in arguments.mapping("export_otlp", name, given, "texts").items()
            for part in item
        ):
            raise InvalidTypeError(f"export_otlp: {name} must be a dict of strings, got {shortened(given)}")
    known = arguments.function("export_otlp", "source", source)()
    if not isinstance(known, Mapping) or "clock" not in known:
        raise InvalidTypeError(f"export_otlp: source gives {shortened(known)}; a snapshot of the bus is expected")
    return OtlpExport(
        endpoint,
        headers=headers,
        interval_seconds=interval_seconds,
        timeout_seconds=timeout_seconds,
        attributes=attributes,
        source=source,
    )


class OtlpExport:
    """An export that goes on in the background; made by `export_otlp`.

    A collector that cannot be reached is said once, as a warning, and counted in `failures`; the program is not disturbed.
    """

    def __init__(
        self,
        endpoint: str,
        *,
        headers: Mapping[str, str] | None,
        interval_seconds: float,
        timeout_seconds: float,
        attributes: Mapping[str, str] | None,
        source: Callable[[], dict[str, Any]],
    ) -> None:
        import logging

        try:
            from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
            from opentelemetry.sdk.resources import Resource
        except ImportError as error:
            raise LibraryMissingError(
                f"{error.name} is not installed; the OTLP export needs it: pip install amdgpu-framework[otlp]"
            ) from error
        base = endpoint.rstrip("/")
        self.endpoint = base if base.endswith(METRICS_PATH) else base + METRICS_PATH
        self.exports = 0
        self.failures = 0
        # Failures are told by this class; the SDK would say each of them, with a trace.
        logging.getLogger("opentelemetry.exporter.otlp.proto.http").setLevel(logging.CRITICAL)
        self._exporter = OTLPMetricExporter(
            endpoint=self.endpoint, headers=dict(headers or {}), timeout=timeout_seconds
        )
        self._resource = Resource.create({"service.name": "amdgpu", **dict(attributes or {})})
        self._source = source
        self._interval_seconds = interval_seconds
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="amdgpu-otlp", daemon=True)
        self._thread.start()

    def flush(self) -> None:
        """Export now.

        Raises:
            ConnectionFailedError: The collector did not take it.
        """
        if not self._export():
            raise ConnectionFailedError(f"{self.endpoint} did not take the metrics; is a collector listening there?")

    def close(self) -> None:
        """Export once more and stop."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        self._thread.join()
        self._export()
        self._exporter.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self) -> None:
        while True:
            if not self._export() and self.failures == 1:
                warnings.warn(
                    f"{self.endpoint} did not take the metrics of amdgpu; it is tried again, and failures are counted",
                    RuntimeWarning,
                    stacklevel=1,
                )
            if self._stopping.wait(self._interval_seconds):
                return

    def _export(self) -> bool:
        from opentelemetry.sdk.metrics.export import MetricExportResult

        with self._lock:
            result = self._exporter.export(metrics_data(self._source(), self._resource))
            self.exports += 1
            is_taken: bool = result is MetricExportResult.SUCCESS
            self.failures += not is_taken
            return is_taken


def metrics_data(bus: Mapping[str, Any], resource: Any) -> MetricsData:
    """A snapshot in OpenTelemetry's data model.

    Names are those of the catalogue without `_total`, which is a suffix of Prometheus. Metrics of hardware come a second time under the
    names of OpenTelemetry's conventions.
    """
    from opentelemetry.sdk.metrics.export import Metric, MetricsData, ResourceMetrics, ScopeMetrics
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    from amdgpu._generated.constants import PACKAGE_VERSION
    from amdgpu._generated.metrics import METRICS

    meanings = {row.name: row.meaning for row in METRICS}
    now_ns = bus["clock"]["unix_ns"]
    start_ns = min(process_start_unix_ns(bus["process_id"]) or now_ns, now_ns)
    metrics = []
    for rows, convert in (
        (bus["counters"], counter),
        (bus["gauges"], gauge),
        (bus["histograms"], histogram),
    ):
        for name, group in groupby(rows, key=lambda row: str(row["metric"])):
            data = convert(list(group), start_ns, now_ns)
            metrics.append(Metric(name.removesuffix("_total"), meanings.get(name, ""), unit(name), data))
    kinds = {hardware.GAUGE: gauge, hardware.COUNTER: counter, hardware.UP_DOWN: up_down}
    for (name, unit_text, kind), rows in hardware.rows_of([*bus["counters"], *bus["gauges"]]).items():
        metrics.append(Metric(name, "", unit_text, kinds[kind](rows, start_ns, now_ns)))
    scope = InstrumentationScope("amdgpu", PACKAGE_VERSION)
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, metrics, "")], "")])


def counter(rows: list[dict[str, Any]], start_ns: int, now_ns: int) -> DataT:
    """Counters of one name, since the process began."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, NumberDataPoint, Sum

    points = [NumberDataPoint(row["labels"], start_ns, now_ns, row["value"]) for row in rows]
    return Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=True)


def up_down(rows: list[dict[str, Any]], start_ns: int, now_ns: int) -> DataT:
    """Sums that may fall: what is in use now."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, NumberDataPoint, Sum

    points = [NumberDataPoint(row["labels"], start_ns, now_ns, row["value"]) for row in rows]
    return Sum(points, AggregationTemporality.CUMULATIVE, is_monotonic=False)


def gauge(rows: list[dict[str, Any]], start_ns: int, now_ns: int) -> DataT:
    """Gauges of one name; a gauge has no beginning."""
    from opentelemetry.sdk.metrics.export import Gauge, NumberDataPoint

    del start_ns
    return Gauge([NumberDataPoint(row["labels"], 0, now_ns, row["value"]) for row in rows])


def histogram(rows: list[dict[str, Any]], start_ns: int, now_ns: int) -> DataT:
    """Histograms of one name. The bus counts up to each bound, OpenTelemetry between bounds."""
    from opentelemetry.sdk.metrics.export import AggregationTemporality, Histogram, HistogramDataPoint

    points = []
    for row in rows:
        below = [0, *(count for _, count in row["buckets"]), row["count"]]
        points.append(
            HistogramDataPoint(
                attributes=row["labels"],
                start_time_unix_nano=start_ns,
                time_unix_nano=now_ns,
                count=row["count"],
                sum=row["sum_seconds"],
                bucket_counts=[after - before for before, after in zip(below, below[1:], strict=False)],
                explicit_bounds=[bound for bound, _ in row["buckets"]],
                # Unknown, and optional in the protocol.
                min=None,
                max=row["max_seconds"],
            )
        )
    return Histogram(points, AggregationTemporality.CUMULATIVE)


def unit(name: str) -> str:
    """Unit of a metric, as its name ends."""
    stem = name.removesuffix("_total")
    return next((symbol for suffix, symbol in UNITS.items() if stem.endswith(f"_{suffix}")), "1")


def process_start_unix_ns(process_id: int) -> int | None:
    """When a process began; None where the system does not say."""
    try:
        with open(f"/proc/{process_id}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            # The name in parentheses may hold anything; field 22 counts from the start of the line.
            ticks = int(file.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return None
    since_boot_ns = ticks * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return time.time_ns() - (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - since_boot_ns)

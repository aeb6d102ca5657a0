"""Telemetry for other tools: traces, lines, OpenMetrics, OTLP. What each format holds is in docs/exporters.md."""

from amdgpu.telemetry.exporters.otlp import OtlpExport, export_otlp
from amdgpu.telemetry.exporters.traces import (
    ndjson,
    open_metrics,
    perfetto,
    write_ndjson,
    write_perfetto_trace,
)

__all__ = [
    "OtlpExport",
    "export_otlp",
    "ndjson",
    "open_metrics",
    "perfetto",
    "write_ndjson",
    "write_perfetto_trace",
]

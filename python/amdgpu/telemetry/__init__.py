"""What the package is doing, live: samples, sensors, the event bus, Prometheus and Chrome-trace export."""

from amdgpu.telemetry import attach, recorder, sensors
from amdgpu.telemetry.bus import (
    boundaries,
    events,
    get_telemetry,
    is_enabled,
    prometheus,
    sample,
    set_enabled,
    snapshot,
    write_chrome_trace,
)
from amdgpu.telemetry.exporters import export_otlp, write_ndjson, write_perfetto_trace
from amdgpu.telemetry.serving import serve

__all__ = [
    "attach",
    "boundaries",
    "events",
    "export_otlp",
    "get_telemetry",
    "is_enabled",
    "prometheus",
    "recorder",
    "sample",
    "sensors",
    "serve",
    "set_enabled",
    "snapshot",
    "write_chrome_trace",
    "write_ndjson",
    "write_perfetto_trace",
]

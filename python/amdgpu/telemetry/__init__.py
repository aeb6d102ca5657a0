"""What the package is doing, live: samples, the event bus, Prometheus and Chrome-trace export."""

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

__all__ = [
    "boundaries",
    "events",
    "get_telemetry",
    "is_enabled",
    "prometheus",
    "sample",
    "set_enabled",
    "snapshot",
    "write_chrome_trace",
]

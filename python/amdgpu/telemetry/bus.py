"""The event bus of this process: samples, records, Prometheus and Chrome-trace export."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import UnknownCoreTypeError
from amdgpu.telemetry import sensors
from amdgpu.types import CORE_TYPES

if TYPE_CHECKING:
    from pathlib import Path

    from amdgpu.device import AMDGPUDevice

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

SAMPLE_SCHEMA = "amdgpu.telemetry_sample/1"
# Sensor values of a sample: metric, and which of several sensors stands for the device, by a label.
HEADLINES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("busy_ratio", "core", ("all",)),
    ("memory_controller_busy_ratio", "", ()),
    ("temperature_celsius", "sensor", ("edge", "gpu", "package", "junction")),
    ("power_watts", "kind", ("package",)),
    ("energy_joules_total", "", ()),
    ("clock_hertz", "domain", ("graphics", "sm", "core")),
    ("fan_speed_ratio", "", ()),
)


def get_telemetry(device: AMDGPUDevice | int | str | None = None, core_type: str | None = None) -> dict[str, Any]:
    """One sample of a device, or of one core type of it.

    Args:
        device: An open device, an index in `list_devices()`, or a name; None means the current device.
        core_type: aura, matrix or neuromorphic; None counts all together.

    Returns:
        A dict with `schema`, `timestamp_ns` (nanoseconds since the epoch), `device`, `core_type`, `launches_total`, `operations_total`,
        `memory` (allocator statistics, bytes), `kernels` (name, calls, seconds), and sensor values of the whole device: `busy_ratio`,
        `memory_controller_busy_ratio`, `temperature_celsius`, `power_watts`, `energy_joules_total`, `clock_hertz`, `fan_speed_ratio`.
        What is not known is None, and `absent` says why; `sensors` has all readings of the device. Rates (`busy_ratio` of the CPU) are
        the mean since the sample before, so the first one has none.

    Raises:
        UnknownCoreTypeError: A core type that does not exist.

    Example:
        >>> import amdgpu
        >>> amdgpu.get_telemetry(0, "aura")["core_type"]
        'aura'
    """
    return sample(device, core_type)


def sample(device: AMDGPUDevice | int | str | None, core_type: str | None) -> dict[str, Any]:
    """The body of `get_telemetry`."""
    from amdgpu.device import default_device

    if core_type is not None and not (isinstance(core_type, str) and core_type in CORE_TYPES):
        raise UnknownCoreTypeError(f"core_type must be one of {', '.join(CORE_TYPES)}, got {core_type!r}")
    native = default_device(device).native
    bus = snapshot()

    def matches(labels: Mapping[str, Any]) -> bool:
        return labels.get("device") == native.name and (core_type is None or labels.get("core") == core_type)

    def total(metric: str) -> int:
        return sum(int(row["value"]) for row in bus["counters"] if row["metric"] == metric and matches(row["labels"]))

    kernels = [
        {name: row[name] for name in ("name", "id", "calls", "timed_calls", "seconds")}
        for row in bus["kernels"]
        if matches(row)
    ]
    readings = [row for row in sensors.read() if row["labels"].get("device") == native.name]
    values, absent = _chosen(readings)
    return {
        "schema": SAMPLE_SCHEMA,
        "timestamp_ns": time.time_ns(),
        "device": native.name,
        "core_type": core_type,
        "launches_total": total("amdgpu_kernel_launches_total"),
        "operations_total": total("amdgpu_operations_total"),
        "memory": native.memory_stats(),
        "memory_info": native.memory_info(),
        "kernels": kernels,
        **values,
        "absent": absent,
        "sensors": [row for row in readings if row["source"] != "runtime"],
    }


def _chosen(readings: list[sensors.Reading]) -> tuple[dict[str, float | None], dict[str, str]]:
    """The one value of a device for each of `HEADLINES`, and why others are None."""
    values: dict[str, float | None] = {}
    absent: dict[str, str] = {}
    for name, label, preferred in HEADLINES:
        found = [row for row in readings if row["metric"] == f"amdgpu_{name}"]
        # Sensors in the order of preference, then as the source gave them; a value before a reason.
        found.sort(
            key=lambda row: (
                preferred.index(row["labels"][label]) if row["labels"].get(label) in preferred else len(preferred)
            )
        )
        found.sort(key=lambda row: row["value"] is None)
        values[name] = found[0]["value"] if found else None
        if not found:
            absent[name] = "no sensor source tells it of this device"
        elif found[0]["value"] is None:
            absent[name] = found[0]["reason"] or "unknown"
    return values, absent


def snapshot() -> dict[str, Any]:
    """Everything the bus knows: counters, gauges, histograms, boundaries between languages, recent records.

    Example:
        >>> import amdgpu
        >>> sorted(amdgpu.telemetry.snapshot())[:2]
        ['boundaries', 'clock']
    """
    import json

    result: dict[str, Any] = json.loads(_native.telemetry_snapshot())
    return result


def boundaries() -> list[dict[str, Any]]:
    """What crossed from one language into another: `from`, `to`, `name`, `count`, `total_seconds` and quantiles, a row per function."""
    rows: list[dict[str, Any]] = snapshot()["boundaries"]
    return rows


def prometheus(*, open_metrics: bool = False) -> str:
    """The metrics as a Prometheus text page (or OpenMetrics)."""
    return _native.telemetry_prometheus(arguments.truth("prometheus", "open_metrics", open_metrics))


def write_chrome_trace(path: str | Path) -> int:
    """Write recent records as a Chrome trace (opens in Perfetto and chrome://tracing); returns the number of bytes.

    Raises:
        OSError: The file cannot be written.
    """
    file = arguments.path("write_chrome_trace", "path", path)
    text = _native.telemetry_chrome_trace()
    file.write_text(text, encoding="utf-8")
    return len(text)


def set_enabled(enabled: bool) -> None:
    """Switch records and histograms on or off for the whole process. Launch and error counters stay on."""
    _native.telemetry_set_enabled(arguments.truth("set_enabled", "enabled", enabled))


def is_enabled() -> bool:
    """Whether records are written."""
    return _native.telemetry_is_enabled()


def events(*, capacity: int = 4096, timeout_seconds: float | None = None) -> Iterator[dict[str, Any]]:
    """Records as they happen. A reader slower than the program loses the oldest ones; nothing ever waits for it.

    Args:
        capacity: Records kept for this reader.
        timeout_seconds: Stop after this long without a record; None waits for ever.

    Raises:
        InvalidArgumentError: No capacity, or a negative time.
    """
    capacity = arguments.count("events", "capacity", capacity, 1)
    if timeout_seconds is not None:
        timeout_seconds = arguments.seconds("events", "timeout_seconds", timeout_seconds)
    return _events(capacity, timeout_seconds)


def _events(capacity: int, timeout_seconds: float | None) -> Iterator[dict[str, Any]]:
    import json

    subscription = _native.Subscription(capacity)
    while True:
        lines = subscription.poll(timeout_seconds)
        if not lines:
            return
        for line in lines.splitlines():
            yield json.loads(line)

"""Perfetto traces, newline-delimited JSON and OpenMetrics pages, of this process or of a snapshot that came from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from amdgpu import _native, arguments
from amdgpu.errors import WriteFailedError

if TYPE_CHECKING:
    from pathlib import Path

# A reading of `amdgpu.telemetry.sensors`: metric, labels, value, time_ns; more keys are passed over.
Reading = Mapping[str, Any]


def perfetto(snapshot: Mapping[str, Any], readings: Iterable[Reading] = ()) -> bytes:
    """The records of a snapshot, and sensor values beside them, as a Perfetto trace (protobuf).

    Args:
        snapshot: What `amdgpu.telemetry.snapshot()` or `Process.snapshot()` returned.
        readings: What `amdgpu.telemetry.sensors.read()` returned, any number of times; each series becomes a counter.

    Raises:
        InvalidMessageError: It is no snapshot, or a reading is none.

    Example:
        >>> import amdgpu
        >>> len(amdgpu.telemetry.exporters.perfetto(amdgpu.telemetry.snapshot())) > 0
        True
    """
    return _native.telemetry_perfetto_trace_of(_json(snapshot), _json(_listed(readings)))


def ndjson(snapshot: Mapping[str, Any]) -> str:
    """The records of a snapshot as one JSON object a line.

    Raises:
        InvalidMessageError: It is no snapshot.
    """
    return _native.telemetry_ndjson_of(_json(snapshot))


def open_metrics(snapshot: Mapping[str, Any]) -> str:
    """The metrics of a snapshot as an OpenMetrics page.

    Raises:
        InvalidMessageError: It is no snapshot.
    """
    return _native.telemetry_open_metrics_of(_json(snapshot))


def write_perfetto_trace(path: str | Path, readings: Iterable[Reading] = ()) -> int:
    """Write recent records of this process as a Perfetto trace; returns the number of bytes. It opens in https://ui.perfetto.dev.

    Args:
        path: A file; `.pftrace` is the usual ending.
        readings: Sensor values to show beside them, see `perfetto`.

    Raises:
        WriteFailedError: The file cannot be written.
        InvalidMessageError: A reading is none.
    """
    return _write(path, _native.telemetry_perfetto_trace(_json(_listed(readings))))


def write_ndjson(path: str | Path) -> int:
    """Write recent records of this process as one JSON object a line; returns the number of bytes.

    Raises:
        WriteFailedError: The file cannot be written.
    """
    return _write(path, _native.telemetry_ndjson().encode())


def _json(value: object) -> str:
    return arguments.json_text("export", "the snapshot or a reading", value)


def _listed(readings: Iterable[Reading]) -> list[Reading]:
    return arguments.sequence("perfetto", "readings", readings, "readings of the sensors")


def _write(path: str | Path, data: bytes) -> int:
    file = arguments.path("export", "path", path)
    try:
        return file.write_bytes(data)
    except OSError as error:
        raise WriteFailedError(f"{path}: {error.strerror}") from error

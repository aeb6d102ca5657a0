"""Kernels for torch's profiler: what amdgpu's telemetry recorded while a profile ran."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from amdgpu._native import Subscription
from amdgpu.torch.devices import device_count, get_device_properties
from amdgpu.torch.loading import shim

# Records of one profile; older ones are lost where there are more.
_CAPACITY = 1 << 20
# How long the last records may take from the ring of their thread to the reader.
_PATIENCE_SECONDS = 0.05
_DIRECTIONS = ("host to device", "device to host", "device to device")


class Recorder:
    """Takes the records of the bus between `start` and `stop`."""

    def __init__(self) -> None:
        self._subscription: Subscription | None = None

    def start(self) -> None:
        """Begins; from here on every launch has a record."""
        self._subscription = Subscription(_CAPACITY)

    def stop(self) -> list[tuple[str, str, int, int, int, int, int]]:
        """Ends, and gives a row for each piece of work of a device.

        Returns:
            Name, "kernel", "copy" or "fill", index of the rdna device, stream, thread, start and duration in nanoseconds, the start
            since 1970.
        """
        subscription, self._subscription = self._subscription, None
        if subscription is None:
            return []
        indices = _indices()
        return [_row(record, indices) for record in _records(subscription) if _is_work(record)]


def _records(subscription: Subscription) -> Iterator[dict[str, Any]]:
    while lines := subscription.poll(_PATIENCE_SECONDS):
        for line in lines.splitlines():
            yield json.loads(line)


def _is_work(record: dict[str, Any]) -> bool:
    # On a CPU device operations are calls into libraries of other languages, and no launches.
    is_call = record["kind"] == "boundary" and record.get("from") == "rust" and record.get("to") in ("zig", "julia")
    return is_call or record["kind"] in ("launch", "copy", "fill")


def _indices() -> dict[str, int]:
    """Indices by amdgpu's names of devices; of several that stand for one the first."""
    named = [(get_device_properties(index).amdgpu_name, index) for index in range(device_count())]
    return dict(reversed(named))


def _row(record: dict[str, Any], indices: dict[str, int]) -> tuple[str, str, int, int, int, int, int]:
    kind = record["kind"] if record["kind"] in ("copy", "fill") else "kernel"
    name = record["name"]
    if kind == "copy":
        name = f"copy {_DIRECTIONS[record['detail'][0]]}"
    elif kind == "fill":
        name = "fill"
    device = indices.get(record.get("device_name", ""), 0)
    stream = record.get("stream") or 0
    return name, kind, device, int(stream), record["thread"], record["unix_ns"], record.get("duration_ns") or 0


def install() -> None:
    """Lets profiles of torch have the records."""
    recorder = Recorder()
    shim().set_recorder(recorder.start, recorder.stop)

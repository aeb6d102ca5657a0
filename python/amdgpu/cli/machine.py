"""What commands tell about this machine: devices, sensors, kernel cache, processes. Plain dicts, in the words of the JSON documents."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amdgpu.types import DeviceInfo

Reading = Mapping[str, Any]

# A folder with more kernels than this is counted no further; the overview has no time for it.
MAX_CACHE_FILES = 20_000


def device_rows(devices: Iterable[DeviceInfo]) -> list[dict[str, Any]]:
    """The devices as JSON documents show them."""
    return [asdict(device) for device in devices]


def readings() -> list[Reading]:
    """One reading per sensor now; what is absent has its reason."""
    from amdgpu.telemetry import sensors

    return list(sensors.read())


def find(rows: Iterable[Reading], metric: str, device: str, **labels: str) -> tuple[float | None, str]:
    """Value of a sensor, or the reason why there is none. Of several readings that fit, the first with a value."""
    reason = "no source has it"
    for row in rows:
        known = row["labels"]
        if row["metric"] != metric or known.get("device") != device:
            continue
        if any(known.get(label) != value for label, value in labels.items()):
            continue
        if row["value"] is not None:
            return float(row["value"]), ""
        reason = row["reason"] or reason
    return None, reason


def memory(rows: Iterable[Reading], device: str, free_bytes: int | None, total_bytes: int) -> tuple[int | None, int]:
    """Used and whole memory of a device in bytes: what its sensors say of all processes, else what a process would be given.

    Used memory is None where nothing tells it.
    """
    rows = list(rows)
    used, _ = find(rows, "amdgpu_memory_used_bytes", device)
    total, _ = find(rows, "amdgpu_memory_total_bytes", device)
    if used is None or total is None:
        return None if free_bytes is None else max(total_bytes - free_bytes, 0), total_bytes
    return int(used), int(total)


def hottest(rows: Iterable[Reading], device: str) -> tuple[float | None, str]:
    """The highest temperature of a device in degrees Celsius, or the reason why none is known."""
    metric = "amdgpu_temperature_celsius"
    rows = [row for row in rows if row["metric"] == metric and row["labels"].get("device") == device]
    values = [float(row["value"]) for row in rows if row["value"] is not None]
    return (max(values), "") if values else find(rows, metric, device)


def kernel_cache() -> dict[str, Any]:
    """Where compiled kernels are kept on disk, how many there are, and their bytes; counts are None where the reason says why."""
    chosen = os.environ.get("AMDGPU_CACHE_DIR")
    if chosen == "off":
        return {"path": None, "kernels": None, "bytes": None, "reason": "AMDGPU_CACHE_DIR is off"}
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "amdgpu"
    folder = base / "kernels"
    count = size = 0
    try:
        for entry in _files(folder):
            if count == MAX_CACHE_FILES:
                reason = f"more than {MAX_CACHE_FILES} files; the rest is not counted"
                return {"path": str(folder), "kernels": count, "bytes": size, "reason": reason}
            count += 1
            size += entry.stat().st_size
    except FileNotFoundError:
        pass
    except OSError as error:
        return {"path": str(folder), "kernels": None, "bytes": None, "reason": error.strerror or str(error)}
    return {"path": str(folder), "kernels": count, "bytes": size, "reason": None}


def _files(folder: Path) -> Iterable[os.DirEntry[str]]:
    """Files of the folder and of the folders in it; a cache that is being written may lose some meanwhile."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files(Path(entry.path))
            elif not entry.name.endswith(".tmp"):
                yield entry

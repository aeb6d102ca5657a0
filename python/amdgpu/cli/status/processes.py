"""Processes that use amdgpu, as commands show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.errors import AmdgpuError

if TYPE_CHECKING:
    from amdgpu.telemetry import attach

# The overview asks each of them; with more it would take longer than a glance.
MAX_ASKED = 16


def summaries() -> tuple[list[dict[str, Any]], str | None]:
    """One row per process of this user, and why there are none.

    A row has pid, command, started_epoch_ns, version, state, launches_total, pool_reserved_bytes and devices; what the process did not tell
    is None, and `reason` says why.
    """
    from amdgpu.telemetry import attach

    try:
        found = attach.processes()
    except (AmdgpuError, OSError) as error:
        return [], sentence(error)
    return [_summary(info, is_asked=place < MAX_ASKED) for place, info in enumerate(found)], None


def sentence(error: Exception) -> str:
    """The first line of an error: what happened, without the hint."""
    return str(error).partition("\n")[0]


def _summary(info: attach.ProcessInfo, *, is_asked: bool) -> dict[str, Any]:
    from amdgpu.telemetry import attach

    row = {
        "pid": info.pid,
        "command": " ".join(info.command),
        "started_epoch_ns": info.started_epoch_ns,
        "version": info.version,
        "state": info.state,
    }
    unknown = {"launches_total": None, "pool_reserved_bytes": None, "devices": None}
    if not is_asked:
        return {**row, **unknown, "reason": f"only the first {MAX_ASKED} processes are asked"}
    if info.state != "running":
        return {**row, **unknown, "reason": f"it is {info.state}"}
    try:
        with attach.attach(info.pid) as process:
            totals = process.totals()
    except (AmdgpuError, OSError) as error:
        return {**row, **unknown, "reason": sentence(error)}
    devices = totals["devices"]
    return {
        **row,
        "launches_total": int(sum(sum(device["launches"].values()) for device in devices.values())),
        "pool_reserved_bytes": int(sum(device["pool_bytes"].get("reserved", 0) for device in devices.values())),
        "devices": sorted(devices),
        "reason": None,
    }

"""From sums that processes send now and then to rates: launches a second, share of time that a core was busy."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

CORES = ("aura", "matrix", "neuromorphic")
# Rates are over the last so many seconds: long enough not to jump with every launch of a slow kernel.
WINDOW_SECONDS = 1.0
# A process that has sent nothing for so long is stopped; its last rates say nothing about now.
STALE_SECONDS = 2.0


class Rates:
    """Totals of processes over the last second."""

    def __init__(self) -> None:
        self._series: dict[int, deque[dict[str, Any]]] = {}

    def add(self, pid: int, totals: dict[str, Any]) -> None:
        """Totals that a process sent."""
        series = self._series.setdefault(pid, deque())
        series.append(totals)
        horizon_ns = totals["time_ns"] - int(WINDOW_SECONDS * 1e9)
        # The newest one from before the window stays: it is where the window begins.
        while len(series) > 2 and series[1]["time_ns"] <= horizon_ns:
            series.popleft()

    def keep_only(self, pids: set[int]) -> None:
        """Forget processes that are gone."""
        for pid in self._series.keys() - pids:
            del self._series[pid]

    def document(self) -> dict[str, Any]:
        """Rates of every process, and of all together."""
        now_ns = time.monotonic_ns()
        rows = {
            pid: _rates(series[0], series[-1])
            for pid, series in sorted(self._series.items())
            if now_ns - series[-1]["time_ns"] < STALE_SECONDS * 1e9
        }
        devices: dict[str, dict[str, Any]] = {}
        networks: dict[str, dict[str, Any]] = {}
        for row in rows.values():
            for name, values in row["devices"].items():
                devices[name] = _sum(devices[name], values) if name in devices else values
            for name, values in row["networks"].items():
                networks[name] = _sum(networks[name], values) if name in networks else values
        for values in devices.values():
            values["busy_ratio"] = {
                core: None if ratio is None else min(ratio, 1.0) for core, ratio in values["busy_ratio"].items()
            }
        return {
            "time_ns": now_ns,
            "devices": devices,
            "networks": networks,
            "records_per_second": sum(row["records_per_second"] for row in rows.values()),
            "processes": {
                pid: {
                    "devices": row["devices"],
                    "kernels": row["kernels"],
                    "launches_per_second": sum(one["launches_per_second"] for one in row["devices"].values()),
                }
                for pid, row in rows.items()
            },
        }


def _sum(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Both together: numbers are added, None is nothing known."""
    result: dict[str, Any] = {}
    for key in left.keys() | right.keys():
        one, other = left.get(key), right.get(key)
        if one is None or other is None:
            result[key] = other if one is None else one
        elif isinstance(one, dict):
            result[key] = _sum(one, other)
        elif isinstance(one, bool):
            result[key] = one or other
        elif key == "realtime_factor":
            result[key] = max(one, other)
        else:
            result[key] = one + other
    return {key: result[key] for key in (*left, *(key for key in right if key not in left))}


def _rates(first: dict[str, Any], last: dict[str, Any]) -> dict[str, Any]:
    seconds = (last["time_ns"] - first["time_ns"]) / 1e9
    devices = {
        name: _device(first["devices"].get(name, {}), values, seconds) for name, values in last["devices"].items()
    }
    networks = {}
    for name, values in last["networks"].items():
        before = first["networks"].get(name, {})
        networks[name] = {
            "spikes_per_second": _rate(before.get("spikes", 0.0), values["spikes"], seconds),
            "steps_per_second": _rate(before.get("steps", 0.0), values["steps"], seconds),
            "realtime_factor": values["realtime_factor"],
        }
    return {
        "devices": devices,
        "networks": networks,
        "kernels": _kernels(first["kernels"], last["kernels"], seconds),
        "records_per_second": _rate(first["records_emitted"], last["records_emitted"], seconds),
    }


def _kernels(first: list[dict[str, Any]], last: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """Every kernel with its sums since the process began and its rates now."""
    before = {_kernel_key(row): row for row in first}
    rows = []
    for row in last:
        earlier = before.get(_kernel_key(row), {"calls": 0.0, "seconds": 0.0})
        rates = {
            "calls_per_second": _rate(earlier["calls"], row["calls"], seconds),
            "busy_ratio": _rate(earlier["seconds"], row["seconds"], seconds),
        }
        rows.append({**row, **rates})
    return rows


def _kernel_key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["device"], row["core"], row["name"], row["id"]


def _rate(before: float, now: float, seconds: float) -> float:
    # A counter that went back was reset by a fork.
    return max(now - before, 0.0) / seconds if seconds > 0 else 0.0


def _rates_of(before: dict[str, float], now: dict[str, float], seconds: float) -> dict[str, float]:
    return {key: _rate(before.get(key, 0.0), value, seconds) for key, value in now.items()}


def _device(before: dict[str, Any], now: dict[str, Any], seconds: float) -> dict[str, Any]:
    launches = _rates_of(before.get("launches", {}), now["launches"], seconds)
    timed = _rates_of(before.get("timed_launches", {}), now["timed_launches"], seconds)
    busy = _rates_of(before.get("busy_seconds", {}), now["busy_seconds"], seconds)
    ratios = {core: None if core not in busy else min(busy[core], 1.0) for core in CORES}
    is_estimated = any(timed.get(core, 0.0) < rate for core, rate in launches.items())
    pools = now["pool_bytes"]
    return {
        "launches_per_second": sum(launches.values()),
        "launches_per_second_by_core": launches,
        "busy_ratio": ratios,
        "busy_is_estimated": is_estimated,
        "operations_per_second": _rates_of(before.get("operations", {}), now["operations"], seconds),
        "pool_active_bytes": pools.get("active"),
        "pool_reserved_bytes": pools.get("reserved"),
        "copy_bytes_per_second": _rates_of(before.get("copied_bytes", {}), now["copied_bytes"], seconds),
        "allocations_per_second": _rate(before.get("allocations", 0.0), now["allocations"], seconds),
        "out_of_memory": now["out_of_memory"],
    }

"""What happened, as figures: snapshots of one or several processes summed up, and the difference between two snapshots of one.

A snapshot is the dict of `amdgpu.telemetry.snapshot()`, wherever it comes from: this process, an attached one, a report, a recording.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Snapshot = Mapping[str, Any]
Labels = tuple[tuple[str, str], ...]

NS = 1e-9


def difference(before: Snapshot, after: Snapshot) -> dict[str, Any]:
    """What was counted between two snapshots of a process; gauges are those of the later one."""
    return {
        **after,
        "counters": _subtracted(before["counters"], after["counters"], ("value",)),
        "histograms": [
            _without_quantiles(row)
            for row in _subtracted(before["histograms"], after["histograms"], ("count", "sum_seconds", "buckets"))
        ],
        "boundaries": _subtracted(before["boundaries"], after["boundaries"], ("count", "total_seconds")),
    }


def figures(snapshots: Sequence[Snapshot]) -> dict[str, Any]:
    """The sum of the snapshots, in the words of the JSON documents of `run` and `explain`."""
    counters = _counters(snapshots)
    cache = {
        result: int(_total(counters, "amdgpu_kernel_cache_requests_total", result=result))
        for result in ("memory", "disk", "miss")
    }
    requests = sum(cache.values())
    compiles = _histograms(snapshots, "amdgpu_compile_seconds")
    return {
        "launches_total": int(_total(counters, "amdgpu_kernel_launches_total")),
        "launches": _rows(counters, "amdgpu_kernel_launches_total"),
        "kernels": kernels(snapshots),
        "operations": _rows(counters, "amdgpu_operations_total"),
        "compiles": {
            "count": sum(row["count"] for row in compiles),
            "seconds": sum(row["sum_seconds"] for row in compiles),
        },
        "kernel_cache": {**cache, "hit_ratio": (cache["memory"] + cache["disk"]) / requests if requests else None},
        "boundaries": boundaries(snapshots),
        "copies": _rows(counters, "amdgpu_copy_bytes_total"),
        "pools": _pools(snapshots),
        "networks": _networks(snapshots, counters),
        "fallbacks": _rows(counters, "amdgpu_fallbacks_total"),
        "errors": _rows(counters, "amdgpu_errors_total"),
        "records_lost": sum(int(snapshot["records_lost"]) for snapshot in snapshots),
    }


def kernels(snapshots: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """Kernels by the time they took: name, device, core, calls, seconds, and the median of a call (None where it is not known)."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for row in _histograms(snapshots, "amdgpu_kernel_duration_seconds"):
        labels = row["labels"]
        key = labels.get("kernel", ""), labels.get("device", ""), labels.get("core", "")
        kernel = found.setdefault(
            key,
            {
                "name": key[0],
                "device": key[1],
                "core": key[2],
                "calls": 0,
                "seconds": 0.0,
                "p50_seconds": None,
                "max_seconds": None,
            },
        )
        is_first = kernel["calls"] == 0
        kernel["calls"] += row["count"]
        kernel["seconds"] += row["sum_seconds"]
        # A median of several histograms is not the median of their medians.
        kernel["p50_seconds"] = row["p50_seconds"] if is_first else None
        highest = [value for value in (kernel["max_seconds"], row["max_seconds"]) if value is not None]
        kernel["max_seconds"] = max(highest) if highest else None
    return sorted(found.values(), key=lambda kernel: (-kernel["seconds"], kernel["name"]))


def boundaries(snapshots: Sequence[Snapshot]) -> list[dict[str, Any]]:
    """Calls from one language into another by the time spent on the other side."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for snapshot in snapshots:
        for row in snapshot["boundaries"]:
            key = row["from"], row["to"], row["name"]
            sums = found.setdefault(key, {"from": key[0], "to": key[1], "name": key[2], "count": 0, "seconds": 0.0})
            sums["count"] += row["count"]
            sums["seconds"] += row["total_seconds"]
    crossed = [row for row in found.values() if row["count"]]
    return sorted(crossed, key=lambda row: (-row["seconds"], row["name"]))


def _counters(snapshots: Iterable[Snapshot]) -> dict[tuple[str, Labels], float]:
    sums: defaultdict[tuple[str, Labels], float] = defaultdict(float)
    for snapshot in snapshots:
        for row in snapshot["counters"]:
            sums[row["metric"], tuple(row["labels"].items())] += row["value"]
    return sums


def _total(counters: Mapping[tuple[str, Labels], float], metric: str, **wanted: str) -> float:
    return sum(
        value
        for (name, labels), value in counters.items()
        if name == metric and all(dict(labels).get(label) == text for label, text in wanted.items())
    )


def _rows(counters: Mapping[tuple[str, Labels], float], metric: str) -> list[dict[str, Any]]:
    """Labels and value of every series of a counter that counted something, the largest first."""
    rows = [
        {**dict(labels), "value": int(value)} for (name, labels), value in counters.items() if name == metric and value
    ]
    return sorted(rows, key=lambda row: -row["value"])


def _histograms(snapshots: Iterable[Snapshot], metric: str) -> list[dict[str, Any]]:
    return [row for snapshot in snapshots for row in snapshot["histograms"] if row["metric"] == metric and row["count"]]


def _pools(snapshots: Iterable[Snapshot]) -> list[dict[str, Any]]:
    pools: dict[tuple[str, str], dict[str, Any]] = {}
    for snapshot in snapshots:
        for row in snapshot["gauges"]:
            labels = row["labels"]
            key = labels.get("device", ""), labels.get("pool", "")
            if row["metric"] == "amdgpu_pool_bytes":
                field = f"{labels['state']}_bytes"
            elif row["metric"] == "amdgpu_pool_reserved_peak_bytes":
                field = "reserved_peak_bytes"
            else:
                continue
            empty = dict.fromkeys(("active_bytes", "inactive_bytes", "reserved_bytes", "reserved_peak_bytes"), 0)
            pool = pools.setdefault(key, {"device": key[0], "pool": key[1], **empty})
            pool[field] += int(row["value"])
    return list(pools.values())


def _networks(snapshots: Iterable[Snapshot], counters: Mapping[tuple[str, Labels], float]) -> list[dict[str, Any]]:
    factors = {
        row["labels"].get("network"): row["value"]
        for snapshot in snapshots
        for row in snapshot["gauges"]
        if row["metric"] == "amdgpu_realtime_factor"
    }
    names = [row["network"] for row in _rows(counters, "amdgpu_network_steps_total")]
    return [
        {
            "name": name,
            "steps": int(_total(counters, "amdgpu_network_steps_total", network=name)),
            "spikes": int(_total(counters, "amdgpu_spikes_total", network=name)),
            "realtime_factor": factors.get(name),
        }
        for name in names
    ]


def _subtracted(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]], fields: Sequence[str]
) -> list[dict[str, Any]]:
    """Rows of `after` with the `fields` of their twins in `before` taken off; what did not change is left out."""
    earlier = {_identity(row): row for row in before}
    rows = []
    for row in after:
        twin = earlier.get(_identity(row))
        changed = dict(row) if twin is None else {**row, **{field: _minus(row[field], twin[field]) for field in fields}}
        if changed[fields[0]]:
            rows.append(changed)
    return rows


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    if "metric" in row:
        return (row["metric"], *row["labels"].items())
    return row["from"], row["to"], row["name"]


def _minus(now: Any, then: Any) -> Any:
    if isinstance(now, list):
        return [[bound, count - earlier] for (bound, count), (_, earlier) in zip(now, then, strict=True)]
    # Two readings of a clock that never goes back can still differ by a rounding of the sum.
    return max(now - then, 0)


def _without_quantiles(row: dict[str, Any]) -> dict[str, Any]:
    """Quantiles of a whole life say nothing about a part of it: the median is read from the buckets, which are a factor of two apart."""
    half = row["count"] / 2
    median = next((bound for bound, count in row["buckets"] if count >= half), None)
    return {**row, "p50_seconds": median, "p99_seconds": None, "max_seconds": None}


def timeline(records: Iterable[Mapping[str, Any]]) -> dict[str, float | int]:
    """What only records tell: seconds of copies, how long devices were busy with kernels, and the span from the first launch to the last.

    Kernels that ran at the same time on one device count once.
    """
    copy_ns = launches = 0
    runs: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    for record in records:
        if record["kind"] == "copy":
            copy_ns += record["duration_ns"]
        elif record["kind"] == "launch" and record["device"] is not None:
            launches += 1
            runs[record["device"]].append((record["start_ns"], record["start_ns"] + record["duration_ns"]))
    busy_ns = span_ns = 0
    for intervals in runs.values():
        intervals.sort()
        reached = intervals[0][0]
        for start, end in intervals:
            busy_ns += max(end - max(start, reached), 0)
            reached = max(reached, end)
        span_ns += reached - intervals[0][0]
    return {
        "copy_seconds": copy_ns * NS,
        "device_busy_seconds": busy_ns * NS,
        "device_span_seconds": span_ns * NS,
        "launch_records": launches,
    }


def of_records(records: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The same figures counted from records alone: what a recording has of the time that it covers.

    Gauges are not known from records, and of launches in streams of a GPU only those that were timed have one.
    """
    by_kind: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in records:
        by_kind[record["kind"]].append(record)
    launches: defaultdict[tuple[str, str, str], int] = defaultdict(int)
    for record in by_kind["launch"]:
        launches[record["device_name"] or "", record["core"], record["to"] or ""] += 1
    return {
        "launches_total": len(by_kind["launch"]),
        "launches": [
            {"device": device, "core": core, "language": language, "value": count}
            for (device, core, language), count in sorted(launches.items(), key=lambda item: -item[1])
        ],
        "kernels": kernels_of_records(by_kind["launch"]),
        "operations": [],
        "compiles": {
            "count": len(by_kind["compile"]),
            "seconds": sum(record["duration_ns"] for record in by_kind["compile"]) * NS,
        },
        "kernel_cache": _cache_of_records(by_kind["cache_request"]),
        "boundaries": _boundaries_of_records(by_kind["boundary"]),
        "copies": _copies_of_records(by_kind["copy"]),
        "pools": [],
        "networks": [],
        "fallbacks": _counted(
            {"operation": record["name"], "reason": record["reason"]} for record in by_kind["fallback"]
        ),
        "errors": _counted({"error": record["name"], "language": record["from"]} for record in by_kind["error"]),
        "records_lost": 0,
    }


def kernels_of_records(launches: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Kernels by the time that their launches took, in the words of `kernels`."""
    from statistics import median

    durations: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
    for record in launches:
        durations[record["name"], record["device_name"] or "", record["core"]].append(record["duration_ns"])
    rows = [
        {
            "name": name,
            "device": device,
            "core": core,
            "calls": len(spent),
            "seconds": sum(spent) * NS,
            "p50_seconds": median(spent) * NS,
            "max_seconds": max(spent) * NS,
        }
        for (name, device, core), spent in durations.items()
    ]
    return sorted(rows, key=lambda row: (-row["seconds"], row["name"]))


def _boundaries_of_records(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    sums: dict[tuple[str, str, str], dict[str, Any]] = {}
    for record in records:
        key = record["from"] or "", record["to"] or "", record["name"]
        row = sums.setdefault(key, {"from": key[0], "to": key[1], "name": key[2], "count": 0, "seconds": 0.0})
        row["count"] += 1
        row["seconds"] += record["duration_ns"] * NS
    return sorted(sums.values(), key=lambda row: (-row["seconds"], row["name"]))


def _cache_of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    # The number of the answer, see `Kind::CacheRequest`.
    answers = [("miss", "memory", "disk")[record["value"]] for record in records]
    found = {answer: answers.count(answer) for answer in ("memory", "disk", "miss")}
    hits = found["memory"] + found["disk"]
    return {**found, "hit_ratio": hits / len(records) if records else None}


def _copies_of_records(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    moved: defaultdict[tuple[str, str], int] = defaultdict(int)
    for record in records:
        # The number of the direction, see `Kind::Copy`.
        direction = ("host-to-device", "device-to-host", "device-to-device")[record["detail"][0]]
        moved[record["device_name"] or "", direction] += record["value"]
    rows = [{"device": device, "direction": direction, "value": value} for (device, direction), value in moved.items()]
    return sorted(rows, key=lambda row: -row["value"])


def _counted(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: defaultdict[tuple[tuple[str, Any], ...], int] = defaultdict(int)
    for row in rows:
        counts[tuple(row.items())] += 1
    return [{**dict(key), "value": count} for key, count in sorted(counts.items(), key=lambda item: -item[1])]

"""What happened, as figures: what processes counted summed up, and the difference between two looks at one of them.

A look is the dict of `Process.totals()`, of an attached process or out of a recording. What `amdgpu.telemetry.snapshot()` gives
is one, too, with the distributions of durations beside it. Counts, sums, rates and shares come from there alone, so `run`, `explain`, `top`
and `replay` say the same of the same program. Records are a sample: they give quantiles and nothing else.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Look = Mapping[str, Any]
Labels = tuple[tuple[str, str], ...]
# Device, core, name, id: what tells a kernel from all others of a process.
KernelKey = tuple[str, str, str, str]

NS = 1e-9
# Digits of an id that are shown: enough to tell the kernels of one name apart.
SHOWN_ID_DIGITS = 8
KERNEL_FIELDS = ("device", "core", "name", "id")


def difference(before: Look, after: Look) -> dict[str, Any]:
    """What was counted between two looks at a process; gauges are those of the later one."""
    return {
        **after,
        "counters": _subtracted(before["counters"], after["counters"], ("value",)),
        "histograms": [
            _without_quantiles(row)
            for row in _subtracted(before["histograms"], after["histograms"], ("count", "sum_seconds", "buckets"))
        ],
        "boundaries": _subtracted(before["boundaries"], after["boundaries"], ("count", "timed_count", "total_seconds")),
        "kernels": _subtracted(before["kernels"], after["kernels"], ("calls", "timed_calls", "seconds")),
        "records_lost": _minus(after["records_lost"], before["records_lost"]),
        "first_work_ns": max(after["first_work_ns"], time_of(before)) if after["first_work_ns"] else 0,
    }


def time_of(look: Look) -> int:
    """When it was taken, on the monotonic clock."""
    time_ns: int = look["time_ns"] if "time_ns" in look else look["clock"]["monotonic_ns"]
    return time_ns


def figures(looks: Sequence[Look]) -> dict[str, Any]:
    """The sum of looks at several processes, in the words of the JSON documents of `run`, `explain` and `replay`."""
    counters = _counters(looks)
    cache = {
        result: int(_total(counters, "amdgpu_kernel_cache_requests_total", result=result))
        for result in ("memory", "disk", "miss")
    }
    requests = sum(cache.values())
    compiles = _histograms(looks, "amdgpu_compile_seconds")
    return {
        "launches_total": int(_total(counters, "amdgpu_kernel_launches_total")),
        "launches": _rows(counters, "amdgpu_kernel_launches_total"),
        "kernels": kernels(looks),
        "operations": _rows(counters, "amdgpu_operations_total"),
        "busy": _busy(counters),
        "work_span_seconds": _work_span_seconds(looks),
        "compiles": {
            "count": sum(row["count"] for row in compiles),
            "seconds": sum(row["sum_seconds"] for row in compiles),
        },
        "kernel_cache": {**cache, "hit_ratio": (cache["memory"] + cache["disk"]) / requests if requests else None},
        "boundaries": boundaries(looks),
        "copies": _rows(counters, "amdgpu_copy_bytes_total"),
        "copy_seconds": sum(row["sum_seconds"] for row in _histograms(looks, "amdgpu_copy_seconds")),
        "pools": _pools(looks),
        "networks": _networks(looks, counters),
        "fallbacks": _rows(counters, "amdgpu_fallbacks_total"),
        "errors": _rows(counters, "amdgpu_errors_total"),
        "records_lost": sum(int(look["records_lost"]) for look in looks),
    }


def kernels(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """Kernels by the time they took. `calls` are all launches; `seconds` is their time, scaled up where only `timed_calls` were timed.

    The median and the longest are of those that were timed, where they are known.
    """
    sums: dict[KernelKey, dict[str, Any]] = {}
    medians: defaultdict[KernelKey, list[Mapping[str, Any]]] = defaultdict(list)
    for look in looks:
        for row in look["kernels"]:
            kernel = sums.setdefault(kernel_key(row), {"calls": 0, "timed_calls": 0, "seconds": 0.0})
            kernel["calls"] += int(row["calls"])
            kernel["timed_calls"] += int(row["timed_calls"])
            kernel["seconds"] += row["seconds"]
        for row in _histograms([look], "amdgpu_kernel_duration_seconds"):
            labels = row["labels"]
            medians[labels["device"], labels["core"], labels["kernel"], labels["id"]].append(row)
    titles = kernel_titles(sums)
    rows = []
    for key, row in sums.items():
        known = medians[key]
        rows.append(
            {
                **dict(zip(KERNEL_FIELDS, key, strict=True)),
                "title": titles[key],
                **row,
                "is_estimated": row["timed_calls"] < row["calls"],
                # A median of several histograms is not the median of their medians.
                "p50_seconds": known[0]["p50_seconds"] if len(known) == 1 else None,
                "max_seconds": max(
                    (one["max_seconds"] for one in known if one["max_seconds"] is not None), default=None
                ),
            }
        )
    return sorted(rows, key=lambda row: (-row["seconds"], row["name"], row["id"]))


def kernel_key(row: Mapping[str, Any]) -> KernelKey:
    """What tells a kernel from all others of its process."""
    return row["device"], row["core"], row["name"], row["id"]


def kernel_titles(keys: Iterable[KernelKey]) -> dict[KernelKey, str]:
    """What kernels are called where people read it: their names, with a part of the id where several on a device have the same."""
    keys = list(keys)
    named = Counter((device, name) for device, _, name, _ in keys)
    return {
        key: key[2] if named[key[0], key[2]] == 1 or not key[3] else f"{key[2]} [{key[3][:SHOWN_ID_DIGITS]}]"
        for key in keys
    }


def kernel_medians(records: Iterable[Mapping[str, Any]]) -> dict[KernelKey, float]:
    """The median duration of the launches of each kernel that have records."""
    from statistics import median

    durations: defaultdict[KernelKey, list[int]] = defaultdict(list)
    for record in records:
        if record["kind"] == "launch":
            key = record["device_name"] or "", record["core"], record["name"], record.get("kernel") or ""
            durations[key].append(record["duration_ns"])
    return {key: median(spent) * NS for key, spent in durations.items()}


def _busy(counters: Mapping[tuple[str, Labels], float]) -> list[dict[str, Any]]:
    """How long each core of each device worked."""
    rows = [
        {**dict(labels), "seconds": value}
        for (name, labels), value in counters.items()
        if name == "amdgpu_core_busy_seconds_total" and value > 0
    ]
    return sorted(rows, key=lambda row: -row["seconds"])


def _work_span_seconds(looks: Iterable[Look]) -> float:
    """From the first work of a device to the newest, over all processes."""
    spans = [(look["first_work_ns"], look["last_work_ns"]) for look in looks if look["first_work_ns"]]
    if not spans:
        return 0.0
    span_ns: int = max(end for _, end in spans) - min(start for start, _ in spans)
    return max(span_ns, 0) * NS


def boundaries(looks: Iterable[Look]) -> list[dict[str, Any]]:
    """Calls from one language into another by the time spent on the other side."""
    found: dict[tuple[str, str, str], dict[str, Any]] = {}
    for look in looks:
        for row in look["boundaries"]:
            key = row["from"], row["to"], row["name"]
            sums = found.setdefault(key, {"from": key[0], "to": key[1], "name": key[2], "count": 0, "seconds": 0.0})
            sums["count"] += row["count"]
            sums["seconds"] += row["total_seconds"]
    crossed = [row for row in found.values() if row["count"]]
    return sorted(crossed, key=lambda row: (-row["seconds"], row["name"]))


def _counters(looks: Iterable[Look]) -> dict[tuple[str, Labels], float]:
    sums: defaultdict[tuple[str, Labels], float] = defaultdict(float)
    for look in looks:
        for row in look["counters"]:
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


def _histograms(looks: Iterable[Look], metric: str) -> list[dict[str, Any]]:
    return [row for look in looks for row in look["histograms"] if row["metric"] == metric and row["count"]]


def _pools(looks: Iterable[Look]) -> list[dict[str, Any]]:
    pools: dict[tuple[str, str], dict[str, Any]] = {}
    for look in looks:
        for row in look["gauges"]:
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


def _networks(looks: Iterable[Look], counters: Mapping[tuple[str, Labels], float]) -> list[dict[str, Any]]:
    factors = {
        row["labels"].get("network"): row["value"]
        for look in looks
        for row in look["gauges"]
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
        changed = dict(row)
        if twin is not None:
            # Recordings of other versions need not have all of them.
            changed |= {field: _minus(row[field], twin[field]) for field in fields if field in row and field in twin}
        if changed[fields[0]]:
            rows.append(changed)
    return rows


def _identity(row: Mapping[str, Any]) -> tuple[Any, ...]:
    if "metric" in row:
        return (row["metric"], *row["labels"].items())
    return kernel_key(row) if "id" in row else (row["from"], row["to"], row["name"])


def _minus(now: Any, then: Any) -> Any:
    if isinstance(now, list):
        return [[bound, count - earlier] for (bound, count), (_, earlier) in zip(now, then, strict=True)]
    # Two readings of a clock that never goes back can still differ by a rounding of the sum.
    return max(now - then, 0)


def _without_quantiles(row: dict[str, Any]) -> dict[str, Any]:
    """Quantiles of a whole life say nothing about a part of it: the median is read from the buckets, which are a factor of two apart.

    What is timed in full has no buckets, and no median then.
    """
    half = row["count"] / 2
    median = next((bound for bound, count in row["buckets"] if count >= half), None)
    return {**row, "p50_seconds": median, "p99_seconds": None, "max_seconds": None}

"""The Prometheus page of this process with the programs that run beside it: `/metrics` and `amdgpu metrics`.

The page of the bus has the devices' sensors while a sampler runs. What another process counts carries its process id as the label `pid`:
counters of different processes are not added up, since a sum would fall when one of them ends.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from amdgpu import arguments
from amdgpu._generated.metrics import METRICS
from amdgpu.errors import AmdgpuError
from amdgpu.telemetry import attach

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# Pages of more processes than this would be of no use to anybody.
MAX_PROCESSES = 32
# A series of a histogram is 32 lines, 3.5 KB: six programs of 40 kernels each make a page of 0.4 MB, without the limit 1.4 MB.
DEFAULT_HISTOGRAM_SERIES = 32
MAX_HISTOGRAM_SERIES = 10_000
OTHER = "other"
# The label of what is told of each kernel.
KERNEL = "kernel"
# One process that does not answer must not hold up the page of all others.
SNAPSHOT_SECONDS = 0.5
END = "# EOF\n"
CATALOGUE = {metric.name: metric for metric in METRICS}
# Labels that stay when a series is counted with others: there are few of each. Kernels, passes and networks are many.
KEPT_LABELS = frozenset({"device", "core", "target"})

Key = tuple[str, int | None, tuple[tuple[str, str], ...]]


class SeriesLimit:
    """Bounds the series of histograms, and of what else is told of each kernel, over all processes.

    Series past the limit are counted together as `other`. A kernel is named in all metrics that tell of kernels, or in none.

    A series that was shown under its own name keeps it, and one that was counted as `other` stays there, so that no counter falls from
    one page to the next. At the first page the busiest are named.

    Args:
        most: Series that each histogram may name.

    Raises:
        InvalidArgumentError: `most` is not from 1 to 10000.
    """

    def __init__(self, most: int = DEFAULT_HISTOGRAM_SERIES) -> None:
        self.most = arguments.count("SeriesLimit", "most", most, 1, MAX_HISTOGRAM_SERIES)
        # Of each group of metrics that name the same things: which series are named, and which are counted with others.
        self._named: dict[str, set[Key]] = {}
        self._folded: dict[str, set[Key]] = {}

    @property
    def folded(self) -> int:
        """Series that are counted as `other` now."""
        return sum(len(keys) for keys in self._folded.values())

    def apply(self, rows: Sequence[tuple[int | None, Mapping[str, Any]]]) -> list[tuple[int | None, Mapping[str, Any]]]:
        """Rows of a snapshot as (process id, row) with those past the limit added up."""
        keyed = [((_group(row), pid, tuple(sorted(row["labels"].items()))), row) for pid, row in rows]
        self._forget({key for key, _ in keyed})
        for key, row in sorted(keyed, key=lambda entry: -_weight(entry[1])):
            if _is_rest(row):
                continue
            named, folded = self._named.setdefault(key[0], set()), self._folded.setdefault(key[0], set())
            if key not in named and key not in folded:
                (named if len(named) < self.most else folded).add(key)
        shown: list[tuple[int | None, Mapping[str, Any]]] = []
        sums: dict[Key, dict[str, Any]] = {}
        for key, row in keyed:
            if key in self._named.get(key[0], ()):
                shown.append((key[1], row))
                continue
            labels = {name: value if name in KEPT_LABELS else OTHER for name, value in row["labels"].items()}
            place = (row["metric"], key[1], tuple(sorted(labels.items())))
            if place in sums:
                _add(sums[place], row)
            else:
                sums[place] = {**row, "labels": labels}
        return [*shown, *((place[1], row) for place, row in sums.items())]

    def _forget(self, present: set[Key]) -> None:
        """Series of processes that have ended make room."""
        for known in (self._named, self._folded):
            for keys in known.values():
                keys.intersection_update(present)


def _group(row: Mapping[str, Any]) -> str:
    """Metrics of one group name the same things."""
    return KERNEL if KERNEL in row["labels"] else str(row["metric"])


def _is_rest(row: Mapping[str, Any]) -> bool:
    """Whether a process itself counted what it does not name: one row with what is not named here."""
    many = [value for name, value in row["labels"].items() if name not in KEPT_LABELS]
    return bool(many) and all(value == OTHER for value in many)


def _weight(row: Mapping[str, Any]) -> float:
    """How often something happened: the busiest are named."""
    return float(row["count"] if "count" in row else row["value"])


def _add(row: dict[str, Any], other: Mapping[str, Any]) -> None:
    """Add a counter or a histogram to another one; all histograms have the same bounds."""
    if "value" in row:
        row["value"] += other["value"]
        return
    row["count"] += other["count"]
    row["sum_seconds"] += other["sum_seconds"]
    row["buckets"] = [
        [bound, count + more] for (bound, count), (_, more) in zip(row["buckets"], other["buckets"], strict=True)
    ]


def snapshots(pids: Iterable[int]) -> Iterator[tuple[int, dict[str, Any]]]:
    """What processes count; one that does not answer is left out, its absence says so."""
    for pid in pids:
        try:
            with attach.attach(None if pid == os.getpid() else pid) as process:
                yield pid, process.request("snapshot", SNAPSHOT_SECONDS, records=0)
        except AmdgpuError:
            continue


def others() -> list[tuple[int, dict[str, Any]]]:
    """Snapshots of the other programs of this user that use amdgpu now."""
    running = [info.pid for info in attach.processes() if info.state == "running" and info.pid != os.getpid()]
    return list(snapshots(running[:MAX_PROCESSES]))


def core_busy_rows(totals: Mapping[str, Any]) -> list[dict[str, Any]]:
    """`amdgpu_busy_ratio` of each core of each device, as gauges, from a watcher's totals of all programs."""
    return [
        {"metric": "amdgpu_busy_ratio", "labels": {"device": device, "core": core}, "value": ratio}
        for device, row in sorted(totals["devices"].items())
        for core, ratio in row["busy_ratio"].items()
        if ratio is not None
    ]


def wants_open_metrics(accept: str | None) -> bool:
    """Whether an `Accept` header asks for OpenMetrics before anything else that is served."""
    best, chosen = -1.0, False
    for entry in (accept or "").split(","):
        kind, *parameters = (part.strip() for part in entry.split(";"))
        if kind not in ("application/openmetrics-text", "text/plain", "text/*", "*/*"):
            continue
        quality = 1.0
        for parameter in parameters:
            name, _, value = parameter.partition("=")
            if name.strip() == "q":
                try:
                    quality = float(value)
                except ValueError:
                    quality = 0.0
        if quality > best:
            best, chosen = quality, kind == "application/openmetrics-text"
    return chosen and best > 0


def merge(
    page: str,
    own: Mapping[str, Any],
    others: Iterable[tuple[int, Mapping[str, Any]]],
    *,
    limit: SeriesLimit,
    open_metrics: bool,
    gauges: Sequence[Mapping[str, Any]] = (),
) -> str:
    """The bus's page with the snapshots of other processes.

    Args:
        page: The page of this process.
        own: Its snapshot: what is bounded over all processes is written from it.
        others: (process id, snapshot).
        limit: How many series each histogram may name.
        open_metrics: Whether the page is OpenMetrics.
        gauges: Rows about all processes together.
    """
    families = _families(page.removesuffix(END))
    bounded: list[tuple[int | None, Mapping[str, Any]]] = [(None, row) for row in _bounded(own)]
    for row in gauges:
        _line(families, row, None, open_metrics)
    for pid, snapshot in list(others)[:MAX_PROCESSES]:
        for row in (*snapshot["counters"], *snapshot["gauges"]):
            if KERNEL not in row["labels"]:
                _line(families, row, pid, open_metrics)
        bounded += [(pid, row) for row in _bounded(snapshot)]
    for metric in {row["metric"] for _, row in bounded}:
        lines = _family(families, metric, open_metrics)
        lines[:] = [line for line in lines if line.startswith("#")]
    for process, row in limit.apply(bounded):
        if "value" in row:
            _line(families, row, process, open_metrics)
        else:
            _histogram(_family(families, row["metric"], open_metrics), row, process)
    text = "".join(f"{line}\n" for lines in families.values() for line in lines)
    return text + END if open_metrics else text


def _bounded(snapshot: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows of a snapshot of which there may be any number."""
    return [*(row for row in snapshot["counters"] if KERNEL in row["labels"]), *snapshot["histograms"]]


def _line(families: dict[str, list[str]], row: Mapping[str, Any], pid: int | None, open_metrics: bool) -> None:
    metric = row["metric"]
    _family(families, metric, open_metrics).append(f"{metric}{_labels(row['labels'], pid)} {_number(row['value'])}")


def _histogram(lines: list[str], row: Mapping[str, Any], pid: int | None) -> None:
    metric, labels = row["metric"], row["labels"]
    lines += [
        f"{metric}_bucket{_labels(labels, pid, le=repr(float(bound)))} {count}" for bound, count in row["buckets"]
    ]
    lines.append(f"{metric}_bucket{_labels(labels, pid, le='+Inf')} {row['count']}")
    lines.append(f"{metric}_sum{_labels(labels, pid)} {_number(row['sum_seconds'])}")
    lines.append(f"{metric}_count{_labels(labels, pid)} {row['count']}")


def _families(page: str) -> dict[str, list[str]]:
    """The lines of a page by family; the first line of each is its `# HELP`."""
    families: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in page.splitlines():
        if line.startswith("# HELP "):
            lines = families.setdefault(line.split(" ", 3)[2], [])
        lines.append(line)
    return families


def _family(families: dict[str, list[str]], metric: str, open_metrics: bool) -> list[str]:
    """The lines of a metric's family, begun where nothing of it was there."""
    name = metric.removesuffix("_total") if open_metrics else metric
    lines = families.get(name)
    if lines is None:
        row = CATALOGUE[metric]
        lines = families[name] = [f"# HELP {name} {row.meaning}", f"# TYPE {name} {row.kind}"]
    return lines


def _labels(labels: Mapping[str, str], pid: int | None, **more: str) -> str:
    pairs = {**labels, **({} if pid is None else {"pid": str(pid)}), **more}
    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in pairs.items()) + "}" if pairs else ""


def escape(value: str) -> str:
    """The value of a label as the format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))

"""`/metrics`: this process's page, with the processes that are watched beside it, or under the names of other exporters.

The page of the bus has the devices' sensors while a sampler runs. What another process counts carries its process id as the label `pid`:
counters of different processes are not added up, since a sum would fall when one of them ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from amdgpu._generated.metrics import METRICS

PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OPEN_METRICS_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
# Pages of more processes than this would be of no use to anybody.
MAX_PROCESSES = 32
END = "# EOF\n"
CATALOGUE = {metric.name: metric for metric in METRICS}


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


def merge(page: str, others: Iterable[tuple[int, Mapping[str, Any]]], *, open_metrics: bool) -> str:
    """The bus's page with the snapshots of other processes: (process id, snapshot)."""
    families = _families(page.removesuffix(END))
    for pid, snapshot in list(others)[:MAX_PROCESSES]:
        for row in (*snapshot["counters"], *snapshot["gauges"]):
            _family(families, row["metric"], open_metrics).append(
                f"{row['metric']}{_labels(row['labels'], pid)} {_number(row['value'])}"
            )
        for row in snapshot["histograms"]:
            lines = _family(families, row["metric"], open_metrics)
            lines += [
                f"{row['metric']}_bucket{_labels(row['labels'], pid, le=repr(float(bound)))} {count}"
                for bound, count in row["buckets"]
            ]
            lines.append(f"{row['metric']}_bucket{_labels(row['labels'], pid, le='+Inf')} {row['count']}")
            lines.append(f"{row['metric']}_sum{_labels(row['labels'], pid)} {_number(row['sum_seconds'])}")
            lines.append(f"{row['metric']}_count{_labels(row['labels'], pid)} {row['count']}")
    text = "".join(f"{line}\n" for lines in families.values() for line in lines)
    return text + END if open_metrics else text


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


def _labels(labels: Mapping[str, str], pid: int, **more: str) -> str:
    pairs = {**labels, "pid": str(pid), **more}
    return "{" + ",".join(f'{name}="{escape(value)}"' for name, value in pairs.items()) + "}"


def escape(value: str) -> str:
    """The value of a label as the format wants it."""
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < 2**53 else repr(float(value))

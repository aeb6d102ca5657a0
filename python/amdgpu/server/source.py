"""Where the server's numbers come from: the one place that knows the sampler of sensors and the watcher of programs.

Methods named `read_…`, `open` and `close` may take milliseconds and are called in threads; the others take microseconds and are called in
the event loop, every tick or ten times a second.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from typing import Any

import numpy as np

from amdgpu import list_devices, telemetry
from amdgpu.errors import AmdgpuError, InvalidArgumentError
from amdgpu.server.past import PROGRAM_METRICS, Past
from amdgpu.telemetry import attach, metrics_page
from amdgpu.telemetry.sensors import Frame, Sampler, Tier, read

# Newest records win: more than this of one process in one tick is more than a page shows.
RECORDS_PER_POLL = 256
POLL_SECONDS = 1 / 60
TOTALS_SECONDS = 0.1
# Of a processor with 192 cores, each would be a line; they are asked for one by one, from the history.
FINE_LABELS = frozenset({"processor", "link", "uuid", "source", "pid"})
# What does not change, or is of no use as a curve.
PLAIN_METRICS = frozenset({"amdgpu_device_info"})
MAX_METRICS = 128
# The first samples of a sampler come within this; a source that is slower is there at the next join.
FIRST_SAMPLES_SECONDS = 0.5
BOUNDARIES_SECONDS = 2.0
MAX_BOUNDARY_PROCESSES = 8
# Kernels of all programs whose occupancy is remembered.
MAX_OCCUPANCIES = 4096

# Process, device, and what tells its kernels apart.
KernelId = tuple[int, str, str]


class Source:
    """What is known of this machine's devices and of the programs that use them.

    From `start` to `stop` it records what is told to those who come later; launch by launch it looks while it is open.

    Args:
        history_hours: How long files of the history are kept; 0 writes none.
    """

    def __init__(self, history_hours: float = 0.0) -> None:
        self._past = Past(history_hours)
        self.devices: list[dict[str, str]] = []
        self.metrics: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        self._sampler: Sampler | None = None
        self._watcher: attach.Watcher | None = None
        self._plan: tuple[tuple[str, ...], tuple[dict[str, Any], ...]] = ((), ())
        self._frame: Frame | None = None
        # Series that the layout of frames knows.
        self._series_known = 0
        self._totals: dict[str, Any] = {"devices": {}, "networks": {}, "processes": {}}
        self._dropped = 0
        self._boundaries: list[dict[str, Any]] = []
        self._crossings: list[dict[str, Any]] = []
        # Of kernels: the share of the waves that a unit holds, or why there is none.
        self._occupancies: dict[KernelId, tuple[float | None, str]] = {}
        self._boundaries_due = 0.0
        # Process, device and id of the kernels that were launched since the last summary.
        self._seen: set[KernelId] = set()

    def start(self) -> None:
        """Begin to record."""
        self._past.start()

    def stop(self) -> None:
        """Close, and record no more."""
        self.close()
        self._past.close()

    def open(self) -> None:
        """Start watching launch by launch; what is open stays as it is."""
        with self._lock:
            if self._sampler is not None:
                return
            self._sampler = Sampler()
            self._watcher = attach.Watcher(interval_seconds=POLL_SECONDS, kinds=KINDS, capacity=RECORDS_PER_POLL)
            self._dropped = 0
            deadline = time.monotonic() + FIRST_SAMPLES_SECONDS
            known = 0
            # A source tells its groups one after the other: laid out in between, frames would have to be laid out anew at once.
            while (found := self._sampler.series_count) == 0 or found != known:
                if time.monotonic() >= deadline:
                    break
                known = found
                time.sleep(0.01)
            self.lay_out()

    def close(self) -> None:
        """Stop watching launch by launch."""
        with self._lock:
            for opened in (self._sampler, self._watcher):
                if opened is not None:
                    opened.close()
            self._sampler = self._watcher = self._frame = None

    def read_layout_changed(self) -> bool:
        """Whether there are sensors by now that frames do not hold."""
        with self._lock:
            if self._sampler is None or self._sampler.series_count == self._series_known:
                return False
            self._series_known = self._sampler.series_count
            return self._sensor_columns() != list(self._plan[1])

    @property
    def descriptor(self) -> int | None:
        """Becomes readable when programs have something to tell; None while the source is closed."""
        watcher = self._watcher
        return None if watcher is None else watcher.descriptor

    def acknowledge(self) -> None:
        """Make the descriptor unreadable until programs have something else to tell."""
        watcher = self._watcher
        if watcher is not None:
            watcher.acknowledge()

    def frame(self) -> bytes:
        """The values of all devices and metrics now: float32, a row for each device, NaN where absent."""
        frame = self._frame
        if frame is None:
            return np.full((len(self.devices), len(self.metrics)), np.nan, np.float32).tobytes()
        return frame.read()

    def drain_events(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
        """Launches, updates of networks, and how many records were lost, since the last call."""
        watcher = self._watcher
        if watcher is None:
            return NO_EVENTS
        records = watcher.poll()
        if not records:
            return NO_EVENTS
        kernels, networks = [], []
        for record in records:
            row = {
                "pid": record["pid"],
                "name": record["name"],
                "id": record.get("kernel") or "",
                "core": record["core"],
                "language": record["to"],
                "device": record["device_name"],
                "stream": record["stream"],
                "start_ns": record["start_ns"],
                "duration_ns": record["duration_ns"],
            }
            if record["kind"] == "launch":
                self._seen.add((row["pid"], row["device"], row["id"]))
                kernels.append(row | {"work_items": record["value"]})
            else:
                networks.append(row | {"kind": record["kind"], "value": record["value"], "detail": record["detail"]})
        dropped = watcher.dropped
        lost, self._dropped = dropped - self._dropped, dropped
        return kernels, networks, lost

    def refresh_totals(self) -> None:
        """Take the watcher's totals, which are new ten times a second, into frames."""
        watcher, frame = self._watcher, self._frame
        if watcher is None or frame is None:
            return
        totals = watcher.totals()
        if totals is self._totals:
            return
        self._totals = totals
        self._set_tails(frame)

    def _set_tails(self, frame: Frame) -> None:
        rows = [self._totals["devices"].get(device["name"], {}) for device in self.devices]
        values = [[_number(take(row)) for _, _, _, take in PROGRAM_METRICS] for row in rows]
        frame.set_tails(np.array(values, "<f4").tobytes())

    def totals(self) -> dict[str, Any]:
        """Rates and sums of all programs, per device, as of the last `refresh_totals`."""
        return self._totals

    def sensors(self) -> dict[str, dict[str, float | None]]:
        """Temperature in °C, power in W and memory in bytes per device, where they are read."""
        if self._sampler is None:
            return {}
        found = np.frombuffer(self._sampler.frame_values(self._plan[0], SAMPLE_METRICS), "<f4").reshape(-1, 3)
        return {
            device: {name: None if value != value else value for name, value in zip(SAMPLE_NAMES, row, strict=True)}  # noqa: PLR0124  (NaN)
            for device, row in zip(self._plan[0], found.tolist(), strict=True)
        }

    def index(self, device: str) -> int:
        """The position of a device in `list_devices()`; -1 for one that only the sensors know."""
        return next((i for i, entry in enumerate(self.devices) if entry["name"] == device), -1)

    def occupancy(self, kernel: KernelId) -> tuple[float | None, str]:
        """The share of the waves of a unit that a kernel's launches can fill; None with the reason."""
        return self._occupancies.get(kernel, (None, "its process has not been asked yet"))

    def _read_occupancies(self, active: set[KernelId]) -> None:
        """Ask processes about kernels that are new; those that are quiet are forgotten when there are very many."""
        if len(self._occupancies) > MAX_OCCUPANCIES:
            self._occupancies = {key: value for key, value in self._occupancies.items() if key in active}
        new = active - self._occupancies.keys()
        for pid in sorted({pid for pid, _, _ in new})[:MAX_BOUNDARY_PROCESSES]:
            try:
                with process_of(pid) as process:
                    rows = process.request("kernels", metrics_page.SNAPSHOT_SECONDS) or []
            except AmdgpuError as error:
                rows, why = [], str(error)
            else:
                why = "its process lists no such kernel"
            known = {(pid, row["device"], row["id"]): occupancy_of(row) for row in rows}
            for kernel in new:
                if kernel[0] == pid:
                    self._occupancies[kernel] = known.get(kernel, (None, why))

    def read_summary(self, *, with_processes: bool) -> tuple[dict[str, Any], list[dict[str, Any]] | None]:
        """Totals for `profile_update`, and the processes if one came or went or they are asked for."""
        watcher = self._watcher
        if watcher is None:
            return {"boundaries": [], "crossings": [], "kernels": [], "totals": {}}, None
        # What changed is forgotten by asking.
        changed = watcher.changed
        processes = [dataclasses.asdict(info) for info in watcher.processes] if changed or with_processes else None
        seen, self._seen = self._seen, set()
        self._read_occupancies(seen)
        totals = watcher.totals()
        kernels = [{"pid": pid, **row} for pid, process in totals["processes"].items() for row in process["kernels"]]
        kernels.sort(key=lambda row: (-row["busy_ratio"], -row["seconds"]))
        self._read_boundaries_of([info.pid for info in watcher.processes])
        return {
            "boundaries": self._boundaries,
            "crossings": self._crossings,
            "kernels": kernels,
            "totals": totals,
        }, processes

    def clock(self) -> dict[str, int]:
        """One instant on the monotonic clock and in the calendar."""
        return {"monotonic_ns": time.monotonic_ns(), "epoch_ns": time.time_ns()}

    def read_readings(self) -> list[dict[str, Any]]:
        """Every sensor now."""
        return [dict(reading) for reading in read()]

    def read_history(
        self, metric: str, labels: dict[str, str], tier: Tier, span: tuple[int | None, int | None], *, most: int
    ) -> list[dict[str, Any]]:
        """The history of the series of a metric whose labels fit; at most `most` points in all."""
        rows = self._past.query(metric, labels, tier, span, most=most)
        return [row | {"unit": unit_of(metric)} for row in rows]

    def core_busy_rows(self) -> list[dict[str, Any]]:
        """How busy programs keep each core of each device, as rows of `/metrics`."""
        return metrics_page.core_busy_rows(self._past.totals())

    def read_boundaries(self, pid: int | None) -> list[dict[str, Any]]:
        """What crossed from one language into another in a process; None is this one."""
        if pid is None:
            return telemetry.boundaries()
        with process_of(pid) as process:
            rows: list[dict[str, Any]] = process.snapshot()["boundaries"]
            return rows

    def _read_boundaries_of(self, pids: list[int]) -> None:
        """Sum what crossed from one language into another in all watched processes; now and then, since each has to list it."""
        if time.monotonic() < self._boundaries_due:
            return
        self._boundaries_due = time.monotonic() + BOUNDARIES_SECONDS
        rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        crossings: list[list[dict[str, Any]]] = []
        for pid, snapshot in metrics_page.snapshots(pids[:MAX_BOUNDARY_PROCESSES]):
            for row in snapshot["boundaries"]:
                key = (row["from"], row["to"], row["name"])
                known = rows.setdefault(key, {**row, **dict.fromkeys(SUMMED, 0), "pids": []})
                for name in SUMMED:
                    known[name] += row.get(name, 0)
                known["pids"].append(pid)
            crossings.append(snapshot["crossings"])
        self._boundaries = sorted(rows.values(), key=lambda row: float(row["total_seconds"]), reverse=True)
        self._crossings = _merged(crossings)

    def lay_out(self) -> None:
        """Decide what frames hold, from the sensors that there are now."""
        sampler = self._sampler
        assert sampler is not None, "called while open"
        known = {info.device: (info.kind, info.name) for info in list_devices()}
        # First: what comes while this looks is noticed later.
        self._series_known = sampler.series_count
        for series in sampler.series():
            device = series["labels"].get("device")
            if device is not None and device not in known:
                known[device] = (device.partition(":")[0] if ":" in device else "hip", device)
        self.devices = [{"name": name, "kind": kind, "description": text} for name, (kind, text) in known.items()]
        columns = self._sensor_columns()
        # The sampler remembers what was looked up by these very tuples.
        self._plan = (tuple(known), tuple(columns))
        self.metrics = [
            *columns,
            *({"name": name, "labels": labels, "unit": unit, "scale": 1} for name, labels, unit, _ in PROGRAM_METRICS),
        ]
        frame = sampler.frame(*self._plan)
        self._set_tails(frame)
        self._frame = frame

    def _sensor_columns(self) -> list[dict[str, Any]]:
        """One column for each metric and labels that a device has a series of."""
        assert self._sampler is not None, "called while open"
        columns: dict[tuple[str, tuple[tuple[str, str], ...]], dict[str, Any]] = {}
        for series in self._sampler.series():
            labels = {name: value for name, value in series["labels"].items() if name != "device"}
            if "device" not in series["labels"] or not _is_curve(series, labels):
                continue
            key = (series["metric"], tuple(sorted(labels.items())))
            unit = unit_of(series["metric"])
            columns.setdefault(key, {"name": series["metric"], "labels": labels, "unit": unit, "scale": 1})
        return list(columns.values())[: MAX_METRICS - len(PROGRAM_METRICS)]


def _merged(processes: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Calls inside of calls of several processes: what has the same functions above it is added up; callers before what they called."""
    found: list[dict[str, Any]] = []
    places: dict[tuple[int | None, str, str, str], int] = {}
    for rows in processes:
        here: list[int] = []
        for row in rows:
            parent = None if row["parent"] is None else here[row["parent"]]
            key = (parent, row["from"], row["to"], row["name"])
            if key not in places:
                places[key] = len(found)
                found.append({**row, "parent": parent, "count": 0, "timed_count": 0, "total_seconds": 0.0})
            here.append(places[key])
            for name in ("count", "timed_count", "total_seconds"):
                found[places[key]][name] += row.get(name, 0)
    return found


def occupancy_of(row: dict[str, Any]) -> tuple[float | None, str]:
    """Occupancy of a row of a process's list of kernels, or None and why there is none."""
    found = row["occupancy"]
    if found and found["max_waves_per_unit"]:
        return found["waves_per_unit"] / found["max_waves_per_unit"], ""
    if row["target"] == "host":
        return None, f"{row['device']} has none: a processor runs a block on one core"
    return None, f"what {row['device']} holds of it is not known: neither its compiler nor its driver tells"


NO_EVENTS: tuple[list[dict[str, Any]], list[dict[str, Any]], int] = ([], [], 0)
UNITS = frozenset({"seconds", "bytes", "ratio", "celsius", "watts", "joules", "hertz", "rpm", "volts"})
# Of a boundary, over all processes.
SUMMED = ("count", "timed_count", "total_seconds", "operations", "bytes")
KINDS = ("launch", "neural_update", "network_step")
SAMPLE_NAMES = ("temperature", "power", "memory")
SAMPLE_METRICS = ("amdgpu_temperature_celsius", "amdgpu_power_watts", "amdgpu_memory_used_bytes")


def process_of(pid: int | None) -> attach.Process:
    """A process to ask; None, and its own number, is this one.

    Raises:
        ProcessGoneError: There is no such process.
    """
    return attach.attach(None if pid in (None, os.getpid()) else pid)


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _is_curve(series: Any, labels: dict[str, str]) -> bool:
    """Whether a series is a column of frames: no sums, which 32-bit floats round, and nothing that programs tell themselves."""
    is_sum = series["metric"].endswith("_total") or series["metric"] in PLAIN_METRICS
    return not (is_sum or series["source"] == "runtime" or FINE_LABELS & labels.keys())


def unit_of(metric: str) -> str:
    """The unit that a metric's name ends with; "1" for plain numbers."""
    name = metric.removesuffix("_total")
    if name.endswith("_bytes_per_second"):
        return "bytes_per_second"
    last = name.rpartition("_")[2]
    return last if last in UNITS else "1"


def labels_of(pairs: list[str]) -> dict[str, str]:
    """`["core:aura"]` as labels."""
    found = {}
    for pair in pairs:
        name, separator, value = pair.partition(":")
        if not separator:
            raise InvalidArgumentError(f"label must be NAME:VALUE, got {pair!r}")
        found[name] = value
    return found

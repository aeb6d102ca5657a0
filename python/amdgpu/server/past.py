"""What was, for those who come later: sensors and programs are recorded whether somebody watches or not.

The sensors' own history lives in the sampler. What programs did is noted here once a second. Both go to a folder of Parquet files where
pyarrow is installed, a ring of some hours, so that a server that is started again still has them.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from amdgpu.errors import AmdgpuError, LibraryMissingError
from amdgpu.telemetry import attach
from amdgpu.telemetry.long_term import LongTermHistory
from amdgpu.telemetry.sensors import Sampler, Tier
from amdgpu.tuning.database import cache_folder
from amdgpu.types import CORE_TYPES

# One look a second, as the coarsest tier of the sensors has it.
PERIOD_SECONDS = 1.0
# In memory: an hour of one value a second for each device takes 0.2 MB.
KEPT_SECONDS = 3600
# A file of this many seconds; shorter ones are many, longer ones are lost when the server is killed.
FILE_SECONDS = 300.0
RING_TIER: Tier = "1hz"
NS = 1_000_000_000

log = logging.getLogger("amdgpu.server")

Take = Callable[[Mapping[str, Any]], float | None]
Points = dict[str, npt.NDArray[Any]]


def _under(*path: str) -> Take:
    def take(totals: Mapping[str, Any]) -> float | None:
        value: Any = totals
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return None if value is None else float(value)

    return take


CORES: tuple[str, ...] = CORE_TYPES
# What programs do: name, labels, unit, where it stands in the watcher's totals of a device.
PROGRAM_METRICS: tuple[tuple[str, dict[str, str], str, Take], ...] = (
    ("amdgpu_kernel_launches_per_second", {}, "per_second", _under("launches_per_second")),
    *(
        (
            "amdgpu_kernel_launches_per_second",
            {"core": core},
            "per_second",
            _under("launches_per_second_by_core", core),
        )
        for core in CORES
    ),
    *(("amdgpu_busy_ratio", {"core": core}, "ratio", _under("busy_ratio", core)) for core in CORES),
    *(
        ("amdgpu_operations_per_second", {"core": core}, "per_second", _under("operations_per_second", core))
        for core in CORES
    ),
    ("amdgpu_pool_bytes", {"state": "active"}, "bytes", _under("pool_active_bytes")),
    ("amdgpu_pool_bytes", {"state": "reserved"}, "bytes", _under("pool_reserved_bytes")),
    ("amdgpu_pool_allocations_per_second", {}, "per_second", _under("allocations_per_second")),
    *(
        (
            "amdgpu_copy_bytes_per_second",
            {"direction": direction},
            "bytes_per_second",
            _under("copy_bytes_per_second", direction.replace("-", "_")),
        )
        for direction in ("host-to-device", "device-to-host", "device-to-device")
    ),
)


class ProgramHistory:
    """Rates and levels of all programs, by device: the newest values, one a second. Read like a sampler's history."""

    def __init__(self, kept_seconds: int = KEPT_SECONDS) -> None:
        self._kept = kept_seconds
        self._lock = threading.Lock()
        self._times: list[int] = []
        # By device: a row of values for each time.
        self._rows: dict[str, list[list[float]]] = {}

    def note(self, time_ns: int, totals: Mapping[str, Any]) -> None:
        """Take the totals of a watcher. A device of which no program says anything has no values at this time."""
        with self._lock:
            absent = [np.nan] * len(PROGRAM_METRICS)
            self._times.append(time_ns)
            for device in totals["devices"]:
                self._rows.setdefault(device, [absent] * (len(self._times) - 1))
            for device, rows in self._rows.items():
                known = totals["devices"].get(device)
                values = absent if known is None else [take(known) for _, _, _, take in PROGRAM_METRICS]
                rows.append([np.nan if value is None else value for value in values])
            excess = len(self._times) - self._kept
            if excess > 0:
                del self._times[:excess]
                for rows in self._rows.values():
                    del rows[:excess]

    def series(self) -> list[dict[str, Any]]:
        """All series so far; new ones come at the end."""
        with self._lock:
            devices = list(self._rows)
        return [
            {
                "index": place,
                "metric": name,
                "labels": {"device": device, **labels},
                "period_ns": int(PERIOD_SECONDS * NS),
            }
            for place, (device, (name, labels, _, _)) in enumerate(
                (device, metric) for device in devices for metric in PROGRAM_METRICS
            )
        ]

    def history(self, index: int, tier: Tier, start_ns: int | None = None, end_ns: int | None = None) -> Points:  # noqa: ARG002  (every tier has the same)
        """Values of a series within a span, as `Sampler.history` gives them; a moment without a value is not there."""
        place, column = divmod(index, len(PROGRAM_METRICS))
        with self._lock:
            times = np.array(self._times, np.int64)
            rows = list(self._rows.values())[place]
            values = np.array([row[column] for row in rows], np.float64)
        chosen = ~np.isnan(values)
        if start_ns is not None:
            chosen &= times >= start_ns
        if end_ns is not None:
            chosen &= times <= end_ns
        return {"time_ns": times[chosen], **dict.fromkeys(("min", "mean", "max"), values[chosen])}


class Past:
    """Records from `start` to `close`, and answers what was.

    Args:
        hours: How long files are kept; 0 keeps none.
        folder: Where; None is `history` in the cache folder of this user.
    """

    def __init__(self, hours: float, folder: Path | None = None) -> None:
        self.programs = ProgramHistory()
        self._hours = hours
        self._folder = folder
        self._ring: LongTermHistory | None = None
        self._sampler: Sampler | None = None
        self._watcher: attach.Watcher | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._since_ns = time.monotonic_ns()

    def start(self) -> None:
        """Begin to record."""
        self._since_ns = time.monotonic_ns()
        self._sampler = Sampler()
        # No records, only sums, once a second: what programs do not notice.
        self._watcher = attach.Watcher(
            interval_seconds=PERIOD_SECONDS, kinds=(), capacity=1, totals_seconds=PERIOD_SECONDS
        )
        self._ring = self._open_ring()
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, name="amdgpu-server-past", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what was not written yet, and record no more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._write()
        for opened in (self._sampler, self._watcher):
            if opened is not None:
                opened.close()
        self._sampler = self._watcher = self._thread = self._ring = None

    def totals(self) -> dict[str, Any]:
        """Rates and levels of all programs as of the last second."""
        watcher = self._watcher
        return {"devices": {}} if watcher is None else watcher.totals()

    def query(
        self, metric: str, labels: dict[str, str], tier: Tier, span: tuple[int | None, int | None], *, most: int
    ) -> list[dict[str, Any]]:
        """The series of a metric whose labels fit, oldest first within each; at most `most` points in all, the newest.

        Args:
            metric: Its name.
            labels: Labels that must have these values.
            tier: Of the sensors' history.
            span: Monotonic times in nanoseconds, both may be None.
            most: Points of all series together.
        """
        found: dict[str, tuple[dict[str, str], Points]] = {}
        periods_ns: dict[str, int] = {}
        with Sampler() as sampler:
            sources: tuple[Sampler | ProgramHistory, ...] = (sampler, self.programs)
            for source in sources:
                for series in source.series():
                    if series["metric"] == metric and labels.items() <= series["labels"].items():
                        points = source.history(series["index"], tier, *span)
                        periods_ns.setdefault(_key(series["labels"]), series["period_ns"])
                        found.setdefault(_key(series["labels"]), (series["labels"], points))
        if tier == RING_TIER:
            for own, points in self._from_ring(metric, labels, span):
                key = _key(own)
                found[key] = (own, points if key not in found else _joined(points, found[key][1]))
        rows = []
        for key, (own, points) in found.items():
            kept = {name: values[-most:] if most else values[:0] for name, values in points.items()}
            most -= len(kept["time_ns"])
            period_ns = periods_ns.get(key, int(PERIOD_SECONDS * NS))
            rows.append({"metric": metric, "labels": own, "tier": tier, "period_ns": period_ns, **kept})
        return rows

    def _run(self) -> None:
        due = time.monotonic() + FILE_SECONDS
        is_said = False
        while not self._stop.wait(PERIOD_SECONDS):
            try:
                self.programs.note(time.monotonic_ns(), self.totals())
                if time.monotonic() >= due:
                    due += FILE_SECONDS
                    self._write()
            # A second without a value is a gap; the next one may have one.
            except Exception:
                if not is_said:
                    log.exception("what programs do cannot be recorded")
                is_said = True

    def _open_ring(self) -> LongTermHistory | None:
        """The folder of files; None where none is wanted or possible, which is said once."""
        cache = cache_folder()
        folder = self._folder or (None if cache is None else cache.parent / "history")
        if self._hours <= 0 or folder is None:
            return None
        try:
            return LongTermHistory(folder, tier=RING_TIER)
        except LibraryMissingError as error:
            log.info("the history is kept in memory only: %s", error)
            return None

    def _write(self) -> None:
        if self._ring is None or self._sampler is None:
            return
        try:
            self._ring.append(self._sampler, self.programs)
            self._ring.prune(self._hours * 3600)
        except AmdgpuError as error:
            # The next one tries again, with all that came until then.
            log.warning("the history cannot be written: %s", error)

    def _from_ring(
        self, metric: str, labels: dict[str, str], span: tuple[int | None, int | None]
    ) -> list[tuple[dict[str, str], Points]]:
        """What other servers, or this one under another process id, wrote before this one began."""
        start_ns, end_ns = span
        if self._ring is None or (start_ns is not None and start_ns >= self._since_ns):
            return []
        shift = time.time_ns() - time.monotonic_ns()
        last = self._since_ns if end_ns is None else min(end_ns, self._since_ns)
        # Monotonic time begins with the machine: what is older has no place on it.
        first = max(start_ns or 0, 0)
        try:
            table = self._ring.read(metric, labels, start_ns=first + shift, end_ns=last + shift)
        except AmdgpuError as error:
            log.warning("the history cannot be read: %s", error)
            return []
        if not table.num_rows:
            return []
        times = table["time"].cast("int64").to_numpy() - shift
        texts = np.array(table["labels"].to_pylist(), object)
        columns = {name: table[name].to_numpy() for name in ("min", "mean", "max")}
        found = []
        for text in dict.fromkeys(texts.tolist()):
            place = np.flatnonzero(texts == text)
            # Two servers at a time write the same seconds twice.
            place = place[np.unique(times[place] // NS, return_index=True)[1]]
            found.append(
                (
                    json.loads(text),
                    {"time_ns": times[place], **{name: values[place] for name, values in columns.items()}},
                )
            )
        return found


def _joined(older: Points, newer: Points) -> Points:
    if newer["time_ns"].size:
        before = older["time_ns"] < newer["time_ns"][0]
        older = {name: values[before] for name, values in older.items()}
    return {name: np.concatenate([older[name], newer[name]]) for name in newer}


def _key(labels: Mapping[str, str]) -> str:
    return json.dumps(labels, sort_keys=True)

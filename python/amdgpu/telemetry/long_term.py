"""Sensor histories of more than a day, in Parquet files. Needs `pip install amdgpu-framework[history]` (pyarrow)."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from amdgpu import arguments
from amdgpu.errors import DamagedFileError, LibraryMissingError, WriteFailedError

if TYPE_CHECKING:
    import pyarrow as pa

    from amdgpu.telemetry.sensors import Sampler, Tier

__all__ = ["LongTermHistory"]


class Recorded(Protocol):
    """What has series with histories, as a sampler has."""

    def series(self) -> Any:
        """Rows with `index`, `metric` and `labels`."""

    def history(self, index: int, tier: Tier, start_ns: int | None = None, end_ns: int | None = None) -> dict[str, Any]:
        """Arrays `time_ns`, `min`, `mean`, `max`."""


SCHEMA_NAME = "amdgpu.sensor_history/1"
# Buckets that are not over yet are left for the next time; the widest takes a second, and a sampler may be a little late.
SETTLING_NS = 2_000_000_000


class LongTermHistory:
    """A folder of Parquet files to which a sampler's history is appended, and from which it is read again.

    Each `append` writes one file (`sensors-<time>-<process>.parquet`) with what came since the one before; several processes may write
    to one folder. Columns: `time` (UTC, nanoseconds), `metric`, `labels` (JSON), `min`, `mean`, `max`. DuckDB, Polars and pandas read the
    folder as it is. Times are placed in the calendar when they are written, so that a clock that is set meanwhile moves no old value.

    Args:
        folder: Is made if it is not there.
        tier: Which part of the history is kept: "1hz" (append at least once a day), "10hz" (every ten minutes) or "raw" (every minute).

    Raises:
        LibraryMissingError: pyarrow is not installed.
    """

    def __init__(self, folder: str | os.PathLike[str], *, tier: Tier = "1hz") -> None:
        from amdgpu.telemetry.sensors import TIERS

        arguments.choice("LongTermHistory", "tier", tier, TIERS)
        path = arguments.path("LongTermHistory", "folder", folder)
        _parquet()
        self.folder = path
        self.tier: Tier = tier
        # Monotonic time up to which each series was written.
        self._written_ns: dict[tuple[str, str], int] = {}
        self._count = 0

    def append(self, sampler: Sampler, *others: Recorded) -> int:
        """Write what came since the last call; returns the number of rows, 0 if there is nothing new (and then no file).

        Args:
            sampler: Whose history is written.
            others: Further histories beside it.

        Raises:
            WriteFailedError: The folder or the file cannot be written; nothing is lost, the next call tries again.
        """
        now_ns, epoch_ns = time.monotonic_ns(), time.time_ns()
        columns: dict[str, list[Any]] = {name: [] for name in ("time", "metric", "labels", "min", "mean", "max")}
        written = dict(self._written_ns)
        recorded: tuple[Recorded, ...] = (sampler, *others)
        for source, series in [(one, series) for one in recorded for series in one.series()]:
            labels = json.dumps(series["labels"], sort_keys=True)
            key = (series["metric"], labels)
            begin = written.get(key, -1) + 1
            points = source.history(series["index"], self.tier, begin, now_ns - SETTLING_NS)
            times = points["time_ns"]
            if not times.size:
                continue
            written[key] = int(times[-1])
            columns["time"] += (times.astype("int64") + (epoch_ns - now_ns)).tolist()
            columns["metric"] += [series["metric"]] * times.size
            columns["labels"] += [labels] * times.size
            for name in ("min", "mean", "max"):
                columns[name] += points[name].tolist()
        if columns["time"]:
            self._write(columns, epoch_ns)
        self._written_ns = written
        return len(columns["time"])

    def prune(self, keep_seconds: float) -> int:
        """Delete files that were written longer ago than this; returns how many.

        Raises:
            WriteFailedError: A file cannot be deleted.
        """
        keep_seconds = arguments.finite("prune", "keep_seconds", keep_seconds)
        oldest_ns = time.time_ns() - keep_seconds * 1e9
        old = [path for path in self.folder.glob("sensors-*.parquet") if _written_ns(path) < oldest_ns]
        for path in old:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise WriteFailedError(f"{path} cannot be deleted: {error.strerror}") from error
        return len(old)

    def _write(self, columns: dict[str, list[Any]], epoch_ns: int) -> None:
        arrow, parquet = _parquet()
        text = arrow.dictionary(arrow.int32(), arrow.string())
        schema = arrow.schema(
            [
                ("time", arrow.timestamp("ns", "UTC")),
                ("metric", text),
                ("labels", text),
                ("min", arrow.float64()),
                ("mean", arrow.float64()),
                ("max", arrow.float64()),
            ],
            {"amdgpu_schema": SCHEMA_NAME},
        )
        self._count += 1
        path = self.folder / f"sensors-{epoch_ns}-{os.getpid()}-{self._count}.parquet"
        unfinished = path.with_suffix(".unfinished")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            parquet.write_table(arrow.table(columns, schema=schema), unfinished, compression="zstd")
            unfinished.rename(path)
        except (OSError, arrow.ArrowException) as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise WriteFailedError(f"{path} cannot be written: {error}") from error

    def read(
        self,
        metric: str | None = None,
        labels: Mapping[str, str] | None = None,
        *,
        start_ns: int | None = None,
        end_ns: int | None = None,
    ) -> pa.Table:
        """What was written, oldest first.

        Args:
            metric: A name; None: all.
            labels: Labels that must have these values.
            start_ns: Nanoseconds since 1970 from which on.
            end_ns: Nanoseconds since 1970 up to which.

        Raises:
            DamagedFileError: A file of the folder is none of `append`, or damaged.
        """
        first_ns, last_ns = _checked(metric, labels, start_ns, end_ns)
        arrow, parquet = _parquet()
        from pyarrow import compute

        tables = []
        for path in sorted(self.folder.glob("sensors-*.parquet")):
            if first_ns is not None and _written_ns(path) < first_ns:
                # All that it holds is older.
                continue
            try:
                table = parquet.read_table(path)
            except (OSError, arrow.ArrowException) as error:
                raise DamagedFileError(f"{path} cannot be read: {error}") from error
            if (table.schema.metadata or {}).get(b"amdgpu_schema") != SCHEMA_NAME.encode():
                raise DamagedFileError(f"{path} is no sensor history: it does not say {SCHEMA_NAME}")
            tables.append(_plain(arrow, table))
        if not tables:
            return arrow.table({"time": arrow.array([], arrow.timestamp("ns", "UTC"))})
        whole = arrow.concat_tables(tables)
        if metric is not None:
            whole = whole.filter(compute.equal(whole["metric"], metric))
        for bound, holds in ((first_ns, compute.greater_equal), (last_ns, compute.less_equal)):
            if bound is not None:
                whole = whole.filter(holds(whole["time"], arrow.scalar(bound, arrow.timestamp("ns", "UTC"))))
        if labels:
            distinct = {text: json.loads(text) for text in compute.unique(whole["labels"]).to_pylist()}
            fitting = [text for text, known in distinct.items() if labels.items() <= known.items()]
            whole = whole.filter(compute.is_in(whole["labels"], arrow.array(fitting, arrow.string())))
        return whole.sort_by("time")


def _written_ns(path: Path) -> int:
    """When a file was written, from its name; of another name: now, so that it is read and never deleted."""
    digits = path.name.removeprefix("sensors-").partition("-")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else time.time_ns()


def _checked(metric: Any, labels: Any, *bounds: Any) -> list[int | None]:
    if metric is not None:
        arguments.text("read", "metric", metric, "the name of a metric")
    if labels is not None:
        arguments.mapping("read", "labels", labels, "labels")
    names = ("start_ns", "end_ns")
    return [
        None if bound is None else arguments.integer("read", name, bound)
        for name, bound in zip(names, bounds, strict=True)
    ]


def _plain(arrow: Any, table: Any) -> Any:
    """Texts without dictionaries, which differ from file to file."""
    for name in ("metric", "labels"):
        place = table.schema.get_field_index(name)
        table = table.set_column(place, name, table[name].cast(arrow.string()))
    return table.replace_schema_metadata()


def _parquet() -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise LibraryMissingError(
            "pyarrow is not installed; long-term histories need it: pip install 'amdgpu-framework[history]'"
        ) from error
    return pa, parquet

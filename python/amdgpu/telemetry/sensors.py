"""Sensors of this machine: load, memory, temperature, power, clocks of GPUs and processor, as readings, series and histories.

Nothing here opens a device or wakes a sleeping GPU. What is not there is None, with the reason in words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from reprlib import repr as shortened
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from amdgpu import _native, arguments
from amdgpu.errors import InvalidArgumentError, InvalidTypeError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from typing_extensions import Self

__all__ = ["TIERS", "Frame", "Process", "Reading", "Sampler", "Series", "processes", "read"]

Tier = Literal["raw", "10hz", "1hz"]
TIERS: tuple[Tier, ...] = ("raw", "10hz", "1hz")
# Frames that a sampler remembers: a few clients with a choice of their own.
MAX_FRAMES = 16


class Reading(TypedDict):
    """The value of a series, or the reason why there is none."""

    metric: str
    labels: dict[str, str]
    value: float | None
    reason: str | None
    time_ns: int
    period_ns: int
    source: str


class Series(TypedDict):
    """What a series is; `index` is its place in `Sampler.latest()`, `unit` is empty for counts."""

    index: int
    metric: str
    labels: dict[str, str]
    unit: str
    period_ns: int
    source: str


class Process(TypedDict):
    """A process that uses a GPU."""

    pid: int
    command: str
    device: str
    memory_bytes: int | None
    engine_seconds: dict[str, float]


def read() -> list[Reading]:
    """One reading for every series of this machine: of the running `Sampler`, or of a look taken now.

    Loads and other rates are the mean since the reading before, so the first reading of a process has none unless a `Sampler` runs.

    Returns:
        Readings with `metric`, `labels`, `value` (None: see `reason`), `time_ns` (monotonic), `period_ns` (how often a sampler reads it)
        and `source`: amd-sysfs, amd-slow, nvml, cpu or runtime.

    Example:
        >>> from amdgpu.telemetry import sensors
        >>> {reading["metric"] for reading in sensors.read() if reading["labels"].get("device") == "cpu:0"} >= {
        ...     "amdgpu_memory_total_bytes"
        ... }
        True
    """
    readings: list[Reading] = json.loads(_native.sensor_readings())
    return readings


def processes() -> list[Process]:
    """Processes that use GPUs, with the memory and engine time that the driver tells; other users' are seen by root only."""
    rows: list[Process] = json.loads(_native.sensor_processes())
    return rows


class Sampler:
    """Reads the sensors at their own rates in native threads while it is open, and keeps their history.

    All samplers of a process share one set of threads and one history. While one is open, `telemetry.snapshot()` and
    `telemetry.prometheus()` show the sensors too. A source takes at most 0.06 % of a core; where reading is dear it is read less
    often, and `period_ns` says so.

    Example:
        >>> from amdgpu.telemetry.sensors import Sampler
        >>> with Sampler() as sampler:
        ...     series = sampler.series()
        ...     len(sampler.latest()[1]) >= len(series)
        True
    """

    def __init__(self) -> None:
        self._native = _native.SensorSampler()
        self._frames: dict[tuple[int, int], tuple[_native.SensorFrame, tuple[str, ...], tuple[Any, ...]]] = {}

    def series(self) -> list[Series]:
        """All series so far. New ones come at the end; none goes away, one that is gone is absent."""
        rows: list[Series] = json.loads(self._native.series())
        return rows

    @property
    def series_count(self) -> int:
        """How many series there are so far."""
        return self._native.series_count

    def latest(self) -> tuple[list[int], list[float]]:
        """Monotonic times in nanoseconds and values, in the order of `series()`; NaN is absent."""
        return self._native.latest()

    def reasons(self) -> list[str | None]:
        """Why values are absent, in the order of `series()`."""
        return self._native.reasons()

    def readings(self) -> list[Reading]:
        """Latest readings, as `read()` gives them."""
        rows: list[Reading] = json.loads(self._native.readings())
        return rows

    def history(
        self, index: int, tier: Tier = "raw", start_ns: int | None = None, end_ns: int | None = None
    ) -> dict[str, npt.NDArray[Any]]:
        """What a series was.

        Args:
            index: Place of the series in `series()`.
            tier: "raw" (every sample of the last 60 seconds), "10hz" (ten minutes in buckets of 100 ms) or "1hz" (24 hours in buckets of a
                second).
            start_ns: Monotonic time from which on; None: from the beginning.
            end_ns: Monotonic time up to which; None: to the end.

        Returns:
            Arrays `time_ns` (of a bucket: its beginning), `min`, `mean`, `max`. Buckets without a sample are not there.

        Raises:
            InvalidArgumentError: There is no such series or tier.
        """
        arguments.choice("history", "tier", tier, TIERS)
        index = arguments.count("history", "index", index)
        begin = 0 if start_ns is None else max(0, arguments.integer("history", "start_ns", start_ns))
        end = sys.maxsize if end_ns is None else max(0, arguments.integer("history", "end_ns", end_ns))
        arrays: tuple[npt.NDArray[np.generic], ...] | None = self._native.history(index, tier, begin, end)
        if arrays is None:
            raise InvalidArgumentError(f"there is no series {index}; series() lists them")
        return dict(zip(("time_ns", "min", "mean", "max"), arrays, strict=True))

    def history_bytes(self) -> int:
        """Memory that all histories of this process take."""
        return self._native.history_bytes()

    def frame_values(self, devices: Sequence[str], metrics: Sequence[str | Mapping[str, Any]]) -> bytes:
        """A matrix of latest values for dashboards: little-endian 32-bit floats, a row for each device, NaN where absent.

        Args:
            devices: Names such as "cpu:0".
            metrics: Names, or mappings with `name` and `labels` that must fit (`device` apart); the first series that fits is taken.

        Raises:
            InvalidArgumentError: A metric that is not in the catalogue.

        The same two tuples, given again, are looked up once.
        """
        # Known by identity and kept alive, so that no other object takes the number. Only tuples cannot change meanwhile.
        known = self._frames.get((id(devices), id(metrics)))
        if known is not None:
            return self._native.frame_values(known[0])
        plan = _plan(devices, metrics)
        if isinstance(devices, tuple) and isinstance(metrics, tuple):
            if len(self._frames) >= MAX_FRAMES:
                self._frames.clear()
            self._frames[id(devices), id(metrics)] = (plan, devices, metrics)
        return self._native.frame_values(plan)

    def frame(self, devices: Sequence[str], metrics: Sequence[str | Mapping[str, Any]]) -> Frame:
        """A frame that is asked for again and again; the arguments are those of `frame_values`.

        Raises:
            InvalidArgumentError: A metric that is not in the catalogue.
        """
        return Frame(self._native, _plan(devices, metrics))

    def close(self) -> None:
        """Stop sampling, unless another sampler of this process goes on."""
        self._native.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Frame:
    """The matrix of latest values of chosen devices and metrics, and what is to stand behind it.

    Attributes:
        read: Takes nothing and returns the bytes of `Sampler.frame_values`; behind the sensors of each device, its tail.
    """

    def __init__(self, sampler: _native.SensorSampler, plan: _native.SensorFrame) -> None:
        self._plan = plan
        # Called sixty times a second: one call, with nothing of Python around it.
        self.read: Callable[[], bytes] = partial(sampler.frame_values, plan)

    def set_tails(self, tails: bytes) -> None:
        """What stands behind the sensors of each device from now on: as many bytes for each, one device after the other.

        Raises:
            InvalidArgumentError: The bytes cannot be shared out evenly.
        """
        if not isinstance(tails, bytes):
            raise InvalidTypeError(f"set_tails: tails must be bytes, got {shortened(tails)}")
        self._plan.set_tails(tails)


def _plan(devices: Sequence[str], metrics: Sequence[str | Mapping[str, Any]]) -> _native.SensorFrame:
    columns = arguments.sequence("frame", "metrics", metrics, "names and mappings")
    return _native.SensorFrame(arguments.names("frame", "devices", devices), [_column(metric) for metric in columns])


def _column(metric: str | Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    if isinstance(metric, str):
        return arguments.text("frame", "a metric", metric, "a name"), []
    if not isinstance(metric, Mapping) or not isinstance(metric.get("name"), str):
        raise InvalidTypeError(
            f"frame: a metric must be a name or a mapping with `name` and `labels`, got {shortened(metric)}"
        )
    given = metric.get("labels")
    labels = {} if given is None else arguments.mapping("frame", "labels", given, "labels")
    return metric["name"], [(str(name), str(value)) for name, value in labels.items() if name != "device"]

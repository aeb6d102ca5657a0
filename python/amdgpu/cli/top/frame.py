"""What the live view shows at one moment, as plain data: the same from running processes and from a recording."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from amdgpu.cli import machine
from amdgpu.cli.watch import figures
from amdgpu.types import CORE_TYPES


@dataclass(frozen=True)
class DeviceNow:
    """A device. What is None is not known, and `reasons` says why."""

    device: str
    description: str
    busy_ratio: float | None
    core_busy_ratios: dict[str, float]
    operations_per_second: dict[str, float]
    memory_used_bytes: float | None
    memory_total_bytes: float | None
    temperature_celsius: float | None
    power_watts: float | None
    clock_hertz: float | None
    launches_per_second: float
    copy_bytes_per_second: float
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def memory_ratio(self) -> float | None:
        """Share of the memory that is used."""
        if self.memory_used_bytes is None or not self.memory_total_bytes:
            return None
        return self.memory_used_bytes / self.memory_total_bytes


@dataclass(frozen=True)
class ProcessNow:
    """A process that uses amdgpu."""

    pid: int
    command: str
    launches_per_second: float
    busy_ratio: float
    boundary_calls_per_second: float
    pool_reserved_bytes: int
    fallbacks: int
    problem: str | None


@dataclass(frozen=True)
class KernelNow:
    """A kernel of a process.

    Attributes:
        title: Its name, with a part of its id where several of its process have the same.
        id: Its handle ends with it.
        calls: All launches since the process began; `timed_calls` of them were timed.
        seconds: Their time; those that were not timed are taken to have lasted as long (`is_estimated`).
        calls_per_second, busy_ratio: Since the frame before.
        p50_seconds: Median of the launches that were timed: since the process began, or in a recording those with records.
    """

    pid: int
    name: str
    title: str
    id: str
    device: str
    core: str
    calls: int
    timed_calls: int
    calls_per_second: float
    seconds: float
    is_estimated: bool
    busy_ratio: float
    p50_seconds: float | None


@dataclass(frozen=True)
class PoolNow:
    """A memory pool of a process."""

    pid: int
    device: str
    pool: str
    active_bytes: int
    reserved_bytes: int
    reserved_peak_bytes: int


@dataclass(frozen=True)
class Frame:
    """Everything at one moment."""

    time_ns: int
    devices: list[DeviceNow]
    processes: list[ProcessNow]
    kernels: list[KernelNow]
    pools: list[PoolNow]
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The frame as a JSON document shows it."""
        return asdict(self)


@dataclass(frozen=True)
class Look:
    """One process as it was seen.

    Attributes:
        pid: Its number.
        command: Its command line.
        totals: What it has counted (`Process.totals()`); None when it did not answer.
        medians: Of its kernels, from the launches that were timed.
        problem: Why there are no totals.
    """

    pid: int
    command: str
    totals: Mapping[str, Any] | None
    medians: Mapping[figures.KernelKey, float | None] = field(default_factory=dict)
    problem: str | None = None


def frame_of(
    time_ns: int,
    descriptions: Mapping[str, str],
    readings: Sequence[machine.Reading],
    looks: Iterable[Look],
    earlier: Mapping[int, Look],
) -> Frame:
    """The frame between two looks at each process.

    Args:
        time_ns: When.
        descriptions: Devices and what they are called.
        readings: Sensors.
        looks: The processes now.
        earlier: The look before, by process; rates of a process without one are zero.
    """
    processes: list[ProcessNow] = []
    kernels: list[KernelNow] = []
    pools: list[PoolNow] = []
    sums: dict[str, _Sums] = {}
    for look in looks:
        if look.totals is None:
            processes.append(ProcessNow(look.pid, look.command, 0.0, 0.0, 0.0, 0, 0, look.problem))
            continue
        rates = _rates(earlier.get(look.pid), look)
        known = figures.figures([look.totals])
        processes.append(_process(look, known, rates))
        kernels += _kernels(look, known, rates)
        pools += [
            PoolNow(
                look.pid,
                row["device"],
                row["pool"],
                row["active_bytes"],
                row["reserved_bytes"],
                row["reserved_peak_bytes"],
            )
            for row in known["pools"]
        ]
        _add_rates(sums, rates)
    devices = [
        _device(
            name,
            description,
            readings,
            core_busy=total.core_busy,
            operations_per_second=total.operations,
            launches_per_second=total.launches,
            copy_bytes_per_second=total.copied,
        )
        for name, description in descriptions.items()
        for total in (sums.get(name, _Sums()),)
    ]
    kernels.sort(key=lambda kernel: (-kernel.busy_ratio, -kernel.seconds, kernel.name))
    processes.sort(key=lambda process: (-process.busy_ratio, -process.launches_per_second, process.pid))
    return Frame(time_ns, devices, processes, kernels, pools)


@dataclass
class _Rates:
    """Figures of what happened between two looks, and the seconds between them."""

    figures: Mapping[str, Any] | None
    seconds: float
    core_busy: dict[tuple[str, str], float] = field(default_factory=dict)


@dataclass
class _Sums:
    core_busy: dict[str, float] = field(default_factory=lambda: dict.fromkeys(CORE_TYPES, 0.0))
    operations: dict[str, float] = field(default_factory=lambda: dict.fromkeys(CORE_TYPES, 0.0))
    launches: float = 0.0
    copied: float = 0.0


def _rates(before: Look | None, now: Look) -> _Rates:
    if before is None or before.totals is None or now.totals is None:
        return _Rates(None, 1.0)
    seconds = (figures.time_of(now.totals) - figures.time_of(before.totals)) * figures.NS
    if seconds <= 0:
        return _Rates(None, 1.0)
    changed = figures.figures([figures.difference(before.totals, now.totals)])
    busy = {(row["device"], row["core"]): row["seconds"] / seconds for row in changed["busy"]}
    return _Rates(changed, seconds, busy)


def _process(look: Look, known: Mapping[str, Any], rates: _Rates) -> ProcessNow:
    recent = rates.figures or {"launches_total": 0, "boundaries": []}
    return ProcessNow(
        pid=look.pid,
        command=look.command,
        launches_per_second=recent["launches_total"] / rates.seconds,
        busy_ratio=sum(rates.core_busy.values()),
        boundary_calls_per_second=sum(row["count"] for row in recent["boundaries"]) / rates.seconds,
        pool_reserved_bytes=sum(row["reserved_bytes"] for row in known["pools"]),
        fallbacks=sum(row["value"] for row in known["fallbacks"]),
        problem=None,
    )


def _kernels(look: Look, known: Mapping[str, Any], rates: _Rates) -> list[KernelNow]:
    recent = {figures.kernel_key(row): row for row in (rates.figures or {"kernels": []})["kernels"]}
    rows = []
    for row in known["kernels"]:
        key = figures.kernel_key(row)
        now = recent.get(key, {"calls": 0, "seconds": 0.0})
        rows.append(
            KernelNow(
                pid=look.pid,
                name=row["name"],
                title=row["title"],
                id=row["id"],
                device=row["device"],
                core=row["core"],
                calls=row["calls"],
                timed_calls=row["timed_calls"],
                calls_per_second=now["calls"] / rates.seconds,
                seconds=row["seconds"],
                is_estimated=row["is_estimated"],
                busy_ratio=now["seconds"] / rates.seconds,
                p50_seconds=look.medians.get(key),
            )
        )
    return rows


def _add_rates(sums: dict[str, _Sums], rates: _Rates) -> None:
    if rates.figures is None:
        return
    for row in rates.figures["launches"]:
        sums.setdefault(row["device"], _Sums()).launches += row["value"] / rates.seconds
    for row in rates.figures["operations"]:
        operations = sums.setdefault(row["device"], _Sums()).operations
        operations[row["core"]] = operations.get(row["core"], 0.0) + row["value"] / rates.seconds
    for (device, core), ratio in rates.core_busy.items():
        cores = sums.setdefault(device, _Sums()).core_busy
        cores[core] = cores.get(core, 0.0) + ratio
    for row in rates.figures["copies"]:
        sums.setdefault(row["device"], _Sums()).copied += row["value"] / rates.seconds


def _device(
    name: str,
    description: str,
    readings: Sequence[machine.Reading],
    *,
    core_busy: Mapping[str, float],
    operations_per_second: Mapping[str, float],
    launches_per_second: float,
    copy_bytes_per_second: float,
) -> DeviceNow:
    """A device, from its sensors and from what processes measured on it."""
    busy, no_busy = machine.find(readings, "amdgpu_busy_ratio", name)
    used, no_used = machine.find(readings, "amdgpu_memory_used_bytes", name)
    total, _ = machine.find(readings, "amdgpu_memory_total_bytes", name)
    heat, no_heat = machine.hottest(readings, name)
    power, no_power = machine.find(readings, "amdgpu_power_watts", name)
    clock, no_clock = machine.find(readings, "amdgpu_clock_hertz", name)
    absent = (
        ("busy_ratio", busy, no_busy),
        ("memory_used_bytes", used, no_used),
        ("temperature_celsius", heat, no_heat),
        ("power_watts", power, no_power),
        ("clock_hertz", clock, no_clock),
    )
    return DeviceNow(
        device=name,
        description=description,
        busy_ratio=busy,
        # Kernels that run beside each other add up to more than the whole time.
        operations_per_second=dict(operations_per_second),
        core_busy_ratios={core: min(core_busy.get(core, 0.0), 1.0) for core in CORE_TYPES},
        memory_used_bytes=used,
        memory_total_bytes=total,
        temperature_celsius=heat,
        power_watts=power,
        clock_hertz=clock,
        launches_per_second=launches_per_second,
        copy_bytes_per_second=copy_bytes_per_second,
        reasons={field_name: reason for field_name, value, reason in absent if value is None},
    )

"""What a device can do at most: the roofs that kernels are held against.

GPUs: computed from what the driver tells and a table of architectures (`DeviceInfo.details`). The CPU does not tell, so it is measured in a
child process, a fraction of a second, when somebody asks for it; the answer is kept in the cache folder for this machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from amdgpu.types import DeviceInfo

# A child that takes longer has no time to itself; what it would measure is of no use.
_LIMIT_SECONDS = 20.0
# What others run at the same time makes the machine look slower than it is.
_BUSY_SHARE = 0.25
_AGAIN_SECONDS = 60.0
# Other kernels or ways to measure make other figures.
_METHOD = 2


@dataclass(frozen=True, slots=True)
class Peaks:
    """The roofs of a device.

    Attributes:
        flops_per_second: 32-bit floating-point operations a second, a multiply-add counted as two; None when not known.
        bytes_per_second: Bytes a second of the device's memory, both ways; None when not known.
        source: Where the figures come from, or why there are none.
        cache_bytes_per_second: The same of data that stays in a cache, by its name ("L1", "L2", "L3"), the fastest first; those that are
            no faster than what lies behind them are left out. Empty where it is not known.
    """

    flops_per_second: float | None
    bytes_per_second: float | None
    source: str
    cache_bytes_per_second: dict[str, float] = field(default_factory=dict)


_lock = threading.Lock()
# What was measured while the machine was busy: the figures, and when to try again.
_busy: dict[str, tuple[Peaks, float]] = {}


def peaks_of(info: DeviceInfo) -> Peaks:
    """The roofs of a device of `list_devices()`.

    Args:
        info: The device. The CPU is measured the first time, in about a second.

    Returns:
        The figures, and where they come from.
    """
    details = info.details
    if "peak_flops_per_second" in details:
        source = (
            f"computed: {info.compute_units} units of {info.architecture} at {details['clock_hertz'] / 1e9:.2f} GHz, "
            f"memory of {details['memory_bus_bits']} bit at {details['memory_clock_hertz'] / 1e9:.2f} GHz"
        )
        return Peaks(float(details["peak_flops_per_second"]), float(details["peak_bytes_per_second"]), source)
    if info.kind != "cpu":
        return Peaks(None, None, f"{info.architecture} is not in the table of peaks, or its driver tells no clock")
    return _of_processor(info)


def _of_processor(info: DeviceInfo) -> Peaks:
    threads = os.environ.get("AMDGPU_CPU_THREADS") or info.details.get("logical_cores")
    facts = (_METHOD, info.name, info.architecture, info.compute_units, threads)
    key = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    with _lock:
        found = _read(key)
        if found is not None:
            return found
        known = _busy.get(key)
        if known is not None and time.monotonic() < known[1]:
            return known[0]
        peaks, is_quiet = _measured()
        if is_quiet:
            _write(key, peaks)
        else:
            peaks = _better(peaks, known[0] if known else peaks)
            _busy[key] = (peaks, time.monotonic() + _AGAIN_SECONDS)
        return peaks


def _better(one: Peaks, other: Peaks) -> Peaks:
    """The higher figures of two that others disturbed."""
    return Peaks(
        max(one.flops_per_second or 0.0, other.flops_per_second or 0.0) or None,
        max(one.bytes_per_second or 0.0, other.bytes_per_second or 0.0) or None,
        one.source if one.flops_per_second else other.source,
        {
            name: max(found.get(name, 0.0) for found in (one.cache_bytes_per_second, other.cache_bytes_per_second))
            for name in (one.cache_bytes_per_second or other.cache_bytes_per_second)
        },
    )


def _measured() -> tuple[Peaks, bool]:
    """What the child says, and whether it had the machine to itself."""
    package = str(Path(__file__).resolve().parents[2])
    folders = [package, *(folder for folder in sys.path if folder and folder != package)]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(folders),
        "AMDGPU_TELEMETRY": "off",
        "AMDGPU_ATTACH": "off",
        "AMDGPU_DEVICES": "cpu",
    }
    for name in ("AMDGPU_REPORT", "AMDGPU_REPORT_RECORDS", "AMDGPU_REPORT_RECORDING"):
        environment.pop(name, None)
    # `-c`, not `-m`: files of the folder that this process works in must not stand in for modules.
    program = "import sys; sys.path[:] = filter(None, sys.path)\nfrom amdgpu.telemetry.peaks_worker import main\nmain()"
    command = [sys.executable, "-c", program]
    before = _busy_seconds()
    started = time.monotonic()
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=True
        )
        answer = json.loads(done.stdout)
        figures = (float(answer["flops_per_second"]), float(answer["bytes_per_second"]), float(answer["cpu_seconds"]))
        caches = caches_of(answer["cache_bytes_per_second"], figures[1])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as error:
        return Peaks(None, None, f"measuring the processor failed: {type(error).__name__}"), False
    elapsed = (time.monotonic() - started) * (os.cpu_count() or 1)
    after = _busy_seconds()
    others = 0.0 if before is None or after is None else after - before - figures[2]
    is_quiet = others <= _BUSY_SHARE * elapsed
    source = "measured: multiply-adds and sums of two arrays, in memory and in each cache, all threads"
    if not is_quiet:
        source += "; the machine was busy, so that it can do more"
    return Peaks(figures[0], figures[1], source, caches), is_quiet


def caches_of(measured: Mapping[str, float], memory: float) -> dict[str, float]:
    """Caches that are faster than what lies behind them; others are no roofs. `measured` begins with the one next to the core."""
    found: dict[str, float] = {}
    behind = memory
    for name, speed in reversed(list(measured.items())):
        if math.isfinite(speed) and speed > behind:
            found[name] = behind = float(speed)
    return dict(reversed(list(found.items())))


def _busy_seconds() -> float | None:
    """Seconds in which processors of this machine worked since it started; None where that is not told."""
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
        ticks = [int(field) for field in fields[1:]]
        # user, nice, system, idle, iowait, irq, softirq, steal: all but the two that wait.
        return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError):
        return None


def _folder() -> Path | None:
    from amdgpu.tuning.database import cache_folder

    tuning = cache_folder()
    return None if tuning is None else tuning.parent / "peaks"


def _read(key: str) -> Peaks | None:
    folder = _folder()
    if folder is None:
        return None
    try:
        row = json.loads((folder / f"{key}.json").read_text(encoding="utf-8"))
        memory = float(row["bytes_per_second"])
        caches = caches_of({str(name): float(speed) for name, speed in row["cache_bytes_per_second"].items()}, memory)
        peaks = Peaks(float(row["flops_per_second"]), memory, str(row["source"]), caches)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # None yet, or damaged: measured again.
        return None
    figures = (peaks.flops_per_second or 0.0, peaks.bytes_per_second or 0.0)
    return peaks if all(math.isfinite(figure) and figure > 0 for figure in figures) else None


def _write(key: str, peaks: Peaks) -> None:
    """Keep the figures; without a folder to write to they are measured again by the next process."""
    folder = _folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f"{key}.")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(asdict(peaks), file)
        Path(name).replace(folder / f"{key}.json")

"""What every benchmark shares: measuring two things side by side, the table, and the record in bench-results/."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tools"))

from x.bench_compare import fingerprint  # noqa: E402

RESULTS = ROOT / "bench-results"
SCHEMA = "amdgpu.bench/1"
# Long enough that the clock's resolution and one interrupt do not show, short enough to alternate often.
ROUND_SECONDS = 0.02
ROUNDS = 15


@dataclass(frozen=True)
class Row:
    """One comparison. `ratio` says how many times better ours is than the peer: above 1 is in our favour."""

    case: str
    unit: str
    ours: float
    peer: float | None
    ratio: float | None
    note: str = ""
    higher_is_better: bool = False


@dataclass
class Report:
    """Collects the rows of one benchmark, prints them as they come and writes them down."""

    name: str
    peer: str
    rows: list[Row] = field(default_factory=list)

    def start(self, summary: str) -> None:
        """Prints the heading."""
        print(f"{self.name}: {summary}")
        print(f"peer: {self.peer}")
        print(f"{'case':<44} {'ours':>12} {'peer':>12} {'unit':<8} {'ratio':>7}")

    def add(
        self, case: str, unit: str, ours: float, peer: float | None, *, higher_is_better: bool = False, note: str = ""
    ) -> None:
        """Adds and prints one row."""
        ratio = None if peer is None else (ours / peer if higher_is_better else peer / ours)
        row = Row(case, unit, ours, peer, ratio, note, higher_is_better)
        self.rows.append(row)
        peer_text = "" if peer is None else number(peer)
        ratio_text = "" if ratio is None else f"{ratio:.2f}"
        print(f"{case:<44} {number(ours):>12} {peer_text:>12} {unit:<8} {ratio_text:>7}  {note}".rstrip(), flush=True)

    def write(self, *, command: str | None = None, gpu: str | None = None) -> Path:
        """Writes the record and says where; `command` is what repeats the run, if not `./x bench`."""
        moment = datetime.now(timezone.utc)
        measured_on = machine() | ({"gpu": gpu} if gpu else {})
        record = {
            "schema": SCHEMA,
            "name": self.name,
            "date": moment.isoformat(timespec="seconds"),
            "command": command or " ".join(["./x", "bench", *sys.argv[1:]]),
            "peer": self.peer,
            "machine": measured_on | {"fingerprint": fingerprint(measured_on)},
            "rows": [asdict(row) for row in self.rows],
        }
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}-{moment:%Y%m%dT%H%M%SZ}.json"
        path.write_text(json.dumps(record, indent=1) + "\n")
        print(f"written to {path.relative_to(ROOT)}")
        return path


def number(value: float) -> str:
    """Four significant digits without an exponent where possible."""
    if value == 0 or 0.01 <= abs(value) < 100_000:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:.3e}"


def side_by_side(
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    *,
    rounds: int = ROUNDS,
    round_seconds: float = ROUND_SECONDS,
    settle_seconds: float = 0.0,
) -> tuple[float, float]:
    """Seconds per call of both: medians over alternating rounds, so that a slow phase of the machine meets both.

    With `settle_seconds` each round waits first, then calls once untimed: the idle threads of one side may spin on the
    cores that the other side is about to use.
    """
    first, second = in_turns([ours, peer], rounds=rounds, round_seconds=round_seconds, settle_seconds=settle_seconds)
    return statistics.median(first), statistics.median(second)


def in_turns(
    functions: Sequence[Callable[[], Any]],
    *,
    rounds: int = ROUNDS,
    round_seconds: float = ROUND_SECONDS,
    settle_seconds: float = 0.0,
    untimed_calls: int = 0,
) -> list[list[float]]:
    """Seconds per call of each, one sample a round; the functions take turns in every round.

    A turn begins with `untimed_calls`: what the others left in the caches is not what a function finds there when it is called again.
    """
    calls = [_calls_per_round(function, round_seconds) for function in functions]
    samples: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, count, collected in zip(functions, calls, samples, strict=True):
            if settle_seconds:
                time.sleep(settle_seconds)
            for _ in range(max(untimed_calls, 1 if settle_seconds else 0)):
                function()
            collected.append(_timed(function, count))
    return samples


def alone(function: Callable[[], Any], *, rounds: int = ROUNDS, round_seconds: float = ROUND_SECONDS) -> float:
    """Seconds per call, median over rounds."""
    count = _calls_per_round(function, round_seconds)
    return statistics.median(_timed(function, count) for _ in range(rounds))


def _calls_per_round(function: Callable[[], Any], round_seconds: float) -> int:
    function()
    count = 1
    while (seconds := _timed(function, count) * count) < round_seconds / 2:
        count = max(count * 2, int(count * round_seconds / max(seconds, 1e-9) / 2))
    return count


def _timed(function: Callable[[], Any], count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        function()
    return (time.perf_counter() - started) / count


def machine() -> dict[str, Any]:
    """What the figures were measured on."""
    return {
        "processor": _first_match("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory": _first_match("/proc/meminfo", "MemTotal"),
        "load_average": list(os.getloadavg()),
        "system": platform.platform(),
        "python": platform.python_version(),
        "commit": _commit(),
    }


def _first_match(path: str, key: str) -> str:
    try:
        lines = Path(path).read_text().splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _commit() -> str:
    try:
        command = ["git", "describe", "--always", "--dirty"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip()

"""`./x bench --compare BASE`: results of benchmarks beside earlier ones of the same machine.

Every run leaves a record in bench-results/ with the machine it was made on, so the folder is the history. A case counts as slower when its
time grew beyond the threshold, and, where it was measured beside a peer, its time over the peer's as well: on a machine that is slow today
both grow alike.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from x.console import Console
from x.failure import Failure
from x.paths import BENCH_RESULTS, ROOT

SCHEMA = "amdgpu.bench/1"
# By so many percent a time may grow: less than what a change is looked for, more than what medians of runs differ by on a quiet machine.
DEFAULT_THRESHOLD_PERCENT = 10.0
# What makes a machine another one: results do not depend on its load or its Python.
FINGERPRINT_FIELDS = ("processor", "cores", "memory", "gpu")


def fingerprint(machine: Mapping[str, Any]) -> str:
    """Twelve hexadecimal digits that are equal where processor, cores, memory and GPU are."""
    described = json.dumps([machine.get(name) for name in FINGERPRINT_FIELDS])
    return hashlib.sha256(described.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Result:
    """One run of a benchmark."""

    path: Path
    name: str
    date: str
    commit: str
    machine: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.machine)

    @property
    def title(self) -> str:
        return f"{self.commit or 'no commit'} of {self.date} ({self.path.name})"

    def is_of(self, revision: str) -> bool:
        """Whether it was measured at a revision, given as a full hash, without changes on top."""
        short = self.commit.rpartition("-g")[2]
        return len(short) >= 7 and revision.startswith(short)


@dataclass(frozen=True)
class Comparison:
    """One case of both runs; ratios are new time over old time, so that above 1 is slower."""

    case: str
    unit: str
    base: float
    now: float
    ratio: float
    peer_ratio: float | None

    def verdict(self, threshold: float) -> str:
        """slower, faster, or nothing where the time changed by less than the threshold, such as 0.1."""
        ratios = [self.ratio] if self.peer_ratio is None else [self.ratio, self.peer_ratio]
        if min(ratios) > 1 + threshold:
            return "slower"
        return "faster" if max(ratios) < 1 / (1 + threshold) else ""


def read(path: Path) -> Result:
    """A record.

    Raises:
        Failure: It is none.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise Failure(f"{path} has the schema {record['schema']!r}", fix=f"compare records of schema {SCHEMA!r}")
        rows = [{**row, "ours": float(row["ours"])} for row in record["rows"]]
        machine = dict(record["machine"])
        return Result(path, str(record["name"]), str(record["date"]), str(machine.get("commit", "")), machine, rows)
    except OSError as error:
        raise Failure(f"{path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(f"{path} is no record of a benchmark: {error!r}", fix="name a file of bench-results/") from None


def history(name: str, folder: Path = BENCH_RESULTS) -> list[Result]:
    """Every run of a benchmark, the oldest first. Files that are no records are left out."""
    found = []
    for path in folder.glob(f"{name}-*.json"):
        try:
            result = read(path)
        except Failure:
            continue
        if result.name == name:
            found.append(result)
    return sorted(found, key=lambda result: (result.date, result.path.name))


def base_of(base: str, name: str, folder: Path = BENCH_RESULTS) -> Result:
    """What a benchmark is compared with.

    Args:
        base: A results file, or a revision at which the benchmark was run on this machine; its newest run counts.
        name: The benchmark.
        folder: Where results are.

    Raises:
        Failure: No such file, revision or run.
    """
    path = Path(base)
    if path.is_file():
        return read(path)
    command = ["git", "rev-parse", "--verify", "--quiet", f"{base}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(
            f"`{base}` is neither a results file nor a revision", fix="name a file of bench-results/, or a commit"
        )
    matching = [result for result in history(name, folder) if result.is_of(done.stdout.strip())]
    if not matching:
        raise Failure(
            f"there is no result of `{name}` at {base} without changes on top",
            fix=f"check {base} out and run `./x bench {name}` there, or name one of {folder}/{name}-*.json",
        )
    return matching[-1]


def _is_higher_better(row: Mapping[str, Any]) -> bool:
    known = row.get("higher_is_better")
    # Records without the field: rates are per second.
    return bool(known) if known is not None else str(row["unit"]).endswith("/s")


def _slowdown(row: Mapping[str, Any], base: Mapping[str, Any], name: str) -> float:
    old, new = float(base[name]), float(row[name])
    if old <= 0 or new <= 0:
        return 1.0
    return old / new if _is_higher_better(row) else new / old


def comparisons(base: Result, now: Result) -> tuple[list[Comparison], list[str]]:
    """Cases that both measured, and those that only the base did."""
    old = {str(row["case"]): row for row in base.rows}
    found = []
    for row in now.rows:
        before = old.pop(str(row["case"]), None)
        if before is None or before["unit"] != row["unit"]:
            continue
        ratio = _slowdown(row, before, "ours")
        has_peer = row.get("peer") is not None and before.get("peer") is not None
        peer_ratio = ratio / _slowdown(row, before, "peer") if has_peer else None
        found.append(Comparison(str(row["case"]), str(row["unit"]), before["ours"], row["ours"], ratio, peer_ratio))
    return found, list(old)


def compare(console: Console, base: Result, now: Result, *, threshold_percent: float, is_other_machine: bool) -> bool:
    """Prints both runs side by side; whether nothing became slower and no case is gone.

    Raises:
        Failure: The runs are of two machines, and that was not allowed; or of two benchmarks.
    """
    if base.name != now.name:
        raise Failure(f"{base.path.name} is of the benchmark `{base.name}`, not of `{now.name}`")
    if base.fingerprint != now.fingerprint and not is_other_machine:
        raise Failure(
            f"the runs are of two machines: {_described(base)}, and {_described(now)}",
            fix="measure both on one machine, or allow it with --other-machine",
        )
    found, gone = comparisons(base, now)
    console.line(f"{now.name}: {now.title} beside {base.title}")
    rows, slower = [], 0
    for one in found:
        verdict = one.verdict(threshold_percent / 100)
        slower += verdict == "slower"
        peer = "" if one.peer_ratio is None else f"{one.peer_ratio:.2f}"
        rows.append((one.case, f"{one.base:.4g}", f"{one.now:.4g}", one.unit, f"{one.ratio:.2f}", peer, verdict))
    console.table(("case", "base", "now", "unit", "time ratio", "beside peer", ""), rows, right=(1, 2, 4, 5))
    for case in gone:
        console.line(f"{case}: is not measured in the new run")
    if not found:
        console.line("the runs have no case in common")
    console.line(f"{slower} of {len(found)} cases are slower by more than {threshold_percent:g} %")
    return bool(found) and not slower and not gone


def _described(result: Result) -> str:
    known = [f"{name} {result.machine[name]}" for name in FINGERPRINT_FIELDS if result.machine.get(name)]
    return f"{result.fingerprint} ({', '.join(known)})"


def print_history(console: Console, names: Sequence[str], folder: Path = BENCH_RESULTS) -> None:
    """Every run of the benchmarks with its machine, the oldest first."""
    rows = [
        (result.name, result.date, result.commit, result.fingerprint, str(len(result.rows)), result.path.name)
        for name in names
        for result in history(name, folder)
    ]
    console.table(("benchmark", "date", "commit", "machine", "cases", "file"), rows, right=(4,))

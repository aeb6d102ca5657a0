"""`./x bench --compare`: bases, machines, thresholds, exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from x import bench_compare, cli
from x.console import Console
from x.failure import Failure
from x.paths import ROOT

sys.path.insert(0, str(ROOT / "tools" / "bench"))

import frame

MACHINE = {"processor": "a processor", "cores": 2, "memory": "8 kB", "load_average": [0.5], "commit": "abcdef1"}


def written(
    folder: Path, rows: list[tuple[Any, ...]], *, date: str = "2026-11-28T06:00:00+00:00", **machine: Any
) -> Path:
    """A record with rows of case, unit, ours and peer."""
    named = [dict(zip(("case", "unit", "ours", "peer"), row, strict=True)) for row in rows]
    record = {"schema": "amdgpu.bench/1", "name": "launch", "date": date, "machine": MACHINE | machine, "rows": named}
    path = folder / f"launch-{date[:19].replace(':', '').replace('-', '')}Z.json"
    path.write_text(json.dumps(record))
    return path


def compared(base: Path, now: Path, **options: Any) -> tuple[bool, str]:
    stream = io.StringIO()
    given = {"threshold_percent": 10.0, "is_other_machine": False} | options
    is_fine = bench_compare.compare(Console(stream, {}), bench_compare.read(base), bench_compare.read(now), **given)
    return is_fine, stream.getvalue()


@pytest.fixture
def base(tmp_path: Path) -> Path:
    return written(tmp_path, [("one", "us", 100.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 10.0, 20.0)])


@pytest.mark.parametrize(
    ("rows", "is_fine", "slower"),
    [
        ([("one", "us", 109.0, None), ("two", "GB/s", 46.0, None), ("three", "us", 10.9, 20.0)], True, 0),
        ([("one", "us", 111.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 10.0, 20.0)], False, 1),
        ([("one", "us", 50.0, None), ("two", "GB/s", 45.0, None), ("three", "us", 10.0, 20.0)], False, 1),
        # The peer became slower by as much: that is the machine.
        ([("one", "us", 100.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 15.0, 30.0)], True, 0),
        ([("one", "us", 100.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 15.0, 20.0)], False, 1),
        # The peer became faster: ours took no longer than before.
        ([("one", "us", 100.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 10.0, 10.0)], True, 0),
    ],
)
def test_a_case_beyond_the_threshold_is_slower(
    tmp_path: Path, base: Path, rows: list[tuple[Any, ...]], is_fine: bool, slower: int
) -> None:
    now = written(tmp_path, rows, date="2026-11-28T07:00:00+00:00")
    found, text = compared(base, now)
    assert found is is_fine
    assert f"{slower} of 3 cases are slower by more than 10 %" in text
    assert compared(base, now, threshold_percent=100.0)[0]


def test_ratios_are_printed(tmp_path: Path, base: Path) -> None:
    now = written(
        tmp_path,
        [("one", "us", 50.0, None), ("two", "GB/s", 25.0, None), ("three", "us", 10.0, 40.0)],
        date="2026-11-28T07:00:00+00:00",
    )
    lines = {line.split()[0]: line.split()[1:] for line in compared(base, now)[1].splitlines() if line}
    assert lines["one"] == ["100", "50", "us", "0.50", "faster"]
    assert lines["two"] == ["50", "25", "GB/s", "2.00", "slower"]
    assert lines["three"] == ["10", "10", "us", "1.00", "0.50"]


def test_a_case_that_is_gone_fails_and_one_that_came_does_not(tmp_path: Path, base: Path) -> None:
    rows = [("one", "us", 100.0, None), ("two", "GB/s", 50.0, None)]
    is_fine, text = compared(base, written(tmp_path, rows, date="2026-11-28T07:00:00+00:00"))
    assert (is_fine, "three: is not measured in the new run" in text) == (False, True)
    more = [*rows, ("three", "us", 10.0, 20.0), ("four", "us", 1.0, None)]
    assert compared(base, written(tmp_path, more, date="2026-11-28T08:00:00+00:00"))[0]


@pytest.mark.parametrize("other", [{"processor": "another"}, {"cores": 4}, {"memory": "9 kB"}, {"gpu": "a GPU"}])
def test_runs_of_two_machines_are_refused_unless_allowed(tmp_path: Path, base: Path, other: dict[str, Any]) -> None:
    rows = [("one", "us", 100.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 10.0, 20.0)]
    now = written(tmp_path, rows, date="2026-11-28T07:00:00+00:00", **other)
    with pytest.raises(Failure, match="two machines") as refusal:
        compared(base, now)
    assert "--other-machine" in refusal.value.fix
    assert compared(base, now, is_other_machine=True)[0]


def test_load_and_commit_do_not_make_another_machine() -> None:
    assert bench_compare.fingerprint(MACHINE) == bench_compare.fingerprint(
        MACHINE | {"load_average": [9], "commit": "x"}
    )


def test_a_revision_means_its_newest_run_without_changes_on_top(tmp_path: Path) -> None:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    head = done.stdout.strip()
    rows = [("one", "us", 1.0, None)]
    written(tmp_path, rows, date="2026-11-28T01:00:00+00:00", commit=head[:8])
    wanted = written(tmp_path, rows, date="2026-11-28T03:00:00+00:00", commit=f"v0.1-7-g{head[:9]}")
    written(tmp_path, rows, date="2026-11-28T04:00:00+00:00", commit=f"{head[:8]}-dirty")
    written(tmp_path, rows, date="2026-11-28T05:00:00+00:00", commit="0123456")
    (tmp_path / "launch-damaged.json").write_text("{")
    assert bench_compare.base_of("HEAD", "launch", tmp_path).path == wanted
    assert [result.date[11:13] for result in bench_compare.history("launch", tmp_path)] == ["01", "03", "04", "05"]
    with pytest.raises(Failure, match="no result of `matmul` at HEAD") as refusal:
        bench_compare.base_of("HEAD", "matmul", tmp_path)
    assert "./x bench matmul" in refusal.value.fix
    with pytest.raises(Failure, match="neither a results file nor a revision"):
        bench_compare.base_of("no-such-thing", "launch", tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": "amdgpu.bench/9"}', '{"schema": "amdgpu.bench/1"}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "launch-x.json"
    path.write_text(text)
    with pytest.raises(Failure):
        bench_compare.read(path)


def test_the_command_ends_with_the_verdict(tmp_path: Path, base: Path) -> None:
    rows = [("one", "us", 130.0, None), ("two", "GB/s", 50.0, None), ("three", "us", 10.0, 20.0)]
    now = written(tmp_path, rows, date="2026-11-28T07:00:00+00:00")

    def run(*options: str) -> int:
        command = [sys.executable, str(ROOT / "x"), "bench", "--compare", str(base), "--result", str(now), *options]
        return subprocess.run(command, capture_output=True, text=True, check=False).returncode

    assert run() == cli.EXIT_SLOWER != 0
    assert run("--threshold", "50") == 0


def test_records_of_the_frame_can_be_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "RESULTS", tmp_path)
    monkeypatch.setattr(frame, "ROOT", tmp_path)
    report = frame.Report("launch", "a peer")
    report.add("rate", "items", 5.0, 4.0, higher_is_better=True)
    result = bench_compare.read(report.write())
    assert result.machine["fingerprint"] == result.fingerprint
    assert bench_compare.comparisons(result, result)[0][0].ratio == 1.0
    halved = [{**result.rows[0], "ours": 2.5}]
    slower = bench_compare.Result(result.path, "launch", "", "", result.machine, halved)
    assert bench_compare.comparisons(result, slower)[0][0].ratio == 2.0

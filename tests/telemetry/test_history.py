"""Sensor histories in Parquet files. What a history holds is tested in Rust against a model."""

import json
import os
import sys
import time

import pytest
from amdgpu import errors
from amdgpu.telemetry.long_term import LongTermHistory
from amdgpu.telemetry.sensors import Sampler


@pytest.fixture
def arrow():
    return pytest.importorskip("pyarrow")


@pytest.fixture
def sampler(monkeypatch):
    """A sampler with some history that is old enough to be over."""
    monkeypatch.setattr("amdgpu.telemetry.long_term.SETTLING_NS", 0)
    with Sampler() as opened:
        deadline = time.monotonic() + 60
        while not any(opened.history(row["index"], "raw")["time_ns"].size >= 3 for row in opened.series()):
            assert time.monotonic() < deadline
            os.sched_yield()
        yield opened


def test_what_is_appended_is_read_again(arrow, sampler, tmp_path):
    history = LongTermHistory(tmp_path / "new" / "folder", tier="raw")
    before_ns = time.time_ns()
    rows = history.append(sampler)
    assert rows > 0
    table = history.read()
    assert table.num_rows == rows
    assert table.column_names == ["time", "metric", "labels", "min", "mean", "max"]
    memory = history.read("amdgpu_memory_total_bytes", {"device": "cpu:0"})
    assert memory.num_rows >= 1
    assert set(memory["metric"].to_pylist()) == {"amdgpu_memory_total_bytes"}
    assert {json.loads(text)["device"] for text in memory["labels"].to_pylist()} == {"cpu:0"}
    readings = {row["metric"]: row["value"] for row in sampler.readings() if row["labels"].get("device") == "cpu:0"}
    assert memory["mean"].to_pylist() == [readings["amdgpu_memory_total_bytes"]] * memory.num_rows
    times = memory["time"].cast(arrow.int64()).to_pylist()
    # Samples of the last minute, placed in the calendar.
    assert all(before_ns - 120 * 10**9 < time_ns <= time.time_ns() for time_ns in times)
    assert times == sorted(times)
    assert history.read("amdgpu_memory_total_bytes", start_ns=times[-1], end_ns=times[-1]).num_rows == 1
    assert history.read(labels={"device": "hip:99"}).num_rows == 0


def test_nothing_is_written_twice_and_files_add_up(arrow, sampler, tmp_path):
    history = LongTermHistory(tmp_path, tier="raw")
    total = history.append(sampler)
    deadline = time.monotonic() + 60
    while (more := history.append(sampler)) == 0:
        assert time.monotonic() < deadline
        os.sched_yield()
    table = history.read()
    assert table.num_rows == total + more
    keys = list(
        zip(
            table["time"].cast(arrow.int64()).to_pylist(),
            table["metric"].to_pylist(),
            table["labels"].to_pylist(),
            strict=True,
        )
    )
    assert len(set(keys)) == len(keys)
    assert len(list(tmp_path.glob("*.parquet"))) == 2
    assert not list(tmp_path.glob("*.unfinished"))


def test_an_empty_folder_has_no_rows(arrow, tmp_path):
    assert LongTermHistory(tmp_path / "nowhere").read().num_rows == 0


def test_damaged_and_foreign_files_are_named(arrow, sampler, tmp_path):
    import pyarrow.parquet

    history = LongTermHistory(tmp_path, tier="raw")
    history.append(sampler)
    (path,) = tmp_path.glob("*.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(errors.DamagedFileError, match=path.name):
        history.read()
    pyarrow.parquet.write_table(pyarrow.table({"time": [1]}), path)
    with pytest.raises(errors.DamagedFileError, match="no sensor history"):
        history.read()


def test_a_folder_that_cannot_be_written_loses_nothing(arrow, sampler, tmp_path):
    (tmp_path / "taken").write_text("a file", encoding="ascii")
    history = LongTermHistory(tmp_path / "taken", tier="raw")
    with pytest.raises(errors.WriteFailedError, match="taken"):
        history.append(sampler)
    history.folder = tmp_path / "free"
    assert history.append(sampler) > 0


def test_without_pyarrow_the_error_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(errors.LibraryMissingError, match=r"amdgpu-framework\[history\]"):
        LongTermHistory(tmp_path)


def test_unknown_tiers_are_refused(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="raw, 10hz, 1hz"):
        LongTermHistory(tmp_path, tier="2hz")

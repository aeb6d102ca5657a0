"""What the server remembers: recorded though nobody watches, kept in files, bounded; and what `/metrics` names of it."""

import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
from amdgpu import errors
from amdgpu.server.past import PROGRAM_METRICS, Past, ProgramHistory
from amdgpu.telemetry import metrics_page
from amdgpu.telemetry.long_term import LongTermHistory
from prometheus_client.parser import text_string_to_metric_families as parse_text
from server_client import TIMEOUT_SECONDS, running

PROGRAM = Path(__file__).parents[1] / "support" / "telemetry_program.py"
PATIENCE_SECONDS = 60
SECOND_NS = 1_000_000_000


def get(server, path):
    with urllib.request.urlopen(f"{server.base_url}{path}", timeout=TIMEOUT_SECONDS) as answer:
        return answer.read().decode()


def history(server, metric, *labels):
    query = "".join(f"&label={label}" for label in labels)
    return json.loads(get(server, f"api/v1/history?metric={metric}&tier=1hz{query}"))["series"]


def wait_for(condition):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def program():
    """A program that keeps all three cores busy, until it is killed."""
    command = [sys.executable, str(PROGRAM), "--seconds", "300", "--rate", "100"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process
        process.kill()


@pytest.fixture(scope="module")
def server(program):
    with running() as started:
        yield started


def test_sensors_are_recorded_though_nobody_watches(server):
    series = wait_for(
        lambda: [one for one in history(server, "amdgpu_memory_used_bytes", "device:cpu:0") if len(one["mean"]) >= 2]
    )
    assert series[0]["unit"] == "bytes"
    assert series[0]["time_ns"] == sorted(series[0]["time_ns"])


def test_what_programs_do_is_recorded_though_nobody_watches(server, program):
    (series,) = wait_for(
        lambda: [
            one
            for one in history(server, "amdgpu_kernel_launches_per_second", "device:cpu:0")
            if "core" not in one["labels"] and sum(rate > 0 for rate in one["mean"]) >= 2
        ]
    )
    steps = np.diff(series["time_ns"]) / SECOND_NS
    assert steps.min() > 0.5


def test_metrics_tell_how_busy_each_core_is(server, program):
    def cores():
        samples = [
            sample
            for family in parse_text(get(server, "metrics"))
            for sample in family.samples
            if sample.name == "amdgpu_busy_ratio" and sample.labels["device"] == "cpu:0"
        ]
        found = {sample.labels["core"]: sample.value for sample in samples}
        assert len(samples) == len(found)
        return found if found.get("aura", 0) > 0 and found.get("neuromorphic", 0) > 0 else None

    found = wait_for(cores)
    assert set(found) >= {"aura", "matrix", "neuromorphic"}
    assert all(0 <= ratio <= 1 for ratio in found.values())


def test_the_command_reads_the_running_programs_as_the_page_does(program):
    def shown(*options):
        command = [sys.executable, "-m", "amdgpu", "metrics", *options]
        return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=True).stdout

    launches = [
        sample
        for family in parse_text(shown())
        for sample in family.samples
        if sample.name == "amdgpu_kernel_launches_total" and sample.labels.get("pid") == str(program.pid)
    ]
    assert sum(sample.value for sample in launches) > 0
    document = json.loads(shown("--json"))
    assert any(row["labels"].get("pid") == str(program.pid) for row in document["counters"])
    busy = [row["labels"]["core"] for row in document["gauges"] if row["metric"] == "amdgpu_busy_ratio"]
    assert "aura" in busy


def totals(launches, device="cpu:0"):
    return {"devices": {device: {"launches_per_second": launches, "busy_ratio": {"aura": None}}}}


def test_a_time_without_programs_is_a_gap_and_old_values_make_room():
    past = ProgramHistory(kept_seconds=3)
    past.note(1 * SECOND_NS, totals(10.0))
    past.note(2 * SECOND_NS, {"devices": {}})
    past.note(3 * SECOND_NS, totals(30.0))
    wanted = ("amdgpu_kernel_launches_per_second", {"device": "cpu:0"})
    (place,) = [row["index"] for row in past.series() if (row["metric"], row["labels"]) == wanted]
    points = past.history(place, "1hz")
    assert points["time_ns"].tolist() == [1 * SECOND_NS, 3 * SECOND_NS]
    assert points["mean"].tolist() == [10.0, 30.0]
    past.note(4 * SECOND_NS, totals(40.0))
    assert past.history(place, "1hz")["mean"].tolist() == [30.0, 40.0]
    assert past.history(place, "1hz", 4 * SECOND_NS)["mean"].tolist() == [40.0]
    (busy,) = [row["index"] for row in past.series() if row["labels"].get("core") == "aura" and "busy" in row["metric"]]
    assert past.history(busy, "1hz")["mean"].size == 0
    assert len(past.series()) == len(PROGRAM_METRICS)


def test_a_server_that_is_started_again_still_knows(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("amdgpu.telemetry.long_term.SETTLING_NS", 0)
    metric = "amdgpu_kernel_launches_per_second"
    # One that no program of this machine uses meanwhile.
    device = "null:gfx1100"
    first = Past(hours=1.0, folder=tmp_path)
    first.start()
    times = [time.monotonic_ns() - seconds * SECOND_NS for seconds in (30, 20, 10)]
    for place, time_ns in enumerate(times):
        first.programs.note(time_ns, totals(float(place), device))
    first.close()
    assert len(list(tmp_path.glob("*.parquet"))) == 1
    second = Past(hours=1.0, folder=tmp_path)
    second.start()
    try:
        (series,) = second.query(metric, {"device": device}, "1hz", (None, None), most=100)
        (tail,) = second.query(metric, {"device": device}, "1hz", (times[1] - SECOND_NS, None), most=1)
        later = second.query(metric, {"device": device}, "1hz", (time.monotonic_ns(), None), most=100)
    finally:
        second.close()
    assert series["mean"].tolist() == [0.0, 1.0, 2.0]
    # The calendar is set by the system meanwhile; a moment of it is no more than a second.
    assert np.abs(series["time_ns"] - times).max() < SECOND_NS
    assert tail["mean"].tolist() == [2.0]
    assert later == []


def test_old_files_are_deleted(tmp_path):
    pytest.importorskip("pyarrow")
    ring = LongTermHistory(tmp_path)
    now_ns = time.time_ns()
    for age_seconds in (10, 4000, 8000):
        (tmp_path / f"sensors-{now_ns - age_seconds * SECOND_NS}-{os.getpid()}-1.parquet").touch()
    foreign = tmp_path / "sensors-of-mine.parquet"
    foreign.touch()
    assert ring.prune(3600) == 2
    assert len(list(tmp_path.iterdir())) == 2
    assert foreign.exists()


def rows(metric, count, **labels):
    return {
        "metric": metric,
        "labels": labels,
        "count": count,
        "sum_seconds": count * 0.5,
        "buckets": [[0.001, 0], [1.0, count]],
    }


def test_kernels_past_the_limit_are_counted_as_other():
    limit = metrics_page.SeriesLimit(2)
    kernels = [
        rows("amdgpu_kernel_duration_seconds", count, device="cpu:0", kernel=f"k{count}") for count in (5, 9, 7, 1)
    ]
    shown = {row["labels"]["kernel"]: row for _, row in limit.apply([(7, row) for row in kernels])}
    assert set(shown) == {"k9", "k7", "other"}
    assert (shown["other"]["count"], shown["other"]["sum_seconds"]) == (6, 3.0)
    assert shown["other"]["buckets"] == [[0.001, 0], [1.0, 6]]
    assert shown["other"]["labels"]["device"] == "cpu:0"
    assert limit.folded == 2
    # One that was counted as other stays there: no counter falls.
    kernels[3] = rows("amdgpu_kernel_duration_seconds", 1000, device="cpu:0", kernel="k1")
    again = {row["labels"]["kernel"]: row["count"] for _, row in limit.apply([(7, row) for row in kernels])}
    assert again == {"k9": 9, "k7": 7, "other": 1005}
    # Processes that have ended make room.
    assert [row["labels"]["kernel"] for _, row in limit.apply([(8, kernels[0])])] == ["k5"]
    with pytest.raises(errors.InvalidArgumentError, match="from 1 to"):
        metrics_page.SeriesLimit(0)


def test_counters_of_kernels_name_the_kernels_that_histograms_name():
    labels = [{"device": "cpu:0", "kernel": f"k{place}", "id": str(place)} for place in range(5)]
    calls = [
        {"metric": "amdgpu_kernel_calls_total", "labels": one, "value": 10.0 + one_place}
        for one_place, one in enumerate(labels)
    ]
    histograms = [rows("amdgpu_kernel_duration_seconds", 1, **one) for one in labels]
    empty = {"counters": [], "gauges": [], "histograms": []}
    snapshot = {"counters": calls, "gauges": [], "histograms": histograms}
    page = metrics_page.merge("", empty, [(7, snapshot)], limit=metrics_page.SeriesLimit(2), open_metrics=False)

    def kernels(metric):
        return {
            sample.labels["kernel"]: sample.value
            for family in parse_text(page)
            for sample in family.samples
            if sample.name == metric
        }

    assert kernels("amdgpu_kernel_calls_total") == {"k4": 14, "k3": 13, "other": 33}
    assert kernels("amdgpu_kernel_duration_seconds_count") == {"k4": 1, "k3": 1, "other": 3}


def test_pages_of_many_kernels_and_processes_are_bounded_and_lose_no_launch():
    kernels = [
        rows("amdgpu_kernel_duration_seconds", 1, device="cpu:0", kernel=f"kernel_{place}") for place in range(200)
    ]
    passes = [rows("amdgpu_pass_seconds", 1, target="host", **{"pass": f"pass_{place}"}) for place in range(30)]
    snapshot = {"counters": [], "gauges": [], "histograms": kernels + passes}
    own = {"counters": [], "gauges": [], "histograms": []}
    page = metrics_page.merge(
        "", own, [(pid, snapshot) for pid in range(1, 7)], limit=metrics_page.SeriesLimit(), open_metrics=False
    )
    counts = [line for line in page.splitlines() if line.startswith("amdgpu_kernel_duration_seconds_count")]
    assert sum(int(line.rpartition(" ")[2]) for line in counts) == 6 * 200
    assert len(counts) <= metrics_page.DEFAULT_HISTOGRAM_SERIES + 6


def test_the_limit_of_series_is_a_setting_and_what_is_folded_is_told(program, caplog):
    with running(histogram_series=1) as server:

        def kernels():
            counts = [
                sample
                for family in parse_text(get(server, "metrics"))
                for sample in family.samples
                if sample.name == "amdgpu_kernel_duration_seconds_count"
            ]
            return {sample.labels["kernel"]: sample.value for sample in counts} if len(counts) > 1 else None

        found = wait_for(kernels)
        assert len(found) == 2
        assert found["other"] > 0
        get(server, "metrics")
        assert json.loads(get(server, "api/v1/health"))["folded_series"] > 0
    assert caplog.text.count("are counted as 'other'") == 1

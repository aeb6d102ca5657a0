"""Figures from snapshots, and the rules of `amdgpu explain` at and below their thresholds."""

import copy
import sys

import amdgpu
import numpy as np
import pytest
from amdgpu.cli import figures, rules, traces
from cli_harness import amdgpu as command
from cli_harness import check_shape, document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

KERNEL = "__global__ void counted(float* x) { x[threadIdx.x] += 1; }"
QUIET = {
    "kernels": [],
    "compiles": {"count": 0, "seconds": 0.0},
    "kernel_cache": {"memory": 0, "disk": 0, "miss": 0, "hit_ratio": None},
    "boundaries": [],
    "copies": [],
    "pools": [],
    "fallbacks": [],
    "errors": [],
    "records_lost": 0,
}


def kernel(calls, seconds, median=None, device="cpu:0"):
    row = {"name": "k", "device": device, "core": "aura", "calls": calls, "seconds": seconds}
    return {**row, "p50_seconds": median, "max_seconds": None}


def found(seconds=1.0, details=None, **changed):
    return [finding.rule for finding in rules.findings({**QUIET, **changed}, seconds, details)]


def test_the_difference_of_two_snapshots_is_what_happened_between_them(device):
    counted = device.compile_kernel(KERNEL)
    x = np.zeros(32, "float32")
    counted[1, 32](x)
    before = amdgpu.telemetry.snapshot()
    for _ in range(7):
        counted[1, 32](x)
    amdgpu.array(x, device="cpu:0")
    after = amdgpu.telemetry.snapshot()
    content = figures.figures([figures.difference(before, after)])
    (row,) = [row for row in content["kernels"] if row["name"] == "counted"]
    assert row["calls"] == 7
    assert row["seconds"] > 0
    assert content["launches_total"] == 7
    assert content["compiles"]["count"] == 0
    assert [row["value"] for row in content["copies"] if row["direction"] == "host-to-device"] == [x.nbytes]
    assert figures.figures([figures.difference(after, after)])["kernels"] == []


def test_figures_of_two_processes_are_their_sums(device):
    device.compile_kernel(KERNEL)[1, 32](np.zeros(32, "float32"))
    snapshot = amdgpu.telemetry.snapshot()
    one, two = figures.figures([snapshot]), figures.figures([snapshot, snapshot])
    assert two["launches_total"] == 2 * one["launches_total"]
    assert [row["calls"] for row in two["kernels"]] == [2 * row["calls"] for row in one["kernels"]]
    assert two["kernel_cache"]["hit_ratio"] == one["kernel_cache"]["hit_ratio"]
    assert [row["count"] for row in two["boundaries"]] == [2 * row["count"] for row in one["boundaries"]]
    assert figures.figures([]) == {**QUIET, "launches_total": 0, "launches": [], "operations": [], "networks": []}


# A machine that does other things too is no reason to fail.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50), st.integers(0, 1)), max_size=30))
def test_devices_are_busy_while_any_kernel_runs(runs):
    records = [
        {"kind": "launch", "device": device, "start_ns": start, "duration_ns": length} for start, length, device in runs
    ]
    known = figures.timeline(records)
    busy = {(device, at) for start, length, device in runs for at in range(start, start + length)}
    assert known["device_busy_seconds"] == pytest.approx(len(busy) * 1e-9)
    spans = [
        max(start + length for start, length, own in runs if own == device)
        - min(start for start, _, own in runs if own == device)
        for device in {device for _, _, device in runs}
    ]
    assert known["device_span_seconds"] == pytest.approx(sum(spans) * 1e-9)


def test_records_get_the_names_that_a_snapshot_no_longer_has():
    snapshot = copy.deepcopy(amdgpu.telemetry.snapshot())
    record = {"name_id": 90_000, "name": "late", "device": 3, "device_name": "cuda:7", "reason": None, "detail": [0, 0]}
    fallback = {"name_id": 2, "name": "x", "device": None, "device_name": None, "reason": "why", "detail": [90_001, 0]}
    changed = traces.with_records(snapshot, [record, fallback])
    assert changed["names"]["names"][90_000:] == ["late", "why"]
    assert changed["names"]["devices"][3] == "cuda:7"
    assert len(snapshot["names"]["names"]) < 90_000


def test_a_quiet_program_has_no_findings():
    assert found() == []


@pytest.mark.parametrize(("seconds", "rule"), [(0.1, ["compiling"]), (0.099, [])])
def test_compiling_is_found_from_a_tenth_of_the_time_on(seconds, rule):
    assert found(compiles={"count": 3, "seconds": seconds}) == rule


@pytest.mark.parametrize(
    ("calls", "median", "device", "rule"),
    [
        (300_000, 1e-6, "cpu:0", ["small-launches"]),
        (200_000, 1e-6, "cpu:0", []),
        (300_000, 2e-6, "cpu:0", []),
        (30_000, 10e-6, "cuda:0", ["small-launches"]),
        (30_000, 20e-6, "cuda:0", []),
        (30_000, 1e-9, "null:gfx1100", []),
    ],
)
def test_launches_are_small_when_they_cost_more_than_a_quarter_of_their_work(calls, median, device, rule):
    assert found(kernels=[kernel(calls, calls * median, median, device)]) == rule


@pytest.mark.parametrize(
    ("count", "each", "rule"), [(20_000, 6e-6, ["short-calls"]), (100, 6e-6, []), (20_000, 11e-6, [])]
)
def test_short_calls_across_languages_are_found_when_they_add_up(count, each, rule):
    row = {"from": "python", "to": "rust", "name": "reduce", "count": count, "seconds": count * each}
    assert found(boundaries=[row]) == rule


@pytest.mark.parametrize(("seconds", "rule"), [(0.1, ["copies"]), (0.05, [])])
def test_copies_are_found_from_a_tenth_of_the_time_on(seconds, rule):
    copied = [{"device": "cuda:0", "direction": "host-to-device", "value": 1 << 30}]
    assert found(copies=copied, copy_seconds=seconds) == rule


@pytest.mark.parametrize(("busy", "rule"), [(0.3, ["idle-device"]), (0.41, [])])
def test_an_idle_device_is_found_between_first_and_last_launch(busy, rule):
    assert found(device_busy_seconds=busy, device_span_seconds=0.8) == rule


@pytest.mark.parametrize(("ratio", "seconds", "rule"), [(0.2, 0.5, ["low-occupancy"]), (0.3, 0.5, []), (0.2, 0.05, [])])
def test_low_occupancy_counts_only_for_kernels_that_take_time(ratio, seconds, rule):
    details = [{"name": "k", "device": "cuda:0", "occupancy": {"ratio": ratio}, "registers": 255, "shared_bytes": 1024}]
    assert found(kernels=[kernel(100, seconds, 0.01, "cuda:0")], details=details) == rule


def test_findings_are_at_most_three_and_the_largest_come_first():
    names = found(
        compiles={"count": 1, "seconds": 0.2},
        copies=[{"device": "cuda:0", "direction": "host-to-device", "value": 1}],
        copy_seconds=0.5,
        device_busy_seconds=0.1,
        device_span_seconds=0.5,
        fallbacks=[{"operation": "conv2d", "reason": "no kernel", "value": 4}],
        records_lost=9,
    )
    assert names == ["copies", "idle-device", "compiling"]


def test_what_nobody_measured_has_no_gain():
    (finding,) = rules.findings(
        {**QUIET, "fallbacks": [{"operation": "conv2d", "reason": "no kernel", "value": 4}]}, 1.0
    )
    assert finding.share is None
    assert finding.speedup is None
    assert "no kernel" in finding.evidence


def test_refused_allocations_and_lost_records_are_found():
    pools = [{"device": "cuda:0", "pool": "device", "reserved_peak_bytes": 1 << 30}]
    assert found(errors=[{"error": "out-of-memory", "language": "rust", "value": 2}], pools=pools) == ["out-of-memory"]
    assert found(records_lost=12) == ["lost-records"]


def test_a_program_that_compiles_all_the_time_is_told_so(tmp_path):
    code = """
import amdgpu
dev = amdgpu.initialize_device("cpu:0")
for number in range(12):
    dev.compile_kernel("__global__ void k(float* x) { x[0] = %d; }" % number)
"""
    done = command("explain", "--json", "--", sys.executable, "-c", code, AMDGPU_CACHE_DIR=str(tmp_path))
    told = document(done)
    assert done.returncode == 0
    assert told["findings"][0]["rule"] == "compiling"
    assert "12 kernels compiled" in told["findings"][0]["evidence"]
    assert told["findings"][0]["speedup"] > 1.1
    check_shape("explain", told)
    text = command("explain", "--", sys.executable, "-c", code, AMDGPU_CACHE_DIR=str(tmp_path)).stderr
    for word in ("1. ", "evidence", "fix", "rule"):
        assert word in text or "no rule has a finding" in text


def test_a_program_with_a_fallback_is_told_so(tmp_path):
    code = """
import warnings
warnings.simplefilter("ignore")
from amdgpu import _native
_native.record_fallback("matrix_multiply", "the library is not installed")
"""
    told = document(command("explain", "--json", "--", sys.executable, "-c", code, AMDGPU_CACHE_DIR=str(tmp_path)))
    (finding,) = told["findings"]
    assert finding["rule"] == "fallbacks"
    assert "the library is not installed" in finding["evidence"]

"""Figures from snapshots, and the rules of `amdgpu explain` at and below their thresholds."""

import copy
import json
import subprocess
import sys

import amdgpu
import numpy as np
import pytest
from amdgpu.cli.watch import figures, rules, traces
from cli_harness import amdgpu as command
from cli_harness import check_shape, document

KERNEL = "__global__ void counted(float* x) { x[threadIdx.x] += 1; }"
QUIET = {
    "kernels": [],
    "compiles": {"count": 0, "seconds": 0.0},
    "kernel_cache": {"memory": 0, "disk": 0, "miss": 0, "hit_ratio": None},
    "busy": [],
    "work_span_seconds": 0.0,
    "boundaries": [],
    "copies": [],
    "copy_seconds": 0,
    "pools": [],
    "fallbacks": [],
    "errors": [],
    "records_lost": 0,
}


def kernel(calls, seconds, device="cpu:0", core="aura", name="k", number="1"):
    row = {
        "name": name,
        "title": name,
        "id": number,
        "device": device,
        "core": core,
        "calls": calls,
        "seconds": seconds,
    }
    return {**row, "timed_calls": calls, "is_estimated": False, "p50_seconds": None, "max_seconds": None}


def found(seconds=1.0, details=None, **changed):
    return [finding.rule for finding in rules.findings({**QUIET, **changed}, seconds, details)]


# A process that ran very many kernels has one row for those it met last.
@pytest.mark.alone
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


TWINS = """
import json, sys
import amdgpu
import numpy as np
from amdgpu.cli.watch import figures
from amdgpu.telemetry import attach

device = amdgpu.initialize_device("cpu:0")
one = device.compile_kernel("__global__ void twin(float* x) { x[threadIdx.x] += 1; }")
other = device.compile_kernel("__global__ void twin(float* x, float y) { x[threadIdx.x] *= y; }")
x = np.zeros(32, "float32")

def look():
    with attach.attach() as process:
        return process.snapshot(records=0) if sys.argv[1] == "snapshot" else process.totals()

before = look()
for _ in range(5):
    one[1, 32](x)
for _ in range(3):
    other[1, 32](x, 2.0)
rows = figures.figures([figures.difference(before, look())])["kernels"]
print(json.dumps({"rows": rows, "ids": [str(kernel).rpartition(":")[2] for kernel in (one, other)]}))
"""


@pytest.mark.parametrize("kind", ["snapshot", "totals"])
def test_kernels_of_one_name_are_told_apart(kind):
    # In a process that has met few kernels: past a number of them a process counts kernels together.
    done = subprocess.run([sys.executable, "-c", TWINS, kind], check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    rows = [row for row in told["rows"] if row["name"] == "twin"]
    assert {str(row["id"]): row["calls"] for row in rows} == dict(zip(told["ids"], (5, 3), strict=True))
    assert {row["title"] for row in rows} == {f"twin [{number[:8]}]" for number in told["ids"]}


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
    assert found(kernels=[kernel(calls, calls * median, device)]) == rule


def test_kernels_inside_of_a_network_are_no_launches_of_the_program():
    assert found(kernels=[kernel(3_000_000, 1.0, core="neuromorphic")]) == []


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
    work = [{"device": "cpu:0", "core": core, "seconds": busy / 2} for core in ("matrix", "aura")]
    assert found(busy=work, work_span_seconds=0.8) == rule


@pytest.mark.parametrize(("ratio", "seconds", "rule"), [(0.2, 0.5, ["low-occupancy"]), (0.3, 0.5, []), (0.2, 0.05, [])])
def test_low_occupancy_counts_only_for_kernels_that_take_time(ratio, seconds, rule):
    row = {"name": "k", "device": "cuda:0", "registers": 255, "shared_bytes": 1024}
    details = [{**row, "id": "1", "occupancy": {"ratio": ratio}}, {**row, "id": "2", "occupancy": {"ratio": 0.1}}]
    # The other kernel of the name takes no time.
    kernels = [kernel(100, seconds, "cuda:0"), kernel(1, 0.0, "cuda:0", number="2")]
    assert found(kernels=kernels, details=details) == rule


def test_findings_are_at_most_three_and_the_largest_come_first():
    names = found(
        compiles={"count": 1, "seconds": 0.2},
        copies=[{"device": "cuda:0", "direction": "host-to-device", "value": 1}],
        copy_seconds=0.5,
        busy=[{"device": "cuda:0", "core": "aura", "seconds": 0.1}],
        work_span_seconds=0.5,
        fallbacks=[{"operation": "conv2d", "reason": "no kernel", "value": 4}],
    )
    assert names == ["copies", "idle-device", "compiling"]


def test_what_nobody_measured_has_no_gain():
    (finding,) = rules.findings(
        {**QUIET, "fallbacks": [{"operation": "conv2d", "reason": "no kernel", "value": 4}]}, 1.0
    )
    assert finding.share is None
    assert finding.speedup is None
    assert "no kernel" in finding.evidence


def test_refused_allocations_are_found():
    pools = [{"device": "cuda:0", "pool": "device", "reserved_peak_bytes": 1 << 30}]
    assert found(errors=[{"error": "out-of-memory", "language": "rust", "value": 2}], pools=pools) == ["out-of-memory"]


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

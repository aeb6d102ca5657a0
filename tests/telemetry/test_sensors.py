"""Sensors as Python sees them, on whatever machine this is; trees of other machines are read by the Rust tests."""

import json
import math
import os
import struct
import time
from pathlib import Path

import amdgpu
import pytest
from amdgpu import errors
from amdgpu._generated.metrics import METRICS
from amdgpu.telemetry import sensors

LABELS = {row.name: set(row.labels) for row in METRICS}
SOURCES = {"amd-sysfs", "amd-slow", "nvml", "cpu", "runtime"}


def find(readings, metric, **labels):
    rows = [row for row in readings if row["metric"] == metric and labels.items() <= row["labels"].items()]
    assert len(rows) == 1, rows
    return rows[0]


@pytest.fixture
def sampler():
    with sensors.Sampler() as opened:
        yield opened


def wait_for(condition, *, seconds=60):
    """Waits for what a thread does by itself; the limit is only there for a failure."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        os.sched_yield()


def test_every_reading_has_a_value_or_a_reason_and_labels_of_the_catalogue():
    readings = sensors.read()
    assert readings
    for row in readings:
        assert set(row["labels"]) == LABELS[row["metric"]], row
        assert (row["value"] is None) == (row["reason"] is not None), row
        assert row["value"] is None or math.isfinite(row["value"]), row
        assert row["source"] in SOURCES
        assert row["period_ns"] >= 1_000_000
        assert 0 < row["time_ns"] <= time.monotonic_ns()
    keys = [(row["metric"], tuple(sorted(row["labels"].items()))) for row in readings]
    assert len(set(keys)) == len(keys)
    json.dumps(readings)


def test_the_machine_s_memory_is_that_of_the_system():
    readings = sensors.read()
    total = find(readings, "amdgpu_memory_total_bytes", device="cpu:0")["value"]
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    kibibytes = next(int(line.split()[1]) for line in lines if line.startswith("MemTotal"))
    assert total == kibibytes * 1024
    used = find(readings, "amdgpu_memory_used_bytes", device="cpu:0")["value"]
    assert 0 < used < total


def test_the_first_load_of_a_process_is_absent_and_the_second_is_not(run_python):
    program = """
import json, time
from amdgpu.telemetry import sensors
def load():
    return next(row for row in sensors.read() if row["metric"] == "amdgpu_busy_ratio" and row["labels"]["device"] == "cpu:0")
first = load()
end = time.process_time() + 0.3
while time.process_time() < end:
    pass
print(json.dumps([first, load()]))
"""
    first, second = json.loads(run_python(program).stdout)
    assert first["value"] is None
    assert "second sample" in first["reason"]
    # One processor was busy all the time.
    assert second["value"] > 0.5 / os.cpu_count()


def test_reading_opens_no_device(run_python):
    program = """
import os, sys
from amdgpu.telemetry import sensors
sensors.read()
with open("/proc/self/maps") as file:
    mapped = file.read()
assert "libamdhip64" not in mapped
# NVML maps the driver by itself when it begins, and makes no context.
assert "libcuda.so" not in mapped or "libnvidia-ml" in mapped
assert os.getpid() not in [row["pid"] for row in sensors.processes()]
assert "numpy" not in sys.modules
print(len(os.listdir("/proc/self/task")))
"""
    # And starts no thread.
    assert run_python(program).stdout.strip() == "1"


def test_a_sampler_keeps_values_and_history(sampler):
    wait_for(lambda: any(not math.isnan(value) for value in sampler.latest()[1]))
    series = sampler.series()
    assert [row["index"] for row in series] == list(range(len(series)))
    times, values = sampler.latest()
    assert len(times) == len(values) >= len(series)
    total = find(series, "amdgpu_memory_total_bytes", device="cpu:0")
    assert total["unit"] == "bytes"
    index = total["index"]
    wait_for(lambda: sampler.history(index)["time_ns"].size >= 2)
    raw = sampler.history(index)
    assert (raw["mean"] == values[index]).all()
    assert (raw["time_ns"][1:] > raw["time_ns"][:-1]).all()
    for tier, width in (("10hz", 100_000_000), ("1hz", 1_000_000_000)):
        buckets = sampler.history(index, tier)
        assert buckets["time_ns"].size >= 1
        assert not (buckets["time_ns"] % width).any()
        assert (buckets["min"] <= buckets["mean"]).all()
        assert (buckets["mean"] <= buckets["max"]).all()
    last = int(raw["time_ns"][-1])
    assert sampler.history(index, "raw", last, last)["time_ns"].tolist() == [last]
    assert sampler.history(index, "raw", last + 10**18)["time_ns"].size == 0
    assert sampler.history_bytes() > 0


def test_a_sampler_that_has_just_started_is_waited_for(run_python):
    program = """
from amdgpu.telemetry import sensors
with sensors.Sampler():
    print(any(row["metric"] == "amdgpu_memory_total_bytes" and row["value"] for row in sensors.read()))
"""
    assert run_python(program).stdout.strip() == "True"


def test_readings_of_a_running_sampler_are_the_same_as_its_own(sampler):
    wait_for(lambda: len(sampler.readings()) > 5)
    for row in sensors.read():
        assert row["period_ns"] > 0
    reasons = sampler.reasons()
    _, values = sampler.latest()
    assert [reason is not None for reason in reasons[: len(values)]] == [
        math.isnan(value) for value in values[: len(reasons)]
    ]


def test_the_bus_shows_sensors_while_one_samples():
    def gauges():
        return {row["metric"] for row in amdgpu.telemetry.snapshot()["gauges"]}

    with sensors.Sampler():
        wait_for(lambda: "amdgpu_memory_total_bytes" in gauges())
        assert 'amdgpu_memory_total_bytes{device="cpu:0"}' in amdgpu.telemetry.prometheus()
    wait_for(lambda: "amdgpu_memory_total_bytes" not in gauges())


def test_launches_are_series(device, sampler):
    import numpy as np

    kernel = device.compile_kernel("__global__ void sensor_probe(float* x) { x[threadIdx.x] += 1; }")
    kernel[1, 32](np.zeros(32, "float32"))

    def launches():
        return [row for row in sampler.readings() if row["metric"] == "amdgpu_kernel_launches_total"]

    wait_for(lambda: sum(row["value"] for row in launches()) >= 1)
    assert {row["source"] for row in launches()} == {"runtime"}


def test_frames_are_matrices_of_devices_and_metrics(sampler):
    devices = ("cpu:0", "hip:7")
    metrics = (
        {"name": "amdgpu_memory_total_bytes"},
        {"name": "amdgpu_busy_ratio", "labels": {"core": "all", "device": "cpu:0"}},
        {"name": "amdgpu_busy_ratio", "labels": {"core": "nonsense"}},
        "amdgpu_processor_busy_ratio",
    )
    wait_for(lambda: not math.isnan(struct.unpack_from("<f", sampler.frame_values(devices, metrics))[0]))
    frame = sampler.frame_values(devices, metrics)
    assert len(frame) == 4 * len(devices) * len(metrics)
    values = struct.unpack("<8f", frame)
    assert values[0] == pytest.approx(
        find(sensors.read(), "amdgpu_memory_total_bytes", device="cpu:0")["value"], rel=1e-6
    )
    assert math.isnan(values[2])
    assert all(math.isnan(value) for value in values[4:])
    assert sampler.frame_values(list(devices), list(metrics))[8:12] == frame[8:12]
    assert sampler.frame_values((), ()) == b""
    with pytest.raises(errors.InvalidArgumentError, match="amdgpu_nonsense"):
        sampler.frame_values(devices, ("amdgpu_nonsense",))


def test_wrong_questions_are_refused(sampler):
    with pytest.raises(errors.InvalidArgumentError, match="raw, 10hz, 1hz"):
        sampler.history(0, "5hz")
    with pytest.raises(errors.InvalidArgumentError, match="series"):
        sampler.history(10**6)
    with pytest.raises(errors.InvalidArgumentError, match="index is -1; it must be at least 0"):
        sampler.history(-1)
    closed = sensors.Sampler()
    closed.close()
    closed.close()
    with pytest.raises(errors.ClosedError):
        closed.latest()


def test_a_forked_child_samples_anew(run_python):
    program = """
import os, time
from amdgpu import errors
from amdgpu.telemetry import sensors
sampler = sensors.Sampler()
while not sampler.series():
    time.sleep(0.01)
child = os.fork()
if child == 0:
    code = 1
    try:
        sampler.latest()
    except errors.ForkedProcessError:
        with sensors.Sampler() as own:
            while not own.readings():
                time.sleep(0.01)
        code = 0 if sensors.read() else 2
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), len(sampler.series()) > 0)
"""
    assert run_python(program).stdout.split() == ["0", "True"]


def test_processes_are_listed_whoever_they_are():
    for row in sensors.processes():
        assert row["pid"] > 0
        assert row["device"]


def test_a_program_can_end_while_it_samples(run_python):
    run_python("from amdgpu.telemetry import sensors\nsampler = sensors.Sampler()\nsampler.series()")

"""The event bus as Python sees it."""

import asyncio
import json
import threading

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

KERNEL = "__global__ void telemetry_probe(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += 1; }"


def counter(name, **labels):
    return sum(
        row["value"]
        for row in amdgpu.telemetry.snapshot()["counters"]
        if row["metric"] == name and all(row["labels"].get(key) == value for key, value in labels.items())
    )


def test_every_launch_is_counted(device):
    kernel = device.compile_kernel(KERNEL)
    x = np.zeros(100, "float32")
    before = counter("amdgpu_kernel_launches_total", device="cpu:0", core="aura")
    for _ in range(10):
        kernel[1, 128](x, 100)
    assert counter("amdgpu_kernel_launches_total", device="cpu:0", core="aura") == before + 10


def test_every_launch_is_timed(run_python):
    # In a process of its own: names of kernels become labels only up to a bound, which the tests before may have used up.
    program = f"""
import amdgpu, json, numpy as np
device = amdgpu.initialize_device("cpu:0", ["aura"])
kernel = device.compile_kernel({KERNEL!r})
x = np.zeros(100, "float32")
for _ in range(10):
    kernel[1, 128](x, 100)
print(json.dumps(device.get_telemetry("aura")["kernels"]))
"""
    (entry,) = json.loads(run_python(program).stdout)
    assert (entry["name"], entry["calls"]) == ("telemetry_probe", 10)
    assert entry["seconds"] > 0


def test_a_sample_says_what_is_absent_and_why(device):
    sample = amdgpu.get_telemetry(device, "matrix")
    assert sample["schema"] == "amdgpu.telemetry_sample/1"
    for name in ("temperature_celsius", "power_watts", "fan_speed_ratio"):
        assert (sample[name] is None) == (name in sample["absent"])
    # No processor has a fan of its own.
    assert sample["fan_speed_ratio"] is None
    assert all(sample["absent"].values())
    json.dumps(sample)
    with pytest.raises(errors.UnknownCoreTypeError, match="aura"):
        amdgpu.get_telemetry(0, "tensor")


def test_errors_are_counted_by_name_and_language():
    before = counter("amdgpu_errors_total", error="network-invalid", language="nim")
    with pytest.raises(errors.NetworkError):
        amdgpu.Network("nonsense")
    assert counter("amdgpu_errors_total", error="network-invalid", language="nim") == before + 1


def test_boundaries_name_both_languages():
    amdgpu.matrix_multiply(np.eye(2), np.eye(2))
    rows = {(row["from"], row["to"], row["name"]): row for row in amdgpu.telemetry.boundaries()}
    row = rows["rust", "zig", "agpu_matrix_matmul"]
    assert row["count"] >= 1
    assert 0 < row["p50_seconds"] <= row["max_seconds"] <= row["total_seconds"]


def test_the_prometheus_page_is_read_by_prometheus_client(device):
    parser = pytest.importorskip("prometheus_client.parser")
    kernel = device.compile_kernel(KERNEL)
    kernel[1, 1](np.zeros(1, "float32"), 1)
    families = {family.name: family for family in parser.text_string_to_metric_families(amdgpu.telemetry.prometheus())}
    launches = families["amdgpu_kernel_launches"]
    assert launches.type == "counter"
    assert any(sample.labels["device"] == "cpu:0" for sample in launches.samples)
    assert families["amdgpu_kernel_duration_seconds"].type == "histogram"
    open_metrics = pytest.importorskip("prometheus_client.openmetrics.parser")
    assert list(open_metrics.text_string_to_metric_families(amdgpu.telemetry.prometheus(open_metrics=True)))


def test_the_chrome_trace_is_json_with_the_launch_in_it(device, tmp_path):
    device.compile_kernel(KERNEL)[1, 1](np.zeros(1, "float32"), 1)
    path = tmp_path / "trace.json"
    amdgpu.telemetry.write_chrome_trace(path)
    trace = json.loads(path.read_text())
    names = {event.get("name") for event in trace["traceEvents"]}
    assert "telemetry_probe" in names


def test_a_subscriber_sees_launches_as_they_happen(device):
    kernel = device.compile_kernel(KERNEL)
    x = np.zeros(1, "float32")
    seen = []
    ready = threading.Event()

    def read():
        events = amdgpu.telemetry.events(timeout_seconds=20)
        ready.set()
        for event in events:
            seen.append(event)
            if event["kind"] == "launch" and event["name"] == "telemetry_probe":
                return

    reader = threading.Thread(target=read)
    reader.start()
    ready.wait()
    while reader.is_alive():
        kernel[1, 1](x, 1)
        reader.join(0.01)
    assert any(event["name"] == "telemetry_probe" for event in seen)


def test_the_stream_of_samples_ends_with_the_device():
    device = amdgpu.initialize_device("cpu:0")

    async def collect():
        samples = []
        async for sample in device.get_telemetry_stream(interval_seconds=0.001):
            samples.append(sample)
            if len(samples) == 3:
                device.close()
        return samples

    assert len(asyncio.run(collect())) == 3


def test_records_can_be_switched_off_and_counters_stay(device):
    kernel = device.compile_kernel(KERNEL)
    x = np.zeros(1, "float32")
    before = counter("amdgpu_kernel_launches_total", core="aura")
    emitted = amdgpu.telemetry.snapshot()["records_emitted"]
    amdgpu.telemetry.set_enabled(False)
    try:
        assert not amdgpu.telemetry.is_enabled()
        kernel[1, 1](x, 1)
        assert amdgpu.telemetry.snapshot()["records_emitted"] == emitted
    finally:
        amdgpu.telemetry.set_enabled(True)
    assert counter("amdgpu_kernel_launches_total", core="aura") == before + 1


def test_a_device_without_telemetry_writes_no_launch_records():
    with amdgpu.initialize_device("cpu:0", telemetry=False) as device:
        kernel = device.compile_kernel(KERNEL.replace("telemetry_probe", "silent_probe"))
        before = counter("amdgpu_kernel_launches_total", core="aura")
        kernel[1, 1](np.zeros(1, "float32"), 1)
        bus = amdgpu.telemetry.snapshot()
        assert counter("amdgpu_kernel_launches_total", core="aura") == before + 1
        assert not any(row["labels"].get("kernel") == "silent_probe" for row in bus["histograms"])


def test_the_environment_switches_records_off(run_python):
    done = run_python("import amdgpu; print(amdgpu.telemetry.is_enabled())", AMDGPU_TELEMETRY="off")
    assert done.stdout.strip() == "False"

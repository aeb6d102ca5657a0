"""Sensors of real GPUs, beside the vendor's own tool where it is installed. Skipped where there is no GPU."""

import json
import math
import os
import shutil
import subprocess
import sys
import time

import amdgpu
import numpy as np
import pytest
from amdgpu.telemetry import sensors

GPUS = [info.device for info in amdgpu.list_devices() if info.device.startswith(("cuda", "hip"))]
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not GPUS, reason="no GPU")]

BUSY = """
extern "C" __global__ void busy(float* x, int rounds) {
    float value = x[threadIdx.x];
    for (int i = 0; i < rounds; ++i) value = value * 1.0000001f + 0.5f;
    x[blockIdx.x * blockDim.x + threadIdx.x] = value;
}
"""


def values(readings, device):
    """The readings of a device by metric and its other labels."""
    return {
        (
            row["metric"].removeprefix("amdgpu_"),
            *(value for name, value in row["labels"].items() if name != "device"),
        ): row
        for row in readings
        if row["labels"].get("device") == device
    }


@pytest.fixture(scope="module", params=GPUS)
def gpu(request):
    with amdgpu.initialize_device(request.param) as opened:
        yield request.param, opened


@pytest.fixture(scope="module")
def load(gpu):
    """Starts work for about a second at a call."""
    _, device = gpu
    kernel = device.compile_kernel(BUSY)
    x = amdgpu.array(np.zeros(256 * 1024, "float32"), device=device)
    began = time.perf_counter()
    kernel[1024, 256](x, 1_000_000)
    rounds = int(1_000_000 / max(time.perf_counter() - began, 1e-3))

    def work():
        kernel[1024, 256](x, min(rounds, 2_000_000_000))

    return work


def test_what_every_gpu_tells_is_there(gpu):
    name, _ = gpu
    found = values(sensors.read(), name)
    print({key: row["value"] if row["value"] is not None else row["reason"] for key, row in found.items()})
    for key in [
        ("busy_ratio", "all"),
        ("power_watts", "package"),
        ("memory_used_bytes",),
        ("memory_total_bytes",),
        ("clock_hertz", "graphics"),
    ]:
        assert found[key]["value"] is not None, (key, found[key]["reason"])
    assert 0 <= found["busy_ratio", "all"]["value"] <= 1
    assert 1 < found["power_watts", "package"]["value"] < 2000
    temperatures = [row["value"] for key, row in found.items() if key[0] == "temperature_celsius" and row["value"]]
    assert temperatures
    assert all(10 < celsius < 120 for celsius in temperatures)
    assert 0 < found["memory_used_bytes",]["value"] <= found["memory_total_bytes",]["value"]
    assert all(row["value"] is not None or row["reason"] for row in found.values())


def test_values_agree_with_nvidia_smi(gpu):
    name, _ = gpu
    tool = shutil.which("nvidia-smi")
    if tool is None or not name.startswith("cuda"):
        pytest.skip("no nvidia-smi")
    ordinal = int(name.partition(":")[2])
    fields = "memory.total,memory.used,temperature.gpu,enforced.power.limit,uuid,driver_version,clocks.mem"
    done = subprocess.run(
        [tool, f"--query-gpu={fields}", "--format=csv,noheader,nounits"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    rows = [[field.strip() for field in line.split(",")] for line in done.stdout.splitlines()]
    found = values(sensors.read(), name)
    (info,) = [key for key in found if key[0] == "device_info"]
    row = next((row for row in rows if row[4] in info), rows[min(ordinal, len(rows) - 1)])
    assert row[4] in info
    assert any(row[5] in part for part in info)
    assert found["memory_total_bytes",]["value"] == float(row[0]) * 2**20
    assert found["memory_used_bytes",]["value"] == pytest.approx(float(row[1]) * 2**20, abs=256 * 2**20)
    assert found["temperature_celsius", "gpu"]["value"] == pytest.approx(float(row[2]), abs=5)
    assert found["power_limit_watts", "package"]["value"] == pytest.approx(float(row[3]), abs=1)


def test_load_energy_and_power_rise_with_work(gpu, load):
    name, _ = gpu
    with sensors.Sampler() as sampler:
        series = sampler.series

        deadline = time.monotonic() + 60

        def place(metric):
            while True:
                assert time.monotonic() < deadline, metric
                for row in series():
                    if row["metric"] == metric and row["labels"].get("device") == name:
                        return row["index"]

        busy, energy = place("amdgpu_busy_ratio"), place("amdgpu_energy_joules_total")
        while sampler.latest()[0][energy] == 0:
            assert time.monotonic() < deadline
        start = sampler.latest()[1][energy]
        while not sampler.latest()[1][busy] > 0.5:
            assert time.monotonic() < deadline, sampler.reasons()[busy]
            load()
        for _ in range(3):
            load()
        ended_ns = time.monotonic_ns()
        while sampler.latest()[0][energy] < ended_ns:
            assert time.monotonic() < deadline
        used = sampler.latest()[1][energy] - start
        # Some hundred watts for a few seconds; where the card does not tell its energy, that is said.
        assert used > 50 or (math.isnan(used) and sampler.reasons()[energy])
        history = sampler.history(busy)
        assert history["max"].max() > 0.5
        assert (np.diff(history["time_ns"].astype("int64")) > 0).all()
        buckets = sampler.history(busy, "1hz")
        assert buckets["max"].max() == history["max"].max()


def test_memory_that_is_allocated_is_seen(gpu):
    name, device = gpu
    before = values(sensors.read(), name)["memory_used_bytes",]["value"]
    block = amdgpu.array(np.zeros(1 << 28, "float32"), device=device)
    after = values(sensors.read(), name)["memory_used_bytes",]["value"]
    assert after - before >= 0.9 * 2**30
    block.free()


def test_memory_of_another_process_is_not_free_before_a_device_is_opened(gpu):
    name, device = gpu
    block = amdgpu.array(np.zeros(1 << 30, "float32"), device=device)
    code = "import json, amdgpu; print(json.dumps({d.device: d.free_memory_bytes for d in amdgpu.list_devices()}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    free = json.loads(done.stdout)[name]
    total = next(info.total_memory_bytes for info in amdgpu.list_devices() if info.device == name)
    assert 0 <= free <= total - block.nbytes
    block.free()


def test_this_process_is_among_those_on_the_gpu(gpu):
    name, _ = gpu
    rows = [row for row in sensors.processes() if row["device"] == name]
    if not any(row["pid"] == os.getpid() for row in rows):
        # In a container the driver counts processes in the namespace of the machine.
        pytest.skip(f"the driver lists {rows} and this is {os.getpid()}")


def test_samples_of_the_device_have_sensor_values(gpu):
    _, device = gpu
    sample = amdgpu.get_telemetry(device)
    assert sample["busy_ratio"] is not None
    assert sample["power_watts"] > 1
    assert sample["temperature_celsius"] > 10
    assert sample["clock_hertz"] > 1e8

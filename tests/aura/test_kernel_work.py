"""What kernels compute and move, as a watcher is told, and what devices can do at most."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu.telemetry import attach, peaks

SAXPY = """
extern "C" __global__ void work_saxpy(const float* x, float* y, float a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""
ROWS = """
extern "C" __global__ void work_rows(const float* x, float* y, int n) {
    __shared__ float kept[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    kept[threadIdx.x] = 0.0f;
    for (int k = 0; k < n; ++k)
        kept[threadIdx.x] += x[k] * 2.0f;
    if (i % 2 == 0) y[i] = kept[threadIdx.x];
}
"""
ITEMS = 64


@pytest.fixture(scope="module")
def device() -> amdgpu.AMDGPUDevice:
    return amdgpu.initialize_device("cpu:0", ["aura"])


@pytest.fixture
def cpu() -> amdgpu.DeviceInfo:
    return next(info for info in amdgpu.list_devices() if info.kind == "cpu")


def rows_of(name: str) -> list[dict]:
    with attach.attach() as process:
        return [row for row in process.kernels() if row["name"] == name]


def test_the_compilers_count_is_told_with_what_it_is(device: amdgpu.AMDGPUDevice) -> None:
    device.compile_kernel(SAXPY)
    (row,) = rows_of("work_saxpy")
    assert row["work"] == {"operations": 2, "bytes": 12, "bound": "exact", "open_loops": []}
    assert row["counted"] is None


def test_the_count_is_there_when_the_kernel_comes_from_the_cache(
    device: amdgpu.AMDGPUDevice,
) -> None:
    again = amdgpu.initialize_device("cpu:0", ["aura"]).compile_kernel(SAXPY)
    assert again.cache_answer in ("memory", "disk")
    assert all(row["work"]["operations"] == 2 for row in rows_of("work_saxpy"))


def test_a_checked_launch_counts_what_depends_on_the_data(device: amdgpu.AMDGPUDevice) -> None:
    kernel, checked = device.compile_kernel(ROWS), device.compile_kernel(ROWS, checked=True)
    assert {row["is_checked"]: row["counted"] for row in rows_of("work_rows")} == {False: None, True: None}
    (plain,) = [row for row in rows_of("work_rows") if not row["is_checked"]]
    assert plain["work"]["bound"] == "rough"
    assert plain["work"]["open_loops"] == [6]
    x, y, turns = np.ones(16, np.float32), np.zeros(ITEMS, np.float32), 10
    for run in (kernel, checked):
        run[1, ITEMS](x, y, turns)
    # Two operations and one element in each turn, and every other work-item stores one.
    expected = {
        "operations": 2 * turns * ITEMS,
        "bytes": 4 * turns * ITEMS + 4 * ITEMS // 2,
        "work_items": ITEMS,
    }
    assert [row["counted"] for row in rows_of("work_rows")] == [expected, expected]


def test_checked_launches_are_timed_apart(run_python: Callable[..., Any]) -> None:
    # In a process that has met few kernels: past a number of them a process counts kernels together.
    program = f"""
import amdgpu
import numpy as np
from amdgpu.telemetry import attach

device = amdgpu.initialize_device("cpu:0")
source = {ROWS!r}
kernel, checked = device.compile_kernel(source), device.compile_kernel(source, checked=True)
x, y = np.ones(16, np.float32), np.zeros({ITEMS}, np.float32)
for run, calls in ((kernel, 3), (checked, 2)):
    for _ in range(calls):
        run[1, {ITEMS}](x, y, 1)
with attach.attach() as process:
    rows = [row for row in process.kernels() if row["name"] == "work_rows"]
print({{row["is_checked"]: row["timed_calls"] for row in rows}} == {{False: 3, True: 2}}, rows)
"""
    assert run_python(program).stdout.startswith("True")


def test_a_faulty_checked_launch_counts_nothing(device: amdgpu.AMDGPUDevice) -> None:
    checked = device.compile_kernel(ROWS, checked=True)
    checked[1, ITEMS](np.ones(16, np.float32), np.zeros(ITEMS, np.float32), 3)
    before = rows_of("work_rows")[0]["counted"]
    assert before["work_items"] == ITEMS
    with pytest.raises(amdgpu.errors.AmdgpuError):
        checked[1, ITEMS](np.ones(16, np.float32), np.zeros(ITEMS, np.float32), 17)
    assert rows_of("work_rows")[0]["counted"] == before


def test_products_are_known_from_their_shapes() -> None:
    def of_products() -> tuple[int, int, int]:
        with attach.attach() as process:
            rows = process.snapshot()["boundaries"]
        found = [row for row in rows if row["name"] == "agpu_matrix_matmul"]
        return tuple(sum(row[key] for row in found) for key in ("count", "operations", "bytes"))

    before = of_products()
    amdgpu.matrix_multiply(np.ones((30, 50), np.float32), np.ones((50, 70), np.float32))
    after = of_products()
    assert tuple(new - old for new, old in zip(after, before, strict=True)) == (
        1,
        2 * 30 * 50 * 70,
        4 * (30 * 50 + 50 * 70 + 30 * 70),
    )


def test_the_processor_is_measured(cpu: amdgpu.DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    found = peaks.peaks_of(cpu)
    assert found.source.startswith("measured")
    # Any processor of this century does more, any of this decade less.
    assert found.flops_per_second is not None
    assert 1e8 < found.flops_per_second < 1e15
    assert found.bytes_per_second is not None
    assert 1e8 < found.bytes_per_second < 1e14
    caches = list(found.cache_bytes_per_second.items())
    assert caches
    assert [name for name, _ in caches] == sorted(name for name, _ in caches)
    speeds = [*(speed for _, speed in caches), found.bytes_per_second]
    assert speeds == sorted(speeds, reverse=True)
    assert peaks.peaks_of(cpu) == found


def test_a_cache_that_is_no_faster_than_what_lies_behind_it_is_no_roof() -> None:
    measured = {"L1": 100.0, "L2": 20.0, "L3": 30.0}
    assert list(peaks.caches_of(measured, 10.0).items()) == [("L1", 100.0), ("L3", 30.0)]
    assert peaks.caches_of({"L1": float("nan"), "L2": 5.0}, 10.0) == {}


def test_what_was_measured_is_kept_and_damaged_files_are_not_believed(
    cpu: amdgpu.DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    # Another processor than this one, so that nothing of it is known yet.
    other = dataclasses.replace(cpu, name="another processor")
    measured = [peaks.Peaks(2e11, 2e10, "measured first"), peaks.Peaks(3e11, 3e10, "measured again")]
    monkeypatch.setattr(peaks, "_measured", lambda: (measured.pop(0), True))
    first = peaks.peaks_of(other)
    assert peaks.peaks_of(other) == first
    (path,) = (tmp_path / "peaks").iterdir()
    assert json.loads(path.read_text())["flops_per_second"] == 2e11
    for damage in (
        "",
        "[]",
        '{"flops_per_second": "x"}',
        '{"flops_per_second": -1, "bytes_per_second": 1, "source": "", "cache_bytes_per_second": {}}',
        '{"flops_per_second": 1, "bytes_per_second": 1, "source": "", "cache_bytes_per_second": 3}',
    ):
        path.write_text(damage)
        measured[:] = [peaks.Peaks(3e11, 3e10, "measured again")]
        assert peaks.peaks_of(other).source == "measured again"


def test_a_busy_machine_is_not_believed_for_long(
    cpu: amdgpu.DeviceInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMDGPU_CACHE_DIR", str(tmp_path))
    other = dataclasses.replace(cpu, name="a busy processor")
    monkeypatch.setattr(peaks, "_measured", lambda: (peaks.Peaks(1e11, 1e10, "busy"), False))
    monkeypatch.setattr(peaks, "_AGAIN_SECONDS", 0.0)
    assert peaks.peaks_of(other).source == "busy"
    assert not (tmp_path / "peaks").exists()
    monkeypatch.setattr(peaks, "_measured", lambda: (peaks.Peaks(2e11, 2e10, "quiet"), True))
    assert peaks.peaks_of(other).source == "quiet"


def test_devices_whose_driver_tells_enough_have_computed_peaks(cpu: amdgpu.DeviceInfo) -> None:
    details = {
        "peak_flops_per_second": 67e12,
        "peak_bytes_per_second": 4.8e12,
        "clock_hertz": 1_980_000_000,
        "memory_clock_hertz": 3_201_000_000,
        "memory_bus_bits": 6144,
    }
    gpu = dataclasses.replace(cpu, kind="cuda", architecture="sm_90", compute_units=132, details=details)
    assert peaks.peaks_of(gpu).source == ("computed: 132 units of sm_90 at 1.98 GHz, memory of 6144 bit at 3.20 GHz")
    unknown = dataclasses.replace(gpu, details={})
    assert peaks.peaks_of(unknown).flops_per_second is None
    assert "sm_90" in peaks.peaks_of(unknown).source

"""What the lanes of checked launches did, as a watcher is told."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu.telemetry import attach

BRANCHES = """
extern "C" __global__ void branches(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        if (i % 4 == 0)
            y[i] = x[i];
        else
            y[i] = 2.0f;
    }
}
"""
LANES = 32


@pytest.fixture(scope="module")
def device() -> amdgpu.AMDGPUDevice:
    return amdgpu.initialize_device("cpu:0", ["aura"])


def launch(device: amdgpu.AMDGPUDevice, count: int, *, checked: bool) -> None:
    kernel = device.compile_kernel(BRANCHES, checked=checked)
    kernel[2, 64](np.ones(count, dtype="float32"), np.zeros(count, dtype="float32"), count)


def test_accesses_are_counted_for_each_line_and_lane(device: amdgpu.AMDGPUDevice) -> None:
    launch(device, 100, checked=True)
    with attach.attach() as process:
        newest = process.lanes()[0]
    assert (newest["kernel"], newest["grid"], newest["block"]) == ("branches", [2, 1, 1], [64, 1, 1])
    assert newest["lanes"] == LANES
    assert newest["source"] == BRANCHES
    # Item i of block b is element 64 b + i; those below 100 work.
    elements = [64 * block + item for block in range(2) for item in range(64) if 64 * block + item < 100]
    lanes = np.array([element % 64 % LANES for element in elements])
    takes_first = np.array([element % 4 == 0 for element in elements])
    expected = {
        (6, "read"): np.bincount(lanes[takes_first], minlength=LANES),
        (6, "write"): np.bincount(lanes[takes_first], minlength=LANES),
        (8, "write"): np.bincount(lanes[~takes_first], minlength=LANES),
    }
    assert {(row["line"], row["kind"]): row["counts"] for row in newest["rows"]} == {
        key: counts.tolist() for key, counts in expected.items()
    }


def test_newest_launches_come_first_and_old_ones_are_forgotten(device: amdgpu.AMDGPUDevice) -> None:
    for count in range(1, 12):
        launch(device, count, checked=True)
    with attach.attach() as process:
        launches = process.lanes()
    assert len(launches) == 8
    times = [one["time_ns"] for one in launches]
    assert times == sorted(times, reverse=True)
    assert sum(launches[0]["rows"][-1]["counts"]) == 11 - 3


def test_launches_without_checks_count_nothing(device: amdgpu.AMDGPUDevice) -> None:
    with attach.attach() as process:
        before = [one["time_ns"] for one in process.lanes()]
        launch(device, 64, checked=False)
        assert [one["time_ns"] for one in process.lanes()] == before

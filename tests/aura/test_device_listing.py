"""What listing tells about devices that nobody has opened: free memory of GPUs from their sensors, drivers that are only half there."""

import json
from importlib import import_module

import pytest
from amdgpu import _native, device
from amdgpu.cli import machine
from amdgpu.cli.status import info, overview, pick

# `amdgpu.doctor` is the function.
doctor = import_module("amdgpu.doctor")
GIB = 1 << 30
GPU = {
    "kind": "cuda",
    "ordinal": 0,
    "name": "cuda:0",
    "product_name": "NVIDIA H200",
    "architecture": "sm_90",
    "compute_units": 132,
    "warp_size": 32,
    "total_memory_bytes": 139 * GIB,
}


def reading(metric, value, reason=None):
    return {"metric": metric, "labels": {"device": "cuda:0"}, "value": value, "reason": reason}


@pytest.fixture
def listed(monkeypatch):
    """`list_devices()` on a machine with one GPU that these sensors describe."""

    def look(*rows):
        monkeypatch.setattr(_native, "list_devices", lambda: [dict(GPU)])
        monkeypatch.setattr(_native, "sensor_readings", lambda: json.dumps(rows))
        return device.list_devices()

    return look


def test_memory_that_other_processes_hold_is_not_free(listed):
    (gpu,) = listed(reading("amdgpu_memory_used_bytes", 128 * GIB), reading("amdgpu_memory_total_bytes", 139 * GIB))
    assert gpu.free_memory_bytes == 11 * GIB
    assert pick.rank([gpu], machine.readings(), 20 * GIB) == []
    (chosen,) = pick.rank([gpu], machine.readings(), 10 * GIB)
    assert chosen.free_memory_bytes == 11 * GIB


def test_free_memory_that_nothing_tells_is_not_known(listed, capsys):
    why = "the driver has no NVML"
    (gpu,) = listed(reading("amdgpu_memory_used_bytes", None, why), reading("amdgpu_memory_total_bytes", None, why))
    assert gpu.free_memory_bytes is None
    info.print_devices([gpu])
    assert "not known" in capsys.readouterr().out
    row = machine.device_rows([gpu])[0] | {"sensors": machine.readings()}
    shown = " ".join(" ".join(overview.device_lines(row, 100, is_ascii=True)).split())
    assert f"not known: {why} (the device has 139.0 GiB)" in shown
    (chosen,) = pick.rank([gpu], machine.readings(), 0)
    assert chosen.free_memory_bytes is None
    assert any(reason.startswith("free memory:") for reason in chosen.reasons)
    assert pick.rank([gpu], machine.readings(), 1) == []


@pytest.mark.parametrize(
    ("library", "content", "has_kernel_driver", "is_ok", "words"),
    [
        ("libamdhip64.so", b"\x7fELF", True, False, "not found"),
        ("libamdhip64.so.6", b"INPUT(nothing)", True, False, "not found"),
        ("libamdhip64.so.6", b"\x7fELF", False, False, "but no"),
        ("libamdhip64.so.6", b"\x7fELF", True, True, "libamdhip64.so.6"),
    ],
)
def test_a_driver_is_a_library_that_opens_and_its_kernel_part(
    monkeypatch, tmp_path, library, content, has_kernel_driver, is_ok, words
):
    (tmp_path / library).write_bytes(content)
    kernel_driver = tmp_path / "kfd"
    if has_kernel_driver:
        kernel_driver.touch()
    monkeypatch.setattr(doctor, "LIBRARY_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr("ctypes.util.find_library", lambda _name: None)
    found = doctor.driver("AMD GPU driver", doctor.HIP_LIBRARIES, str(kernel_driver), "install", "load")
    assert found.is_ok == is_ok
    assert words in found.found
    assert bool(found.fix) != is_ok

"""torch's profiler sees kernels and copies of amdgpu, and amdgpu's telemetry sees operators of torch."""

import json
import threading

import pytest
import torch
from amdgpu import telemetry
from amdgpu.torch.loading import shim
from torch.profiler import ProfilerActivity, profile

# Told by some versions of torch of every profile.
pytestmark = pytest.mark.filterwarnings("ignore:.*Profiler clears events at the end of each cycle")
needs_activities = pytest.mark.skipif(
    not shim().has_activities(), reason="this version of torch takes no activities of devices of other packages"
)


def work(device):
    x = torch.ones(64, 64, device=device)
    return torch.nn.functional.layer_norm(x @ x, (64,)).sum().cpu()


@needs_activities
def test_kernels_are_activities_that_belong_to_operators(device):
    work(device)
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
        work(device)
    events = profiled.events()
    kernels = [event for event in events if event.device_type == torch.autograd.DeviceType.PrivateUse1]
    assert kernels
    assert all(event.device_index == 0 for event in kernels)
    assert any("copy device to host" in event.name for event in kernels)
    averages = {row.key: row for row in profiled.key_averages()}
    assert averages["aten::mm"].device_time_total > 0
    assert averages["aten::mm"].device_time_total < averages["aten::mm"].cpu_time_total
    assert "Self RDNA" in profiled.key_averages().table(sort_by="self_device_time_total")


@needs_activities
def test_activities_of_the_device_alone_are_profiled():
    with profile(activities=[ProfilerActivity.PrivateUse1]) as profiled:
        work("rdna")
    assert [event for event in profiled.events() if event.device_type == torch.autograd.DeviceType.PrivateUse1]


@needs_activities
def test_traces_have_the_kernels(device, tmp_path):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]) as profiled:
        work(device)
    path = tmp_path / "trace.json"
    profiled.export_chrome_trace(str(path))
    rows = json.loads(path.read_text())["traceEvents"]
    kernels = [row for row in rows if row.get("cat") == "kernel"]
    operators = [row for row in rows if row.get("name") == "aten::mm" and row.get("cat") == "cpu_op"]
    assert kernels
    start, end = operators[0]["ts"], operators[0]["ts"] + operators[0]["dur"]
    assert any(start <= row["ts"] and row["ts"] + row["dur"] <= end for row in kernels)


def test_events_around_operators_measure_them(device):
    work(device)
    with torch.autograd.profiler.profile(use_device="rdna", use_kineto=False) as profiled:
        work(device)
    averages = {row.key: row for row in profiled.key_averages()}
    assert averages["aten::mm"].device_time_total > 0


def test_profiles_count_memory(device):
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        x = torch.empty(1 << 20, device=device)
    averages = {row.key: row for row in profiled.key_averages()}
    assert averages["aten::empty"].self_device_memory_usage == 4 << 20
    del x


def test_telemetry_hears_of_operators_where_somebody_listens(device):
    x = torch.ones(8, 8, device=device)
    heard = threading.Event()
    named = {}

    def listen():
        for record in telemetry.events(capacity=1 << 16, timeout_seconds=20):
            named.setdefault(record["name"], record)
            if {"aten::add.out", "aten::_softmax.out"} <= named.keys():
                heard.set()
                return

    listener = threading.Thread(target=listen)
    listener.start()
    # The listener begins some time after its thread.
    while listener.is_alive():
        torch.nn.functional.softmax(x + x, -1)
    listener.join()
    assert heard.is_set()
    assert named["aten::add.out"]["kind"] == "marker"
    assert named["aten::add.out"]["duration_ns"] > 0

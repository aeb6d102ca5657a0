"""Streams and events: order inside a stream, concurrency beside it, events across."""

import gc
import weakref

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

# Waits for the other side's flag. Run one after the other, the first would count to the end and give up.
MEET = """
__global__ void meet(int* flags, int own, int* met) {
    atomicAdd(&flags[own], 1);
    for (long long tries = 0; tries < 400000000LL; ++tries) {
        if (atomicAdd(&flags[1 - own], 0) != 0) { *met = 1; return; }
    }
}
"""
# Runs on until the host, or another kernel, sets the gate.
HOLD = """
__global__ void hold(int* gate, int* passed) {
    for (long long tries = 0; tries < 4000000000LL; ++tries) {
        if (atomicAdd(gate, 0) != 0) { *passed = 1; return; }
    }
}
"""
APPEND = """
__global__ void append(int* list, int* count, int value) { list[atomicAdd(count, 1)] = value; }
"""


def test_kernels_of_two_streams_run_at_the_same_time(device):
    meet = device.compile_kernel(MEET)
    flags, met = np.zeros(2, "int32"), [np.zeros(1, "int32"), np.zeros(1, "int32")]
    streams = [device.create_stream(), device.create_stream()]
    for own, stream in enumerate(streams):
        meet[1, 1, 0, stream](flags, own, met[own])
    for stream in streams:
        stream.synchronize()
    assert [int(flag[0]) for flag in met] == [1, 1]


def test_an_event_holds_a_stream_back_and_no_other(device):
    hold, append = device.compile_kernel(HOLD), device.compile_kernel(APPEND)
    gate, passed = np.zeros(1, "int32"), np.zeros(1, "int32")
    log, count = np.zeros(8, "int32"), np.zeros(1, "int32")
    first, second, free = (device.create_stream() for _ in range(3))
    hold[1, 1, 0, first](gate, passed)
    append[1, 1, 0, first](log, count, 1)
    event = first.record()
    second.wait_event(event)
    append[1, 1, 0, second](log, count, 2)
    append[1, 1, 0, free](log, count, 3)
    free.synchronize()
    assert not event.is_complete
    assert event.timestamp_ns is None
    assert not second.is_idle
    assert log[0] == 3
    gate[0] = 1
    second.synchronize()
    assert passed[0] == 1
    assert log[:3].tolist() == [3, 1, 2]
    assert event.is_complete
    event.synchronize()


def test_events_are_dated_in_the_order_of_their_stream(device):
    append = device.compile_kernel(APPEND)
    log, count = np.zeros(8, "int32"), np.zeros(1, "int32")
    stream = device.create_stream()
    begin = stream.record()
    append[1, 1, 0, stream](log, count, 1)
    end = stream.record()
    end.synchronize()
    assert begin.timestamp_ns <= end.timestamp_ns
    # Recording again moves the point.
    before = end.timestamp_ns
    assert stream.record(end) is end
    stream.synchronize()
    assert end.timestamp_ns >= before


def test_a_fresh_event_holds_nothing_back(device):
    stream = device.create_stream()
    event = stream.record()
    stream.synchronize()
    assert event.device == stream.device == "cpu:0"
    stream.wait_event(event)
    stream.synchronize()


def test_arguments_are_held_until_the_stream_has_passed_them(device):
    append = device.compile_kernel(APPEND)
    hold = device.compile_kernel(HOLD)
    gate, passed = np.zeros(1, "int32"), np.zeros(1, "int32")
    stream = device.create_stream()
    hold[1, 1, 0, stream](gate, passed)
    watchers = []
    for _ in range(200):  # more than share one event
        log, count = np.zeros(8, "int32"), np.zeros(1, "int32")
        watchers += [weakref.ref(log), weakref.ref(count)]
        append[1, 1, 0, stream](log, count, 1)
    del log, count
    gc.collect()
    assert all(watcher() is not None for watcher in watchers)
    gate[0] = 1
    stream.synchronize()
    gc.collect()
    assert not any(watcher() is not None for watcher in watchers)


def test_large_arguments_are_let_go_while_the_stream_goes_on(device):
    fill = device.compile_kernel("__global__ void fill(float* x) { x[threadIdx.x] = 1; }")
    stream = device.create_stream()
    watchers = []
    for _ in range(6):
        large = np.zeros(20 << 20, "float32")  # 80 MiB, above what waits for company
        watchers.append(weakref.ref(large))
        fill[1, 32, 0, stream](large)
        stream.record().synchronize()
    del large
    gc.collect()
    alive = sum(watcher() is not None for watcher in watchers)
    assert alive <= 2


def test_queued_launches_on_memory_of_the_host_are_over_when_the_call_is(device):
    kernel = device.compile_kernel(APPEND)
    values, count = amdgpu.zeros(4, "int32", device=device), amdgpu.zeros(1, "int32", device=device)
    seen = np.asarray(values)
    for value in (7, 8):
        kernel.queue(1, 1, [values, count, value])
        assert value in seen
    with pytest.raises(errors.ArgumentCountError, match="append"):
        kernel.queue(1, 1, [values])
    with pytest.raises(errors.InvalidLaunchError, match="grid"):
        kernel.queue(0, 1, [values, count, 1])


def test_objects_of_other_devices_are_refused(device):
    null = amdgpu.initialize_device("null:gfx1100")
    event = null.create_stream().record()
    with pytest.raises(errors.WrongDeviceError, match="the event is of null:gfx1100, and is used on cpu:0"):
        device.create_stream().wait_event(event)
    kernel = device.compile_kernel(APPEND)
    with pytest.raises(errors.WrongDeviceError, match="the stream is of null:gfx1100, and is used on cpu:0"):
        kernel[1, 1, 0, null.create_stream()](np.zeros(8, "int32"), np.zeros(1, "int32"), 1)
    assert device.create_stream().native_handle is None


@pytest.mark.parametrize(("level", "records"), [("off", 0), ("standard", 3), ("detailed", 3), (True, 3), (False, 0)])
def test_the_telemetry_level_decides_what_is_recorded(level, records, run_python):
    # In a process of its own: names of kernels become labels only up to a bound, which the tests before may have used up.
    program = f"""
import amdgpu, numpy as np
device = amdgpu.initialize_device("cpu:0", telemetry={level!r})
kernel = device.compile_kernel("__global__ void probe(int* x) {{ x[0] = 1; }}")
stream = device.create_stream()
x = np.zeros(1, "int32")
for _ in range(3):
    kernel[1, 1, 0, stream](x)
stream.synchronize()
for line in amdgpu.telemetry.prometheus().splitlines():
    if line.startswith("amdgpu_kernel_duration_seconds_count") and 'kernel="probe"' in line:
        print(line.rsplit(" ", 1)[1])
"""
    assert sum(float(line) for line in run_python(program).stdout.split()) == records


def test_an_unknown_telemetry_level_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="known are off, standard, detailed"):
        amdgpu.initialize_device("cpu:0", telemetry="loud")

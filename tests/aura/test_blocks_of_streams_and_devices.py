"""`with stream:` and `with device:`: what is current inside the block, and what was before it afterwards. Times between events."""

import threading

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

HOLD = """
__global__ void hold(int* gate, int* passed) {
    for (long long tries = 0; tries < 4000000000LL; ++tries) {
        if (atomicAdd(gate, 0) != 0) { *passed = 1; return; }
    }
}
"""
ADD = "__global__ void add(int* x, int value) { atomicAdd(x, value); }"


def in_a_thread(work):
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]


def test_launches_in_the_block_go_into_the_stream_and_return_at_once(device):
    hold, add = device.compile_kernel(HOLD), device.compile_kernel(ADD)
    raw = amdgpu.RawKernel(ADD, "add", device=device)
    gate, passed, x = (np.zeros(1, "int32") for _ in range(3))
    stream = device.create_stream()
    prepared = add.prepare(1, 1, x, 1000)
    with stream:
        hold[1, 1](gate, passed)
        add[1, 1](x, 1)
        add(x, 10, grid=1, block=1)
        raw((1,), (1,), (x, 100))
        prepared()
        add.launch(1, 1, (x, 10000))
        # Were one of them not behind `hold`, x would have its number.
        assert not stream.is_idle
        assert x[0] == 0
    gate[0] = 1
    stream.synchronize()
    assert x[0] == 11111
    assert passed[0] == 1


def test_a_named_stream_goes_before_that_of_the_block(device):
    hold, add = device.compile_kernel(HOLD), device.compile_kernel(ADD)
    gate, passed, x = (np.zeros(1, "int32") for _ in range(3))
    held, free = device.create_stream(), device.create_stream()
    with held:
        hold[1, 1](gate, passed)
        add[1, 1, 0, free](x, 1)
        free.synchronize()
        assert x[0] == 1
    gate[0] = 1
    held.synchronize()


def test_blocks_nest_and_end_with_exceptions(device):
    outer, inner = device.create_stream(), device.create_stream()
    name = device.name
    assert amdgpu.current_stream(name) is None
    with outer as entered:
        assert entered is outer
        with inner:
            assert amdgpu.current_stream(name) is inner
            with pytest.raises(ZeroDivisionError), outer:
                1 / 0  # noqa: B018
            assert amdgpu.current_stream(name) is inner
        assert amdgpu.current_stream(name) is outer
    assert amdgpu.current_stream(name) is None


def test_a_stream_counts_for_its_own_device_and_thread(device):
    other = amdgpu.initialize_device("null:gfx1100")
    theirs, ours = other.create_stream(), device.create_stream()
    with ours, theirs:
        assert amdgpu.current_stream(device.name) is ours
        assert amdgpu.current_stream(other.name) is theirs
        assert in_a_thread(lambda: amdgpu.current_stream(device.name)) is None


def test_a_block_that_ends_out_of_turn_is_refused(device):
    first, second = device.create_stream(), device.create_stream()
    first.__enter__()
    second.__enter__()
    with pytest.raises(errors.InvalidArgumentError, match="the thread that began it, behind the blocks inside it"):
        first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    first.__exit__(None, None, None)
    with pytest.raises(errors.InvalidArgumentError, match="the thread that began it"):
        first.__exit__(None, None, None)


def test_execute_and_graphs_run_in_the_stream_of_the_block(device):
    add = device.compile_kernel(ADD)
    x = amdgpu.zeros(1, "int32", device=device)
    graph = amdgpu.CapturedGraph()
    with graph:
        add[1, 1](x, 1)
    stream = device.create_stream()
    with stream:
        graph.replay()
        graph.replay()
        assert device.execute(add, x, 5, grid=1, block=1).output.tolist() == [7]
        pending = device.execute(add, x, 5, grid=1, block=1, async_execution=True)
    assert pending.result().output.tolist() == [12]


def test_operations_on_arrays_wait_for_the_stream_of_the_block(device):
    add = device.compile_kernel(ADD)
    x = amdgpu.zeros(1, "int32", device=device)
    with device.create_stream():
        for _ in range(50):
            add[1, 1](x, 1)
        assert (x + 1).tolist() == [51]


def test_time_between_events_is_in_milliseconds(device):
    hold = device.compile_kernel(HOLD)
    gate, passed = np.zeros(1, "int32"), np.zeros(1, "int32")
    stream = device.create_stream()
    begin = stream.record()
    hold[1, 1, 0, stream](gate, passed)
    end = stream.record()
    begin.synchronize()
    with pytest.raises(errors.InvalidArgumentError, match=r"`end` was not reached yet.*synchronize"):
        begin.elapsed_time(end)
    gate[0] = 1
    end.synchronize()
    expected = (end.timestamp_ns - begin.timestamp_ns) / 1e6
    assert begin.elapsed_time(end) == pytest.approx(expected)
    assert end.elapsed_time(begin) == pytest.approx(-expected)
    with pytest.raises(errors.InvalidTypeError, match="an Event is expected"):
        begin.elapsed_time(3)
    other = amdgpu.initialize_device("null:gfx1100").create_stream().record()
    with pytest.raises(errors.WrongDeviceError):
        begin.elapsed_time(other)


def test_a_device_is_the_current_one_inside_its_block():
    def use():
        amdgpu.set_device("null:gfx90a")
        outer, inner = amdgpu.initialize_device("null:gfx1100"), amdgpu.initialize_device("cpu:0")
        names = []
        with outer as entered:
            assert entered is outer
            names.append(amdgpu.zeros(2).device)
            with inner:
                names.append(amdgpu.get_device().name)
                amdgpu.set_device("null:gfx942")
                with pytest.raises(ZeroDivisionError), outer:
                    names.append(1 / (amdgpu.get_device().name != "null:gfx1100"))
                names.append(amdgpu.get_device().name)
            names.append(amdgpu.get_device().name)
        names.append(amdgpu.get_device().name)
        assert outer.is_open
        assert inner.is_open
        return names

    expected = ["null:gfx1100", "cpu:0", "null:gfx942", "null:gfx1100", "null:gfx90a"]
    assert in_a_thread(use) == expected


def test_a_block_closes_the_device_that_it_opened_and_no_other():
    with amdgpu.AMDGPUDevice("null:gfx1100") as opened_by_block:
        assert opened_by_block.is_open
    assert not opened_by_block.is_open
    opened_before = amdgpu.initialize_device("null:gfx1100")
    for _ in range(2):
        with opened_before:
            assert amdgpu.get_device().name == "null:gfx1100"
    assert opened_before.is_open
    with amdgpu.get_device():
        pass
    assert amdgpu.get_device().is_open


def test_one_device_is_current_in_two_threads_at_a_time():
    device = amdgpu.initialize_device("null:gfx1100")
    before = amdgpu.get_device().name

    def use():
        with device:
            return amdgpu.get_device().name

    with device:
        assert in_a_thread(use) == "null:gfx1100"
        assert amdgpu.get_device().name == "null:gfx1100"
    assert amdgpu.get_device().name == before


def test_a_device_that_does_not_exist_leaves_the_current_one():
    before = amdgpu.get_device().name
    with pytest.raises(errors.DeviceNotFoundError), amdgpu.AMDGPUDevice("tpu:0"):
        pass
    assert amdgpu.get_device().name == before


def test_whether_a_gpu_is_available():
    kinds = {info.kind for info in amdgpu.list_devices()}
    assert amdgpu.is_available() == bool(kinds & {"hip", "cuda"})
    assert amdgpu.is_available("cpu") == ("cpu" in kinds)
    assert amdgpu.is_available("hip") == ("hip" in kinds)
    with pytest.raises(errors.InvalidArgumentError, match="known are hip, cuda, cpu"):
        amdgpu.is_available("tpu")

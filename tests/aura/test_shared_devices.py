"""A device is open once in a process: all who open it share memory, default stream and order of work."""

from contextlib import closing

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

ALLOCATED = "allocated_bytes.all.current"
RESERVED = "reserved_bytes.all.current"
NULL = "null:gfx1100"


def test_every_opening_tells_the_statistics_of_the_device(device):
    with amdgpu.initialize_device("cpu:0") as other:
        before = device.memory_stats()[ALLOCATED]
        arrays = [
            amdgpu.zeros(1 << 20, "uint8", device="cpu:0"),
            amdgpu.zeros(1 << 20, "uint8", device=other),
            amdgpu.allocate_memory("cpu:0", 1 << 20),
            amdgpu.from_dlpack(amdgpu.zeros(1 << 20, "uint8", device="cpu:0")),
        ]
        for one in (device, other, amdgpu.initialize_device("cpu")):
            assert one.memory_stats()[ALLOCATED] == before + (4 << 20)
        del arrays
        assert device.memory_stats()[ALLOCATED] == before


def test_the_cache_is_emptied_by_any_opening():
    with amdgpu.initialize_device("null:gfx90a") as first, amdgpu.initialize_device("null:gfx90a") as second:
        amdgpu.zeros(8 << 20, "uint8", device=first)
        reserved = second.memory_stats()[RESERVED]
        freed = second.empty_cache()
        assert freed >= 8 << 20
        # What stays belongs to arrays that other tests of this process still hold.
        assert first.memory_stats()[RESERVED] == reserved - freed
        assert second.empty_cache() == 0


def test_out_of_memory_is_counted_for_the_device():
    with amdgpu.initialize_device(NULL) as first, amdgpu.initialize_device(NULL) as second:
        before = second.memory_stats()["num_ooms"]
        with pytest.raises(errors.OutOfMemoryError):
            amdgpu.empty(1 << 50, "uint8", device=first)
        assert second.memory_stats()["num_ooms"] == before + 1


def test_operations_on_arrays_of_any_opening_stay_on_the_device():
    with amdgpu.initialize_device(NULL) as own:
        x = amdgpu.array(np.ones(1000, "float32"), device=own)
        y = amdgpu.array(np.ones(1000, "float32"), device=NULL)
        for given in ((x, x), (y, y), (x, y)):
            assert amdgpu.ops.add(*given).device == NULL


def test_operations_survive_that_their_device_is_closed():
    x = amdgpu.array(np.ones(1000, "float32"), device=NULL)
    for _ in range(3):
        assert amdgpu.ops.multiply(x, x).shape == (1000,)
        amdgpu.device.default_device(NULL).close()


def test_closing_one_opening_leaves_the_others_at_work(device):
    source = "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }"
    with closing(amdgpu.initialize_device("cpu:0")) as other:
        closed = other.compile_kernel(source)
        array = amdgpu.array(np.ones(32, "float32"), device=other)
        stream = other.create_stream()
    kernel = device.compile_kernel(source)
    kernel[1, 32](array)
    kernel[1, 32, 0, stream](array)
    stream.synchronize()
    assert (array.numpy() == 4).all()
    with pytest.raises(errors.ClosedError):
        closed[1, 32](array)
    with pytest.raises(errors.ClosedError):
        other.memory_stats()
    assert device.memory_stats()[ALLOCATED] >= array.nbytes


def test_one_graph_takes_kernels_of_several_openings_and_ends_with_any_of_them(device):
    source = "__global__ void more(float* x) { x[threadIdx.x] += 1; }"
    array = amdgpu.zeros(8, "float32", device="cpu:0")
    with closing(amdgpu.initialize_device("cpu:0")) as other:
        kernels = device.compile_kernel(source), other.compile_kernel(source)
        with amdgpu.CapturedGraph() as graph:
            for kernel in kernels:
                kernel[1, 8](array)
        graph.replay()
        assert (array.numpy() == 2).all()
    with pytest.raises(errors.ClosedError):
        graph.replay()


def test_threads_open_and_close_one_device(run_python):
    program = """
import threading, numpy as np, amdgpu
SOURCE = "__global__ void more(float* x) { x[threadIdx.x] += 1; }"
failures = []
def work():
    try:
        for _ in range(20):
            with amdgpu.initialize_device("cpu:0") as device:
                array = amdgpu.zeros(32, "float32", device=device)
                device.compile_kernel(SOURCE)[1, 32](array)
            assert (array.numpy() == 1).all()
    except BaseException as error:
        failures.append(repr(error))
threads = [threading.Thread(target=work) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failures)
"""
    assert run_python(program).stdout.strip() == "[]"

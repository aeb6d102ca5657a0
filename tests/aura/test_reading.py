"""Whoever reads an array waits for what streams were given to do with it.

A kernel holds the stream until the test opens its gate, which it does from another thread behind the beginning of the read.
"""

import threading

import amdgpu
import numpy as np
import pytest

SOURCE = "__global__ void gated(volatile int* gate, float* x) { while (gate[0] == 0) {} x[threadIdx.x] = 42; }"
COUNT = 8
OPEN_AFTER_SECONDS = 0.05


class Gate:
    """What a kernel waits for."""

    def __init__(self):
        self.memory = np.zeros(1, "int32")
        self._timer = threading.Timer(OPEN_AFTER_SECONDS, self.open)

    def open(self):
        self.memory[0] = 1

    def open_soon(self):
        self._timer.start()


@pytest.fixture
def gate():
    made = Gate()
    yield made
    made.open()


@pytest.fixture
def kernel(device):
    return device.compile_kernel(SOURCE)


@pytest.fixture
def array(device):
    return amdgpu.zeros(COUNT, "float32", device=device)


def _launch(kernel, device, gate, array):
    stream = device.create_stream()
    kernel[1, COUNT, 0, stream](gate.memory, array)
    return stream


def _prepared(kernel, device, gate, array):
    stream = device.create_stream()
    kernel.prepare(1, COUNT, gate.memory, array, stream=stream)()
    return stream


def _graph(kernel, device, gate, array):
    stream = device.create_stream()
    with amdgpu.CapturedGraph() as graph:
        kernel[1, COUNT](gate.memory, array)
    graph.replay(stream)
    return stream


def _updated_graph(kernel, device, gate, array):
    stream, other = device.create_stream(), amdgpu.zeros(COUNT, "float32", device=device)
    with amdgpu.CapturedGraph() as graph:
        kernel[1, COUNT](gate.memory, other)
    graph.update(0, x=array)
    graph.replay(stream)
    return stream


def _graph_of_prepared(kernel, device, gate, array):
    stream = device.create_stream()
    prepared = kernel.prepare(1, COUNT, gate.memory, array)
    with amdgpu.CapturedGraph() as graph:
        prepared()
    graph.replay(stream)
    return stream


def _view(kernel, device, gate, array):
    return _launch(kernel, device, gate, array.reshape(2, COUNT // 2))


def _pending(kernel, device, gate, array):
    return device.execute(kernel, gate.memory, array, grid=1, block=COUNT, async_execution=True)


WRITERS = [_launch, _prepared, _graph, _updated_graph, _graph_of_prepared, _view, _pending]


def _waited(array):
    array.wait()
    return np.from_dlpack(array)


def _copied(array):
    target = amdgpu.zeros(COUNT, "float32", device="cpu:0")
    target.copy_from(array)
    return target.numpy()


READERS = {
    "numpy": lambda array: array.numpy(),
    "wait": _waited,
    "asarray": np.asarray,
    "from_dlpack": np.from_dlpack,
    "item": lambda array: array.reshape(2, COUNT // 2).numpy(),
    "copy_from": _copied,
    "array": lambda array: amdgpu.array(array).numpy(),
    "add": lambda array: amdgpu.ops.add(array, 0).numpy(),
    "native add": lambda array: amdgpu.ops.add(array, array).numpy() / 2,
    "sum": lambda array: np.full(COUNT, float(amdgpu.ops.sum(array)) / COUNT),
    "matrix_multiply": lambda array: np.asarray(amdgpu.matrix_multiply(np.eye(COUNT, dtype="float32"), array)),
}


@pytest.mark.parametrize("write", WRITERS)
def test_readers_wait_for_every_kind_of_work_in_a_stream(kernel, device, gate, array, write):
    stream = write(kernel, device, gate, array)
    gate.open_soon()
    assert array.numpy().tolist() == [42] * COUNT
    del stream


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
def test_every_reader_waits(kernel, device, gate, array, read):
    stream = _launch(kernel, device, gate, array)
    gate.open_soon()
    assert np.asarray(read(array)).ravel().tolist() == [42] * COUNT
    del stream


INCREMENT = "__global__ void increment(float* x) { x[threadIdx.x] += 1; }"
# What each leaves in an array of 42.
LATER_WORK = {
    "launch": (lambda device, kernel, array: kernel[1, COUNT](array), 43),
    "prepared": (lambda device, kernel, array: kernel.prepare(1, COUNT, array)(), 43),
    "execute": (lambda device, kernel, array: device.execute(kernel, array, grid=1, block=COUNT), 43),
    "execute without limit": (
        lambda device, kernel, array: device.execute(kernel, array, grid=1, block=COUNT, timeout_ms=None),
        43,
    ),
    "fill": (lambda device, kernel, array: array.fill(1), 1),
    "fill_bytes": (lambda device, kernel, array: array.fill_bytes(0), 0),
    "copy_from": (lambda device, kernel, array: array.copy_from(np.full(COUNT, 5, "float32")), 5),
    "operation with out": (lambda device, kernel, array: amdgpu.ops.add(array, 2, out=array), 44),
}


@pytest.mark.parametrize(("work", "left"), LATER_WORK.values(), ids=LATER_WORK.keys())
def test_work_without_a_stream_comes_after_what_streams_do_with_its_arrays(kernel, device, gate, array, work, left):
    increment = device.compile_kernel(INCREMENT)
    stream = _launch(kernel, device, gate, array)
    gate.open_soon()
    work(device, increment, array)
    stream.synchronize()
    assert array.numpy().tolist() == [left] * COUNT


def test_arrays_that_a_stream_does_not_use_are_read_at_once(kernel, device, gate, array):
    stream = _launch(kernel, device, gate, array)
    other = amdgpu.zeros(COUNT, "float32", device=device)
    assert other.numpy().tolist() == [0] * COUNT
    other.wait()
    assert not stream.is_idle
    gate.open()
    stream.synchronize()


def test_an_array_that_many_streams_use_waits_for_all(device, gate, array):
    kernel = device.compile_kernel(
        "__global__ void gated(volatile int* gate, float* x, int i) { while (gate[0] == 0) {} x[i] = 42; }"
    )
    streams = [device.create_stream() for _ in range(COUNT)]
    gate.open_soon()
    for index, stream in enumerate(streams):
        kernel[1, 1, 0, stream](gate.memory, array, index)
    assert array.numpy().tolist() == [42] * COUNT

"""Calls of operations return before their kernels end; whoever reads, launches in a stream or was told an address sees the results."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu.device import default_device

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
pytestmark = pytest.mark.gpu
N = 1 << 16
# Each look at memory of the host takes about a microsecond. It ends by itself, so that a test that fails does not hang.
HOLD = """
__global__ void hold(volatile int* state, long long rounds) {
    for (long long i = 0; i < rounds && state[0] == 0; ++i) {}
    state[1] = 1;
}
"""
LONG, SHORT = 1 << 23, 1 << 15
TWICE = """
__global__ void twice(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 2.0f * x[i];
}
"""


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU as functions of the package open it: where their arrays and operations are."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    return default_device(GPU_NAMES[0])


class Hold:
    """A kernel that keeps the device's own stream busy; all that is used while it runs has to be loaded before."""

    def __init__(self, gpu: Any, warm_up: Callable[[], Any]) -> None:
        self._kernel = gpu.compile_kernel(HOLD)
        self._memory = gpu.native.empty((2,), "int32", "pinned")
        self._words = (ctypes.c_int * 2).from_address(self._memory.kernel_address)
        self._words[:] = [1, 0]
        self._kernel.queue(1, 1, [self._memory, SHORT])
        warm_up()
        gpu.synchronize()

    def begin(self, rounds: int = LONG) -> None:
        self._words[:] = [0, 0]
        self._kernel.queue(1, 1, [self._memory, rounds])

    @property
    def is_over(self) -> bool:
        return bool(self._words[1])

    def release(self) -> None:
        self._words[0] = 1


def array(gpu: Any, values: Any) -> Any:
    return amdgpu.array(np.asarray(values, "float32"), device=gpu)


def test_calls_return_before_their_kernels_end_and_reading_waits(gpu: Any) -> None:
    x = array(gpu, np.arange(N).reshape(256, 256))

    def work() -> list[Any]:
        y = amdgpu.ops.add(x, x)
        product = amdgpu.matrix_multiply(x, y, gpu.name)
        return [y, amdgpu.ops.sum(y, 0), amdgpu.ops.softmax(y), amdgpu.ops.cumsum(y, 1), product]

    expected = [one.numpy() for one in work()]
    hold = Hold(gpu, work)
    hold.begin()
    results = work()
    assert not hold.is_over
    hold.release()
    for got, wanted in zip(results, expected, strict=True):
        assert np.array_equal(got.numpy(), wanted)
    assert hold.is_over


def test_waiting_for_an_array_waits_for_its_operations(gpu: Any) -> None:
    x = array(gpu, np.arange(N))
    hold = Hold(gpu, lambda: amdgpu.ops.add(x, 1.0))
    hold.begin(SHORT)
    y = amdgpu.ops.add(x, 1.0)
    y.wait()
    assert hold.is_over


def test_launches_in_streams_see_the_results_of_operations(gpu: Any) -> None:
    x, y, out = array(gpu, np.arange(N)), array(gpu, np.zeros(N)), array(gpu, np.zeros(N))
    twice, stream = gpu.compile_kernel(TWICE), gpu.create_stream()
    prepared = twice.prepare(N // 256, 256, y, out, N, stream=stream)

    def work() -> None:
        amdgpu.ops.add(x, 1.0, out=y)
        twice[N // 256, 256, 0, stream](y, out, N)
        amdgpu.ops.add(x, 2.0, out=y)
        prepared()

    hold = Hold(gpu, work)
    for one in (y, out):
        one.fill(0)
    hold.begin()
    amdgpu.ops.add(x, 1.0, out=y)
    twice[N // 256, 256, 0, stream](y, out, N)
    assert not hold.is_over
    hold.release()
    stream.synchronize()
    assert np.array_equal(out.numpy(), 2 * (np.arange(N, dtype="float32") + 1))
    hold.begin()
    amdgpu.ops.add(x, 2.0, out=y)
    prepared()
    assert not hold.is_over
    hold.release()
    stream.synchronize()
    assert np.array_equal(out.numpy(), 2 * (np.arange(N, dtype="float32") + 2))


def test_replays_of_graphs_in_streams_see_the_results_of_operations(gpu: Any) -> None:
    x, y, out = array(gpu, np.arange(N)), array(gpu, np.zeros(N)), array(gpu, np.zeros(N))
    twice, stream = gpu.compile_kernel(TWICE), gpu.create_stream()
    with amdgpu.CapturedGraph() as graph:
        twice[N // 256, 256](y, out, N)
    graph.replay(stream)
    stream.synchronize()
    hold = Hold(gpu, lambda: amdgpu.ops.add(x, 3.0, out=y))
    y.fill(0)
    hold.begin()
    amdgpu.ops.add(x, 3.0, out=y)
    graph.replay(stream)
    assert not hold.is_over
    hold.release()
    stream.synchronize()
    assert np.array_equal(out.numpy(), 2 * (np.arange(N, dtype="float32") + 3))


def test_memory_that_was_given_back_stays_until_its_operations_ran(gpu: Any) -> None:
    other = array(gpu, np.full(N, -5.0))

    def work(x: Any) -> tuple[Any, Any]:
        y = amdgpu.ops.add(x, 1.0)
        x.free()
        # Takes the memory of x, in the order of the same stream.
        return y, amdgpu.ops.negative(other)

    hold = Hold(gpu, lambda: work(array(gpu, np.arange(N))))
    given = array(gpu, np.arange(N))
    hold.begin()
    y, z = work(given)
    assert not hold.is_over
    hold.release()
    assert np.array_equal(y.numpy(), np.arange(N, dtype="float32") + 1)
    assert (z.numpy() == 5).all()


def test_operations_on_memory_whose_address_was_told_end_before_the_call(gpu: Any) -> None:
    x = array(gpu, np.arange(N))
    out = gpu.native.empty((N,), "float32", "pinned")
    told = (ctypes.c_float * N).from_address(out.ptr)
    hold = Hold(gpu, lambda: amdgpu.ops.add(x, 1.0, out=out))
    hold.begin(SHORT)
    amdgpu.ops.add(x, 7.0, out=out)
    assert hold.is_over
    assert np.array_equal(np.frombuffer(told, "float32"), np.arange(N, dtype="float32") + 7)


def test_arrays_lent_to_torch_are_finished(gpu: Any) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    x = array(gpu, np.arange(N))
    hold = Hold(gpu, lambda: torch.from_dlpack(amdgpu.ops.add(x, 1.0)).sum())
    hold.begin(SHORT)
    y = amdgpu.ops.add(x, 1.0)
    lent = torch.from_dlpack(y)
    assert torch.equal(lent.cpu(), torch.arange(N, dtype=torch.float32) + 1)
    hold.begin(SHORT)
    amdgpu.ops.add(x, 2.0, out=y)
    assert hold.is_over
    assert torch.equal(lent.cpu(), torch.arange(N, dtype=torch.float32) + 2)


def test_another_opening_of_the_device_sees_the_results(gpu: Any) -> None:
    x = array(gpu, np.arange(N))
    with amdgpu.initialize_device(gpu.name) as second:
        twice = second.compile_kernel(TWICE)

        def work() -> Any:
            result = second.native.empty((N,), "float32")
            twice[N // 256, 256](amdgpu.ops.add(x, 1.0), result, N)
            return result

        hold = Hold(gpu, work)
        hold.begin(SHORT)
        result = work()
        assert np.array_equal(result.numpy(), 2 * (np.arange(N, dtype="float32") + 1))
        copy = second.native.empty((N,), "float32")
        hold.begin(SHORT)
        copy.copy_from(amdgpu.ops.add(x, 3.0))
        assert np.array_equal(copy.numpy(), np.arange(N, dtype="float32") + 3)


def test_every_opening_of_the_device_waits_for_all(gpu: Any) -> None:
    x = array(gpu, np.arange(N))
    with amdgpu.initialize_device(gpu.name) as second:
        hold = Hold(gpu, lambda: amdgpu.ops.add(x, 1.0))
        hold.begin(SHORT)
        amdgpu.ops.add(x, 1.0)
        second.synchronize()
        assert hold.is_over


def test_the_wait_behind_a_fault_names_the_kernel(gpu: Any, run_python: Any) -> None:
    program = f"""
import numpy as np
import amdgpu
from amdgpu import errors
from amdgpu.device import default_device
name = {gpu.name!r}
device = default_device(name)
wild = device.compile_kernel("__global__ void wild(unsigned long long address) {{ *(int*)address = 1; }}")
x = amdgpu.array(np.ones(1000, "float32"), device=device)
y = amdgpu.ops.add(x, 1.0)
device.synchronize()
wild.queue(1, 1, [64])
try:
    y = amdgpu.ops.add(x, 1.0)
    y.numpy()
except errors.DeviceLostError as error:
    print("lost", "wild" in str(error))
"""
    assert "lost True" in run_python(program).stdout

"""Graphs, streams and recovery on a real GPU."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
ADD = "__global__ void add(float* x, float value, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] += value; }"
SCALE = "__global__ void scale(float* x, float factor, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= factor; }"
SHARED = """
__global__ void reversed(const float* in, float* out, int n) {
    extern __shared__ float all[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) all[i] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = all[n - 1 - i];
}
"""
N = 10_000


@pytest.fixture(scope="module", params=GPU_NAMES or [None])
def gpu(request: Any) -> Any:
    """Each GPU of this machine, opened."""
    if request.param is None:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def add(gpu: Any) -> Any:
    return gpu.compile_kernel(ADD)


@pytest.fixture(scope="module")
def scale(gpu: Any) -> Any:
    return gpu.compile_kernel(SCALE)


@pytest.mark.gpu
def test_a_graph_runs_when_it_is_replayed(gpu: Any, add: Any, scale: Any) -> None:
    x = amdgpu.zeros(N, "float32", device=gpu.name)
    y = amdgpu.zeros(N, "float32", device=gpu.name)
    prepared = scale.prepare(40, 256, x, 3.0, N)
    with amdgpu.CapturedGraph() as graph:
        add[40, 256](x, 2.0, N)
        prepared()
        y.copy_from(x)
        x.fill(0)
    assert not x.numpy().any()
    for _ in range(3):
        graph.replay()
        assert (y.numpy() == 6).all()
        assert not x.numpy().any()
    graph.update(0, value=5.0)
    stream = gpu.create_stream()
    graph.replay(stream)
    stream.synchronize()
    assert (y.numpy() == 15).all()


@pytest.mark.gpu
def test_streams_inside_a_graph_are_ordered_by_events(gpu: Any, add: Any, scale: Any) -> None:
    x = amdgpu.zeros(N, "float32", device=gpu.name)
    one, two = gpu.create_stream(), gpu.create_stream()
    with amdgpu.CapturedGraph() as graph:
        x.fill(0)
        for _ in range(10):
            add[40, 256, 0, one](x, 1.0, N)
            two.wait_event(one.record())
            scale[40, 256, 0, two](x, 2.0, N)
            one.wait_event(two.record())
    for stream in (None, gpu.create_stream(), gpu.create_stream()):
        graph.replay(stream)
        gpu.synchronize()
        assert (x.numpy() == 2046).all()


@pytest.mark.gpu
def test_large_dynamic_shared_memory_is_allowed_inside_a_graph(gpu: Any) -> None:
    floats = 15_000
    kernel = gpu.compile_kernel(SHARED)
    values = np.arange(floats, dtype="float32")
    source, out = amdgpu.array(values, device=gpu.name), amdgpu.zeros(floats, "float32", device=gpu.name)
    with amdgpu.CapturedGraph() as graph:
        kernel[1, 256, 4 * floats](source, out, floats)
    graph.replay()
    assert np.array_equal(out.numpy(), values[::-1])


@pytest.mark.gpu
def test_ordinary_host_memory_is_not_copied_inside_a_graph(gpu: Any) -> None:
    x = amdgpu.zeros(N, "float32", device=gpu.name)
    with pytest.raises(errors.NotCapturableError, match="ordinary host memory"), amdgpu.CapturedGraph():
        x.copy_from(np.zeros(N, "float32"))


@pytest.mark.gpu
def test_events_order_streams(gpu: Any, add: Any, scale: Any) -> None:
    x = amdgpu.zeros(N, "float32", device=gpu.name)
    one, two = gpu.create_stream(), gpu.create_stream()
    begin = one.record()
    for _ in range(50):
        add[40, 256, 0, one](x, 1.0, N)
        two.wait_event(one.record())
        scale[40, 256, 0, two](x, 0.5, N)
        one.wait_event(two.record())
    end = one.record()
    end.synchronize()
    assert begin.timestamp_ns < end.timestamp_ns
    assert begin.is_complete
    assert end.is_complete
    expected = np.float32(0)
    for _ in range(50):
        expected = (expected + np.float32(1)) * np.float32(0.5)
    assert (x.numpy() == expected).all()
    assert one.native_handle not in (None, 0, two.native_handle)


@pytest.mark.gpu
def test_launches_in_streams_are_counted_and_sampled(gpu: Any) -> None:
    kernel = gpu.compile_kernel("__global__ void counted(int* x) { x[0] = 1; }")
    x = amdgpu.zeros(1, "int32", device=gpu.name)
    stream = gpu.create_stream()

    def count(metric: str) -> float:
        lines = amdgpu.telemetry.prometheus().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(metric) and gpu.name in line)

    before = count("amdgpu_kernel_launches_total")
    for _ in range(130):
        kernel[1, 1, 0, stream](x)
    stream.synchronize()
    assert count("amdgpu_kernel_launches_total") - before == 130


@pytest.mark.gpu
def test_after_a_fault_the_kernel_is_named_and_the_device_opens_again(gpu: Any, run_python: Any) -> None:
    program = f"""
import numpy as np
import amdgpu
from amdgpu import errors
name = {gpu.name!r}
device = amdgpu.initialize_device(name)
wild = device.compile_kernel("__global__ void wild(long long at) {{ *(int*)at = 1; }}")
good = device.compile_kernel("__global__ void good(float* x) {{ x[threadIdx.x] = 2; }}")
array = amdgpu.zeros(32, "float32", device=name)
stream = device.create_stream()
good[1, 32](array)
try:
    wild[1, 1](0x10)
    print("no fault")
except errors.DeviceLostError as error:
    print("kernel was `wild`" in str(error), error)
for use in (lambda: array.numpy(), lambda: good[1, 32](array), lambda: good[1, 32, 0, stream](array), lambda: array.fill(0)):
    try:
        use()
        print("usable")
    except errors.DeviceLostError as error:
        print("wild" in str(error))
device.close()
try:
    again = amdgpu.initialize_device(name)
    fresh = amdgpu.zeros(32, "float32", device=name)
    again.compile_kernel("__global__ void good(float* x) {{ x[threadIdx.x] = 2; }}")[1, 32](fresh)
    print("recovered", fresh.numpy().sum())
except errors.DeviceLostError as error:
    print("final", "start a new process" in str(error), error)
"""
    lines = [line for line in run_python(program).stdout.splitlines() if "hint:" not in line]
    assert lines[0].startswith("True"), lines
    assert lines[1:5] == ["True"] * 4, lines
    # Drivers differ in whether they let the process go on; both are said clearly.
    assert lines[5] == "recovered 64.0" or lines[5].startswith("final True"), lines

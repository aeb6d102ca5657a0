"""Variables of modules, `printf` and `assert` on real GPUs: the same as on the CPU."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]

FILTER = """
__constant__ float taps[5];
__device__ unsigned int calls;
__device__ double sums[2][3] = {{1.0, 2.0}};
__global__ void convolve(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&calls, 1u);
    float sum = 0.0f;
    for (int k = 0; k < 5; ++k) {
        int j = i + k - 2;
        if (j >= 0 && j < n) sum += taps[k] * in[j];
    }
    out[i] = sum;
    if (i == 0) sums[1][2] = sums[0][1] * 2.0;
}
"""
PRINT = r"""
__device__ const char* sign(float x) { return x < 0.0f ? "minus" : "plus"; }
__global__ void lines(const float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) printf("%3d %s %08.3f %g %x %lld\n", i, sign(x[i]), x[i], x[i] / 3.0, i * 17u, (long long)i << 33);
}
"""
ASSERT = """
__device__ int checked(int x) { assert(x < 100); return x; }
__global__ void copy(const int* in, int* out) { out[threadIdx.x] = checked(in[threadIdx.x]); }
"""
MANY = r'__global__ void many() { for (int i = 0; i < 100; ++i) printf("%d %d %d\n", blockIdx.x, threadIdx.x, i); }'


@pytest.fixture(scope="module", params=GPU_NAMES or [None])
def gpu(request: Any) -> Any:
    """Each GPU of this machine, opened."""
    if request.param is None:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(request.param) as opened:
        yield opened


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.mark.gpu
def test_variables_are_written_and_read(gpu, cpu):
    x = np.linspace(-3, 9, 1000, dtype="float32")
    taps = np.array([0.1, 0.2, 0.4, 0.2, 0.1], "float32")
    results = []
    for device in (cpu, gpu):
        kernel = device.compile_kernel(FILTER)
        # Kernels of one text share their variables, also with those of another GPU's turn of this test on the CPU device.
        counted = int(kernel.module_global("calls").numpy())
        kernel.module_global("taps").copy_from(taps)
        source, out = (amdgpu.array(data, device=device.name) for data in (x, np.zeros_like(x)))
        kernel[8, 128](source, out, x.size)
        kernel[8, 128](source, out, x.size)
        assert int(kernel.module_global("calls").numpy()) - counted == 2 * x.size
        assert kernel.module_global("sums").numpy().tolist() == [[1, 2, 0], [0, 0, 4]]
        results.append(out.numpy().tobytes())
    assert results[0] == results[1]


@pytest.mark.gpu
def test_the_same_lines_are_printed(gpu, cpu, capsys):
    x = np.linspace(-3, 9, 100, dtype="float32")
    printed = []
    for device in (cpu, gpu):
        device.compile_kernel(PRINT)[4, 32](amdgpu.array(x, device=device.name), x.size)
        printed.append(sorted(capsys.readouterr().out.splitlines()))
    assert len(printed[0]) == 100
    assert printed[0] == printed[1]


@pytest.mark.gpu
def test_lines_without_room_are_counted(gpu, capsys):
    kernel = gpu.compile_kernel(MANY)
    for _ in range(2):
        kernel[32, 256]()
        *lines, last = capsys.readouterr().out.splitlines()
        assert len(lines) == 262_144 // 4
        assert last.startswith(f"[amdgpu] {32 * 256 * 100 - len(lines)} lines of printf were lost")


@pytest.mark.gpu
def test_launches_in_streams_print_when_they_are_waited_for(gpu, capsys):
    kernel = gpu.compile_kernel(r'__global__ void k(int n) { printf("%d\n", n); }')
    stream = gpu.create_stream()
    for number in range(3):
        kernel[1, 1, 0, stream](number)
    stream.synchronize()
    assert capsys.readouterr().out == "0\n1\n2\n"


@pytest.mark.gpu
def test_failed_assertions_are_raised_and_the_device_goes_on(gpu):
    kernel = gpu.compile_kernel(ASSERT)
    data = np.arange(64, dtype="int32")
    data[37] = 100
    source, out = (amdgpu.array(array, device=gpu.name) for array in (data, np.full(64, -1, "int32")))
    with pytest.raises(errors.KernelAssertionError) as caught:
        kernel[1, 64](source, out)
    message = "copy: assertion 'x < 100' failed at kernel.hip:2, block (0, 0, 0), thread (37, 0, 0)"
    assert message in str(caught.value)
    expected = data.copy()
    expected[37] = -1
    assert out.numpy().tolist() == expected.tolist()
    source.copy_from(np.zeros(64, "int32"))
    kernel[1, 64](source, out)
    assert not out.numpy().any()

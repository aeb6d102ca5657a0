"""Arrays of PyTorch and CuPy on real GPUs: kernels use them where they are, in the order of their streams."""

from __future__ import annotations

from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

GPU_NAMES = [info.device for info in amdgpu.list_devices() if info.kind in ("hip", "cuda")]
TWICE = """
__global__ void twice(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) x[i] *= 2.0f; }
"""
N = 1 << 16
GRID = (N // 256, 256)


@pytest.fixture(scope="module")
def gpu() -> Any:
    """The first GPU, opened."""
    if not GPU_NAMES:
        pytest.skip("list_devices() shows no GPU")
    with amdgpu.initialize_device(GPU_NAMES[0]) as opened:
        yield opened


@pytest.fixture(scope="module")
def torch(gpu: Any) -> Any:
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("this PyTorch uses no GPU")
    return module


@pytest.fixture(scope="module")
def twice(gpu: Any) -> Any:
    return gpu.compile_kernel(TWICE)


@pytest.mark.gpu
def test_a_kernel_writes_into_a_tensor(torch: Any, twice: Any) -> None:
    tensor = torch.arange(N, dtype=torch.float32, device="cuda:0")
    twice[GRID](tensor, N)
    assert torch.equal(tensor.cpu(), torch.arange(N, dtype=torch.float32) * 2)


@pytest.mark.gpu
def test_a_launch_waits_for_the_work_of_the_lender(gpu: Any, torch: Any, twice: Any) -> None:
    side = torch.cuda.Stream()
    tensor = torch.zeros(N, device="cuda:0")
    matrix = torch.randn(4096, 4096, device="cuda:0")
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(20):
            matrix = matrix @ matrix * 1e-4  # keeps the stream busy
        tensor += 3
        twice[GRID](tensor, N)
    assert float(tensor.min()) == float(tensor.max()) == 6
    stream = gpu.create_stream()
    with torch.cuda.stream(side):
        for _ in range(20):
            matrix = matrix @ matrix * 1e-4
        tensor += 1
        twice[(*GRID, 0, stream)](tensor, N)
    stream.synchronize()
    assert float(tensor.min()) == float(tensor.max()) == 14


@pytest.mark.gpu
def test_tensors_are_taken_over_without_a_copy(torch: Any, twice: Any) -> None:
    tensor = torch.ones(N, device="cuda:0")
    array = amdgpu.from_dlpack(tensor)
    assert array.ptr == tensor.data_ptr()
    assert array.device == GPU_NAMES[0]
    twice[GRID](array, N)
    assert array.numpy().tolist() == tensor.cpu().tolist() == [2.0] * N
    array.fill(0)
    assert float(tensor.sum()) == 0
    array.copy_from(np.full(N, 7, "float32"))
    assert float(tensor.min()) == 7


@pytest.mark.gpu
def test_tensors_take_our_arrays_over(gpu: Any, torch: Any, twice: Any) -> None:
    array = amdgpu.array(np.arange(N, dtype="float32"), device=gpu.name)
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == array.ptr
    stream = gpu.create_stream()
    twice[(*GRID, 0, stream)](array, N)
    again = torch.from_dlpack(array)  # ordered behind the launch that is still under way
    assert float(again[3]) == 6
    del array
    assert float((tensor + 0)[5]) == 10


@pytest.mark.gpu
def test_the_cuda_array_interface_is_understood_both_ways(gpu: Any, torch: Any, twice: Any) -> None:
    array = amdgpu.array(np.arange(N, dtype="float32"), device=gpu.name)
    if not gpu.name.startswith("cuda"):
        assert not hasattr(array, "__cuda_array_interface__")
        return
    interface = array.__cuda_array_interface__
    assert (interface["version"], interface["shape"], interface["typestr"]) == (3, (N,), "<f4")
    assert interface["data"] == (array.ptr, False)
    assert isinstance(interface["stream"], int)
    assert interface["stream"] > 2
    tensor = torch.as_tensor(array, device="cuda:0")
    assert tensor.data_ptr() == array.ptr

    class OnlyInterface:
        __cuda_array_interface__ = torch.ones(N, device="cuda:0").__cuda_array_interface__

    keep = torch.ones(N, device="cuda:0")
    OnlyInterface.__cuda_array_interface__ = keep.__cuda_array_interface__
    twice[GRID](OnlyInterface(), N)
    assert float(keep.min()) == 2


@pytest.mark.gpu
def test_pinned_tensors_are_reachable_from_both_sides(torch: Any, twice: Any) -> None:
    pinned = torch.ones(N).pin_memory()
    twice[GRID](pinned, N)
    torch.cuda.synchronize()
    assert float(pinned.min()) == 2


@pytest.mark.gpu
def test_copies_go_between_every_pair_of_devices(gpu: Any, torch: Any) -> None:
    host = np.random.default_rng(1).random(N, dtype=np.float32)
    tensor = torch.from_numpy(host).cuda()
    first = amdgpu.array(tensor, device=gpu.name)
    second = amdgpu.empty(N, "float32", device=gpu.name)
    second.copy_from(first)
    on_cpu = amdgpu.empty(N, "float32", device="cpu:0")
    on_cpu.copy_from(second)
    third = amdgpu.empty(N, "float32", device=gpu.name)
    third.copy_from(on_cpu)
    assert np.array_equal(third.numpy(), host)
    on_cpu.fill(0)
    on_cpu.copy_from(tensor)
    assert np.array_equal(on_cpu.numpy(), host)
    assert np.array_equal(amdgpu.array(tensor, device="cpu:0").numpy(), host)


@pytest.mark.gpu
@pytest.mark.skipif(len(GPU_NAMES) < 2, reason="one GPU at most")
def test_copies_go_between_two_gpus() -> None:
    host = np.arange(N, dtype="float32")
    first = amdgpu.array(host, device=GPU_NAMES[0])
    second = amdgpu.empty(N, "float32", device=GPU_NAMES[1])
    second.copy_from(first)
    assert np.array_equal(second.numpy(), host)


@pytest.mark.gpu
def test_tensors_of_a_gpu_are_not_for_kernels_of_the_cpu(torch: Any) -> None:
    with amdgpu.initialize_device("cpu:0") as cpu:
        kernel = cpu.compile_kernel(TWICE)
        with pytest.raises(errors.WrongDeviceError, match=f"the array is on {GPU_NAMES[0]}, the kernel on cpu:0"):
            kernel[GRID](torch.ones(N, device="cuda:0"), N)


@pytest.mark.gpu
def test_a_tensor_that_is_not_contiguous_is_refused(torch: Any, twice: Any) -> None:
    with pytest.raises(errors.NotContiguousError):
        twice[GRID](torch.ones(N, 2, device="cuda:0").T, N)


@pytest.mark.gpu
def test_cupy_arrays_are_used_where_they_are(gpu: Any, twice: Any) -> None:
    cupy = pytest.importorskip("cupy")
    array = cupy.ones(N, dtype="float32")
    twice[GRID](array, N)
    assert float(array.min()) == 2
    ours = amdgpu.zeros(N, "float32", device=gpu.name)
    assert cupy.asarray(ours).data.ptr == ours.ptr

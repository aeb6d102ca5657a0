"""Memory of other libraries, on devices that may not be here. With real GPUs: `test_gpu_arrays.py`."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from fake_tensor import CUDA, CUDA_HOST, CUDA_MANAGED, OPENCL, ROCM, ROCM_HOST, FakeTensor

TWICE = "__global__ void twice(float* x, int n) { int i = threadIdx.x; if (i < n) x[i] *= 2; }"
HAS_CUDA = any(info.kind == "cuda" for info in amdgpu.list_devices())
HAS_HIP = any(info.kind == "hip" for info in amdgpu.list_devices())
needs_no_cuda = pytest.mark.skipif(
    HAS_CUDA, reason="the machine has a CUDA device, and this memory is not really on it"
)
needs_no_hip = pytest.mark.skipif(HAS_HIP, reason="the machine has a HIP device, and this memory is not really on it")


@pytest.mark.parametrize("where", [CUDA_HOST, ROCM_HOST])
def test_pinned_memory_of_others_is_used_by_cpu_kernels_without_a_copy(device, where):
    tensor = FakeTensor([1, 2, 3], where)
    device.compile_kernel(TWICE)[1, 32](tensor, 3)
    assert tensor.host.tolist() == [2, 4, 6]
    assert tensor.asked_streams == [None]
    assert tensor.deleted == 1


@pytest.mark.parametrize("where", [CUDA_HOST, ROCM_HOST])
def test_pinned_memory_becomes_a_host_array(where):
    tensor = FakeTensor([1, 2, 3], where)
    array = amdgpu.from_dlpack(tensor)
    assert array.ptr == tensor.host.ctypes.data
    assert (array.device, array.is_on_host) == ("cpu:0", True)
    assert np.asarray(array).tolist() == [1, 2, 3]
    assert amdgpu.array(tensor, device="cpu:0").numpy().tolist() == [1, 2, 3]


@needs_no_cuda
@pytest.mark.parametrize("where", [CUDA, CUDA_MANAGED])
def test_cuda_memory_without_a_cuda_device_is_refused_before_it_is_lent(device, where):
    tensor = FakeTensor([1, 2, 3], where, 1)
    for attempt in (
        lambda: amdgpu.from_dlpack(tensor),
        lambda: amdgpu.array(tensor),
        lambda: device.compile_kernel(TWICE)[1, 32](tensor, 3),
        lambda: amdgpu.zeros(3, "float32", device="cpu:0").copy_from(tensor),
    ):
        with pytest.raises(errors.WrongDeviceError, match="the array is on cuda:1, which cannot be opened"):
            attempt()
    assert tensor.asked_streams == []


@needs_no_hip
def test_rocm_memory_is_named_after_hip(device):
    with pytest.raises(errors.WrongDeviceError, match="the array is on hip:2, which cannot be opened"):
        amdgpu.from_dlpack(FakeTensor([1], ROCM, 2))


def test_devices_nobody_drives_are_named_by_number(device):
    with pytest.raises(errors.WrongDeviceError, match="DLPack device type 4 number 0"):
        device.compile_kernel(TWICE)[1, 32](FakeTensor([1], OPENCL), 1)


def test_host_memory_is_not_for_kernels_of_a_gpu():
    # A null device stands for the GPU; it takes host memory because it touches none, but not memory of another device.
    null = amdgpu.initialize_device("null:gfx1100")
    other = amdgpu.zeros(3, "float32", device="null:gfx90a")
    with pytest.raises(errors.WrongDeviceError, match="the array is on null:gfx90a, the kernel on null:gfx1100"):
        null.compile_kernel(TWICE)[1, 32](other, 3)


def test_the_cuda_interface_is_absent_off_cuda():
    array = amdgpu.zeros(3, "float32", device="cpu:0")
    assert not hasattr(array, "__cuda_array_interface__")
    assert hasattr(array, "__array_interface__")


@needs_no_cuda
def test_the_cuda_interface_of_others_needs_the_driver(device):
    interface = {"version": 3, "shape": (3,), "typestr": "<f4", "data": (4096, False), "stream": 1}

    class Interface:
        __cuda_array_interface__ = interface

    with pytest.raises(errors.WrongDeviceError, match="the array is on cuda:0, which cannot be opened"):
        device.compile_kernel(TWICE)[1, 32](Interface(), 3)


@pytest.mark.parametrize(
    ("interface", "message"),
    [
        ({"shape": (3,), "typestr": "<f4"}, 'has no "data"'),
        ({"shape": (3,), "typestr": "<f4", "data": (4096, False), "mask": 1}, "mask"),
        ([], "is no dict"),
    ],
)
def test_a_damaged_cuda_interface_is_refused(device, interface, message):
    class Interface:
        __cuda_array_interface__ = interface

    with pytest.raises(errors.InvalidArgumentError, match=message):
        device.compile_kernel(TWICE)[1, 32](Interface(), 3)


def test_copies_go_between_devices_that_are_here(device):
    host = np.arange(5, dtype="float32")
    first = amdgpu.array(host, device="cpu:0")
    second = amdgpu.empty(5, "float32", device="cpu:0")
    second.copy_from(first)
    assert second.numpy().tolist() == host.tolist()
    second.copy_from(second)
    assert second.numpy().tolist() == host.tolist()
    null = amdgpu.empty(5, "float32", device="null:gfx1100")
    null.copy_from(second)
    second.copy_from(null)
    assert second.numpy().tolist() == [0] * 5  # a null device holds nothing
    with pytest.raises(errors.ShapeMismatchError):
        second.copy_from(amdgpu.empty(6, "float32", device="null:gfx1100"))
    with pytest.raises(errors.UnsupportedDtypeError):
        second.copy_from(amdgpu.empty(5, "int32", device="null:gfx1100"))

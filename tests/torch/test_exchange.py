"""DLPack, and memory shared with arrays of amdgpu."""

import gc

import amdgpu
import numpy as np
import pytest
import torch


def test_an_array_shares_the_memory_of_a_tensor(device):
    x = torch.arange(6.0, device=device).view(2, 3)
    array = torch.rdna.as_array(x)
    assert array.numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    x.copy_(torch.full((2, 3), 7.0))
    assert array.numpy().tolist() == [[7, 7, 7]] * 2
    assert torch.rdna.as_array(x.t()[1:]).shape == (2, 2)


def test_a_tensor_shares_the_memory_of_an_array(device):
    array = amdgpu.array([1.0, 2.0, 3.0], device=torch.rdna.get_device_properties(0).amdgpu_name)
    x = torch.rdna.as_tensor(array)
    assert x.device == device
    x.copy_(torch.tensor([4.0, 5.0, 6.0]))
    assert array.numpy().tolist() == [4, 5, 6]
    assert torch.rdna.as_tensor(array, "rdna:1").device == torch.device("rdna:1")


def test_owners_live_as_long_as_views(device, collected):
    before = torch.rdna.memory_allocated()
    x = torch.arange(1 << 16, device=device)
    array = torch.rdna.as_array(x)
    del x
    gc.collect()
    assert array.numpy()[-1] == (1 << 16) - 1
    again = torch.rdna.as_tensor(array)
    del array
    gc.collect()
    assert again[5].item() == 5
    del again
    gc.collect()
    assert torch.rdna.memory_allocated() == before


def test_operations_of_amdgpu_run_on_tensors(device):
    x = torch.rand(16, 16)
    product = torch.rdna.as_tensor(
        amdgpu.matrix_multiply(torch.rdna.as_array(x.to(device)), torch.rdna.as_array(x.to(device)))
    )
    torch.testing.assert_close(product.cpu(), x @ x)


@pytest.mark.parametrize(
    "dtype", [torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64], ids=str
)
def test_dtypes_pass_both_ways(dtype, device):
    x = torch.tensor([0, 1, 1]).to(dtype).to(device)
    back = torch.rdna.as_tensor(torch.rdna.as_array(x))
    assert back.dtype == dtype
    assert torch.equal(back.cpu(), x.cpu())
    assert back.data_ptr() == x.data_ptr()


def test_what_arrays_cannot_say_is_refused(device):
    with pytest.raises(BufferError, match=r"pass tensor\.detach"):
        torch.rdna.as_array(torch.ones(2, device=device, requires_grad=True))
    with pytest.raises(BufferError, match="resolve_conj"):
        torch.rdna.as_array(torch.ones(2, device=device, dtype=torch.complex64).conj())
    with pytest.raises(ValueError, match="takes a tensor of rdna"):
        torch.rdna.as_array(torch.ones(2))


def test_dlpack_of_torch_works_with_the_device(device):
    x = torch.arange(4.0, device=device)
    assert x.__dlpack_device__() == (12, 0)
    assert torch.ones(2).__dlpack_device__()[0] == 1
    same = torch.from_dlpack(x)
    assert same.device == device
    assert same.data_ptr() == x.data_ptr()
    assert np.from_dlpack(x, device="cpu").tolist() == [0, 1, 2, 3]
    there = torch.from_dlpack(np.arange(3.0), device="rdna", copy=True)
    assert there.device == device
    assert there.tolist() == [0, 1, 2]


def test_capsules_that_nobody_takes_are_freed(device, collected):
    before = torch.rdna.memory_allocated()
    for _ in range(100):
        torch.ones(1000).to(device).__dlpack__()
        torch.rdna.as_array(torch.ones(1000).to(device))
    gc.collect()
    assert torch.rdna.memory_allocated() == before

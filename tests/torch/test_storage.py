"""Views, copies, conversions and resizing."""

import numpy as np
import pytest
import torch

VIEWS = {
    "slice": lambda x: x[:, 1:, ::2],
    "permute": lambda x: x.permute(2, 0, 1),
    "unfold": lambda x: x.unfold(2, 2, 1),
    "expand": lambda x: x[:, :1].expand(2, 5, 4),
    "diagonal": lambda x: x.diagonal(0, 1, 2),
    "reshape": lambda x: x.reshape(6, 4).t().reshape(-1),
    "split": lambda x: x.split(2, 1)[1],
    "chunk": lambda x: x.chunk(2)[1],
    "as_strided": lambda x: x.as_strided((2, 2), (5, 1), 3),
    "select": lambda x: x[1, 2],
    "scalar": lambda x: x[1, 2, 3],
    "none": lambda x: x[:, 3:],
    "unsqueeze": lambda x: x.unsqueeze(1).squeeze(0),
    "bits": lambda x: x.view(torch.int32),
    "alias": lambda x: x.detach().movedim(0, 2),
}
DTYPES = [
    *(torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int8, torch.int16, torch.int32, torch.int64),
    *(torch.uint8, torch.bool, torch.complex64, torch.complex128, torch.float8_e4m3fn),
]


def example():
    return torch.arange(24.0).view(2, 3, 4)


@pytest.mark.parametrize("name", VIEWS)
def test_views_share_memory_and_hold_what_those_of_the_cpu_hold(name, device):
    view = VIEWS[name]
    x = example().to(device)
    seen, expected = view(x), view(example())
    assert seen.stride() == expected.stride()
    assert torch.equal(seen.cpu(), expected)
    if name != "reshape":
        assert seen.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()


@pytest.mark.parametrize("name", [name for name in VIEWS if name not in ("expand", "unfold", "bits", "reshape")])
def test_copies_into_views_change_their_elements_only(name, device):
    x, expected = torch.zeros(2, 3, 4, device=device), torch.zeros(2, 3, 4)
    new = torch.rand(VIEWS[name](expected).shape)
    VIEWS[name](expected).copy_(new)
    VIEWS[name](x).copy_(new)
    assert torch.equal(x.cpu(), expected)
    y = torch.zeros(2, 3, 4, device=device)
    VIEWS[name](y).copy_(new.to(device))
    assert torch.equal(y.cpu(), expected)


@pytest.mark.parametrize("source", DTYPES, ids=str)
@pytest.mark.parametrize("target", DTYPES, ids=str)
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_conversions_are_those_of_the_cpu(source, target, device):
    x = torch.tensor([0.0, 1.0, 2.5, 7.0, 100.0]).to(source)
    expected = x.to(target)
    for given in (x, torch.stack([x, x], 1)[:, 0]):
        assert torch.equal(given.to(device).to(target).cpu().view(torch.uint8), expected.view(torch.uint8))
        assert torch.equal(given.to(device, target).cpu().view(torch.uint8), expected.view(torch.uint8))
        assert torch.equal(given.to(device).to("cpu", target).view(torch.uint8), expected.view(torch.uint8))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4, 5)])
def test_round_trips_keep_shape_and_values(shape, device):
    x = torch.rand(shape)
    y = x.to(device)
    assert y.shape == x.shape
    assert torch.equal(y.cpu(), x)
    assert torch.equal(y.clone().cpu(), x)
    assert torch.equal(y.to("rdna:1").to(device).cpu(), x)


def test_memory_formats_are_kept(device):
    x = torch.rand(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    y = x.to(device)
    assert y.is_contiguous(memory_format=torch.channels_last)
    assert y.stride() == x.stride()
    assert torch.equal(y.contiguous().cpu(), x)
    empty = torch.empty(2, 3, 4, 5, device=device, memory_format=torch.channels_last)
    assert empty.stride() == x.stride()


def test_overlapping_ranges_are_copied_as_if_apart(device):
    x = torch.arange(5.0, device=device)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3]
    x.copy_(x)
    assert x.tolist() == [0, 0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        torch.zeros(1, device=device).expand(3).copy_(torch.ones(3))


def test_values_are_broadcast_by_copies(device):
    x = torch.zeros(2, 3, device=device)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    x[1].copy_(torch.tensor(7.0, device=device))
    assert x.tolist() == [[1, 2, 3], [7, 7, 7]]


def test_scalars_are_read(device):
    x = torch.tensor([1.5, 2.5], device=device)
    assert x[1].item() == 2.5
    assert float(x[0]) == 1.5
    assert x[:1].item() == 1.5
    assert torch.tensor(True, device=device).item() is True
    assert torch.tensor(1 + 2j, device=device).item() == 1 + 2j
    assert x.numpy(force=True).tolist() == [1.5, 2.5]
    with pytest.raises(TypeError, match="rdna"):
        np.asarray(x)


def test_resizing_keeps_elements(device):
    x = torch.zeros(0, device=device).resize_(3)
    x.copy_(torch.tensor([1.0, 2.0, 3.0]))
    x.resize_(2, 4)
    assert x.flatten()[:3].tolist() == [1, 2, 3]
    x.resize_(2)
    assert x.tolist() == [1, 2]
    x.untyped_storage().resize_(400)
    assert x.untyped_storage().nbytes() == 400
    assert x.tolist() == [1, 2]
    assert torch.empty(0, device=device).resize_(1, 2, 2, 2, memory_format=torch.channels_last).stride() == (8, 1, 4, 2)


def test_set_shares_and_leaves_storages(device):
    x, y = torch.zeros(2, device=device), torch.tensor([1.0, 2.0, 3.0], device=device)
    x.set_(y)
    assert x.is_set_to(y)
    x.set_(y.untyped_storage(), 1, (2,), (1,))
    assert x.tolist() == [2, 3]
    x.set_(y.untyped_storage(), 1, (2,))
    assert x.tolist() == [2, 3]
    x.set_()
    assert x.numel() == 0
    with pytest.raises(RuntimeError, match="device"):
        y.set_(torch.ones(2).untyped_storage())


def test_conjugate_and_negative_views_are_read_and_written(device):
    values = [1 + 2j, 3 - 1j]
    x = torch.tensor(values, device=device)
    assert x.conj().is_conj()
    assert x.conj().cpu().tolist() == [1 - 2j, 3 + 1j]
    assert (x.conj() * 2).cpu().tolist() == [2 - 4j, 6 + 2j]
    assert x.conj().clone().resolve_conj().cpu().tolist() == [1 - 2j, 3 + 1j]
    assert x.conj().imag.is_neg()
    assert x.conj().imag.cpu().tolist() == [-2, 1]
    y = torch.zeros(2, dtype=torch.complex64, device=device)
    y.conj().copy_(x)
    assert y.cpu().tolist() == [1 - 2j, 3 + 1j]
    y.real.copy_(torch.tensor([5.0, 6.0]))
    assert y.cpu().tolist() == [5 - 2j, 6 + 1j]
    assert torch.view_as_complex(torch.view_as_real(x)).tolist() == values


def test_tensors_are_printed(device):
    assert repr(torch.tensor([1.0, 2.5], device=device)) == "tensor([1.0000, 2.5000], device='rdna:0')"
    assert repr(torch.tensor([1, 2], device="rdna:1")) == "tensor([1, 2], device='rdna:1')"
    assert "requires_grad=True" in repr(torch.zeros(2, device=device, requires_grad=True))
    assert "tensor([], device='rdna:0'" in repr(torch.empty(0, device=device))


def test_factories(device):
    assert torch.eye(2, device=device).tolist() == [[1, 0], [0, 1]]
    assert torch.arange(3, device=device).tolist() == [0, 1, 2]
    assert torch.full((2,), 7.0, device=device).tolist() == [7, 7]
    assert torch.tensor([[1, 2]], device=device).tolist() == [[1, 2]]
    assert torch.ones_like(torch.zeros(2, device=device)).tolist() == [1, 1]
    assert torch.linspace(0, 1, 3, device=device).tolist() == [0, 0.5, 1]
    assert torch.empty_strided((2, 2), (1, 2), device=device).stride() == (1, 2)
    with pytest.raises(RuntimeError, match="only tensors of the CPU can be pinned"):
        torch.empty(2, device=device, pin_memory=True)
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device=device)

"""Autograd, autocast, gradient scaling, torch.func."""

import copy

import pytest
import torch
from torch import nn


@pytest.fixture(autouse=True)
def operators_without_a_kernel_may_run_on_the_cpu():
    torch.rdna.set_fallback_mode("silent")


class SmallNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(1, 4, 3, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.transposed = nn.ConvTranspose2d(4, 2, 2, stride=2, groups=2)
        self.out = nn.Linear(2, 3)

    def forward(self, x):
        x = torch.relu(self.norm(self.convolution(x)))
        return self.out(self.transposed(x).mean((2, 3)))


def test_gradients_are_those_of_the_cpu(device):
    torch.manual_seed(0)
    expected = SmallNetwork()
    model = copy.deepcopy(expected).to(device)
    x, target = torch.rand(4, 1, 6, 6), torch.tensor([0, 1, 2, 0])
    nn.functional.cross_entropy(expected(x), target).backward()
    loss = nn.functional.cross_entropy(model(x.to(device)), target.to(device))
    loss.backward()
    for (name, ours), theirs in zip(model.named_parameters(), expected.parameters(), strict=True):
        assert ours.grad.device == device, name
        torch.testing.assert_close(ours.grad.cpu(), theirs.grad, rtol=1e-4, atol=1e-6)


def test_a_network_learns(device):
    torch.manual_seed(1)
    x = torch.randn(64, 2)
    labels = (x[:, 0] * x[:, 1] > 0).long()
    model = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    for _ in range(60):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x.to(device)), labels.to(device)).backward()
        optimizer.step()
    accuracy = (model(x.to(device)).argmax(1).cpu() == labels).float().mean().item()
    assert accuracy >= 0.95


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_chooses_dtypes_by_torchs_lists(dtype, device):
    a = torch.rand(3, 3, device=device)
    with torch.autocast("rdna", dtype=dtype):
        product = a @ a
        assert product.dtype == dtype
        assert nn.functional.linear(a, a).dtype == dtype
        assert torch.softmax(product, 0).dtype == torch.float32
        assert torch.exp(product).dtype == torch.float32
        assert (product + a).dtype == torch.float32
        assert torch.addcmul(a, product, product).dtype == torch.float32
        with torch.autocast("rdna", enabled=False):
            assert (a @ a).dtype == torch.float32
        with pytest.raises(RuntimeError, match="not safe under autocast"):
            nn.functional.binary_cross_entropy(a, a)
    assert (a @ a).dtype == torch.float32


def test_a_step_with_infinite_gradients_is_left_out(device):
    parameter = nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = torch.amp.GradScaler("rdna", init_scale=8.0)
    scaler.scale((parameter * 2).sum()).backward()
    parameter.grad[0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [1, 1]
    assert scaler.get_scale() == 4
    optimizer.zero_grad()
    scaler.scale((parameter * 2).sum()).backward()
    scaler.step(optimizer)
    assert parameter.tolist() == [0, 0]


def test_torch_func_works(device):
    x = torch.tensor([1.0, 2.0, 3.0], device=device)
    assert torch.func.grad(lambda x: (x**3).sum())(x).tolist() == [3, 12, 27]
    assert torch.func.vmap(lambda row: row.sum())(torch.ones(2, 3, device=device)).tolist() == [3, 3]
    jacobian = torch.func.jacrev(lambda x: x * x)(x)
    assert jacobian.diagonal().tolist() == [2, 4, 6]


def test_checkpoints_and_hooks(device):
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5)).to(device)
    x = torch.ones(2, 3, device=device, requires_grad=True)
    seen = []
    layer.register_full_backward_hook(lambda *_: seen.append(True))
    checkpoint(layer, x, use_reentrant=False).sum().backward()
    assert x.grad.shape == (2, 3)
    assert seen


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_drop_out_the_same_again(use_reentrant, device):
    from torch.utils.checkpoint import checkpoint

    layer = nn.Sequential(nn.Linear(3, 16), nn.Dropout(0.5), nn.Tanh(), nn.Linear(16, 3), nn.Dropout(0.5)).to(device)
    x = torch.ones(4, 3, device=device, requires_grad=True)

    def gradient(function):
        torch.rdna.manual_seed(5)
        result = function(x)
        torch.rand(3, device=device)
        return torch.autograd.grad(result.square().sum(), [x, *layer.parameters()])

    def kept(x):
        return checkpoint(layer, x, use_reentrant=use_reentrant)

    if use_reentrant:
        # Such a checkpoint gives its gradients to backward() alone.
        torch.rdna.manual_seed(5)
        kept(x).square().sum().backward()
        found = [x.grad, *(one.grad for one in layer.parameters())]
    else:
        found = gradient(kept)
    torch.testing.assert_close(tuple(found), gradient(layer), rtol=0, atol=0)


def test_forks_of_the_generator_leave_it_as_it_was(device):
    torch.rdna.manual_seed(5)
    wanted = torch.rand(4, device=device)
    torch.rdna.manual_seed(5)
    with torch.random.fork_rng(devices=[0], device_type="rdna"):
        torch.rand(7, device=device)
    assert torch.equal(torch.rand(4, device=device), wanted)


# Told by torch's own modules when they are used for the first time.
@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_forward_gradients(device):
    def function(x):
        return (x.sin() * x).sum(1)

    x, along = torch.rand(3, 4), torch.rand(3, 4)
    torch.rdna.set_fallback_mode("error")
    found = torch.func.jvp(function, (x.to(device),), (along.to(device),))
    wanted = torch.func.jvp(function, (x,), (along,))
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.cpu(), other)
    torch.testing.assert_close(
        torch.func.hessian(lambda x: function(x).sum())(x.to(device)).cpu(),
        torch.func.hessian(lambda x: function(x).sum())(x),
    )


def test_gradcheck_of_products_and_convolutions(device):
    a = torch.rand(2, 3, dtype=torch.float64, device=device, requires_grad=True)
    b = torch.rand(3, 2, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(torch.mm, (a, b))
    x = torch.rand(1, 2, 4, 4, dtype=torch.float64, device=device, requires_grad=True)
    w = torch.rand(2, 2, 3, 3, dtype=torch.float64, device=device, requires_grad=True)
    assert torch.autograd.gradcheck(nn.functional.conv2d, (x, w))

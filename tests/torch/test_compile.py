"""torch.compile."""

import pytest
import torch
from small_models import Decoder
from torch import nn

# Told by torch's own modules while they compile.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:kernels that Inductor writes for rdna run on the CPU"),
]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4)

    def forward(self, x):
        return torch.softmax(self.last(nn.functional.gelu(self.norm(self.first(x)))), -1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_compiled_programs_give_what_eager_gives(backend, device):
    torch.rdna.set_fallback_mode("silent")
    torch.compiler.reset()
    torch.manual_seed(0)
    model, x = Network().to(device), torch.randn(5, 8, device=device)
    expected = model(x)
    expected.square().sum().backward()
    gradients = [parameter.grad.cpu() for parameter in model.parameters()]
    model.zero_grad()
    got = torch.compile(model, backend=backend)(x)
    got.square().sum().backward()
    assert got.device == device
    torch.testing.assert_close(got.cpu(), expected.cpu())
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient, rtol=1e-4, atol=1e-6)


def test_inductor_compiles_language_models_in_mixed_precision(device):
    torch.rdna.set_fallback_mode("silent")
    torch.compiler.reset()
    torch.manual_seed(0)
    model, words = Decoder().to(device), torch.arange(32, device=device).reshape(2, 16)

    def loss(network):
        with torch.autocast("rdna", torch.bfloat16):
            return nn.functional.cross_entropy(network(words).flatten(0, 1), words.flatten())

    wanted = loss(model)
    wanted.backward()
    gradient = model.words.weight.grad.cpu()
    model.zero_grad()
    found = loss(torch.compile(model))
    found.backward()
    torch.testing.assert_close(found.cpu(), wanted.cpu(), rtol=1e-2, atol=1e-2)
    torch.testing.assert_close(model.words.weight.grad.cpu(), gradient, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_views_and_writes_in_place_are_compiled(backend, device):
    torch.rdna.set_fallback_mode("silent")
    torch.compiler.reset()

    def program(x, y):
        x[:, 1:].add_(y)
        return (x.t() + 1).sum(0) * 2, x[::2].clone()

    x, y = torch.rand(4, 3, device=device), torch.rand(2, device=device)
    expected = x.clone()
    wanted = program(expected, y)
    got = torch.compile(program, backend=backend)(x, y)
    torch.testing.assert_close(x.cpu(), expected.cpu())
    for ours, theirs in zip(got, wanted, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs.cpu())

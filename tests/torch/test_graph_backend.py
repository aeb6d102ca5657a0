"""`torch.compile(backend="amdgpu")`: graphs of torch as graphs of amdgpu."""

import warnings

import pytest
import torch
from amdgpu.torch import graph_backend
from small_models import Decoder, Encoder, residual_network
from torch import nn

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:operators that run one by one"),
]


@pytest.fixture(autouse=True)
def fresh():
    torch.rdna.set_fallback_mode("silent")
    torch.compiler.reset()
    torch.manual_seed(0)


def parts(program, *arguments):
    """Results, and the graphs of amdgpu that computed them."""
    found = []

    made = graph_backend.compile_parts

    def watched(module):
        result = made(module)
        found.extend(one for one in result.children() if isinstance(one, graph_backend.Part))
        return result

    graph_backend.compile_parts = watched
    try:
        return torch.compile(program, backend=graph_backend.amdgpu_backend)(*arguments), found
    finally:
        graph_backend.compile_parts = made


def test_a_network_and_its_gradients_are_graphs(device):
    model = nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 4), nn.Softmax(-1)).to(device)
    x = torch.randn(5, 8, device=device)
    expected = model(x)
    expected.square().sum().backward()
    gradients = [parameter.grad.cpu() for parameter in model.parameters()]
    model.zero_grad()
    got, graphs = parts(model, x)
    assert len(graphs) == 1
    got.square().sum().backward()
    torch.testing.assert_close(got.cpu(), expected.cpu())
    for parameter, gradient in zip(model.parameters(), gradients, strict=True):
        torch.testing.assert_close(parameter.grad.cpu(), gradient, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_models_of_words_give_what_eager_gives(kind, device):
    model = kind().to(device).eval()
    words = torch.randint(1, 50, (2, 9), device=device)
    with torch.no_grad():
        expected = model(words)
        got, graphs = parts(model, words)
    assert graphs
    torch.testing.assert_close(got.cpu(), expected.cpu(), rtol=1e-4, atol=1e-5)


def test_a_residual_network_gives_what_eager_gives(device):
    model = residual_network().to(device).eval()
    x = torch.randn(2, 3, 32, 32, device=device)
    with torch.no_grad():
        expected = model(x)
        got, graphs = parts(model, x)
    assert graphs
    torch.testing.assert_close(got.cpu(), expected.cpu(), rtol=1e-4, atol=1e-4)


def test_dtypes_are_promoted_as_torch_does(device):
    def program(a, b, c):
        return a * b + 1, a / c, (a > c) & (b > 0), b * 2.5, c / 2, torch.where(a > 0, b, 0)

    a = torch.randn(4, 3, device=device)
    b = torch.randn(3, device=device, dtype=torch.float16)
    c = torch.randint(1, 5, (4, 1), device=device)
    expected = program(a, b, c)
    got, graphs = parts(program, a, b, c)
    assert graphs
    for ours, theirs in zip(got, expected, strict=True):
        assert ours.dtype == theirs.dtype
        torch.testing.assert_close(ours.cpu(), theirs.cpu())


def test_what_has_no_function_runs_between_graphs(device):
    def program(x):
        y = (x * 2 + 1).relu()
        order = torch.argsort(y, dim=-1)
        return (torch.gather(y, -1, order) - 1) * 3

    x = torch.randn(4, 7, device=device)
    got, graphs = parts(program, x)
    assert len(graphs) == 2
    torch.testing.assert_close(got.cpu(), program(x).cpu())


def test_views_writes_and_other_shapes_are_compiled(device):
    def program(x, y):
        x[:, 1:].add_(y)
        return (x.t() + 1).sum(0) * 2, (x[::2] * 3).t()

    compiled = torch.compile(program, backend=graph_backend.amdgpu_backend)
    for rows in (4, 6):
        x, y = torch.rand(rows, 3, device=device), torch.rand(2, device=device)
        kept = x.clone()
        wanted, got = program(kept, y), compiled(x, y)
        torch.testing.assert_close(x.cpu(), kept.cpu())
        for ours, theirs in zip(got, wanted, strict=True):
            assert ours.stride() == theirs.stride()
            torch.testing.assert_close(ours.cpu(), theirs.cpu())


def test_operators_outside_of_graphs_are_told_once(device):
    graph_backend.told.clear()
    program = torch.compile(lambda x: torch.sort(x * 2 + 1)[0] + 1, backend=graph_backend.amdgpu_backend)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        program(torch.randn(4, device=device))
        torch.compiler.reset()
        program(torch.randn(4, device=device))
    assert len([one for one in told if "run one by one" in str(one.message)]) == 1

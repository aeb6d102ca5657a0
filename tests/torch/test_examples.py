"""Programs of examples/pytorch, at small size and without an operator on the CPU; and the spiking layer beside formulas."""

import amdgpu
import bert
import gpt2
import numpy as np
import pytest
import resnet50
import spiking_layer
import torch


@pytest.fixture(autouse=True)
def no_fallback():
    torch.rdna.set_fallback_mode("error")


def test_resnet50_learns_and_says_how_fast(capsys):
    losses = resnet50.main(["--device", "rdna", "--small", "--steps", "12"])
    assert len(losses) == 12
    assert sum(losses[-3:]) < sum(losses[:3])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("ResNet50: ")
    assert "images per second" in lines[-3]
    assert sum(isinstance(one, torch.nn.Conv2d) for one in resnet50.ResNet50(10).modules()) == 49 + 4


def test_resnet50_trains_in_mixed_precision():
    losses = resnet50.main(["--device", "rdna", "--small", "--steps", "3", "--bf16"])
    assert all(np.isfinite(losses))


def test_bert_is_fine_tuned_from_saved_weights(tmp_path, capsys):
    path = str(tmp_path / "bert.pt")
    assert bert.main(["--device", "rdna", "--small", "--save", path]) > 0.85
    again = bert.main(["--device", "rdna", "--small", "--steps", "1", "--weights", path])
    assert again > 0.85
    assert "of unseen texts classified right" in capsys.readouterr().out


def test_gpt2_writes_the_same_with_and_without_a_cache():
    with_cache, without = gpt2.main(["--device", "rdna", "--small"])
    assert with_cache == without
    assert with_cache.startswith(gpt2.TEXT[:24])


def test_a_cache_changes_no_scores(device):
    torch.manual_seed(2)
    model = gpt2.Gpt2(width=32, layers=2, heads=2, places=16).to(device).eval()
    words = torch.randint(256, (2, 9), device=device)
    cache = gpt2.Cache(model, 2, 9)
    with torch.no_grad():
        parts = [model(words[:, :4], cache), *(model(words[:, place : place + 1], cache) for place in range(4, 9))]
        torch.testing.assert_close(torch.cat(parts, 1), model(words), rtol=1e-4, atol=1e-4)


def test_spiking_neurons_learn_what_only_time_tells():
    assert spiking_layer.main(["--device", "rdna", "--small"]) > 0.9


def test_the_spiking_layer_is_that_of_the_network_language(device):
    draw = np.random.default_rng(4)
    x = draw.normal(0.3, 0.6, (5, 12, 6)).astype(np.float32)
    text = "layer a(6)\nlayer b(6, activation: lif(0.8))\nconnect a -> b (weight: array('w'))\n"
    network = amdgpu.Network(text.replace("'", '"'), arrays={"w": np.eye(6, dtype=np.float32)}, device="cpu:0")
    spikes = spiking_layer.Lif(0.8)(torch.from_numpy(x).to(device))
    assert set(spikes.cpu().unique().tolist()) == {0.0, 1.0}
    np.testing.assert_allclose(spikes.mean(1).cpu().numpy(), network.forward(x), rtol=0, atol=1e-6)


def test_surrogate_gradients_are_those_of_the_formula(device):
    decay, slope = 0.8, 5.0
    torch.manual_seed(5)
    x = torch.randn(3, 7, 4, dtype=torch.float64)
    weights = torch.randn(3, 7, 4, dtype=torch.float64)

    class Surrogate(torch.autograd.Function):
        @staticmethod
        def forward(ctx, u):
            ctx.save_for_backward(u)
            return (u > 1).double()

        @staticmethod
        def backward(ctx, by_spike):
            (u,) = ctx.saved_tensors
            return by_spike / (1 + slope * (u - 1).abs()) ** 2

    wanted = x.clone().requires_grad_()
    u, spike, spikes = torch.zeros(3, 4, dtype=torch.float64), torch.zeros(3, 4, dtype=torch.float64), []
    for step in range(7):
        u = decay * (u - spike) + wanted[:, step]
        spike = Surrogate.apply(u)
        spikes.append(spike)
    (torch.stack(spikes, 1) * weights).sum().backward()
    # Steps that do not follow one another in memory, as behind a transposition.
    found = x.float().transpose(0, 1).contiguous().transpose(0, 1).to(device).requires_grad_()
    (spiking_layer.Lif(decay, slope)(found) * weights.float().to(device)).sum().backward()
    torch.testing.assert_close(found.grad.cpu().double(), wanted.grad, rtol=1e-4, atol=1e-5)


def test_the_spiking_layer_says_that_it_needs_rdna():
    with pytest.raises(SystemExit, match="AMDGPU_TORCH_DEVICE=cpu"):
        spiking_layer.main(["--device", "cpu", "--small"])

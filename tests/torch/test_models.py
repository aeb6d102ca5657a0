"""Training and inference of usual networks without a single operator on the CPU, as exact as torch's CPU."""

from __future__ import annotations

import copy

import pytest
import small_models as models
import torch
from beside_cpu import values
from torch import nn
from torch.nn import functional


@pytest.fixture(autouse=True)
def no_fallback():
    before = torch.rdna.get_fallback_mode()
    torch.rdna.set_fallback_mode("error")
    yield
    torch.rdna.set_fallback_mode(before)


def classified(model, x, classes):
    return functional.cross_entropy(model(x), classes)


def next_words(model, words):
    return functional.cross_entropy(model(words)[:, :-1].flatten(0, 1), words[:, 1:].flatten())


def denoised(model, x, time, noise):
    return functional.mse_loss(model(x, time), noise)


WORDS = torch.arange(1, 33).reshape(2, 16)
CLASSES = torch.tensor([0, 2])
MODELS = {
    "ResNet": (models.residual_network, classified, (values((4, 3, 64, 64)), torch.tensor([0, 2, 9, 4]))),
    "BERT": (models.Encoder, classified, (WORDS, CLASSES)),
    "GPT-2": (models.Decoder, next_words, (WORDS,)),
    "ViT": (models.VisionTransformer, classified, (values((2, 3, 16, 16)), CLASSES)),
    "U-Net": (models.Segmentation, classified, (values((2, 3, 8, 8)), torch.arange(128).reshape(2, 8, 8) % 2)),
    "LSTM": (models.Recurrent, classified, (WORDS, CLASSES)),
    "diffusion": (
        models.Denoiser,
        denoised,
        (values((2, 16, 4, 4)), torch.tensor([3, 400]), values((2, 16, 4, 4)).flip(0)),
    ),
}


def gradient_error(model: nn.Module, exact: nn.Module) -> float:
    """The largest error of a gradient, relative to the largest value of that gradient."""
    pairs = zip(model.parameters(), exact.parameters(), strict=True)
    return max(
        ((own.grad.cpu().double() - wanted.grad).abs().max() / wanted.grad.abs().max().clamp(min=1e-9)).item()
        for own, wanted in pairs
    )


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_as_exact_as_on_the_cpu(name):
    make, loss_of, batch = MODELS[name]
    torch.manual_seed(3)
    model = make()
    exact, moved = copy.deepcopy(model).double(), copy.deepcopy(model).to("rdna")
    loss_of(model, *batch).backward()
    loss_of(exact, *(one.double() if one.is_floating_point() else one for one in batch)).backward()
    loss_of(moved, *(one.to("rdna") for one in batch)).backward()
    # What rounds by itself varies a little between orders of the same sums.
    assert gradient_error(moved, exact) <= 1.5 * gradient_error(model, exact) + 1e-6


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 1e-4}),
        (torch.optim.AdamW, {}),
        (torch.optim.AdamW, {"fused": True}),
    ],
    ids=["sgd", "adamw", "fused-adamw"],
)
def test_training_lowers_the_loss(name, optimizer, options):
    make, loss_of, batch = MODELS[name]
    torch.manual_seed(3)
    model = make().to("rdna")
    batch = [one.to("rdna") for one in batch]
    steps = optimizer(model.parameters(), lr=1e-2 if optimizer is torch.optim.SGD else 1e-3, **options)
    losses = []
    for _ in range(4):
        steps.zero_grad()
        loss = loss_of(model, *batch)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        steps.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


@pytest.mark.parametrize("name", MODELS)
def test_inference_gives_what_the_cpu_gives(name):
    make, _, batch = MODELS[name]
    torch.manual_seed(3)
    model = make().eval()
    moved = copy.deepcopy(model).to("rdna")
    inputs = batch[:2] if name == "diffusion" else batch[:1]
    with torch.no_grad():
        wanted, found = model(*inputs), moved(*(one.to("rdna") for one in inputs))
    torch.testing.assert_close(found.cpu(), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["ResNet", "BERT", "U-Net"])
def test_mixed_precision_trains(name, dtype):
    make, loss_of, batch = MODELS[name]
    torch.manual_seed(3)
    model = make().to("rdna")
    batch = [one.to("rdna") for one in batch]
    steps, scaler = (
        torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True),
        torch.amp.GradScaler("rdna", init_scale=256.0),
    )
    losses = []
    for _ in range(4):
        steps.zero_grad()
        with torch.autocast("rdna", dtype):
            loss = loss_of(model, *batch)
        scaler.scale(loss).backward()
        scaler.step(steps)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < losses[0]


def test_dropout_trains():
    torch.manual_seed(3)
    model = models.Encoder(dropout=0.1).to("rdna")
    classified(model, WORDS.to("rdna"), CLASSES.to("rdna")).backward()
    assert all(one.grad.isfinite().all() for one in model.parameters())


@pytest.mark.parametrize("norm_first", [False, True])
def test_whole_layers_of_encoders(norm_first):
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(16, 4, 32, activation="gelu", batch_first=True, norm_first=norm_first).eval()
    moved = copy.deepcopy(layer).to("rdna")
    x, mask = values((2, 5, 16)), torch.tensor([[False] * 5, [False] * 3 + [True] * 2])
    with torch.no_grad():
        torch.testing.assert_close(moved(x.to("rdna")).cpu(), layer(x), rtol=1e-4, atol=1e-4)
        wanted, found = layer(x, src_key_padding_mask=mask), moved(x.to("rdna"), src_key_padding_mask=mask.to("rdna"))
    torch.testing.assert_close(found.cpu()[0], wanted[0], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(found.cpu()[1, :3], wanted[1, :3], rtol=1e-4, atol=1e-4)


# What the steps below need of the kernel library: a network that ran elsewhere would not have called it.
NATIVE = {
    "ResNet": [
        "convolution_overrideable", "convolution_backward_overrideable", "native_batch_norm", "native_batch_norm_backward",
        "relu", "relu_", "max_pool2d_with_indices.out", "max_pool2d_with_indices_backward.grad_input", "add.out", "mean.out",
        "addmm.out", "mm.out", "_log_softmax.out", "_log_softmax_backward_data.out", "nll_loss_forward.output",
        "nll_loss_backward.grad_input", "threshold_backward.grad_input", "sum.IntList_out", "div.out",
    ],
    "BERT": [
        "addmm.out", "add.out", "native_layer_norm.out", "native_layer_norm_backward", "gelu.out", "gelu_backward.grad_input",
        "tanh.out", "tanh_backward.grad_input", "index_select", "embedding_dense_backward", "arange.start_out", "ne.Scalar_out",
        "_fused_sdp_choice", "_scaled_dot_product_fused_attention_overrideable",
        "_scaled_dot_product_fused_attention_overrideable_backward",
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", NATIVE)
def test_kernels_of_the_library_computed_each_operator(name):
    make, loss_of, batch = MODELS[name]
    model = make().to("rdna")
    before = torch.rdna.native_report()
    loss_of(model, *(one.to("rdna") for one in batch)).backward()
    after = torch.rdna.native_report()
    unused = [one for one in NATIVE[name] if after.get(f"aten::{one}", 0) <= before.get(f"aten::{one}", 0)]
    assert unused == []


def test_a_small_network_learns_to_separate_images():
    for seed in (1, 2, 3):
        torch.manual_seed(seed)
        classes = torch.arange(64) % 2
        images = torch.randn(64, 1, 8, 8) * 0.5
        images[classes == 1, :, 2:6, 2:6] += 1.0
        model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 2)).to("rdna")
        x, y = images.to("rdna"), classes.to("rdna")
        steps = torch.optim.AdamW(model.parameters(), lr=2e-2, fused=True)
        for _ in range(25):
            steps.zero_grad()
            functional.cross_entropy(model(x), y).backward()
            steps.step()
        assert (model(x).argmax(1) == y).float().mean().item() >= 0.95

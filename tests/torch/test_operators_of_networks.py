"""Operators of networks and their gradients beside torch's CPU: convolutions, norms, losses, attention, optimizers, random numbers."""

from __future__ import annotations

import copy

import pytest
import torch
from beside_cpu import FLOATS, check, check_gradients, compare, on_rdna, values
from torch import nn
from torch.nn import functional


@pytest.fixture(autouse=True)
def no_fallback():
    before = torch.rdna.get_fallback_mode()
    torch.rdna.set_fallback_mode("error")
    yield
    torch.rdna.set_fallback_mode(before)


def wanting(*shape, dtype=torch.float32, low=-1, high=1):
    """Values whose gradient is wanted."""
    return values(shape, dtype, low=low, high=high).requires_grad_()


CONVOLUTIONS = [
    (functional.conv1d, (2, 4, 9), (6, 2, 3), {"stride": 2, "padding": 1, "groups": 2}),
    (functional.conv2d, (2, 3, 7, 8), (4, 3, 3, 3), {"padding": 1}),
    (
        functional.conv2d,
        (2, 4, 7, 8),
        (4, 1, 3, 2),
        {"stride": (2, 1), "padding": (0, 1), "dilation": (1, 2), "groups": 4},
    ),
    (functional.conv3d, (1, 2, 4, 5, 6), (3, 2, 2, 3, 2), {"padding": (1, 0, 1)}),
    (functional.conv_transpose1d, (2, 4, 6), (4, 3, 3), {"stride": 2, "output_padding": 1}),
    (functional.conv_transpose2d, (2, 4, 5, 6), (4, 3, 3, 3), {"stride": 2, "padding": 1, "output_padding": (1, 0)}),
    (functional.conv_transpose3d, (1, 2, 3, 3, 3), (2, 2, 2, 2, 2), {"stride": 2}),
]


@pytest.mark.parametrize(("function", "images", "weights", "options"), CONVOLUTIONS)
def test_convolutions_and_their_gradients(function, images, weights, options):
    outputs = weights[1] * options.get("groups", 1) if "transpose" in function.__name__ else weights[0]
    check_gradients(function, wanting(*images), wanting(*weights), wanting(outputs), **options)
    check_gradients(function, wanting(*images, dtype=torch.float64), wanting(*weights, dtype=torch.float64), **options)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_convolutions_of_half_precision(dtype):
    check(
        functional.conv2d,
        values((2, 3, 7, 8), dtype, low=-1, high=1),
        values((4, 3, 3, 3), dtype, low=-1, high=1),
        tolerance=5e-2,
    )


@pytest.mark.parametrize(("function", "images", "weights", "options"), CONVOLUTIONS[1:4])
def test_channels_that_are_last_in_memory_stay_there(function, images, weights, options):
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    memory = formats[len(images)]
    x, weight = (values(shape, low=-1, high=1).to(memory_format=memory).requires_grad_() for shape in (images, weights))
    check_gradients(function, x, weight, wanting(weights[0]), **options)
    moved = on_rdna((x, weight))
    result = function(*moved, **options)
    assert result.is_contiguous(memory_format=memory)
    by_x, _ = torch.autograd.grad(result.sum(), moved)
    assert by_x.is_contiguous(memory_format=memory)


@pytest.mark.parametrize(("function", "images", "weights", "options"), CONVOLUTIONS[1:4:2])
def test_gradients_of_weights_lie_as_the_weights(function, images, weights, options):
    memory = {4: torch.channels_last, 5: torch.channels_last_3d}[len(images)]
    weight = on_rdna(values(weights).to(memory_format=memory).requires_grad_())
    x = on_rdna(values(images))
    for given in (x, x.contiguous(memory_format=memory)):
        (gradient,) = torch.autograd.grad(function(given, weight, **options).sum(), weight)
        assert gradient.stride() == weight.stride()


def test_tf32_of_convolutions_follows_the_setting_of_cudnn():
    x, weight = torch.randn(4, 64, 32, 32), torch.randn(64, 64, 3, 3)
    wanted = functional.conv2d(x.double(), weight.double())

    def error(is_allowed):
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=is_allowed):
            found = functional.conv2d(x.to("rdna"), weight.to("rdna")).cpu().double()
        return float((found - wanted).abs().max() / wanted.abs().max())

    cut, whole = error(True), error(False)
    assert whole < 2e-6
    if torch.rdna.get_device_properties().kind == "cuda":
        # 11 significant bits are left of 24.
        assert 2e-5 < cut < 2e-3
    else:
        assert cut == whole


def test_convolutions_of_other_memory_formats():
    x = values((2, 3, 7, 8)).contiguous(memory_format=torch.channels_last)
    check(functional.conv2d, x, values((4, 3, 3, 3)), tolerance=1e-4)


POOLS = [
    (functional.max_pool2d, (2, 3, 8, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (functional.max_pool2d, (3, 8, 9), {"kernel_size": (2, 3), "ceil_mode": True}),
    (functional.max_pool2d, (2, 3, 9, 9), {"kernel_size": 3, "dilation": 2, "stride": 1}),
    (functional.max_pool3d, (1, 2, 4, 6, 6), {"kernel_size": 2}),
    (functional.max_pool1d, (2, 3, 8), {"kernel_size": 2}),
    (functional.avg_pool2d, (2, 3, 8, 9), {"kernel_size": 3, "stride": 2, "padding": 1}),
    (
        functional.avg_pool2d,
        (2, 3, 8, 9),
        {"kernel_size": 3, "padding": 1, "count_include_pad": False, "ceil_mode": True},
    ),
    (functional.avg_pool2d, (3, 8, 8), {"kernel_size": 2, "divisor_override": 3}),
    (functional.avg_pool3d, (1, 2, 4, 6, 6), {"kernel_size": 2}),
    (functional.adaptive_avg_pool2d, (2, 3, 8, 9), {"output_size": (3, 4)}),
    (functional.adaptive_avg_pool2d, (2, 3, 8, 9), {"output_size": 1}),
    (functional.adaptive_max_pool2d, (2, 3, 8, 9), {"output_size": (3, 4)}),
]


@pytest.mark.parametrize(("function", "shape", "options"), POOLS)
def test_pooling_and_its_gradients(function, shape, options):
    x = torch.randperm(torch.Size(shape).numel(), generator=torch.Generator().manual_seed(5)).reshape(shape).float()
    check_gradients(function, x.requires_grad_(), **options)


@pytest.mark.parametrize(("function", "shape", "options"), [one for one in POOLS if len(one[1]) > 3])
def test_pooling_of_channels_that_are_last_in_memory(function, shape, options):
    memory = {4: torch.channels_last, 5: torch.channels_last_3d}[len(shape)]
    x = torch.randperm(torch.Size(shape).numel(), generator=torch.Generator().manual_seed(5)).reshape(shape).float()
    x = x.contiguous(memory_format=memory).requires_grad_()
    check_gradients(function, x, **options)
    # torch itself decides how volumes lie, and what a mean over all pixels hands on.
    if len(shape) == 4 and options.get("output_size") != 1:
        moved = on_rdna(x)
        result = function(moved, **options)
        (gradient,) = torch.autograd.grad(result.sum(), moved)
        assert result.is_contiguous(memory_format=memory)
        assert gradient.is_contiguous(memory_format=memory)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_and_its_gradients(name, axis):
    check_gradients(getattr(torch, name), wanting(3, 4, 5), axis)
    for dtype in FLOATS:
        check(getattr(torch, name), values((3, 4), dtype), axis)
    check(getattr(torch, name), values((3, 4), torch.float16), axis, dtype=torch.float32)


def test_norms_and_their_gradients():
    check_gradients(functional.layer_norm, wanting(3, 4, 6), (6,), wanting(6), wanting(6))
    check_gradients(functional.layer_norm, wanting(3, 4, 6), (4, 6), wanting(4, 6), None, 1e-3)
    check_gradients(functional.layer_norm, wanting(3, 4, 6), (6,))
    check_gradients(functional.group_norm, wanting(2, 6, 4, 5), 3, wanting(6), wanting(6))
    check_gradients(functional.group_norm, wanting(2, 6, 4), 2)
    check_gradients(functional.instance_norm, wanting(2, 3, 4, 5))
    for dtype in (torch.float16, torch.bfloat16):
        check(functional.layer_norm, values((3, 6), dtype), (6,), values((6,), dtype), values((6,), dtype))


@pytest.mark.parametrize("is_training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3), (4, 3, 5), (4, 3, 5, 6), (2, 3, 2, 3, 2)], ids=str)
def test_batch_norm_its_gradients_and_running_statistics(shape, is_training):
    layer = {2: nn.BatchNorm1d, 3: nn.BatchNorm1d, 4: nn.BatchNorm2d, 5: nn.BatchNorm3d}[len(shape)](3).train(
        is_training
    )
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([0.5, 1.0, 2.0]))
        layer.running_var.copy_(torch.tensor([0.5, 1.0, 2.0]))
    moved = copy.deepcopy(layer).to("rdna")
    x = wanting(*shape)
    y = on_rdna(x)
    wanted, found = layer(x), moved(y)
    compare(found, wanted, 1e-5)
    weights = torch.linspace(-1, 1, wanted.numel()).reshape(wanted.shape)
    wanted.backward(weights)
    found.backward(weights.to("rdna"))
    compare([y.grad, moved.weight.grad, moved.bias.grad], [x.grad, layer.weight.grad, layer.bias.grad], 1e-4)
    compare([moved.running_mean, moved.running_var], [layer.running_mean, layer.running_var], 1e-5)


@pytest.mark.parametrize("is_training", [True, False])
def test_batch_norm_leaves_channels_last(is_training):
    x = wanting(4, 3, 5, 6).detach().contiguous(memory_format=torch.channels_last).requires_grad_()
    mean, variance, weight, bias = values((3,)), values((3,), low=0.5, high=2), wanting(3), wanting(3)

    def normalised(x, weight, bias):
        return functional.batch_norm(x, mean.to(x.device), variance.to(x.device), weight, bias, is_training)

    check_gradients(normalised, x, weight, bias)
    moved = on_rdna(x)
    result = normalised(moved, *on_rdna((weight, bias)))
    assert result.is_contiguous(memory_format=torch.channels_last)
    (gradient,) = torch.autograd.grad(result.square().sum(), moved)
    assert gradient.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("kind", [nn.Linear, nn.Conv1d])
def test_weights_by_direction_and_length(kind, axis, dtype):
    layer = kind(5, 4, *((3,) if kind is nn.Conv1d else ()))
    axis %= layer.weight.dim()
    layer = nn.utils.parametrizations.weight_norm(layer, dim=axis).to(dtype)
    moved = copy.deepcopy(layer).to("rdna")
    compare(moved.weight, layer.weight)
    weights = torch.linspace(-1, 1, layer.weight.numel(), dtype=dtype).reshape(layer.weight.shape)
    layer.weight.backward(weights)
    moved.weight.backward(weights.to("rdna"))
    for found, wanted in zip(moved.parameters(), layer.parameters(), strict=True):
        if wanted.grad is not None:
            compare(found.grad, wanted.grad)


WINDOWS = [
    {"kernel_size": 3},
    {"kernel_size": (2, 3), "padding": (1, 0), "stride": (1, 2)},
    {"kernel_size": 2, "dilation": (2, 1), "padding": 2, "stride": 3},
]


@pytest.mark.parametrize("options", WINDOWS, ids=str)
def test_patches_as_columns_and_back(options):
    x = wanting(2, 3, 7, 8)
    check_gradients(functional.unfold, x, **options)
    check(functional.unfold, values((3, 7, 8)).transpose(1, 2), **options)
    columns = functional.unfold(x, **options).detach().requires_grad_()
    check_gradients(functional.fold, columns, output_size=(7, 8), **options)
    check(functional.fold, columns[0].detach().half(), output_size=(7, 8), **options, tolerance=2e-2)
    with pytest.raises(RuntimeError, match=r"do not fit|sliding blocks"):
        functional.unfold(on_rdna(x), kernel_size=20)
    with pytest.raises(RuntimeError, match=r"Expected .*columns|Given output_size"):
        functional.fold(on_rdna(columns), output_size=(9, 9), **options)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_and_their_gradients(reduction):
    x, classes = wanting(5, 4), torch.tensor([1, 0, 3, -100, 2])
    weight = torch.tensor([0.5, 1.0, 2.0, 1.5])
    check_gradients(functional.cross_entropy, x, classes, reduction=reduction)
    check_gradients(functional.cross_entropy, x, classes, weight, reduction=reduction)
    check_gradients(
        functional.cross_entropy, wanting(2, 4, 3, 3), torch.arange(18).reshape(2, 3, 3) % 4, reduction=reduction
    )
    check_gradients(
        functional.cross_entropy, x, torch.tensor([1, 0, 3, 1, 2]), label_smoothing=0.1, reduction=reduction
    )
    for function in (functional.mse_loss, functional.smooth_l1_loss, functional.l1_loss):
        check_gradients(function, x, values((5, 4)), reduction=reduction)
    check_gradients(
        functional.binary_cross_entropy,
        wanting(5, 4, low=0.1, high=0.9),
        values((5, 4), low=0, high=1),
        reduction=reduction,
    )
    check_gradients(functional.binary_cross_entropy_with_logits, x, values((5, 4), low=0, high=1), reduction=reduction)


def test_rows_of_tables_and_their_gradients():
    indices = torch.tensor([[1, 0, 2], [1, 1, 3]])
    check_gradients(functional.embedding, indices, wanting(4, 5))
    check_gradients(functional.embedding, indices, wanting(4, 5), padding_idx=1)
    check_gradients(functional.embedding, indices, wanting(4, 5), scale_grad_by_freq=True)


ATTENTIONS = [
    {},
    {"is_causal": True},
    {"scale": 0.3},
    {"attn_mask": torch.arange(35).reshape(5, 7) % 3 > 0},
    {"attn_mask": torch.linspace(-1, 1, 35).reshape(5, 7)},
]


@pytest.mark.parametrize("options", ATTENTIONS, ids=str)
def test_attention_and_its_gradients(options):
    keys = 5 if options.get("is_causal") else 7
    q, k, v = wanting(2, 3, 5, 8), wanting(2, 3, keys, 8), wanting(2, 3, keys, 8)
    check_gradients(functional.scaled_dot_product_attention, q, k, v, **options)


def test_attention_takes_the_kernel_of_the_device():
    name = "aten::_scaled_dot_product_fused_attention_overrideable"
    before = torch.rdna.native_report().get(name, 0)
    q = on_rdna(values((2, 3, 5, 8)))
    functional.scaled_dot_product_attention(q, q, q, is_causal=True)
    assert torch.rdna.native_report()[name] == before + 1


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers_and_their_gradients(kind):
    layer = kind(4, 6, num_layers=2, bidirectional=True, batch_first=True)
    moved = copy.deepcopy(layer).to("rdna")
    x = wanting(2, 5, 4)
    y = on_rdna(x)
    wanted, found = layer(x)[0], moved(y)[0]
    compare(found, wanted, 1e-5)
    wanted.square().sum().backward()
    found.square().sum().backward()
    compare(y.grad, x.grad, 1e-4)
    compare([one.grad for one in moved.parameters()], [one.grad for one in layer.parameters()], 1e-4)


@pytest.mark.parametrize(
    ("mode", "axes"),
    [
        ("nearest", 1),
        ("nearest", 2),
        ("nearest", 3),
        ("nearest-exact", 2),
        ("linear", 1),
        ("bilinear", 2),
        ("trilinear", 3),
        ("bicubic", 2),
    ],
)
def test_images_in_other_sizes_and_their_gradients(mode, axes):
    x = wanting(2, 3, *(4, 5, 6)[:axes])
    corners = [{}] if mode.startswith("nearest") else [{"align_corners": False}, {"align_corners": True}]
    for options in corners:
        check_gradients(functional.interpolate, x, scale_factor=2, mode=mode, **options)
        check_gradients(functional.interpolate, x, size=(7, 3, 4)[:axes], mode=mode, **options)


@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_borders_and_their_gradients(mode):
    check_gradients(functional.pad, wanting(2, 3, 6), (2, 1), mode)
    check_gradients(functional.pad, wanting(2, 3, 6, 5), (2, 1, 0, 3), mode)
    check_gradients(functional.pad, wanting(1, 2, 3, 4, 5), (2, 1, 0, 3, 1, 1), mode)


def test_places_are_drawn_by_their_chances():
    torch.rdna.manual_seed(4)
    chances = torch.tensor([0.1, 0.0, 0.6, 0.3], device="rdna")
    drawn = torch.multinomial(chances.expand(20_000, 4), 1).flatten().cpu()
    shares = torch.bincount(drawn, minlength=4) / len(drawn)
    torch.testing.assert_close(shares, torch.tensor([0.1, 0.0, 0.6, 0.3]), rtol=0, atol=0.02)
    assert sorted(torch.multinomial(chances, 3).cpu().tolist()) == [0, 2, 3]


OPTIMIZERS = [
    (torch.optim.SGD, {"lr": 0.1}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (torch.optim.Adam, {"lr": 0.01, "weight_decay": 0.01}),
    (torch.optim.AdamW, {"lr": 0.01, "amsgrad": True}),
    (torch.optim.AdamW, {"lr": 0.01, "maximize": True}),
]


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize(("kind", "options"), OPTIMIZERS, ids=str)
def test_steps_of_optimizers(kind, options, fused):
    own = [values((3, 4)).requires_grad_(), values((5,)).requires_grad_()]
    moved = [one.detach().to("rdna").requires_grad_() for one in own]
    here, there = kind(own, **options), kind(moved, **options, fused=fused)
    for step in range(3):
        for one, other in zip(own, moved, strict=True):
            one.grad = values(tuple(one.shape)) * (step + 1)
            other.grad = one.grad.to("rdna")
        here.step()
        there.step()
    compare(moved, own, 1e-5)


def test_scaled_gradients_skip_a_step_that_is_not_finite():
    x = torch.ones(3, device="rdna", requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.5)
    scaler = torch.amp.GradScaler("rdna", init_scale=8.0, growth_interval=1)
    scaler.scale((x * torch.tensor([1.0, float("inf"), 1.0], device="rdna")).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0
    compare(x.detach(), torch.ones(3))
    optimizer.zero_grad()
    scaler.scale(x.sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 8.0
    compare(x.detach(), torch.full((3,), 0.5))


def test_gradients_are_clipped():
    layer = nn.Linear(4, 3)
    moved = copy.deepcopy(layer).to("rdna")
    for one in (layer, moved):
        one(values((2, 4)).to(one.weight.device) * 10).square().sum().backward()
        nn.utils.clip_grad_norm_(one.parameters(), 0.5)
    compare([one.grad for one in moved.parameters()], [one.grad for one in layer.parameters()], 1e-5)


def test_random_numbers_have_their_distributions():
    torch.rdna.manual_seed(1)
    count = 40_000
    normal = torch.randn(count, device="rdna") * 2 + 3
    assert abs(normal.mean().item() - 3) < 0.05
    assert abs(normal.std().item() - 2) < 0.05
    uniform = torch.empty(count, device="rdna").uniform_(-1, 3)
    assert uniform.min() >= -1
    assert uniform.max() < 3
    assert abs(uniform.mean().item() - 1) < 0.05
    assert abs(torch.empty(count, device="rdna").exponential_(2).mean().item() - 0.5) < 0.02
    assert abs(torch.empty(count, device="rdna").bernoulli_(0.3).mean().item() - 0.3) < 0.02
    assert abs(torch.bernoulli(torch.full((count,), 0.7, device="rdna")).mean().item() - 0.7) < 0.02
    whole = torch.randint(-2, 5, (count,), device="rdna")
    assert set(whole.cpu().tolist()) == set(range(-2, 5))
    assert sorted(torch.randperm(100, device="rdna").cpu().tolist()) == list(range(100))


def test_generators_repeat_their_numbers():
    generator = torch.Generator("rdna").manual_seed(5)
    first = [torch.rand(7, device="rdna", generator=generator), torch.randn(3, device="rdna", generator=generator)]
    generator.manual_seed(5)
    second = [torch.rand(7, device="rdna", generator=generator), torch.randn(3, device="rdna", generator=generator)]
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert not torch.equal(torch.rand(7, device="rdna", generator=generator), first[0])


def test_dropout_scales_what_it_keeps_and_its_gradient_alike():
    torch.rdna.manual_seed(2)
    x = torch.ones(10_000, device="rdna", requires_grad=True)
    y = functional.dropout(x, 0.25)
    assert y.detach().cpu().unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert abs((y == 0).float().mean().item() - 0.25) < 0.02
    y.sum().backward()
    assert torch.equal(x.grad, y.detach())
    assert torch.equal(functional.dropout(x, 0.25, training=False), x)

"""Lists of tensors by one call: steps of optimizers, scaling of gradients, functions of elements."""

import copy
import math

import pytest
import torch
from beside_cpu import compare, on_rdna, values

SHAPES = ((5,), (3, 7), (), (1000, 9), (0,), (2, 3, 4, 5))
OPTIMIZERS = {
    "adam": (torch.optim.Adam, {"weight_decay": 0.1}),
    "adamw": (torch.optim.AdamW, {}),
    "amsgrad": (torch.optim.AdamW, {"amsgrad": True, "maximize": True}),
    "sgd": (torch.optim.SGD, {"weight_decay": 0.1}),
    "momentum": (torch.optim.SGD, {"momentum": 0.9, "dampening": 0.2, "maximize": True}),
    "nesterov": (torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
}


@pytest.fixture(autouse=True)
def nothing_runs_on_the_cpu():
    torch.rdna.set_fallback_mode("error")


def calls_of(name):
    """Calls of an operator and of its overloads."""
    report = torch.rdna.native_report()
    return sum(calls for operator, calls in report.items() if operator.split("::")[1].split(".")[0] == name)


def function_of(name):
    """The function on lists, which torch's optimizers call."""
    return getattr(torch, f"_{name}")


def lists_of(dtype, count):
    """Lists whose values are not zero, so that they divide."""
    return [[values(shape, dtype, low=0.5 + place, high=3) for shape in SHAPES] for place in range(count)]


def check_list(name, tensors, *arguments, **options):
    """The function and its form that works in place give what torch's CPU gives, by kernels of their own."""
    for place in ("", "_"):
        operator, function = f"_foreach_{name}{place}", function_of(f"foreach_{name}{place}")
        ours, theirs = on_rdna(tensors), copy.deepcopy(tensors)
        before = calls_of(operator)
        found, wanted = function(*ours, *arguments, **options), function(*theirs, *arguments, **options)
        assert calls_of(operator) == before + 1
        compare(ours[0] if found is None else list(found), theirs[0] if wanted is None else list(wanted))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_lists_and_numbers(dtype):
    lists = lists_of(dtype, 3)
    each = [float(place) + 1 for place in range(len(SHAPES))]
    for name in ("add", "sub", "mul", "div"):
        check_list(name, lists[:1], 1.5)
        check_list(name, lists[:2])
        if name != "sub":
            check_list(name, lists[:1], each)
    check_list("add", lists[:2], alpha=0.5)
    check_list("sub", lists[:2], alpha=2)
    for name in ("maximum", "minimum"):
        check_list(name, lists[:2])
    for weight in (0.1, 0.9):
        check_list("lerp", lists[:2], weight)
    for name in ("addcmul", "addcdiv"):
        check_list(name, lists, 0.3)
        check_list(name, lists, each)
    for name in ("sqrt", "neg", "abs", "reciprocal", "exp", "sign"):
        check_list(name, lists[:1])
    for name, wanted in (("clamp_max_", torch.clamp_max), ("clamp_min_", torch.clamp_min)):
        clamped = on_rdna(lists[0])
        function_of(f"foreach_{name}")(clamped, 1.25)
        compare(clamped, [wanted(one, 1.25) for one in lists[0]])
    zeroed = on_rdna(lists[0])
    function_of("foreach_zero_")(zeroed)
    assert not any(one.any() for one in zeroed)


def test_lists_that_do_not_go_together_are_made_of_single_operators(device):
    mixed = [torch.ones(3, device=device), torch.ones(2, device=device, dtype=torch.int32)]
    assert [one.tolist() for one in function_of("foreach_add")(mixed, 1)] == [[2, 2, 2], [2, 2]]
    whole = torch.ones(2, 6, device=device)
    function_of("foreach_mul_")([whole[:, ::2]], 2.0)
    assert whole.tolist() == [[2, 1, 2, 1, 2, 1]] * 2
    channels_last = values((2, 3, 4, 5)).to(memory_format=torch.channels_last)
    moved = on_rdna(channels_last)
    function_of("foreach_add_")([moved], [moved.contiguous()])
    compare(moved, channels_last * 2)
    with pytest.raises(RuntimeError, match="same number of tensors"):
        function_of("foreach_add_")([whole], [whole, whole])


def steps_of(name, options, place, dtype=torch.float32):
    """Parameters after three steps, and the states of the optimizer."""
    optimizer, more = OPTIMIZERS[name]
    parameters = [values(shape, dtype).to(place).requires_grad_() for shape in SHAPES]
    steps = optimizer(parameters, lr=0.1, **more, **options)
    for step in range(3):
        for parameter in parameters:
            parameter.grad = torch.cos(parameter.detach() * (step + 1))
        steps.step()
    return parameters, [steps.state[one] for one in parameters]


@pytest.mark.parametrize("options", [{"fused": True}, {"foreach": True}, {"foreach": False}, {}], ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_are_those_of_the_cpu(name, options, device):
    fused = sum(calls_of(f"_fused_{kind}_") for kind in ("adam", "adamw", "sgd"))
    found, states = steps_of(name, options, device)
    exact, wanted_states = steps_of(name, {"foreach": False}, "cpu", torch.float64)
    for ours, theirs in zip(found, exact, strict=True):
        torch.testing.assert_close(ours.detach().cpu().double(), theirs.detach(), rtol=1e-5, atol=1e-5)
    for ours, theirs in zip(states, wanted_states, strict=True):
        for key, value in theirs.items():
            if value is not None:
                found_value = torch.as_tensor(ours[key]).cpu().double()
                torch.testing.assert_close(found_value, torch.as_tensor(value).double(), rtol=1e-5, atol=1e-5)
    used = sum(calls_of(f"_fused_{kind}_") for kind in ("adam", "adamw", "sgd")) - fused
    assert used == (3 if options.get("fused") else 0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16], ids=str)
def test_fused_steps_of_other_dtypes(dtype, device):
    found, _ = steps_of("adamw", {"fused": True}, device, dtype)
    wanted, _ = steps_of("adamw", {"fused": True}, "cpu", dtype)
    compare(found, [one.detach() for one in wanted])


@pytest.mark.parametrize("fused", [True, False])
def test_scaled_gradients_that_are_not_finite_stop_a_step(fused, device):
    parameters = [torch.ones(3, device=device, requires_grad=True), torch.ones(2, 2, device=device, requires_grad=True)]
    optimizer = torch.optim.AdamW(parameters, lr=0.1, fused=fused)
    scaler = torch.amp.GradScaler("rdna", init_scale=4.0)

    def step(last):
        optimizer.zero_grad()
        for parameter, value in zip(parameters, (1.0, last), strict=True):
            scaler.scale((parameter * torch.tensor(value, device=device)).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        return [parameter.detach().flatten()[0].item() for parameter in parameters]

    assert step(math.inf) == [1.0, 1.0]
    assert scaler.get_scale() == 2.0
    moved = step(1.0)
    assert moved == pytest.approx([1 - 0.1 * 0.01 - 0.1] * 2, abs=1e-6)


def test_gradients_are_unscaled_and_looked_through(device):
    gradients = [values((40,)).to(device), torch.tensor([[1.0, math.nan]], device=device)]
    exact = gradients[0].cpu() * 0.25
    unscale = function_of("amp_foreach_non_finite_check_and_unscale_")
    found, inverse = torch.zeros(1, device=device), torch.full((1,), 0.25, device=device)
    unscale(gradients[:1], found, inverse)
    assert found.item() == 0
    compare(gradients[0], exact)
    unscale(gradients, found, inverse)
    assert found.item() == 1
    assert gradients[1][0, 0].item() == 0.25


def test_norms_of_layers_take_the_statistics_that_they_are_given(device):
    x, slope = values((2, 3, 5)), values((2, 3, 5), low=-1, high=1)
    weight, bias = values((5,)), values((5,), low=-1, high=1)
    y, mean, inverse = torch.native_layer_norm(x, (5,), weight, bias, 1e-5)
    ours = torch.native_layer_norm(*on_rdna([x, (5,), weight, bias, 1e-5]))
    compare(list(ours), [y, mean, inverse])
    backward = torch.ops.aten.native_layer_norm_backward
    for mask in ([True, True, True], [False, True, False], [True, False, True]):
        arguments = [slope, x, (5,), mean + 0.5, inverse * 2, weight, bias, mask]
        found, wanted = backward(*on_rdna(arguments)), backward(*arguments)
        for one, other, is_there in zip(found, wanted, mask, strict=True):
            if is_there:
                compare(one, other, 1e-4)
            else:
                assert one is None
    many = values((300, 70), low=-1, high=1)
    ours = on_rdna(many).requires_grad_()
    moved = torch.nn.LayerNorm(70).to(device)
    exact = torch.nn.LayerNorm(70).double()
    theirs = many.double().requires_grad_()
    (moved(ours) * ours).sum().backward()
    (exact(theirs) * theirs).sum().backward()
    for one, other in ((ours, theirs), (moved.weight, exact.weight), (moved.bias, exact.bias)):
        torch.testing.assert_close(one.grad.cpu().double(), other.grad, rtol=1e-4, atol=1e-4)

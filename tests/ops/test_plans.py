"""Calls on arrays of a device that repeat launch what the first of their kind launched; run on the CPU device and on `null:` devices."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import device_matmul_cases as products
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import _native, dispatch, errors
from amdgpu.device import default_device
from amdgpu.device_ops import placed
from amdgpu.gpu_kernels import host

_numbers = itertools.count()


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(autouse=True)
def quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are no archives for these devices, which would be said."""
    monkeypatch.setattr(_native, "record_fallback", lambda operation, reason: None)


def flat(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x for one in arguments for x in (one if isinstance(one, tuple) else (one,)))


def arrays_of(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(x for x in flat(arguments) if isinstance(x, amdgpu.Array))


def bits(result: Any) -> list[tuple[Any, ...]]:
    several = result if isinstance(result, tuple) else (result,)
    return [(x.shape, str(x.dtype), x.numpy().tobytes()) for x in several]


def repeats(cpu: Any, wanted: Iterator[cases.Case], function: Callable[..., Any] | None = None) -> tuple[int, int]:
    """How many calls there were, and how many of them left a plan that gives the bits of the long way for other values."""
    calls = kept = 0
    for case in wanted:
        compute = functools.partial(function or getattr(placed, case.operation), device=cpu, **case.options)
        first = case.moved(lambda x: amdgpu.array(x, device=cpu))
        other = case.moved(lambda x: amdgpu.array(np.flip(x), device=cpu))
        options = (case.operation, next(_numbers))
        result = _native.keep_plan(options, arrays_of(first), functools.partial(compute, *first))
        assert bits(result) == bits(compute(*first))
        again = _native.run_plan(options, arrays_of(other))
        calls += 1
        if again is not None:
            kept += 1
            assert bits(again) == bits(compute(*other)), case.label
            # What the first call gave is its caller's.
            assert bits(result) == bits(compute(*first))
    return calls, kept


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        (lambda: cases.elementwise((cases.FLOATS[2],)), 0.8),
        (lambda: cases.reductions((cases.FLOATS[0],)), 0.6),
        (lambda: cases.normalizations((cases.FLOATS[0],)), 0.6),
        (lambda: cases.normalization_gradients((cases.FLOATS[0],)), 0.6),
        (cases.searches_and_moves, 0.3),
        (lambda: cases.images((cases.FLOATS[0],)), 0.6),
    ],
    ids=["elementwise", "reductions", "normalizations", "gradients", "searches and moves", "images"],
)
def test_plans_repeat_calls_with_other_values(
    cpu: Any, wanted: Callable[[], Iterator[cases.Case]], least: float
) -> None:
    calls, kept = repeats(cpu, wanted())
    assert kept >= least * calls > 0


@pytest.mark.parametrize("precision", ["fp32", "bf16", "int8"])
def test_plans_repeat_products(cpu: Any, precision: str) -> None:
    def calls() -> Iterator[cases.Case]:
        for operands, options in products.calls(precision):
            given = [name for name, value in options.items() if isinstance(value, np.ndarray)]
            rest = {name: value for name, value in options.items() if name not in given}
            names = tuple(given)
            yield cases.Case(
                "matrix_multiply", (*operands, *(options[name] for name in names)), {"names": names, "rest": rest}
            )

    def multiply(a: Any, b: Any, *more: Any, names: tuple[str, ...], rest: dict[str, Any], device: Any) -> Any:
        return host.multiply(a, b, device=device, precision=precision, **dict(zip(names, more, strict=True)), **rest)

    count, kept = repeats(cpu, calls(), multiply)
    assert kept >= 0.6 * count > 0


def keep(cpu: Any, options: tuple[Any, ...], *inputs: Any, out: Any = None) -> Any:
    compute = functools.partial(placed.elementwise, "subtract", inputs, out, device=cpu)
    return _native.keep_plan(options, (*inputs, out), compute)


def vector(cpu: Any, *values: float) -> Any:
    return amdgpu.array(np.array(values, "float32"), device=cpu)


def test_one_array_twice_is_another_call_than_two_arrays(cpu: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    keep(cpu, ("twice",), a, a)
    assert _native.run_plan(("twice",), (a, b, None)) is None
    assert _native.run_plan(("twice",), (b, b, None)).numpy().tolist() == [0, 0]
    keep(cpu, ("twice",), a, b)
    assert _native.run_plan(("twice",), (b, a, None)).numpy().tolist() == [4, 7]


def test_results_are_written_to_out_which_may_be_an_input_and_overlaps_none(cpu: Any) -> None:
    a, b, out = vector(cpu, 1, 2, 3, 4), vector(cpu, 5, 9, 5, 9), vector(cpu, 0, 0, 0, 0)
    keep(cpu, ("out",), a, b, out=out)
    assert _native.run_plan(("out",), (b, a, out)) is out
    assert out.numpy().tolist() == [4, 7, 2, 5]
    assert _native.run_plan(("out",), (a, b, a)) is None
    keep(cpu, ("out",), a, b, out=a)
    assert a.numpy().tolist() == [-4, -7, -2, -5]
    assert _native.run_plan(("out",), (b, out, b)) is b
    assert b.numpy().tolist() == [1, 2, 3, 4]
    turned = b.reshape(2, 2)
    assert _native.run_plan(("out",), (a, b, turned)) is None


@pytest.mark.parametrize(
    ("one", "other"), [(0.0, -0.0), (1, True), (1, 1.0), ("a", "b"), ((1, 2), (1, (2,))), (None, 0), ((), None)]
)
def test_options_that_differ_at_all_are_other_calls(cpu: Any, one: Any, other: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    number = next(_numbers)
    keep(cpu, (number, one), a, b)
    assert _native.run_plan((number, other), (a, b, None)) is None
    assert _native.run_plan((number, one), (a, b, None)).numpy().tolist() == [-4, -7]


def test_layouts_that_differ_are_other_calls(cpu: Any) -> None:
    base = amdgpu.array(np.arange(12, dtype="float32"), device=cpu)
    keep(cpu, ("layout",), base, base)
    for other in (base.reshape(3, 4), vector(cpu, 1, 2), amdgpu.array(np.arange(12, dtype="int32"), device=cpu)):
        assert _native.run_plan(("layout",), (other, other, None)) is None


def test_arrays_that_are_freed_empty_foreign_or_of_the_host_have_no_plan(cpu: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    keep(cpu, ("kinds",), a, b)
    c = vector(cpu, 3, 3)
    c.free()
    empty = amdgpu.empty(0, device=cpu)
    foreign = amdgpu.from_dlpack(np.ones(2, np.float32))
    for other in (c, empty, foreign, np.ones(2, np.float32), np.float32(3), object()):
        assert _native.run_plan(("kinds",), (a, other, None)) is None
    assert _native.run_plan(("kinds",), ()) is None
    with amdgpu.initialize_device("cpu:0") as opened:
        # An array of another opening of the device is one of the device: they share memory and order.
        d = amdgpu.array(np.ones(2, np.float32), device=opened)
        assert _native.run_plan(("kinds",), (a, d, None)).numpy().tolist() == [0, 1]
    # The last who closes the device forgets what was kept for it.
    assert _native.run_plan(("kinds",), (d, b, None)) is None


@pytest.mark.parametrize("meddle", ["numpy", "ptr", "wait", "copy", "launch", "leave"])
def test_calls_that_look_at_memory_or_launch_elsewhere_leave_no_plan(cpu: Any, meddle: str) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    kernel = cpu.compile_kernel("__global__ void nothing() {}")
    ways: dict[str, Callable[[], Any]] = {
        "numpy": a.numpy,
        "ptr": lambda: a.ptr,
        "wait": a.wait,
        "copy": lambda: b.copy_from(np.zeros(2, np.float32)),
        "launch": functools.partial(kernel.launch, 1, 1, []),
        "leave": _native.leave_plan,
    }

    def compute() -> Any:
        ways[meddle]()
        return placed.elementwise("subtract", (a, b), device=cpu)

    number = next(_numbers)
    _native.keep_plan((number,), (a, b, None), compute)
    assert _native.run_plan((number,), (a, b, None)) is None


def test_memory_that_is_neither_given_nor_made_meanwhile_leaves_no_plan(cpu: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    compute = functools.partial(placed.elementwise, "subtract", (a, b), device=cpu)
    number = next(_numbers)
    _native.keep_plan((number,), (a, None), compute)
    assert _native.run_plan((number,), (a, None)) is None
    _native.keep_plan((number,), (a, b), lambda: (compute(), b, "text"))
    assert _native.run_plan((number,), (a, b)) is None
    _native.keep_plan((number,), (a, b), lambda: (compute(), b))
    result, same = _native.run_plan((number,), (a, b))
    assert same is b
    assert result.numpy().tolist() == [-4, -7]


def test_a_call_that_fails_leaves_no_plan_and_the_next_one_does(cpu: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)

    def fail() -> Any:
        placed.elementwise("subtract", (a, b), device=cpu)
        raise ValueError("after the launch")

    number = next(_numbers)
    with pytest.raises(ValueError, match="after the launch"):
        _native.keep_plan((number,), (a, b), fail)
    assert _native.run_plan((number,), (a, b)) is None
    keep(cpu, (number,), a, b)
    assert _native.run_plan((number,), (a, b, None)) is not None


def test_plans_are_outdated_when_the_table_of_implementations_changes(cpu: Any) -> None:
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)
    keep(cpu, ("table",), a, b)
    entry = dispatch.Implementation("nothing", "matrix", "cpu", "python", "mine", "amdgpu.errors:AmdgpuError")
    dispatch.register(entry)
    assert _native.run_plan(("table",), (a, b, None)) is None
    keep(cpu, ("table",), a, b)
    dispatch.unregister(entry)
    assert _native.run_plan(("table",), (a, b, None)) is None


def test_derived_arrays_are_made_once_for_each_combination_of_addresses(cpu: Any) -> None:
    made: list[tuple[int, ...]] = []

    def describe(*addresses: int) -> Any:
        made.append(addresses)
        return vector(cpu, 100 * len(made), 0)

    derivation = _native.Derivation(describe)
    a, b = vector(cpu, 1, 2), vector(cpu, 5, 9)

    def compute() -> Any:
        sums = placed.elementwise("add", (a, b), device=cpu)
        return placed.elementwise("add", (sums, derivation(a, b)), device=cpu)

    number = next(_numbers)
    assert _native.keep_plan((number,), (a, b), compute).numpy().tolist() == [106, 11]
    assert _native.run_plan((number,), (a, b)).numpy().tolist() == [106, 11]
    assert _native.run_plan((number,), (b, a)).numpy().tolist() == [206, 11]
    assert _native.run_plan((number,), (a, b)).numpy().tolist() == [106, 11]
    assert made == [(a.kernel_address, b.kernel_address), (b.kernel_address, a.kernel_address)]


def launches(name: str) -> int:
    return sum(
        int(float(line.rsplit(" ", 1)[1]))
        for line in _native.telemetry_prometheus(is_open_metrics=False).splitlines()
        if line.startswith("amdgpu_kernel_launches_total{") and f'"{name}"' in line
    )


@pytest.fixture
def null() -> Any:
    """A device whose launches do nothing, as functions of the package open it."""
    device = default_device("null:gfx1100")
    _native.forget_plans()
    return device


def test_operations_on_arrays_of_a_device_keep_plans_that_launch_as_often(
    null: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, row = amdgpu.empty((64, 256), device=null), amdgpu.empty(256, device=null)
    image = amdgpu.empty((2, 8, 16, 16), device=null)
    weight, bias = amdgpu.empty((12, 8, 3, 3), device=null), amdgpu.empty(12, device=null)
    gradient = amdgpu.empty((2, 12, 14, 14), device=null)
    ops = amdgpu.ops
    calls: list[Callable[[], Any]] = [
        lambda: ops.add(x, x),
        lambda: ops.add(x, row),
        lambda: ops.multiply(x, 2.0),
        lambda: ops.leaky_relu(x, alpha=0.2),
        lambda: ops.add(x, x, out=x),
        lambda: ops.sum(x, 0),
        lambda: ops.var(x, [1], keepdims=True),
        lambda: ops.argmax(x),
        lambda: ops.softmax(x),
        lambda: ops.layer_norm(x, 256, row, row),
        lambda: ops.transpose(x),
        lambda: ops.cumsum(x),
        lambda: ops.max_pool2d(image, 2),
        lambda: ops.conv2d(image, weight),
        lambda: ops.conv2d(image, weight, bias, padding=1),
        lambda: ops.conv2d(image, weight, out=gradient, precision="tf32"),
        lambda: ops.conv2d_input_gradient(gradient, weight, image.shape),
        lambda: ops.conv2d_weight_gradient(image, gradient, weight.shape),
    ]
    expected = []
    for call in calls:
        before = launches("null:gfx1100")
        result = call()
        expected.append((result.shape, str(result.dtype), launches("null:gfx1100") - before))
    monkeypatch.setattr(_native, "keep_plan", lambda *given: pytest.fail("the long way"))
    for call, wanted in zip(calls, expected, strict=True):
        before = launches("null:gfx1100")
        result = call()
        assert (result.shape, str(result.dtype), launches("null:gfx1100") - before) == wanted
        assert wanted[2] > 0


def test_errors_are_the_same_however_often_a_call_is_made(null: Any) -> None:
    x = amdgpu.empty((4, 4), device=null)
    amdgpu.ops.sum(x, 1)
    for _ in range(2):
        with pytest.raises(errors.InvalidArgumentError, match="axis 2"):
            amdgpu.ops.sum(x, 2)
        with pytest.raises(errors.InvalidTypeError, match="axis"):
            amdgpu.ops.sum(x, "1")  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidArgumentError, match="overlaps"):
            amdgpu.ops.transpose(x, out=x)

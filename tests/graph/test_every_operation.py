"""Whatever of `amdgpu.ops` a traced function calls: its graph computes it for other values too, or the call is refused."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops

# Values between 0.3 and 0.9 are in the domain of nearly every function.
INDICES = np.array([[0, 1, 2, 3], [3, 2, 1, 0], [1, 1, 2, 2], [0, 3, 0, 3]])
# Ways to call a function with an array of shape (4, 4) and what follows from it.
WAYS: tuple[Callable[[Any, Any, Any], Any], ...] = (
    lambda f, x, _: f(x),
    lambda f, x, _: f(x, x * 1.5),
    lambda f, x, _: f(x > 0.5, x, x * 2.0),
    lambda f, x, _: f(x, 0),
    lambda f, x, _: f(x, 2),
    lambda f, x, i: f(x, i),
    lambda f, x, i: f(i, x),
    lambda f, x, i: f(x, i, axis=0),
    lambda f, x, _: f(x.reshape(1, 1, 4, 4), 2),
    lambda f, x, _: f(x.reshape(1, 1, 16), 2),
    lambda f, x, _: f(x.reshape(1, 1, 2, 2, 4), 2),
    lambda f, x, _: f(x.reshape(1, 1, 4, 4), x[:2, :2].reshape(1, 1, 2, 2)),
    lambda f, x, _: f(x.reshape(1, 1, 16), x[:1, :3].reshape(1, 1, 3)),
    lambda f, x, _: f(x.reshape(1, 1, 2, 2, 4), x[:2, :2].reshape(1, 1, 1, 2, 2)),
    lambda f, x, _: f(x, x[0], x[1]),
    lambda f, x, _: f(x, 4, x[0], x[1]),
    lambda f, x, _: f([x, x * 2.0]),
    lambda f, x, _: f((x * 8.0).astype("int32")),
    lambda f, x, i: f((x * 8.0).astype("int32"), i.astype("int32")),
    lambda f, x, _: f("ij,jk->ik", x, x),
    lambda f, x, _: f(*[x.reshape(1, 4, 4)] * 3),
    lambda f, x, _: f(x, x, x),
    lambda f, x, _: f(x > 0.5),
    lambda f, x, _: f(x, x > 0.5),
    lambda f, x, _: f(x[0], x[1]),
    lambda f, x, _: f(x[0]),
    lambda f, x, _: f(x, (2, 8)),
    lambda f, x, _: f(x, (1, 0)),
    lambda f, x, _: f(x, 0, 1),
)
# Their values are not set.
UNDEFINED = {"empty", "empty_like"}
# Shapes that depend on values, draws that a graph would repeat, and values that the function itself looks at.
REFUSED = {"argwhere", "dropout", "masked_select", "nonzero"}
NAMES = sorted(name for name in ops.__all__ if name not in UNDEFINED and callable(getattr(ops, name)))


def drawn(seed: int) -> amdgpu.Array:
    values = np.random.default_rng(seed).uniform(0.3, 0.9, (4, 4))
    return amdgpu.array(values.astype(np.float32), device="cpu:0")


def arrays_in(value: Any) -> list[amdgpu.Array]:
    if isinstance(value, (tuple, list)):
        return [array for one in value for array in arrays_in(one)]
    return [value] if isinstance(value, amdgpu.Array) else []


def outcome(call: Callable[[Any], Any], x: amdgpu.Array) -> list[amdgpu.Array]:
    """The arrays that a call gives; none where it takes no such arguments."""
    try:
        return arrays_in(call(x))
    except (errors.AmdgpuError, TypeError, ValueError, IndexError, AttributeError):
        return []


@pytest.mark.parametrize("name", NAMES)
def test_operation(name: str) -> None:
    function = getattr(ops, name)
    indices = amdgpu.array(INDICES, device="cpu:0")
    before, x = drawn(1), drawn(2)
    for way in WAYS:
        call = functools.partial(lambda way, x: way(function, x, indices), way)
        expected = outcome(call, x)
        if not expected or not outcome(call, before):
            continue
        traced = amdgpu.jit(lambda x, call=call: arrays_in(call(x)))
        try:
            traced(before)
        except errors.NotCapturableError:
            continue
        made = traced(x)
        assert [array.shape for array in made] == [array.shape for array in expected]
        for got, wanted in zip(made, expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-6, atol=1e-6)


def outcomes(name: str) -> tuple[bool, bool]:
    """Whether a graph holds one of the ways to call a function, and whether one is refused."""
    function, x = getattr(ops, name), drawn(2)
    indices = amdgpu.array(INDICES, device="cpu:0")
    is_held, is_refused = False, False
    for way in WAYS:
        call = functools.partial(lambda way, x: way(function, x, indices), way)
        if not outcome(call, x):
            continue
        try:
            amdgpu.jit(lambda x, call=call: arrays_in(call(x)))(x)
            is_held = True
        except errors.NotCapturableError:
            is_refused = True
    return is_held, is_refused


def test_most_operations_are_called() -> None:
    """The ways above reach them; without that the test would pass whatever happens."""
    found = {name: outcomes(name) for name in NAMES}
    held = {name for name, (is_held, _) in found.items() if is_held}
    assert {name for name, (is_held, is_refused) in found.items() if is_refused and not is_held} == REFUSED
    assert {
        "add",
        "where",
        "sum",
        "softmax",
        "layer_norm",
        "matrix_multiply",
        "conv2d",
        "max_pool2d",
        "max_pool2d_with_indices",
        "embedding",
        "sort",
        "top_k",
        "scaled_dot_product_attention",
        "softmax_gradient",
    } <= held
    assert len(held) > 150

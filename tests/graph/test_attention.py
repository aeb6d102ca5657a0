"""Products and softmax that are one attention in graphs."""

from __future__ import annotations

from collections.abc import Callable

import amdgpu
import numpy as np
import pytest
from amdgpu import ops

ATTENTION = "scaled_dot_product_attention"
BOUNDS = {"float16": 4e-3, "float32": 2e-6, "float64": 1e-14}


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")


def of_formula(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, mask: np.ndarray | None = None) -> np.ndarray:
    scores = q.astype(np.float64) @ np.swapaxes(k.astype(np.float64), -1, -2) * scale
    if mask is not None:
        scores = scores + mask
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ v.astype(np.float64)


def operations(traced: Callable[..., amdgpu.Array], *arguments: amdgpu.Array) -> list[str]:
    return [node["operation"] for node in traced.graph(*arguments).nodes]


Form = Callable[[amdgpu.Array, amdgpu.Array, amdgpu.Array], amdgpu.Array]
FORMS: dict[str, Form] = {
    "scale after": lambda q, k, v: ops.softmax((q @ k.swapaxes(-1, -2)) * 0.25) @ v,
    "scale before": lambda q, k, v: ops.softmax((q * 0.25) @ k.swapaxes(-1, -2)) @ v,
    "scale of keys": lambda q, k, v: ops.softmax(q @ (k * 0.25).swapaxes(-1, -2)) @ v,
    "divided": lambda q, k, v: ops.softmax(q @ k.swapaxes(-1, -2) / 4.0) @ v,
    "two scales": lambda q, k, v: ops.softmax((q * 0.5) @ k.swapaxes(-1, -2) * 0.5) @ v,
    "axis": lambda q, k, v: ops.softmax(q @ k.swapaxes(-1, -2) * 0.25, axis=q.ndim - 1) @ v,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(40, 16), (2, 3, 40, 16)])
def test_forms(form: str, shape: tuple[int, ...]) -> None:
    traced = amdgpu.jit(FORMS[form])
    q, k, v = (numbers(*shape, seed=seed) for seed in range(3))
    assert ATTENTION in operations(traced, q, k, v)
    assert "one attention" in traced.explain(q, k, v)
    expected = of_formula(q.numpy(), k.numpy(), v.numpy(), 0.25)
    np.testing.assert_allclose(traced(q, k, v).numpy(), expected, rtol=1e-5, atol=BOUNDS["float32"])


@pytest.mark.parametrize("dtype", list(BOUNDS))
def test_dtypes_and_a_mask(dtype: str) -> None:
    traced = amdgpu.jit(lambda q, k, v, mask: ops.softmax(q @ k.swapaxes(-1, -2) * 0.25 + mask) @ v)
    q, v = numbers(2, 33, 16, dtype=dtype), numbers(2, 50, 7, seed=2, dtype=dtype)
    k, mask = numbers(2, 50, 16, seed=1, dtype=dtype), numbers(33, 50, seed=3, dtype=dtype)
    assert ATTENTION in operations(traced, q, k, v, mask)
    expected = of_formula(q.numpy(), k.numpy(), v.numpy(), 0.25, mask.numpy().astype(np.float64))
    np.testing.assert_allclose(traced(q, k, v, mask).numpy(), expected, rtol=BOUNDS[dtype], atol=BOUNDS[dtype])


def test_masks_before_the_scores_and_of_truth_values() -> None:
    q, k, v = (numbers(2, 24, 16, seed=seed) for seed in range(3))
    causal = amdgpu.array(np.tril(np.ones((24, 24), bool)), device="cpu:0")
    added = amdgpu.array(np.where(causal.numpy(), 0, -np.inf).astype(np.float32), device="cpu:0")
    first = amdgpu.jit(lambda q, k, v: ops.softmax(added + q @ k.swapaxes(-1, -2) * 0.25) @ v)
    chosen = amdgpu.jit(lambda q, k, v: ops.softmax(amdgpu.where(causal, q @ k.swapaxes(-1, -2) * 0.25, -np.inf)) @ v)
    expected = of_formula(q.numpy(), k.numpy(), v.numpy(), 0.25, added.numpy().astype(np.float64))
    for traced in (first, chosen):
        assert ATTENTION in operations(traced, q, k, v)
        assert "a query whose mask is -inf for every key gets zeros" in traced.explain(q, k, v)
        np.testing.assert_allclose(traced(q, k, v).numpy(), expected, rtol=1e-5, atol=BOUNDS["float32"])


def test_inside_a_layer() -> None:
    weights = [numbers(32, 32, seed=seed) * 0.2 for seed in range(4)]

    def layer(x: amdgpu.Array) -> amdgpu.Array:
        heads = [(x @ weight).reshape(2, 20, 4, 8).transpose(0, 2, 1, 3) for weight in weights[:3]]
        q, k, v = heads
        mixed = ops.softmax(q @ k.swapaxes(-1, -2) / 8**0.5) @ v
        return x + mixed.transpose(0, 2, 1, 3).reshape(2, 20, 32) @ weights[3]

    traced, x = amdgpu.jit(layer), numbers(2, 20, 32, seed=9)
    assert ATTENTION in operations(traced, x)
    np.testing.assert_allclose(traced(x).numpy(), layer(x).numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda q, k, v: ops.softmax((q @ k.T + 1.0) * 0.5) @ v, "more than a factor and a mask"),
        (lambda q, k, v: ops.softmax(amdgpu.tanh(q @ k.T)) @ v, "more than a factor and a mask"),
        (lambda q, k, v: ops.softmax((q @ k.T + q @ q.T) * 0.5) @ v, "the factor follows the mask"),
        (lambda q, k, v: ops.softmax(q @ k.T) @ (v @ v.T)[:, :3], None),
    ],
)
def test_reasons(function: Form, reason: str | None) -> None:
    q, k, v = (numbers(20, 16, seed=seed) for seed in range(3))
    traced = amdgpu.jit(function)
    np.testing.assert_allclose(traced(q, k, v).numpy(), function(q, k, v).numpy(), rtol=1e-5, atol=1e-5)
    if reason is None:
        assert ATTENTION in operations(traced, q, k, v)
    else:
        assert ATTENTION not in operations(traced, q, k, v)
        assert reason in traced.explain(q, k, v)


def test_shares_that_are_a_result_stay() -> None:
    def function(q: amdgpu.Array, k: amdgpu.Array, v: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        shares = ops.softmax(q @ k.T * 0.25)
        return shares, shares @ v

    traced = amdgpu.jit(function)
    q, k, v = (numbers(20, 16, seed=seed) for seed in range(3))
    assert "the shares are read elsewhere, too" in traced.explain(q, k, v)
    for got, wanted in zip(traced(q, k, v), function(q, k, v), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_batches_that_broadcast_stay() -> None:
    traced = amdgpu.jit(FORMS["scale after"])
    q, k, v = numbers(3, 20, 16), numbers(1, 20, 16, seed=1), numbers(3, 20, 16, seed=2)
    assert ATTENTION not in operations(traced, q, k, v)
    assert "broadcast" in traced.explain(q, k, v)
    expected = FORMS["scale after"](q, k, v).numpy()
    np.testing.assert_allclose(traced(q, k, v).numpy(), expected, rtol=1e-5, atol=1e-6)


def test_without_optimisation_everything_stays() -> None:
    traced = amdgpu.jit(FORMS["scale after"], optimize=False)
    arguments = [numbers(20, 16, seed=seed) for seed in range(3)]
    assert ATTENTION not in operations(traced, *arguments)
    np.testing.assert_array_equal(traced(*arguments).numpy(), FORMS["scale after"](*arguments).numpy())

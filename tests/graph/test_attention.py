"""Products and softmax that are one attention in graphs."""

from __future__ import annotations

from collections.abc import Callable

import amdgpu
import numpy as np
import pytest
from amdgpu import ops

ATTENTION = "scaled_dot_product_attention"
# Of results near 1: some roundings of the dtype.
BOUNDS = {"float16": 4e-3, "float32": 4e-6}


def numbers(*shape: int, seed: int = 0, dtype: str = "float16") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")


def of_formula(q: np.ndarray, k: np.ndarray, v: np.ndarray, scale: float, mask: np.ndarray | None = None) -> np.ndarray:
    scores = q.astype(np.float64) @ np.swapaxes(k.astype(np.float64), -1, -2) * scale
    if mask is not None:
        scores = scores + mask
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return shares / shares.sum(-1, keepdims=True) @ v.astype(np.float64)


def close(got: amdgpu.Array, wanted: np.ndarray) -> None:
    bound = BOUNDS[got.dtype.name]
    np.testing.assert_allclose(got.numpy(), wanted, rtol=bound, atol=bound)


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
    close(traced(q, k, v), of_formula(q.numpy(), k.numpy(), v.numpy(), 0.25))


def test_transposed_by_an_operation() -> None:
    traced = amdgpu.jit(lambda q, k, v: ops.softmax(q @ ops.transpose(k) * 0.25) @ v)
    q, k, v = (numbers(40, 16, seed=seed) for seed in range(3))
    assert operations(traced, q, k, v) == ["input", "input", "input", ATTENTION]
    close(traced(q, k, v), of_formula(q.numpy(), k.numpy(), v.numpy(), 0.25))


@pytest.mark.parametrize(("dtype", "batch", "length"), [("float16", 2, 50), ("float32", 8, 512)])
def test_masks(dtype: str, batch: int, length: int) -> None:
    q, k, v = (numbers(batch, length, 16, seed=seed, dtype=dtype) for seed in range(3))
    given = numbers(length, length, seed=3, dtype=dtype)
    seen = amdgpu.array(np.tril(np.ones((length, length), bool)), device="cpu:0")
    causal = amdgpu.array(np.where(seen.numpy(), 0, -np.inf).astype(dtype), device="cpu:0")
    traced = amdgpu.jit(lambda q, k, v, mask: ops.softmax(q @ k.swapaxes(-1, -2) * 0.25 + mask) @ v)
    first = amdgpu.jit(lambda q, k, v: ops.softmax(causal + q @ k.swapaxes(-1, -2) * 0.25) @ v)
    chosen = amdgpu.jit(lambda q, k, v: ops.softmax(amdgpu.where(seen, q @ k.swapaxes(-1, -2) * 0.25, -np.inf)) @ v)
    values = [one.numpy() for one in (q, k, v)]
    assert ATTENTION in operations(traced, q, k, v, given)
    close(traced(q, k, v, given), of_formula(*values, 0.25, given.numpy().astype(np.float64)))
    for function in (first, chosen):
        assert ATTENTION in operations(function, q, k, v)
        assert "a query whose mask is -inf for every key gets zeros" in function.explain(q, k, v)
        close(function(q, k, v), of_formula(*values, 0.25, causal.numpy().astype(np.float64)))


def test_inside_a_layer() -> None:
    weights = [numbers(32, 32, seed=seed) * 0.2 for seed in range(4)]

    def layer(x: amdgpu.Array) -> amdgpu.Array:
        heads = [(x @ weight).reshape(2, 20, 4, 8).transpose(0, 2, 1, 3) for weight in weights[:3]]
        q, k, v = heads
        mixed = ops.softmax(q @ k.swapaxes(-1, -2) / 8**0.5) @ v
        return x + mixed.transpose(0, 2, 1, 3).reshape(2, 20, 32) @ weights[3]

    traced, x = amdgpu.jit(layer), numbers(2, 20, 32, seed=9)
    assert ATTENTION in operations(traced, x)
    np.testing.assert_allclose(traced(x).numpy(), layer(x).numpy(), rtol=1e-2, atol=1e-2)


def same(function: Callable[..., amdgpu.Array], *arguments: amdgpu.Array) -> str:
    """Checks that a function whose products stay gives what it gives; returns what is told of it."""
    traced = amdgpu.jit(function)
    assert ATTENTION not in operations(traced, *arguments)
    close(traced(*arguments), function(*arguments).numpy())
    return traced.explain(*arguments)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda q, k, v: ops.softmax((q @ k.T + 1.0) * 0.5) @ v, "more than a factor and a mask"),
        (lambda q, k, v: ops.softmax(amdgpu.tanh(q @ k.T)) @ v, "more than a factor and a mask"),
        (lambda q, k, v: ops.softmax((q @ k.T + q @ q.T) * 0.5) @ v, "the factor follows the mask"),
        (lambda q, k, v: ops.softmax(q @ k.T) @ v * 1.0 + (q @ k.T) @ v, "the scores are read elsewhere, too"),
    ],
)
def test_reasons(function: Form, reason: str) -> None:
    assert reason in same(function, *(numbers(20, 16, seed=seed) * 0.3 for seed in range(3)))


def test_what_is_no_attention_is_not_told_of() -> None:
    for function in (lambda q, k, v: ops.softmax(k * 2.0) @ v.T, lambda q, k, v: ops.softmax(q @ k.T, axis=0) @ v):
        assert "attention" not in same(function, *(numbers(20, 16, seed=seed) * 0.3 for seed in range(3)))


def test_shares_that_are_a_result_stay() -> None:
    def function(q: amdgpu.Array, k: amdgpu.Array, v: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        shares = ops.softmax(q @ k.T * 0.25)
        return shares, shares @ v

    traced = amdgpu.jit(function)
    q, k, v = (numbers(20, 16, seed=seed) for seed in range(3))
    assert "the shares are read elsewhere, too" in traced.explain(q, k, v)
    for got, wanted in zip(traced(q, k, v), function(q, k, v), strict=True):
        close(got, wanted.numpy())


def test_batches_that_broadcast_stay() -> None:
    q, k, v = numbers(3, 20, 16), numbers(1, 20, 16, seed=1), numbers(3, 20, 16, seed=2)
    assert "broadcast" in same(FORMS["scale after"], q, k, v)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((8, 64, 64), "float32"), ((2, 1, 32), "float16"), ((2, 20, 128), "float16")]
)
def test_shapes_for_which_the_products_are_faster_stay(shape: tuple[int, int, int], dtype: str) -> None:
    batch, queries, size = shape
    q, k, v = (
        numbers(batch, queries, size, dtype=dtype),
        *(numbers(batch, 40, size, seed=s, dtype=dtype) for s in (1, 2)),
    )
    assert "are faster one by one" in same(lambda q, k, v: ops.softmax(q @ k.swapaxes(-1, -2) * 0.1) @ v, q, k, v)


def test_without_optimisation_everything_stays() -> None:
    traced = amdgpu.jit(FORMS["scale after"], optimize=False)
    arguments = [numbers(20, 16, seed=seed) for seed in range(3)]
    assert ATTENTION not in operations(traced, *arguments)
    np.testing.assert_array_equal(traced(*arguments).numpy(), FORMS["scale after"](*arguments).numpy())


def test_gpus_take_every_attention_but_that_of_products_by_tf32() -> None:
    with amdgpu.initialize_device("null:gfx1100") as device:
        for dtype, masked, is_taken in (("float16", False, True), ("float32", True, True), ("float64", False, False)):
            q, k, v = (amdgpu.empty((3, 12, 8), dtype, device=device.name) for _ in range(3))
            mask = amdgpu.empty((12, 12), dtype, device=device.name)

            def attended(
                q: amdgpu.Array, k: amdgpu.Array, v: amdgpu.Array, m: amdgpu.Array, masked: bool = masked
            ) -> amdgpu.Array:
                scores = q @ k.swapaxes(-1, -2) * 0.25
                return ops.softmax(scores + m if masked else scores) @ v

            assert (ATTENTION in operations(amdgpu.jit(attended), q, k, v, mask)) == is_taken

        def by_tf32(q: amdgpu.Array, k: amdgpu.Array, v: amdgpu.Array) -> amdgpu.Array:
            return ops.softmax(amdgpu.matrix_multiply(q, k.swapaxes(-1, -2), precision="tf32")) @ v

        q, k, v = (amdgpu.empty((3, 12, 8), "float32", device=device.name) for _ in range(3))
        traced = amdgpu.jit(by_tf32)
        assert ATTENTION not in operations(traced, q, k, v)
        assert "faster one by one" in traced.explain(q, k, v)

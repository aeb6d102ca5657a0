"""Softmax and norms that take up the elementwise steps around them: the bits of the operations one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu.graph import Graph


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")


def flat(value: Any) -> list[amdgpu.Array]:
    return [array for one in value for array in flat(one)] if isinstance(value, tuple) else [value]


def same(function: Callable[..., Any], *arguments: amdgpu.Array) -> list[list[str]]:
    """Checks that the graph, and its text read again, give the bits of the function; returns the steps of its nodes of rows."""
    traced = amdgpu.jit(function)
    traced(*[one * 0.5 for one in arguments])
    expected = [one.numpy() for one in flat(function(*arguments))]
    for got, wanted in zip(flat(traced(*arguments)), expected, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got.numpy(), wanted)
    graph = traced.graph(*arguments)
    again = Graph.parse(str(graph))
    assert str(again) == str(graph)
    for got, wanted in zip(again.compile("cpu:0", optimize=False)(*arguments), expected, strict=True):
        np.testing.assert_array_equal(got.numpy(), wanted)
    return [node["steps"] for node in graph.nodes if node["operation"] == "rows"]


NORMS: dict[str, Callable[[amdgpu.Array], amdgpu.Array]] = {
    "softmax": ops.softmax,
    "log_softmax": ops.log_softmax,
    "layer_norm": lambda x: ops.layer_norm(x, x.shape[-1]),
    "rms_norm": lambda x: ops.rms_norm(x, x.shape[-1]),
}


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("shape", [(7,), (1, 5), (300, 129), (5, 3, 4000), (2, 1, 64)])
def test_steps_before_and_after(norm: str, shape: tuple[int, ...]) -> None:
    steps = same(lambda x, r: NORMS[norm](x + r) * 2.0 - r, numbers(*shape), numbers(*shape, seed=1))
    assert steps == [["add", norm, "multiply", "subtract"]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("norm", NORMS)
def test_dtypes(norm: str, dtype: str) -> None:
    x, r = (numbers(40, 70, seed=seed).astype(dtype) for seed in range(2))
    same(lambda x, r: amdgpu.tanh(NORMS[norm](x * 0.5 + r)), x, r)


def test_only_before_and_only_after() -> None:
    x, bias = numbers(50, 33), numbers(33, seed=1)
    assert same(lambda x, b: ops.softmax(x + b), x, bias) == [["add", "softmax"]]
    assert same(lambda x, b: ops.softmax(x) * b, x, bias) == [["softmax", "multiply"]]


def test_parameters_and_operands_that_broadcast() -> None:
    x, row, column = numbers(6, 20, 48), numbers(48, seed=1), numbers(20, 1, seed=2)
    weight, bias = numbers(48, seed=3), numbers(48, seed=4)

    def function(x: Any, row: Any, column: Any, weight: Any, bias: Any) -> amdgpu.Array:
        return ops.relu(ops.layer_norm(x * column + row, 48, weight, bias)) * column

    assert same(function, x, row, column, weight, bias) == [["multiply", "add", "layer_norm", "relu", "multiply"]]


def test_several_axes_and_views() -> None:
    x, r = numbers(9, 6, 8), numbers(8, 6, 9, seed=1)
    steps = same(lambda x, r: ops.layer_norm(x + r.T, (6, 8)) * 0.5, x, r)
    assert steps == [["add", "layer_norm", "multiply"]]


def test_what_is_normalised_is_kept_for_its_other_readers() -> None:
    weight = numbers(64, 64, seed=3)

    def block(x: amdgpu.Array, delta: amdgpu.Array, weight: amdgpu.Array) -> amdgpu.Array:
        h = x + delta
        return h + ops.rms_norm(h, 64) @ weight

    traced, arguments = amdgpu.jit(block), (numbers(128, 64), numbers(128, 64, seed=1), weight)
    assert "kept for its other readers" in traced.explain(*arguments)
    np.testing.assert_allclose(traced(*arguments).numpy(), block(*arguments).numpy(), rtol=1e-5, atol=1e-5)

    def both(x: amdgpu.Array, delta: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        h = x * 2.0 + delta
        return h, ops.softmax(h) + 1.0

    assert same(both, *arguments[:2]) == [["multiply", "add", "softmax", "add"]]


def test_what_follows_from_the_kept_value_is_not_taken_up() -> None:
    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        h = x + 1.0
        return h, ops.softmax(h) * amdgpu.sum(h, axis=-1, keepdims=True)

    assert same(function, numbers(30, 20)) == [["softmax", "multiply"]]


def test_a_chain_of_norms() -> None:
    def function(x: amdgpu.Array, r: amdgpu.Array) -> amdgpu.Array:
        return ops.softmax(ops.layer_norm(x + r, 32) * 3.0 + 1.0) * 2.0

    assert len(same(function, numbers(20, 32), numbers(20, 32, seed=1))) == 2


def test_norms_over_other_axes_stay() -> None:
    assert same(lambda x: ops.softmax(x * 2.0, axis=0) + 1.0, numbers(30, 20)) == []


def test_long_rows_stay_and_say_why() -> None:
    traced, x = amdgpu.jit(lambda x: ops.softmax(x * 2.0)), numbers(2, 40_000)
    assert "a row of 160000 bytes does not stay in the caches" in traced.explain(x)
    np.testing.assert_array_equal(traced(x).numpy(), ops.softmax(x * 2.0).numpy())


def test_explain_says_what_is_computed_together() -> None:
    traced = amdgpu.jit(lambda x: ops.softmax(x * 2.0))
    assert "multiply, softmax are computed for some rows at a time" in traced.explain(numbers(4, 5))


def test_nothing_to_compute() -> None:
    assert same(lambda x: ops.softmax(x * 2.0), numbers(0, 5)) == []


def test_threads() -> None:
    traced = amdgpu.jit(lambda x: ops.softmax(x * 2.0 + 1.0) * 3.0)
    inputs = [numbers(200, 100, seed=seed) for seed in range(6)]
    expected = [(ops.softmax(x * 2.0 + 1.0) * 3.0).numpy() for x in inputs]
    traced(inputs[0])
    wrong: list[int] = []

    def work(which: int) -> None:
        wrong.extend(which for _ in range(30) if not np.array_equal(traced(inputs[which]).numpy(), expected[which]))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rows(%0) {exp(1) {axes = [-1]}} : float32[2, 3]", "no normalisation"),
        ("rows(%0) {before(2) {add(i0, i1) float32} softmax(0) {axes = [-1]}} : float32[2, 3]", "takes more inputs"),
        ("rows(%0, %0) {softmax(0) {axes = [-1]}} : float32[2, 3]", "takes 1 inputs, not 2"),
        ("rows(%0) {before(1) {exp(i1) float32} softmax(0) {axes = [-1]}} : float32[2, 3]", "no input 1"),
        ("rows(%0) {softmax(-1) {axes = [-1]}} : float32[2, 3]", "no number of inputs"),
        ("rows(1.0 float32) {softmax(0) {axes = [-1]}} : float32[2, 3]", "reads nodes"),
    ],
)
def test_texts_that_are_no_rows(line: str, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        Graph.parse(f"%0 = input : float32[2, 3]\n%1 = {line}\nreturn %1")


def test_axes_that_are_not_the_last_are_refused_when_it_runs() -> None:
    text = "%0 = input : float32[2, 3]\n%1 = rows(%0) {softmax(0) {axes = [0]}} : float32[2, 3]\nreturn %1"
    with pytest.raises(errors.InvalidArgumentError, match="are not the last"):
        Graph.parse(text).compile("cpu:0")(numbers(2, 3))

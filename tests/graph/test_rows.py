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

# Arrays from this size on are computed by rows.
LARGE = (2048, 1024)


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype("float32"), device="cpu:0").astype(dtype)


def equal(made: list[amdgpu.Array], expected: list[amdgpu.Array]) -> None:
    for got, wanted in zip(made, expected, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def flat(value: Any) -> list[amdgpu.Array]:
    return [array for one in value for array in flat(one)] if isinstance(value, tuple) else [value]


def same(function: Callable[..., Any], *arguments: amdgpu.Array) -> list[list[str]]:
    """Checks that the graph, and its text read again, give the bits of the function; returns the steps of its nodes of rows."""
    traced = amdgpu.jit(function)
    traced(*[one * 0.5 for one in arguments])
    expected = flat(function(*arguments))
    equal(flat(traced(*arguments)), expected)
    graph = traced.graph(*arguments)
    again = Graph.parse(str(graph))
    assert str(again) == str(graph)
    equal(again.compile("cpu:0", optimize=False)(*arguments), expected)
    return [node["steps"] for node in graph.nodes if node["operation"] == "rows"]


NORMS: dict[str, Callable[[amdgpu.Array], amdgpu.Array]] = {
    "softmax": ops.softmax,
    "log_softmax": ops.log_softmax,
    "layer_norm": lambda x: ops.layer_norm(x, x.shape[-1]),
    "rms_norm": lambda x: ops.rms_norm(x, x.shape[-1]),
}


def of_text(line: str, *arguments: amdgpu.Array, outputs: str = "") -> list[amdgpu.Array]:
    """What a graph of one line `rows` gives, whose result is behind the arguments."""
    inputs = [f"%{place} = input : {one.dtype.name}{list(one.shape)}" for place, one in enumerate(arguments)]
    at = len(inputs)
    text = "\n".join([*inputs, f"%{at} = {line}", outputs.format(kept=at + 1, rows=at) or f"return %{at}"])
    graph = Graph.parse(text)
    assert str(Graph.parse(str(graph))) == str(graph)
    return graph.compile("cpu:0", optimize=False)(*arguments)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7,), (1, 5), (300, 129), (5, 3, 4000), (2, 1, 64), (0, 5), (1000, 700)])
def test_texts_of_any_shape(norm: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, r, last = (
        numbers(*shape, dtype=dtype),
        numbers(*shape, seed=1, dtype=dtype),
        numbers(shape[-1], seed=2, dtype=dtype),
    )
    kind = f"{dtype}{list(shape)}"
    line = (
        f"rows(%0, %1, %2) {{before(2) {{multiply(i0, 0.5 {dtype}) {dtype}; add(s0, i1) {dtype}}} {norm}(0) {{axes = [-1]}}"
        f" after {{tanh(i0) {dtype}; multiply(s0, i1) {dtype}}} kept}} : {kind}"
    )
    outputs = f"%{{kept}} = result(%{{rows}}) {{{{index = 1}}}} : {kind}\nreturn %{{rows}}, %{{kept}}"
    h = x * 0.5 + r
    equal(of_text(line, x, r, last, outputs=outputs), [amdgpu.tanh(NORMS[norm](h)) * last, h])
    equal(
        of_text(f"rows(%0) {{{norm}(0) {{axes = [-1]}} after {{negative(i0) {dtype}}}}} : {kind}", x), [-NORMS[norm](x)]
    )


def test_texts_with_parameters_views_and_several_axes() -> None:
    x, column, weight, bias = numbers(6, 20, 48), numbers(20, 1, seed=2), numbers(48, seed=3), numbers(48, seed=4)
    line = (
        "rows(%0, %1, %2, %3, %1) {before(2) {multiply(i0, i1) float32} layer_norm(2) {normalized_shape = [48]}"
        " after {relu(i0) float32; multiply(s0, i1) float32}} : float32[6, 20, 48]"
    )
    equal(of_text(line, x, column, weight, bias), [ops.relu(ops.layer_norm(x * column, 48, weight, bias)) * column])
    line = "rows(%0) {layer_norm(0) {normalized_shape = [20, 48]} after {negative(i0) float32}} : float32[6, 20, 48]"
    equal(of_text(line, x), [-ops.layer_norm(x, (20, 48))])


def test_steps_before_and_after_are_taken_up() -> None:
    x, r = numbers(*LARGE), numbers(*LARGE, seed=1)
    for norm, function in NORMS.items():
        steps = same(lambda x, r, function=function: function(x + r) * 2.0 - r, x, r)
        assert steps == [["add", norm, "multiply", "subtract"]]
    assert same(lambda x, b: ops.softmax(x) * b, x, numbers(1024, seed=3)) == [["softmax", "multiply"]]


def test_views_and_parameters() -> None:
    x, r = numbers(64, 128, 256), numbers(256, 128, 64, seed=1)
    weight, bias = numbers(256, seed=3), numbers(256, seed=4)
    steps = same(lambda x, r, w, b: ops.relu(ops.layer_norm(x + r.T, 256, w, b)) * 0.5, x, r, weight, bias)
    assert steps == [["add", "layer_norm", "relu", "multiply"]]


def test_what_is_normalised_is_kept_for_its_other_readers() -> None:
    def both(x: amdgpu.Array, delta: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        h = x * 2.0 + delta
        return h, ops.softmax(h) + 1.0

    def block(x: amdgpu.Array, delta: amdgpu.Array) -> amdgpu.Array:
        h = x + delta
        return h + amdgpu.mean(ops.relu(ops.rms_norm(h, 1024)), axis=0)

    arguments = (numbers(*LARGE), numbers(*LARGE, seed=1))
    assert same(both, *arguments) == [["multiply", "add", "softmax", "add"]]
    assert "kept for its other readers" in amdgpu.jit(both).explain(*arguments)
    assert same(block, *arguments) == [["add", "rms_norm", "relu"]]


def test_what_follows_from_the_kept_value_is_not_taken_up() -> None:
    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        h = x + 1.0
        return h, ops.softmax(h) * amdgpu.sum(h, axis=-1, keepdims=True)

    assert same(function, numbers(*LARGE)) == [["softmax", "multiply"]]


def test_a_chain_of_norms() -> None:
    def function(x: amdgpu.Array, r: amdgpu.Array) -> amdgpu.Array:
        return ops.softmax(ops.layer_norm(x + r, 1024) * 3.0 + 1.0) * 2.0

    assert same(function, numbers(*LARGE), numbers(*LARGE, seed=1)) == [
        ["add", "layer_norm", "multiply", "add"],
        ["softmax", "multiply"],
    ]


def test_norms_over_other_axes_stay() -> None:
    assert same(lambda x: ops.softmax(x * 2.0, axis=0) + 1.0, numbers(*LARGE)) == []


@pytest.mark.parametrize(
    ("function", "shape", "reason"),
    [
        (lambda x: ops.softmax(x * 2.0) + 1.0, (64, 8), "values of 2048 bytes stay in the caches"),
        (lambda x: ops.softmax(x * 2.0), LARGE, "of steps before it alone nothing is gained"),
        (lambda x: ops.softmax(x * 2.0) + 1.0, (60, 40_000), "a row of 160000 bytes does not stay in the caches"),
    ],
)
def test_what_is_faster_apart_stays_and_is_told(
    function: Callable[[amdgpu.Array], amdgpu.Array], shape: tuple[int, ...], reason: str
) -> None:
    x = numbers(*shape)
    assert same(function, x) == []
    assert reason in amdgpu.jit(function).explain(x)


def test_explain_names_the_node_that_computes_the_rows() -> None:
    traced, x = amdgpu.jit(lambda x: ops.softmax(x * 2.0) + 1.0), numbers(*LARGE)
    (node,) = [place for place, node in enumerate(traced.graph(x).nodes) if node["operation"] == "rows"]
    assert f"%{node}: multiply, softmax, add are computed for some rows at a time" in traced.explain(x)


def test_threads() -> None:
    traced = amdgpu.jit(lambda x: ops.softmax(x * 2.0 + 1.0) * 3.0)
    inputs = [numbers(*LARGE, seed=seed) for seed in range(4)]
    expected = [(ops.softmax(x * 2.0 + 1.0) * 3.0).numpy() for x in inputs]
    assert "rows" in [node["operation"] for node in traced.graph(inputs[0]).nodes]
    wrong: list[int] = []

    def work(which: int) -> None:
        wrong.extend(which for _ in range(6) if not np.array_equal(traced(inputs[which]).numpy(), expected[which]))

    threads = [threading.Thread(target=work, args=(which,)) for which in range(4)]
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

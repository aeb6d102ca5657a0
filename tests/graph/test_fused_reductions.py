"""Reductions over the last axes with the steps around them: the bits of the operations one by one, on the host and by kernels."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu.graph import Graph

# Arrays from this size on are computed some rows at a time.
LARGE = (4096, 1024)


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype("float32"), device="cpu:0").astype(dtype)


def flat(value: Any) -> list[amdgpu.Array]:
    return [array for one in value for array in flat(one)] if isinstance(value, tuple) else [value]


def equal(made: list[amdgpu.Array], expected: list[amdgpu.Array]) -> None:
    for got, wanted in zip(made, expected, strict=True):
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(got.numpy(), wanted.numpy())


def same(function: Callable[..., Any], *arguments: amdgpu.Array) -> list[list[str]]:
    """Checks that the graph, and its text read again, give the bits of the function; returns the steps of its fused rows."""
    traced = amdgpu.jit(function)
    traced(*[one * 0.5 for one in arguments])
    expected = flat(function(*arguments))
    equal(flat(traced(*arguments)), expected)
    graph = traced.graph(*arguments)
    again = Graph.parse(str(graph))
    assert str(again) == str(graph)
    equal(again.compile("cpu:0", optimize=False)(*arguments), expected)
    return [node["steps"] for node in graph.nodes if node["operation"] == "fused_rows"]


def softmax_by_hand(x: amdgpu.Array) -> amdgpu.Array:
    powers = amdgpu.exp(x - amdgpu.max(x, axis=-1, keepdims=True))
    return powers / amdgpu.sum(powers, axis=-1, keepdims=True)


def norm_by_hand(x: amdgpu.Array, weight: amdgpu.Array) -> amdgpu.Array:
    centered = x - amdgpu.mean(x, axis=-1, keepdims=True)
    variance = amdgpu.mean(centered * centered, axis=-1, keepdims=True)
    return centered / amdgpu.sqrt(variance + 1e-5) * weight


def euclidean(x: amdgpu.Array, y: amdgpu.Array) -> amdgpu.Array:
    return amdgpu.sqrt(amdgpu.sum((x - y) * (x - y), axis=-1))


def of_text(line: str, *arguments: amdgpu.Array, replay: bool = False) -> list[amdgpu.Array]:
    """What a graph of one line gives, whose result is behind the arguments."""
    inputs = [f"%{place} = input : {one.dtype.name}{list(one.shape)}" for place, one in enumerate(arguments)]
    at = len(inputs)
    graph = Graph.parse("\n".join([*inputs, f"%{at} = {line}", f"return %{at}"]))
    assert str(Graph.parse(str(graph))) == str(graph)
    run = graph.compile("cpu:0", optimize=False, replay=replay)
    for _ in range(3 if replay else 0):
        run(*arguments)
    assert not replay or run.replays.refusal is None
    made = run(*arguments)
    assert not replay or run.replays.replayed > 0
    return made


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(2,), (1, 5), (300, 129), (5, 3, 4000), (2, 1, 64), (1000, 700)])
@pytest.mark.parametrize("operation", ["sum", "mean", "max", "min", "var", "std"])
def test_texts_of_any_shape(operation: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, r = numbers(*shape, dtype=dtype), numbers(*shape, seed=1, dtype=dtype)
    last = numbers(shape[-1], seed=2, dtype=dtype)
    h = x * 0.5 + r
    folded = getattr(amdgpu, operation)(h, axis=-1, keepdims=True)
    before = f"steps(i0, i1) {{multiply(i0, 0.5 {dtype}) {dtype}; add(s0, i1) {dtype}}} {operation}(v0) 0.0 {dtype}"
    line = f"fused_rows(%0, %1) {{rows(1) {before}}} : {dtype}{list(shape[:-1])}"
    equal(of_text(line, x, r), [folded.reshape(shape[:-1])])
    line = f"fused_rows(%0, %1) {{rows(1) {before} kept}} : {dtype}{[*shape[:-1], 1]}"
    equal(of_text(line, x, r), [folded])
    line = (
        f"fused_rows(%0, %1, %2) {{rows(1) {before} steps(v0, v1, i2) {{subtract(i0, i1) {dtype}; multiply(s0, i2) {dtype}}} kept}}"
        f" : {dtype}{list(shape)}"
    )
    equal(of_text(line, x, r, last), [(h - folded) * last])


@pytest.mark.parametrize(
    ("dtype", "operation"),
    [("float32", one) for one in ("sum", "mean", "max", "min", "prod")] + [("float16", "sum"), ("float64", "mean")],
)
@pytest.mark.parametrize("shape", [(33, 129), (5, 3, 400), (7, 2048), (9, 6)])
def test_kernels_fold_in_the_order_of_the_reduction(operation: str, dtype: str, shape: tuple[int, ...]) -> None:
    x, r = numbers(*shape, dtype=dtype), numbers(*shape, seed=1, dtype=dtype)
    column = numbers(*shape[:-1], 1, seed=2, dtype=dtype)
    kind = f"{dtype}{list(shape)}"

    def by_operations(h: amdgpu.Array) -> list[amdgpu.Array]:
        graph = Graph()
        value = graph.input(h.shape, dtype)
        graph.outputs = [graph.add(operation, value, axes=[-1], keepdims=True)]
        run = graph.compile("cpu:0", optimize=False, replay=True)
        for _ in range(3):
            run(h)
        made = run(h)
        assert run.replays.replayed > 0
        return made

    h = x * 0.5 + r
    (folded,) = by_operations(h)
    before = f"steps(i0, i1) {{multiply(i0, 0.5 {dtype}) {dtype}; add(s0, i1) {dtype}}} {operation}(v0) 0.0 {dtype}"
    line = f"fused_rows(%0, %1) {{rows(1) {before}}} : {dtype}{list(shape[:-1])}"
    equal(of_text(line, x, r, replay=True), [folded.reshape(shape[:-1])])
    line = (
        f"fused_rows(%0, %1, %2) {{rows(1) {before} steps(v1, i2) {{multiply(i0, i1) {dtype}}}"
        f" steps(v0, v2) {{subtract(i0, i1) {dtype}}} kept}} : {kind}"
    )
    equal(of_text(line, x, r, column, replay=True), [h - folded * column])


def test_several_reductions_are_one_kernel() -> None:
    x = numbers(64, 512)
    line = (
        "fused_rows(%0) {rows(1) max(i0) 0.0 float32 steps(i0, v0) {subtract(i0, i1) float32; multiply(s0, s0) float32}"
        " sum(v1) 0.0 float32 steps(v1, v2) {divide(i0, i1) float32} kept} : float32[64, 512]"
    )
    squares = (x - amdgpu.max(x, axis=-1, keepdims=True)) ** 2
    expected = squares.numpy() / squares.numpy().astype(np.float64).sum(-1, keepdims=True).astype(np.float32)
    np.testing.assert_array_equal(of_text(line, x, replay=True)[0].numpy(), expected)


def test_functions_between_reductions() -> None:
    x = numbers(300, 700)
    line = (
        "fused_rows(%0) {rows(1) max(i0) 0.0 float32 steps(i0, v0) {subtract(i0, i1) float32; exp(s0) float32} sum(v1) 0.0 float32"
        " steps(v1, v2) {divide(i0, i1) float32} kept} : float32[300, 700]"
    )
    equal(of_text(line, x), [softmax_by_hand(x)])


def test_steps_around_reductions_are_taken_up() -> None:
    x, y, weight = numbers(*LARGE), numbers(*LARGE, seed=1), numbers(LARGE[-1], seed=2)
    assert same(euclidean, x, y) == [["subtract", "multiply", "sum", "sqrt"]]
    (steps,) = same(norm_by_hand, x, weight)
    assert steps.count("mean") == 2
    assert steps[-1] == "multiply"
    assert same(lambda x, y: x - amdgpu.var(x * y, axis=-1, keepdims=True), x, y) == [["multiply", "var", "subtract"]]


def test_rows_of_several_axes_and_views() -> None:
    x, r = numbers(256, 16, 1024), numbers(1024, 16, 256, seed=1)
    assert same(lambda x, r: amdgpu.sum(x * r.T, axis=(1, 2)), x, r)
    assert same(lambda x, r: x + amdgpu.mean(abs(x - r.T), axis=-1, keepdims=True), x, r)


def test_results_without_the_axes_of_the_rows() -> None:
    x = numbers(2048, 2048)

    def shifted(x: amdgpu.Array) -> amdgpu.Array:
        total = amdgpu.sum(x * x, axis=-1)
        return amdgpu.sqrt(total) / (total + 1.0)

    def along_the_other_axis(x: amdgpu.Array) -> amdgpu.Array:
        # The sums of the rows broadcast along the columns.
        return amdgpu.sqrt(x * x + amdgpu.sum(x * 2.0, axis=-1))

    (steps,) = same(shifted, x)
    assert steps[-1] == "divide"
    same(along_the_other_axis, abs(x))
    same(lambda x: amdgpu.sum(x * x, axis=-1) * x[0], x)


def test_values_that_others_read_stay() -> None:
    def both(x: amdgpu.Array, y: amdgpu.Array) -> tuple[amdgpu.Array, ...]:
        h = x * y + 1.0
        total = amdgpu.sum(h, axis=-1, keepdims=True)
        return h, total, h / total

    same(both, numbers(*LARGE), numbers(*LARGE, seed=1))


def test_what_is_left_as_it_is_is_explained() -> None:
    small = amdgpu.jit(euclidean).explain(numbers(10, 10), numbers(10, 10))
    assert "one after the other: values of 400 bytes stay in the caches" in small
    long = amdgpu.jit(euclidean).explain(numbers(20, 1 << 18), numbers(20, 1 << 18))
    assert "a row of 1048576 bytes does not stay in the caches" in long
    functions = amdgpu.jit(softmax_by_hand).explain(numbers(*LARGE))
    assert "functions such as exp take the time" in functions
    short = amdgpu.jit(euclidean).explain(numbers(1 << 16, 64), numbers(1 << 16, 64))
    assert "a row of 64 elements is short" in short
    alone = amdgpu.jit(lambda x: x - amdgpu.mean(x, axis=-1, keepdims=True)).explain(numbers(*LARGE))
    assert "no value of whole rows lies between them" in alone
    first = amdgpu.jit(lambda x: amdgpu.sum(x * 2.0, axis=0)).graph(numbers(*LARGE))
    assert "fused_rows" not in [node["operation"] for node in first.nodes]


def test_threads() -> None:
    weight = numbers(LARGE[-1], seed=9)
    traced = amdgpu.jit(norm_by_hand)
    inputs = [numbers(*LARGE, seed=seed) for seed in range(3)]
    expected = [norm_by_hand(x, weight).numpy() for x in inputs]
    traced(inputs[0], weight)
    wrong: list[int] = []

    def work(place: int) -> None:
        for _ in range(4):
            if not np.array_equal(traced(inputs[place], weight).numpy(), expected[place]):
                wrong.append(place)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("fused_rows(%0) {rows(0) sum(i0) 0.0 float32} : float32[4]", "rows of one axis at least"),
        ("fused_rows(%0) {rows(1)} : float32[4]", "has stages"),
        ("fused_rows(%0) {sum(i0) 0.0 float32} : float32[4]", "begins with `rows"),
        ("fused_rows(%0) {rows(1) sum(i1) 0.0 float32} : float32[4]", "neither an input nor an earlier stage"),
        ("fused_rows(%0) {rows(1) sum(v0) 0.0 float32} : float32[4]", "neither an input nor an earlier stage"),
        ("fused_rows(%0) {rows(1) tanh(i0) 0.0 float32} : float32[4]", "is no reduction"),
        ("fused_rows(%0) {rows(1) sum(i0) 0.0 float64} : float64[4]", "gives float32, not float64"),
    ],
)
def test_texts_that_are_none(line: str, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        of_text(line, numbers(4, 6))


def test_softmax_with_a_sum_behind_it() -> None:
    x, y = numbers(*LARGE), numbers(*LARGE, seed=1)
    same(lambda x, y: amdgpu.sum(ops.softmax(x) * y, axis=-1), x, y)

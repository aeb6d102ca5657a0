"""Operations with several results, losses, gradients and attention in graphs: traced, as texts, by hand."""

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


def integers(*shape: int, below: int, seed: int = 0) -> amdgpu.Array:
    return amdgpu.array(np.random.default_rng(seed).integers(0, below, shape), device="cpu:0")


def flat(value: Any) -> list[amdgpu.Array]:
    if isinstance(value, (tuple, list)):
        return [array for one in value for array in flat(one)]
    return [value]


def other(array: amdgpu.Array) -> amdgpu.Array:
    values = np.ascontiguousarray(array.numpy().reshape(-1)[::-1]).reshape(array.shape)
    return amdgpu.array(values, device="cpu:0")


def same(function: Callable[..., Any], *arguments: amdgpu.Array) -> amdgpu.graph.Executable:
    """Checks that the graph, traced with other values, gives the bits of the function, as its text read again does; returns the graph."""
    traced = amdgpu.jit(function)
    traced(*[other(one) for one in arguments])
    expected = flat(function(*arguments))
    for _ in range(2):
        made = flat(traced(*arguments))
        assert len(made) == len(expected)
        for wanted, got in zip(expected, made, strict=True):
            assert (wanted.dtype, wanted.shape) == (got.dtype, got.shape)
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    assert traced.traces == 1
    graph = traced.graph(*arguments)
    if "constant" not in {node["operation"] for node in graph.nodes}:
        again = Graph.parse(str(graph))
        assert str(again) == str(graph)
        for wanted, got in zip(expected, again.compile("cpu:0", optimize=False)(*arguments), strict=True):
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    return graph


def operations(graph: amdgpu.graph.Executable) -> list[str]:
    return [node["operation"] for node in graph.nodes]


X = numbers(6, 8)
IMAGE = numbers(2, 3, 8, 8)
POOLED = ops.max_pool2d_with_indices(IMAGE, 2)
KERNEL = numbers(4, 3, 3, 3, seed=1)
LABELS = integers(6, below=8)
QUERIES = [numbers(2, 4, 10, 16, seed=seed) for seed in range(4)]
SEGMENTS = integers(6, below=3)


@pytest.mark.parametrize(
    ("function", "arguments", "operation"),
    [
        (lambda x: ops.top_k(x, 3), [X], "top_k"),
        (lambda x: ops.top_k(x * 2.0, 2, 0, largest=False), [X], "top_k"),
        (lambda x: tuple(ops.cummax(x, axis=1)), [X], "cummax"),
        (lambda x: tuple(ops.cummin(x, axis=0)), [X], "cummin"),
        (lambda x: ops.max_pool2d_with_indices(x, 2), [IMAGE], "max_pool2d"),
        (lambda x: ops.adaptive_max_pool2d_with_indices(x, (3, 2)), [IMAGE], "adaptive_max_pool2d"),
        (lambda g, i: ops.max_pool2d_with_indices_gradient(g, i, (2, 3, 8, 8), 2), list(POOLED), "max_pool2d"),
        (lambda x, i: ops.max_unpool2d(x, i, 2), list(POOLED), "max_pool2d"),
        (lambda x, g: ops.avg_pool2d_gradient(x, g, 2), [IMAGE, POOLED[0]], "avg_pool2d"),
        (ops.batch_norm_training, [IMAGE], "batch_norm"),
        (ops.batch_norm_gradient, [IMAGE, numbers(2, 3, 8, 8, seed=5)], "batch_norm_gradient"),
        (lambda g, w: ops.conv2d_input_gradient(g, w, (2, 3, 8, 8)), [numbers(2, 4, 6, 6), KERNEL], "conv2d"),
        (lambda x, g: ops.conv2d_weight_gradient(x, g, (4, 3, 3, 3)), [IMAGE, numbers(2, 4, 6, 6)], "conv2d"),
        (ops.softmax_gradient, [X, numbers(6, 8, seed=2)], "softmax_gradient"),
        (lambda x, g: ops.layer_norm_gradient(x, g, 8), [X, numbers(6, 8, seed=2)], "layer_norm_gradient"),
        (lambda x, g: ops.rms_norm_gradient(x, g, 8), [X, numbers(6, 8, seed=2)], "rms_norm_gradient"),
        (ops.cross_entropy_loss, [X, LABELS], "cross_entropy_loss"),
        (
            lambda x, t: ops.cross_entropy_loss(x, t, reduction="sum", label_smoothing=0.1, ignore_index=2),
            [X, LABELS],
            "cross_entropy_loss",
        ),
        (
            lambda x, t, w: ops.nll_loss(ops.log_softmax(x), t, weight=w, reduction="none"),
            [X, LABELS, numbers(8, seed=3)],
            "nll_loss",
        ),
        (
            lambda x, t: ops.cross_entropy_loss_gradient(x, t, ops.cross_entropy_loss(x, t)),
            [X, LABELS],
            "cross_entropy_loss_gradient",
        ),
        (ops.mse_loss, [X, numbers(6, 8, seed=2)], "mean"),
        (ops.mse_loss_gradient, [X, numbers(6, 8, seed=2), numbers(seed=3)], None),
        (lambda x, t: ops.bce_loss(x, t, with_logits=True), [X, numbers(6, 8, seed=2)], "mean"),
        (ops.scaled_dot_product_attention, QUERIES[:3], "scaled_dot_product_attention"),
        (
            lambda q, k, v, m: ops.scaled_dot_product_attention(q, k, v, mask=m[..., :10] > 0.0, scale=0.3),
            QUERIES,
            "scaled_dot_product_attention",
        ),
        (
            lambda q, k, v, g: ops.scaled_dot_product_attention_gradient(q, k, v, g, is_causal=True),
            QUERIES,
            "scaled_dot_product_attention_gradient",
        ),
        (lambda x, s: ops.segment_sum(x, s, 3), [X, SEGMENTS], "segment_reduce"),
        (lambda x, s: ops.segment_max(x, s, 4), [X, SEGMENTS], "segment_reduce"),
        (lambda g, i: ops.embedding_gradient(g, i, 5, 1), [X, integers(6, below=5)], "embedding_gradient"),
        (lambda x, i, v: ops.index_add(x, 0, i, v), [X, integers(3, below=6), numbers(3, 8, seed=2)], "index_add"),
        (
            lambda x, i, v: ops.scatter_reduce(x, 1, i, v, "amax"),
            [X, integers(6, 3, below=8), numbers(6, 3, seed=2)],
            "scatter_reduce",
        ),
        (lambda x, v: ops.searchsorted(ops.sort(x[0]), v), [X, numbers(5, seed=2)], "searchsorted"),
        (lambda x, i: ops.take_along_axis(x, i, 1), [X, integers(6, 3, below=8)], "offsets"),
        (lambda x, i: x[i], [X, integers(4, below=6)], "gather"),
    ],
)
def test_bits_of_the_function(
    function: Callable[..., Any], arguments: list[amdgpu.Array], operation: str | None
) -> None:
    graph = same(function, *arguments)
    if operation is not None:
        assert operation in operations(graph)


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32"])
def test_other_dtypes(dtype: str) -> None:
    x = amdgpu.array((np.random.default_rng(0).standard_normal((5, 9)) * 8).astype(dtype), device="cpu:0")
    same(lambda x: (*ops.top_k(x, 4), *ops.cummax(x, axis=0)), x)


def test_results_are_used_inside_the_graph() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        values, indices = ops.top_k(amdgpu.tanh(x) * 2.0, 3)
        return ops.softmax(values) * indices.astype("float32") - values

    graph = same(function, X)
    assert operations(graph).count("result") == 1


def test_a_result_that_nobody_reads() -> None:
    graph = same(lambda x: ops.top_k(x, 3)[1] * 2, X)
    assert "result" in operations(graph)
    graph = same(lambda x: ops.top_k(x, 3)[0] * 2.0, X)
    assert "result" not in operations(graph)


def test_one_result_twice() -> None:
    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, ...]:
        values, indices = ops.top_k(x, 2)
        return indices, values, indices, indices.T

    same(function, X)


def test_elements_that_are_assigned_by_indices() -> None:
    def function(x: amdgpu.Array, rows: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        y = x * 2.0
        y[rows] = x[:3]
        z = amdgpu.zeros((6, 8), device="cpu:0")
        total = z + y
        z[rows] = y[rows] + 1.0
        return total, z

    same(function, X, amdgpu.array(np.array([4, 0, 2]), device="cpu:0"))


def test_arrays_that_a_function_makes_and_changes_are_what_they_were_when_they_were_read() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        z = amdgpu.ones((6, 8), device="cpu:0")
        y = x + z
        z += 1.0
        z[0] = 5.0
        return y * z

    same(function, X)


def test_threads_share_a_graph_with_several_results() -> None:
    traced = amdgpu.jit(lambda x: ops.top_k(ops.softmax(x * 3.0), 5))
    inputs = [numbers(32, 64, seed=seed) for seed in range(8)]
    expected = [[one.numpy() for one in ops.top_k(ops.softmax(x * 3.0), 5)] for x in inputs]
    traced(inputs[0])
    wrong: list[int] = []

    def work(which: int) -> None:
        for _ in range(50):
            values, indices = traced(inputs[which])
            if not (
                np.array_equal(values.numpy(), expected[which][0])
                and np.array_equal(indices.numpy(), expected[which][1])
            ):
                wrong.append(which)

    threads = [threading.Thread(target=work, args=(which,)) for which in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert traced.traces == 1


def test_a_training_step_is_one_graph() -> None:
    def step(x: amdgpu.Array, weight: amdgpu.Array, labels: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        logits = x @ weight
        loss = ops.cross_entropy_loss(logits, labels)
        by_logits = ops.cross_entropy_loss_gradient(logits, labels, amdgpu.ones((), dtype="float32", device="cpu:0"))
        return loss, weight - 0.1 * (x.T @ by_logits)

    x, weight, labels = numbers(32, 8), numbers(8, 5, seed=1), integers(32, below=5)
    traced = amdgpu.jit(step)
    losses = []
    for _ in range(30):
        loss, weight = traced(x, weight, labels)
        losses.append(float(loss))
    assert traced.traces == 1
    assert losses[-1] < 0.9 * losses[0]
    own = numbers(8, 5, seed=1)
    for _ in range(30):
        _, own = step(x, own, labels)
    np.testing.assert_allclose(weight.numpy(), own.numpy(), rtol=1e-5, atol=1e-6)


def test_by_hand() -> None:
    graph = Graph()
    values = graph.add("top_k", graph.input((2, 5)), k=3)
    indices = graph.result(values, 1)
    assert graph.result(values, 0) == values
    again = graph.result(values, 1)
    graph.outputs = [graph.add("add", indices, again), again, values]
    x = np.array([[3, 1, 2, 5, 4], [0, -1, 7, 7, 2]], np.float32)
    for optimize in (True, False):
        doubled, places, best = graph.compile("cpu:0", optimize=optimize)(amdgpu.array(x, device="cpu:0"))
        assert places.tolist() == [[3, 4, 0], [2, 3, 4]]
        assert doubled.tolist() == [[6, 8, 0], [4, 6, 8]]
        assert best.tolist() == [[5, 4, 3], [7, 7, 2]]


def test_bad_input() -> None:
    graph = Graph()
    x = graph.input((2, 5))
    values = graph.add("top_k", x, k=3)
    with pytest.raises(errors.InvalidArgumentError, match="it has results 0 to 1"):
        graph.result(values, 2)
    with pytest.raises(errors.InvalidArgumentError, match="it is no operation"):
        graph.result(x, 1)
    with pytest.raises(errors.InvalidArgumentError, match="it has one, result 0"):
        graph.result(graph.add("exp", x), 1)
    with pytest.raises(errors.InvalidArgumentError, match="k, the number of values, is missing"):
        graph.add("top_k", x)
    with pytest.raises(errors.AmdgpuError, match="7"):
        graph.add("top_k", x, k=7)
    with pytest.raises(errors.InvalidArgumentError, match="reduction"):
        graph.add("cross_entropy_loss", x, graph.input((2,), "int64"), reduction="most")
    with pytest.raises(errors.ShapeMismatchError, match="target"):
        graph.add("cross_entropy_loss", x, graph.input((3,), "int64"))
    with pytest.raises(errors.ShapeMismatchError, match="queries and keys"):
        graph.add("scaled_dot_product_attention", x, graph.input((2, 4)), graph.input((2, 4)))
    for text, message in [
        ("%0 = input : float32[2]\n%1 = result(%0) {index = 1}\nreturn %1", "it is no operation"),
        ("%0 = input : float32[2]\n%1 = top_k(%0) {k = 1}\n%2 = result(%1) {index = 2}\nreturn %2", "results 0 to 1"),
        ("%0 = input : float32[2]\n%1 = top_k(%0) {k = 1}\n%2 = result(%1)\nreturn %2", "result takes a node"),
        (
            "%0 = input : float32[2]\n%1 = top_k(%0) {k = 1}\n%2 = result(%1) {index = 1} : int32[1]\nreturn %2",
            "result gives",
        ),
    ]:
        with pytest.raises(errors.InvalidArgumentError, match=message):
            Graph.parse(text)


def test_indices_that_are_none_are_refused_when_the_graph_runs() -> None:
    traced = amdgpu.jit(lambda x, i: x[i])
    good = amdgpu.array(np.array([1, 2]), device="cpu:0")
    np.testing.assert_array_equal(traced(X, good).numpy(), X.numpy()[[1, 2]])
    with pytest.raises(errors.IndexOutOfRangeError, match="6"):
        traced(X, amdgpu.array(np.array([1, 6]), device="cpu:0"))
    np.testing.assert_array_equal(traced(X, good).numpy(), X.numpy()[[1, 2]])


def test_what_depends_on_values_or_chance_is_refused() -> None:
    for function in (
        lambda x: ops.nonzero(x > 0.0),
        amdgpu.unique_values,
        lambda x: ops.masked_select(x, x > 0.0),
        lambda x: ops.dropout(x, 0.5, seed=3),
    ):
        with pytest.raises(errors.NotCapturableError):
            amdgpu.jit(function)(X)


def test_picture_names_results() -> None:
    traced = amdgpu.jit(lambda x: ops.top_k(x, 3))
    assert "result 1" in traced.graph(X).to_dot()


def test_several_results_of_constants_are_computed_once() -> None:
    weights, x = numbers(64, 32, seed=1), numbers(64, 4, seed=2)
    values, indices = ops.top_k(weights, 4)
    # The last one has a result behind the first that is an operand of another operation with several.
    for expected, chosen in (
        ([x * values, indices], "both"),
        ([x + indices], "second"),
        ([x + ops.top_k(indices, 4)[0]], "again"),
    ):
        graph = Graph()
        argument = graph.input((64, 4))
        first = graph.add("top_k", graph.constant(weights), k=4)
        second = graph.result(first, 1)
        if chosen == "both":
            graph.outputs = [graph.add("multiply", argument, first), second]
        elif chosen == "second":
            graph.outputs = [graph.add("add", argument, second)]
        else:
            graph.outputs = [graph.add("add", argument, graph.add("top_k", second, k=4))]
        compiled = graph.compile("cpu:0")
        operations = [node["operation"] for node in compiled.nodes]
        assert set(operations).isdisjoint({"top_k", "result"}), operations
        assert "(top_k) follows from constants: it is computed once" in compiled.explain()
        equal = zip(compiled(x), expected, strict=True)
        assert all(got.numpy().tobytes() == wanted.numpy().tobytes() for got, wanted in equal)
        assert "top_k" in [node["operation"] for node in graph.compile("cpu:0", optimize=False).nodes]

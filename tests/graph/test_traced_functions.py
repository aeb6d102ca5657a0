"""`amdgpu.jit`: what a traced function gives is what the function gives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops


def numbers(*shape: int, seed: int = 0, dtype: str = "float32") -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return amdgpu.array(values.astype(dtype), device="cpu:0")


def same(function: Callable[..., Any], *arguments: Any) -> amdgpu.graph.Executable:
    """Checks that the graph of a function, traced with other values, gives the bits of the function; returns the graph."""
    traced = amdgpu.jit(function)
    traced(*[other(one) for one in arguments])
    expected = flat(function(*arguments))
    for _ in range(2):
        for wanted, got in zip(expected, flat(traced(*arguments)), strict=True):
            assert wanted.dtype == got.dtype
            np.testing.assert_array_equal(got.numpy(), wanted.numpy())
    assert traced.traces == 1
    return traced.graph(*arguments)


def other(array: amdgpu.Array) -> amdgpu.Array:
    """Other values of the same shape and dtype: those from the back to the front."""
    return amdgpu.array(np.ascontiguousarray(array.numpy().reshape(-1)[::-1]).reshape(array.shape), device="cpu:0")


def flat(value: Any) -> list[amdgpu.Array]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [array for one in value for array in flat(one)]
    return [value]


def operations(graph: amdgpu.graph.Executable) -> list[str]:
    return [node["operation"] for node in graph.nodes if node["operation"] not in ("input", "constant", "view")]


def test_elementwise_steps_are_one_kernel() -> None:
    graph = same(
        lambda x, y: amdgpu.tanh(x * 2.0 + y) / (1.0 + amdgpu.exp(-x)), numbers(33, 70), numbers(33, 70, seed=1)
    )
    assert operations(graph) == ["fused"]
    assert [node.get("steps") for node in graph.nodes][-1] == [
        "multiply",
        "add",
        "tanh",
        "negative",
        "exp",
        "add",
        "divide",
    ]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_values_between_steps_are_rounded(dtype: str) -> None:
    same(lambda x: (x * 3.0 + 0.1) * x - amdgpu.sqrt(abs(x)), numbers(1000, dtype=dtype))


def test_operands_broadcast() -> None:
    x, row, column = numbers(8, 1, 5), numbers(5, seed=1), numbers(6, 1, seed=2)
    same(lambda x, row, column: (x + row) * column - row, x, row, column)


@pytest.mark.parametrize("shape", [(1, 64, 8, 8), (3, 1, 5), (1,), (7, 1), (2, 3, 1)])
def test_values_in_place_of_others_with_axes_of_one_element(shape: tuple[int, ...]) -> None:
    def function(x: amdgpu.Array, y: amdgpu.Array) -> amdgpu.Array:
        # The softmaxes keep the chains apart, so that each takes the memory of its operand.
        return ops.softmax(ops.relu(ops.softmax(ops.relu(ops.softmax(x, axis=0) + y), axis=0) + y), axis=0)

    same(function, numbers(*shape), numbers(*shape, seed=1))


def test_comparisons_and_choices_are_joined() -> None:
    graph = same(lambda x: amdgpu.where(x > 0.5, x * 2.0, -x), numbers(100))
    assert operations(graph) == ["fused"]


def test_integers() -> None:
    x = amdgpu.array(np.arange(-20, 20, dtype=np.int32), device="cpu:0")
    same(lambda x: (x * 3 + 7) & 15, x)


def test_a_value_that_is_an_output_too_stays() -> None:
    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        y = x * 2.0
        return y, y + 1.0

    same(function, numbers(50))


def test_views_share_memory() -> None:
    def function(x: amdgpu.Array) -> dict[str, amdgpu.Array]:
        return {"t": x.T, "slice": x[1:, ::2] * 2.0, "joined": (x.T.reshape(-1) + 1.0)[3:]}

    same(function, numbers(6, 8))


def test_reductions_norms_and_products() -> None:
    weight, bias = numbers(64, 32, seed=3), numbers(32, seed=4)

    def function(x: amdgpu.Array) -> amdgpu.Array:
        y = ops.softmax(x @ weight + bias)
        return ops.layer_norm(y, 32) - amdgpu.mean(y, axis=0)

    same(function, numbers(16, 64))


def test_what_follows_a_product_becomes_part_of_it() -> None:
    weight, bias = numbers(64, 32, seed=3), numbers(32, seed=4)
    traced = amdgpu.jit(lambda x, r: ops.relu((x @ weight) * 0.5 + bias + r))
    x, r = numbers(16, 64), numbers(16, 32, seed=5)
    graph = traced.graph(x, r)
    assert operations(graph) == ["matmul"]
    assert 'activation = "relu"' in str(graph)
    expected = np.maximum((x.numpy() @ weight.numpy()) * 0.5 + bias.numpy() + r.numpy(), 0)
    np.testing.assert_allclose(traced(x, r).numpy(), expected, rtol=1e-5, atol=1e-5)


def test_images() -> None:
    weight = numbers(8, 3, 3, 3, seed=1)
    statistics = [numbers(8, seed=2), abs(numbers(8, seed=3)) + 0.5]

    def function(x: amdgpu.Array) -> amdgpu.Array:
        y = ops.relu(ops.batch_norm(ops.conv2d(x, weight, padding=1), *statistics))
        return ops.avg_pool2d(ops.max_pool2d(y, 2), 2)

    x = numbers(2, 3, 12, 12)
    traced = amdgpu.jit(function)
    # The statistics are part of the weights.
    assert "batch_norm" not in operations(traced.graph(x))
    np.testing.assert_allclose(traced(x).numpy(), function(x).numpy(), rtol=2e-6, atol=1e-6)


def test_rows_are_looked_up() -> None:
    table = numbers(20, 8)
    same(lambda i: ops.embedding(i, table) * 2.0, amdgpu.array(np.array([[1, 2], [19, 0]]), device="cpu:0"))


def test_values_that_are_assigned() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        y = x * 1.0
        y[1:3] = x[:2] * 5.0
        y[0] = 7.0
        y += 1.0
        return y

    same(function, numbers(6, 4))


def test_copies_of_views_that_are_seen_again() -> None:
    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        y = amdgpu.empty((4, 6), device="cpu:0", dtype="float32")
        y.copy_from(x.T)
        z = amdgpu.empty((4, 6), device="cpu:0", dtype="float32")
        z.copy_from(x.T * 1.0)
        z.fill(2.0)
        return y[1:, ::2] * 1.0, z.T[1:] + y.T[1:]

    same(function, numbers(6, 4))


def test_what_is_computed_twice_is_computed_once() -> None:
    graph = same(lambda x: amdgpu.sum(x, axis=0) + amdgpu.sum(x, axis=0) * 2.0, numbers(9, 5))
    assert operations(graph).count("sum") == 1


def test_nested_arguments_and_results() -> None:
    def function(layers: list[dict[str, Any]], x: amdgpu.Array) -> tuple[amdgpu.Array, dict[str, Any]]:
        for layer in layers:
            x = ops.tanh(x @ layer["weight"] + layer["bias"])
        return x, {"sum": amdgpu.sum(x), "count": len(layers)}

    layers = [{"weight": numbers(4, 4, seed=i), "bias": numbers(4, seed=10 + i)} for i in range(3)]
    x, rest = amdgpu.jit(function)(layers, numbers(2, 4))
    expected, wanted = function(layers, numbers(2, 4))
    np.testing.assert_allclose(x.numpy(), expected.numpy(), rtol=1e-6)
    assert rest["count"] == 3
    np.testing.assert_allclose(rest["sum"].numpy(), wanted["sum"].numpy(), rtol=1e-5)


def test_one_graph_for_each_shape_and_dtype() -> None:
    traced = amdgpu.jit(lambda x, factor=2.0: x * factor)
    for shape, dtype in [((3,), "float32"), ((4,), "float32"), ((3,), "float64"), ((3,), "float32")]:
        x = numbers(*shape, dtype=dtype)
        np.testing.assert_array_equal(traced(x).numpy(), x.numpy() * 2)
    assert traced.traces == 3
    assert traced(numbers(3), factor=3.0).numpy() == pytest.approx(numbers(3).numpy() * 3)
    assert traced.traces == 4


def test_arguments_with_gaps() -> None:
    x = numbers(8, 6)
    traced = amdgpu.jit(lambda x: x + 1.0)
    np.testing.assert_array_equal(traced(x.T).numpy(), x.numpy().T + 1)
    np.testing.assert_array_equal(traced(x[::2, ::3]).numpy(), x.numpy()[::2, ::3] + 1)


def test_an_argument_that_is_returned_is_copied() -> None:
    x = numbers(4)
    same_x, twice = amdgpu.jit(lambda x: (x, (x * 2.0)))(x)
    same_x.fill(0)
    assert x.numpy().any()
    assert twice.numpy().any()


def test_threads_share_a_graph() -> None:
    traced = amdgpu.jit(lambda x: amdgpu.sum(amdgpu.exp(x) * x, axis=1))
    inputs = [numbers(20, 300, seed=i) for i in range(8)]
    expected = [traced(x).numpy() for x in inputs]
    wrong: list[int] = []

    def work(index: int) -> None:
        for _ in range(20):
            if not np.array_equal(traced(inputs[index]).numpy(), expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_traced_functions_call_traced_functions() -> None:
    inner = amdgpu.jit(lambda x: x * 2.0)
    graph = same(lambda x: inner(x) + 1.0, numbers(5))
    assert operations(graph) == ["fused"]


@pytest.mark.parametrize(
    "look",
    [
        lambda x: float(amdgpu.sum(x)),
        lambda x: x.numpy(),
        lambda x: bool(x[0] > 0),
        lambda x: x.tolist(),
        np.asarray,
    ],
    ids=["float", "numpy", "bool", "tolist", "asarray"],
)
def test_values_are_not_looked_at(look: Callable[[amdgpu.Array], Any]) -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        look(x)
        return x * 2.0

    with pytest.raises(errors.NotCapturableError, match="traced"):
        amdgpu.jit(function)(numbers(3))
    assert function(numbers(3)) is not None


def test_arguments_are_not_changed() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        x += 1.0
        return x

    with pytest.raises(errors.NotCapturableError, match="argument 0 in place"):
        amdgpu.jit(function)(numbers(3))


def test_what_other_calls_would_give_is_not_repeated() -> None:
    generator = amdgpu.random.Generator(1)
    kernel = amdgpu.RawKernel(
        'extern "C" __global__ void twice(float* y, const float* x) { y[0] = 2 * x[0]; }', "twice"
    )

    def launch(x: amdgpu.Array) -> amdgpu.Array:
        y = amdgpu.empty(1, "float32", device="cpu:0")
        kernel((1,), (1,), (y, x))
        return y

    with pytest.raises(errors.NotCapturableError, match="a draw of random numbers"):
        amdgpu.jit(lambda x: x + generator.uniform(size=3, device="cpu:0"))(numbers(3))
    with pytest.raises(errors.NotCapturableError, match="launching a kernel of your own"):
        amdgpu.jit(launch)(numbers(1))


def test_writing_to_arrays_that_others_made() -> None:
    kept = numbers(3)

    def function(x: amdgpu.Array) -> amdgpu.Array:
        kept.copy_from(x)
        return x * 2.0

    with pytest.raises(errors.NotCapturableError, match="did not make itself"):
        amdgpu.jit(function)(numbers(3))


def test_a_graph_does_not_run_while_launches_are_recorded() -> None:
    traced = amdgpu.jit(lambda x: x + 1.0)
    x = numbers(3)
    traced(x)
    with pytest.raises(errors.NotCapturableError, match="running a graph of operations"), amdgpu.CapturedGraph():
        traced(x)


def test_numbers_of_other_types_have_graphs_of_their_own() -> None:
    traced = amdgpu.jit(lambda x, factor: x * factor)
    x = amdgpu.array(np.array([1, 2], np.int32), device="cpu:0")
    assert [traced(x, factor).dtype for factor in (1, 1.0, True)] == [(x * factor).dtype for factor in (1, 1.0, True)]
    y = numbers(2)
    assert np.signbit(traced(y * 0.0 + 1.0, -0.0).numpy()).all()
    assert not np.signbit(traced(y * 0.0 + 1.0, 0.0).numpy()).any()


def test_arguments_that_are_no_keys() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"cannot be part of the key .*pass arrays as amdgpu.array"):
        amdgpu.jit(lambda x, y: x)(numbers(3), np.ones(3))


def test_more_graphs_than_are_kept() -> None:
    traced = amdgpu.jit(lambda x, factor: x * factor)
    x = numbers(2)
    for factor in range(64):
        traced(x, float(factor))
    with pytest.warns(RuntimeWarning, match="traced for more than 64 combinations"):
        traced(x, 64.0)
    np.testing.assert_array_equal(traced(x, 0.0).numpy(), x.numpy() * 0)
    assert traced.traces == 66


def test_operations_that_graphs_do_not_hold() -> None:
    with pytest.raises(errors.NotCapturableError, match="nonzero cannot be part of a graph"):
        amdgpu.jit(lambda x: amdgpu.nonzero(x)[0])(numbers(3))


def test_errors_of_the_function_come_out() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        raise KeyError("mine")

    traced = amdgpu.jit(function)
    with pytest.raises(KeyError, match="mine"):
        traced(numbers(3))
    # Nothing is left behind by the one that failed.
    assert amdgpu.jit(lambda x: x + 1.0)(numbers(3)).shape == (3,)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.jit(lambda x, y: x + y)(numbers(3), numbers(4))


def test_without_an_array_there_is_nothing_to_trace() -> None:
    with pytest.raises(errors.InvalidArgumentError, match="no argument is an amdgpu"):
        amdgpu.jit(lambda x: x)(3.0)


def test_memory_is_shared() -> None:
    def function(x: amdgpu.Array) -> amdgpu.Array:
        for _ in range(10):
            x = ops.softmax(x)
        return x

    graph = amdgpu.jit(function).graph(numbers(100, 100))
    assert graph.shared_bytes < 3 * 40_960
    assert "memory of values within the graph" in graph.explain()


def test_how_long_nodes_take() -> None:
    graph = amdgpu.jit(lambda x: ops.softmax(x @ x)).graph(numbers(64, 64))
    outputs, timings = graph.profile(numbers(64, 64))
    assert [timing.operation for timing in timings] == ["matmul", "softmax"]
    assert all(timing.seconds > 0 for timing in timings)
    assert outputs[0].shape == (64, 64)


def test_picture() -> None:
    dot = amdgpu.jit(lambda x: amdgpu.tanh(x) * 2.0).graph(numbers(4)).to_dot()
    assert dot.startswith("digraph {")
    assert "fused: tanh, multiply" in dot

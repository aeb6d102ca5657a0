"""`amdgpu.graph`: graphs that are built by hand or parsed."""

from __future__ import annotations

import amdgpu
import numpy as np
import pytest
from amdgpu import errors
from amdgpu.graph import Graph


def build() -> Graph:
    graph = Graph()
    x = graph.input((2, 3), "float32", name="x")
    weight = graph.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    product = graph.add("matmul", x, weight, activation="relu")
    graph.outputs = [product, graph.add("sum", graph.add("multiply", product, 2.0), axes=[0], keepdims=True)]
    return graph


def test_shapes_are_inferred() -> None:
    graph = build()
    assert [output.shape for output in graph.outputs] == [(2, 4), (1, 4)]
    assert graph.add("argmax", graph.outputs[0], axes=[1]).dtype == "int64"


def test_a_graph_runs() -> None:
    x = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    expected = np.maximum(x @ np.arange(12, dtype=np.float32).reshape(3, 4), 0)
    for optimize in (True, False):
        product, total = build().compile("cpu:0", optimize=optimize)(amdgpu.array(x, device="cpu:0"))
        np.testing.assert_allclose(product.numpy(), expected, rtol=1e-6)
        np.testing.assert_allclose(total.numpy(), 2 * expected.sum(0, keepdims=True), rtol=1e-6)


def test_views_of_views() -> None:
    graph = Graph()
    x = graph.input((2, 3, 4))
    transposed = graph.permute_dims(x, (2, 0, 1))
    again = graph.permute_dims(transposed, (1, 0, 2))
    flat = graph.reshape(transposed, (4, -1))
    graph.outputs = [graph.add("multiply", again, 2.0), graph.add("sum", flat, axes=[0])]
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    double, total = graph.compile("cpu:0")(amdgpu.array(values, device="cpu:0"))
    np.testing.assert_array_equal(double.numpy(), 2 * values.transpose(2, 0, 1).transpose(1, 0, 2))
    np.testing.assert_array_equal(total.numpy(), values.transpose(2, 0, 1).reshape(4, -1).sum(0))


def test_where_is_inferred() -> None:
    graph = Graph()
    x = graph.input((2, 3))
    assert graph.add("where", graph.add("greater", x, 0.0), x, 0.0).shape == (2, 3)


def test_texts_are_read_again() -> None:
    graph = build()
    text = str(graph)
    weight = amdgpu.array(np.arange(12, dtype=np.float32).reshape(3, 4), device="cpu:0")
    again = Graph.parse(text, [weight])
    assert str(again) == text
    x = amdgpu.array(np.ones((2, 3), np.float32), device="cpu:0")
    for one, other in zip(graph.compile("cpu:0")(x), again.compile("cpu:0")(x), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_fused_graphs_are_read_again() -> None:
    traced = amdgpu.jit(lambda x: amdgpu.where(amdgpu.tanh(x) * 0.1 > 0.0, x.T[1:], -x.T[1:]))
    x = amdgpu.array(np.linspace(-2, 2, 9, dtype=np.float32).reshape(3, 3), device="cpu:0")
    with pytest.raises(errors.ShapeMismatchError):
        traced(x)
    traced = amdgpu.jit(lambda x: amdgpu.where(amdgpu.tanh(x.T[1:]) * 0.1 > 0.0, x.T[1:], -x.T[1:]))
    graph = traced.graph(x)
    again = Graph.parse(str(graph))
    assert str(again) == str(graph)
    np.testing.assert_array_equal(again.compile("cpu:0", optimize=False)(x)[0].numpy(), traced(x).numpy())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%0 = input : float32[2]\n%1 = adds(%0, %0)\nreturn %1", "line 2: there is no operation"),
        ("%0 = input : float32[2]\n%1 = add(%0, %2)\n%2 = exp(%1)\nreturn %2", "without cycles"),
        ("%0 = input : float32[2]\n%1 = input : float32[3]\n%2 = add(%0, %1)\nreturn %2", "line 3"),
        ("%0 = input : float32[2]", "names no outputs"),
        ("%0 = input : float32[2]\nreturn %4", "line 2: %4 does not come before"),
        ("%0 = input : float33[2]\nreturn %0", "no dtype is called"),
        ("%0 = input : float32[-2]\nreturn %0", "negative"),
        ("%0 = constant : float32[2]\nreturn %0", "no array for this constant"),
        ("%0 = input : float32[2]\n%1 = sum(%0) {axis = 0}\nreturn %1", "no option axis; there are axes"),
        ("%0 = input : float32[2]\n%1 = exp(%0) : float32[3]\nreturn %1", "exp gives float32"),
        ("%0 = input : float32[2]\n%1 = view(%0) {offset = 4, strides = [1]} : float32[2]\nreturn %1", "outside of %0"),
        ("%0 = input : float32[2]\n%1 = exp(%0, %0)\nreturn %1", "takes 1 inputs, not 2"),
        ("%0 = input : float32[2] more\nreturn %0", "is too much"),
    ],
)
def test_texts_that_are_no_graphs(text: str, message: str) -> None:
    with pytest.raises(errors.AmdgpuError, match=message):
        Graph.parse(text)


def test_bad_graphs() -> None:
    graph = Graph()
    x = graph.input((2, 3))
    with pytest.raises(errors.InvalidArgumentError, match='there is no operation "adds"'):
        graph.add("adds", x, x)
    with pytest.raises(errors.ShapeMismatchError):
        graph.add("matmul", x, x)
    with pytest.raises(errors.ShapeMismatchError):
        graph.reshape(x, (4,))
    with pytest.raises(errors.InvalidArgumentError, match="does not name each"):
        graph.permute_dims(x, (0, 0))
    with pytest.raises(errors.InvalidArgumentError, match="no outputs"):
        graph.compile("cpu:0")
    with pytest.raises(errors.InvalidArgumentError, match="option"):
        graph.add("softmax", x, axis=1)


def test_arguments_are_checked() -> None:
    run = build().compile("cpu:0")
    with pytest.raises(errors.ShapeMismatchError, match="argument 0 has shape"):
        run(amdgpu.zeros((3, 3), device="cpu:0"))
    with pytest.raises(errors.UnsupportedDtypeError, match="argument 0 has dtype float64"):
        run(amdgpu.zeros((2, 3), dtype="float64", device="cpu:0"))
    with pytest.raises(errors.InvalidArgumentError, match="takes 1 arguments"):
        run()


@pytest.mark.parametrize(
    "dtypes", [("float16", "float16"), ("float32", "float64"), ("int32", "int32"), ("complex64", "float32")]
)
def test_products_of_dtypes_that_are_converted_are_inferred(dtypes: tuple[str, str]) -> None:
    a, b = (np.arange(6).reshape(2, 3).astype(dtype) for dtype in dtypes)
    expected = amdgpu.array(a, device="cpu:0") @ amdgpu.array(b.T.copy(), device="cpu:0")
    graph = Graph()
    product = graph.add("matmul", *(graph.input(one.shape, one.dtype.name) for one in (a, b)), transpose_b=True)
    graph.outputs = [product]
    made = graph.compile("cpu:0")(*(amdgpu.array(one, device="cpu:0") for one in (a, b)))[0]
    assert (made.dtype.name, made.shape) == (product.dtype, product.shape)
    np.testing.assert_allclose(made.numpy().astype(complex), expected.numpy().astype(complex))

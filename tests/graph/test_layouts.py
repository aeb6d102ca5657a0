"""Layouts of images inside graphs: convolutions change to the faster one together, and results agree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
from amdgpu import ops
from amdgpu.graph import Graph

TO_FIRST, TO_LAST = (0, 3, 1, 2), (0, 2, 3, 1)


def numbers(*shape: int, seed: int = 0, scale: float = 1.0) -> amdgpu.Array:
    values = np.random.default_rng(seed).standard_normal(shape) * scale
    return amdgpu.array(values.astype(np.float32), device="cpu:0")


def flat(value: Any) -> list[amdgpu.Array]:
    return [array for one in value for array in flat(one)] if isinstance(value, tuple) else [value]


def agrees(function: Callable[..., Any], *arguments: amdgpu.Array) -> tuple[str, str]:
    """Checks the graph, and its text read again, against the function; returns what explains it, and the text of the graph."""
    traced = amdgpu.jit(function)
    expected = flat(function(*arguments))
    graph = traced.graph(*arguments)
    for made in (flat(traced(*arguments)), graph(*arguments)):
        for got, wanted in zip(made, expected, strict=True):
            assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=2e-5)
    if "constant" not in {node["operation"] for node in graph.nodes}:
        again = Graph.parse(str(graph))
        assert str(again) == str(graph)
        for got, wanted in zip(again.compile("cpu:0", optimize=False)(*arguments), expected, strict=True):
            np.testing.assert_allclose(got.numpy(), wanted.numpy(), rtol=2e-5, atol=2e-5)
    return traced.explain(*arguments), str(graph)


def weights(*extents: int, window: int = 1) -> list[amdgpu.Array]:
    pairs = zip(extents[:-1], extents[1:], strict=True)
    return [
        numbers(b, a, window, window, seed=place, scale=1 / np.sqrt(a * window * window))
        for place, (a, b) in enumerate(pairs)
    ]


def test_convolutions_change_together() -> None:
    first, second = weights(16, 32, 32)

    def function(x: amdgpu.Array, bias: amdgpu.Array) -> amdgpu.Array:
        y = amdgpu.permute_dims(x, TO_LAST)
        y = ops.relu(ops.conv2d(y, first, layout="NHWC") + bias)
        return amdgpu.permute_dims(ops.conv2d(y * 2.0, second, layout="NHWC") + y, TO_FIRST)

    text, graph = agrees(function, numbers(2, 16, 10, 12), numbers(32, seed=3))
    assert "2 convolutions around %" in text
    assert "are computed in NCHW instead of NHWC, with 0 transposed images at the borders" in text
    assert 'layout = "NHWC"' not in graph
    assert "transpose(" not in graph


def test_pooling_and_batch_norms_change_with_convolutions() -> None:
    first, second = weights(32, 32, 32)

    def function(x: amdgpu.Array, mean: amdgpu.Array, variance: amdgpu.Array) -> tuple[amdgpu.Array, amdgpu.Array]:
        y = ops.conv2d(amdgpu.permute_dims(x, TO_LAST), first, layout="NHWC")
        y = ops.relu(ops.batch_norm(y, mean, variance, channel_axis=3))
        pooled = ops.max_pool2d(y, 2, layout="NHWC")
        z = ops.conv2d(pooled, second, layout="NHWC") * 0.5 + pooled
        return amdgpu.permute_dims(z, TO_FIRST), amdgpu.mean(z, axis=(1, 2))

    text, graph = agrees(function, numbers(2, 32, 16, 16), numbers(32, seed=4), abs(numbers(32, seed=5)) + 0.5)
    assert "2 convolutions around %" in text
    assert "in NCHW instead of NHWC, with 1 transposed images at the borders" in text
    assert 'layout = "NHWC"' not in graph
    assert graph.count("transpose(") == 1


def test_images_that_are_transposed_already_are_not_transposed_again() -> None:
    (weight,) = weights(32, 32, window=3)

    def function(x: amdgpu.Array) -> amdgpu.Array:
        y = ops.conv2d(amdgpu.permute_dims(x, TO_FIRST), weight, padding=1)
        return amdgpu.permute_dims(ops.relu(y), TO_LAST) + 1.0

    text, graph = agrees(function, numbers(1, 20, 20, 32))
    assert "1 convolutions around" in text
    assert "are computed in NHWC instead of NCHW, with 0 transposed images at the borders" in text
    assert "view" not in graph
    assert "transpose(" not in graph


def test_what_does_not_pay_stays() -> None:
    (weight,) = weights(8, 8, window=3)
    for layout, shape in (("NCHW", (1, 8, 20, 20)), ("NHWC", (1, 20, 20, 8))):
        text, graph = agrees(
            lambda x, layout=layout: ops.conv2d(x, weight, padding=1, layout=layout) * 2.0, numbers(*shape)
        )
        assert f"stay {layout}" in text
        assert "transpose(" not in graph


def test_operands_that_are_neither_images_nor_channels_keep_steps_where_they_are() -> None:
    first, second = weights(32, 32, 32)

    def function(x: amdgpu.Array, column: amdgpu.Array) -> amdgpu.Array:
        y = ops.conv2d(amdgpu.permute_dims(x, TO_LAST), first, layout="NHWC") * column
        return amdgpu.permute_dims(ops.conv2d(y, second, layout="NHWC"), TO_FIRST)

    agrees(function, numbers(1, 32, 14, 14), numbers(14, 1, seed=3))


@pytest.mark.parametrize("shape", [(1,), (24,), (1, 24), (1, 1, 1, 24), (1, 1, 1, 1)])
def test_operands_of_images_with_channels_last(shape: tuple[int, ...]) -> None:
    first, second = weights(24, 24, 24)

    def function(x: amdgpu.Array, factor: amdgpu.Array) -> amdgpu.Array:
        y = ops.conv2d(amdgpu.permute_dims(x, TO_LAST), first, layout="NHWC") * factor
        return amdgpu.permute_dims(ops.conv2d(y, second, layout="NHWC") - factor, TO_FIRST)

    text, _ = agrees(function, numbers(1, 24, 14, 14), numbers(*shape, seed=3))
    assert "in NCHW instead of NHWC, with 0 transposed" in text


@pytest.mark.parametrize("shape", [(1,), (24, 1, 1), (1, 24, 1, 1), (1, 1, 1)])
def test_operands_of_images_with_channels_first(shape: tuple[int, ...]) -> None:
    first, second = weights(24, 24, 24, window=3)

    def function(x: amdgpu.Array, factor: amdgpu.Array) -> amdgpu.Array:
        y = ops.conv2d(amdgpu.permute_dims(x, TO_FIRST), first, padding=1) * factor
        return amdgpu.permute_dims(ops.conv2d(y, second, padding=1) - factor, TO_LAST)

    text, _ = agrees(function, numbers(1, 14, 14, 24), numbers(*shape, seed=3))
    assert "in NHWC instead of NCHW, with 0 transposed" in text


def test_images_whose_extents_are_all_the_same() -> None:
    (first,) = weights(16, 16)

    def function(x: amdgpu.Array, r: amdgpu.Array) -> amdgpu.Array:
        y = amdgpu.permute_dims(x, TO_LAST)
        return amdgpu.permute_dims(ops.conv2d(y + r, first, layout="NHWC") * r, TO_FIRST)

    text, _ = agrees(function, numbers(16, 16, 16, 16), numbers(16, seed=2))
    assert "in NCHW instead of NHWC" in text


def test_several_readers_and_outputs() -> None:
    first, second = weights(32, 64, 32)

    def function(x: amdgpu.Array) -> tuple[amdgpu.Array, ...]:
        seen = amdgpu.permute_dims(x, TO_LAST)
        y = ops.conv2d(seen, first, layout="NHWC")
        z = ops.conv2d(ops.relu(y), second, layout="NHWC")
        return z, amdgpu.permute_dims(z, TO_FIRST), z + seen, amdgpu.sum(y, axis=3)

    agrees(function, numbers(1, 32, 14, 14))


def test_images_that_go_to_and_fro() -> None:
    first, second, third = weights(16, 16, 16, 16, window=3)

    def function(x: amdgpu.Array) -> amdgpu.Array:
        y = ops.conv2d(x, first, padding=1)
        y = amdgpu.permute_dims(ops.conv2d(amdgpu.permute_dims(y, TO_LAST), second, padding=1, layout="NHWC"), TO_FIRST)
        return ops.conv2d(ops.relu(y), third, padding=1)

    _, graph = agrees(function, numbers(1, 16, 20, 20))
    assert 'layout = "NHWC"' not in graph
    assert "transpose(" not in graph

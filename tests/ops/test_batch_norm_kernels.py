"""The kernels of batch normalisation, run on the CPU device beside the CPU itself: with the same statistics they have the same bits."""

from __future__ import annotations

from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-12}
FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
# Channels second and last, tails behind whole groups of elements, one channel, one pixel, many channels.
SHAPES = (
    ((2, 3, 5, 7), 1),
    ((3, 4, 4, 6), -1),
    ((3, 5, 4, 8), -1),
    ((5, 1, 9), 1),
    ((4, 2050), 1),
    ((7, 3, 4), 0),
    ((0, 3, 2), 1),
    ((2, 0, 2), 1),
)


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def given(shape: tuple[int, ...], axis: int, dtype: Any) -> tuple[Any, ...]:
    """x, mean, variance, weight and bias."""
    random = np.random.default_rng(sum(shape))
    channels = shape[axis]
    x, mean, weight, bias = (random.standard_normal(one) for one in (shape, channels, channels, channels))
    return x.astype(dtype), mean.astype("f4"), random.uniform(0.1, 4, channels), weight.astype(dtype), bias.astype("f2")


def close(results: Any, expected: Any, dtype: Any) -> None:
    """Sums have another order on devices."""
    for result, wanted in zip(results, expected, strict=True):
        got, want = result.numpy(), np.asarray(wanted)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        bound = TOLERANCES[np.dtype(dtype).name]
        np.testing.assert_allclose(got.astype("f8"), want.astype("f8"), rtol=bound, atol=bound)


def same(results: Any, expected: Any) -> None:
    for result, wanted in zip(results, expected, strict=True):
        assert result.numpy().tobytes() == np.asarray(wanted).tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda one: np.dtype(one).name)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_kernels_give_the_bits_of_the_cpu(cpu: Any, shape: tuple[int, ...], axis: int, dtype: Any) -> None:
    x, mean, variance, weight, bias = given(shape, axis, dtype)
    lent = {id(one): amdgpu.array(one, device="cpu:0") for one in (x, mean, variance, weight, bias)}
    for arguments in (
        (x, mean, variance, weight, bias),
        (x, mean, variance, None, bias),
        (x, mean, variance, weight, None),
    ):
        moved = [lent.get(id(one)) for one in arguments]
        same([_native.batch_norm(*moved, 1e-5, axis, device=cpu)], [_native.batch_norm(*arguments, 1e-5, axis)])
    training = _native.batch_norm_training(lent[id(x)], lent[id(weight)], None, 1e-5, axis, device=cpu)
    close(training, _native.batch_norm_training(x, weight, None, 1e-5, axis), dtype)
    gradient = np.random.default_rng(1).standard_normal(shape).astype(dtype)
    passed = amdgpu.array(gradient, device="cpu:0")
    for factor in (None, weight):
        moved_factor = None if factor is None else lent[id(weight)]
        found = _native.batch_norm_gradient(lent[id(x)], passed, moved_factor, 1e-5, axis, device=cpu)
        close(found, _native.batch_norm_gradient(x, gradient, factor, 1e-5, axis), dtype)


def test_statistics_beyond_float32_are_used_in_float64(cpu: Any) -> None:
    x = np.full((2, 2, 3), 1e-3, np.float32)
    mean, variance = np.array([1e-40, 0.0]), np.array([1.0, 1e-90])
    expected = _native.batch_norm(x, mean, variance, None, None, 0.0, 1)
    moved = [amdgpu.array(one, device="cpu:0") for one in (x, mean, variance)]
    same([_native.batch_norm(*moved, None, None, 0.0, 1, device=cpu)], [expected])


def test_parameters_that_lie_elsewhere_are_taken(cpu: Any) -> None:
    x = amdgpu.array(np.arange(12, dtype=np.float32).reshape(2, 3, 2), device="cpu:0")
    found = _native.batch_norm(x, np.zeros(3), np.ones(3), None, None, 0.0, 1, device=cpu)
    assert np.array_equal(found.numpy(), x.numpy())

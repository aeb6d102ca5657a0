"""Statistics of narrow types against float64, from subnormal values to almost the largest: the library's and the generated kernels'."""

from collections.abc import Iterator

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native, ops

NARROW = [np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16), np.dtype(np.float32)]
INTEGERS = [np.dtype(name) for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")]
# Half of a unit in the last place.
ROUNDING = {"float16": 2.0**-11, "bfloat16": 2.0**-8, "float32": 2.0**-24, "float64": 2.0**-53}
ROWS = 4


@pytest.fixture(scope="module")
def device() -> Iterator[amdgpu.AMDGPUDevice]:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def magnitudes(dtype):
    info = ml_dtypes.finfo(dtype)
    least, most = np.log2(float(info.smallest_normal)), np.log2(float(info.max))
    steps = [2.0**exponent for exponent in np.linspace(least * 0.8, most - 3, 4)]
    return [float(info.smallest_subnormal) * 40, float(info.smallest_normal) * 4, *steps, 300.0, float(info.max) / 1.01]


def samples(dtype, length):
    """Arrays around zero and far from it, of every magnitude."""
    rng = np.random.default_rng(length)
    for magnitude in magnitudes(dtype):
        for center, spread in ((0.0, 1.0), (0.7, 0.25)):
            yield ((rng.uniform(-spread, spread, (ROWS, length)) + center) * magnitude).astype(dtype)


def as_longdouble(values):
    return np.asarray(values.numpy() if isinstance(values, _native.Array) else values).astype(np.longdouble)


def check(result, expected, dtype, scale):
    """The result is the expectation, rounded, within eight units of rounding of a scale."""
    rounded = expected.astype(dtype).astype(np.longdouble)
    got = as_longdouble(result)
    info = ml_dtypes.finfo(dtype)
    bound = 8 * ROUNDING[dtype.name] * np.abs(scale) + 2 * float(info.smallest_subnormal)
    with np.errstate(invalid="ignore"):
        is_right = (np.abs(got - expected) <= bound) | (got == rounded)
    assert is_right.all(), f"{got[~is_right].ravel()[:4]}, not {expected[~is_right].ravel()[:4]}"


def layer_norm(x, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)


def rms_norm(x, eps):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + eps)


@pytest.mark.parametrize("length", [7, 5000])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("is_generated", [False, True], ids=["library", "generated"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_moments_are_those_of_wide_types(device, dtype, length, is_generated):
    def reduced(name, x):
        if is_generated:
            return _native.reduce_on_device(name, amdgpu.array(x, device="cpu:0"), (1,), device=device)
        return getattr(ops, name)(x, 1)

    for x in samples(dtype, length):
        wide = x.astype(np.longdouble)
        largest = np.abs(wide).max(1)
        check(reduced("mean", x), wide.mean(1), dtype, largest)
        check(reduced("sum", x), wide.sum(1), dtype, np.abs(wide).sum(1))
        check(reduced("var", x), wide.var(1), dtype, wide.var(1))
        check(reduced("std", x), wide.std(1), dtype, wide.std(1))


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.filterwarnings("ignore:overflow")
def test_moments_of_columns_are_those_of_wide_types(dtype):
    for x in samples(dtype, 2000):
        columns, wide = np.ascontiguousarray(x.T), x.T.astype(np.longdouble)
        check(ops.mean(columns, 0), wide.mean(0), dtype, np.abs(wide).max(0))
        check(ops.std(columns, 0), wide.std(0), dtype, wide.std(0))


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("length", [7, 300, 5000])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("is_generated", [False, True], ids=["library", "generated"])
def test_norms_are_those_of_wide_types(device, dtype, length, eps, is_generated):
    definitions = {"layer_norm": layer_norm, "rms_norm": rms_norm}
    for x in samples(dtype, length):
        wide = x.astype(np.longdouble)
        for name, definition in definitions.items():
            if is_generated:
                given = amdgpu.array(x, device="cpu:0")
                result = _native.normalize_on_device(name, given, (), (1,), epsilon=eps, device=device)
            else:
                result = getattr(ops, name)(x, length, eps=eps)
            expected = definition(wide, eps)
            check(result, expected, dtype, np.abs(expected) + 2)


@pytest.mark.parametrize("eps", [0.0, 1e-5])
@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_batch_norm_keeps_the_digits_of_its_statistics(dtype, eps):
    for x in samples(dtype, 600):
        images = np.ascontiguousarray(x.reshape(ROWS, 3, 200))
        wide = images.astype(np.longdouble)
        mean, variance = wide.mean((0, 2)), wide.var((0, 2))
        expected = (wide - mean[:, None]) / np.sqrt(variance[:, None] + eps)
        result, *statistics = ops.batch_norm_training(images, eps=eps)
        assert result.dtype == dtype
        assert [one.dtype for one in statistics] == [np.float32, np.float32]
        check(result, expected, dtype, np.abs(expected) + 4)
        check(statistics[0], mean, np.dtype(np.float32), np.abs(wide).max((0, 2)))


def test_batch_norm_of_float16_with_a_large_deviation():
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((16, 3, 8, 8)) * 1000).astype(np.float16)
    wide = x.astype(np.float64)
    axes = (0, 2, 3)
    expected = (wide - wide.mean(axes, keepdims=True)) / wide.std(axes, keepdims=True)
    result, _, variance = ops.batch_norm_training(x)
    assert np.abs(result.astype(np.float64) - expected).max() < 2e-3
    np.testing.assert_allclose(variance, wide.var(axes), rtol=1e-6)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
@pytest.mark.parametrize("is_generated", [False, True], ids=["library", "generated"])
def test_moments_of_integers_are_those_of_float64(device, dtype, is_generated):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(1)
    for low, high in ((info.min, info.max), (info.max - 7, info.max), (0, 3)):
        x = rng.integers(low, high, (ROWS, 3000), dtype=dtype, endpoint=True)
        # float64 holds integers of 64 bits to 53.
        values = x.astype(np.float64).astype(np.longdouble)
        for name, expected in (("mean", values.mean(1)), ("std", values.std(1)), ("var", values.var(1))):
            if is_generated:
                result = _native.reduce_on_device(name, amdgpu.array(x, device="cpu:0"), (1,), device=device)
            else:
                result = getattr(ops, name)(x, 1)
            assert result.dtype == np.float64
            check(result, expected, np.dtype(np.float64), np.abs(expected) * 64)


def gradients_of_norm(x, gradient, eps, is_centred):
    """Of layer_norm or rms_norm by x and the scale."""
    centred = x - x.mean(-1, keepdims=True) if is_centred else x
    factor = 1 / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)
    normalised = centred * factor
    level = gradient.mean(-1, keepdims=True) if is_centred else 0
    by_x = factor * (gradient - level - normalised * (gradient * normalised).mean(-1, keepdims=True))
    return by_x, (normalised * gradient).sum(0), factor


@pytest.mark.parametrize("dtype", NARROW, ids=str)
@pytest.mark.parametrize("is_generated", [False, True], ids=["library", "generated"])
@pytest.mark.filterwarnings("ignore:overflow")
def test_gradients_of_norms_are_those_of_wide_types(device, dtype, is_generated):
    rng = np.random.default_rng(5)
    length = 300
    gradient = rng.standard_normal((ROWS, length)).astype(dtype)
    wide_gradient = gradient.astype(np.longdouble)
    for x in samples(dtype, length):
        for name in ("layer_norm", "rms_norm"):
            by_x, by_weight, factor = gradients_of_norm(
                x.astype(np.longdouble), wide_gradient, 0.0, name == "layer_norm"
            )
            if is_generated:
                given = (amdgpu.array(x, device="cpu:0"), amdgpu.array(gradient, device="cpu:0"))
                results = [_native.normalize_gradient_on_device(name, *given, None, (1,), epsilon=0.0, device=device)]
            else:
                results = getattr(ops, f"{name}_gradient")(x, gradient, length, eps=0.0)
            check(results[0], by_x, dtype, factor * 8 * (1 + np.abs(wide_gradient)))
            if not is_generated:
                check(results[1], by_weight, dtype, np.abs(by_weight) + 8)


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_gradients_of_batch_norm_take_every_float(dtype):
    rng = np.random.default_rng(6)
    x, gradient = ((rng.standard_normal((8, 3, 50)) * size).astype(dtype) for size in (1000, 1))
    wide, above = x.astype(np.float64), gradient.astype(np.float64)
    axes = (0, 2)
    deviation = 1 / np.sqrt(wide.var(axes, keepdims=True) + 1e-5)
    normalised = (wide - wide.mean(axes, keepdims=True)) * deviation
    by_weight = (above * normalised).sum(axes)
    by_x = deviation * (
        above - above.mean(axes, keepdims=True) - normalised * (above * normalised).mean(axes, keepdims=True)
    )
    results = ops.batch_norm_gradient(x, gradient)
    assert [one.dtype for one in results] == [dtype] * 3
    check(results[0], by_x, dtype, np.abs(by_x) + deviation)
    check(results[1], by_weight, dtype, np.abs(by_weight) + 20)
    check(results[2], above.sum(axes), dtype, np.abs(above).sum(axes))


def test_products_of_gradients_do_not_overflow_before_they_are_summed():
    largest = np.finfo(np.float16).max / 4
    x = np.zeros((2, 64), np.float16)
    x[:, 0] = 1
    gradient = np.zeros((2, 64), np.float16)
    gradient[0, 0], gradient[1, 0] = largest, -largest
    _, by_weight, by_bias = ops.layer_norm_gradient(x, gradient, 64)
    assert by_weight[0] == by_bias[0] == 0
    assert ops.rms_norm_gradient(x, gradient, 64)[1][0] == 0

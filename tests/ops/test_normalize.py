"""amdgpu.ops: softmax and normalisations against their definitions in float64."""

import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native, errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, arrange, layouts

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def softmax(x, axis):
    shifted = np.exp(x - x.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def layer_norm(x, axes, weight, bias, eps):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps) * weight + bias


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.integers(-4, 3),
    layouts,
    st.sampled_from(FLOATS),
    st.sampled_from(["softmax", "log_softmax"]),
)
def test_softmax_over_any_axis_of_any_layout(shape, axis, layout, dtype, name):
    axis %= len(shape)
    rng = np.random.default_rng(sum(shape))
    x = arrange((rng.standard_normal(shape) * 4).astype(dtype), layout)
    expected = {"softmax": softmax, "log_softmax": log_softmax}[name](x.astype(np.float64), axis)
    result = getattr(ops, name)(x, axis)
    assert result.dtype == dtype
    assert result.shape == x.shape
    # The difference from the maximum is rounded before the exponential, which turns its size into a relative error.
    distance = np.abs(x.astype(np.float64) - x.astype(np.float64).max(axis, keepdims=True))
    factor = np.abs(expected) * (8 + distance) if name == "softmax" else 8 * (1 + np.abs(expected))
    bound = EPS[dtype.name] * factor + float(ml_dtypes.finfo(dtype).smallest_subnormal)
    assert (np.abs(result.astype(np.float64) - expected) <= bound).all()


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 1000, 4096, 4097, 100_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_softmax_sum_to_one(columns, dtype, rng):
    x = (rng.standard_normal((3, columns)) * 5).astype(dtype)
    result = ops.softmax(x)
    expected = softmax(x.astype(np.float64), -1)
    distance = x.max(-1, keepdims=True).astype(np.float64) - x
    assert (np.abs(result - expected) <= (6 + distance) * np.finfo(dtype).eps * expected).all()
    np.testing.assert_allclose(result.astype(np.float64).sum(-1), 1, rtol=8 * np.finfo(dtype).eps)


@pytest.mark.parametrize("shape", [(1000, 700), (3, 33, 300), (40, 17)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax_of_columns(shape, dtype, rng):
    x = (rng.standard_normal(shape) * 5).astype(dtype)
    axis = len(shape) - 2
    distance = x.max(axis, keepdims=True).astype(np.longdouble) - x
    expected = softmax(x.astype(np.longdouble), axis)
    assert (np.abs(ops.softmax(x, axis) - expected) <= (8 + distance) * np.finfo(dtype).eps * expected).all()
    expected = log_softmax(x.astype(np.longdouble), axis)
    assert (np.abs(ops.log_softmax(x, axis) - expected) <= 8 * np.finfo(dtype).eps * (1 + np.abs(expected))).all()
    one = _native.normalize("log_softmax", x, (), (axis,), threads=1)
    assert _native.normalize("log_softmax", x, (), (axis,), threads=3).tobytes() == one.tobytes()
    spoiled = x.copy()
    spoiled[..., 3, 5] = np.nan
    spoiled[..., 2, 6] = np.inf
    result = ops.softmax(spoiled, axis)
    assert np.isnan(result[..., :, 5:7]).all()
    np.testing.assert_array_equal(result[..., :, 7:], ops.softmax(x, axis)[..., :, 7:])
    expected = ops.softmax(x, axis)
    ops.softmax(x, axis, out=x)
    np.testing.assert_array_equal(x, expected)


def test_special_values_stay_within_their_row():
    inf, nan = np.inf, np.nan
    x = np.float32([[0, inf, 0], [-inf, 0, 0], [0, nan, 1], [-inf, -inf, -inf], [3e38, -3e38, 0], [1, 1, 1]])
    with np.errstate(invalid="ignore"):
        expected = softmax(x.astype(np.float64), -1)
    np.testing.assert_allclose(ops.softmax(x), expected, rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(ops.log_softmax(x)).all(-1), [True, False, True, True, False, False])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=4),
    st.integers(1, 4),
    layouts,
    st.sampled_from(FLOATS),
    st.sampled_from(["none", "weight", "bias", "both"]),
)
def test_layer_norm_over_the_last_axes(shape, normalized, layout, dtype, parameters):
    normalized = min(normalized, len(shape))
    extents = tuple(shape[len(shape) - normalized :])
    rng = np.random.default_rng(sum(shape))
    x = arrange((rng.standard_normal(shape) * 2 + 1).astype(dtype), layout)
    weight = rng.standard_normal(extents).astype(dtype) if parameters in ("weight", "both") else None
    bias = rng.standard_normal(extents).astype(dtype) if parameters in ("bias", "both") else None
    axes = tuple(range(len(shape) - normalized, len(shape)))
    wide = [1.0 if weight is None else weight.astype(np.float64), 0.0 if bias is None else bias.astype(np.float64)]
    expected = layer_norm(x.astype(np.float64), axes, *wide, 1e-2)
    result = ops.layer_norm(x, extents, weight, bias, 1e-2)
    assert result.dtype == dtype
    bound = 40 * EPS[dtype.name] * (1 + np.abs(wide[0])) * (1 + np.abs(expected))
    assert (np.abs(result.astype(np.float64) - expected) <= bound).all()


def test_norms_of_long_rows(rng):
    x = (rng.standard_normal((5, 10_001)) + 100).astype(np.float32)
    np.testing.assert_allclose(ops.layer_norm(x, 10_001), layer_norm(x.astype(np.float64), -1, 1, 0, 1e-5), atol=2e-5)
    weight = rng.standard_normal(10_001).astype(np.float32)
    expected = x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(ops.rms_norm(x, 10_001, weight), expected, rtol=1e-6)


@pytest.mark.parametrize("threads", [2, 3, 7])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_number_of_threads_gives_the_same_bits(threads, order, rng):
    x = np.asarray(rng.standard_normal((101, 301)).astype(np.float32), order=order)
    one = _native.normalize("softmax", x, (), (-1,), threads=1)
    assert _native.normalize("softmax", x, (), (-1,), threads=threads).tobytes() == one.tobytes()


def test_out_may_be_the_input(rng):
    x = rng.standard_normal((7, 33)).astype(np.float32)
    expected = ops.softmax(x)
    assert ops.softmax(x, out=x) is x
    np.testing.assert_array_equal(x, expected)
    x = rng.standard_normal((33, 7)).astype(np.float32).T
    expected = ops.layer_norm(x, 33)
    ops.layer_norm(x, 33, out=x)
    np.testing.assert_array_equal(x, expected)


def test_bad_arguments_are_refused():
    x = np.zeros((2, 3), np.float32)
    with pytest.raises(errors.InvalidArgumentError, match=r"softmax: axis 2 is out of range for x of shape \[2, 3\]"):
        ops.softmax(x, 2)
    with pytest.raises(errors.InvalidArgumentError, match="axis -1 is out of range"):
        ops.softmax(np.float32(1))
    with pytest.raises(errors.InvalidTypeError, match=r"axis is 1\.5"):
        ops.softmax(x, 1.5)
    with pytest.raises(errors.ShapeMismatchError, match=r"does not end in the normalised shape \[4\]"):
        ops.layer_norm(x, 4)
    with pytest.raises(errors.ShapeMismatchError, match=r"scale has shape \[2\]"):
        ops.layer_norm(x, 3, np.ones(2, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="wider than x"):
        ops.layer_norm(x, 3, np.ones(3))
    with pytest.raises(errors.InvalidArgumentError, match="eps is -1"):
        ops.layer_norm(x, 3, eps=-1.0)
    with pytest.raises(errors.InvalidArgumentError, match="no axis"):
        ops.layer_norm(x, ())
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        ops.softmax(x[:, ::-1], out=x)
    with pytest.raises(errors.UnsupportedDtypeError):
        ops.softmax(np.zeros(3, complex))


def test_integers_and_empty_arrays():
    assert ops.softmax(np.array([1, 1])).tolist() == [0.5, 0.5]
    assert ops.softmax(np.zeros((0, 3), np.float32)).shape == (0, 3)
    assert ops.softmax(np.zeros((3, 0), np.float32)).shape == (3, 0)
    assert ops.softmax(np.ones((2, 2), BFLOAT16)).dtype == BFLOAT16


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(1, 7), min_size=2, max_size=4),
    st.booleans(),
    layouts,
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_batch_norm_with_given_and_own_statistics(shape, is_last, layout, dtype, has_parameters):
    axis = -1 if is_last else 1
    rng = np.random.default_rng(sum(shape))
    x = arrange((rng.standard_normal(shape) + 1).astype(dtype), layout)
    channels = shape[axis]
    weight, bias = (
        (rng.standard_normal(channels).astype(np.float32) for _ in range(2)) if has_parameters else (None, None)
    )
    others = tuple(other for other in range(len(shape)) if other != axis % len(shape))
    wide = x.astype(np.float64)
    expand = [channels if other == axis % len(shape) else 1 for other in range(len(shape))]

    def normalised(mean, variance):
        scale = (1.0 if weight is None else weight.astype(float)) / np.sqrt(variance + 1e-2)
        shift = np.zeros(channels) if bias is None else bias
        return (wide - mean.reshape(expand)) * np.broadcast_to(scale, channels).reshape(expand) + shift.reshape(expand)

    mean, variance = rng.standard_normal(channels), rng.random(channels)
    expected = normalised(mean, variance)
    result = ops.batch_norm(x, mean, variance, weight, bias, eps=1e-2, channel_axis=axis)
    assert result.dtype == dtype
    assert (np.abs(result.astype(float) - expected) <= 30 * EPS[dtype.name] * (5 + np.abs(expected))).all()

    result, own_mean, own_variance = ops.batch_norm_training(x, weight, bias, eps=1e-2, channel_axis=axis)
    assert (np.abs(own_mean.astype(float) - wide.mean(others)) <= 8 * EPS[dtype.name] * 4).all()
    assert (np.abs(own_variance.astype(float) - wide.var(others)) <= 8 * EPS[dtype.name] * 16).all()
    expected = normalised(own_mean.astype(float), own_variance.astype(float))
    assert (np.abs(result.astype(float) - expected) <= 60 * EPS[dtype.name] * (5 + np.abs(expected))).all()


def test_bad_batch_norms_are_refused():
    x = np.zeros((2, 3, 4), np.float32)
    with pytest.raises(errors.ShapeMismatchError, match=r"mean has shape \[2\]"):
        ops.batch_norm(x, np.zeros(2), np.zeros(3))
    with pytest.raises(errors.ShapeMismatchError, match="channel_axis is 3"):
        ops.batch_norm(x, np.zeros(3), np.zeros(3), channel_axis=3)
    with pytest.raises(errors.UnsupportedDtypeError, match="floats are normalised"):
        ops.batch_norm(x.astype(int), np.zeros(3), np.zeros(3))
    with pytest.raises(errors.InvalidArgumentError, match="eps is NaN"):
        ops.batch_norm(x, np.zeros(3), np.zeros(3), eps=float("nan"))


def bits_without_signs_of_nan(x):
    """IEEE 754 leaves the sign of a NaN open, and so do processors: it follows the order of operands."""
    return np.where(np.isnan(x), np.float32(np.nan), x).view(np.uint32)


def test_rows_of_a_result_larger_than_the_caches_have_the_bits_of_rows_alone(rng):
    # 16.8 MB: with x, more than many a last cache. Rows begin at every place in a cache line.
    x = (rng.standard_normal((4100, 1027)) * 5).astype(np.float32)
    weight, bias = rng.standard_normal((2, 1027)).astype(np.float32)
    x[7, 3:900] = -np.inf
    x[8, 5] = np.nan
    for name, parameters in (("softmax", ()), ("log_softmax", ()), ("layer_norm", (weight, bias)), ("rms_norm", ())):
        result = _native.normalize(name, x, parameters, (1,), threads=1)
        shared = _native.normalize(name, x, parameters, (1,), threads=3)
        np.testing.assert_array_equal(bits_without_signs_of_nan(shared), bits_without_signs_of_nan(result))
        for row in (0, 1, 7, 8, 2049, 4099):
            alone = _native.normalize(name, x[row : row + 1].copy(), parameters, (1,), threads=1)
            np.testing.assert_array_equal(result[row : row + 1], alone)
    expected = ops.softmax(x)
    ops.softmax(x, out=x)
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("columns", [40, 64, 1000])
def test_equal_values_of_a_row_have_equal_probabilities_beside_masked_ones(columns):
    x = np.full((2, columns), 1.25, np.float32)
    x[0, 3], x[1, columns // 2 :] = -np.inf, -np.inf
    x[:, 7] = 3.5
    result = ops.softmax(x)
    for row in range(2):
        assert len(np.unique(result[row][x[row] == 1.25])) == 1
        assert (result[row][np.isinf(x[row])] == 0).all()

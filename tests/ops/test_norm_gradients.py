"""amdgpu.ops: gradients of softmax and the norms against their definitions in float64 and against differences."""

import numpy as np
import pytest
from amdgpu import _native, errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, arrange, layouts

EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def softmax_gradient(y, gradient, axis):
    return y * (gradient - (y * gradient).sum(axis, keepdims=True))


def log_softmax_gradient(y, gradient, axis):
    return gradient - np.exp(y) * gradient.sum(axis, keepdims=True)


def norm_gradient(x, gradient, axes, weight, eps, is_centered):
    mean = x.mean(axes, keepdims=True) if is_centered else 0.0
    factor = 1 / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + eps)
    normalised = (x - mean) * factor
    scaled = gradient * weight
    level = scaled.mean(axes, keepdims=True) if is_centered else 0.0
    return factor * (scaled - level - normalised * (scaled * normalised).mean(axes, keepdims=True)), normalised


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
    st.integers(0, 3),
    st.tuples(layouts, layouts, layouts),
    st.sampled_from(FLOATS),
    st.booleans(),
)
def test_softmax_gradients_of_any_layout(shape, axis, layout, dtype, is_logarithmic):
    axis %= len(shape)
    rng = np.random.default_rng(sum(shape))
    x = rng.standard_normal(shape) * 2
    name = "log_softmax" if is_logarithmic else "softmax"
    y = arrange(np.asarray(getattr(ops, name)(x, axis)).astype(dtype), layout[0])
    gradient = arrange(rng.standard_normal(shape).astype(dtype), layout[1])
    exact = {"softmax": softmax_gradient, "log_softmax": log_softmax_gradient}[name]
    expected = exact(y.astype(np.float64), gradient.astype(np.float64), axis)
    out = arrange(np.zeros(shape, dtype), layout[2])
    result = getattr(ops, f"{name}_gradient")(y, gradient, axis, out=out)
    assert result is out
    size = np.abs(gradient.astype(np.float64)).max(initial=0) * (1 + (shape[axis] if is_logarithmic else 1))
    assert (np.abs(out.astype(np.float64) - expected) <= 8 * EPS[dtype.name] * size).all()


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(1, 8), min_size=1, max_size=4),
    st.integers(1, 4),
    st.tuples(layouts, layouts),
    st.sampled_from(FLOATS),
    st.booleans(),
    st.booleans(),
)
def test_norm_gradients_over_the_last_axes(shape, normalized, layout, dtype, has_weight, is_centered):
    normalized = min(normalized, len(shape))
    extents = tuple(shape[len(shape) - normalized :])
    axes = tuple(range(len(shape) - normalized, len(shape)))
    leading = tuple(range(len(shape) - normalized))
    rng = np.random.default_rng(sum(shape))
    x = arrange((rng.standard_normal(shape) * 2 + 1).astype(dtype), layout[0])
    gradient = arrange(rng.standard_normal(shape).astype(dtype), layout[1])
    weight = rng.standard_normal(extents).astype(dtype) if has_weight else None
    wide, wide_gradient = x.astype(np.float64), gradient.astype(np.float64)
    factor = 1.0 if weight is None else weight.astype(np.float64)
    expected, normalised = norm_gradient(wide, wide_gradient, axes, factor, 1e-2, is_centered)
    if is_centered:
        by_x, by_weight, by_bias = ops.layer_norm_gradient(x, gradient, extents, weight, 1e-2)
        np.testing.assert_array_equal(by_bias, ops.sum(gradient, leading))
    else:
        by_x, by_weight = ops.rms_norm_gradient(x, gradient, extents, weight, 1e-2)
    assert by_x.dtype == by_weight.dtype == dtype
    assert by_weight.shape == extents
    # 1 / sqrt(1e-2) is the largest factor; the mean is taken off x once.
    size = 10 * (1 + np.abs(wide).max()) * np.abs(factor * wide_gradient).max()
    assert (np.abs(by_x.astype(np.float64) - expected) <= 32 * EPS[dtype.name] * size).all()
    exact = (wide_gradient * normalised).sum(leading)
    total = np.abs(wide_gradient).sum(leading) * (4 + np.abs(normalised).max())
    assert (np.abs(by_weight.astype(np.float64) - exact) <= 16 * EPS[dtype.name] * total).all()


@pytest.mark.parametrize("norm", ["layer_norm", "rms_norm"])
def test_norm_gradients_are_derivatives(norm, rng):
    x, gradient, weight = rng.standard_normal((3, 70)), rng.standard_normal((3, 70)), rng.standard_normal(70)

    def loss(x, weight):
        return float((np.asarray(getattr(ops, norm)(x, 70, weight)) * gradient).sum())

    by_x, by_weight, *_ = getattr(ops, f"{norm}_gradient")(x, gradient, 70, weight)
    step = 1e-5
    for place in ((0, 0), (1, 33), (2, 69)):
        moved = np.zeros_like(x)
        moved[place] = step
        difference = (loss(x + moved, weight) - loss(x - moved, weight)) / (2 * step)
        assert by_x[place] == pytest.approx(difference, abs=1e-7)
        moved = np.zeros(70)
        moved[place[1]] = step
        difference = (loss(x, weight + moved) - loss(x, weight - moved)) / (2 * step)
        assert by_weight[place[1]] == pytest.approx(difference, abs=1e-7)


def test_gradients_of_long_rows_and_in_place(rng):
    x, gradient = ((rng.standard_normal((4, 10_007)) + 3).astype(np.float32) for _ in range(2))
    expected, _ = norm_gradient(x.astype(np.float64), gradient.astype(np.float64), (1,), 1.0, 1e-5, is_centered=True)
    np.testing.assert_allclose(ops.layer_norm_gradient(x, gradient, 10_007)[0], expected, atol=2e-5)
    y = ops.softmax(x)
    expected = ops.softmax_gradient(y, gradient)
    assert ops.softmax_gradient(y, gradient, out=gradient) is gradient
    np.testing.assert_array_equal(gradient, expected)


@pytest.mark.parametrize("threads", [2, 3, 7])
def test_any_number_of_threads_gives_the_same_bits(threads, rng):
    x, gradient = (rng.standard_normal((101, 301)).astype(np.float32) for _ in range(2))
    for order in ("C", "F"):
        given_x = np.asarray(x, order=order)
        one = _native.normalize_gradient("layer_norm", given_x, gradient, None, (-1,), threads=1)
        more = _native.normalize_gradient("layer_norm", given_x, gradient, None, (-1,), threads=threads)
        assert more.tobytes() == one.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("axis", [1, -1])
def test_batch_norm_gradients(dtype, axis, rng):
    x, gradient = (rng.standard_normal((5, 4, 3, 4)).astype(dtype) for _ in range(2))
    weight = rng.standard_normal(4)
    others = tuple(other for other in range(4) if other != axis % 4)
    shape = [4 if other == axis % 4 else 1 for other in range(4)]
    expected, normalised = norm_gradient(
        x.astype(np.float64), gradient.astype(np.float64), others, weight.reshape(shape), 1e-3, is_centered=True
    )
    by_x, by_weight, by_bias = ops.batch_norm_gradient(x, gradient, weight, eps=1e-3, channel_axis=axis)
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    assert by_x.dtype == dtype
    np.testing.assert_allclose(by_x, expected, atol=tolerance)
    np.testing.assert_allclose(by_weight, (gradient * normalised).sum(others), atol=10 * tolerance)
    np.testing.assert_allclose(by_bias, gradient.astype(np.float64).sum(others), atol=10 * tolerance)


def test_bad_arguments_are_refused(rng):
    x = rng.standard_normal((2, 3)).astype(np.float32)
    with pytest.raises(
        errors.ShapeMismatchError, match=r"softmax_gradient: gradient has shape \[3\], the result \[2, 3\]"
    ):
        ops.softmax_gradient(x, x[0])
    with pytest.raises(errors.UnsupportedDtypeError, match="gradient has dtype float64, the result float32"):
        ops.softmax_gradient(x, x.astype(float))
    with pytest.raises(errors.UnsupportedDtypeError, match="floats of one dtype"):
        ops.softmax_gradient(np.arange(3), np.arange(3))
    with pytest.raises(errors.InvalidArgumentError, match="axis 2 is out of range for x of shape"):
        ops.log_softmax_gradient(x, x, 2)
    with pytest.raises(errors.InvalidTypeError, match=r"axis is 1\.5"):
        ops.softmax_gradient(x, x, 1.5)
    with pytest.raises(errors.ShapeMismatchError, match=r"does not end in the normalised shape \[4\]"):
        ops.layer_norm_gradient(x, x, 4)
    with pytest.raises(errors.ShapeMismatchError, match=r"weight has shape \[2\]"):
        ops.rms_norm_gradient(x, x, 3, np.ones(2, np.float32))
    with pytest.raises(errors.InvalidArgumentError, match="eps is -1"):
        ops.layer_norm_gradient(x, x, 3, eps=-1.0)
    with pytest.raises(errors.InvalidArgumentError, match="share memory with gradient"):
        ops.softmax_gradient(x, x[::-1], out=x)
    with pytest.raises(errors.ShapeMismatchError, match="channel_axis is 2"):
        ops.batch_norm_gradient(x, x, channel_axis=2)
    with pytest.raises(errors.ShapeMismatchError, match=r"weight has shape \[2\]"):
        ops.batch_norm_gradient(x, x, np.ones(2))
    with pytest.raises(
        errors.UnsupportedDtypeError, match="x has dtype float32 and gradient float16; both must be floats of one dtype"
    ):
        ops.batch_norm_gradient(x, x.astype(np.float16))
    with pytest.raises(errors.InvalidArgumentError, match="eps is NaN"):
        ops.batch_norm_gradient(x, x, eps=float("nan"))


def test_nan_stays_in_its_row_and_nothing_has_no_gradient():
    x = np.ones((3, 4), np.float32)
    x[1, 2] = np.nan
    for name in ("softmax", "log_softmax"):
        result = getattr(ops, f"{name}_gradient")(x, np.ones_like(x))
        np.testing.assert_array_equal(np.isnan(result).any(1), [False, True, False])
    assert ops.softmax_gradient(np.zeros((0, 3)), np.zeros((0, 3))).shape == (0, 3)
    assert ops.layer_norm_gradient(np.zeros((0, 3)), np.zeros((0, 3)), 3)[1].tolist() == [0, 0, 0]
    assert ops.softmax_gradient(np.ones((2, 2), BFLOAT16), np.ones((2, 2), BFLOAT16)).dtype == BFLOAT16

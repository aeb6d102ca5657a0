"""amdgpu.ops: gradients of activations against derivatives in extended precision."""

import numpy as np
import pytest
from amdgpu import errors, ops
from ops_oracle import BFLOAT16, FLOATS


def derivative(function, x):
    """The central difference of fourth order in extended precision."""
    x = x.astype(np.longdouble)
    step = np.longdouble(1e-4)
    return (8 * (function(x + step) - function(x - step)) - (function(x + 2 * step) - function(x - 2 * step))) / (
        12 * step
    )


def erf(x):
    import math

    near = x.astype(np.float64)
    value = np.vectorize(math.erf, otypes=[np.longdouble])(near)
    return value + (x - near) * 2 / np.sqrt(np.pi) * np.exp(-x * x)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gelu_tanh(x):
    return x / 2 * (1 + np.tanh(np.sqrt(2 / np.longdouble(np.pi)) * (x + np.longdouble(0.044715) * x**3)))


# Operation -> (activation in extended precision, keywords, smooth everywhere).
ACTIVATIONS = {
    "relu": (lambda x: np.maximum(x, 0), {}, False),
    "leaky_relu": (lambda x: np.where(x < 0, np.longdouble(0.25) * x, x), {"alpha": 0.25}, False),
    "elu": (lambda x: np.where(x < 0, 2 * np.expm1(np.minimum(x, 0)), x), {"alpha": 2.0}, False),
    "gelu_tanh": (gelu_tanh, {"approximate": "tanh"}, True),
    "silu": (lambda x: x * sigmoid(x), {}, True),
    "softplus": (lambda x: np.log1p(np.exp(x)), {}, True),
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", sorted(ACTIVATIONS))
def test_gradients_are_derivatives(name, dtype, rng):
    function, options, is_smooth = ACTIVATIONS[name]
    x = (rng.standard_normal(4000) * 3).astype(dtype)
    if not is_smooth:
        x = x[np.abs(x.astype(float)) > 1e-3]
    gradient = rng.standard_normal(x.size).astype(dtype)
    expected = derivative(function, x) * gradient.astype(np.longdouble)
    result = getattr(ops, f"{name.removesuffix('_tanh')}_gradient")(x, gradient, **options)
    assert result.dtype == dtype
    eps = {"float32": 2.0**-23, "float64": 1e-13, "float16": 2.0**-10, "bfloat16": 2.0**-7}[dtype.name]
    size = np.abs(gradient.astype(np.longdouble))
    assert (np.abs(result.astype(np.longdouble) - expected) <= 8 * eps * size + 1e-12).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_gradient_of_gelu_is_its_derivative(dtype, rng):
    x = (rng.standard_normal(4000) * 3).astype(dtype)
    wide = x.astype(np.longdouble)
    expected = (1 + erf(wide / np.sqrt(np.longdouble(2)))) / 2 + wide * np.exp(-wide * wide / 2) / np.sqrt(
        2 * np.longdouble(np.pi)
    )
    assert np.abs(ops.gelu_gradient(x, np.ones_like(x)) - expected).max() <= (1e-6 if dtype == np.float32 else 1e-14)


def test_gradients_from_results(rng):
    x = rng.standard_normal(1000)
    gradient = rng.standard_normal(1000)
    y = ops.sigmoid(x)
    np.testing.assert_allclose(ops.sigmoid_gradient(y, gradient), gradient * y * (1 - y), rtol=1e-14)
    y = ops.tanh(x)
    np.testing.assert_allclose(ops.tanh_gradient(y, gradient), gradient * (1 - y * y), rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", ["relu", "elu", "gelu", "silu", "softplus"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_far_away_are_zero_and_one(name, dtype):
    x = np.array([-np.inf, -1e30, -200, 200, 1e30, np.inf], dtype)
    result = getattr(ops, f"{name}_gradient")(x, np.full(6, 3, dtype))
    np.testing.assert_allclose(result, [0, 0, 0, 3, 3, 3], atol=1e-30)
    if name != "relu":
        assert np.isnan(getattr(ops, f"{name}_gradient")(np.array([np.nan], dtype), np.ones(1, dtype))).all()
    far = ops.gelu_gradient(x, np.ones(6, dtype), approximate="tanh")
    np.testing.assert_allclose(far[1:5], [0, 0, 1, 1], atol=1e-30)


def test_gradients_broadcast_and_refuse_what_activations_refuse(rng):
    x = rng.standard_normal((3, 4)).astype(np.float32)
    np.testing.assert_array_equal(ops.relu_gradient(x, 2.0), np.where(x > 0, np.float32(2), 0))
    out = np.empty_like(x)
    assert ops.silu_gradient(x, x, out=out) is out
    assert ops.relu_gradient(np.ones(2, BFLOAT16), np.ones(2, BFLOAT16)).dtype == BFLOAT16
    with pytest.raises(errors.InvalidArgumentError, match="known are 'none' and 'tanh'"):
        ops.gelu_gradient(x, x, approximate="erf")
    with pytest.raises(errors.ShapeMismatchError, match="gradient"):
        ops.silu_gradient(x, np.zeros(3, np.float32))

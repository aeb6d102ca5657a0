"""amdgpu.ops: gradients of activations against derivatives in extended precision."""

import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu._generated.operations import ELEMENTWISE
from formulas import evaluate, oracle, wide
from ops_oracle import BFLOAT16, FLOATS

GRADIENTS = {name: row for name, row in ELEMENTWISE.items() if row.gradient_of}
EPSILON = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_derivatives_times_the_gradient_of_the_result(name, dtype, rng):
    row = GRADIENTS[name]
    argument = (rng.standard_normal(4000) * 3).astype(dtype)
    gradient = rng.standard_normal(argument.size).astype(dtype)
    first = row.inputs[0]
    if first == "y":
        argument = getattr(ops, row.gradient_of)(argument)
    # Another slope than the default.
    alpha = {} if row.alpha is None else {"alpha": row.alpha + 0.25}
    expected = oracle(row, dtype, **{first: wide(argument), "gradient": wide(gradient)}, **alpha)
    result = eval(
        row.call.replace(")", ", **alpha)"), vars(ops), {first: argument, "gradient": gradient, "alpha": alpha}
    )
    assert result.dtype == dtype
    scale = EPSILON[dtype.name] * np.abs(wide(gradient))
    assert (np.abs(wide(result) - expected) <= row.absolute_ulps * scale).all(), (
        np.abs(wide(result) - expected) / scale
    ).max()


def test_results_stand_for_arguments_where_the_table_says_so(rng):
    x = rng.standard_normal(1000)
    for name, row in GRADIENTS.items():
        if row.inputs[0] == "y":
            y = evaluate(ELEMENTWISE[row.gradient_of].oracle, x=wide(x))
            by_result = evaluate(row.oracle, y=y, gradient=1)
            np.testing.assert_allclose(
                by_result, evaluate(ELEMENTWISE[row.gradient_of].derivative[0], x=wide(x)), err_msg=name
            )


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

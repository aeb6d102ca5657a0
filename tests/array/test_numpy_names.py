"""NumPy's functions beside the standard, against NumPy's."""

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors

RNG = np.random.default_rng(8)
A, B, V, T = RNG.random((3, 4)), RNG.random((3, 4)), RNG.random(4), RNG.random((2, 4, 3))
N = np.array([1.0, np.nan, np.inf, -np.inf, np.nan])
CASES = {
    "transpose": [(A,), (T, (1, 0, 2)), (V,), (T,)],
    "hstack": [([A, B],), ([V, V],), ([1, 2],)],
    "vstack": [([A, B],), ([V, V],)],
    "dstack": [([A, B],), ([V, V],), ([T, T],)],
    "column_stack": [([V, V],), ([A, B],)],
    "atleast_1d": [(3.0,), (A,)],
    "atleast_2d": [(3.0,), (V,), (A,)],
    "outer": [(A, V)],
    "trace": [(A,), (T, 1, 1, 2)],
    "diagonal": [(A,), (T, 0, 1, 2)],
    "dot": [(A, V), (A, B.T), (V, V), (2.0, A), (A, T)],
    "inner": [(A, B), (V, V), (2.0, A), (T.transpose(0, 2, 1), A)],
    "flatnonzero": [(A - A[0],)],
    "isclose": [(A, A + 1e-9), (N, N), (N, N[::-1]), (N, N, 0.1, 0.1, True)],
    "allclose": [(A, A + 1e-9), (N, N), (A, A + 1)],
    "array_equal": [(A, A), (A, V), (N, N), (N, N, True)],
    "nan_to_num": [(N,), (N, True, 1.0, 2.0, 3.0), (np.arange(3),)],
    "ptp": [(A,), (A, 0)],
    "average": [(A,), (A, 0), (A, 1, V), (A, None, B), (np.arange(4), 0, np.array([1, 2, 3, 4]))],
    "unique": [(N,), (N, True, True, True), (np.array([[3, 1], [1, 2]]), True, False, True)],
    "flipud": [(A,)],
    "fliplr": [(A,)],
    "copy": [(A,)],
    "identity": [(3,), (3, "int32")],
    "concatenate": [([A, B], 1), ([A, B],)],
    "stack": [([A, B], 2)],
    "roll": [(A, 1, 1)],
    "flip": [(A, 0)],
    "diff": [(A, 2, 0)],
    "count_nonzero": [(A > 0.5, 1)],
    "tensordot": [(A, B.T, 1)],
    "split": [(A, 3, 0)],
    "repeat": [(A, 2, 1)],
    "full": [((2, 2), 7, "float32")],
    "ones": [((2, 2), "int8")],
    "eye": [(3, 4, 1, "float32")],
    "tril": [(A, 1)],
    "triu": [(A, -1)],
    "linspace": [(0, 1)],
    "arange": [(0, 5, 2, "float32")],
    "where": [(A > 0.5,), (A > 0.5, A, -A)],
    "clip": [(A, None, 0.5), (A, 0.5, None), (A, None, None)],
    "amax": [(A, 0)],
    "around": [(A * 10, 1)],
    "mod": [(A, 0.3)],
    "power": [(A, 2)],
    "true_divide": [(A, B)],
    "invert": [(np.arange(3),)],
    "fabs": [(-A,)],
    "conjugate": [(A,)],
}


def ours(value):
    if isinstance(value, np.ndarray):
        return xp.asarray(value)
    return [ours(one) for one in value] if isinstance(value, list) else value


def parts(value):
    return value if isinstance(value, tuple | list) else (value,)


@pytest.mark.parametrize("name", CASES)
def test_functions_give_what_those_of_numpy_give(name):
    for arguments in CASES[name]:
        found = parts(getattr(xp, name)(*map(ours, arguments)))
        expected = parts(getattr(np, name)(*arguments))
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            values, wanted = np.asarray(one), np.asarray(other)
            assert (values.shape, values.dtype) == (wanted.shape, wanted.dtype), arguments
            np.testing.assert_allclose(values, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["transpose", "vstack", "column_stack", "outer", "dot", "where", "unique", "ptp"])
def test_numpy_calls_ours(name):
    found = parts(getattr(np, name)(*map(ours, CASES[name][0])))
    assert all(isinstance(one, xp.Array) for one in found)


def test_nan_to_num_without_a_copy_writes_the_array():
    x = xp.asarray(N)
    assert xp.nan_to_num(x, copy=False) is x
    np.testing.assert_array_equal(x.numpy(), np.nan_to_num(N))


def test_unfit_weights_are_refused():
    with pytest.raises(errors.ShapeMismatchError, match="weights have shape"):
        xp.average(A, 0, V)
    with pytest.raises(errors.InvalidArgumentError, match="add up to zero"):
        xp.average(V, 0, V * 0)


def test_where_takes_both_operands_or_none():
    with pytest.raises(errors.InvalidTypeError, match="both a and b, or neither"):
        xp.where(A > 0, A)


def test_every_function_of_the_namespace_is_in_ops():
    assert xp.ops.matmul is xp.matmul
    assert xp.ops.permute_dims is xp.permute_dims
    assert xp.ops.abs is xp.ops.absolute
    assert xp.ops.topk is xp.ops.top_k
    assert xp.ops.einsum is xp.einsum
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        xp.ops.nothing  # noqa: B018


def test_ops_lists_functions_alone():
    names = dir(xp.ops)
    assert {"matmul", "abs", "topk", "permute_dims", "einsum", "softmax"} <= set(names)
    assert [name for name in names if not callable(getattr(xp.ops, name))] == []

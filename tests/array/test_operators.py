"""Operators of arrays against NumPy's."""

import operator
import pickle

import amdgpu
import numpy as np
import pytest
from amdgpu import errors

BINARY = [
    operator.add,
    operator.sub,
    operator.mul,
    operator.truediv,
    operator.floordiv,
    operator.mod,
    operator.pow,
    operator.eq,
    operator.ne,
    operator.lt,
    operator.le,
    operator.gt,
    operator.ge,
]
BITS = [operator.and_, operator.or_, operator.xor]
DTYPES = ["int8", "int32", "int64", "uint8", "uint16", "float16", "float32", "float64"]


def values(dtype, shape=(3, 4), seed=0):
    numbers = np.random.default_rng(seed).integers(1, 5, shape)
    return numbers.astype(dtype)


def same(ours, theirs):
    assert isinstance(ours, amdgpu.Array)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
    np.testing.assert_allclose(
        ours.numpy().astype("f8"), theirs.astype("f8"), rtol=2e-3 if theirs.dtype == "f2" else 1e-6
    )


@pytest.mark.parametrize("operation", BINARY, ids=lambda one: one.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_of_arrays_and_numbers_are_those_of_numpy(operation, dtype):
    a, b = values(dtype), values(dtype, seed=1)
    ours = amdgpu.array(a), amdgpu.array(b)
    same(operation(*ours), operation(a, b))
    same(operation(ours[0], 2), operation(a, 2))
    same(operation(2, ours[0]), operation(2, a))
    same(operation(ours[0], b), operation(a, b))
    same(operation(a, ours[1]), operation(a, b))
    same(operation(ours[0][:, 1:3], ours[1][0, ::2]), operation(a[:, 1:3], b[0, ::2]))


@pytest.mark.parametrize("operation", BITS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint32", "int64"])
def test_bits_are_joined(operation, dtype):
    a, b = values(dtype), values(dtype, seed=1)
    same(operation(amdgpu.array(a), amdgpu.array(b)), operation(a, b))
    same(~amdgpu.array(a), ~a)


def test_signs_and_absolute_values():
    a = np.array([-1.5, 0.0, 2.0])
    ours = amdgpu.array(a)
    same(-ours, -a)
    same(+ours, +a)
    same(abs(ours), abs(a))
    assert (+ours).ptr != ours.ptr


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8"])
def test_matrix_products(dtype):
    a, b = values(dtype, (2, 3, 4)), values(dtype, (4, 5), 1)
    same(amdgpu.array(a) @ amdgpu.array(b), a @ b)
    same(amdgpu.array(a[0, 0]) @ amdgpu.array(b), a[0, 0] @ b)
    same(amdgpu.array(a) @ amdgpu.array(b[:, 0]), a @ b[:, 0])


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "ifloordiv", "imod", "ipow"])
@pytest.mark.parametrize("dtype", ["float32", "int32", "uint8"])
def test_operators_in_place_change_the_array_itself(name, dtype):
    operation = getattr(operator, name)
    a = values(dtype)
    ours = amdgpu.array(a)
    view, address = ours[1], ours.ptr
    expected = operation(a, values(dtype, seed=3))
    changed = operation(ours, amdgpu.array(values(dtype, seed=3)))
    assert changed is ours
    assert changed.ptr == address
    same(ours, expected)
    same(view, expected[1])


def test_results_in_place_keep_the_dtype_where_the_kind_allows_it():
    ours = amdgpu.array([1.5, 2.5], "float32")
    ours += amdgpu.array([1.0, 2.0], "float64")
    assert (ours.dtype, ours.tolist()) == ("float32", [2.5, 4.5])
    whole = amdgpu.array([1, 2])
    with pytest.raises(errors.UnsupportedDtypeError, match="divide has dtype float64"):
        whole /= 2
    with pytest.raises(errors.ShapeMismatchError, match="in place"):
        whole += amdgpu.array([[1, 2], [3, 4]])
    with pytest.raises(errors.InvalidTypeError, match="not str"):
        whole += "text"
    assert whole.tolist() == [1, 2]


def test_views_that_overlap_are_read_before_they_are_written():
    a = np.arange(10.0)
    ours = amdgpu.array(a)
    a[1:] += a[:-1].copy()
    ours[1:] += ours[:-1]
    same(ours, a)
    ours[...] = ours[::-1]
    same(ours, a[::-1])


def test_what_is_no_number_is_left_to_the_other_operand():
    class Other:
        def __radd__(self, array):
            return "taken"

    ours = amdgpu.array([1.0])
    assert ours + Other() == "taken"
    for wrong in ("text", object(), None):
        with pytest.raises(TypeError, match="unsupported operand"):
            _ = ours + wrong


def test_functions_of_numpy_stay_on_the_device():
    a = np.array([[1.0, 4.0], [9.0, 16.0]])
    ours = amdgpu.array(a)
    same(np.sqrt(ours), np.sqrt(a))
    same(np.add(a, ours), a + a)
    same(np.add.reduce(ours), np.add.reduce(a))
    same(np.maximum.reduce(ours, axis=1), np.maximum.reduce(a, axis=1))
    same(np.concatenate([ours, ours]), np.concatenate([a, a]))
    same(np.sum(ours, axis=0), np.sum(a, axis=0))
    assert np.shape(ours) == (2, 2)


def test_what_numpy_alone_has_is_computed_by_the_host_and_told():
    with pytest.warns(RuntimeWarning, match=r"numpy\.lcm does not run as preferred"):
        found = np.lcm(amdgpu.array([4, 6]), 10)
    assert (type(found), found.tolist()) == (amdgpu.Array, [20, 30])


def test_arrays_go_through_pickle_and_copy():
    import copy

    for a in (np.arange(6.0).reshape(2, 3)[:, ::2], np.array(3, "int8"), np.zeros((0, 2), "float16")):
        ours = amdgpu.array(a)
        for again in (pickle.loads(pickle.dumps(ours)), copy.copy(ours), copy.deepcopy(ours)):
            same(again, a)
            assert again.ptr != ours.ptr or a.size == 0


def test_texts_show_values_dtype_and_device():
    ours = amdgpu.array([[1.0, 2.5], [3.0, 4.0]], "float32", device="cpu:0")
    assert repr(ours) == "array([[1. , 2.5],\n       [3. , 4. ]], dtype=float32, device='cpu:0')"
    assert str(ours) == "[[1. , 2.5],\n [3. , 4. ]]"
    assert f"{ours[0, 1]:.3f}" == "2.500"
    assert "..." in repr(amdgpu.zeros((2000, 2000)))
    assert repr(amdgpu.zeros((0, 3), "int8")) == "array([], shape=(0, 3), dtype=int8, device='cpu:0')"
    assert operator.methodcaller("_repr_html_")(ours).startswith("<pre>array(")
    ours.free()
    assert "freed" in repr(ours)


def test_an_array_of_one_value_is_a_number():
    assert (int(amdgpu.array(3)), float(amdgpu.array([2.5])), complex(amdgpu.array(2.0))) == (3, 2.5, 2 + 0j)
    assert [10, 20, 30][amdgpu.array(1)] == 20
    with pytest.raises(TypeError):
        [1, 2][amdgpu.array(1.0)]
    assert 2.0 in amdgpu.array([1.0, 2.0])
    assert list(map(int, amdgpu.array([1, 2, 3]))) == [1, 2, 3]

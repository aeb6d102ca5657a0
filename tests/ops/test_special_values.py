"""Elementwise operations at special values of every dtype against NumPy.

Floats: infinities, NaN, zeros of both signs, subnormal numbers, the largest and the smallest; integers: both ends of their range.
"""

import operator

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import errors, ops
from ops_oracle import BFLOAT16, FLOATS, INTEGERS, ulps

# Name here -> name in NumPy, and the bound in units in the last place.
UNARY = {
    "tan": ("tan", 4),
    "asin": ("arcsin", 3),
    "acos": ("arccos", 3),
    "atan": ("arctan", 3),
    "sinh": ("sinh", 3),
    "cosh": ("cosh", 3),
    "asinh": ("arcsinh", 3),
    "acosh": ("arccosh", 3),
    "atanh": ("arctanh", 3),
}
BINARY = {"atan2": ("arctan2", 3), "hypot": ("hypot", 2), "copysign": ("copysign", 0)}
# Where functions bend or change their formula.
BORDERS = (
    0.25,
    0.41421356,
    0.5,
    0.6875,
    1.0,
    1.5707964,
    2.4142135,
    3.0,
    11.0,
    88.5,
    89.3,
    89.5,
    100.0,
    710.2,
    711.0,
    2.0**30,
    2.0**60,
    1e6,
    1e7,
)
BITS = [*INTEGERS, np.dtype(bool)]


def special_values(dtype):
    """Special values of a dtype, borders of formulas with their neighbours, and a few ordinary numbers."""
    info = ml_dtypes.finfo(dtype)
    ends = [float(one) for one in (info.max, info.smallest_normal, info.smallest_subnormal, info.eps)]
    with np.errstate(over="ignore"):
        borders = np.array(BORDERS).astype(dtype)
    around = [borders, borders * dtype.type(1 + 2 * float(info.eps)), borders * dtype.type(1 - float(info.eps))]
    ordinary = np.random.default_rng(5).standard_normal(30) * 3
    size = np.concatenate(
        [np.array([0.0, np.inf, np.nan, *ends, float(info.smallest_normal) / 4, *ordinary]).astype(dtype), *around]
    )
    return np.concatenate([size, -size]).astype(dtype)


def pairs(values):
    """Every value with every value."""
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


def close(result, name, bound, *values):
    """Within a bound of NumPy's function in extended precision, zeros with their signs."""
    assert result.dtype == values[0].dtype
    with np.errstate(all="ignore"):
        exact = getattr(np, name)(*(one.astype(np.longdouble) for one in values))
        distance = ulps(result, exact)
    assert (distance <= bound).all(), [
        (float(result[k]), *(float(one[k]) for one in values)) for k in np.nonzero(distance > bound)[0][:5]
    ]
    zeros = exact == 0
    np.testing.assert_array_equal(np.signbit(result[zeros]), np.signbit(exact[zeros]))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_special_values(name, dtype):
    x = special_values(dtype)
    close(getattr(ops, name)(x), *UNARY[name], x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_pairs_of_special_values(name, dtype):
    a, b = pairs(special_values(dtype))
    close(getattr(ops, name)(a, b), *BINARY[name], a, b)


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_functions_are_within_their_bound_at_every_size(name, dtype, rng):
    info = np.finfo(dtype)
    spread = np.exp(rng.uniform(np.log(float(info.tiny)), np.log(float(info.max)), 20_000))
    x = np.concatenate(
        [spread, rng.uniform(-1, 1, 20_000), rng.uniform(-100, 100, 20_000), 1 + rng.uniform(0, 1e-3, 2000)]
    )
    x = (x * rng.choice([-1, 1], x.size)).astype(dtype)
    close(getattr(ops, name)(x), *UNARY[name], x)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_logarithms_at_special_values(dtype):
    a, b = pairs(special_values(dtype))
    result = ops.logaddexp(a, b)
    with np.errstate(all="ignore"):
        exact = np.logaddexp(a.astype(np.longdouble), b.astype(np.longdouble))
        rounded = exact.astype(np.float64).astype(dtype)
        # Digits cancel where the result is near zero.
        unit = float(ml_dtypes.finfo(dtype).eps) * np.maximum(np.abs(exact), 1)
        is_close = np.abs(result.astype(np.longdouble) - exact) <= unit
    assert (is_close | (result == rounded) | (np.isnan(result) & np.isnan(exact))).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_neighbours_and_signs(dtype):
    a, b = pairs(special_values(dtype))
    result = ops.nextafter(a, b)
    bits = np.dtype(f"u{dtype.itemsize}")
    with np.errstate(all="ignore"):
        expected = np.nextafter(a, b)
    numbers = ~np.isnan(expected.astype(np.float64))
    # Where both are equal the second is taken, whose zero may have another sign, as in C.
    expected[a == b] = b[a == b]
    np.testing.assert_array_equal(result.view(bits)[numbers], expected.view(bits)[numbers])
    assert np.isnan(result[~numbers].astype(np.float64)).all()
    np.testing.assert_array_equal(ops.signbit(a), np.signbit(a))
    assert ops.signbit(a).dtype == bool


def test_every_neighbour_of_sixteen_bits():
    for dtype in (np.dtype(np.float16), BFLOAT16):
        every = np.arange(1 << 16, dtype=np.uint16).view(dtype)
        for towards in (np.inf, -np.inf):
            target = np.full_like(every, towards)
            with np.errstate(all="ignore"):
                result, expected = ops.nextafter(every, target), np.nextafter(every, target)
            is_number = ~np.isnan(every.astype(np.float32))
            np.testing.assert_array_equal(result.view(np.uint16)[is_number], expected.view(np.uint16)[is_number])
            assert np.isnan(result[~is_number].astype(np.float32)).all()


def ends_of(dtype):
    """Integers at both ends of a range, around zero and a few others; both truth values."""
    if dtype.kind == "b":
        return np.array([False, True])
    info = np.iinfo(dtype)
    near = [0, 1, 2, 3, 5, 7, 8, 15, 16, 31, 32, 33, 63, 64, 100, info.max, info.max - 1, info.max // 2]
    below = [] if info.min == 0 else [-1, -2, -3, -7, -64, -100, info.min, info.min + 1]
    return np.array([*near, *below], dtype)


@pytest.mark.parametrize("dtype", BITS, ids=str)
@pytest.mark.parametrize("name", ["left_shift", "right_shift", "floor_divide", "remainder", "fmod"])
def test_integer_operations_at_the_ends_of_a_dtype(name, dtype):
    a, b = pairs(ends_of(dtype))
    result = getattr(ops, name)(a, b)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(a, b)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("device", [None, "cpu:0"])
def test_shifts_of_arrays_and_numbers(device):
    values = np.array([1, -1, 64, -128, 127], np.int8)
    x = values if device is None else amdgpu.array(values, device=device)
    for count in (0, 1, 7, 8, 31, 64, 100, -1):
        for shift, name in ((operator.lshift, "left_shift"), (operator.rshift, "right_shift")):
            expected = getattr(np, name)(values, np.int8(count))
            assert np.asarray(getattr(ops, name)(x, count)).tolist() == expected.tolist()
            if device is not None:
                assert shift(x, count).tolist() == expected.tolist()
    with pytest.raises(errors.UnsupportedDtypeError, match="float32 is not shifted"):
        ops.left_shift(np.float32([1]), np.int8([1]))
    with pytest.raises(errors.UnsupportedDtypeError, match="float64 is not shifted"):
        ops.right_shift(np.uint64([1]), np.int64([1]))


def test_operators_of_shifts_reflected_and_in_place():
    x = amdgpu.asarray([1, 2, 3])
    assert (1 << x).tolist() == [2, 4, 8]
    assert (256 >> x).tolist() == [128, 64, 32]
    x <<= 2
    x >>= amdgpu.asarray([1, 0, 2])
    assert x.tolist() == [2, 8, 3]
    assert amdgpu.bitwise_left_shift(x, 1).tolist() == [4, 16, 6]
    assert amdgpu.bitwise_right_shift(x, 1).tolist() == [1, 4, 1]
    # A result of int8 does not go into truth values.
    truth = amdgpu.asarray([True, False])
    with pytest.raises(errors.UnsupportedDtypeError, match="int8"):
        truth <<= truth


def test_truth_values_are_divided_as_int8():
    values = np.array([True, True, False])
    others = np.array([True, False, True])
    x, y = amdgpu.asarray(values), amdgpu.asarray(others)
    with np.errstate(all="ignore"):
        for function in (operator.floordiv, operator.mod, operator.pow, operator.lshift, operator.rshift):
            expected, result = function(values, others), function(x, y)
            assert result.dtype == expected.dtype == np.int8
            assert result.tolist() == expected.tolist()
    assert ops.square(values).dtype == np.square(values).dtype
    assert (x // 2).dtype == (values // 2).dtype


COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_comparisons_with_integers_that_the_dtype_does_not_hold(dtype):
    values = ends_of(dtype)
    x = amdgpu.array(values)
    info = np.iinfo(dtype)
    for number in (info.min - 1, info.max + 1, -3, 1 << 64, -(1 << 64), 10**40, -(10**40), 0, info.max):
        for compare in COMPARISONS:
            expected = compare(values, number)
            for result in (compare(x, number), ops_of(compare)(values, number)):
                assert np.asarray(result).tolist() == expected.tolist(), (compare.__name__, number)
            assert compare(number, x).tolist() == compare(number, values).tolist()


def ops_of(compare):
    """The function of an operator of Python's."""
    names = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    return getattr(ops, names[compare.__name__])


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_arithmetic_refuses_integers_that_the_dtype_does_not_hold(dtype):
    values = np.array([1, 2], dtype)
    info = np.iinfo(dtype)
    for number in (info.min - 1, info.max + 1, 10**40):
        for function in (operator.add, operator.sub, operator.mul, operator.floordiv, operator.and_, operator.lshift):
            with pytest.raises(OverflowError):
                function(values, number)
            with pytest.raises(errors.NumberOutOfRangeError, match=f"does not fit {dtype.name}"):
                function(amdgpu.array(values), number)
    assert issubclass(errors.NumberOutOfRangeError, OverflowError)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_results_over_all_elements_and_with_the_first(name):
    x = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
    function, theirs = getattr(ops, name), getattr(np, name)
    neutral = 0 if name == "cumsum" else 1
    for given in (x, amdgpu.array(x), x.tolist(), np.asfortranarray(x), amdgpu.array(x).T.T):
        assert np.asarray(function(given)).tolist() == theirs(x).tolist()
    assert function(x).dtype == theirs(x).dtype == np.int64
    assert function(np.int8(5)).tolist() == [5]
    for dtype in ("float32", "int8", "float64", "uint16"):
        for axis in (None, 0, -1):
            result, expected = function(x, axis, dtype), theirs(x, axis, dtype)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(result, expected)
    for axis in (0, 1, -1, -2):
        expected = np.insert(theirs(x, axis), 0, neutral, axis=axis)
        assert function(x, axis, include_initial=True).tolist() == expected.tolist()
        standard = getattr(amdgpu, "cumulative_sum" if name == "cumsum" else "cumulative_prod")
        ours = standard(amdgpu.array(x), axis=axis, dtype="float32", include_initial=True)
        assert ours.dtype == np.float32
        assert ours.tolist() == expected.tolist()
    assert function(amdgpu.array(x), include_initial=True).tolist() == [neutral, *theirs(x).tolist()]
    out = np.empty(6, np.float32)
    assert function(x, dtype="float32", out=out) is out
    assert out.tolist() == theirs(x).tolist()
    empty = np.zeros((0, 3))
    assert function(empty).shape == (0,)
    assert function(empty, 0, include_initial=True).tolist() == [[neutral] * 3]
    with pytest.raises(errors.InvalidArgumentError, match="needs an axis"):
        amdgpu.cumulative_sum(amdgpu.array(x))


def test_names_of_numpy_are_the_same_functions():
    x = amdgpu.asarray([0.25, -0.5])
    for name in ("arcsin", "arccos", "arctan", "arcsinh", "arctanh"):
        own = getattr(amdgpu, name.replace("arc", "a"))
        assert getattr(amdgpu, name)(x).tolist() == own(x).tolist() == getattr(np, name)(x).tolist()
        assert isinstance(getattr(np, name)(x), amdgpu.Array)
    assert amdgpu.arctan2(x, x).tolist() == amdgpu.atan2(x, x).tolist() == np.arctan2(x, x).tolist()
    assert amdgpu.mod(x, 0.25).tolist() == [0.0, 0.0]

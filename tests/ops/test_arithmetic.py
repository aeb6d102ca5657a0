"""amdgpu.ops: powers, remainders, bits and numbers without a sign against NumPy."""

import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import INTEGERS, SPECIAL, arrange, layouts, random_values, shapes, ulps

UNSIGNED = [np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64")]
PARTS = ["fmod", "remainder", "floor_divide"]


def same(result, expected):
    """Equal bits, with NaN equal to NaN."""
    result, expected = np.asarray(result), np.asarray(expected)
    assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(result, expected)
    if result.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]))


def pairs(values):
    """Every value with every value."""
    a, b = np.meshgrid(values, values)
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PARTS)
def test_remainders_of_floats_are_exact(name, dtype, rng):
    a = (rng.standard_normal(60_000) * np.exp(rng.uniform(-3, 30, 60_000))).astype(dtype)
    b = (rng.standard_normal(60_000) * np.exp(rng.uniform(-3, 3, 60_000))).astype(dtype)
    near = (np.round(a[:5000] / b[:5000]) * b[:5000]).astype(dtype)  # quotients that round to whole numbers
    with np.errstate(all="ignore"):
        same(getattr(ops, name)(a, b), getattr(np, name)(a, b))
        same(getattr(ops, name)(near, b[:5000]), getattr(np, name)(near, b[:5000]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PARTS)
def test_remainders_of_special_values(name, dtype):
    with np.errstate(all="ignore"):
        a, b = pairs(np.array([*SPECIAL, 1e-310, 1e300, 7e22, 3, -3]).astype(dtype))
        same(getattr(ops, name)(a, b), getattr(np, name)(a, b))


@settings(max_examples=120, deadline=None)
@given(
    st.sampled_from([*PARTS, "bitwise_and", "bitwise_or", "bitwise_xor"]),
    shapes,
    st.tuples(layouts, layouts),
    st.tuples(st.sampled_from(INTEGERS), st.sampled_from(INTEGERS)),
)
def test_integers_are_divided_and_combined_as_in_numpy(name, shape, layout, dtypes):
    rng = np.random.default_rng(sum(shape))
    a = arrange(random_values(rng, shape, dtypes[0]), layout[0])
    b = arrange(random_values(rng, shape, dtypes[1]), layout[1])
    b[b > 100] //= 3
    if np.promote_types(*dtypes).kind == "f":
        if name.startswith("bitwise"):
            with pytest.raises(errors.UnsupportedDtypeError, match="the bits of float64"):
                getattr(ops, name)(a, b)
        return
    with np.errstate(all="ignore"):
        same(getattr(ops, name)(a, b), getattr(np, name)(a, b))


def test_division_of_integers_by_zero_and_of_the_smallest_by_minus_one():
    for dtype in INTEGERS:
        for name in PARTS:
            assert getattr(ops, name)(np.array([7, 0], dtype), np.array([0, 0], dtype)).tolist() == [0, 0]
    for dtype in INTEGERS[:4]:
        smallest = np.array([np.iinfo(dtype).min], dtype)
        assert ops.floor_divide(smallest, np.array([-1], dtype)) == smallest
        assert ops.remainder(smallest, np.array([-1], dtype)) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_floats_are_within_their_bound(dtype, rng):
    a = np.concatenate([np.exp(rng.uniform(-20, 20, 30_000)), 1 + rng.standard_normal(30_000) * 1e-3]).astype(dtype)
    b = np.concatenate([rng.standard_normal(30_000) * 4, rng.standard_normal(30_000) * 1e4]).astype(dtype)
    with np.errstate(all="ignore"):
        exact = np.power(a.astype(np.longdouble), b.astype(np.longdouble))
    normal = (np.abs(exact) > np.finfo(dtype).tiny) & (np.abs(exact) < np.finfo(dtype).max)
    assert ulps(ops.power(a, b), exact)[normal].max() <= (1 if dtype == np.float32 else 5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers_of_special_values_are_those_of_c(dtype):
    with np.errstate(all="ignore"):
        a, b = pairs(np.array([*SPECIAL, 2, -2, 3, -3, 1e9 + 1, -1e15]).astype(dtype))
        result, expected = ops.power(a, b), np.power(a, b)
    for kind in (np.isnan, np.isposinf, np.isneginf, np.signbit):
        chosen = slice(None) if kind is np.isnan else ~np.isnan(expected)
        np.testing.assert_array_equal(kind(result)[chosen], kind(expected)[chosen])
    finite = np.isfinite(expected)
    np.testing.assert_allclose(
        result[finite], expected[finite], rtol=1e-6 if dtype == np.float32 else 1e-14, atol=1e-45
    )


def test_powers_of_integers_wrap_and_negative_ones_are_refused(rng):
    for dtype in INTEGERS:
        a, b = random_values(rng, 50, dtype), rng.integers(0, 20, 50).astype(dtype)
        same(ops.power(a, b), np.power(a, b))
        assert ops.power(a, 2).dtype == dtype
    assert ops.power(2, 10) == 1024
    assert ops.power(np.arange(3), -1.0).dtype == np.float64
    for bad in ([1, -1], -2, np.array([-1])):
        with pytest.raises(errors.InvalidArgumentError, match="integers to negative integers"):
            ops.power(np.arange(2) + 1 if np.ndim(bad) == 1 and np.size(bad) == 2 else np.array([3]), bad)
    assert ops.power(np.zeros(0, int), np.zeros(0, int)).shape == (0,)


def test_bits_of_truth_values_are_logic(rng):
    a, b = rng.integers(0, 2, (2, 40)).astype(bool)
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
        same(getattr(ops, name)(a, b), getattr(np, name)(a, b))
    same(ops.invert(a), ~a)
    for dtype in INTEGERS:
        x = random_values(rng, 40, dtype)
        same(ops.invert(x), ~x)
    with pytest.raises(errors.UnsupportedDtypeError, match="invert: the bits of float32"):
        ops.invert(np.float32([1]))
    with pytest.raises(errors.UnsupportedDtypeError, match="truth values have no sign"):
        ops.subtract(a, b)
    # As int8, as in NumPy.
    same(ops.power(a, b), np.power(a, b))


def test_rounding_to_decimals(rng):
    x = rng.standard_normal(1000) * 100
    for decimals in (0, 1, 3, -1, -2):
        same(ops.round(x, decimals), np.round(x, decimals))
    same(ops.round(np.arange(5), 2), np.arange(5))
    with pytest.raises(errors.InvalidArgumentError, match="rounded to integers"):
        ops.round(np.arange(5), -1)
    out = np.empty(1000)
    assert ops.round(x, 2, out=out) is out
    same(out, np.round(x, 2))


@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
def test_numbers_without_a_sign_keep_their_largest_values(dtype, rng):
    largest = np.iinfo(dtype).max
    x = np.concatenate([random_values(rng, 500, dtype), np.array([0, 1, largest, largest - 1], dtype)])
    y = x[::-1].copy()
    for name in ("add", "subtract", "multiply", "maximum", "minimum", "less", "greater_equal"):
        same(getattr(ops, name)(x, y), getattr(np, name)(x, y))
    same(ops.clip(x, 3, largest - 2), np.clip(x, dtype.type(3), dtype.type(largest - 2)))
    same(ops.divide(x, y + (y == 0)), np.divide(x.astype(np.float64), (y + (y == 0)).astype(np.float64)))
    same(ops.sum(x), np.sum(x, dtype=np.uint64))
    same(ops.cumsum(x), np.cumsum(x, dtype=np.uint64))
    assert ops.max(x) == largest
    assert ops.argmax(x) == np.argmax(x)
    values, places = ops.top_k(x, 5)
    order = np.lexsort((np.arange(x.size), largest - x))[:5]
    same(values, x[order])
    same(places, order)
    assert ops.mean(x) == pytest.approx(x.astype(np.float64).mean(), rel=1e-15)
    with pytest.raises(errors.NumberOutOfRangeError, match=f"does not fit {dtype}"):
        ops.add(x, -1)


def test_large_sines_are_reduced_with_all_of_pi():
    import mpmath

    mpmath.mp.dps = 400
    for dtype in (np.float32, np.float64):
        x = np.array([1e7, 1e15, 2.0**70, 3e38 if dtype == np.float32 else 1e300, -6.3e18], dtype)
        for name in ("sin", "cos"):
            exact = np.array([float(getattr(mpmath, name)(mpmath.mpf(float(value)))) for value in x])
            np.testing.assert_allclose(getattr(ops, name)(x), exact, rtol=4 * np.finfo(dtype).eps)


def test_whole_powers_and_logarithms_of_two_are_exact():
    for dtype, span in ((np.float32, 149), (np.float64, 1074)):
        n = np.arange(-span, 128 if dtype == np.float32 else 1024).astype(dtype)
        same(ops.exp2(n), np.ldexp(dtype(1), n.astype(int)).astype(dtype))
        same(ops.log2(ops.exp2(n)), n)


def test_positive_keeps_numbers_and_refuses_truth_values():
    for x in (np.array([-1.5, 0.0, np.nan]), np.array([3, -4], np.int8), np.array([1 - 2j])):
        same(ops.positive(x).real, np.positive(x).real)
    for values in ([True, False], np.array(True)):
        with pytest.raises(errors.UnsupportedDtypeError, match="truth values, which have no sign"):
            ops.positive(values)
        with pytest.raises(TypeError):
            np.positive(np.asarray(values))

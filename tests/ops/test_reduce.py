"""amdgpu.ops: reductions against NumPy and exact sums."""

import math

import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native, errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, INTEGERS, arrange, layouts, random_values

NUMPY = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "max": np.max,
    "min": np.min,
    "any": np.any,
    "all": np.all,
    "var": np.var,
    "std": np.std,
}
EPS = {"float32": 2.0**-23, "float64": 2.0**-52, "float16": 2.0**-10, "bfloat16": 2.0**-7}
shapes = st.lists(st.integers(1, 9), min_size=0, max_size=4).map(tuple)


def expected_of(name, x, axis, keepdims):
    if x.dtype.kind in "iub" and name in ("sum", "prod"):
        return NUMPY[name](x, axis=axis, keepdims=keepdims, dtype=np.uint64 if x.dtype.kind == "u" else np.int64)
    if name in ("max", "min", "any", "all"):
        return NUMPY[name](x, axis=axis, keepdims=keepdims)
    return NUMPY[name](x.astype(np.float64), axis=axis, keepdims=keepdims)


@settings(max_examples=250, deadline=None)
@given(
    st.sampled_from(sorted(NUMPY)),
    shapes,
    st.one_of(st.none(), st.sets(st.integers(0, 3))),
    layouts,
    st.sampled_from([*FLOATS, *INTEGERS, np.dtype(bool)]),
    st.booleans(),
)
def test_reductions_over_any_axes_of_any_layout(name, shape, axes, layout, dtype, keepdims):
    axis = None if axes is None else tuple(axis for axis in sorted(axes) if axis < len(shape))
    rng = np.random.default_rng(sum(shape))
    x = arrange(random_values(rng, shape, dtype, scale=1.0), layout)
    expected = np.asarray(expected_of(name, x, axis, keepdims))
    result = np.asarray(getattr(ops, name)(x, axis, keepdims=keepdims))
    assert result.shape == expected.shape
    if name in ("max", "min", "any", "all") or (dtype.kind in "iub" and name in ("sum", "prod")):
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)
        return
    assert result.dtype == (dtype if dtype in FLOATS else np.float64)
    # Every operation is summed over at most a few hundred values of order one.
    size = np.sum(np.abs(x.astype(np.float64)), axis=axis, keepdims=keepdims) if name == "sum" else np.abs(expected)
    if name in ("mean", "var", "std"):
        size = size + scale_of(x, name)
    bound = EPS[result.dtype.name] * (4 * size + 16 * np.abs(expected))
    # Results below the normal range are rounded to multiples of the smallest number.
    bound = bound + float(ml_dtypes.finfo(result.dtype).smallest_subnormal) + 1e-30
    assert (np.abs(result.astype(np.float64) - expected) <= bound).all()


def scale_of(x, name):
    """What the rounding errors of a mean or a variance are relative to."""
    largest = np.abs(x.astype(np.float64)).max(initial=0)
    return largest**2 if name == "var" else largest


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(["argmax", "argmin"]),
    shapes,
    st.integers(-1, 3),
    layouts,
    st.sampled_from([*FLOATS[:3], *INTEGERS]),
)
def test_places_are_the_first_of_the_best(name, shape, axis, layout, dtype):
    axis = None if axis < 0 or not shape else axis % len(shape)
    rng = np.random.default_rng(sum(shape))
    # Few different values: most rows have ties.
    x = arrange(rng.integers(0, 4, shape).astype(dtype), layout)
    result = getattr(ops, name)(x, axis)
    np.testing.assert_array_equal(result, getattr(np, name)(x, axis=axis))
    assert result.dtype == np.int64
    if shape:
        kept = getattr(ops, name)(x, axis, keepdims=True)
        np.testing.assert_array_equal(kept, getattr(np, name)(x, axis=axis, keepdims=True))


@pytest.mark.parametrize("name", ["argmax", "argmin", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_nan_is_the_best(name, dtype, rng):
    x = rng.standard_normal((40, 3000)).astype(dtype)
    for row in range(40):
        x[row, rng.integers(0, 3000, row % 4)] = np.nan
    x[0, 5], x[4, 7] = np.inf, -np.inf
    for both in (x, np.ascontiguousarray(x.T)):
        for axis in (0, 1):
            np.testing.assert_array_equal(getattr(ops, name)(both, axis), getattr(np, name)(both, axis=axis))
    assert np.isnan(ops.sum(x, 1))[1]


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_of_equal_values_in_different_segments_the_first_counts(name, dtype, rng):
    x = rng.integers(-30, 30, (5003, 70)).astype(dtype)
    np.testing.assert_array_equal(getattr(ops, name)(x, 0), getattr(np, name)(x, axis=0))
    assert getattr(ops, name)(x) == getattr(np, name)(x)
    # Ever better values: every block has one.
    line = np.sort(rng.integers(0, 10_000, 150_001)).astype(dtype)
    assert getattr(ops, name)(line) == getattr(np, name)(line)
    assert getattr(ops, name)(line[::-1].copy()) == getattr(np, name)(line[::-1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0, 10, 1e3, -3e4])
def test_variances_are_as_exact_far_from_zero(dtype, offset, rng):
    x = (rng.standard_normal((5003, 40)) + offset).astype(dtype)
    for both in (x, np.ascontiguousarray(x.T), x.astype(dtype)[::-1, ::2]):
        for axis in (None, 0, 1):
            exact = both.astype(np.longdouble).var(axis)
            # Half a unit in the last place for each of a few operations: not one grows with the offset.
            np.testing.assert_allclose(ops.var(both, axis), exact, rtol=16 * np.finfo(dtype).eps)
    assert (ops.var(np.full((3001, 3), 0.1, dtype), 0) == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variances_of_what_is_not_finite_or_overflows(dtype, rng):
    x = rng.standard_normal((4100, 6)).astype(dtype)
    x[0, 0] = x[4000, 1] = np.inf
    x[0, 2] = x[4000, 3] = np.nan
    # Squares that are too large for the type, first and last.
    x[0, 4] = x[4000, 5] = np.finfo(dtype).max / 2
    with np.errstate(all="ignore"):
        for both, axis in ((x, 0), (np.ascontiguousarray(x.T), 1)):
            np.testing.assert_array_equal(ops.var(both, axis), np.var(both, axis=axis))


@pytest.mark.parametrize("shape", [(200_001,), (3, 70_000), (70_000, 3), (5000, 600), (2, 3000, 700), (9, 2049, 65)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_long_sums_are_pairwise(shape, dtype, rng):
    x = (rng.standard_normal(shape) + 10).astype(dtype)
    for axis in range(len(shape)):
        exact = x.astype(np.longdouble).sum(axis)
        # 2^18 values: 18 levels of joining, and at most 64 sums in a row within a leaf.
        assert (np.abs(ops.sum(x, axis) - exact) <= 12 * np.finfo(dtype).eps * np.abs(exact)).all()
    exact = math.fsum(x.ravel().tolist())
    assert abs(float(ops.sum(x)) - exact) <= 12 * np.finfo(dtype).eps * abs(exact)
    np.testing.assert_allclose(
        ops.var(x, 0), x.astype(np.float64).var(0), rtol=3e-5 if dtype == np.float32 else 1e-12, atol=1e-10
    )


@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("axes", [None, (0,), (1,), (0, 2)])
def test_any_number_of_threads_gives_the_same_bits(threads, axes, rng):
    x = rng.standard_normal((300, 401, 3)).astype(np.float32)
    for name in ("sum", "var", "argmax"):
        if name == "argmax" and axes == (0, 2):
            continue
        one = _native.reduce(name, x, axes, threads=1)
        assert _native.reduce(name, x, axes, threads=threads).tobytes() == one.tobytes()


def test_integers_wrap_and_truth_values_are_counted():
    assert ops.sum(np.full(3, 2**62)).item() == np.sum(np.full(3, 2**62)).item()
    assert ops.sum(np.array([True, True, False])).item() == 2
    assert ops.sum(np.full(1000, 127, np.int8)).item() == 127_000
    assert ops.mean(np.array([1, 2])).item() == 1.5
    assert ops.sum(np.ones(3000, np.float16)).item() == 3000
    assert ops.max(np.ones(3, BFLOAT16)).dtype == BFLOAT16


def test_nothing_has_the_sum_zero_and_no_largest_value():
    empty = np.zeros((0, 3), np.float32)
    assert ops.sum(empty, 0).tolist() == [0, 0, 0]
    assert ops.prod(empty, 0).tolist() == [1, 1, 1]
    assert ops.sum(empty).item() == 0
    assert not ops.any(empty).item()
    assert ops.all(empty, 0).tolist() == [True] * 3
    assert np.isnan(ops.mean(empty, 0)).all()
    assert np.isnan(ops.var(empty, 0)).all()
    assert ops.max(empty, 1).shape == (0,)
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(errors.InvalidArgumentError, match="nothing is left to choose from"):
            getattr(ops, name)(empty, 0)


def test_corrections_are_taken_off_the_count(rng):
    x = rng.standard_normal((4, 5))
    np.testing.assert_allclose(ops.var(x, 1, correction=1), x.var(1, ddof=1), rtol=1e-14)
    np.testing.assert_allclose(ops.std(x, 0, correction=1), x.std(0, ddof=1), rtol=1e-14)
    assert np.isnan(ops.var(x[:, :1], 1, correction=1)).all()


def test_out_and_bad_arguments(rng):
    x = rng.standard_normal((4, 5)).astype(np.float32)
    out = np.empty(5, np.float32)
    assert ops.sum(x, 0, out=out) is out
    np.testing.assert_array_equal(out, ops.sum(x, 0))
    wide = np.empty((4, 1), np.float32)
    ops.max(x, 1, keepdims=True, out=wide)
    np.testing.assert_array_equal(wide, x.max(1, keepdims=True))
    with pytest.raises(errors.InvalidArgumentError, match=r"sum: axis 2 is out of range for x of shape \[4, 5\]"):
        ops.sum(x, 2)
    with pytest.raises(errors.InvalidArgumentError, match="named twice"):
        ops.sum(x, (0, -2))
    with pytest.raises(errors.InvalidTypeError, match="axis is 'x'"):
        ops.sum(x, "x")
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        ops.sum(x, 0, out=x[0])
    with pytest.raises(errors.ShapeMismatchError, match=r"out has shape \[4\], the result \[5\]"):
        ops.sum(x, 0, out=np.empty(4, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="complex numbers have no order"):
        ops.max(np.zeros(3, complex))

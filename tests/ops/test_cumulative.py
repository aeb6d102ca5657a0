"""amdgpu.ops: accumulate, cummax and cummin against NumPy."""

import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import FLOATS, INTEGERS, arrange, layouts, random_values

DTYPES = [*FLOATS, *INTEGERS, np.dtype(bool)]
UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def result_type(operation, dtype):
    if operation in ("any", "all"):
        return np.dtype(bool)
    if operation in ("max", "min") or dtype.kind not in "biu":
        return dtype
    return np.dtype(np.uint64 if dtype.kind == "u" else np.int64)


def identity(operation, dtype):
    if operation in ("sum", "any"):
        return 0
    if operation in ("prod", "all"):
        return 1
    if dtype.kind == "b":
        return operation == "min"
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if operation == "max" else limits.max
    return -np.inf if operation == "max" else np.inf


def accumulated(x, operation, axis, exclusive, reverse):
    """NumPy's accumulate of the moved and reversed array; floats in float64."""
    dtype = result_type(operation, x.dtype)
    wide = np.dtype(np.float64) if dtype.kind not in "biu" else dtype
    moved = np.moveaxis(x, axis, 0).astype(bool if operation in ("any", "all") else wide)
    moved = moved[::-1] if reverse else moved
    with np.errstate(all="ignore"):
        result = UFUNCS[operation].accumulate(moved, 0, dtype=wide)
    if exclusive:
        first = np.full((1, *moved.shape[1:]), identity(operation, dtype), wide)
        result = np.concatenate([first, result[:-1]])
    result = result[::-1] if reverse else result
    return np.moveaxis(result, 0, axis), dtype


@settings(max_examples=250, deadline=None)
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3).map(tuple),
    layouts,
    st.sampled_from(DTYPES),
    st.sampled_from(sorted(UFUNCS)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([None, 1, 3]),
    st.integers(0, 2**32 - 1),
)
def test_every_operation_layout_and_direction(shape, layout, dtype, operation, exclusive, reverse, threads, seed):
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(-len(shape), len(shape)))
    x = random_values(rng, shape, dtype)
    if dtype.kind not in "biu" and operation in ("sum", "prod"):
        x = (1 + rng.integers(-2, 3, shape) / 128).astype(dtype)
    x = arrange(x, layout)
    expected, wanted = accumulated(x, operation, axis, exclusive, reverse)
    result = np.asarray(ops.accumulate(x, operation, axis, exclusive=exclusive, reverse=reverse))
    assert result.dtype == wanted
    if wanted.kind in "biu" or operation in ("max", "min"):
        np.testing.assert_array_equal(result.astype(expected.dtype), expected)
    else:
        tolerance = {"float16": 2e-2, "bfloat16": 2e-1, "float32": 1e-4, "float64": 1e-12}[wanted.name]
        np.testing.assert_allclose(result.astype(np.float64), expected, tolerance)
    if operation not in ("any", "all"):
        name = {"sum": "cumsum", "prod": "cumprod", "max": "cummax", "min": "cummin"}[operation]
        again = cases.on_host("scan")(name, x, axis, exclusive=exclusive, reverse=reverse, threads=threads)
        assert np.asarray(again).tobytes() == result.tobytes()


def test_nan_stays_in_the_best_so_far():
    x = np.array([1.0, 3.0, np.nan, 7.0])
    np.testing.assert_array_equal(ops.accumulate(x, "max"), [1, 3, np.nan, np.nan])
    np.testing.assert_array_equal(ops.accumulate(x, "min", reverse=True), [np.nan, np.nan, np.nan, 7])


def test_a_scan_may_write_to_its_own_input_unless_it_is_exclusive():
    x = np.array([[3.0, 1.0, 2.0]])
    ops.accumulate(x, "max", 1, reverse=True, out=x)
    assert x.tolist() == [[3.0, 2.0, 2.0]]
    with pytest.raises(errors.InvalidArgumentError, match="cumsum: out may share memory with x"):
        ops.accumulate(x, "sum", 1, exclusive=True, out=x)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("operation", ["cummax", "cummin"])
def test_indices_are_those_of_the_last_best_value(operation, axis):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 5, (20, 30)).astype(np.float32)
    x[4, 7] = np.nan
    found = getattr(ops, operation)(x, axis)
    ufunc = np.maximum if operation == "cummax" else np.minimum
    np.testing.assert_array_equal(found.values, ufunc.accumulate(x, axis))
    lines, best, places = (np.moveaxis(np.asarray(own), axis, -1) for own in (x, found.values, found.indices))
    assert places.dtype == np.int64
    for line, own_best, own in zip(lines, best, places, strict=True):
        for i in range(len(line)):
            equal = [j for j in range(i + 1) if line[j] == own_best[i] or (np.isnan(line[j]) and np.isnan(own_best[i]))]
            assert own[i] == equal[-1]


def test_empty_lines_have_no_results():
    assert ops.accumulate(np.zeros((3, 0)), "max").shape == (3, 0)
    assert ops.accumulate(np.zeros((0, 3)), "sum", exclusive=True).shape == (0, 3)
    assert ops.cummax(np.zeros((0, 3)), 0).indices.shape == (0, 3)


def test_values_that_are_not_zero_are_true():
    assert ops.accumulate([0.0, -0.0, 0.5, 0.0], "any").tolist() == [False, False, True, True]
    assert ops.accumulate([1, 2, 0, 3], "all").tolist() == [True, True, False, False]


def test_wrong_operations_and_axes_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="operation"):
        ops.accumulate([1], "median")
    with pytest.raises(errors.InvalidArgumentError, match="axis 1 is out of range"):
        ops.accumulate([1], "sum", 1)
    with pytest.raises(errors.UnsupportedDtypeError, match="compare it with zero first"):
        cases.on_host("scan")("cumulative_any", np.ones(3), 0)

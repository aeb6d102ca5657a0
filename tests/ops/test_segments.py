"""amdgpu.ops: segmented reductions, index_add, scatter_reduce, index_select and embedding gradients against NumPy."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import FLOATS, INTEGERS, arrange, layouts, random_values

JOINS = {
    "sum": (ops.segment_sum, 0, np.add),
    "prod": (ops.segment_prod, 1, np.multiply),
    "mean": (ops.segment_mean, 0, np.add),
    "amax": (ops.segment_max, None, np.maximum),
    "amin": (ops.segment_min, None, np.minimum),
}
DTYPES = [*FLOATS, *INTEGERS]
# What float16 and bfloat16 round to, where values are near 1.
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-6, "float64": 1e-13}


def first_of(reduce, dtype):
    """What a row without values holds."""
    start = JOINS[reduce][1]
    if start is not None:
        return start
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return limits.min if reduce == "amax" else limits.max
    return -np.inf if reduce == "amax" else np.inf


def joined(reduce, x, rows, count, first=None):
    """Values joined one by one along axis 0, in float64 or with integers that wrap."""
    wide = np.float64 if x.dtype.kind not in "iu" else x.dtype
    out = np.full((count, *x.shape[1:]), first_of(reduce, x.dtype), wide) if first is None else first.astype(wide)
    counts = np.full(count, 0 if first is None else 1)
    with np.errstate(all="ignore"):
        for value, row in zip(x.astype(wide), rows, strict=True):
            out[row] = JOINS[reduce][2](out[row], value)
            counts[row] += 1
        if reduce == "mean":
            divisor = np.maximum(counts, 1).reshape(-1, *(1,) * (x.ndim - 1))
            # In 64 bits, as the sum of narrow integers does not wrap before it is divided.
            return out / divisor if wide is np.float64 else None
    return out


def check(result, expected, dtype):
    result = np.asarray(result)
    assert result.dtype == dtype
    if dtype.kind in "iu":
        np.testing.assert_array_equal(result, expected)
    else:
        np.testing.assert_allclose(result.astype(np.float64), expected, TOLERANCES[dtype.name], 1e-6)


def near_one(rng, shape, dtype):
    if dtype.kind in "iu":
        return rng.integers(0, 5, shape).astype(dtype)
    return (1 + rng.integers(-3, 4, shape) / 16).astype(dtype)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=0, max_size=2).map(tuple),
    layouts,
    st.sampled_from(DTYPES),
    st.sampled_from(sorted(JOINS)),
    st.integers(0, 60),
    st.integers(1, 12),
    st.booleans(),
    st.integers(0, 2**32 - 1),
)
def test_segments_of_any_layout_and_axis(inner, layout, dtype, reduce, length, count, is_sorted, seed):
    rng = np.random.default_rng(seed)
    axis = int(rng.integers(0, len(inner) + 1))
    shape = (*inner[:axis], length, *inner[axis:])
    x = arrange(near_one(rng, shape, dtype), layout)
    rows = rng.integers(0, count, length).astype(rng.choice(["int32", "int64"]))
    rows = np.sort(rows) if is_sorted else rows
    expected = joined(reduce, np.moveaxis(x, axis, 0), rows, count)
    if expected is None:
        wide = joined("sum", np.moveaxis(x, axis, 0).astype(np.int64), rows, count)
        divisor = np.maximum(np.bincount(rows, minlength=count), 1).reshape(-1, *(1,) * (x.ndim - 1))
        expected = (wide // divisor).astype(dtype)
    results = [cases.on_host("segment_reduce")(reduce, x, rows, count, axis, threads=threads) for threads in (1, 2, 5)]
    check(results[0], np.moveaxis(expected, 0, axis), dtype)
    for other in results[1:]:
        assert np.asarray(other).tobytes() == np.asarray(results[0]).tobytes()
    if is_sorted:
        offsets = np.searchsorted(rows, np.arange(count + 1)).astype(rows.dtype)
        by_offsets = JOINS[reduce][0](x, offsets=offsets, axis=axis)
        assert np.asarray(by_offsets).tobytes() == np.asarray(results[0]).tobytes()


def test_sums_are_the_same_bits_in_every_run_and_for_any_number_of_threads():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((20_000, 7)).astype(np.float32)
    rows = rng.integers(0, 9, 20_000)
    first = cases.on_host("segment_reduce")("sum", x, rows, 9)
    for threads in (1, 2, 3, 7):
        again = cases.on_host("segment_reduce")("sum", x, rows, 9, threads=threads)
        assert np.asarray(again).tobytes() == np.asarray(first).tobytes()


def test_nan_wins_in_the_best_of_segments():
    x = np.array([1.0, np.nan, 3.0, -0.0])
    assert np.isnan(ops.segment_max(x, [0, 0, 1, 1], 2)).tolist() == [True, False]
    assert np.isnan(ops.segment_min(x, [0, 0, 1, 1], 2)).tolist() == [True, False]
    assert ops.segment_max(x, [1, 1, 1, 1], 2)[0] == -np.inf


def test_truth_values_are_joined_by_or_and_and():
    x = np.array([True, False, True, True])
    assert ops.segment_sum(x, [0, 0, 1, 1], 3).tolist() == [True, True, False]
    assert ops.segment_prod(x, [0, 0, 1, 1], 3).tolist() == [False, True, True]


def test_without_a_number_there_are_as_many_segments_as_the_ids_say():
    assert ops.segment_sum([1, 2, 3], [0, 4, 0]).tolist() == [4, 0, 0, 0, 2]
    assert ops.segment_sum(np.zeros((0, 2)), np.zeros(0, np.int64)).shape == (0, 2)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_index_add_adds_every_value_and_leaves_x(dtype, axis):
    rng = np.random.default_rng(5)
    x = near_one(rng, (6, 7), dtype)
    index = rng.integers(-x.shape[axis], x.shape[axis], 11)
    source = near_one(rng, (11, 7) if axis == 0 else (6, 11), dtype)
    wide = x.astype(np.int64 if dtype.kind in "iu" else np.float64)
    np.add.at(wide.T if axis else wide, index, (source.T if axis else source).astype(wide.dtype))
    before = x.copy()
    check(ops.index_add(x, axis, index, source), wide.astype(dtype), dtype)
    np.testing.assert_array_equal(x.view(np.uint8), before.view(np.uint8))


def test_index_add_scales_by_alpha():
    assert ops.index_add([1.0, 2.0], 0, [1, 1], [3.0, 4.0], alpha=2).tolist() == [1.0, 16.0]


@pytest.mark.parametrize("reduce", sorted(JOINS))
@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_scatter_reduce_joins_line_by_line(reduce, include_self, axis):
    rng = np.random.default_rng(8)
    for dtype in (np.dtype(np.float32), np.dtype(np.int64)):
        x, place = near_one(rng, (4, 5, 3), dtype), axis % 3
        shape = [3, 4, 2]
        shape[place] = 9
        index = rng.integers(0, x.shape[place], shape)
        src = near_one(rng, tuple(shape), dtype)
        expected = x.astype(np.float64)
        for lines in np.ndindex(*(extent for own, extent in enumerate(shape) if own != place)):
            line = (*lines[:place], slice(None), *lines[place:])
            rows = index[line]
            own = joined(reduce, src[line].astype(np.float64), rows, x.shape[place], x[line] if include_self else None)
            named = np.isin(np.arange(x.shape[place]), rows)
            expected[line] = np.where(named, own, x[line])
        if dtype.kind == "i":
            expected = np.floor(expected)
        check(ops.scatter_reduce(x, axis, index, src, reduce, include_self=include_self), expected, dtype)


def test_index_select_takes_rows():
    x = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(ops.index_select(x, 1, [3, 0, -1]), x[:, [3, 0, 3]])
    with pytest.raises(errors.ShapeMismatchError, match="index has 2 axes"):
        ops.index_select(x, 0, [[0]])


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding", [None, 2, -1])
def test_embedding_gradients_go_to_the_rows_that_were_looked_up(scale, padding):
    rng = np.random.default_rng(4)
    indices = rng.integers(0, 6, (3, 5))
    gradient = rng.standard_normal((3, 5, 8)).astype(np.float32)
    expected = np.zeros((7, 8))
    np.add.at(expected, indices, gradient.astype(np.float64))
    if scale:
        expected /= np.maximum(np.bincount(indices.ravel(), minlength=7), 1)[:, None]
    if padding is not None:
        expected[padding] = 0
    result = ops.embedding_gradient(gradient, indices, 7, padding, scale)
    np.testing.assert_allclose(result, expected, 1e-6, 1e-6)


def test_wrong_rows_are_named():
    x = np.ones((3, 2))
    with pytest.raises(errors.IndexOutOfRangeError, match="index 5 at place 1 is none of 4 rows"):
        ops.segment_sum(x, [0, 5, 1], 4)
    with pytest.raises(errors.IndexOutOfRangeError, match="index -1 at place 2 is none of 4 rows"):
        ops.embedding_gradient(x, [0, 1, -1], 4)
    with pytest.raises(errors.IndexOutOfRangeError, match="padding_idx is 4; the table has 4 rows"):
        ops.embedding_gradient(x, [0, 1, 2], 4, 4)
    with pytest.raises(errors.IndexOutOfRangeError, match="offset 1 at place 2"):
        ops.segment_sum(x, offsets=[0, 2, 1])
    with pytest.raises(errors.IndexOutOfRangeError, match="offset 9 at place 1"):
        ops.segment_sum(x, offsets=[0, 9])
    with pytest.raises(errors.IndexOutOfRangeError, match="out of bounds for axis 1 with size 2"):
        ops.scatter_reduce(x, 1, [[2]], [[1.0]], "sum")
    with pytest.raises(errors.ShapeMismatchError, match="values have the shape of the indices"):
        ops.segment_sum(x, [0, 1], 2)
    with pytest.raises(errors.UnsupportedDtypeError, match="must be int32 or int64"):
        ops.segment_sum(x, [0.0, 1.0, 1.0], 2)
    with pytest.raises(errors.UnsupportedDtypeError, match="truth values have no mean"):
        ops.segment_mean([True], [0], 1)
    with pytest.raises(errors.InvalidArgumentError, match="one of both"):
        ops.segment_sum(x)
    with pytest.raises(errors.InvalidArgumentError, match="the number of rows is -2"):
        ops.segment_sum(x, [0, 0, 0], -2)
    with pytest.raises(errors.ShapeMismatchError, match="index_add"):
        ops.index_add(x, 0, [0, 1], np.ones((2, 3)))
    with pytest.raises(errors.ShapeMismatchError, match="scatter_reduce"):
        ops.scatter_reduce(x, 0, [[0, 0, 0]], [[1.0, 1.0, 1.0]], "sum")


def test_arrays_stay_on_their_device():
    with amdgpu.initialize_device("cpu:0"):
        x = amdgpu.array(np.arange(6.0).reshape(3, 2), device="cpu:0")
        result = ops.segment_sum(x, [1, 0, 1], 2)
        assert isinstance(result, amdgpu.Array)
        assert result.device == "cpu:0"
        assert result.tolist() == [[2.0, 3.0], [4.0, 6.0]]


def test_values_of_special_kinds_pass_through():
    x = random_values(np.random.default_rng(2), (50,), np.dtype(np.float64))
    np.testing.assert_array_equal(ops.segment_sum(x, np.arange(50), 50), x + 0.0)

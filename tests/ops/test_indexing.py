"""amdgpu.ops: transpose, embedding, running sums, top_k against NumPy."""

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, INTEGERS, arrange, layouts, random_values, shapes

DTYPES = [*FLOATS, *INTEGERS, np.dtype(bool)]


@settings(max_examples=150, deadline=None)
@given(shapes, layouts, st.sampled_from(DTYPES), st.randoms(use_true_random=False), layouts)
def test_transposes_of_any_layout(shape, layout, dtype, random, out_layout):
    rng = np.random.default_rng(sum(shape))
    axes = list(range(len(shape)))
    random.shuffle(axes)
    x = arrange(random_values(rng, shape, dtype), layout)
    result = ops.transpose(x, axes)
    expected = np.transpose(x, axes)
    assert result.flags.c_contiguous
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))
    out = arrange(np.zeros(expected.shape, dtype), out_layout)
    ops.transpose(x, axes, out=out)
    np.testing.assert_array_equal(out.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("shape", [(300, 257), (64, 64), (65, 1), (3, 130, 70), (2, 5, 65, 129)])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, np.float32, np.float64])
def test_large_transposes(shape, dtype, rng):
    x = rng.integers(0, 200, shape).astype(dtype)
    for axes in (None, tuple(np.roll(range(len(shape)), 1)), (*range(len(shape) - 2), len(shape) - 1, len(shape) - 2)):
        np.testing.assert_array_equal(ops.transpose(x, axes), np.transpose(x, axes))
        np.testing.assert_array_equal(ops.transpose(x[::-1, ..., ::2], axes), np.transpose(x[::-1, ..., ::2], axes))
        np.testing.assert_array_equal(_native.transpose(x, axes, threads=3), np.transpose(x, axes))


def test_bad_axes_of_transposes_are_refused():
    x = np.zeros((2, 3))
    with pytest.raises(errors.InvalidArgumentError, match="name 1 of the 2 axes"):
        ops.transpose(x, (0,))
    with pytest.raises(errors.InvalidArgumentError, match="named twice"):
        ops.transpose(x, (0, 0))
    with pytest.raises(errors.InvalidArgumentError, match="out of range"):
        ops.transpose(x, (0, 2))
    square = np.zeros((3, 3))
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        ops.transpose(square, out=square)


@settings(max_examples=80, deadline=None)
@given(
    shapes,
    st.lists(st.integers(1, 6), max_size=2),
    layouts,
    layouts,
    st.sampled_from(DTYPES),
    st.sampled_from([np.int32, np.int64]),
)
def test_embeddings_gather_rows(shape, row, layout, table_layout, dtype, index_dtype):
    rng = np.random.default_rng(sum(shape))
    table = arrange(random_values(rng, (11, *row), dtype), table_layout)
    indices = arrange(rng.integers(0, 11, shape).astype(index_dtype), layout)
    result = ops.embedding(indices, table)
    assert result.dtype == dtype
    np.testing.assert_array_equal(np.asarray(result).astype(np.float64), table[indices].astype(np.float64))


def test_long_embeddings_and_bad_indices(rng):
    table = rng.standard_normal((1000, 300)).astype(np.float32)
    indices = rng.integers(0, 1000, (20, 50))
    np.testing.assert_array_equal(ops.embedding(indices, table), table[indices])
    out = np.zeros((20, 50, 300), np.float32)
    indices[3, 7] = 1000
    with pytest.raises(errors.InvalidArgumentError, match="index 1000 at place 157 is not a row of a table of 1000"):
        ops.embedding(indices, table, out=out)
    assert not out.any()
    indices[3, 7] = -1
    with pytest.raises(errors.InvalidArgumentError, match="index -1"):
        ops.embedding(indices, table)
    with pytest.raises(errors.UnsupportedDtypeError, match="must be int32 or int64"):
        ops.embedding(np.float32([1]), table)
    with pytest.raises(errors.ShapeMismatchError, match="no axes"):
        ops.embedding(indices, np.float32(1))


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=3),
    st.integers(-3, 2),
    layouts,
    st.sampled_from([*FLOATS[:2], *INTEGERS, np.dtype(bool)]),
    st.sampled_from(["cumsum", "cumprod"]),
)
def test_running_sums_are_those_of_numpy(shape, axis, layout, dtype, name):
    axis %= len(shape)
    x = arrange(random_values(np.random.default_rng(sum(shape)), shape, dtype), layout)
    wide = {"i": np.int64, "b": np.int64, "u": np.uint64}.get(dtype.kind, dtype)
    np.testing.assert_array_equal(getattr(ops, name)(x, axis), getattr(np, name)(x, axis=axis, dtype=wide))


@pytest.mark.parametrize("shape", [(100_003,), (3, 2000), (2000, 3), (700, 600)])
def test_long_running_sums(shape, rng):
    x = rng.standard_normal(shape).astype(np.float32)
    for axis in range(len(shape)):
        np.testing.assert_array_equal(ops.cumsum(x, axis), np.cumsum(x, axis=axis))
    half = x.astype(np.float16)
    np.testing.assert_array_equal(ops.cumsum(half, 0), np.cumsum(half.astype(np.float32), axis=0).astype(np.float16))
    ops.cumsum(x, 0, out=x)


@settings(max_examples=120, deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.integers(-3, 2),
    layouts,
    st.sampled_from([*FLOATS, *INTEGERS]),
    st.booleans(),
    st.integers(0, 12),
)
def test_the_best_come_in_order_and_ties_by_place(shape, axis, layout, dtype, largest, k):
    axis %= len(shape)
    k = min(k, shape[axis])
    rng = np.random.default_rng(sum(shape))
    x = arrange(rng.integers(0, 5, shape).astype(dtype), layout)
    values, places = ops.top_k(x, k, axis, largest=largest)
    keys = x.astype(np.float64)
    order = np.argsort(-keys if largest else keys, axis=axis, kind="stable").take(range(k), axis=axis)
    np.testing.assert_array_equal(places, order)
    assert values.dtype == dtype
    np.testing.assert_array_equal(values.astype(np.float64), np.take_along_axis(keys, order, axis))


def test_top_k_of_long_lines_with_nan(rng):
    x = rng.standard_normal((5, 20_000)).astype(np.float32)
    x[1, [7, 9000]] = np.nan
    x[2, 15_000] = np.inf
    for k in (1, 10, 1000, 20_000):
        values, places = ops.top_k(x, k)
        keys = np.where(np.isnan(x), np.inf, x)
        order = np.argsort(-keys, axis=1, kind="stable")[:, :k]
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    smallest, _ = ops.top_k(x, 20_000, largest=False)
    np.testing.assert_array_equal(smallest, np.sort(x, axis=1))
    np.testing.assert_array_equal(_native.top_k(x, 10, -1, threads=3)[1], ops.top_k(x, 10)[1])
    for k in (-1, 20_001):
        with pytest.raises(errors.InvalidArgumentError, match=f"k is {k}; axis -1 of x has 20000 values"):
            ops.top_k(x, k)


def test_arrays_of_a_device_stay_there(rng):
    x = amdgpu.array(rng.standard_normal((3, 4)).astype(np.float32), device="cpu:0")
    for result in (ops.transpose(x), ops.cumsum(x), ops.top_k(x, 2)[0], ops.sum(x, 0), ops.embedding(np.array([1]), x)):
        assert isinstance(result, amdgpu.Array)
    assert ops.transpose(np.ones((2, 1), BFLOAT16)).dtype == BFLOAT16


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint64", "float16"])
@pytest.mark.parametrize("kind", ["random", "ties", "equal", "rising", "special"])
def test_many_of_a_long_line_are_those_of_a_stable_sort(kind, dtype, rng):
    count = 20_000
    x = {
        "random": rng.standard_normal(count) * 1000,
        "ties": rng.integers(0, 7, count),
        "equal": np.full(count, 3),
        "rising": np.arange(count) % 60_000,
        "special": rng.choice([np.nan, -0.0, 0.0, np.inf, -np.inf, 1.5], count),
    }[kind]
    if np.dtype(dtype).kind != "f":
        x = np.nan_to_num(np.abs(x), posinf=9)
    x = x.astype(dtype)
    for largest in (True, False):
        # Of equal values the first is better, and NaN is larger than any number.
        wide = (
            np.where(np.isnan(x.astype(float)), np.inf, x.astype(float)) if x.dtype.kind == "f" else x.astype(np.int64)
        )
        keys = (wide, np.isnan(x.astype(float)))
        order = np.lexsort(tuple(-key.astype(float) for key in keys)) if largest else np.lexsort(keys)
        for k in (100, 5000, 19_000, count):
            values, indices = ops.top_k(x, k, largest=largest)
            np.testing.assert_array_equal(indices, order[:k])
            np.testing.assert_array_equal(values, x[order[:k]])

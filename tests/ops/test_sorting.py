"""amdgpu.ops: sort, argsort, searchsorted against NumPy."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import FLOATS, INTEGERS, SPECIAL, arrange, layouts, random_values

DTYPES = [*FLOATS, *INTEGERS, np.dtype(bool)]


def values_of(rng, shape, dtype, kinds):
    """Values of which many are equal where there are few kinds."""
    x = random_values(rng, shape, dtype)
    if dtype.kind in "iu" and kinds:
        return x % dtype.type(min(kinds, np.iinfo(dtype).max))
    if dtype.kind not in "biu":
        with np.errstate(all="ignore"):
            special = np.array(SPECIAL).astype(np.float32).astype(dtype)
        x = np.where(rng.random(shape) < 0.3, special[rng.integers(0, len(special), shape)], x)
    return x.astype(dtype)


def places_of(x, axis, descending):
    """A stable order with NaN last in both directions."""
    if x.dtype.kind in "biu":
        wide = x.astype(object) if x.dtype == np.uint64 else x.astype(np.int64)
        return np.argsort(-wide if descending else wide, axis=axis, kind="stable")
    wide = x.astype(np.float64)
    return np.argsort(-wide if descending else wide, axis=axis, kind="stable")


def check(x, axis, descending, threads=None):
    wanted = places_of(x, axis, descending)
    places = np.asarray(cases.on_host("sort")(x, axis, descending=descending, places=True, threads=threads))
    assert places.dtype == np.int64
    np.testing.assert_array_equal(places, wanted)
    result = np.asarray(cases.on_host("sort")(x, axis, descending=descending, threads=threads))
    assert result.dtype == x.dtype
    moved = np.take_along_axis(x, wanted, axis)
    if x.dtype.kind in "biu":
        np.testing.assert_array_equal(result, moved)
        return
    bits = np.uint16 if x.itemsize == 2 else np.uint32 if x.itemsize == 4 else np.uint64
    is_nan = np.isnan(moved.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(result.astype(np.float64)), is_nan)
    # Zeros of both signs stay in order, too.
    np.testing.assert_array_equal(result.view(bits)[~is_nan], np.ascontiguousarray(moved).view(bits)[~is_nan])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=1, max_size=3).map(tuple),
    layouts,
    st.sampled_from(DTYPES),
    st.booleans(),
    st.sampled_from([0, 3]),
    st.integers(0, 9),
)
def test_lines_of_every_layout(shape, layout, dtype, descending, kinds, seed):
    x = arrange(values_of(np.random.default_rng(seed), shape, dtype, kinds), layout)
    for axis in range(-1, len(shape) - 1):
        check(x, axis, descending)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("length", [1000, 70000, 300001])
def test_long_lines(dtype, length, rng):
    for kinds in (0, 3, 5000):
        x = values_of(rng, (length,), dtype, kinds)
        check(x, 0, False)
        check(x, 0, True, threads=3)
        check(x[::-3], 0, False, threads=3)
    check(np.sort(x), 0, True)
    check(np.full(length, x[0]), 0, False)


def test_many_lines_by_several_threads(rng):
    check(rng.standard_normal((500, 300)).astype(np.float32), 1, False, threads=3)
    check(rng.standard_normal((500, 300)), 0, True, threads=3)


def test_the_functions_of_the_facade():
    x = np.array([[3, 1, 2], [0, 5, 4]])
    assert ops.sort(x).tolist() == [[1, 2, 3], [0, 4, 5]]
    assert ops.sort(x, 0, descending=True).tolist() == [[3, 5, 4], [0, 1, 2]]
    assert ops.argsort(x, -2, stable=False).tolist() == [[1, 0, 0], [0, 1, 1]]
    ours = amdgpu.array(x, device="cpu:0")
    for result in (ops.sort(ours), ops.argsort(ours), ops.searchsorted(np.arange(3), ours)):
        assert isinstance(result, amdgpu.Array)
    assert ops.take_along_axis(x, ops.argsort(x)).tolist() == ops.sort(x).tolist()


def test_generated_kernels_sort_and_search():
    with amdgpu.initialize_device("cpu:0") as cpu:
        x = amdgpu.array(np.array([2.0, np.nan, -1.0]), device="cpu:0")
        assert cases.on_device("sort")(x, 0, descending=True, device=cpu).numpy().tolist()[:2] == [2.0, -1.0]
        assert cases.on_device("sort")(x, 0, places=True, device=cpu).numpy().tolist() == [2, 0, 1]
        line = amdgpu.array(np.array([1.0, 2.0, 2.0]), device="cpu:0")
        assert cases.on_device("search_sorted")(line, np.array([2.0]), right=True, device=cpu).numpy().tolist() == [3]


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 50),
    st.lists(st.integers(0, 6), max_size=3).map(tuple),
    st.sampled_from(DTYPES),
    st.sampled_from(["left", "right"]),
    st.integers(0, 9),
)
def test_values_are_placed_in_sorted_lines(length, shape, dtype, side, seed):
    rng = np.random.default_rng(seed)
    line = np.asarray(ops.sort(values_of(rng, (length,), dtype, 9)))
    values = values_of(rng, shape, dtype, 9)
    result = np.asarray(ops.searchsorted(line, values, side=side))
    assert result.dtype == np.int64
    wide = np.float64 if dtype.kind not in "biu" else dtype
    np.testing.assert_array_equal(result, np.searchsorted(line.astype(wide), values.astype(wide), side=side))


def test_bad_arguments_are_refused():
    x = np.zeros((2, 3))
    with pytest.raises(errors.InvalidArgumentError, match="axis 2 is out of range"):
        ops.sort(x, 2)
    with pytest.raises(errors.InvalidArgumentError, match="axis -1 is out of range"):
        ops.sort(1.0)
    with pytest.raises(errors.UnsupportedDtypeError, match="complex64"):
        ops.argsort(np.zeros(3, np.complex64))
    with pytest.raises(errors.InvalidTypeError):
        ops.sort(x, descending=1)
    with pytest.raises(errors.ShapeMismatchError, match="one axis"):
        ops.searchsorted(x, x)
    with pytest.raises(errors.InvalidArgumentError, match="side is"):
        ops.searchsorted(x[0], x, side="middle")


def test_values_of_another_dtype_are_placed_and_sorters_obeyed():
    line, values = np.array([1, 3, 5], np.int8), np.array([2.5, 5.0])
    assert ops.searchsorted(line, values).tolist() == np.searchsorted(line, values).tolist()
    mixed = np.array([5.0, 1.0, 3.0])
    order = np.argsort(mixed)
    assert (
        ops.searchsorted(mixed, values, sorter=order).tolist() == np.searchsorted(mixed, values, sorter=order).tolist()
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize("length", [15, 16, 17, 127, 128, 129, 255, 256, 257, 511, 4095, 4097, 66_000])
def test_values_of_32_and_64_bits_come_in_order_whatever_repeats(dtype, length):
    rng = np.random.default_rng(length)
    kind = np.dtype(dtype)
    for different in (1, 2, 17, 2**31 - 1):
        x = rng.integers(0, different, length).astype(kind)
        if kind.kind == "f":
            x = np.where(
                rng.random(length) < 0.1, rng.choice(np.array([-0.0, 0.0, np.nan, np.inf, -np.inf])), x - 3
            ).astype(kind)
        for values in (x, np.sort(x), np.sort(x)[::-1].copy(), np.repeat(x, 2)[::2]):
            for descending in (False, True):
                check(values, 0, descending, threads=1)


def test_splits_that_are_always_bad_do_not_make_a_sort_slow():
    # An organ pipe, a saw and nearly equal values mislead medians of samples.
    length = 100_000
    for x in (
        np.r_[np.arange(length), np.arange(length)[::-1]],
        np.arange(length) % 64,
        (np.arange(length) == 77_777).astype(np.int64),
    ):
        check(x.astype(np.int32), 0, False, threads=1)

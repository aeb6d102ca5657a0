"""amdgpu.ops: take, take_along_axis, put_along_axis, nonzero, argwhere against NumPy, and the gathers and scatters below them."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import FLOATS, INTEGERS, arrange, layouts, random_values

DTYPES = [*FLOATS, *INTEGERS, np.dtype(bool)]
INDICES = [np.dtype(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
MODES = {"add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
full_shapes = st.lists(st.integers(1, 6), min_size=1, max_size=4).map(tuple)


@pytest.fixture(scope="module")
def cpu():
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def plain(x):
    return x.numpy() if isinstance(x, amdgpu.Array) else np.asarray(x)


def equal(result, wanted):
    result = plain(result)
    assert (result.dtype, result.shape) == (wanted.dtype, wanted.shape)
    assert result.tobytes() == np.ascontiguousarray(wanted).tobytes()


def drawn(rng, extent, shape, dtype):
    low = 0 if dtype.kind == "u" else -extent
    return rng.integers(low, extent, shape).astype(dtype)


@settings(max_examples=150, deadline=None)
@given(
    full_shapes,
    st.lists(st.integers(0, 5), max_size=3).map(tuple),
    layouts,
    st.sampled_from(DTYPES),
    st.sampled_from(INDICES),
    st.integers(0, 9),
)
def test_take_along_every_axis(shape, wanted, layout, dtype, index_dtype, seed):
    rng = np.random.default_rng(seed)
    x = arrange(random_values(rng, shape, dtype), layout)
    for axis in range(-len(shape), len(shape)):
        indices = arrange(drawn(rng, shape[axis], wanted, index_dtype), layout)
        equal(ops.take(x, indices, axis), np.take(x, indices.astype(np.int64), axis))
    indices = drawn(rng, x.size, wanted, np.dtype(np.int64))
    equal(ops.take(x, indices), np.take(x, indices))


@settings(max_examples=100, deadline=None)
@given(full_shapes, st.integers(1, 5), layouts, st.sampled_from(DTYPES), st.integers(0, 9))
def test_take_and_put_along_axis(shape, count, layout, dtype, seed):
    rng = np.random.default_rng(seed)
    x = arrange(random_values(rng, shape, dtype), layout)
    for axis in range(len(shape)):
        own = tuple(count if k == axis else extent for k, extent in enumerate(shape))
        indices = drawn(rng, shape[axis], own, np.dtype(np.int64))
        equal(ops.take_along_axis(x, indices, axis), np.take_along_axis(x, indices, axis))
        ours, theirs = x.copy(), x.copy()
        values = random_values(rng, own, dtype)
        ops.put_along_axis(ours, indices, values, axis)
        np.put_along_axis(theirs, indices, values, axis)
        equal(ours, theirs)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_elements_take_in_every_value(cpu, mode, dtype, rng):
    indices = rng.integers(-5, 5, (40,))
    values = random_values(rng, (40,), dtype, 1.0)
    if dtype.kind not in "biu":
        values[3] = np.nan if mode in ("maximum", "minimum") else 1.0
    x = random_values(rng, (5,), dtype, 1.0)
    wanted = x.copy()
    # In order, as ufunc.at takes them; bfloat16 has none.
    for index, value in zip(indices, values, strict=True):
        with np.errstate(all="ignore"):
            wanted[index] = MODES[mode](wanted[index], value)
    ours = x.copy()
    ops.put_along_axis(ours, indices, values, mode=mode)
    is_float = dtype.kind not in "biu"
    if is_float:
        np.testing.assert_array_equal(ours.astype(np.float64), wanted.astype(np.float64))
    else:
        equal(ours, wanted)
    moved = amdgpu.array(x, device="cpu:0")
    places = cases.on_device("offsets")((indices,), (5,), (1,), device=cpu)
    cases.on_device("scatter")(moved, places, (), (), values, mode, device=cpu)
    tolerance = (
        {"float16": 0.1, "bfloat16": 0.5}.get(dtype.name, 1e-5) if is_float and mode in ("add", "multiply") else 0
    )
    np.testing.assert_allclose(
        moved.numpy().astype(np.float64), wanted.astype(np.float64), rtol=tolerance, atol=tolerance
    )


@settings(max_examples=60, deadline=None)
@given(full_shapes, layouts, st.sampled_from(DTYPES), st.integers(0, 9))
def test_generated_kernels_gather_and_scatter_as_the_library(shape, layout, dtype, seed):
    rng = np.random.default_rng(seed)
    x = arrange(random_values(rng, shape, dtype), layout)
    strides = tuple(stride // x.itemsize for stride in x.strides)
    indices = drawn(rng, shape[0], (3, 2), np.dtype(np.int32))
    with amdgpu.initialize_device("cpu:0") as cpu:
        offsets = cases.on_host("offsets")((indices,), shape[:1], strides[:1])
        ours = cases.on_device("offsets")((indices,), shape[:1], strides[:1], device=cpu)
        equal(ours, offsets)
        lent = amdgpu.from_dlpack(x) if dtype in (np.float32, np.int16) else amdgpu.array(x, device="cpu:0")
        own = tuple(stride // x.itemsize for stride in lent.strides)
        moved = cases.on_host("offsets")((indices,), shape[:1], own[:1])
        gathered = cases.on_device("gather")(lent, amdgpu.array(moved, device="cpu:0"), shape[1:], own[1:], device=cpu)
        equal(gathered, x[indices])
        once = np.unique(indices % shape[0])
        target = amdgpu.array(np.zeros(shape, dtype), device="cpu:0")
        dense = tuple(stride // x.itemsize for stride in target.strides)
        places = cases.on_host("offsets")((once,), shape[:1], dense[:1])
        cases.on_device("scatter")(
            target, amdgpu.array(places, device="cpu:0"), shape[1:], dense[1:], x[once], device=cpu
        )
        wanted = np.zeros(shape, dtype)
        wanted[once] = x[once]
        equal(target, wanted)


def test_elements_of_sixteen_bytes_are_moved():
    x = np.arange(24).reshape(4, 6) * (1 + 2j)
    equal(ops.take(x, [3, -4, 1], 0), x[[3, -4, 1]])
    equal(ops.take(x, [[5], [0]], 1), x[:, [[5], [0]]])
    ours = x.copy()
    ops.put_along_axis(ours, np.array([[0], [1], [2], [3]]), np.array([[9j]]))
    assert np.diag(ours[:, :4]).tolist() == [9j] * 4
    with pytest.raises(errors.UnsupportedDtypeError, match="complex128"):
        ops.put_along_axis(ours, np.array([[0], [1], [2], [3]]), np.array([[9j]]), mode="add")


def test_the_last_of_equal_indices_is_assigned(rng):
    x = np.zeros(100)
    indices = rng.integers(0, 100, 50000)
    values = np.arange(50000.0)
    ops.put_along_axis(x, indices, values)
    wanted = np.zeros(100)
    wanted[indices] = values
    equal(x, wanted)


def test_large_gathers_and_sums(rng):
    x = rng.standard_normal((3000, 70)).astype(np.float32)
    indices = rng.integers(-3000, 3000, (200, 30))
    equal(ops.take(x, indices, 0), x[indices])
    equal(ops.take(x.T, indices[0], 1), x.T[:, indices[0]])
    wide = np.zeros((5, 40000))
    at = rng.integers(0, 5, 60)
    values = rng.standard_normal((60, 40000))
    offsets = cases.on_host("offsets")((at,), (5,), (40000,))
    cases.on_host("scatter")(wide, offsets, (40000,), (1,), values, "add", threads=3)
    wanted = np.zeros((5, 40000))
    np.add.at(wanted, at, values)
    equal(wide, wanted)


@pytest.mark.parametrize("on_device", [False, True])
def test_indices_that_are_none_are_named(cpu, on_device, rng):
    def offsets(*arguments, **options):
        if on_device:
            return cases.on_device("offsets")(*arguments, device=cpu, **options)
        return cases.on_host("offsets")(*arguments, **options)

    indices = rng.integers(-5, 5, (300, 40))
    indices[7, 3] = 5
    indices[200, 1] = -6
    with pytest.raises(
        errors.IndexOutOfRangeError, match=r"index 5 is out of bounds for axis 2 with size 5: it stands at place 283"
    ):
        offsets((np.zeros(40, np.uint8), indices), (3, 5), (5, 1), axes=(1, 2))
    with pytest.raises(IndexError, match="index 255 is out of bounds for axis 0 with size 5"):
        offsets((np.array([255], np.uint8),), (5,), (1,))
    with pytest.raises(IndexError, match="axis 0 with size 5"):
        offsets((np.array([1, 2**64 - 1], np.uint64),), (5,), (1,))
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        offsets((np.array([0]),), (0,), (1,))
    with pytest.raises(errors.UnsupportedDtypeError, match="indices are integers"):
        offsets((np.array([0.0]),), (3,), (1,))
    with pytest.raises(errors.ShapeMismatchError, match="broadcast"):
        offsets((np.zeros(2, int), np.zeros(3, int)), (3, 3), (3, 1))
    with pytest.raises(errors.InvalidArgumentError):
        offsets((np.zeros(2, int),), (3, 3), (3, 1))


def test_bad_arguments_are_refused():
    x = np.zeros((3, 4))
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 1 with size 4"):
        ops.take(x, [0, 4], 1)
    with pytest.raises(errors.InvalidArgumentError, match="axis 2"):
        ops.take(x, [0], 2)
    with pytest.raises(errors.ShapeMismatchError, match="differ along axis 0"):
        ops.take_along_axis(x, np.zeros((2, 1), int), 1)
    with pytest.raises(errors.ShapeMismatchError, match="must have as many"):
        ops.take_along_axis(x, np.zeros(4, int), 1)
    with pytest.raises(errors.InvalidArgumentError, match="no mode"):
        ops.put_along_axis(x, np.zeros((3, 1), int), 1.0, 1, mode="divide")
    with pytest.raises(errors.InvalidTypeError):
        ops.put_along_axis([[1.0]], np.zeros((1, 1), int), 1.0, 1)
    with pytest.raises(errors.IndexOutOfRangeError, match="leaves the memory"):
        cases.on_host("gather")(x, np.array([9]), (4,), (1,))
    with pytest.raises(errors.IndexOutOfRangeError, match="leaves the memory"):
        cases.on_host("scatter")(x, np.array([0, -1]), (), (), 1.0)
    assert not x.any()
    with pytest.raises(errors.ShapeMismatchError, match="does not broadcast"):
        cases.on_host("scatter")(x, np.array([0, 1]), (), (), np.zeros(3))
    with pytest.raises(errors.UnsupportedDtypeError, match="the target float64"):
        cases.on_host("scatter")(x, np.array([0, 1]), (), (), np.zeros(2, np.float32))
    with pytest.raises(errors.InvalidArgumentError, match="no axes"):
        ops.nonzero(1.0)


def test_empty_takes():
    x = np.zeros((0, 4))
    equal(ops.take(x, np.zeros((2, 0), int), 0), np.zeros((2, 0, 4)))
    equal(ops.take(x, [1, 2], 1), np.zeros((0, 2)))
    equal(ops.take(np.zeros((3, 0)), [1], 0), np.zeros((1, 0)))


shapes = st.lists(st.integers(0, 7), max_size=4).map(tuple)


def with_zeros(shape, layout, dtype, seed):
    """Values of which many are zero; of floats, some are NaN or a negative zero."""
    rng = np.random.default_rng(seed)
    values = random_values(rng, shape, dtype)
    if dtype.kind not in "biu":
        values = np.where(rng.random(shape) < 0.2, np.asarray(np.nan, dtype), values)
        values = np.where(rng.random(shape) < 0.2, np.asarray(-0.0, dtype), values)
    return arrange(np.where(rng.random(shape) < 0.4, values, np.asarray(0, dtype)).astype(dtype), layout)


@settings(max_examples=150, deadline=None)
@given(shapes, layouts, st.sampled_from(DTYPES), st.integers(0, 9))
def test_what_is_not_zero_is_found(shape, layout, dtype, seed):
    x = with_zeros(shape, layout, dtype, seed)
    equal(ops.argwhere(x), np.argwhere(x))
    if shape:
        for ours, theirs in zip(ops.nonzero(x), np.nonzero(x), strict=True):
            equal(ours, theirs)


@pytest.mark.sampled(0.34)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=15, deadline=None)
@given(shape=shapes, layout=layouts, seed=st.integers(0, 9))
def test_kernels_find_what_is_not_zero(shape, layout, dtype, seed):
    x = with_zeros(shape, layout, dtype, seed)
    with amdgpu.initialize_device("cpu:0") as cpu:
        equal(cases.on_device("nonzero")(x, device=cpu), np.argwhere(x))


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
def test_many_elements_are_found_by_several_threads(cpu, share, rng):
    x = rng.random((700, 1200)) < share
    equal(cases.on_host("nonzero")(x, threads=3), np.argwhere(x))
    equal(cases.on_host("nonzero")(x.T, threads=3), np.argwhere(x.T))
    equal(cases.on_device("nonzero")(amdgpu.array(x, device="cpu:0"), device=cpu), np.argwhere(x))


def test_arrays_of_ours_stay_where_they_are():
    x = amdgpu.array(np.arange(12.0).reshape(3, 4), device="cpu:0")
    for result in (ops.take(x, [2, 0], 0), ops.take(x, [1]), ops.argwhere(x), *ops.nonzero(x), ops.astype(x, "int8")):
        assert isinstance(result, amdgpu.Array)
        assert result.device == "cpu:0"
    assert ops.take(x, amdgpu.array(np.array([2, 0]), device="cpu:0"), 1).numpy().tolist() == [[2, 0], [6, 4], [10, 8]]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(0, 40), min_size=0, max_size=3).map(tuple),
    layouts,
    st.sampled_from([*FLOATS, *INTEGERS, np.dtype(bool)]),
    st.sampled_from([*FLOATS, *INTEGERS, np.dtype(bool)]),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_masked_select_takes_what_the_mask_chooses(shape, layout, dtype, mask_dtype, share, seed):
    rng = np.random.default_rng(seed)
    x = arrange(random_values(rng, shape, dtype), layout)
    mask = arrange((rng.random(shape) < share).astype(mask_dtype), layout)
    bits = np.dtype(f"u{x.itemsize}")
    wanted = np.ascontiguousarray(x).view(bits)[mask != 0] if x.ndim else x.reshape(1).view(bits)[mask.reshape(1) != 0]
    for threads in (1, 3):
        result = np.asarray(cases.on_host("masked_select")(x, mask, threads=threads))
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result.view(bits), wanted)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint16", "int64", "bool"])
def test_masked_select_by_kernels_takes_every_dtype(dtype):
    cpu = amdgpu.device.default_device("cpu:0")
    x = (np.arange(3000) % 50).astype(dtype).reshape(60, 50)
    mask = np.arange(3000).reshape(60, 50) % 3 == 0
    select = cases.on_device("masked_select")
    own, own_mask = amdgpu.array(x, device="cpu:0"), amdgpu.array(mask, device="cpu:0")
    equal(select(own, own_mask, device=cpu), x[mask])
    equal(select(own.T, own_mask.T, device=cpu), x.T[mask.T])


def test_masked_select_of_many_pieces_and_bad_shapes():
    x = np.arange(200_000, dtype=np.float32)
    np.testing.assert_array_equal(ops.masked_select(x, x % 7 == 0), x[x % 7 == 0])
    np.testing.assert_array_equal(ops.masked_select(x, np.ones(200_000, bool)), x)
    assert ops.masked_select(x, np.zeros(200_000, bool)).shape == (0,)
    with pytest.raises(errors.ShapeMismatchError, match="they must be the same"):
        ops.masked_select(x, [True])

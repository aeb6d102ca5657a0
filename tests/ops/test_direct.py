"""amdgpu.ops: the fast path of elementwise calls gives what the general path gives, errors included."""

import threading
import time

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native, errors, ops
from ops_oracle import FLOATS, INTEGERS, arrange, random_values

DTYPES = [*FLOATS, *INTEGERS]


class Other(np.ndarray):
    """Not exactly an array of NumPy's, so that its memory is borrowed through an object."""


def general(name, inputs, like):
    """The general path, which writes to results with gaps, for a result of this shape and dtype."""
    given = (value.view(Other) if isinstance(value, np.ndarray) else value for value in inputs)
    out = np.empty((*like.shape, 2), like.dtype)[..., 0]
    assert _native.elementwise(name, tuple(given), out) is out
    return out.copy()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "less", "equal", "clip", "square", "sign", "floor", "exp"]
)
def test_both_paths_give_the_same_bits(name, dtype, rng):
    count = {"clip": 3}.get(name, 1 if name in ("square", "sign", "floor", "exp") else 2)
    for shape in [(1000,), (0,), (3, 17), (40_000,), (1,), (2, 0, 3)]:
        inputs = tuple(rng.integers(0, 9, shape).astype(dtype) for _ in range(count))
        result = _native.elementwise(name, inputs)
        expected = general(name, inputs, result)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == expected.tobytes()
        if count == 2:
            for number in (3, True, np.asarray(3, dtype), 2.5, 0.1):
                mixed = (inputs[0], number)
                result = _native.elementwise(name, mixed)
                expected = general(name, mixed, result)
                assert result.dtype == expected.dtype
                assert result.tobytes() == expected.tobytes()


SHAPES = [
    ((64, 64), (64,)),
    ((5, 33), (5, 1)),
    ((7, 1), (1, 40)),
    ((3, 1, 50), (2, 1)),
    ((2, 0, 3), (3,)),
    ((), (9,)),
    ((), ()),
    ((1,), (4, 1)),
    ((70, 300), (70, 300)),
    ((1,) * 8, (2, 3)),
    ((1,) * 9, (2, 3)),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("layout", ["C", "F", "step", "reversed"])
def test_other_shapes_and_strides_give_the_same_bits(layout, dtype, rng):
    for shapes in SHAPES:
        a, b = (arrange(random_values(rng, shape, dtype), layout) for shape in shapes)
        for name, inputs in {
            "add": (a, b),
            "less": (b, a),
            "clip": (a, b, 3),
            "maximum": (a, 1),
            "negative": (a,),
        }.items():
            result = _native.elementwise(name, inputs)
            expected = general(name, inputs, result)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            assert result.flags.c_contiguous
            assert result.tobytes() == expected.tobytes()
    with pytest.raises(errors.ShapeMismatchError):
        ops.add(np.ones((3, 4), dtype), np.ones((4, 3), dtype))
    with pytest.raises(errors.InvalidArgumentError, match="not aligned"):
        ops.negative(np.zeros(17, np.uint8)[1:].view(np.float64)[:, None])


@pytest.mark.parametrize("first", DTYPES, ids=str)
def test_other_dtypes_give_the_same_bits(first, rng):
    for second in (*DTYPES, np.dtype(bool)):
        a, b = random_values(rng, (3, 40), first), random_values(rng, 40, second)
        for name, inputs in {"add": (a, b), "less": (b, a), "clip": (a, b, 3), "minimum": (b[::2], a[:, 1::2])}.items():
            result = _native.elementwise(name, inputs)
            expected = general(name, inputs, result)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), (name, second)
            assert result.tobytes() == expected.tobytes(), (name, second)


def test_half_precision_takes_numbers_as_numpy_does():
    half = np.ones(3, np.float16)
    for number in (0.1, 65504, -65504.0, 1 / 3, 2.0**-25, 3 * 2.0**-26, float("nan"), -0.0):
        same = np.multiply(half, np.float16(number))
        assert ops.multiply(half, number).tobytes() == same.tobytes()
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert np.isinf(ops.multiply(half, 1e6)).all()


def test_numbers_beside_floats_are_rounded_once():
    x = np.ones(5, np.float32)
    assert (ops.multiply(x, 0.1) == np.float32(0.1)).all()
    assert ops.add(np.arange(3), 0.5).dtype == np.float64
    with pytest.raises(errors.NumberOutOfRangeError, match="does not fit int32"):
        ops.add(np.arange(3, dtype=np.int32), 2**40)


def test_out_is_checked_on_the_fast_path_too(rng):
    x = rng.standard_normal(1000).astype(np.float32)
    expected = x + x
    assert ops.add(x, x, out=x) is x
    np.testing.assert_array_equal(x, expected)
    with pytest.raises(errors.InvalidArgumentError, match="may share memory"):
        ops.add(x[1:], 1.0, out=x[:-1])
    with pytest.raises(errors.ShapeMismatchError, match=r"out has shape \[999\]"):
        ops.add(x, 1.0, out=np.empty(999, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype float64"):
        ops.add(x, 1.0, out=np.empty(1000))
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype float32, the result bool"):
        ops.less(x, 1.0, out=np.empty(1000, np.float32))
    fixed = np.empty(1000, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        ops.add(x, 1.0, out=fixed)
    with pytest.raises(errors.InvalidTypeError):
        ops.add(x, 1.0, out=[0.0])
    truths = np.empty(1000, bool)
    assert ops.less(x, 0.0, out=truths) is truths
    np.testing.assert_array_equal(truths, x < 0)


def test_misaligned_and_foreign_memory_take_the_general_path(rng):
    raw = np.zeros(4 * 100 + 1, np.uint8)
    misaligned = raw[1:].view(np.float32)
    with pytest.raises(errors.InvalidArgumentError, match="not aligned"):
        ops.add(misaligned, 1.0)
    big_endian = np.arange(4, dtype=">f4")
    with pytest.raises(errors.UnsupportedDtypeError, match="byte order"):
        ops.add(big_endian, big_endian)
    with pytest.raises(errors.ShapeMismatchError, match="17 axes"):
        ops.exp(np.zeros((1,) * 17))
    subclass = np.arange(3.0).view(np.recarray)
    assert ops.add(subclass, 1.0).tolist() == [1.0, 2.0, 3.0]


def test_plug_ins_still_decide_after_the_fast_path_was_taken():
    entry = amdgpu.dispatch.Implementation(
        "elementwise", "matrix", "cpu", "python", "stub", "amdgpu._native:elementwise", priority=-1
    )
    x = np.ones(3)
    ops.add(x, x)
    amdgpu.dispatch.register(entry)
    try:
        assert ops.add(x, x).tolist() == [2.0] * 3
    finally:
        amdgpu.dispatch.unregister(entry)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
def test_the_memory_of_an_array_is_not_given_away_while_a_result_is_written_to_it(dtype):
    values = np.ones(1 << 24, dtype)
    for _ in range(4):
        out = amdgpu.zeros(values.size, dtype=dtype)
        worker = threading.Thread(target=ops.add, args=(values, values), kwargs={"out": out})
        worker.start()
        time.sleep(0.001)
        out.free()
        other = amdgpu.zeros(values.size, dtype=dtype)
        worker.join()
        assert not other.numpy().any()


def test_numbers_beyond_a_type_are_taken_alike_by_both_paths():
    bfloats = np.ones(3, ml_dtypes.bfloat16)
    for inputs in ((bfloats, 2**63), (bfloats, 2**70), (bfloats.view(Other), 2**63)):
        assert ops.add(*inputs).astype(float).tolist() == [float(inputs[1])] * 3
    for layout in (np.ones((3, 4), "f4"), np.ones((3, 8), "f4")[:, ::2]):
        with pytest.warns(RuntimeWarning, match="overflow"):
            assert np.isinf(ops.multiply(layout, 1e300)).all()
        assert np.isinf(ops.multiply(layout, float("inf"))).all()


@pytest.mark.parametrize("view", [np.ndarray, Other])
def test_a_truth_is_not_written_over_the_bytes_it_is_of(view):
    small = np.arange(9, dtype=np.int8)
    with pytest.raises(errors.InvalidArgumentError, match="may share memory"):
        ops.less(small.view(view), small[::-1].copy(), out=small.view(bool))

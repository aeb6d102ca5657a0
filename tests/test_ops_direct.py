"""amdgpu.ops: the short way of small elementwise calls gives what the general way gives, errors included."""

import amdgpu
import numpy as np
import pytest
from amdgpu import _native, errors, ops

DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint64]


def general(name, inputs, **options):
    """The general way: arrays with gaps do not take the short one."""
    spread = []
    for value in inputs:
        if isinstance(value, np.ndarray) and value.ndim:
            grown = np.zeros((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
            grown[..., ::2] = value
            spread.append(grown[..., ::2])
        else:
            spread.append(value)
    return _native.elementwise(name, tuple(spread), **options)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "less", "equal", "clip", "square", "sign", "floor", "exp"]
)
def test_both_ways_give_the_same_bits(name, dtype, rng):
    count = {"clip": 3}.get(name, 1 if name in ("square", "sign", "floor", "exp") else 2)
    for shape in [(1000,), (0,), (3, 17), (40_000,), (1,), (2, 0, 3)]:
        inputs = tuple(rng.integers(0, 9, shape).astype(dtype) for _ in range(count))
        result, expected = _native.elementwise(name, inputs), general(name, inputs)
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
        assert result.tobytes() == expected.tobytes()
        if count == 2:
            for number in (3, True, np.asarray(dtype(3))):
                mixed = (inputs[0], number)
                result, expected = _native.elementwise(name, mixed), general(name, mixed)
                assert result.dtype == expected.dtype
                assert result.tobytes() == expected.tobytes()


def test_numbers_beside_floats_are_rounded_once():
    x = np.ones(5, np.float32)
    assert (ops.multiply(x, 0.1) == np.float32(0.1)).all()
    assert ops.add(np.arange(3), 0.5).dtype == np.float64
    with pytest.raises(errors.InvalidArgumentError, match="does not fit int32"):
        ops.add(np.arange(3, dtype=np.int32), 2**40)


def test_out_is_checked_on_the_short_way_too(rng):
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


def test_misaligned_and_foreign_memory_take_the_general_way(rng):
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


def test_plug_ins_still_decide_after_the_short_way_was_taken():
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

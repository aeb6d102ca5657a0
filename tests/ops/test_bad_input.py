"""amdgpu.ops: what nobody should hand in ends in a clear error, and what NumPy defines has NumPy's result."""

import resource

import numpy as np
import pytest
from amdgpu import errors, ops

X = np.arange(12, dtype=np.float32).reshape(3, 4)
INDICES = np.array([0, 2])

# Name -> (call with `out`, shape of the result for X, whether `out` may be the input).
OPERATIONS = {
    "add": (lambda x, out: ops.add(x, 1.0, out=out), (3, 4), True),
    "exp": (lambda x, out: ops.exp(x, out=out), (3, 4), True),
    "where": (lambda x, out: ops.where(np.ones((3, 4), bool), x, 0.0, out=out), (3, 4), True),
    "sum": (lambda x, out: ops.sum(x, 0, out=out), (4,), False),
    "max": (lambda x, out: ops.max(x, 1, out=out), (3,), False),
    "softmax": (lambda x, out: ops.softmax(x, out=out), (3, 4), True),
    "layer_norm": (lambda x, out: ops.layer_norm(x, 4, out=out), (3, 4), True),
    "softmax_gradient": (lambda x, out: ops.softmax_gradient(x, np.ones_like(X), out=out), (3, 4), True),
    "cumsum": (lambda x, out: ops.cumsum(x, 1, out=out), (3, 4), True),
    "transpose": (lambda x, out: ops.transpose(x, out=out), (4, 3), False),
    "embedding": (lambda x, out: ops.embedding(INDICES, x, out=out), (2, 4), False),
}


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_out_that_overlaps_is_refused_and_nothing_is_written(name):
    call, shape, may_be_input = OPERATIONS[name]
    memory = np.arange(40, dtype=np.float32)
    before = memory.copy()
    x = memory[:12].reshape(3, 4)
    out = memory[1 : 1 + int(np.prod(shape))].reshape(shape)
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        call(x, out)
    np.testing.assert_array_equal(memory, before)
    if may_be_input:
        assert call(x, x) is x
    else:
        same = memory[: int(np.prod(shape))].reshape(shape)
        with pytest.raises(errors.InvalidArgumentError, match="share memory"):
            call(x, same)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_out_that_is_read_only_or_wrong_is_refused(name):
    call, shape, _ = OPERATIONS[name]
    fixed = np.zeros(shape, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        call(X, fixed)
    with pytest.raises(errors.ShapeMismatchError):
        call(X, np.zeros((7, *shape), np.float32))
    with pytest.raises(errors.UnsupportedDtypeError):
        call(X, np.zeros(shape, np.int16))
    repeated = np.lib.stride_tricks.as_strided(np.zeros(12, np.float32), shape, (0,) * len(shape))
    with pytest.raises((errors.InvalidArgumentError, errors.ReadOnlyError)):
        call(X, repeated)
    with pytest.raises(errors.InvalidTypeError):
        call(X, [0.0])


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_negative_strides_are_read_and_written(name):
    call, shape, _ = OPERATIONS[name]
    expected = call(X, None)
    reversed_x = X[::-1, ::-1].copy()[::-1, ::-1]
    assert reversed_x.strides[0] < 0
    np.testing.assert_array_equal(call(reversed_x, None), expected)
    backwards = np.zeros(shape, np.float32)[tuple(slice(None, None, -1) for _ in shape)]
    assert call(X, backwards) is backwards
    np.testing.assert_array_equal(backwards, expected)


AXES = {
    "sum": lambda axis: ops.sum(X, axis),
    "argmax": lambda axis: ops.argmax(X, axis),
    "softmax": lambda axis: ops.softmax(X, axis),
    "softmax_gradient": lambda axis: ops.softmax_gradient(X, X, axis),
    "cumsum": lambda axis: ops.cumsum(X, axis),
    "top_k": lambda axis: ops.top_k(X, 1, axis),
    "transpose": lambda axis: ops.transpose(X, (0, axis)),
}


@pytest.mark.parametrize("axis", [2, -3, 2**40])
@pytest.mark.parametrize("name", sorted(AXES))
def test_a_wrong_axis_is_named_with_the_shape_that_has_none(name, axis):
    with pytest.raises(errors.InvalidArgumentError, match=rf"axis {axis} is out of range for x of shape \[3, 4\]"):
        AXES[name](axis)


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 3)])
def test_empty_arrays_have_the_results_of_numpy(shape):
    x = np.zeros(shape, np.float32)
    for name in ("exp", "negative", "isnan", "sin"):
        result, expected = getattr(ops, name)(x), getattr(np, name)(x)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    assert ops.power(x, 2.0).shape == ops.remainder(x, x).shape == shape
    for axis in range(-1, len(shape)):
        chosen = None if axis < 0 else axis
        for name in ("sum", "prod", "any", "all"):
            np.testing.assert_array_equal(getattr(ops, name)(x, chosen), getattr(np, name)(x, axis=chosen))
        with np.errstate(all="ignore"):
            assert np.isnan(ops.mean(x, chosen)).all()
        has_values = chosen is not None and shape[chosen] > 0
        for name in ("max", "argmin"):
            if has_values:
                assert getattr(ops, name)(x, chosen).shape == getattr(np, name)(x, axis=chosen).shape
            elif np.size(np.sum(x, axis=chosen)):
                with pytest.raises(errors.InvalidArgumentError, match="nothing is left to choose from"):
                    getattr(ops, name)(x, chosen)
    assert ops.cumsum(x, 0).shape == ops.softmax(x).shape == shape
    assert ops.transpose(x).shape == shape[::-1]
    assert ops.top_k(x, 0)[0].shape == (*shape[:-1], 0)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "bool"])
@pytest.mark.parametrize("cut", [np.s_[:0], np.s_[:, :0], np.s_[..., :0], np.s_[::-1, :0, ::-1], np.s_[0, :0]])
def test_empty_slices_of_arrays_reduce_as_in_numpy(cut, dtype):
    # Slices keep the strides of the array that they were cut from, which arrays that were made empty do not have.
    for array in (np.ones((5, 7, 4), dtype), np.broadcast_to(np.ones((5, 7, 1), dtype), (5, 7, 4))):
        for x in (array[cut], array[cut].T):
            for axis in (None, *range(x.ndim), tuple(range(x.ndim))):
                for name in ("sum", "prod", "any", "all"):
                    expected = getattr(np, name)(x, axis=axis)
                    np.testing.assert_array_equal(getattr(ops, name)(x, axis), expected, err_msg=f"{name} {axis}")
                counted = np.sum(np.ones(x.shape), axis=axis)
                for name in ("mean", "var", "std"):
                    result = getattr(ops, name)(x, axis)
                    assert result.shape == counted.shape
                    assert np.isnan(result[counted == 0]).all()


def test_nan_and_infinities_pass_as_in_numpy():
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0], np.float32)
    a, b = (values.ravel() for values in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "fmod", "remainder"):
            np.testing.assert_array_equal(getattr(ops, name)(a, b), getattr(np, name)(a, b), err_msg=name)
        rows = np.stack([np.roll(special, shift) for shift in range(6)] + [np.full(6, np.inf, np.float32)])
        for name in ("sum", "prod", "max", "min", "argmax", "argmin", "any", "all", "mean", "var"):
            for axis in (0, 1):
                ours, theirs = getattr(ops, name)(rows, axis), getattr(np, name)(rows, axis=axis)
                np.testing.assert_array_equal(ours, theirs, err_msg=name)
        np.testing.assert_array_equal(ops.cumsum(rows, 1), np.cumsum(rows, axis=1))


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def test_results_larger_than_memory_raise_memory_error_and_take_none():
    # A terabyte of addresses over one element.
    for dtype in (np.float32, np.float64, np.int8):
        huge = np.broadcast_to(np.ones(1, dtype), (1 << 20, 1 << 20))
        before = peak_bytes()
        calls = {
            "add": lambda x=huge: ops.add(x, x),
            "less": lambda x=huge: ops.less(x, x),
            "softmax": lambda x=huge: ops.softmax(x),
            "cumsum": lambda x=huge: ops.cumsum(x, 0),
            "transpose": lambda x=huge: ops.transpose(x),
            "embedding": lambda x=huge: ops.embedding(np.zeros(1 << 20, np.int64), x),
            "gradient": lambda x=huge: ops.softmax_gradient(x.astype(np.float32, copy=False), x),
        }
        for name, call in calls.items():
            if name == "gradient" and dtype != np.float32:
                continue
            with pytest.raises(MemoryError):
                call()
        assert peak_bytes() - before < 64 << 20
    assert ops.add(np.ones(3), 1.0).tolist() == [2.0] * 3

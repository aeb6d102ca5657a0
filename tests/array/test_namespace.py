"""`import amdgpu as xp`: functions of the array API standard against NumPy's of the same name."""

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors, namespace

A = np.arange(24.0).reshape(2, 3, 4)
B = np.array([[3, 1, 2], [9, 7, 8]])


def same(ours, theirs):
    assert isinstance(ours, xp.Array)
    theirs = np.asarray(theirs)
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-12)


def test_every_name_is_there_and_listed():
    for name in namespace.NAMES:
        assert getattr(xp, name, "missing") is not "missing" or name == "newaxis", name  # noqa: F632
    assert set(dir(xp)) >= namespace.NAMES
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        xp.nothing  # noqa: B018
    assert xp.__array_api_version__ == "2025.12"
    assert xp.array([1.0]).__array_namespace__() is xp
    with pytest.raises(errors.InvalidArgumentError, match="no version"):
        xp.array([1.0]).__array_namespace__(api_version="1999.1")


CASES = {
    "reshape": lambda m, a, b: m.reshape(a, (4, 6)),
    "permute_dims": lambda m, a, b: m.permute_dims(a, (2, 0, 1)),
    "moveaxis": lambda m, a, b: m.moveaxis(a, 0, 2),
    "squeeze": lambda m, a, b: m.squeeze(m.reshape(a, (1, 24, 1)), axis=0),
    "expand_dims": lambda m, a, b: m.expand_dims(a, axis=1),
    "flip": lambda m, a, b: m.flip(a, axis=(0, 2)),
    "roll": lambda m, a, b: m.roll(a, (1, -2), axis=(0, 2)),
    "roll, flattened": lambda m, a, b: m.roll(b, 2),
    "concat": lambda m, a, b: m.concat([a, a[:, :1]], axis=1),
    "concat, promoted": lambda m, a, b: m.concat([b, m.astype(b, np.float32)]),
    "stack": lambda m, a, b: m.stack([b, b], axis=-1),
    "unstack": lambda m, a, b: m.unstack(a, axis=1)[2],
    "tile": lambda m, a, b: m.tile(b, (2, 1, 2)),
    "repeat": lambda m, a, b: m.repeat(b, 2, axis=1),
    "broadcast_to": lambda m, a, b: m.broadcast_to(b, (4, 2, 3)),
    "tril": lambda m, a, b: m.tril(a, k=-1),
    "triu": lambda m, a, b: m.triu(a, k=1),
    "matrix_transpose": lambda m, a, b: m.matrix_transpose(a),
    "sort": lambda m, a, b: m.sort(b, axis=1),
    "argsort": lambda m, a, b: m.argsort(b, axis=0),
    "argmax": lambda m, a, b: m.argmax(b, axis=1),
    "take": lambda m, a, b: m.take(a, b[0] - 1, axis=2),
    "take_along_axis": lambda m, a, b: m.take_along_axis(b, m.argsort(b, axis=1), axis=1),
    "cumulative_sum": lambda m, a, b: m.cumulative_sum(a, axis=1, include_initial=True),
    "cumulative_prod": lambda m, a, b: m.cumulative_prod(b, axis=1),
    "diff": lambda m, a, b: m.diff(b, axis=1),
    "count_nonzero": lambda m, a, b: m.count_nonzero(b - 1, axis=0),
    "sum": lambda m, a, b: m.sum(b, axis=0, dtype=np.int32),
    "prod": lambda m, a, b: m.prod(b),
    "mean": lambda m, a, b: m.mean(a, axis=(0, 2), keepdims=True),
    "unique_values": lambda m, a, b: m.sort(m.unique_values(b // 2)),
    "unique counts": lambda m, a, b: m.unique_counts(b // 3).counts,
    "unique inverse": lambda m, a, b: m.unique_inverse(b // 3).inverse_indices,
    "isin": lambda m, a, b: m.isin(b, m.asarray([2, 9])),
    "where": lambda m, a, b: m.where(b > 2, b, -b),
    "clip": lambda m, a, b: m.clip(b, 2, 8),
    "clip, one bound": lambda m, a, b: m.clip(b, None, 7),
    "matmul": lambda m, a, b: m.matmul(a, m.matrix_transpose(a)),
    "tensordot": lambda m, a, b: m.tensordot(a, a, axes=([0, 2], [0, 2])),
    "vecdot": lambda m, a, b: m.vecdot(a, a),
    "arange": lambda m, a, b: m.arange(2, 20, 3),
    "linspace": lambda m, a, b: m.linspace(0, 1, 7, endpoint=False),
    "eye": lambda m, a, b: m.eye(3, 5, k=1),
    "full": lambda m, a, b: m.full((2, 2), 7),
    "ones_like": lambda m, a, b: m.ones_like(b),
    "meshgrid": lambda m, a, b: m.meshgrid(b[0], a[0, 0])[1],
    "outer": lambda m, a, b: m.linalg.outer(b[0], b[1]),
    "trace": lambda m, a, b: m.linalg.trace(a, offset=1),
    "matrix norm": lambda m, a, b: m.linalg.matrix_norm(a, ord=1),
    "vector norm": lambda m, a, b: m.linalg.vector_norm(a, axis=1),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_functions_are_those_of_numpy(case):
    same(case(xp, xp.array(A), xp.array(B)), case(np, A, B))


def test_dtypes_are_those_of_numpy():
    assert xp.float32 == np.dtype("float32")
    assert xp.zeros(1).dtype == xp.asarray([1.0]).dtype == xp.ones(1).dtype == xp.float64
    assert xp.asarray([1, 2]).dtype == xp.arange(3).dtype == xp.int64
    assert xp.result_type(xp.array([1], "int8"), 3) == xp.int8
    assert xp.result_type("int32", "float32") == np.result_type("int32", "float32")
    assert xp.can_cast("int16", "float32")
    assert not xp.can_cast("int32", "float32")
    assert xp.isdtype("bfloat16", "real floating")
    assert xp.isdtype("uint8", ("bool", "unsigned integer"))
    assert (xp.finfo("float16").eps, xp.iinfo("int8").max) == (np.finfo("float16").eps, 127)
    with pytest.raises(errors.InvalidArgumentError, match="no dtype and none of"):
        xp.isdtype("uint8", "nothing")


def test_what_the_namespace_can_do_is_told():
    info = xp.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"]
    assert info.default_device() == xp.get_device().name
    assert "cpu:0" in info.devices()
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}
    with pytest.raises(errors.InvalidArgumentError, match="no device is called"):
        info.dtypes(device="nowhere")


def test_what_comes_later_says_so():
    with pytest.raises(errors.NoImplementationError, match=r"numpy\.linalg\.svd"):
        xp.linalg.svd(xp.eye(2))
    with pytest.raises(errors.NoImplementationError, match=r"numpy\.fft\.fft"):
        xp.fft.fft(xp.ones(4))
    with pytest.raises(AttributeError):
        xp.fft.nothing  # noqa: B018


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: xp.reshape(xp.arange(6), (4, 2)), ValueError, "cannot see shape"),
        (lambda: xp.permute_dims(xp.ones((2, 3)), (0, 0)), ValueError, "twice"),
        (lambda: xp.flip(xp.arange(3), axis=1), IndexError, "out of bounds"),
        (lambda: xp.squeeze(xp.ones((2, 1)), axis=0), ValueError, "only axes of 1"),
        (lambda: xp.concat([]), ValueError, "at least one"),
        (lambda: xp.concat([[1, 2]]), TypeError, "amdgpu.asarray"),
        (lambda: xp.concat([xp.ones((2, 2)), xp.ones((3, 3))]), ValueError, "differ elsewhere"),
        (lambda: xp.stack([xp.ones(2), xp.ones(3)]), ValueError, "differ"),
        (lambda: xp.broadcast_to(xp.ones(3), (2, 4)), ValueError, "does not broadcast"),
        (lambda: xp.arange(1, 5, 0), ValueError, "cannot be zero"),
        (lambda: xp.eye(-1), ValueError, "n_rows"),
        (lambda: xp.full(3, "x"), TypeError, "a number is expected"),
        (lambda: xp.meshgrid(xp.arange(2), indexing="zz"), ValueError, "'xy' and 'ij'"),
        (lambda: xp.asarray(np.ones(2), copy=False), ValueError, "from_dlpack"),
        (lambda: xp.matmul(xp.ones((2, 3)), xp.ones((2, 3))), ValueError, "do not fit"),
        (lambda: xp.matmul(xp.ones(()), xp.ones(2)), ValueError, "one axis at least"),
        (lambda: xp.tensordot(xp.ones(2), xp.ones(3), axes=1), ValueError, "summed over"),
        (lambda: xp.repeat(xp.ones(2), -1), ValueError, "repeats"),
        (lambda: xp.cumulative_sum(xp.ones((2, 2))), ValueError, "needs an axis"),
        (lambda: xp.ones(2).to_device("nowhere:9"), ValueError, "nowhere"),
        (lambda: xp.linalg.matrix_norm(xp.eye(2), ord="nuc"), RuntimeError, "not there yet"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(call, error, message):
    with pytest.raises(error, match=message):
        call()

"""Methods of arrays that NumPy's have: results, views, shapes and refusals are NumPy's."""

import copy
import io
import pickle
from operator import methodcaller

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors

X = np.random.default_rng(9).random((3, 4))
# Name -> what is called with an array of ours and one of NumPy's.
CALLS = {
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(axis=0, keepdims=True),
    "mean": lambda x: x.mean(1),
    "max": lambda x: x.max(axis=-1),
    "min": lambda x: x.min(),
    "argmax": lambda x: x.argmax(),
    "argmin": lambda x: x.argmin(axis=0),
    "std": lambda x: x.std(axis=1),
    "var": lambda x: x.var(),
    "prod": lambda x: x.prod(axis=0),
    "all": lambda x: (x > 0.1).all(),
    "any": lambda x: (x > 0.9).any(axis=1),
    "cumsum": lambda x: x.cumsum(axis=1),
    "cumprod": lambda x: x.cumprod(axis=0),
    "argsort": lambda x: x.argsort(axis=0),
    "clip": lambda x: x.clip(0.2, 0.6),
    "clip, one bound": lambda x: x.clip(None, 0.6),
    "round": lambda x: x.round(1),
    "repeat": lambda x: x.repeat(2, 1),
    "take": lambda x: x.take(np.array([0, 2]), axis=1),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "transpose": lambda x: x.transpose(1, 0),
    "reshape": lambda x: x.reshape(2, 6),
    "reshape with a tuple": lambda x: x.reshape((4, -1)),
    "squeeze": lambda x: x.reshape(1, 3, 4).squeeze(0),
    "ravel": lambda x: x.ravel(),
    "ravel of a view": lambda x: x.T.ravel(),
    "flatten": lambda x: x[:, ::2].flatten(),
    "diagonal": lambda x: x.diagonal(1),
    "trace": lambda x: x.trace(offset=1),
    "dot": lambda x: x.dot(x.T),
    "conj": lambda x: x.conj(),
    "conjugate": lambda x: x.conjugate(),
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "nonzero": lambda x: (x > 0.5).nonzero()[1],
    "searchsorted": lambda x: x[0].copy().searchsorted(np.array([0.5, -1.0])),
    "astype": lambda x: (x * 9).astype("int32"),
    "copy": lambda x: x[::2].copy(),
    "view": lambda x: x.view("int64"),
    "view, narrower": lambda x: x.view(np.float32),
    "view, wider": lambda x: x.astype("float32").view("float64"),
    "view of rows": lambda x: x[::2].view("uint8"),
}


@pytest.mark.parametrize("name", CALLS)
def test_methods_give_what_those_of_numpy_give(name):
    found, expected = np.asarray(CALLS[name](xp.asarray(X))), np.asarray(CALLS[name](X))
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["tolist", "tobytes"])
def test_methods_give_python_objects(name):
    for x in (X, X.T, X[0, 0:0], np.asarray(3, "int8"), X > 0.5):
        assert getattr(xp.asarray(x), name)() == getattr(x, name)()


def test_items_are_numbers_of_python():
    for dtype in ("float32", "int8", "bool"):
        x = np.ones(1, dtype)
        found = xp.asarray(x).item()
        assert (found, type(found)) == (x.item(), type(x.item()))


def test_len_is_that_of_the_first_axis():
    assert len(xp.asarray(X)) == 3
    assert len(xp.zeros((0, 2))) == 0


def test_fill_sort_and_tofile_work_in_place(tmp_path):
    x, y = xp.asarray(X), X.copy()
    x.sort(axis=0)
    y.sort(axis=0)
    np.testing.assert_array_equal(x.numpy(), y)
    x.tofile(tmp_path / "x")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "x").reshape(3, 4), y)
    x.fill(2)
    assert (x.numpy() == 2).all()


def test_views_in_another_dtype_share_memory():
    x = xp.zeros((2, 3), "float32")
    bits = x.view("uint32")
    bits[1, 2] = 0x3F800000
    assert x[1, 2] == 1
    assert x.view("uint8").shape == (2, 12)
    assert x.T.view("int32").shape == (3, 2)


@pytest.mark.parametrize(
    ("make", "dtype", "error", "match"),
    [
        (lambda: xp.zeros((2, 3), "float32"), "float64", errors.InvalidArgumentError, "no whole number of 8 bytes"),
        (lambda: xp.zeros((3, 2), "float32").T, "float64", errors.InvalidArgumentError, "no whole number"),
        (lambda: xp.zeros((2, 2), "float32").T, "float64", errors.NotContiguousError, "view a copy"),
        (lambda: xp.zeros((4, 3), "float32")[:, :2], "float64", errors.NotContiguousError, "view a copy"),
        (lambda: xp.zeros(9, "uint8")[1:], "float64", errors.NotContiguousError, "begin at a multiple"),
        (lambda: xp.zeros((), "float32"), "float64", errors.InvalidArgumentError, "without axes"),
        (lambda: xp.zeros(2), "object", errors.UnsupportedDtypeError, "object"),
    ],
)
def test_views_that_memory_does_not_allow_are_refused(make, dtype, error, match):
    with pytest.raises(error, match=match):
        make().view(dtype)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_hold_values_dtype_and_device(protocol):
    for x in (xp.asarray(X), xp.asarray(X).T, xp.asarray([True, False]), xp.zeros((0, 3), "int8")):
        again = pickle.loads(pickle.dumps(x, protocol))
        assert (again.shape, again.dtype, again.device) == (x.shape, x.dtype, x.device)
        np.testing.assert_array_equal(again.numpy(), x.numpy())
    again = copy.deepcopy({"x": xp.asarray(X)})["x"]
    np.testing.assert_array_equal(again.numpy(), X)


def test_notebooks_show_values_shape_and_device():
    html = methodcaller("_repr_html_")(xp.asarray([False, True]))
    assert "[False,  True]" in html
    assert "dtype=bool" in html
    assert "cpu:0" in html
    assert html.startswith("<pre>")


def test_files_of_numpy_are_written_and_read(tmp_path):
    path = tmp_path / "x.npy"
    for x in (X, X.T, X > 0.5, np.arange(3, dtype="uint16"), np.asarray(2.5)):
        xp.save(path, xp.asarray(x))
        np.testing.assert_array_equal(np.load(path), x)
        again = xp.load(path, device="cpu:0")
        assert (again.dtype, again.shape) == (x.dtype, x.shape)
        np.testing.assert_array_equal(again.numpy(), x)
    assert xp.load(path, device="null:gfx1100").device == "null:gfx1100"


@pytest.mark.parametrize("write", [xp.savez, xp.savez_compressed])
def test_several_arrays_are_kept_by_name(write):
    file = io.BytesIO()
    write(file, xp.asarray(X), X > 0.5, weights=xp.asarray([1, 2]))
    found = xp.load(io.BytesIO(file.getvalue()))
    assert list(found) == ["weights", "arr_0", "arr_1"]
    np.testing.assert_array_equal(found["arr_0"].numpy(), X)
    assert found["weights"].tolist() == [1, 2]


def test_bfloat16_is_kept_as_raw_bytes():
    pytest.importorskip("ml_dtypes")
    file = io.BytesIO()
    xp.save(file, xp.asarray([1.5, -2.0]).astype("bfloat16"))
    again = xp.load(io.BytesIO(file.getvalue()))
    assert again.dtype.name == "bfloat16"
    assert again.astype("float32").tolist() == [1.5, -2.0]


def test_files_without_arrays_are_refused(tmp_path):
    file = io.BytesIO()
    np.save(file, np.array([object()]), allow_pickle=True)
    for content in (b"", b"no array", file.getvalue()):
        with pytest.raises(errors.InvalidTypeError, match="load: the file holds no arrays of numbers"):
            xp.load(io.BytesIO(content))
    with pytest.raises(OSError, match="missing"):
        xp.load(tmp_path / "missing.npy")


# Assignments whose target and source overlap: the source is read before anything is written.
OVERLAPS = {
    "forwards": lambda x: x.__setitem__(slice(1, None), x[:-1]),
    "backwards": lambda x: x.__setitem__(slice(None, -1), x[1:]),
    "reversed": lambda x: x.__setitem__(slice(None), x[::-1]),
    "transposed": lambda x: x.__setitem__(slice(None), x.T),
    "strided": lambda x: x.__setitem__(slice(None, None, 2), x[:4]),
    "added": lambda x: x[1:].__iadd__(x[:-1]),
    "multiplied by its reverse": lambda x: x[:].__imul__(x[::-1]),
    "by places": lambda x: x.__setitem__(np.arange(8), x[::-1]),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_overlapping_views_give_the_right_result(name):
    y = np.arange(64.0).reshape(8, 8)
    x = xp.asarray(y)
    OVERLAPS[name](x)
    OVERLAPS[name](y)
    np.testing.assert_array_equal(x.numpy(), y)


# What is called, the error, and what of NumPy's it is too; the message names what was given, or the hint says what to do.
REFUSED = {
    "assignment to a read-only view": (
        lambda x: x.broadcast_to(2, 3, 4).__setitem__(0, 1),
        errors.ReadOnlyError,
        "copy",
    ),
    "in place on a read-only view": (lambda x: x.diagonal().__iadd__(1), errors.ReadOnlyError, "copy"),
    "a negative size": (lambda x: xp.zeros(-1), errors.InvalidArgumentError, "negative extent -1"),
    "a negative size of many": (lambda x: xp.full((2, -3), 1), errors.InvalidArgumentError, "negative extent -3"),
    "the largest of nothing": (lambda x: x[:0].max(), errors.InvalidArgumentError, "nothing is left to choose from"),
    "the smallest of nothing": (lambda x: x[:, :0].min(axis=1), errors.InvalidArgumentError, "nothing is left"),
    "the place of the largest of nothing": (lambda x: x[:0].argmax(), errors.InvalidArgumentError, "nothing is left"),
    "shapes that do not broadcast": (lambda x: x + x[:2], errors.ShapeMismatchError, "Transpose, reshape or slice"),
    "values that do not broadcast": (lambda x: x.__setitem__(0, [1, 2]), errors.ShapeMismatchError, "reshape or slice"),
    "an index out of range": (lambda x: x[3], errors.IndexOutOfRangeError, "out of bounds for axis 0 with size 3"),
    "too many indices": (lambda x: x[0, 0, 0], errors.IndexOutOfRangeError, "has 2 axes, and 3 were indexed"),
    "an axis out of range": (lambda x: x.sum(axis=2), errors.InvalidArgumentError, "axis 2 is out of range"),
    "a reshape of another size": (lambda x: x.reshape(5), errors.ShapeMismatchError, "Transpose, reshape"),
    "a truth of many": (bool, errors.InvalidArgumentError, "reduce it, or take .numpy()"),
    "an index of floats": (lambda x: x[np.array([0.5])], errors.InvalidTypeError, "integers or truth values"),
    "the item of many": (lambda x: x.item(), errors.InvalidArgumentError, "reduce it, or take .numpy()"),
    "the length of a number": (lambda x: len(x[0, 0]), errors.InvalidTypeError, "no length"),
}
BUILTINS = {"InvalidTypeError": TypeError, "IndexOutOfRangeError": IndexError}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_as_numpy_refuses_it(name):
    call, error, text = REFUSED[name]
    with pytest.raises(error) as caught:
        call(xp.asarray(X))
    assert isinstance(caught.value, BUILTINS.get(error.__name__, ValueError))
    assert text in f"{caught.value} {caught.value.hint}"


def test_arrays_of_two_devices_are_refused_with_what_to_do():
    with pytest.raises(errors.WrongDeviceError, match=r"copy one of them, as in amdgpu\.array\(x, device="):
        xp.asarray(X) + xp.asarray(X, device="null:gfx1100")


def test_reductions_of_nothing_that_have_a_value_give_it():
    x = xp.zeros((0, 3))
    assert (x.sum(), x.prod(), x.all(), x.any()) == (0, 1, True, False)
    assert x.sum(axis=0).tolist() == [0, 0, 0]
    assert np.isnan(x.mean().item())


def test_nan_comes_last_in_order():
    x = np.array([np.nan, 2.0, -np.inf, np.nan, -0.0, 0.0])
    np.testing.assert_array_equal(xp.sort(xp.asarray(x)).numpy(), np.sort(x))
    assert xp.argsort(xp.asarray(x)).tolist() == np.argsort(x, kind="stable").tolist()

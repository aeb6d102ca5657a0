"""`pad` against NumPy's."""

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors

RNG = np.random.default_rng(6)
MODES = ["constant", "edge", "reflect", "symmetric", "wrap"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shape", [(5,), (1,), (2,), (3, 4), (2, 1, 3)], ids=str)
def test_borders_are_those_of_numpy(mode, shape):
    x = RNG.integers(0, 99, shape).astype("int16")
    for width in (0, 1, 2, (1, 3), (7, 9), 20, [(axis + 1, 2 * axis) for axis in range(len(shape))]):
        found, expected = xp.pad(xp.asarray(x), width, mode), np.pad(x, width, mode)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("values", [5, (1, 2), ((1, 2), (3, 4)), -1.5])
def test_constants_stand_at_each_end_of_each_axis(values):
    x = RNG.random((2, 3))
    found = xp.pad(xp.asarray(x), ((1, 2), (3, 1)), constant_values=values)
    np.testing.assert_array_equal(found.numpy(), np.pad(x, ((1, 2), (3, 1)), constant_values=values))


def test_empty_axes_have_constants_alone():
    x = np.zeros((2, 0))
    np.testing.assert_array_equal(xp.pad(x, 1).numpy(), np.pad(x, 1))
    np.testing.assert_array_equal(xp.pad(x, ((1, 1), (0, 0)), "edge").numpy(), np.pad(x, ((1, 1), (0, 0)), "edge"))
    with pytest.raises(errors.InvalidArgumentError, match="axis 1 is empty"):
        xp.pad(x, 1, "edge")


def test_the_result_is_new_and_where_the_array_is():
    x = xp.asarray(RNG.random(3), device="null:gfx1100")
    assert xp.pad(x, 1).device == "null:gfx1100"
    y = xp.asarray([1.0, 2.0])
    xp.pad(y, 0, "edge")[0] = 9
    assert y[0] == 1


def test_numpy_calls_ours_and_computes_other_modes_of_copies():
    x = RNG.random((3, 4))
    assert isinstance(np.pad(xp.asarray(x), 1, "wrap"), xp.Array)
    with pytest.warns(RuntimeWarning, match="numpy.pad"):
        found = np.pad(xp.asarray(x), 1, "mean")
    np.testing.assert_allclose(found.numpy(), np.pad(x, 1, "mean"))


@pytest.mark.parametrize(
    ("width", "mode", "error", "match"),
    [
        (-1, "edge", errors.InvalidArgumentError, "not negative"),
        (1, "mirror", errors.InvalidArgumentError, "known are constant, edge"),
        (1, "mean", errors.NoImplementationError, "numpy.pad takes"),
        (1.5, "edge", errors.InvalidTypeError, "an integer"),
        (((1, 2), (1, 2), (1, 2)), "edge", errors.InvalidTypeError, "each of 2 axes"),
        ("wide", "edge", errors.InvalidTypeError, "pad_width"),
    ],
)
def test_unfit_widths_and_modes_are_refused(width, mode, error, match):
    with pytest.raises(error, match=match):
        xp.pad(np.zeros((2, 2)), width, mode)

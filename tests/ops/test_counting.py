"""`bincount` and `histogram` against NumPy's."""

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors

RNG = np.random.default_rng(7)
NUMBERS = {
    "a few": np.array([1, 3, 1]),
    "zero": np.array([0]),
    "none": np.array([], "int64"),
    "uint8": np.array([3, 200], "uint8"),
    "truth values": np.array([True, False, True]),
    "many": RNG.integers(0, 50, 10000),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("minlength", [0, 10])
def test_numbers_are_counted(name, minlength):
    x = NUMBERS[name]
    weights = RNG.random(len(x))
    found = xp.bincount(xp.asarray(x), minlength=minlength)
    # NumPy itself does not take truth values.
    expected = np.bincount(x.astype("int64"), minlength=minlength)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found.numpy(), expected)
    found = xp.bincount(xp.asarray(x), weights, minlength)
    np.testing.assert_allclose(found.numpy(), np.bincount(x.astype("int64"), weights, minlength))
    assert found.dtype == "float64"


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        (([-1, 2],), errors.InvalidArgumentError, "x holds -1"),
        (([1.5],), errors.InvalidTypeError, "integers are expected"),
        (([[1]],), errors.ShapeMismatchError, "has 2 axes, not one"),
        (([1, 2], [1.0]), errors.ShapeMismatchError, "weights have shape"),
        (([1], None, -1), errors.InvalidArgumentError, "minlength is -1"),
    ],
)
def test_what_cannot_be_counted_is_refused(arguments, error, match):
    with pytest.raises(error, match=match):
        xp.bincount(*arguments)


VALUES = {
    "float64": RNG.random(1000),
    "float32": RNG.random(1000).astype("float32"),
    "integers": RNG.integers(0, 20, 500),
    "none": np.array([]),
    "one value": np.array([1.0, 1.0]),
    "a matrix": RNG.normal(size=(30, 40)),
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("bins", [10, 1, 7, [0, 0.25, 0.5, 1], [0, 5, 10, 20], [0.0, 0.0, 1.0]], ids=str)
@pytest.mark.parametrize("bounds", [None, (0, 1), (0.2, 0.7)], ids=str)
def test_values_between_edges_are_counted(name, bins, bounds):
    x = VALUES[name]
    counts, edges = xp.histogram(xp.asarray(x), bins, bounds)
    expected, expected_edges = np.histogram(x, bins, bounds)
    assert (counts.dtype, edges.dtype) == (expected.dtype, expected_edges.dtype)
    np.testing.assert_array_equal(counts.numpy(), expected)
    np.testing.assert_array_equal(edges.numpy(), expected_edges)


@pytest.mark.parametrize("name", ["float64", "integers", "a matrix"])
def test_weights_and_densities_are_those_of_numpy(name):
    x = VALUES[name]
    weights = RNG.random(x.shape)
    for keywords in ({"weights": weights}, {"density": True}, {"density": True, "weights": weights}):
        counts, _ = xp.histogram(xp.asarray(x), 5, **keywords)
        np.testing.assert_allclose(counts.numpy(), np.histogram(x, 5, **keywords)[0], rtol=1e-12)


def test_nan_and_infinity_fall_into_no_bin():
    x = np.array([-np.inf, 0.5, np.inf, np.nan])
    assert xp.histogram(xp.asarray(x), [0.0, 1.0])[0].tolist() == [1]
    with pytest.raises(errors.InvalidArgumentError, match=r"not finite; pass range"):
        xp.histogram(xp.asarray(x))


@pytest.mark.parametrize(
    ("keywords", "error", "match"),
    [
        ({"bins": 0}, errors.InvalidArgumentError, "at least 1"),
        ({"bins": 2.5}, errors.InvalidTypeError, "an integer"),
        ({"bins": [1, 0]}, errors.InvalidArgumentError, "do not ascend"),
        ({"bins": [1]}, errors.ShapeMismatchError, "two of one axis"),
        ({"bins": [[1, 2]]}, errors.ShapeMismatchError, "two of one axis"),
        ({"bins": "auto"}, errors.NoImplementationError, "numpy.histogram takes"),
        ({"range": (1, 0)}, errors.InvalidArgumentError, "ends before it begins"),
        ({"weights": [1.0]}, errors.ShapeMismatchError, "weights have shape"),
        ({"density": "yes"}, errors.InvalidTypeError, "density"),
    ],
)
def test_unfit_bins_are_refused(keywords, error, match):
    with pytest.raises(error, match=match):
        xp.histogram(np.arange(3.0), **keywords)


def test_results_stay_on_the_device():
    x = xp.zeros(4, "int64", device="null:gfx1100")
    counts, edges = xp.histogram(x, [0, 1, 2])
    assert {counts.device, edges.device} == {"null:gfx1100"}


def test_sums_of_weights_are_the_same_in_every_run():
    x = RNG.integers(0, 9, 5000)
    weights = RNG.normal(size=5000) * 10.0 ** RNG.integers(-8, 9, 5000)
    places, given = xp.asarray(x), xp.asarray(weights)
    first = xp.bincount(places, given).numpy()
    # In the order of the values, as NumPy adds them.
    np.testing.assert_array_equal(first, np.bincount(x, weights))
    for _ in range(3):
        np.testing.assert_array_equal(xp.bincount(places, given).numpy(), first)
    counts, _ = xp.histogram(places, bins=list(range(10)), weights=given)
    np.testing.assert_array_equal(counts.numpy(), first)

"""amdgpu.ops.astype against NumPy: every pair of dtypes, every layout, by the library and by generated kernels."""

import itertools

import amdgpu
import device_ops_cases as cases
import ml_dtypes
import numpy as np
import pytest
from amdgpu import errors, ops
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, INTEGERS, SPECIAL, arrange, layouts, random_values, shapes

DTYPES = [*FLOATS, *INTEGERS, np.dtype(bool)]
BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@pytest.fixture(scope="module")
def cpu():
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


def limits(dtype):
    """The numbers at which conversions change, as values of a dtype."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        powers = [sign * (1 << bit) + step for bit in range(64) for sign in (1, -1) for step in (-1, 0, 1)]
        # Halfway between two float32, bfloat16 and float16, and a little more.
        halves = [
            (1 << 62) + (1 << 38),
            (1 << 62) + (1 << 38) + 1,
            (1 << 54) + (1 << 46) + 1,
            2049,
            2051,
            65519,
            65520,
            257,
            259,
        ]
        return np.array([value for value in (*powers, *halves) if info.min <= value <= info.max], dtype)
    halves = [
        1 + 2**-11,
        1 + 2**-11 + 2**-40,
        1 + 2**-8,
        1 + 2**-8 + 2**-40,
        65519.99999999,
        65520.0,
        2.0**-25,
        2.0**-25 + 2.0**-70,
        1e300,
        1e-300,
    ]
    values = np.array([*SPECIAL, *halves, *(-value for value in halves)])
    with np.errstate(all="ignore"):
        return values.astype(dtype)


def expected(x, dtype):
    """NumPy's answer, where C says what it is."""
    x = np.asarray(x)
    with np.errstate(all="ignore"):
        if np.dtype(dtype).kind not in "iu" or x.dtype.kind in "biu":
            return x.astype(dtype)
        wide = x.astype(np.float64)
        bits = np.iinfo(dtype).bits
        through = np.int32 if bits < 32 or dtype == np.int32 else np.int64
        low, high = float(np.iinfo(through).min), -float(np.iinfo(through).min)
        whole = np.trunc(wide)
        fits = (whole >= low) & (whole < high)
        result = np.where(fits, np.where(fits, whole, 0).astype(through), np.iinfo(through).min)
        if dtype == np.uint64:
            is_large = (whole >= high) & (whole < 2 * high)
            large = np.where(is_large, whole - high, 0).astype(np.int64) ^ np.iinfo(np.int64).min
            result = np.where(is_large, large, result)
        return result.astype(dtype)


def assert_same(result, wanted):
    result = np.asarray(result)
    assert result.dtype == wanted.dtype
    assert result.shape == wanted.shape
    if wanted.dtype in FLOATS:
        is_nan = np.isnan(wanted.astype(np.float64))
        np.testing.assert_array_equal(np.isnan(result.astype(np.float64)), is_nan)
        bits = BITS[wanted.itemsize]
        np.testing.assert_array_equal(result.view(bits)[~is_nan], wanted.view(bits)[~is_nan])
    else:
        np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize("pair", list(itertools.product(DTYPES, DTYPES)), ids=lambda pair: f"{pair[0]}-{pair[1]}")
def test_limits_and_halves_are_converted_as_by_numpy(cpu, pair, rng):
    source, target = pair
    x = np.concatenate([limits(source), random_values(rng, (300,), source)])
    wanted = expected(x, target)
    assert_same(ops.astype(x, target), wanted)
    assert_same(cases.on_device("cast")(x, target.name, device=cpu).numpy(), wanted)
    if source != BFLOAT16 and source.kind == "f" and target.kind in "iu":
        # NumPy itself, where the integer type has the value.
        info = np.iinfo(target)
        whole = np.trunc(x.astype(np.float64))
        fits = (whole >= info.min) & (whole < float(info.max))
        np.testing.assert_array_equal(wanted[fits], x[fits].astype(target))


@settings(max_examples=150, deadline=None)
@given(shapes, layouts, layouts, st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_every_layout_is_converted_into_every_layout(shape, layout, out_layout, source, target):
    rng = np.random.default_rng(len(shape))
    x = arrange(random_values(rng, shape, source, 50.0), layout)
    wanted = expected(x, target)
    assert_same(ops.astype(x, target), wanted)
    out = arrange(np.zeros(shape, target), out_layout)
    assert ops.astype(x, target, out=out) is out
    assert_same(out, wanted)


def test_values_are_broadcast_to_out(cpu):
    grown = np.zeros((4, 6), np.int16)
    window = grown[1:, ::-2]
    ops.astype(np.array([1.5, 2.5, -3.5]), np.int16, out=window)
    assert window.tolist() == [[1, 2, -3]] * 3
    assert grown[0].tolist() == [0] * 6
    ops.astype(np.array(7.9), np.int16, out=window)
    assert window.tolist() == [[7, 7, 7]] * 3
    lent = amdgpu.from_dlpack(grown[:, ::3])
    cases.on_device("cast")(np.array([[2.0], [3.0], [4.0], [5.0]]), "int16", lent, device=cpu)
    assert grown[:, ::3].tolist() == [[2, 2], [3, 3], [4, 4], [5, 5]]
    cases.on_device("cast")(np.float64(9.5), "int16", lent, device=cpu)
    assert grown[:, ::3].tolist() == [[9, 9]] * 4


@pytest.mark.parametrize(
    "pair",
    [("float32", "float64"), ("float64", "float16"), ("int64", "uint8"), ("uint8", "uint8"), ("float16", "int32")],
)
def test_large_arrays_are_converted_by_several_threads(cpu, pair, rng):
    x = random_values(rng, (1003, 517), pair[0], 100.0)
    for view in (x, x.T, x[::-2, ::3]):
        wanted = expected(view, np.dtype(pair[1]))
        assert_same(cases.on_host("cast")(view, pair[1], threads=3), wanted)
    assert_same(
        cases.on_device("cast")(amdgpu.array(x, device="cpu:0"), pair[1], device=cpu).numpy(),
        expected(x, np.dtype(pair[1])),
    )


def test_a_view_may_be_converted_onto_itself():
    x = np.arange(10, dtype=np.int32)
    ops.astype(x, np.int32, out=x)
    assert x.tolist() == list(range(10))
    with pytest.raises(errors.InvalidArgumentError, match="share memory"):
        ops.astype(x[:-1], np.int32, out=x[1:])


def test_bad_arguments_are_refused():
    x = np.arange(6.0)
    with pytest.raises(errors.UnsupportedDtypeError, match="would lose the imaginary part"):
        ops.astype(x + 0j, np.float64)
    with pytest.raises(errors.UnsupportedDtypeError, match="no dtype"):
        ops.astype(x, "no such thing")
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype float64"):
        ops.astype(x, np.int8, out=np.zeros(6))
    with pytest.raises(errors.ShapeMismatchError, match="does not broadcast"):
        ops.astype(x, np.int8, out=np.zeros(5, np.int8))
    fixed = np.zeros(6, np.int8)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        ops.astype(x, np.int8, out=fixed)


def test_integers_become_the_bfloat16_of_ml_dtypes(rng):
    x = rng.integers(-(2**62), 2**62, 20000)
    np.testing.assert_array_equal(
        np.asarray(ops.astype(x, BFLOAT16)).view(np.uint16), x.astype(ml_dtypes.bfloat16).view(np.uint16)
    )

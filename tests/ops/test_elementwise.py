"""amdgpu.ops: elementwise operations against NumPy."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu._generated.operations import ELEMENTWISE
from formulas import oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_oracle import BFLOAT16, FLOATS, INTEGERS, SPECIAL, arrange, layouts, random_values, shapes, ulps


def oracle_of(name, dtype=None):
    """The exact function of an operation of the table for a dtype, in the type of its arguments."""
    row = ELEMENTWISE[name]
    return lambda *values: oracle(row, dtype, **dict(zip(row.inputs, values, strict=True)))


# Units in the last place that are allowed in float32 and float64.
FUNCTIONS = {
    name: row.ulps
    for name, row in ELEMENTWISE.items()
    if len(row.inputs) == 1 and row.ulps is not None and row.call == f"{name}(x)"
}
# Those whose float32 tails have a relative bound.
TAILS = {name: row.float32_tail for name, row in ELEMENTWISE.items() if row.float32_tail}
# As NumPy computes them in the dtype in which their operands meet.
BINARY = {
    name: oracle_of(name)
    for name, row in ELEMENTWISE.items()
    if row.inputs == ("a", "b")
    and row.dtypes in ("number", "signed", "predicate")
    # These have tests of their own in test_arithmetic.py.
    and name not in ("power", "remainder", "fmod", "floor_divide")
}
FLOAT_PREDICATES = {name: oracle_of(name) for name, row in ELEMENTWISE.items() if row.dtypes == "float_predicate"}


def same(result, expected):
    """Equal with NaN equal to NaN and zeros of either sign equal."""
    assert result.dtype == expected.dtype
    assert result.shape == expected.shape
    np.testing.assert_array_equal(result.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_within_their_bound(name, dtype, rng):
    exact, bound = oracle_of(name, dtype), FUNCTIONS[name]
    spread = np.concatenate(
        [rng.standard_normal(20000) * 4, rng.standard_normal(5000) * 1e-4, rng.uniform(-90, 90, 5000)]
    )
    x = spread.astype(dtype)
    if dtype == np.float32 and name in TAILS:
        x = x[x > -1]  # see the next test
    with np.errstate(all="ignore"):
        result = getattr(ops, name)(x)
        expected = exact(x.astype(np.longdouble))
    assert result.dtype == dtype
    normal = np.abs(expected) > (1e-37 if dtype == np.float32 else 1e-300)
    # Oracles that are themselves float64 (erf) cannot judge float64 closer than two of its units.
    slack = 2 if "erf" in ELEMENTWISE[name].oracle and dtype == np.float64 else 0
    assert ulps(result, expected)[normal | ~np.isfinite(expected)].max() <= bound + slack


@pytest.mark.parametrize("name", TAILS)
def test_float32_tails_keep_their_relative_bound(name, rng):
    x = rng.uniform(-12, -1, 20000).astype(np.float32)
    expected = oracle_of(name, np.float32)(x.astype(np.longdouble))
    assert (np.abs(getattr(ops, name)(x) - expected) <= TAILS[name] * np.abs(expected) + 1e-38).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gelu_by_tanh_is_the_formula(dtype, rng):
    x = random_values(rng, 3000, dtype)
    wide = x.astype(np.longdouble)
    expected = wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + np.longdouble(0.044715) * wide**3)))
    assert np.abs(ops.gelu(x, approximate="tanh").astype(np.longdouble) - expected).max() <= 6 * float(
        np.finfo(dtype).eps if dtype != BFLOAT16 else 2**-7
    )


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values_have_the_mathematical_result(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
        result = getattr(ops, name)(x)
        expected = oracle_of(name, dtype)(x.astype(np.longdouble)).astype(np.float64)
        expected = expected.astype(np.float32).astype(dtype) if dtype.itemsize <= 4 else expected
    assert result.dtype == dtype
    if name in ("gelu", "silu"):
        # The limit at -infinity is a product of infinity and zero, which is NaN as in PyTorch.
        result, expected, x = (array[x != -np.inf] for array in (result, expected, x))
    kinds = [np.isnan, np.isposinf, np.isneginf] if dtype != BFLOAT16 else [np.isnan]
    for kind in kinds:
        np.testing.assert_array_equal(kind(result), kind(expected), err_msg=f"{name} {x}")
    finite = np.isfinite(expected.astype(np.float64)) & np.isfinite(result.astype(np.float64))
    np.testing.assert_allclose(
        result.astype(np.float64)[finite], expected.astype(np.float64)[finite], rtol=1e-2, atol=1e-37
    )
    if name in ("negative", "sqrt", "expm1", "log1p", "tanh", "erf", "floor", "trunc", "rint"):
        np.testing.assert_array_equal(
            np.signbit(result[:2].astype(np.float32)), np.signbit(expected[:2].astype(np.float32))
        )


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(sorted(BINARY)),
    shapes,
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.tuples(layouts, layouts),
    st.tuples(
        st.sampled_from([*FLOATS[:3], *INTEGERS, np.dtype(bool)]),
        st.sampled_from([*FLOATS[:3], *INTEGERS, np.dtype(bool)]),
    ),
    st.integers(0, 3),
)
def test_binary_operations_are_those_of_numpy(name, shape, stretched, layout, dtypes, dropped):
    rng = np.random.default_rng(sum(shape) + dropped)
    other = tuple(1 if stretch else extent for extent, stretch in zip(shape, stretched, strict=False))[dropped:]
    a = arrange(random_values(rng, shape, dtypes[0]), layout[0])
    b = arrange(random_values(rng, other, dtypes[1]), layout[1])
    if name == "subtract" and a.dtype == b.dtype == bool:
        with pytest.raises(errors.UnsupportedDtypeError, match="truth values"):
            ops.subtract(a, b)
        return
    with np.errstate(all="ignore"):
        expected = np.asarray(BINARY[name](a, b))
    # float16 arithmetic of NumPy rounds each operation from float32, as ours does.
    same(np.asarray(getattr(ops, name)(a, b)), expected)


@settings(max_examples=60, deadline=None)
@given(
    shapes,
    layouts,
    st.sampled_from([*FLOATS[:2], *INTEGERS]),
    st.sampled_from(["negative", "absolute", "square", "relu", "sign"]),
)
def test_unary_operations_take_any_layout_and_integers_wrap(shape, layout, dtype, name):
    x = arrange(random_values(np.random.default_rng(len(shape)), shape, dtype), layout)
    expected = {"relu": lambda v: np.maximum(v, 0)}.get(name, getattr(np, name, None))(x)
    same(np.asarray(getattr(ops, name)(x)), np.asarray(expected))


@pytest.mark.parametrize("shape", [(3, 1000), (1000, 3), (70, 80, 3), (5, 64, 9), (100_003,)])
@pytest.mark.parametrize("layout", ["C", "F", "step", "reversed"])
def test_long_and_short_rows_meet_broadcast_operands(shape, layout, rng):
    x = arrange(random_values(rng, shape, np.float32), layout)
    for other in (shape[-1:], (*shape[:-1], 1), (1,) * len(shape)):
        b = random_values(rng, other, np.float32)
        same(ops.add(x, b), np.add(x, b))
        same(ops.less(b, x), np.less(b, x))


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS])
@pytest.mark.parametrize("shape", [(8, 8), (65, 131), (3, 40, 70)])
def test_operands_by_columns(shape, dtype, rng):
    from amdgpu import _native

    by_columns = rng.integers(0, 90, shape[::-1]).astype(dtype).T
    by_rows = rng.integers(0, 30, shape).astype(dtype)
    row, column = by_rows[..., :1, :], by_columns[..., :1]
    for x, y in ((by_columns, by_rows), (by_rows, by_columns[..., ::-1]), (row, by_columns), (by_columns, column)):
        expected = np.broadcast_arrays(x, y)
        assert ops.add(x, y).tobytes() == ops.add(*map(np.ascontiguousarray, expected)).tobytes()
        np.testing.assert_array_equal(ops.less(x, y), np.less(*expected))
        wide = ops.where(by_rows > 20, x, y)
        np.testing.assert_array_equal(wide, np.where(by_rows > 20, x, y))
    for threads in (2, 3):
        one = _native.elementwise("multiply", (by_columns, by_rows), threads=1)
        assert _native.elementwise("multiply", (by_columns, by_rows), threads=threads).tobytes() == one.tobytes()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(threads, rng):
    from amdgpu import _native

    x = rng.standard_normal((300, 701)).astype(np.float32)
    one = _native.elementwise("gelu", (x,), threads=1)
    assert _native.elementwise("gelu", (x,), threads=threads).tobytes() == one.tobytes()


@pytest.mark.parametrize("name", ["exp", "sin", "cos"])
def test_a_value_has_the_same_bits_at_every_position(name, rng):
    # Beside small arguments and large ones, which take other ways.
    x = (rng.standard_normal(1000) * 10.0 ** rng.integers(-3, 8, 1000)).astype(np.float32)
    function = getattr(ops, name)
    whole = function(x)
    for begin in range(40):
        np.testing.assert_array_equal(function(x[begin : begin + 37]), whole[begin : begin + 37])


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_sines_near_multiples_of_half_pi_are_within_two_units(name):
    nearest = (np.arange(1, 100) * np.pi / 2).astype(np.float32).view(np.int32)
    x = (nearest[:, None] + np.arange(-500, 500, dtype=np.int32)).view(np.float32).ravel()
    expected = getattr(np, name)(x.astype(np.float64))
    unit = np.spacing(np.abs(expected).astype(np.float32)).astype(np.float64)
    assert (np.abs(getattr(ops, name)(x) - expected) <= 2 * unit).all()


def test_division_is_of_real_numbers():
    same(ops.divide(np.array([1, 2, 0]), np.array([2, 0, 0])), np.array([0.5, np.inf, np.nan]))
    assert ops.divide(np.int8([1]), np.int8([2])).dtype == np.float64
    same(ops.divide(np.float32([1]), 3), np.float32([1]) / np.float32(3))


@pytest.mark.parametrize("name", sorted(FLOAT_PREDICATES))
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_predicates_of_floats(name, dtype):
    with np.errstate(all="ignore"):
        x = np.array(SPECIAL).astype(dtype)
    np.testing.assert_array_equal(
        getattr(ops, name)(x), FLOAT_PREDICATES[name](x.astype(np.float32 if dtype.itemsize < 4 else dtype))
    )
    assert not ops.isnan(np.arange(3)).any()


def test_selection_and_clipping(rng):
    a, b = (rng.standard_normal((5, 7)).astype(np.float32) for _ in range(2))
    same(ops.where(a > 0, a, b), np.where(a > 0, a, b))
    same(ops.where(True, a, 2.5), a)
    same(ops.where(a[:, :1] > 0, 1.0, b), np.where(a[:, :1] > 0, np.float32(1), b))
    same(ops.clip(a, -0.5, b), np.clip(a, np.float32(-0.5), b))
    same(ops.clip(np.arange(6), 2, 4), np.clip(np.arange(6), 2, 4))
    with pytest.raises(errors.UnsupportedDtypeError, match="condition"):
        ops.where(a, a, b)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, np.dtype(bool)], ids=str)
def test_every_kind_of_condition_selects_every_dtype(dtype, rng):
    truth = rng.integers(0, 2, 37).astype(bool)
    a, b = random_values(rng, 37, dtype), random_values(rng, 37, dtype)
    for condition in (truth, truth.astype(np.uint8) * 200, truth.astype(np.int8) * -1, truth.astype(np.int8) * 2):
        same(ops.where(condition, a, b), np.where(truth, a, b))
        same(ops.where(condition[::-1], a[::2][:1], b), np.where(truth[::-1], a[0], b))


def test_numbers_take_the_dtype_of_the_arrays():
    assert ops.add(np.float32([1]), 1.5).dtype == np.float32
    assert ops.add(np.float16([1]), 2).dtype == np.float16
    assert ops.add(np.ones(2, BFLOAT16), 0.1).dtype == BFLOAT16
    assert ops.multiply(np.int32([2]), 3).dtype == np.int32
    assert ops.multiply(np.int32([2]), 0.5).tolist() == [1.0]
    assert ops.add(np.array([True]), 2).tolist() == [3]
    assert ops.add(1, 2) == 3
    with pytest.raises(errors.NumberOutOfRangeError, match="does not fit int8"):
        ops.add(np.int8([1]), 1000)


def test_slopes_and_scales():
    x = np.float32([-2, 3])
    np.testing.assert_allclose(ops.leaky_relu(x, alpha=0.25), [-0.5, 3])
    np.testing.assert_allclose(ops.elu(x, alpha=2.0), [2 * np.expm1(-2), 3], rtol=1e-6)
    with pytest.raises(errors.InvalidArgumentError, match="known are 'none' and 'tanh'"):
        ops.gelu(x, approximate="erf")


def test_out_receives_the_result_and_may_be_an_input(rng):
    x, y = (rng.standard_normal((6, 8)).astype(np.float32) for _ in range(2))
    expected = x + y
    out = np.empty((8, 6), np.float32).T
    assert ops.add(x, y, out=out) is out
    same(out, expected)
    assert ops.add(x, y, out=x) is x
    same(x, expected)


def test_bad_out_is_refused(rng):
    x = rng.standard_normal((6, 8)).astype(np.float32)
    with pytest.raises(errors.InvalidArgumentError, match="may share memory with a"):
        ops.add(x[:, 1:], 1.0, out=x[:, :-1])
    with pytest.raises(errors.InvalidArgumentError, match="may share memory with x"):
        ops.negative(x[::-1], out=x)
    with pytest.raises(errors.ShapeMismatchError, match=r"out has shape \[8\], the result \[6, 8\]"):
        ops.add(x, 1.0, out=np.empty(8, np.float32))
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype float64, the result float32"):
        ops.add(x, 1.0, out=np.empty((6, 8)))
    with pytest.raises(errors.InvalidArgumentError, match="elements that share memory"):
        ops.add(x[:1], 1.0, out=np.lib.stride_tricks.as_strided(np.empty(8, np.float32), (1, 8), (0, 0)))
    fixed = np.empty((6, 8), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        ops.add(x, 1.0, out=fixed)
    with pytest.raises(errors.InvalidTypeError):
        ops.add(x, 1.0, out=[0.0])
    ops.add(x[::2], 1.0, out=x[1::2])


def test_bad_inputs_are_refused_with_their_names():
    with pytest.raises(errors.ShapeMismatchError, match=r"add: shapes do not broadcast together: a \[2, 3\], b \[4\]"):
        ops.add(np.zeros((2, 3)), np.zeros(4))
    with pytest.raises(errors.UnsupportedDtypeError, match="erf: it is not defined for complex numbers"):
        ops.erf(np.zeros(2, complex))
    with pytest.raises(errors.InvalidTypeError, match="exp: x is no array of numbers"):
        ops.exp("text")
    with pytest.raises(errors.InvalidTypeError):
        ops.exp([object()])
    with pytest.raises(errors.ShapeMismatchError, match="17 axes"):
        ops.exp(np.zeros((1,) * 17))
    with pytest.raises(errors.UnsupportedDtypeError, match="truth values have no sign"):
        ops.negative(np.array([True]))


def test_empty_and_zero_dimensional_arrays():
    assert ops.exp(np.zeros((0, 3))).shape == (0, 3)
    assert ops.add(np.zeros((0, 3)), np.zeros(3)).shape == (0, 3)
    result = ops.exp(np.float32(0))
    assert result.shape == ()
    assert result == 1
    with pytest.raises(errors.ShapeMismatchError):
        ops.add(np.zeros((0, 3)), np.zeros((2, 3)))


def test_arrays_of_a_device_give_arrays_of_the_device(rng):
    x = rng.standard_normal((4, 5)).astype(np.float32)
    on_device = amdgpu.array(x, device="cpu:0")
    result = ops.add(on_device, 1.0)
    assert isinstance(result, amdgpu.Array)
    assert result.device == "cpu:0"
    same(result.numpy(), x + np.float32(1))
    assert isinstance(ops.add(x, 1.0), np.ndarray)
    lent = amdgpu.from_dlpack(x)
    same(np.asarray(ops.exp(lent)), ops.exp(x))


def test_every_operation_is_exported_and_documented():
    for name in ops.__all__:
        assert getattr(ops, name).__doc__

"""Operations on complex numbers: the Zig library and generated kernels on the CPU, against NumPy and extended precision."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from amdgpu._generated.operations import COMPLEX

DTYPES = ("complex64", "complex128")
UNARY = [
    name
    for name, row in COMPLEX.items()
    if len(row.inputs) == 1 and name not in ("identity", "isnan", "isinf", "isfinite", "logical_not")
]
BINARY = ("add", "subtract", "multiply", "divide", "power")
PREDICATES = ("isnan", "isinf", "isfinite", "logical_not")
RELATIONS = ("equal", "not_equal", "logical_and", "logical_or", "logical_xor")
NUMPY = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
}
SPECIAL = (0.0, -0.0, 1.0, -1.0, 2.5, -2.5, np.inf, -np.inf, np.nan)


def numpy_function(name: str) -> Callable[..., Any]:
    return NUMPY.get(name) or getattr(np, name)


@pytest.fixture(scope="module")
def cpu() -> Any:
    with amdgpu.initialize_device("cpu:0") as opened:
        yield opened


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def by_kernel(cpu: Any, name: str, inputs: tuple[Any, ...]) -> Any:
    moved = tuple(amdgpu.array(x, device="cpu:0") if isinstance(x, np.ndarray) else x for x in inputs)
    return cases.on_device("elementwise")(name, moved, device=cpu).numpy()


def both(cpu: Any, name: str, *inputs: Any) -> Iterator[Any]:
    """The result of the library, and that of a generated kernel."""
    yield cases.on_host("elementwise")(name, inputs)
    yield by_kernel(cpu, name, inputs)


def numbers(rng: np.random.Generator, count: int, dtype: str) -> Any:
    """Sizes over many powers of ten, angles in every direction, and some close to where functions bend."""
    sizes = 10.0 ** rng.uniform(-4, 1.2, count)
    values = sizes * np.exp(2j * np.pi * rng.random(count))
    near = rng.choice([1, -1, 1j, -1j], count // 4) + 10.0 ** rng.uniform(-9, -1, count // 4) * np.exp(
        2j * np.pi * rng.random(count // 4)
    )
    values[: count // 4] = near
    return values.astype(dtype)


def distance_ulps(got: Any, exact: Any) -> float:
    """The largest distance in units in the last place of the size of the exact result."""
    part = got.real.dtype
    size = np.abs(exact).astype(part)
    ulp = np.spacing(np.where(size == 0, np.finfo(part).tiny, size)).astype(np.longdouble)
    wide = np.clongdouble if got.dtype.kind == "c" else np.longdouble
    return float(np.max(np.abs(got.astype(wide) - exact) / ulp))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_are_within_their_bounds(cpu: Any, rng: np.random.Generator, name: str, dtype: str) -> None:
    x = numbers(rng, 4000, dtype)
    row = COMPLEX[name]
    exact = exact_value(name, x.astype(np.clongdouble))
    assert row.ulps is not None
    # What is computed in float64 and rounded to float32 is half a unit away in each part.
    bound = 1.0 if dtype == "complex64" and row.is_wide else row.ulps
    for made in both(cpu, name, x):
        assert made.dtype == (x.real.dtype if row.result == "real" else x.dtype)
        assert distance_ulps(made, exact) <= bound, name


def exact_value(name: str, x: Any) -> Any:
    if name == "log1p":
        # log(1 + z) of extended precision has 11 bits more than float64, which are not enough near zero.
        is_near = np.abs(x) < 0.5
        size = np.where(is_near, x.real * (2 + x.real) + x.imag * x.imag, 0)
        far = np.log(np.hypot(1 + x.real, x.imag))
        return np.where(is_near, np.log1p(size) / 2, far) + 1j * np.arctan2(x.imag, 1 + x.real)
    if name == "expm1":
        half = np.sin(x.imag / 2)
        return np.expm1(x.real) * np.cos(x.imag) - 2 * half * half + 1j * np.exp(x.real) * np.sin(x.imag)
    if name in ("log", "log2", "log10"):
        square = x.real * x.real + x.imag * x.imag
        near = np.abs(square - 1) < 0.5
        above = (x.real - 1) * (x.real + 1) + x.imag * x.imag
        steep = np.abs(x.imag) > np.abs(x.real)
        above = np.where(steep, (x.imag - 1) * (x.imag + 1) + x.real * x.real, above)
        size = np.where(near, np.log1p(np.where(near, above, 0)), np.log(square)) / 2
        natural = size + 1j * np.arctan2(x.imag, x.real)
        return natural / {"log": 1, "log2": np.log(np.longdouble(2)), "log10": np.log(np.longdouble(10))}[name]
    return numpy_function(name)(x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_arithmetic_is_within_its_bounds(cpu: Any, rng: np.random.Generator, name: str, dtype: str) -> None:
    a, b = numbers(rng, 3000, dtype), numbers(rng, 3000, dtype)
    if name == "power":
        a, b = a[:400], b[:400]
    exact = numpy_function(name)(a.astype(np.clongdouble), b.astype(np.clongdouble))
    bound = COMPLEX[name].ulps
    assert bound is not None
    if dtype == "complex64" and COMPLEX[name].is_wide:
        bound = 1.0
    ulp = np.spacing(np.abs(exact).astype(a.real.dtype)).astype(np.longdouble)
    for made in both(cpu, name, a, b):
        if name in ("add", "subtract"):
            assert made.tolist() == numpy_function(name)(a, b).tolist()
            continue
        finite = np.isfinite(made)
        assert np.max((np.abs(made.astype(np.clongdouble) - exact) / ulp)[finite]) <= bound
        assert np.isfinite(exact.astype(dtype)).tolist() == finite.tolist()


@pytest.mark.parametrize("name", UNARY)
def test_special_values_are_those_of_c(cpu: Any, name: str) -> None:
    x = np.array([complex(re, im) for re, im in itertools.product(SPECIAL, SPECIAL)])
    expected = special_expected(name, x)
    for dtype in DTYPES:
        for made in both(cpu, name, x.astype(dtype)):
            for z, got, wanted in zip(x.tolist(), made.tolist(), expected.tolist(), strict=True):
                assert same(got, wanted, dtype), f"{dtype} {name}({z}) is {got}, not {wanted}"


@pytest.mark.parametrize("size", [1.0, 30.0, 4.6e16])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_tanh_at_infinite_imaginary_parts_is_nan(cpu: Any, size: float, dtype: str) -> None:
    x = np.array(
        [complex(sign * size, imaginary) for sign in (1, -1) for imaginary in (np.inf, -np.inf, np.nan)], dtype
    )
    for result in both(cpu, "tanh", x):
        assert np.isnan(result.real).all()
        assert np.isnan(result.imag).all()


def special_expected(name: str, x: Any) -> Any:
    """What C says of the function; NumPy where that is the same."""
    if name == "reciprocal":
        return np.ones_like(x) / x
    made = numpy_function(name)(x)
    if name == "sign":
        made[np.isnan(x.real) | np.isnan(x.imag)] = complex(np.nan, np.nan)
    if name == "expm1":
        strange = ~np.isfinite(x.imag)
        made[(x.real == -np.inf) & strange] = -1
        made[(x.real == np.inf) & strange] = complex(np.inf, np.nan)
        flat = x.imag == 0
        made.real[flat], made.imag[flat] = np.expm1(x.real[flat]), x.imag[flat]
    return made


def same(got: complex, wanted: complex, dtype: str) -> bool:
    pairs = ((got.real, wanted.real), (got.imag, wanted.imag)) if isinstance(got, complex) else ((got, wanted),)
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    for a, b in pairs:
        if np.isnan(a) or np.isnan(b):
            if not (np.isnan(a) and np.isnan(b)):
                return False
        elif np.isinf(a) or np.isinf(b):
            # Beside NaN the sign of an infinity is nobody's.
            if a != b and not (a == -b and np.isnan([got.real, got.imag]).any()):
                return False
        elif abs(a - b) > tolerance * max(1.0, abs(b)):
            return False
    return True


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sinh", "cosh", "sin", "absolute", "asinh", "acosh", "atanh"])
def test_neither_overflow_nor_underflow_on_the_way(cpu: Any, name: str) -> None:
    big, small = 1.5e308, 3e-310
    parts = [(big, 0), (0, big), (big, big), (-big, 1), (small, 0), (small, small), (1, small), (small, 1)]
    parts += [(709.9, 1.5), (710.4, 1.57), (-1000, 2), (1e160, 1e160), (1e-170, 1e-170), (1, 1e-17), (1e-20, 1)]
    x = np.array([complex(*pair) for pair in (*parts, (-1, -1e-20))])
    exact = exact_value(name, x.astype(np.clongdouble)).astype(
        "complex128" if COMPLEX[name].result == "complex" else "f8"
    )
    if name == "absolute":
        exact = np.abs(x.astype(np.clongdouble)).astype("f8")
    for made in both(cpu, name, x):
        for z, got, wanted in zip(x.tolist(), made.tolist(), exact.tolist(), strict=True):
            parts = ((got.real, wanted.real), (got.imag, wanted.imag))
            for a, b in parts:
                assert a == b or abs(a - b) <= 1e-14 * max(abs(b), 1e-300), f"{name}({z}) is {got}, not {wanted}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_predicates_and_relations(cpu: Any, dtype: str) -> None:
    grid = np.array(
        [complex(re, im) for re, im in itertools.product((0.0, -0.0, 1.0, np.inf, -np.inf, np.nan), repeat=2)]
    )
    a, b = (x.ravel().astype(dtype) for x in np.meshgrid(grid, grid))
    for name in PREDICATES:
        for made in both(cpu, name, a):
            assert made.dtype == bool
            assert made.tolist() == numpy_function(name)(a).tolist(), name
    for name in RELATIONS:
        for made in both(cpu, name, a, b):
            assert made.tolist() == numpy_function(name)(a, b).tolist(), name


@pytest.mark.parametrize("other", ["bool", "uint8", "int8", "int32", "int64", "float16", "float32", "float64", *DTYPES])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_meet_as_in_numpy(cpu: Any, rng: np.random.Generator, dtype: str, other: str) -> None:
    a = numbers(rng, 60, dtype).reshape(3, 20)
    b = (rng.random(20) * 5).astype(other)
    for name in ("add", "subtract", "multiply"):
        wanted = numpy_function(name)(a, b)
        for made in (*both(cpu, name, a, b), *both(cpu, name, b, a)):
            assert made.dtype == wanted.dtype
        for made in both(cpu, name, a, b):
            assert np.allclose(made, wanted, rtol=1e-6)
    for made in both(cpu, "where", a.real > 0, a, b):
        wanted = np.where(a.real > 0, a, b)
        assert made.dtype == wanted.dtype
        assert made.tolist() == wanted.tolist()


def test_numbers_of_python_take_the_dtype_of_arrays(cpu: Any) -> None:
    for dtype, value in itertools.product(
        ("bool", "int8", "int64", "float16", "float32", "float64", *DTYPES), (2, 2.5, 2.5j, True)
    ):
        x = np.array([1, 0, 3]).astype(dtype)
        ours = amdgpu.asarray(x)
        if dtype == "bool" and value is True:
            continue
        wanted = x * value
        if "complex" not in wanted.dtype.name:
            continue
        for made in (ours * value, value * ours, *both(cpu, "multiply", x, value)):
            assert made.dtype == wanted.dtype, (dtype, value)
            assert np.asarray(made).tolist() == wanted.tolist()
        assert amdgpu.result_type(ours, value) == wanted.dtype


def test_operators_of_arrays(rng: np.random.Generator) -> None:
    x, y = numbers(rng, 50, "complex64"), numbers(rng, 50, "complex64")
    a, b = amdgpu.asarray(x), amdgpu.asarray(y)
    for made, wanted in (
        (a + b, x + y),
        (a - b, x - y),
        (a * b, x * y),
        (a / b, x / y),
        (-a, -x),
        (+a, +x),
        (abs(a), abs(x)),
        (a**2, x**2),
        (1j - a, 1j - x),
        (2 / a, 2 / x),
        (a == b, x == y),
        (a != a, x != x),
    ):
        assert made.dtype == wanted.dtype
        assert np.allclose(made.numpy(), wanted, rtol=1e-5)
    c = a.copy()
    c += b
    c *= 2j
    assert np.allclose(c.numpy(), (x + y) * 2j)
    real = amdgpu.asarray([1.0, 2.0])
    with pytest.raises(errors.UnsupportedDtypeError):
        real += 1j


@pytest.mark.parametrize(
    "name", ["less", "greater_equal", "maximum", "clip", "floor_divide", "remainder", "floor", "erf"]
)
def test_what_has_no_meaning_is_refused(cpu: Any, name: str) -> None:
    inputs = (np.ones(3, "complex64"),) * {"clip": 3, "floor": 1, "erf": 1}.get(name, 2)
    for call in (
        lambda: cases.on_host("elementwise")(name, inputs),
        lambda: by_kernel(cpu, name, inputs),
    ):
        with pytest.raises(errors.UnsupportedDtypeError, match=f"{name}: .*(no order|not defined)") as caught:
            call()
        assert isinstance(caught.value, TypeError)
    with pytest.raises(TypeError):
        _ = amdgpu.asarray([1j]) < amdgpu.asarray([2j])


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_with_gaps_broadcast_and_out(cpu: Any, rng: np.random.Generator, dtype: str) -> None:
    base = numbers(rng, 24 * 20, dtype).reshape(24, 20)
    views = (base[::2, ::3], base.T, base[:, ::-1], base[3:4, :], base[:, :1], np.broadcast_to(base[0], (5, 20)))
    for view in views:
        for name in ("multiply", "add", "exp", "absolute", "conj", "isfinite"):
            inputs = (view,) * len(COMPLEX[name].inputs)
            wanted = numpy_function(name)(*inputs)
            for made in both(cpu, name, *inputs):
                assert made.shape == wanted.shape
                assert np.allclose(made, wanted, rtol=1e-5)
    row, column = base[0], base[:, :1]
    for made in both(cpu, "multiply", row, column):
        assert np.allclose(made, row * column, rtol=1e-6)
    gaps = np.zeros((24, 60), dtype)
    out = gaps[:, ::3]
    for name, inputs in (("multiply", (base, row)), ("add", (base, row)), ("sqrt", (base,))):
        assert cases.on_host("elementwise")(name, inputs, out) is out
        assert np.allclose(out, numpy_function(name)(*inputs), rtol=1e-5)
        assert not gaps[:, 1::3].any()
        lent = amdgpu.from_dlpack(out)
        gaps[:] = 0
        cases.on_device("elementwise")(name, inputs, lent, device=cpu)
        assert np.allclose(out, numpy_function(name)(*inputs), rtol=1e-5)
        assert not gaps[:, 1::3].any()
    own = base.copy()
    cases.on_host("elementwise")("multiply", (own, own), own)
    assert np.allclose(own, base * base, rtol=1e-6)
    with pytest.raises(errors.InvalidArgumentError):
        cases.on_host("elementwise")("multiply", (own[1:], own[1:]), own[:-1])
    with pytest.raises(errors.UnsupportedDtypeError):
        cases.on_host("elementwise")("absolute", (base,), np.empty_like(base))


def test_a_result_does_not_depend_on_its_place(rng: np.random.Generator) -> None:
    x = numbers(rng, 100_001, "complex64")
    for name in ("multiply", "tanh", "acos"):
        inputs = (x,) * len(COMPLEX[name].inputs)
        whole = cases.on_host("elementwise")(name, inputs)
        alone = [
            cases.on_host("elementwise")(name, tuple(one[k : k + 1] for one in inputs))[0]
            for k in (0, 7, 4097, 100_000)
        ]
        assert [whole[k] for k in (0, 7, 4097, 100_000)] == alone
        one_thread = cases.on_host("elementwise")(name, inputs, threads=1)
        assert whole.tobytes() == one_thread.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "any", "all", "var", "std"])
def test_reductions_agree_with_numpy(cpu: Any, rng: np.random.Generator, name: str, dtype: str) -> None:
    x = (1 + numbers(rng, 5 * 7 * 6, dtype) / 20).reshape(5, 7, 6)
    x[0, :, 0] = 0
    function = getattr(np, name)
    for view in (x, x.transpose(2, 0, 1), x[::2, :, ::-1], x[:0]):
        for axes, keepdims in itertools.product(((0,), (1,), (-1,), (0, 2), None), (False, True)):
            if view.size == 0 and name in ("mean", "var", "std"):
                continue
            wanted = function(view, axis=axes, keepdims=keepdims)
            given = None if axes is None else list(axes)
            for made in (
                cases.on_host("reduce")(name, view, given, keepdims=keepdims),
                cases.on_device("reduce")(
                    name, amdgpu.array(view, device="cpu:0"), given, keepdims=keepdims, device=cpu
                ).numpy(),
            ):
                assert made.dtype == wanted.dtype
                assert made.shape == wanted.shape
                assert np.allclose(made, wanted, rtol=1e-4 if dtype == "complex64" else 1e-12, atol=1e-6)


def test_reductions_of_the_facade(rng: np.random.Generator) -> None:
    x = numbers(rng, 60, "complex128").reshape(6, 10)
    a = amdgpu.asarray(x)
    assert np.allclose(amdgpu.sum(a).item(), x.sum())
    assert np.allclose(amdgpu.sum(a, axis=0, dtype="complex64").numpy(), x.sum(0), rtol=1e-5)
    assert np.allclose(amdgpu.cumulative_sum(a, axis=1).numpy(), x.cumsum(1))
    started = amdgpu.cumulative_sum(a, axis=0, include_initial=True)
    assert started.shape == (7, 10)
    assert started[0, 0].item() == 0
    assert amdgpu.count_nonzero(a).item() == 60
    out = amdgpu.empty(10, "complex128")
    assert amdgpu.sum(a, axis=0, out=out) is out
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(errors.UnsupportedDtypeError, match="no order"):
            getattr(amdgpu, name)(a)
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype"):
        ops.sum(x, 0, out=np.empty(10))


def test_running_sums(cpu: Any, rng: np.random.Generator) -> None:
    x = numbers(rng, 600, "complex128").reshape(20, 30)
    for axis in (0, 1, -1):
        wanted = x.cumsum(axis)
        assert np.allclose(cases.on_host("scan")("cumsum", x, axis), wanted)
        made = cases.on_device("scan")("cumsum", amdgpu.array(x, device="cpu:0"), axis, device=cpu)
        assert np.allclose(made.numpy(), wanted)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_products(cpu: Any, rng: np.random.Generator, dtype: str, *, exclusive: bool, reverse: bool) -> None:
    for shape, axis in (((20, 31), 0), ((20, 31), -1), ((3, 1, 64), 1), ((2, 0), 1), ((1000,), 0)):
        # Of size 1, so that long products stay within the dtype.
        x = np.exp(1j * rng.uniform(0, 7, shape)).astype(dtype)
        run = np.flip(x, axis) if reverse else x
        wanted = run.cumprod(axis)
        if exclusive:
            wanted = np.insert(wanted, 0, 1, axis).take(range(x.shape[axis]), axis)
        wanted = np.flip(wanted, axis) if reverse else wanted
        options = {"exclusive": exclusive, "reverse": reverse}
        tolerance = 1e-4 if dtype == "complex64" else 1e-12
        for given in (x, x[..., ::-1][..., ::-1], np.asfortranarray(x)):
            made = ops.accumulate(given, "prod", axis, **options)
            assert made.dtype == dtype
            np.testing.assert_allclose(made, wanted, atol=tolerance)
        made = cases.on_device("scan")("cumprod", amdgpu.array(x, device="cpu:0"), axis, device=cpu, **options)
        np.testing.assert_allclose(made.numpy(), wanted, atol=tolerance)


def test_running_products_have_names_and_may_be_written_in_place() -> None:
    x = np.array([[1 + 1j, 2, 1j], [3, 1 - 1j, -1]])
    a = amdgpu.array(x, device="cpu:0")
    assert amdgpu.cumprod(a).tolist() == x.cumprod().tolist()
    assert amdgpu.cumulative_prod(a, axis=1, include_initial=True)[:, 0].tolist() == [1, 1]
    out = x.copy()
    assert ops.accumulate(out, "prod", 0, out=out) is out
    assert out.tolist() == x.cumprod(0).tolist()
    for operation in ("max", "min"):
        with pytest.raises(errors.UnsupportedDtypeError, match="no order"):
            ops.accumulate(x, operation)


@pytest.mark.parametrize("dtype", DTYPES)
def test_complex_numbers_of_pythons_are_carried_by_launches(cpu: Any, dtype: str) -> None:
    x = amdgpu.array(np.arange(5).astype(dtype), device="cpu:0")
    before = cpu.memory_stats()["allocation.all.allocated"]
    made = cases.on_device("elementwise")("multiply", (x, 0.1 - 2j), device=cpu)
    assert cpu.memory_stats()["allocation.all.allocated"] == before + 1, "the result, and no copy of the number"
    np.testing.assert_array_equal(made.numpy(), x.numpy() * (0.1 - 2j))
    assert made.dtype == dtype


MATMULS = [
    ((3, 4), (4, 5)),
    ((64, 70), (70, 33)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((4,), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((5, 1, 3, 4), (2, 4, 6)),
    ((3, 0), (0, 2)),
]


@pytest.mark.parametrize(
    "dtypes", [("complex64",) * 2, ("complex128",) * 2, ("complex64", "float64"), ("float32", "complex64")]
)
@pytest.mark.parametrize("shapes", MATMULS, ids=str)
def test_matrices_are_multiplied(cpu: Any, rng: np.random.Generator, shapes: Any, dtypes: Any) -> None:
    a, b = (
        (rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in dtype else 0)).astype(dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    wanted = a @ b
    bound = 2 * max(shapes[0][-1], 1) * np.finfo(wanted.dtype).eps
    size = np.abs(a).astype(float) @ np.abs(b).astype(float)
    moved = [amdgpu.array(x, device="cpu:0") for x in (a, b)]
    for made in (
        amdgpu.matrix_multiply(a, b),
        cases.on_device("matmul")(*moved, device=cpu).numpy(),
        (moved[0] @ moved[1]).numpy(),
    ):
        assert made.dtype == wanted.dtype
        assert np.shape(made) == wanted.shape
        assert np.all(np.abs(made - wanted) <= bound * size + 1e-30)


def test_products_of_views_and_transposes(rng: np.random.Generator) -> None:
    x = (rng.standard_normal((8, 12, 2)) @ [1, 1j]).astype("complex64")
    for a, b in ((x.T, x), (x[::2, ::3], x[:4].T), (x[:, ::-1], x.T)):
        assert np.allclose(amdgpu.matrix_multiply(a, b[: a.shape[1]]), a @ b[: a.shape[1]], atol=1e-4)
    assert np.allclose(amdgpu.matrix_multiply(x, x, transpose_b=True), x @ x.T, atol=1e-4)
    gaps = np.zeros((8, 16), "complex64")
    out = gaps[:, ::2]
    assert amdgpu.matrix_multiply(x, x.T, out=out) is out
    assert np.allclose(out, x @ x.T, atol=1e-4)
    assert not gaps[:, 1::2].any()
    for options in ({"alpha": 2.0}, {"bias": np.ones(8, "float32")}, {"activation": "relu"}, {"precision": "bf16"}):
        with pytest.raises(errors.UnsupportedDtypeError, match="complex matrices"):
            amdgpu.matrix_multiply(x, x.T, **options)


def test_products_of_the_namespace(rng: np.random.Generator) -> None:
    x, y = (numbers(rng, 60, "complex128").reshape(3, 4, 5) for _ in range(2))
    a, b = amdgpu.asarray(x), amdgpu.asarray(y)
    assert np.allclose(amdgpu.vecdot(a, b).numpy(), (x.conj() * y).sum(-1))
    assert np.allclose(amdgpu.vecdot(a, b, axis=0).numpy(), (x.conj() * y).sum(0))
    assert np.allclose(amdgpu.tensordot(a, b, axes=([0, 1], [0, 1])).numpy(), np.tensordot(x, y, ([0, 1], [0, 1])))
    linalg = amdgpu.linalg
    assert np.allclose(linalg.outer(a[0, 0], b[0, 0]).numpy(), np.outer(x[0, 0], y[0, 0]))
    assert np.allclose(linalg.vector_norm(a).item(), np.linalg.norm(x.ravel()))
    for order in (0, 1, 2, 3, np.inf, -np.inf):
        made = linalg.vector_norm(a, axis=-1, ord=order)
        assert made.dtype == np.float64
        assert np.allclose(made.numpy(), np.linalg.norm(x, order, axis=-1))
    assert np.allclose(linalg.matrix_norm(a).numpy(), np.linalg.norm(x, axis=(-2, -1)))
    assert np.allclose(linalg.trace(a).numpy(), np.trace(x, axis1=-2, axis2=-1))


def test_parts_are_views_and_conjugates_are_copies() -> None:
    x = amdgpu.asarray([[1 + 2j, 3 - 4j]])
    assert amdgpu.real(x).tolist() == [[1.0, 3.0]]
    assert amdgpu.imag(x).tolist() == [[2.0, -4.0]]
    x.imag[0, 0] = 9
    amdgpu.real(x)[...] = 5
    assert x.tolist() == [[5 + 9j, 5 - 4j]]
    assert amdgpu.conj(x).tolist() == [[5 - 9j, 5 + 4j]]
    assert x[:, ::-1].real.tolist() == [[5.0, 5.0]]
    y = amdgpu.asarray([1.0, -2.0])
    assert amdgpu.real(y) is y
    assert amdgpu.imag(y).tolist() == [0.0, 0.0]
    assert amdgpu.conj(y).tolist() == [1.0, -2.0]
    assert ops.angle(y).tolist() == [0.0, np.pi]
    assert np.conjugate(x).tolist() == [[5 - 9j, 5 + 4j]]


def test_casts(cpu: Any) -> None:
    x = np.array([[1.5 - 2j, 0j, -3 + 0j]])
    for source, dtype in itertools.product(
        (x, x.astype("complex64"), x.real, x.real.astype("int8"), x.real > 0), DTYPES
    ):
        wanted = source.astype(dtype)
        for made in (
            ops.astype(source, dtype),
            cases.on_device("cast")(amdgpu.array(source, device="cpu:0"), dtype, device=cpu).numpy(),
        ):
            assert made.dtype == wanted.dtype
            assert made.tolist() == wanted.tolist()
    a = amdgpu.asarray(x)
    assert a.astype("bool").tolist() == [[True, False, True]]
    for refused in ("float64", "int32", "float32"):
        with pytest.raises(errors.UnsupportedDtypeError, match=r"take real\(x\)"):
            a.astype(refused)
    a[0, 0] = 7j
    a[:, 1] = amdgpu.asarray([2.0])
    assert a.tolist() == [[7j, 2 + 0j, -3 + 0j]]
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.asarray([1.0])[0] = 1j


def test_facts_about_dtypes() -> None:
    assert amdgpu.isdtype("complex64", "complex floating")
    assert amdgpu.isdtype("complex64", "numeric")
    assert not amdgpu.isdtype("complex64", "real floating")
    facts = amdgpu.finfo("complex64")
    assert (facts.bits, facts.dtype.name, facts.eps) == (32, "float32", float(np.finfo(np.float32).eps))
    assert amdgpu.can_cast("float32", "complex64")
    assert not amdgpu.can_cast("float64", "complex64")
    assert not amdgpu.can_cast("complex64", "float64")
    assert amdgpu.result_type("complex64", "float64").name == "complex128"
    info = amdgpu.asarray(1j).__array_namespace__().__array_namespace_info__()
    assert info.default_dtypes()["complex floating"] == np.complex128
    assert set(info.dtypes(kind="complex floating")) == {"complex64", "complex128"}


def test_texts_and_numbers_of_arrays() -> None:
    a = amdgpu.asarray([1 + 2j, 0.5j])
    assert str(a) == str(np.array([1 + 2j, 0.5j])).replace(" 0.", ", 0.").replace("[0.", "[0.")
    assert "complex128" in repr(a)
    assert complex(a[0]) == 1 + 2j
    assert a[1].item() == 0.5j
    with pytest.raises(TypeError):
        float(a[0])


def test_values_without_an_order_are_unique_but_not_sorted() -> None:
    x = np.array([1 + 1j, 2, 1 + 1j, 2j, 2, 1 - 1j])
    a = amdgpu.asarray(x)
    with pytest.raises(errors.UnsupportedDtypeError, match="complex128"):
        amdgpu.sort(a)
    found = amdgpu.unique_all(a)
    values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    assert found.values.tolist() == values.tolist()
    assert found.indices.tolist() == first.tolist()
    assert found.inverse_indices.tolist() == inverse.tolist()
    assert found.counts.tolist() == counts.tolist()
    assert amdgpu.unique_values(a).tolist() == values.tolist()
    assert amdgpu.isin(a, amdgpu.asarray([2j, 2])).tolist() == np.isin(x, [2j, 2]).tolist()


def test_rounding_rounds_the_parts() -> None:
    x = np.array([1.26 - 2.5j, 0.5 + 1.5j])
    assert amdgpu.round(amdgpu.asarray(x)).tolist() == np.round(x).tolist()
    assert np.allclose(ops.round(x, 1), np.round(x, 1))

"""Exact functions on the parts of floating-point numbers, and remainders, against Python's own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_harness import Kernels

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 1024
BODY = """
__global__ void frexp_(const T* a, T* y, int* k) { INDEX; y[i] = frexp##S(a[i], &k[i]); }
__global__ void ldexp_(const T* a, T* y, const int* k) { INDEX; y[i] = ldexp##S(a[i], k[i]); }
__global__ void scalbn_(const T* a, T* y, const int* k) { INDEX; y[i] = scalbn##S(a[i], k[i]); }
__global__ void logb_(const T* a, T* y, int* k) { INDEX; y[i] = logb##S(a[i]); k[i] = ilogb##S(a[i]); }
__global__ void modf_(const T* a, T* y, T* whole) { INDEX; y[i] = modf##S(a[i], &whole[i]); }
__global__ void nextafter_(const T* a, T* y, const T* b) { INDEX; y[i] = nextafter##S(a[i], b[i]); }
__global__ void fmod_(const T* a, T* y, const T* b) { INDEX; y[i] = fmod##S(a[i], b[i]); }
__global__ void remainder_(const T* a, T* y, const T* b) { INDEX; y[i] = remainder##S(a[i], b[i]); }
__global__ void remquo_(const T* a, T* y, const T* b, int* k) { INDEX; y[i] = remquo##S(a[i], b[i], &k[i]); }
__global__ void fdim_(const T* a, T* y, const T* b) { INDEX; y[i] = fdim##S(a[i], b[i]); }
__global__ void round_(const T* a, long* y, long* near) { INDEX; y[i] = lround##S(a[i]); near[i] = llrint##S(a[i]); }
"""
KINDS = {"float64": ("double", ""), "float32": ("float", "f")}


@pytest.fixture(scope="module", params=KINDS)
def library(request: pytest.FixtureRequest) -> tuple[Kernels, np.dtype]:
    ty, suffix = KINDS[request.param]
    body = BODY.replace("##S", suffix).replace("INDEX", "int i = blockIdx.x * blockDim.x + threadIdx.x")
    return Kernels(f"typedef {ty} T;" + body), np.dtype(request.param)


def numbers(dtype: np.dtype, rng: np.random.Generator) -> np.ndarray:
    """Random bits, denormals, and what is special."""
    unsigned = f"u{dtype.itemsize}"
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), COUNT, dtype=unsigned).view(dtype)
    tiny = rng.integers(0, 2**20, 64, dtype=unsigned).view(dtype)
    special = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.5, math.inf, -math.inf, math.nan], dtype)
    values = rng.permutation(np.concatenate([bits, tiny, special]))
    return np.concatenate([special, values])[:COUNT]


def run(library: Kernels, name: str, *arguments: np.ndarray) -> None:
    library(name, (COUNT // 256,), (256,), *arguments)


def same(given: Any, wanted: Any) -> bool:
    if math.isnan(wanted):
        return math.isnan(given)
    return given == wanted and math.copysign(1, given) == math.copysign(1, wanted)


def test_frexp_and_ldexp_take_numbers_apart_and_put_them_together(library: Any, rng: np.random.Generator) -> None:
    kernels, dtype = library
    values, mantissas, exponents = numbers(dtype, rng), np.empty(COUNT, dtype), np.empty(COUNT, np.int32)
    run(kernels, "frexp_", values, mantissas, exponents)
    for value, mantissa, exponent in zip(values.tolist(), mantissas.tolist(), exponents.tolist(), strict=True):
        wanted = math.frexp(value)
        assert same(mantissa, wanted[0]), value
        assert exponent == wanted[1] or not math.isfinite(value), value
    again = np.empty(COUNT, dtype)
    run(kernels, "ldexp_", mantissas, again, exponents)
    assert all(map(same, again.tolist(), values.tolist()))


@pytest.mark.parametrize("name", ["ldexp_", "scalbn_"])
def test_scaling_rounds_once_where_it_ends_in_denormals(library: Any, name: str, rng: np.random.Generator) -> None:
    kernels, dtype = library
    values, result = numbers(dtype, rng), np.empty(COUNT, dtype)
    exponents = rng.integers(-2200, 2200, COUNT).astype(np.int32)
    exponents[:600] = rng.integers(-160, 160, 600)
    exponents[-1], exponents[-2] = 2**31 - 1, -(2**31)
    run(kernels, name, values, result, exponents)
    smallest = -149 if dtype == np.float32 else -1074
    for value, exponent, given in zip(values.tolist(), exponents.tolist(), result.tolist(), strict=True):
        if value == 0 or not math.isfinite(value):
            assert same(given, value), value
            continue
        limited = min(max(exponent, -5000), 5000)
        exact = Fraction(value) * Fraction(2) ** limited
        if abs(exact) < Fraction(2) ** (smallest + (24 if dtype == np.float32 else 53)):
            wanted = math.copysign(float(round(abs(exact) * Fraction(2) ** -smallest) * Fraction(2) ** smallest), value)
        else:
            wanted = (
                float(exact) if abs(exact) <= Fraction(float(np.finfo(dtype).max)) else math.copysign(math.inf, value)
            )
        assert same(given, wanted), (value, exponent, given, wanted)


def test_exponents_of_numbers(library: Any, rng: np.random.Generator) -> None:
    kernels, dtype = library
    values, result, exponents = numbers(dtype, rng), np.empty(COUNT, dtype), np.empty(COUNT, np.int32)
    run(kernels, "logb_", values, result, exponents)
    for value, given, exponent in zip(values.tolist(), result.tolist(), exponents.tolist(), strict=True):
        if value == 0:
            assert (given, exponent) == (-math.inf, -(2**31))
        elif math.isnan(value):
            assert math.isnan(given)
            assert exponent == -(2**31)
        elif math.isinf(value):
            assert (given, exponent) == (math.inf, 2**31 - 1)
        else:
            assert given == exponent == math.frexp(value)[1] - 1


def test_modf_splits_and_keeps_the_sign(library: Any, rng: np.random.Generator) -> None:
    kernels, dtype = library
    values, rest, whole = numbers(dtype, rng), np.empty(COUNT, dtype), np.empty(COUNT, dtype)
    run(kernels, "modf_", values, rest, whole)
    for value, *given in zip(values.tolist(), rest.tolist(), whole.tolist(), strict=True):
        assert all(map(same, given, math.modf(value))), (value, given)


def python_remainder(a: float, b: float) -> float:
    return math.nan if math.isinf(a) or b == 0 else math.remainder(a, b)


def python_modulo(a: float, b: float) -> float:
    return math.nan if math.isinf(a) or b == 0 else math.fmod(a, b)


def python_fdim(a: float, b: float) -> float:
    return math.nan if math.isnan(a) or math.isnan(b) else (float(a) - float(b) if a > b else 0.0)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "answer"),
    [("nextafter_", None), ("fmod_", python_modulo), ("remainder_", python_remainder), ("fdim_", python_fdim)],
)
def test_pairs_give_the_exact_answer(
    library: Any, name: str, answer: Callable[[float, float], float] | None, rng: np.random.Generator
) -> None:
    kernels, dtype = library
    a, b = (rng.permutation(numbers(dtype, rng)) for _ in range(2))
    # Quotients that are small, and ties.
    b[:200] = a[:200] / rng.integers(1, 9, 200).astype(dtype)
    result = np.empty(COUNT, dtype)
    run(kernels, name, a, result, b)
    wanted = (
        np.nextafter(a, b).tolist()
        if answer is None
        else [answer(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    )
    for x, y, given, exact in zip(a.tolist(), b.tolist(), result.tolist(), wanted, strict=True):
        assert same(given, float(np.array(exact, dtype))), (x, y, given, exact)


def test_remquo_gives_the_last_bits_of_the_quotient(library: Any, rng: np.random.Generator) -> None:
    kernels, dtype = library
    a = (rng.normal(size=COUNT) * 100).astype(dtype)
    b = rng.choice([0.5, -1.5, 2.0, 3.25, -7.0], COUNT).astype(dtype)
    result, quotients = np.empty(COUNT, dtype), np.empty(COUNT, np.int32)
    run(kernels, "remquo_", a, result, b, quotients)
    for x, y, given, quotient in zip(a.tolist(), b.tolist(), result.tolist(), quotients.tolist(), strict=True):
        assert quotient == round(Fraction(x) / Fraction(y))
        assert Fraction(given) == Fraction(x) - quotient * Fraction(y)


def test_rounding_to_integers(library: Any, rng: np.random.Generator) -> None:
    kernels, dtype = library
    values = np.concatenate([np.arange(-64, 64) / 2, rng.normal(size=COUNT - 128) * 1e6]).astype(dtype)
    away, even = np.empty(COUNT, np.int64), np.empty(COUNT, np.int64)
    run(kernels, "round_", values, away, even)
    for value, *given in zip(values.tolist(), away.tolist(), even.tolist(), strict=True):
        assert given == [int(math.copysign(math.floor(abs(value) + 0.5), value)), round(value)], value

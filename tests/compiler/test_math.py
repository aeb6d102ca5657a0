"""The device math library against NumPy in double precision: dense samples over the whole range, and the special values.

The bounds are those stated in `crates/amdgpu-compiler/device_lib/`, in units in the last place of the float32 result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_harness import Kernels

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = """
#define UNARY(name) __global__ void k_##name(const float* x, float* y, int n) { \\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = name(x[i]); }
UNARY(expf) UNARY(exp2f) UNARY(exp10f) UNARY(logf) UNARY(log2f) UNARY(log10f) UNARY(tanhf) UNARY(sinf) UNARY(cosf)
UNARY(tanf) UNARY(sqrtf) UNARY(floorf) UNARY(ceilf) UNARY(truncf) UNARY(rintf) UNARY(roundf) UNARY(fabsf) UNARY(rsqrtf)
#define BINARY(name) __global__ void k_##name(const float* a, const float* b, float* y, int n) { \\
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = name(a[i], b[i]); }
BINARY(powf) BINARY(fminf) BINARY(fmaxf) BINARY(copysignf) BINARY(fmodf)
"""

SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -1.5,
        -2.5,
        3.0,
        -3.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        1.1754944e-38,
        3.4028235e38,
        -3.4028235e38,
        88.72284,
        -103.97,
        1e10,
        16777216.0,
        0.1,
    ],
    dtype=np.float32,
)


@pytest.fixture(scope="module")
def library() -> Kernels:
    return Kernels(SOURCE)


def samples(low: float, high: float, count: int) -> np.ndarray:
    """Evenly spread values of a range and, beside them, evenly spread bit patterns, so that every exponent is met."""
    even = np.linspace(low, high, count, dtype=np.float64).astype(np.float32)
    bits = np.linspace(0, 0x7F7FFFFF, count).astype(np.uint32).view(np.float32)
    values = np.concatenate([even, bits, -bits])
    return values[(values >= low) & (values <= high)]


def run(library: Kernels, name: str, *inputs: np.ndarray) -> np.ndarray:
    inputs = tuple(np.ascontiguousarray(value, dtype=np.float32) for value in inputs)
    result = np.full(inputs[0].size, 777, dtype=np.float32)
    library(f"k_{name}", (-(-result.size // 256),), (256,), *inputs, result, result.size)
    return result


def error_in_ulp(result: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance from the exact value, in spacings of float32 there; infinite results must be equal."""
    with np.errstate(all="ignore"):
        rounded = exact.astype(np.float32)
    finite = np.isfinite(rounded) & np.isfinite(result)
    with np.errstate(all="ignore"):
        spacing = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(result.astype(np.float64) - exact) / spacing
    same = (result == rounded) | (np.isnan(result) & np.isnan(rounded))
    # Just below the overflow threshold one rounding decides between the largest number and infinity.
    borderline = ~finite & ~same & (np.abs(exact) > 3.4028234e38)
    return np.where(finite, error, np.where(same | borderline, 0.0, np.inf))


UNARY: list[tuple[str, Callable[[Any], Any], float, float, float]] = [
    ("expf", np.exp, -110, 95, 1.0),
    ("exp2f", np.exp2, -160, 130, 0.51),
    ("exp10f", lambda x: np.power(10.0, x), -50, 40, 0.51),
    ("logf", np.log, 0, 3.4e38, 1.0),
    ("log2f", np.log2, 0, 3.4e38, 0.51),
    ("log10f", np.log10, 0, 3.4e38, 0.51),
    ("tanhf", np.tanh, -12, 12, 1.5),
    ("sinf", np.sin, -1e5, 1e5, 1.6),
    ("cosf", np.cos, -1e5, 1e5, 1.6),
    ("sinf", np.sin, -3.4e38, 3.4e38, 1.6),
    ("cosf", np.cos, -3.4e38, 3.4e38, 1.6),
    ("tanf", np.tan, -1e5, 1e5, 4.0),
    ("sqrtf", np.sqrt, 0, 3.4e38, 0.5),
    ("rsqrtf", lambda x: 1 / np.sqrt(x), 0, 3.4e38, 1.5),
]


# Samples of each spacing: few in the default run, and enough to meet most of the values of an exponent.
COUNTS = [40_000, pytest.param(400_000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize(("name", "oracle", "low", "high", "bound"), UNARY)
def test_functions_keep_their_error_bound(
    library: Kernels, name: str, oracle: Any, low: float, high: float, bound: float, count: int
) -> None:
    x = samples(low, high, count)
    with np.errstate(all="ignore"):
        exact = oracle(x.astype(np.float64))
    error = error_in_ulp(run(library, name, x), exact)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, f"{name}({x[worst]!r}) is off by {error[worst]} ulp"


@pytest.mark.parametrize("count", COUNTS)
def test_powf_keeps_its_error_bound(library: Kernels, rng: np.random.Generator, count: int) -> None:
    x = np.exp(rng.uniform(-80, 80, count)).astype(np.float32)
    y = rng.uniform(-40, 40, count).astype(np.float32)
    near = rng.uniform(0.9, 1.1, count).astype(np.float32)
    large = rng.uniform(-900, 900, count).astype(np.float32)
    x, y = np.concatenate([x, near]), np.concatenate([y, large])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), y.astype(np.float64))
    error = error_in_ulp(run(library, "powf", x, y), exact)
    worst = int(np.argmax(error))
    assert error[worst] <= 0.51, f"powf({x[worst]!r}, {y[worst]!r}) is off by {error[worst]} ulp"


@pytest.mark.parametrize(
    ("name", "oracle"),
    [(name, oracle) for name, oracle, *_ in UNARY if name != "tanf"]
    + [("floorf", np.floor), ("ceilf", np.ceil), ("truncf", np.trunc), ("rintf", np.rint), ("fabsf", np.abs)],
)
def test_special_values_are_those_of_the_standard(library: Kernels, name: str, oracle: Any) -> None:
    with np.errstate(all="ignore"):
        exact = oracle(SPECIAL.astype(np.float64))
    result = run(library, name, SPECIAL)
    assert np.max(error_in_ulp(result, exact)) <= 1.5, dict(zip(SPECIAL.tolist(), result.tolist(), strict=True))
    zero = (result == 0) & (exact == 0)
    assert np.array_equal(np.signbit(result[zero]), np.signbit(exact[zero]))


@pytest.mark.parametrize(
    ("name", "oracle"),
    [("powf", np.power), ("fminf", np.fmin), ("fmaxf", np.fmax), ("copysignf", np.copysign), ("fmodf", np.fmod)],
)
def test_special_pairs_are_those_of_the_standard(library: Kernels, name: str, oracle: Any) -> None:
    a, b = (part.ravel() for part in np.meshgrid(SPECIAL, SPECIAL))
    with np.errstate(all="ignore"):
        exact = oracle(a.astype(np.float64), b.astype(np.float64))
    result = run(library, name, a, b)
    error = error_in_ulp(result, exact)
    wrong = error > 0.51
    assert not wrong.any(), list(
        zip(a[wrong].tolist(), b[wrong].tolist(), result[wrong].tolist(), exact[wrong].tolist(), strict=True)
    )[:5]
    zero = (result == 0) & (exact == 0) & (name not in ("fminf", "fmaxf"))
    assert np.array_equal(np.signbit(result[zero]), np.signbit(exact[zero]))


def test_minimum_and_maximum_order_the_zeros(library: Kernels) -> None:
    zeros = np.array([0.0, -0.0], np.float32)
    assert np.signbit(run(library, "fminf", zeros, zeros[::-1])).all()
    assert not np.signbit(run(library, "fmaxf", zeros, zeros[::-1])).any()


def test_roundf_goes_away_from_zero_on_halves(library: Kernels) -> None:
    x = np.array([0.5, 1.5, 2.5, -0.5, -2.5, 0.49999997, 8388609.0, -0.0, 1e30], np.float32)
    assert run(library, "roundf", x).tolist() == [1, 2, 3, -1, -3, 0, 8388609, 0, np.float32(1e30)]


def test_fmodf_is_exact(library: Kernels, rng: np.random.Generator) -> None:
    a = np.exp(rng.uniform(-80, 80, 100_000)).astype(np.float32)
    b = np.exp(rng.uniform(-80, 80, 100_000)).astype(np.float32)
    assert np.array_equal(run(library, "fmodf", a, b), np.fmod(a, b))

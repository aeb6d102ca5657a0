"""The math library in double precision, and in single precision what is computed through double, against mpmath."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_harness import ROOT, Kernels
from math_oracle import BINARY, UNARY, error_in_ulp, exact_values, samples

if TYPE_CHECKING:
    from math_oracle import Function

# The exact values of mpmath take the time; `slow` tests have many more.
COUNT = 240
DENSE_COUNT = 48_000


# Functions of one compile: larger modules get less of LLVM's optimisation.
GROUP = 8


def source(ty: str, suffix: str, names: list[str]) -> str:
    head = "int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] ="
    kernels = []
    for name in names:
        inputs = "ab" if name in BINARY else "a"
        parameters = "".join(f"const {ty}* {letter}, " for letter in inputs)
        values = ", ".join(f"{letter}[i]" for letter in inputs)
        kernels.append(f"__global__ void k_{name}({parameters}{ty}* y, {head} {name}{suffix}({values}); }}\n")
    return "".join(kernels)


class Library:
    """All functions in one type on one processor, compiled group by group when first needed."""

    def __init__(self, ty: str, suffix: str, cpu: str | None = None) -> None:
        names = [*UNARY, *BINARY]
        self._groups = {name: names[index - index % GROUP :][:GROUP] for index, name in enumerate(names)}
        # Without fused multiply-adds each is a call, once for each lane: lanes would make modules of megabytes.
        flags = ("--disable", "work-item-vectorization") if cpu == "x86-64-v2" else ()
        self._make = lambda group: Kernels(source(ty, suffix, group), *flags, cpu=cpu)
        self._made: dict[str, Kernels] = {}

    def __call__(self, name: str, *arguments: np.ndarray) -> np.ndarray:
        group = self._groups[name]
        if group[0] not in self._made:
            self._made[group[0]] = self._make(group)
        result = np.full(arguments[0].size, 777, arguments[0].dtype)
        self._made[group[0]](f"k_{name}", (-(-result.size // 256),), (256,), *arguments, result, result.size)
        return result


@pytest.fixture(scope="module")
def doubles() -> Library:
    return Library("double", "")


@pytest.fixture(scope="module")
def floats() -> Library:
    return Library("float", "f")


def arguments_of(name: str, function: Function, count: int, dtype: Any, rng: np.random.Generator) -> list[np.ndarray]:
    if name in BINARY:
        sides = [samples(*limits, 4 * count, dtype, rng) for limits in function.ranges]
        return [rng.permutation(side)[:count] for side in sides]
    return [np.concatenate([samples(*limits, count, dtype, rng) for limits in function.ranges])]


def check(library: Library, name: str, function: Function, arguments: list[np.ndarray], bound: float) -> None:
    high, low = exact_values(function.oracle, *arguments)
    error = error_in_ulp(library(name, *arguments), high, low)
    worst = int(np.argmax(error))
    assert error[worst] <= bound, f"{name}{[a[worst] for a in arguments]} is off by {error[worst]} ulp"


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_double_functions_keep_their_error_bound(doubles: Library, name: str, rng: np.random.Generator) -> None:
    function = UNARY.get(name) or BINARY[name]
    check(doubles, name, function, arguments_of(name, function, COUNT, np.float64, rng), function.bound)


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_float_functions_keep_their_error_bound(floats: Library, name: str, rng: np.random.Generator) -> None:
    function = UNARY.get(name) or BINARY[name]
    check(floats, name, function, arguments_of(name, function, COUNT // 2, np.float32, rng), function.float_bound)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_dense_samples_keep_the_error_bound(doubles: Library, name: str, rng: np.random.Generator) -> None:
    function = UNARY.get(name) or BINARY[name]
    check(doubles, name, function, arguments_of(name, function, DENSE_COUNT, np.float64, rng), function.bound)


INF, NAN = math.inf, math.nan
# What C and CUDA define where no bound applies: argument and result, signs of zeros included.
SPECIAL: dict[str, list[tuple[float, float]]] = {
    "exp": [(0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0), (710.0, INF), (-746.0, 0.0), (-745.0, 5e-324)],
    "exp2": [(0.0, 1.0), (INF, INF), (-INF, 0.0), (1024.0, INF), (-1074.0, 5e-324), (10.0, 1024.0), (-1076.0, 0.0)],
    "exp10": [(0.0, 1.0), (INF, INF), (-INF, 0.0), (309.0, INF), (2.0, 100.0), (-330.0, 0.0)],
    "expm1": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0), (5e-324, 5e-324), (710.0, INF), (-1e300, -1.0)],
    "log": [(0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF), (-1.0, NAN), (-INF, NAN)],
    "log2": [(0.0, -INF), (1.0, 0.0), (8.0, 3.0), (5e-324, -1074.0), (2.0**1023, 1023.0), (INF, INF), (-1.0, NAN)],
    "log10": [(0.0, -INF), (1.0, 0.0), (1000.0, 3.0), (1e22, 22.0), (INF, INF), (-1.0, NAN)],
    "log1p": [(0.0, 0.0), (-0.0, -0.0), (-1.0, -INF), (INF, INF), (-2.0, NAN), (5e-324, 5e-324)],
    "sin": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN), (5e-324, 5e-324)],
    "cos": [(0.0, 1.0), (-0.0, 1.0), (INF, NAN), (5e-324, 1.0)],
    "tan": [(0.0, 0.0), (-0.0, -0.0), (INF, NAN)],
    "sinpi": [(0.0, 0.0), (-0.0, -0.0), (1.0, 0.0), (-1.0, -0.0), (0.5, 1.0), (1.5, -1.0), (1e300, 0.0), (INF, NAN)],
    "cospi": [
        (0.0, 1.0),
        (0.5, 0.0),
        (1.5, 0.0),
        (-0.5, 0.0),
        (1.0, -1.0),
        (1e300, 1.0),
        (9007199254740993.0, 1.0),
        (INF, NAN),
    ],
    "asin": [(0.0, 0.0), (-0.0, -0.0), (1.0, math.pi / 2), (-1.0, -math.pi / 2), (1.1, NAN), (INF, NAN)],
    "acos": [(1.0, 0.0), (-1.0, math.pi), (0.0, math.pi / 2), (-1.1, NAN), (INF, NAN)],
    "atan": [(0.0, 0.0), (-0.0, -0.0), (INF, math.pi / 2), (-INF, -math.pi / 2), (5e-324, 5e-324)],
    "sinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF), (711.0, INF)],
    "cosh": [(0.0, 1.0), (INF, INF), (-INF, INF), (-711.0, INF)],
    "tanh": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0), (5e-324, 5e-324)],
    "asinh": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF)],
    "acosh": [(1.0, 0.0), (INF, INF), (0.5, NAN), (-INF, NAN)],
    "atanh": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (1.5, NAN)],
    "cbrt": [(0.0, 0.0), (-0.0, -0.0), (27.0, 3.0), (-8.0, -2.0), (INF, INF), (-INF, -INF)],
    "rcbrt": [(0.0, INF), (-0.0, -INF), (8.0, 0.5), (INF, 0.0), (-INF, -0.0)],
    "sqrt": [(0.0, 0.0), (-0.0, -0.0), (INF, INF), (-1.0, NAN)],
    "rsqrt": [(0.0, INF), (4.0, 0.5), (INF, 0.0), (-1.0, NAN)],
    "erf": [(0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)],
    "erfc": [(0.0, 1.0), (INF, 0.0), (-INF, 2.0), (30.0, 0.0)],
    "erfcx": [(0.0, 1.0), (INF, 0.0), (-INF, INF), (-30.0, INF)],
    "normcdf": [(0.0, 0.5), (INF, 1.0), (-INF, 0.0), (-40.0, 0.0)],
    "erfinv": [(0.0, 0.0), (-0.0, -0.0), (1.0, INF), (-1.0, -INF), (2.0, NAN)],
    "erfcinv": [(1.0, 0.0), (0.0, INF), (2.0, -INF), (-1.0, NAN), (3.0, NAN)],
    "normcdfinv": [(0.5, 0.0), (0.0, -INF), (1.0, INF), (-1.0, NAN), (2.0, NAN)],
    "tgamma": [
        (0.0, INF),
        (-0.0, -INF),
        (-1.0, NAN),
        (5.0, 24.0),
        (1.0, 1.0),
        (INF, INF),
        (-INF, NAN),
        (172.0, INF),
        (-200.5, -0.0),
    ],
    "lgamma": [(0.0, INF), (1.0, 0.0), (2.0, 0.0), (-1.0, INF), (INF, INF), (-INF, INF), (-1e300, INF)],
}
PAIRS: dict[str, list[tuple[float, float, float]]] = {
    "pow": [
        *((x, y, z) for x in (0.0, -0.0) for y, z in ((2.0, 0.0), (-2.0, INF), (0.5, 0.0), (-0.5, INF))),
        (-0.0, 3.0, -0.0),
        (-0.0, -3.0, -INF),
        (-8.0, 3.0, -512.0),
        (-8.0, 1 / 3, NAN),
        (NAN, 0.0, 1.0),
        (1.0, NAN, 1.0),
        (INF, -1.0, 0.0),
        (-INF, 3.0, -INF),
        (-INF, -3.0, -0.0),
        (-1.0, INF, 1.0),
        (0.5, INF, 0.0),
        (2.0, -INF, 0.0),
        (2.0, INF, INF),
        (0.5, -INF, INF),
        (10.0, 308.5, INF),
        (10.0, -400.0, 0.0),
        (-2.0, 1e300, INF),
        (1.5, 1e300, INF),
        (0.99, 1e300, 0.0),
        (2.0, -1074.0, 5e-324),
    ],
    "atan2": [
        (0.0, 0.0, 0.0),
        (-0.0, 0.0, -0.0),
        (0.0, -0.0, math.pi),
        (-0.0, -0.0, -math.pi),
        (0.0, -1.0, math.pi),
        (-0.0, 1.0, -0.0),
        (1.0, 0.0, math.pi / 2),
        (-1.0, -0.0, -math.pi / 2),
        (INF, INF, math.pi / 4),
        (INF, -INF, 3 * math.pi / 4),
        (1.0, -INF, math.pi),
        (-1.0, INF, -0.0),
        (INF, 1.0, math.pi / 2),
        (NAN, 1.0, NAN),
        (1.0, NAN, NAN),
    ],
    "hypot": [
        (0.0, 0.0, 0.0),
        (INF, NAN, INF),
        (NAN, -INF, INF),
        (NAN, 1.0, NAN),
        (3e-320, 4e-320, 5e-320),
        (3e300, 4e300, 5e300),
        (1e308, 1.7e308, INF),
    ],
    "rhypot": [(0.0, 0.0, INF), (INF, NAN, 0.0), (3.0, 4.0, 0.2)],
    "fmod": [
        (5.0, 3.0, 2.0),
        (-5.0, 3.0, -2.0),
        (INF, 1.0, NAN),
        (1.0, 0.0, NAN),
        (1.0, INF, 1.0),
        (-0.0, 1.0, -0.0),
        (6.0, 3.0, 0.0),
        (-6.0, 3.0, -0.0),
    ],
}


def assert_special(name: str, arguments: tuple[float, ...], given: float, wanted: float) -> None:
    if math.isnan(wanted):
        assert math.isnan(given), (name, arguments, given)
    elif math.isinf(wanted) or wanted == 0:
        assert given == wanted, (name, arguments, given)
        assert math.copysign(1, given) == math.copysign(1, wanted), (name, arguments, given)
    else:
        assert math.isclose(given, wanted, rel_tol=5e-16), (name, arguments, given)


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values_are_those_of_the_standards(doubles: Library, name: str) -> None:
    cases = [*SPECIAL[name], (NAN, NAN)]
    result = doubles(name, np.array([argument for argument, _ in cases]))
    for (argument, wanted), given in zip(cases, result.tolist(), strict=True):
        assert_special(name, (argument,), given, wanted)


@pytest.mark.parametrize("name", PAIRS)
def test_special_pairs_are_those_of_the_standards(doubles: Library, name: str) -> None:
    result = doubles(name, np.array([case[0] for case in PAIRS[name]]), np.array([case[1] for case in PAIRS[name]]))
    for (a, b, wanted), given in zip(PAIRS[name], result.tolist(), strict=True):
        assert_special(name, (a, b), given, wanted)


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize(("ty", "suffix"), [("double", ""), ("float", "f")])
def test_every_processor_gives_the_same_bits(
    request: pytest.FixtureRequest, cpu: str, ty: str, suffix: str, rng: np.random.Generator
) -> None:
    native = request.getfixturevalue("doubles" if ty == "double" else "floats")
    other = Library(ty, suffix, cpu)
    dtype = {"double": np.float64, "float": np.float32}[ty]
    for name, function in (UNARY | BINARY).items():
        arguments = arguments_of(name, function, COUNT, dtype, rng)
        one, two = native(name, *arguments), other(name, *arguments)
        assert np.array_equal(one, two, equal_nan=True), name
        assert np.array_equal(np.signbit(one[one == 0]), np.signbit(two[one == 0])), name


def test_the_manual_states_the_same_bounds() -> None:
    manual = (ROOT / "docs" / "language.md").read_text()
    for name, function in (UNARY | BINARY).items():
        double, single = ("exact" if bound == 0 else f"{bound:g}" for bound in (function.bound, function.float_bound))
        assert f"| `{name}` | {double} | {single} |" in manual

"""Integer functions, bit casts and conversions with rounding modes, against Python's exact integers and fractions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from kernel_harness import Kernels

if TYPE_CHECKING:
    from collections.abc import Callable

MASK = 2**32 - 1
COUNT = 2048
C_NAMES = {
    "i4": "int",
    "u4": "unsigned int",
    "i8": "long long",
    "u8": "unsigned long long",
    "f4": "float",
    "f8": "double",
}


def signed(value: int, bits: int = 32) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value


def lanes(value: int, width: int, is_signed: bool) -> list[int]:
    parts = [value >> place & 2**width - 1 for place in range(0, 32, width)]
    return [signed(part, width) if is_signed else part for part in parts]


def joined(parts: list[int], width: int) -> int:
    return sum((part & 2**width - 1) << place * width for place, part in enumerate(parts))


def dot(a: int, b: int, is_signed: bool) -> int:
    return sum(x * y for x, y in zip(lanes(a, 8, is_signed), lanes(b, 8, is_signed), strict=True))


def dot_pairs(a: int, b: int, first: int, is_signed: bool) -> int:
    return sum(x * y for x, y in zip(lanes(a, 16, is_signed), lanes(b, 8, is_signed)[first : first + 2], strict=True))


def chosen_bytes(low: int, high: int, selector: int) -> int:
    source = (high << 32 | low).to_bytes(8, "little")
    return int.from_bytes(bytes(source[selector >> 4 * place & 7] for place in range(4)), "little")


def reversed_bits(value: int, bits: int) -> int:
    return int(f"{value & 2**bits - 1:0{bits}b}"[::-1], 2)


def first_set(value: int) -> int:
    return (value & -value).bit_length()


# Name: types of the arguments and of the result, and the exact answer.
FUNCTIONS: dict[str, tuple[str, Callable[..., int]]] = {
    "__popc": ("u4 i4", int.bit_count),
    "__popcll": ("u8 i4", int.bit_count),
    "__clz": ("i4 i4", lambda x: 32 - (x & MASK).bit_length()),
    "__clzll": ("i8 i4", lambda x: 64 - (x & 2**64 - 1).bit_length()),
    "__ffs": ("i4 i4", first_set),
    "__ffsll": ("i8 i4", first_set),
    "__brev": ("u4 u4", lambda x: reversed_bits(x, 32)),
    "__brevll": ("u8 u8", lambda x: reversed_bits(x, 64)),
    "__mulhi": ("i4 i4 i4", lambda a, b: a * b >> 32),
    "__umulhi": ("u4 u4 u4", lambda a, b: a * b >> 32),
    "__mul64hi": ("i8 i8 i8", lambda a, b: a * b >> 64),
    "__umul64hi": ("u8 u8 u8", lambda a, b: a * b >> 64),
    "__mul24": ("i4 i4 i4", lambda a, b: signed(signed(a, 24) * signed(b, 24))),
    "__umul24": ("u4 u4 u4", lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF) & MASK),
    "__hadd": ("i4 i4 i4", lambda a, b: a + b >> 1),
    "__rhadd": ("i4 i4 i4", lambda a, b: a + b + 1 >> 1),
    "__uhadd": ("u4 u4 u4", lambda a, b: a + b >> 1),
    "__urhadd": ("u4 u4 u4", lambda a, b: a + b + 1 >> 1),
    "__sad": ("i4 i4 u4 u4", lambda a, b, c: abs(a - b) + c & MASK),
    "__usad": ("u4 u4 u4 u4", lambda a, b, c: abs(a - b) + c & MASK),
    "__byte_perm": ("u4 u4 u4 u4", chosen_bytes),
    "__funnelshift_l": ("u4 u4 u4 u4", lambda low, high, n: (high << 32 | low) << (n & 31) >> 32 & MASK),
    "__funnelshift_lc": ("u4 u4 u4 u4", lambda low, high, n: (high << 32 | low) << min(n, 32) >> 32 & MASK),
    "__funnelshift_r": ("u4 u4 u4 u4", lambda low, high, n: (high << 32 | low) >> (n & 31) & MASK),
    "__funnelshift_rc": ("u4 u4 u4 u4", lambda low, high, n: (high << 32 | low) >> min(n, 32) & MASK),
    "__dp4a": ("i4 i4 i4 i4", lambda a, b, c: signed(dot(a, b, True) + c)),
    "__dp2a_lo": ("i4 i4 i4 i4", lambda a, b, c: signed(dot_pairs(a, b, 0, True) + c)),
    "__dp2a_hi": ("i4 i4 i4 i4", lambda a, b, c: signed(dot_pairs(a, b, 2, True) + c)),
    "__vadd4": (
        "u4 u4 u4",
        lambda a, b: joined([x + y for x, y in zip(lanes(a, 8, False), lanes(b, 8, False), strict=True)], 8),
    ),
    "__vsub4": (
        "u4 u4 u4",
        lambda a, b: joined([x - y for x, y in zip(lanes(a, 8, False), lanes(b, 8, False), strict=True)], 8),
    ),
    "__vadd2": (
        "u4 u4 u4",
        lambda a, b: joined([x + y for x, y in zip(lanes(a, 16, False), lanes(b, 16, False), strict=True)], 16),
    ),
    "__vsub2": (
        "u4 u4 u4",
        lambda a, b: joined([x - y for x, y in zip(lanes(a, 16, False), lanes(b, 16, False), strict=True)], 16),
    ),
    "__vavgu4": (
        "u4 u4 u4",
        lambda a, b: joined([x + y + 1 >> 1 for x, y in zip(lanes(a, 8, False), lanes(b, 8, False), strict=True)], 8),
    ),
    "__double2hiint": ("f8 i4", lambda x: signed(int(np.float64(x).view(np.int64)) >> 32)),
    "__double2loint": ("f8 i4", lambda x: signed(int(np.float64(x).view(np.int64)))),
}
# The unsigned overloads.
OVERLOADS: dict[str, tuple[str, Callable[..., int]]] = {
    "__dp4a": ("u4 u4 u4 u4", lambda a, b, c: dot(a, b, False) + c & MASK),
    "__dp2a_lo": ("u4 u4 u4 u4", lambda a, b, c: dot_pairs(a, b, 0, False) + c & MASK),
    "__dp2a_hi": ("u4 u4 u4 u4", lambda a, b, c: dot_pairs(a, b, 2, False) + c & MASK),
}
MODES = ("rn", "rz", "rd", "ru")
INTEGERS = {"int": "i4", "uint": "u4", "ll": "i8", "ull": "u8"}
FLOATS = {"float": "f4", "double": "f8"}
TO_INTEGER = [
    (f"__{f}2{i}_{mode}", f"{FLOATS[f]} {INTEGERS[i]}", mode) for f in FLOATS for i in INTEGERS for mode in MODES
]
TO_FLOAT = [
    (f"__{i}2{f}_{mode}", f"{INTEGERS[i]} {FLOATS[f]}", mode)
    for f in FLOATS
    for i in INTEGERS
    for mode in MODES
    if f == "float" or i in ("ll", "ull") or mode == "rn"
]
ARITHMETIC = [
    (f"__f{name}_{mode}", types, mode)
    for name, types in (
        ("add", "f4 f4 f4"),
        ("sub", "f4 f4 f4"),
        ("mul", "f4 f4 f4"),
        ("div", "f4 f4 f4"),
        ("maf", "f4 f4 f4 f4"),
        ("sqrt", "f4 f4"),
        ("rcp", "f4 f4"),
    )
    for mode in MODES
]
EXACT: dict[str, Callable[..., Fraction]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maf": lambda a, b, c: a * b + c,
    "rcp": lambda a: 1 / a,
}


def kernel(index: int, name: str, types: str) -> str:
    *inputs, output = types.split()
    parameters = "".join(f"const {C_NAMES[ty]}* p{place}, " for place, ty in enumerate(inputs))
    values = ", ".join(f"p{place}[i]" for place in range(len(inputs)))
    return (
        f"__global__ void k{index}({parameters}{C_NAMES[output]}* o) {{ int i = blockIdx.x * blockDim.x + threadIdx.x;"
        f" o[i] = {name}({values}); }}"
    )


CASES = (
    [(name, types) for name, (types, _) in FUNCTIONS.items()]
    + [(name, types) for name, (types, _) in OVERLOADS.items()]
    + [(name, types) for name, types, _ in TO_INTEGER + TO_FLOAT + ARITHMETIC]
    + [("__double2float_" + mode, "f8 f4") for mode in MODES]
)


@pytest.fixture(scope="module")
def library() -> Kernels:
    return Kernels("\n".join(kernel(index, name, types) for index, (name, types) in enumerate(CASES)))


def values(rng: np.random.Generator, ty: str) -> np.ndarray:
    """Random ones of every size, the ends and what lies around 0."""
    dtype = np.dtype(ty)
    bits = rng.integers(0, 2**64, COUNT, dtype=np.uint64) >> rng.integers(0, 8 * dtype.itemsize, COUNT).astype(
        np.uint64
    )
    if dtype.kind == "f":
        result = (rng.normal(size=COUNT) * 2.0 ** rng.integers(-70, 70, COUNT)).astype(dtype)
        result[:8] = [0.5, 1.5, -0.5, -2.5, 2.0**31, 2.0**63, -(2.0**63), 1e-30]
        return result
    result = bits.astype(dtype)
    limits = np.iinfo(dtype)
    result[:6] = [limits.min, limits.max, limits.max - 1, 0, 1, 2]
    return result


def run(library: Kernels, name: str, types: str, rng: np.random.Generator) -> tuple[list[np.ndarray], np.ndarray]:
    *inputs, output = types.split()
    arrays = [rng.permutation(values(rng, ty)) for ty in inputs]
    result = np.empty(COUNT, output)
    library(f"k{CASES.index((name, types))}", (COUNT // 256,), (256,), *arrays, result)
    return arrays, result


@pytest.mark.parametrize(
    ("name", "types", "answer"), [(n, *v) for table in (FUNCTIONS, OVERLOADS) for n, v in table.items()]
)
def test_integer_functions_are_exact(
    library: Kernels, name: str, types: str, answer: Any, rng: np.random.Generator
) -> None:
    arrays, result = run(library, name, types, rng)
    for *arguments, given in zip(*(array.tolist() for array in arrays), result.tolist(), strict=True):
        assert given == answer(*arguments), (name, arguments)


def whole(value: Fraction, mode: str) -> int:
    return {"rn": round(value), "rd": value.__floor__(), "ru": value.__ceil__(), "rz": int(value)}[mode]


@pytest.mark.parametrize(("name", "types", "mode"), TO_INTEGER)
def test_floats_become_the_integer_of_the_mode(
    library: Kernels, name: str, types: str, mode: str, rng: np.random.Generator
) -> None:
    (numbers,), result = run(library, name, types, rng)
    limits = np.iinfo(result.dtype)
    for number, given in zip(numbers.tolist(), result.tolist(), strict=True):
        assert given == min(max(whole(Fraction(number), mode), limits.min), limits.max), (name, number)


def rounded(value: Fraction, mode: str, dtype: np.dtype) -> float:
    """The neighbour of an exact value that the mode asks for; far from overflow and denormals."""
    if value == 0:
        return 0.0
    bits = 24 if dtype == np.float32 else 53
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > abs(value):
        exponent -= 1
    unit = Fraction(2) ** (exponent - bits + 1)
    return float(whole(value / unit, mode) * unit)


@pytest.mark.parametrize(("name", "types", "mode"), TO_FLOAT)
def test_integers_become_the_float_of_the_mode(
    library: Kernels, name: str, types: str, mode: str, rng: np.random.Generator
) -> None:
    (numbers,), result = run(library, name, types, rng)
    for number, given in zip(numbers.tolist(), result.tolist(), strict=True):
        assert given == rounded(Fraction(number), mode, result.dtype), (name, number)


@pytest.mark.parametrize(
    ("name", "types", "mode"), [*ARITHMETIC, *(("__double2float_" + m, "f8 f4", m) for m in MODES)]
)
def test_arithmetic_is_rounded_as_the_mode_says(
    library: Kernels, name: str, types: str, mode: str, rng: np.random.Generator
) -> None:
    arrays, result = run(library, name, types, rng)
    operation = name.removeprefix("__f").split("_")[0]
    for *arguments, given in zip(*(array.tolist() for array in arrays), result.tolist(), strict=True):
        parts = [Fraction(argument) for argument in arguments]
        if operation == "sqrt":
            if parts[0] < 0:
                assert np.isnan(given)
                continue
            # 60 more bits than the result has, and one that says whether there are others.
            scaled = parts[0] * 4**100
            root = isqrt(int(scaled))
            exact = (Fraction(root) + (Fraction(1, 2) if root * root != scaled else 0)) / 2**100
        else:
            exact = EXACT.get(operation, lambda value: value)(*parts)
        if exact != 0 and not 2.0**-125 < abs(exact) < 2.0**127:
            continue
        assert given == rounded(exact, mode, result.dtype), (name, arguments)


def test_bits_of_doubles_are_joined_again() -> None:
    library = Kernels(
        "__global__ void k(const double* a, double* o) { int i = threadIdx.x;"
        " o[i] = __hiloint2double(__double2hiint(a[i]), __double2loint(a[i])); }"
    )
    numbers = np.array([0.0, -0.0, 1.5, -1e300, np.inf, 5e-324, np.nan, np.pi])
    result = np.empty_like(numbers)
    library("k", (1,), (8,), numbers, result)
    assert np.array_equal(result.view(np.int64), numbers.view(np.int64))


def test_loads_and_stores_with_cache_hints_are_plain_ones() -> None:
    library = Kernels(
        "__global__ void k(const float* a, float* o) { int i = threadIdx.x; __nanosleep(100);"
        " __stcg(o + i, __ldcg(a + i) + __ldcs(&a[i]) + __ldg(a + i)); __stwt(&o[i + 8], 2.0f); }"
    )
    numbers, result = np.arange(8, dtype=np.float32), np.zeros(16, np.float32)
    library("k", (1,), (8,), numbers, result)
    assert np.array_equal(result, np.concatenate([3 * numbers, np.full(8, 2, np.float32)]))

"""Half and bfloat16 on the CPU: every value, every operation, against NumPy and ml_dtypes; the same bits with and without hardware."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from kernel_harness import Kernels

# Casts of NaN and overflow are what is tested.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

BFLOAT = ml_dtypes.bfloat16
COUNT = 65536
SOURCE = """
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
#define INDEX int i = blockIdx.x * blockDim.x + threadIdx.x
#define KERNELS(T, T2, name) \\
__global__ void widen_##name(const T* a, float* o) { INDEX; o[i] = __##name##2float(a[i]); } \\
__global__ void narrow_##name(const float* a, T* o, T* rz, T* rd, T* ru) { INDEX; \\
    o[i] = a[i]; rz[i] = __float2##name##_rz(a[i]); rd[i] = __float2##name##_rd(a[i]); ru[i] = __float2##name##_ru(a[i]); } \\
__global__ void from_double_##name(const double* a, T* o) { INDEX; o[i] = a[i]; } \\
__global__ void from_long_##name(const long* a, T* o) { INDEX; o[i] = a[i]; } \\
__global__ void to_int_##name(const T* a, int* o, int* rn) { INDEX; o[i] = a[i]; rn[i] = __##name##2int_rn(a[i]); } \\
__global__ void operate_##name(const T* a, const T* b, T* add, T* sub, T* mul, T* div) { INDEX; \\
    add[i] = a[i] + b[i]; sub[i] = __hsub(a[i], b[i]); mul[i] = a[i] * b[i]; div[i] = a[i] / b[i]; } \\
__global__ void fused_##name(const T* a, const T* b, const T* c, T* o) { INDEX; o[i] = __hfma(a[i], b[i], c[i]); } \\
__global__ void compare_##name(const T* a, const T* b, int* o) { INDEX; \\
    o[i] = (a[i] < b[i]) | (a[i] <= b[i]) << 1 | (a[i] == b[i]) << 2 | (a[i] != b[i]) << 3 | __hgt(a[i], b[i]) << 4 \\
        | __hltu(a[i], b[i]) << 5 | __hne(a[i], b[i]) << 6 | (a[i] ? 1 : 0) << 7; } \\
__global__ void sign_##name(const T* a, T* negated, T* absolute) { INDEX; negated[i] = -a[i]; absolute[i] = __habs(a[i]); } \\
__global__ void chain_##name(const T* a, const T* b, T* o, T scalar) { INDEX; \\
    T x = a[i]; x += b[i]; x *= scalar; ++x; x -= 1; o[i] = x; } \\
__global__ void functions_##name(const T* a, T* root, T* inverse, T* exponential) { INDEX; \\
    root[i] = hsqrt(a[i]); inverse[i] = hrcp(a[i]); exponential[i] = hexp(a[i]); } \\
__global__ void pairs_##name(const T2* a, const T2* b, T2* o, float2* f) { INDEX; \\
    T2 x = __hfma2(a[i], b[i], __hadd2(a[i], b[i])); x += a[i] * b[i]; o[i] = __lowhigh2highlow(x); \\
    f[i] = make_float2(__low2float(a[i]), __high2float(b[i])); }
KERNELS(__half, half2, half)
KERNELS(__nv_bfloat16, __nv_bfloat162, bfloat16)
"""

TYPES = {"half": np.dtype(np.float16), "bfloat16": np.dtype(BFLOAT)}


@pytest.fixture(scope="module", params=[None, "x86-64-v2", "x86-64-v3"])
def library(request: pytest.FixtureRequest) -> Kernels:
    return Kernels(SOURCE, cpu=request.param)


def run(library: Kernels, name: str, *arguments: np.ndarray | float) -> None:
    count = next(argument.size for argument in arguments if isinstance(argument, np.ndarray))
    assert count % 256 == 0
    library(name, (count // 256,), (256,), *arguments)


def every(dtype: np.dtype) -> np.ndarray:
    return np.arange(COUNT, dtype=np.uint16).view(dtype)


def same(result: np.ndarray, wanted: np.ndarray) -> bool:
    """Bit for bit, all NaNs alike."""
    nan = np.isnan(result.astype(np.float64)) & np.isnan(wanted.astype(np.float64))
    unsigned = f"u{result.itemsize}"
    return bool(((result.view(unsigned) == wanted.view(unsigned)) | nan).all())


def floats_of_all_sizes(rng: np.random.Generator) -> np.ndarray:
    """Random bits, and for both types the values, the middles between them, and what lies beside the middles."""
    parts = [rng.integers(0, 2**32, COUNT, dtype=np.uint32).view(np.float32)]
    for dtype in TYPES.values():
        values = every(dtype).astype(np.float64)
        values = np.sort(values[np.isfinite(values)])
        middles = ((values[1:] + values[:-1]) / 2).astype(np.float32)
        parts += [
            values.astype(np.float32),
            middles,
            np.nextafter(middles, np.float32(np.inf)),
            np.nextafter(middles, np.float32(0)),
        ]
    joined = np.concatenate(parts)
    return np.resize(joined, -(-joined.size // 256) * 256)


@pytest.mark.parametrize("name", TYPES)
def test_every_value_widens_to_the_same_float(library: Kernels, name: str) -> None:
    result = np.empty(COUNT, np.float32)
    run(library, f"widen_{name}", every(TYPES[name]), result)
    assert same(result, every(TYPES[name]).astype(np.float32))


@pytest.mark.parametrize("name", TYPES)
def test_floats_are_rounded_as_each_mode_says(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    values = floats_of_all_sizes(rng)
    near, zero, down, up = (np.empty(values.size, dtype) for _ in range(4))
    run(library, f"narrow_{name}", values, near, zero, down, up)
    assert same(near, values.astype(dtype))
    ordinary = ~np.isnan(values)
    exact, lower, upper, towards = (x[ordinary].astype(np.float64) for x in (values, down, up, zero))
    assert (lower <= exact).all()
    assert (upper >= exact).all()
    assert np.array_equal(towards, np.where(exact < 0, upper, lower))
    # Neighbours, or the value itself.
    inexact = lower != upper
    assert (exact[~inexact] == lower[~inexact]).all()
    steps = up[ordinary][inexact].view(np.uint16).astype(int) - down[ordinary][inexact].view(np.uint16).astype(int)
    through_zero = (lower[inexact] < 0) & (upper[inexact] >= 0)
    assert (np.abs(steps[~through_zero]) == 1).all()


@pytest.mark.parametrize("name", TYPES)
def test_doubles_and_integers_are_rounded_once(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    values = every(dtype).astype(np.float64)
    values = np.sort(values[np.isfinite(values)])
    middles = (values[1:] + values[:-1]) / 2
    # So close above the middle that a float would be the middle.
    middles = np.resize(middles[middles > 0], COUNT) * (1 + 2.0**-40)
    above = np.sort(values[values > 0])
    wanted = above[np.searchsorted(above, middles)]
    result = np.empty(COUNT, dtype)
    run(library, f"from_double_{name}", middles, result)
    overflows = np.isinf(result.astype(np.float64))
    assert np.array_equal(result.astype(np.float64)[~overflows], wanted[~overflows])
    numbers = (rng.integers(-(2**63), 2**63, COUNT) >> rng.integers(0, 63, COUNT)).astype(np.int64)
    numbers[:512] = (1 << 60) + (1 << 52) + np.arange(-256, 256)
    run(library, f"from_long_{name}", numbers, result)
    for number, given in zip(numbers.tolist(), result.astype(np.float64).tolist(), strict=True):
        assert given == rounded_once(number, name)


INTEGERS = {
    "bool": np.dtype(np.bool_),
    "signed char": np.dtype(np.int8),
    "unsigned char": np.dtype(np.uint8),
    "short": np.dtype(np.int16),
    "unsigned short": np.dtype(np.uint16),
    "int": np.dtype(np.int32),
    "unsigned int": np.dtype(np.uint32),
    "long": np.dtype(np.int64),
    "unsigned long": np.dtype(np.uint64),
    "long long": np.dtype(np.int64),
    "unsigned long long": np.dtype(np.uint64),
}
LEVELS = ["none", "low", "high", "max"]


def rounded_once(number: int, name: str) -> float:
    """The nearest half or bfloat16, halfway cases to even."""
    shift = max(abs(number).bit_length() - (11 if name == "half" else 8), 0)
    rounded = float(round(Fraction(number, 1 << shift)) << shift)
    return float(np.copysign(np.inf, number)) if name == "half" and abs(rounded) > 65504 else rounded


def integers_of_all_sizes(dtype: np.dtype, rng: np.random.Generator) -> list[int]:
    """Small ones, those beside powers of two, and random ones of every length."""
    limits = (0, 1) if dtype == np.bool_ else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
    numbers = set(range(-600, 600)) | {*limits, limits[0] + 1, limits[1] - 1}
    for bits in range(8, 64):
        low, high = 1 << bits, 1 << bits + 1
        beside = {low + offset for offset in (-2, -1, 0, 1, 2, low >> 8, (low >> 8) + 1, low >> 11, (low >> 11) + 1)}
        numbers |= beside | {-number for number in beside} | set(rng.integers(low, high, 8, dtype=np.uint64).tolist())
        numbers |= {-number for number in rng.integers(low, high, 8, dtype=np.uint64).tolist()}
    return sorted(number for number in numbers if limits[0] <= number <= limits[1])


@pytest.mark.parametrize("level", LEVELS)
def test_integers_of_every_width_are_rounded_once(level: str, rng: np.random.Generator) -> None:
    source = "#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>\n" + "".join(
        f"""__global__ void from_{place}(const {c_type}* a, __half* h, __nv_bfloat16* b, int n) {{
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) {{ h[i] = a[i]; b[i] = a[i]; }} }}\n"""
        for place, c_type in enumerate(INTEGERS)
    )
    kernels = Kernels(source, "--level", level, level=0 if level == "none" else 3)
    for place, (c_type, dtype) in enumerate(INTEGERS.items()):
        numbers = integers_of_all_sizes(dtype, rng)
        half, bfloat = np.empty(len(numbers), np.float16), np.empty(len(numbers), BFLOAT)
        kernels(f"from_{place}", (-(-len(numbers) // 64),), (64,), np.array(numbers, dtype), half, bfloat, len(numbers))
        for name, given in (("half", half), ("bfloat16", bfloat)):
            wanted = np.array([rounded_once(number, name) for number in numbers])
            wrong = np.flatnonzero(given.astype(np.float64) != wanted)
            assert not wrong.size, (c_type, name, numbers[wrong[0]], given[wrong[0]], wanted[wrong[0]])


@pytest.mark.parametrize("level", LEVELS)
def test_constants_are_rounded_as_values_are(level: str, rng: np.random.Generator) -> None:
    numbers = []
    for c_type, dtype in INTEGERS.items():
        of_type = integers_of_all_sizes(dtype, rng)
        numbers += [(c_type, of_type[place]) for place in rng.integers(0, len(of_type), 40)]
    # A literal has no sign, and the least number has no literal.
    texts = [
        f"({c_type})(-{-number - 1}LL - 1)" if number < 0 else f"({c_type}){number}ULL" for c_type, number in numbers
    ]
    lines = "".join(f"h[{place}] = {text}; b[{place}] = {text};\n" for place, text in enumerate(texts))
    source = f"""#include <hip/hip_fp16.h>\n#include <hip/hip_bf16.h>
__global__ void constants(__half* h, __nv_bfloat16* b) {{ {lines} }}"""
    half, bfloat = np.empty(len(numbers), np.float16), np.empty(len(numbers), BFLOAT)
    Kernels(source, "--level", level, level=0)("constants", (1,), (1,), half, bfloat)
    for name, given in (("half", half), ("bfloat16", bfloat)):
        wanted = np.array([rounded_once(number, name) for _, number in numbers])
        wrong = np.flatnonzero(given.astype(np.float64) != wanted)
        assert not wrong.size, (name, texts[wrong[0]], given[wrong[0]], wanted[wrong[0]])


@pytest.mark.parametrize("name", TYPES)
def test_integers_come_out_saturated(library: Kernels, name: str) -> None:
    values = every(TYPES[name])
    wide = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30)
    cut, near = np.empty(COUNT, np.int32), np.empty(COUNT, np.int32)
    run(library, f"to_int_{name}", values, cut, near)
    assert np.array_equal(cut, np.clip(np.trunc(wide), -(2**31), 2**31 - 1).astype(np.int32))
    assert np.array_equal(near, np.clip(np.rint(wide), -(2**31), 2**31 - 1).astype(np.int32))


@pytest.mark.parametrize("name", TYPES)
def test_arithmetic_is_correctly_rounded(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    a, b = rng.permutation(every(dtype)), rng.permutation(every(dtype))
    results = [np.empty(COUNT, dtype) for _ in range(4)]
    run(library, f"operate_{name}", a, b, *results)
    x, y = a.astype(np.float64), b.astype(np.float64)
    # In float: exact, or so far from the middle of two results that the second rounding changes nothing.
    wanted = [x + y, x - y, x * y, x / y]
    for result, exact in zip(results, wanted, strict=True):
        assert same(result, exact.astype(np.float32).astype(dtype))


@pytest.mark.parametrize("name", TYPES)
def test_fused_products_are_rounded_once(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    count = 4096
    a, b = (rng.normal(size=count).astype(dtype) for _ in range(2))
    product = a.astype(np.float64) * b.astype(np.float64)
    c = (-product * rng.choice([1, 1 + 2.0**-9, 2.0**-12, 2.0**12, 2.0**-11], count)).astype(dtype)
    result = np.empty(count, dtype)
    run(library, f"fused_{name}", a, b, c, result)
    values = every(dtype).astype(np.float64)
    finite = np.unique(values[np.isfinite(values)])
    for x, y, z, given in zip(a, b, c, result, strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        place = int(np.searchsorted(finite, float(exact)))
        near = finite[max(place - 2, 0) : place + 2]
        distance = abs(Fraction(float(given)) - exact)
        best = min(abs(Fraction(float(value)) - exact) for value in near)
        assert distance == best, (x, y, z, given)
        if sum(abs(Fraction(float(value)) - exact) == best for value in near) == 2:
            assert int(given.view(np.uint16)) & 1 == 0


@pytest.mark.parametrize("name", TYPES)
def test_comparisons_know_nan_and_both_zeros(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    a, b = rng.permutation(every(dtype)), rng.permutation(every(dtype))
    b[:512] = a[:512]
    a[512:514], b[512:514] = np.array([0.0, -0.0], dtype), np.array([-0.0, 0.0], dtype)
    result = np.empty(COUNT, np.int32)
    run(library, f"compare_{name}", a, b, result)
    x, y = a.astype(np.float64), b.astype(np.float64)
    bits = [x < y, x <= y, x == y, x != y, x > y, ~(x >= y), (x < y) | (x > y), x != 0]
    assert np.array_equal(result, sum(bit.astype(np.int32) << place for place, bit in enumerate(bits)))


@pytest.mark.parametrize("name", TYPES)
def test_signs_are_bits(library: Kernels, name: str) -> None:
    values = every(TYPES[name])
    negated, absolute = np.empty_like(values), np.empty_like(values)
    run(library, f"sign_{name}", values, negated, absolute)
    bits = values.view(np.uint16)
    assert same(negated, (bits ^ 0x8000).view(values.dtype))
    assert same(absolute, (bits & 0x7FFF).view(values.dtype))


@pytest.mark.parametrize("name", TYPES)
def test_every_step_of_a_chain_is_rounded(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    a, b = rng.normal(size=COUNT).astype(dtype), rng.normal(size=COUNT).astype(dtype)
    scalar = np.array(1.7, dtype)[()]
    result = np.empty(COUNT, dtype)
    run(library, f"chain_{name}", a, b, result, scalar)
    one = np.array(1, dtype)[()]
    assert same(result, ((a + b) * scalar + one) - one)


@pytest.mark.parametrize("name", TYPES)
def test_functions_are_within_one_rounding_of_the_float_function(library: Kernels, name: str) -> None:
    dtype = TYPES[name]
    values = every(dtype)
    root, inverse, exponential = (np.empty(COUNT, dtype) for _ in range(3))
    run(library, f"functions_{name}", values, root, inverse, exponential)
    wide = values.astype(np.float64)
    assert same(root, np.sqrt(wide).astype(np.float32).astype(dtype))
    assert same(inverse, (1 / wide).astype(np.float32).astype(dtype))
    exact = np.exp(wide).astype(np.float32).astype(dtype)
    ordinary = np.isfinite(exact.astype(np.float64)) & np.isfinite(exponential.astype(np.float64))
    steps = exponential.view(np.int16)[ordinary].astype(int) - exact.view(np.int16)[ordinary].astype(int)
    assert np.abs(steps).max() <= 1


@pytest.mark.parametrize("name", TYPES)
def test_pairs_work_element_by_element(library: Kernels, name: str, rng: np.random.Generator) -> None:
    dtype = TYPES[name]
    a, b = rng.integers(-8, 8, COUNT).astype(dtype), rng.integers(-8, 8, COUNT).astype(dtype)
    result, floats = np.empty(COUNT, dtype), np.empty(COUNT, np.float32)
    library(f"pairs_{name}", (COUNT // 512,), (256,), a, b, result, floats)
    x, y = a.astype(np.float64), b.astype(np.float64)
    wanted = (x * y + (x + y)) + x * y
    assert np.array_equal(result.astype(np.float64), wanted.reshape(-1, 2)[:, ::-1].ravel())
    assert np.array_equal(floats, np.stack([x[0::2], y[1::2]], 1).ravel().astype(np.float32))

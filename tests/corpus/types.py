"""Types and the language around them: halves, bfloat16, integer widths, overloads, lambdas, double."""

from __future__ import annotations

import math

import numpy as np

from corpus.case import Launch, blocks, case

F16, F32, F64, I32 = np.float16, np.float32, np.float64, np.int32


@case(1000, 1, 65)
def half_axpy(n, rng):
    x, y = rng.standard_normal((2, n)).astype(F16)
    # Sums and products of halves are exact enough in float that rounding them again is rounding once.
    expected = F16(1.7) * x + y
    return Launch(blocks(n, 64), 64, (x, y, 1.7, n), {1: expected})


@case(40, 1, 33)
def half2_dot(pairs, rng):
    a, b = rng.standard_normal((2, 16, pairs, 2)).astype(F16)
    expected = (a.astype(F64) * b).sum((1, 2))
    absolute = 2.0**-24 * 2 * pairs * float(np.abs(a.astype(F64) * b).sum((1, 2)).max())
    return Launch(1, 32, (a, b, np.zeros(16, F32), pairs), {2: expected}, absolute=absolute, reason="k eps sum |a||b|")


def bfloat16_bits(values):
    """Rounds floats to the nearest bfloat16, ties to even; gives the bits."""
    bits = np.asarray(values, F32).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))) >> np.uint32(16)).astype(np.uint16)


def from_bfloat16(bits):
    """The floats that bits of bfloat16 stand for."""
    return (bits.astype(np.uint32) << np.uint32(16)).view(F32)


@case(1000, 1, 65)
def bfloat16_round(n, rng):
    values = (rng.standard_normal(n) * 10.0 ** rng.integers(-5, 6, n)).astype(F32)
    rounded = bfloat16_bits(values)
    doubled = from_bfloat16(bfloat16_bits(from_bfloat16(rounded) * F32(2)))
    expected = from_bfloat16(bfloat16_bits(doubled + F32(1)))
    return Launch(blocks(n, 64), 64, (values, np.zeros(n, np.uint16), np.zeros(n, F32), n), {1: rounded, 2: expected})


@case(20, 1, 9)
def half_gemm(n, rng):
    a, b = rng.standard_normal((2, n, n)).astype(F16)
    arguments = (a, b, np.zeros_like(a), n)
    reason = "the result has 11 bits"
    expected = {2: a.astype(F64) @ b}
    return Launch((blocks(n, 8),) * 2, (8, 8), arguments, expected, relative=2.0**-11, absolute=1e-5, reason=reason)


@case(300, 1, 65)
def integer_widths(n, rng):
    a, b = rng.integers(-(2**63), 2**63, (2, n))
    dtypes = (np.int8, np.uint8, np.int16, np.uint16, I32, np.uint32, np.int64, np.uint64)

    def cut(value, dtype):
        bits = 8 * np.dtype(dtype).itemsize
        value &= (1 << bits) - 1
        return value - (1 << bits) if np.dtype(dtype).kind == "i" and value >> (bits - 1) else value

    def stirred(x, y, dtype):
        x, y = cut(x, dtype), cut(y, dtype)
        product = cut(x * y, dtype)
        return cut(cut(product >> 3, dtype) + x - (y ^ product), dtype)

    results = [np.array([stirred(int(x), int(y), dtype) for x, y in zip(a, b, strict=True)], dtype) for dtype in dtypes]
    outputs = [np.full(n, 77, dtype) for dtype in dtypes]
    return Launch(blocks(n, 64), 64, (a, b, *outputs, n), dict(enumerate(results, 2)))


@case(16)
def overload_set(count, rng):
    defaults = (1 + 30 + 400) + (1 + 2 + 400) + (1 + 2 + 3)
    expected = [1, 2, 3, 4, 5, 6, 8, 15, 1, 1, 100, 200, 100, defaults, 50, 4]
    return Launch(1, 1, (np.zeros(count, I32),), {0: expected})


@case(300, 1, 65)
def lambda_pipeline(n, rng):
    values = rng.integers(-(2**31), 2**31, n).astype(I32)
    scale = 5
    out, calls = [], []
    for i, value in enumerate(values.tolist()):
        x, times = value, value & 7
        for _ in range(times):
            x = ((x * scale + 1) + 2**31) % 2**32 - 2**31
            x ^= x >> 3
        out.append((x + i + 2 * scale + 2**31) % 2**32 - 2**31)
        calls.append(times + 3)
    arguments = (values, np.zeros(n, I32), np.full(n, -1, I32), scale, n)
    # The lambda captures by reference, and a copy of it counts into the same variable.
    expected = {1: out, 2: calls}
    return Launch(blocks(n, 64), 64, arguments, expected)


@case((100, 30), (1, 1), (65, 7))
def double_series(size, rng):
    n, length = size
    terms = rng.standard_normal((length, n)) * 10.0 ** rng.integers(-12, 12, (length, n))
    plain = np.zeros(n)
    for row in terms:
        plain = plain + row
    exact = [math.fsum(column) for column in terms.T]
    arguments = (terms, np.zeros(n), np.zeros(n), length, n)
    reason = "compensated sums lose a unit in the last place of the largest partial sum squared away"
    return Launch(blocks(n, 64), 64, arguments, {1: exact, 2: plain}, relative=1e-15, absolute=1e-15, reason=reason)

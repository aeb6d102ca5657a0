"""The language beyond C: packs, specialisations, inheritance, unions, bindings, variables of modules, whole programs."""

from __future__ import annotations

import math

import numpy as np

from corpus.case import Launch, blocks, case

F32, I32, I64, U32 = np.float32, np.int32, np.int64, np.uint32


def wrapped(values, bits=32):
    """Two's complement numbers of so many bits."""
    return (values + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)


@case(300, 1, 65)
def constant_taps(n, rng):
    values, taps = rng.integers(-1000, 1000, n, dtype=I32), rng.integers(-9, 10, 9, dtype=I32)
    expected = np.clip(np.convolve(np.pad(values, 4), taps[::-1], "valid") >> 2, -2000, 2000)
    variables = {"taps": taps, "settings": np.array([2, 2000], I32).view(np.uint8)}
    arguments = (values, np.full(n, -9999, I32), n)
    return Launch(blocks(n, 64), 64, arguments, {1: expected}, variables=variables)


@case(300, 1, 65)
def device_counters(n, rng):
    values = rng.integers(0, 2**32, n, dtype=U32)
    variables = {"total": np.array(1000, np.uint64), "counts": np.zeros(4, U32)}
    after = {"total": [1000 + values.sum(dtype=np.uint64)], "counts": np.bincount(values & 3, minlength=4)}
    return Launch(blocks(n, 64), 64, (values, n), {}, variables=variables, expected_variables=after)


@case(300, 1, 65)
def parameter_packs(n, rng):
    values = rng.integers(-(2**31), 2**31, n)
    place = np.arange(n)
    expected = np.stack(
        [
            values + wrapped(values, 16) + values % 256 + 7,
            np.maximum(np.maximum(values, (-np.sign(values) * (np.abs(values) // 2))), 12345),
            wrapped((values ^ place) - 3),
            values,
        ],
        1,
    )
    values[values == -(2**31)] = 0
    return Launch(blocks(n, 64), 64, (values.astype(I32), np.zeros((n, 4), I64), n), {1: expected})


@case(300, 1, 65)
def partial_specialisations(n, rng):
    values = rng.integers(0, 2**32, n, dtype=U32)
    expected = np.stack([values**5 + U32(1), np.full(n, 208, U32), values**3], 1)
    return Launch(blocks(n, 64), 64, (values, np.zeros((n, 3), U32), n), {1: expected})


@case(300, 1, 65)
def static_inheritance(n, rng):
    sides = rng.integers(-1000, 1000, n, dtype=I32)
    expected = np.stack([2 * sides * np.arange(1, n + 1), 4 * sides**2, 4 * sides], 1)
    return Launch(blocks(n, 64), 64, (sides, np.full((n, 3), -7, I32), n), {1: expected})


@case(300, 1, 65)
def unions_and_bit_fields(n, rng):
    values, pixels = rng.standard_normal(n).astype(F32), rng.integers(0, 2**24, n, dtype=U32)
    bits = values.view(U32)
    expected = np.stack([bits >> U32(23) & U32(255), bits >> U32(24), bits & U32(0x7FFFFFFF), np.full(n, 42, U32)], 1)
    red, green, blue = pixels >> U32(19) & U32(31), pixels >> U32(10) & U32(63), pixels >> U32(3) & U32(31)
    colours = (red | green << U32(5) | blue << U32(11)).astype(np.uint16)
    arguments = (values, pixels, np.zeros((n, 4), U32), np.zeros(n, np.uint16), n)
    return Launch(blocks(n, 64), 64, arguments, {2: expected, 3: colours})


@case(300, 1, 65)
def bindings_and_guards(n, rng):
    values = rng.integers(0, 10000, n, dtype=I32)
    q, r = values // 10, values % 10
    # The answer is taken before the guards end: one for the outer, and for each turn one more and ten for those before it.
    turns = np.minimum(r, 3)
    answer = np.where(r < 3, 1 + 11 * turns + 1, -(1 + 33))
    depth = np.where(r < 3, 1 + 11 * (turns + 1), 1 + 33) + 10
    expected = np.stack([q * 100 + r, answer, depth, sum(q % p for p in (2, 3, 5, 7))], 1)
    return Launch(blocks(n, 64), 64, (values, np.full((n, 4), -7, I32), n), {1: expected})


@case(300, 1, 65)
def fixed_point(n, rng):
    raw = rng.integers(-(3 << 16), 3 << 16, n)
    total = np.zeros(n, I64)
    for k in range(3, -1, -1):
        total = (total * raw >> 16) + ((k - 1) << 16)
    divisor = np.abs(raw) + (1 << 16)
    quotient = np.sign(total) * ((np.abs(total) << 16) // divisor)
    expected = np.stack([quotient, quotient >> 16], 1)
    return Launch(blocks(n, 64), 64, (raw.astype(I32), np.full((n, 2), 7, I32), n), {1: expected})


@case(300, 1, 65)
def whole_program(n, rng):
    values = rng.integers(1, 1000, n, dtype=I32)
    return Launch(blocks(n, 64), 64, (values, np.zeros(n, I32), n, 3), {1: np.roll(values, 3)})


@case(300, 1, 65)
def hexadecimal(n, rng):
    data = rng.integers(0, 256, n, dtype=np.uint8)
    expected = np.frombuffer(data.tobytes().hex().encode(), np.int8)
    return Launch(blocks(n, 64), 64, (data, np.zeros(2 * n, np.int8), n), {1: expected})


@case(300, 1, 129)
def cuda_spellings(n, rng):
    values = rng.standard_normal((n, 4)).astype(F32)
    staged = np.zeros(blocks(n, 128) * 128, F32)
    staged[:n] = values[:, 0] * values[:, 1] + values[:, 2] * values[:, 3]
    partner = staged.reshape(-1, 2)[:, ::-1].ravel()
    expected = (np.clip(partner, 0, 1) + np.abs(staged))[:n]
    return Launch(blocks(n, 128), 128, (values, np.full(n, -1, F32), n), {1: expected})


@case(300, 1, 65)
def checked_square_roots(n, rng):
    values = rng.integers(0, 2**31, n)
    values[0] = 2**31 - 1
    if n > 1:
        values[1] = -5
    expected = [math.isqrt(value) if value >= 0 else -1 for value in values.tolist()]
    return Launch(blocks(n, 64), 64, (values.astype(I32), np.full(n, -9, I32), n), {1: expected})

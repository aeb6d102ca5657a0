"""The first kernels of the project, used by other tests as well; their files stand directly in tests/kernels."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32 = np.float32


def fma(a, b, c):
    """`a * b + c` with one rounding: the product of two floats is exact in double."""
    return (np.float64(a) * np.float64(b) + np.float64(c)).astype(F32)


@case(5000, 1, 257)
def vector_add(n, rng):
    a, b = rng.standard_normal((2, n)).astype(F32)
    return Launch(blocks(n, 256), 256, (a, b, np.zeros(n, F32), n), {2: a + b})


@case(5000, 1, 255)
def saxpy(n, rng):
    x, y = rng.standard_normal((2, n)).astype(F32)
    return Launch(blocks(n, 256), 256, (1.7, x, y, n), {2: fma(F32(1.7), x, y)})


@case((37, 91), (1, 1), (16, 8))
def two_dimensional_map(size, rng):
    width, height = size
    values = rng.standard_normal((width, height)).astype(F32)
    grid = (blocks(width, 16), blocks(height, 8))
    arguments = (values, np.zeros((height, width), F32), width, height)
    return Launch(grid, (16, 8), arguments, {1: 2 * values.T}, kernel="transpose_scaled")


@case(3000, 1, 256)
def block_reduction(n, rng):
    values = rng.random(n, dtype=F32)
    count = blocks(n, 256)
    padded = np.zeros(count * 256)
    padded[:n] = values
    partial = padded.reshape(count, 256).sum(1)
    return Launch(
        count,
        256,
        (values, np.zeros(count, F32), np.zeros(1, F32), n),
        {1: partial, 2: [partial.sum()]},
        relative=1e-5,
        reason="sums of positive numbers, eight levels of a tree, then the blocks in any order",
        order_dependent="the total is added up by float atomics",
    )


@case(1000, 1, 128)
def inclusive_scan(n, rng):
    values = rng.integers(-1000, 1000, n, dtype=np.int32)
    count = blocks(n, 128)
    padded = np.zeros(count * 128, np.int32)
    padded[:n] = values
    expected = padded.reshape(count, 128).cumsum(1, dtype=np.int32).ravel()[:n]
    return Launch(count, 128, (values, np.zeros(n, np.int32), n), {1: expected}, shared_bytes=2 * 4 * 128)


@case(8, 1)
def bitonic_sort(count, rng):
    values = rng.integers(0, 2**32, count * 128, dtype=np.uint32)
    expected = np.sort(values.reshape(count, 128), axis=1)
    return Launch(count, 128, (values,), {0: expected}, shared_bytes=4 * 128)


@case(4000, 1, 129)
def black_scholes(n, rng):
    price, strike = rng.uniform(5, 30, (2, n)).astype(F32)
    years = rng.uniform(0.25, 10, n).astype(F32)
    rate, volatility = 0.02, 0.3

    def distribution(x):
        k = 1 / (1 + 0.2316419 * np.abs(x))
        terms = (0.31938153, -0.356563782, 1.781477937, -1.821255978, 1.330274429)
        tail = 0.3989422804 * np.exp(-0.5 * x * x) * sum(term * k ** (power + 1) for power, term in enumerate(terms))
        return np.where(x > 0, 1 - tail, tail)

    p, s, t = (values.astype(np.float64) for values in (price, strike, years))
    d1 = (np.log(p / s) + (rate + 0.5 * volatility**2) * t) / (volatility * np.sqrt(t))
    d2 = d1 - volatility * np.sqrt(t)
    discounted = s * np.exp(-rate * t)
    call = p * distribution(d1) - discounted * distribution(d2)
    put = discounted * distribution(-d2) - p * distribution(-d1)
    zeros = np.zeros(n, F32)
    return Launch(
        7,
        128,
        (zeros, zeros.copy(), price, strike, years, rate, volatility, n),
        {0: call, 1: put},
        absolute=3e-5,
        reason="differences of prices up to 30, each of about ten roundings of float32",
    )


@case(700, 1, 128)
def collatz(n, rng):
    start = rng.integers(1, 1_000_000, n, dtype=np.uint32)

    def count(value):
        done = 0
        while value != 1:
            value = value // 2 if value % 2 == 0 else 3 * value + 1
            done += 1
        return done

    expected = [count(int(value)) for value in start]
    return Launch(blocks(n, 128), 128, (start, np.zeros(n, np.int32), n), {1: expected})


@case((150, 70), (1, 1), (17, 33))
def mandelbrot(size, rng):
    width, height = size
    left, top, step, limit = -2.0, -1.0, 0.02, 64
    cx = fma(np.arange(width, dtype=F32), F32(step), F32(left))[None, :].repeat(height, 0)
    cy = fma(np.arange(height, dtype=F32), F32(step), F32(top))[:, None].repeat(width, 1)
    x, y, counts = np.zeros_like(cx), np.zeros_like(cx), np.zeros(cx.shape, np.int32)
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(limit):
            active = fma(x, x, y * y) < 4
            following = (fma(x, x, -(y * y)) + cx).astype(F32)
            y = np.where(active, fma(F32(2) * x, y, cy), y)
            x = np.where(active, following, x)
            counts += active
    grid = (blocks(width, 16), blocks(height, 16))
    arguments = (np.zeros((height, width), np.int32), width, height, left, top, step, limit)
    return Launch(grid, (16, 16), arguments, {0: counts})


@case(300, 1, 65)
def n_body(n, rng):
    bodies = rng.uniform(-1, 1, (n, 4)).astype(F32)
    position, mass = bodies[:, :3].astype(np.float64), bodies[:, 3].astype(np.float64)
    apart = position[None] - position[:, None]
    cubed = ((apart**2).sum(-1) + F32(0.01)) ** -1.5
    expected = np.zeros((n, 4))
    expected[:, :3] = (apart * (mass[None] * cubed)[..., None]).sum(1)
    return Launch(
        blocks(n, 64),
        64,
        (bodies, np.zeros_like(bodies), n, 0.01),
        {1: expected},
        absolute=2e-5 * max(1.0, float(np.abs(apart * cubed[..., None]).sum(1).max())),
        reason="terms that cancel in part: the error is that of the largest sum of magnitudes",
    )


@case(3000, 1, 777)
def shared_histogram(n, rng):
    values = rng.integers(0, 256, n, dtype=np.uint8)
    arguments = (values, np.zeros(256, np.uint32), n)
    return Launch(3, 256, arguments, {1: np.bincount(values, minlength=256)})


@case((9, 300), (1, 1), (2, 128))
def softmax_rows(size, rng):
    rows, columns = size
    values = (rng.standard_normal((rows, columns)) * 5).astype(F32)
    powers = np.exp(values.astype(np.float64) - values.max(1, keepdims=True))
    return Launch(
        rows,
        128,
        (values, np.zeros_like(values), columns),
        {1: powers / powers.sum(1, keepdims=True)},
        relative=1e-5,
        reason="two exponentials of one unit each and the rounding of differences up to 40",
    )


@case((100, 50), (1, 1), (17, 9))
def stencil_halo(size, rng):
    width, height = size
    values = rng.random((height, width), dtype=F32)
    wide = np.pad(values.astype(np.float64), 1, mode="edge")
    around = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:]
    grid = (blocks(width, 16), blocks(height, 8))
    arguments = (values, np.zeros_like(values), width, height)
    expected = {1: (around + values) / 5}
    return Launch(grid, (16, 8), arguments, expected, absolute=4e-7, reason="five additions of numbers below 1")


@case((50, 40, 30), (1, 1, 1), (17, 16, 33))
def tiled_gemm(size, rng):
    m, n, k = size
    a, b = rng.standard_normal((m, k)).astype(F32), rng.standard_normal((k, n)).astype(F32)
    expected = a.astype(np.float64) @ b
    return Launch(
        (blocks(n, 16), blocks(m, 16)),
        (16, 16),
        (a, b, np.zeros((m, n), F32), m, n, k),
        {2: expected},
        absolute=float(k * 2.0**-24 * (np.abs(a) @ np.abs(b)).max()),
        reason="k eps sum |a||b| (Higham, section 3.5)",
    )


@case((50, 37), (1, 1), (16, 17))
def tiled_transpose(size, rng):
    width, height = size
    values = rng.standard_normal((height, width)).astype(F32)
    grid = (blocks(width, 16), blocks(height, 16))
    arguments = (values, np.zeros((width, height), F32), width, height)
    return Launch(grid, (16, 16), arguments, {1: values.T})

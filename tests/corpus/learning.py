"""Finance, clustering, optimisers, layers of networks."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64, I32 = np.float32, np.float64, np.int32


@case((6, 100), (1, 1), (2, 33))
def binomial_options(size, rng):
    count, steps = size
    prices, strikes = rng.uniform(20, 30, (2, count)).astype(F32)
    up, probability, discount = F32(1.02), F32(0.505), F32(0.9995)
    u, p, d = float(up), float(probability), float(discount)
    expected = []
    for price, strike in zip(prices.astype(F64), strikes.astype(F64), strict=True):
        level = np.maximum(strike - price * u ** (2.0 * np.arange(steps + 1) - steps), 0)
        for step in range(steps - 1, -1, -1):
            held = d * (p * level[1:] + (1 - p) * level[:-1])
            level = np.maximum(held, strike - price * u ** (2.0 * np.arange(step + 1) - step))
        expected.append(level[0])
    arguments = (prices, strikes, np.full(count, -1, F32), steps, up, probability, discount)
    reason = "a rounding for each step of prices up to 30"
    return Launch(count, 128, arguments, {2: expected}, absolute=2e-4, reason=reason)


@case((300, 7), (1, 1), (65, 3))
def kmeans_assign(size, rng):
    n, k = size
    # Whole numbers, so that distances are exact and ties go to the first centre.
    points, centres = (rng.integers(-20, 20, (count, 3)).astype(F32) for count in (n, k))
    labels = ((points[:, None] - centres[None]) ** 2).sum(-1).argmin(1)
    arguments = (points.T.copy(), centres, np.full(n, -1, I32), np.zeros(k, np.uint32), k, n)
    expected = {2: labels, 3: np.bincount(labels, minlength=k)}
    return Launch(blocks(n, 64), 64, arguments, expected, kernel="kmeans_assign<3>", shared_bytes=4 * 3 * k)


@case((60, 200), (1, 1), (33, 4))
def nearest_neighbours(size, rng):
    n, count = size
    points, queries = rng.integers(-1000, 1000, (count, 2), dtype=I32), rng.integers(-1000, 1000, (n, 2), dtype=I32)
    distances = ((queries[:, None].astype(np.int64) - points[None]) ** 2).sum(-1)
    order = np.argsort(distances, axis=1, kind="stable")[:, :5]
    expected = np.full((n, 5), -1)
    expected[:, : order.shape[1]] = order
    return Launch(blocks(n, 32), 32, (points, queries, np.full((n, 5), -9, I32), count, n), {2: expected})


@case((9, 150), (1, 1), (2, 65))
def matrix_quantise(size, rng):
    rows, columns = size
    values = rng.standard_normal(size).astype(F32)
    values[-1] = 0 if rows > 1 else 5
    scales = (np.abs(values).max(1) / F32(127)).astype(F32)
    with np.errstate(invalid="ignore"):
        scaled = np.where(scales[:, None] == 0, 0, values / scales[:, None])
    expected = {1: np.rint(scaled).clip(-127, 127).astype(np.int8), 2: scales}
    return Launch(rows, 64, (values, np.full(size, 99, np.int8), np.full(rows, -1, F32), columns), expected)


@case(1000, 1, 129)
def adam_step(n, rng):
    weights, gradients, first = rng.standard_normal((3, n)).astype(F32)
    second = rng.random(n, dtype=F32)
    settings = np.array(
        (1e-3, 0.9, 0.999, 1e-8, 0.01), np.dtype([(name, F32) for name in ("rate", "b1", "b2", "eps", "wd")])
    )[()]
    rate, beta1, beta2, epsilon, decay = (float(value) for value in settings)
    power1, power2 = F32(0.5), F32(0.25)
    g = gradients.astype(F64)
    m, v = beta1 * first + (1 - beta1) * g, beta2 * second + (1 - beta2) * g * g
    moved = weights - rate * (m / (1 - power1) / (np.sqrt(v / (1 - power2)) + epsilon) + decay * weights)
    arguments = (weights, gradients, first, second, settings, power1, power2, n)
    expected = {0: moved, 2: m, 3: v}
    return Launch(
        3, 64, arguments, expected, relative=1e-6, absolute=2e-7, reason="a dozen roundings, 1 - beta cancels"
    )


@case((4, 100), (1, 1), (3, 33))
def sgd_momentum(size, rng):
    groups, length = size
    weights, gradients, velocity = rng.standard_normal((3, groups, length))
    gradients[0] *= 1e-3
    norm = np.sqrt((gradients**2).sum(1, keepdims=True))
    g = np.where(norm > 1, gradients / norm, gradients)
    v = 0.9 * velocity + g
    arguments = (weights, gradients, velocity, 0.1, 0.9, 1.0, length)
    expected = {0: weights - 0.1 * (g + 0.9 * v), 2: v}
    return Launch(groups, 128, arguments, expected, shared_bytes=8 * 128, absolute=1e-14, reason="order of the sum")


@case((20, 13, 3), (2, 2, 1), (9, 33, 2))
def max_pooling(size, rng):
    width, height, channels = size
    values = rng.integers(-9, 10, (channels, height, width)).astype(F32)
    new_width, new_height = width // 2, height // 2
    windows = values[:, : 2 * new_height, : 2 * new_width].reshape(channels, new_height, 2, new_width, 2)
    windows = windows.transpose(0, 1, 3, 2, 4).reshape(channels, new_height, new_width, 4)
    shape = (channels, new_height, new_width)
    arguments = (values, np.zeros(shape, F32) + 99, np.full(shape, 9, np.uint8), width, height)
    grid = (blocks(new_width, 8), blocks(new_height, 4), channels)
    return Launch(grid, (8, 4), arguments, {1: windows.max(-1), 2: windows.argmax(-1)})


@case((20, 13, 4), (1, 1, 1), (9, 5, 2))
def convolution_2d(size, rng):
    width, height, channels = size
    values = rng.integers(-50, 50, (3, height, width), dtype=I32)
    filters = rng.integers(-9, 10, (channels, 3, 3, 3), dtype=I32)
    wide = np.pad(values, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), (1, 2))
    expected = np.maximum(np.einsum("chwvu,ocvu->ohw", windows, filters), 0)
    arguments = (values, filters, np.full((channels, height, width), -1, I32), width, height)
    grid = (blocks(width, 8), blocks(height, 8), channels)
    return Launch(grid, (8, 8), arguments, {2: expected}, kernel="convolution_2d<3>")

"""What random numbers should be: Philox after its paper, distribution functions, and tests of fit."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# Kolmogorov's distribution: sqrt(n) * distance is above this once in 10,000 samples. Seeds are fixed: tests that pass go on passing.
KOLMOGOROV = 2.2252
# Standard normal quantile of the same chance, one-sided.
NORMAL_QUANTILE = 3.719


def philox(counter: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """The blocks of counters (n, 4) as (n, 4) words: Salmon et al. 2011, section 4.3."""
    words = [counter[:, place].astype(np.uint64) for place in range(4)]
    low, high = (np.uint64(part) for part in key)
    mask, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            (second >> half) ^ words[1] ^ low,
            second & mask,
            (first >> half) ^ words[3] ^ high,
            first & mask,
        ]
        low, high = (low + np.uint64(0x9E3779B9)) & mask, (high + np.uint64(0xBB67AE85)) & mask
    return np.stack(words, axis=1).astype(np.uint32)


def stream_words(key: int, count: int, jumps: int = 0) -> np.ndarray:
    """The first words of a generator."""
    blocks = np.arange(-(-count // 4), dtype=np.uint64)
    counter = np.zeros((len(blocks), 4), np.uint32)
    counter[:, 0], counter[:, 1] = blocks & np.uint64(0xFFFFFFFF), blocks >> np.uint64(32)
    counter[:, 3] = jumps
    return philox(counter, (key & 0xFFFFFFFF, key >> 32)).ravel()[:count]


def normal_cdf(x: np.ndarray) -> np.ndarray:
    return np.array([0.5 * math.erfc(-one / math.sqrt(2)) for one in x])


def integrated(
    density: Callable[[np.ndarray], np.ndarray], low: float, high: float
) -> Callable[[np.ndarray], np.ndarray]:
    """The distribution function of a density, by the trapezoidal rule in the logarithm of its argument."""
    grid = np.exp(np.linspace(math.log(low), math.log(high), 400_001))
    values = density(grid) * grid
    steps = (values[1:] + values[:-1]) / 2 * np.diff(np.log(grid))
    sums = np.concatenate([[0.0], np.cumsum(steps)])
    sums /= sums[-1]
    return lambda x: np.interp(x, grid, sums)


def gamma_cdf(shape: float, scale: float = 1.0) -> Callable[[np.ndarray], np.ndarray]:
    def density(x: np.ndarray) -> np.ndarray:
        return np.exp((shape - 1) * np.log(x) - x - math.lgamma(shape))

    whole = integrated(density, 1e-40 if shape < 1 else 1e-12, shape + 60 + 12 * math.sqrt(shape))
    return lambda x: whole(x / scale)


def beta_cdf(a: float, b: float) -> Callable[[np.ndarray], np.ndarray]:
    """By the integral over the logit, where the density has no poles."""
    grid = np.linspace(-80.0, 80.0, 400_001)
    size = np.abs(grid)
    log_x = np.minimum(grid, 0) - np.log1p(np.exp(-size))
    values = np.exp(a * log_x + b * (log_x - grid) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    sums = np.concatenate([[0.0], np.cumsum((values[1:] + values[:-1]) / 2 * np.diff(grid))])
    sums /= sums[-1]
    return lambda x: np.interp(np.log(x) - np.log1p(-x), grid, sums)


def kolmogorov_distance(sample: np.ndarray, cdf: Callable[[np.ndarray], np.ndarray]) -> float:
    """sqrt(n) times the largest distance of the empirical distribution function."""
    values = cdf(np.sort(sample))
    count = len(values)
    steps = np.arange(count + 1) / count
    distance = max(float(np.max(steps[1:] - values)), float(np.max(values - steps[:-1])))
    return distance * math.sqrt(count)


def chi_square_limit(degrees: int) -> float:
    """Above this once in 10,000 samples (Wilson and Hilferty 1931)."""
    part = 2 / (9 * degrees)
    return float(degrees * (1 - part + NORMAL_QUANTILE * math.sqrt(part)) ** 3)


def chi_square(observed: np.ndarray, expected: np.ndarray) -> tuple[float, int]:
    """The statistic and its degrees of freedom; neighbours are joined until each cell expects 10."""
    cells: list[list[float]] = [[0.0, 0.0]]
    for seen, wanted in zip(observed, expected, strict=True):
        if cells[-1][1] >= 10:
            cells.append([0.0, 0.0])
        cells[-1][0] += float(seen)
        cells[-1][1] += float(wanted)
    if len(cells) > 1 and cells[-1][1] < 10:
        seen, wanted = cells.pop()
        cells[-1][0] += seen
        cells[-1][1] += wanted
    statistic = sum((seen - wanted) ** 2 / wanted for seen, wanted in cells)
    return statistic, len(cells) - 1


def check_counts(sample: np.ndarray, probability: Callable[[int], float]) -> None:
    """A sample of whole numbers against their probabilities."""
    low, high = int(sample.min()), int(sample.max())
    numbers = range(low, high + 1)
    expected = np.array([probability(number) for number in numbers]) * len(sample)
    # What lies outside of the sample belongs to its ends.
    rest = len(sample) - expected.sum()
    expected[-1] += max(rest, 0)
    statistic, degrees = chi_square(np.bincount(sample - low, minlength=len(expected)), expected)
    assert statistic < chi_square_limit(degrees), (statistic, degrees)


def poisson_probability(mean: float) -> Callable[[int], float]:
    return lambda k: math.exp(k * math.log(mean) - mean - math.lgamma(k + 1))


def binomial_probability(n: int, p: float) -> Callable[[int], float]:
    def probability(k: int) -> float:
        choices = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(choices + k * math.log(p) + (n - k) * math.log1p(-p))

    return probability


def bits_of(values: Any) -> np.ndarray:
    """The bits of an array, wherever it lies."""
    host = np.ascontiguousarray(values.numpy() if hasattr(values, "numpy") else values)
    return host.view(f"u{host.dtype.itemsize}")

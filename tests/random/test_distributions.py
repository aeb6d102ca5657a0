"""Random numbers against their distributions: Kolmogorov-Smirnov, chi-square, moments. Seeds are fixed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import amdgpu
import numpy as np
import pytest
import random_oracle as oracle
from amdgpu.random import default_rng

COUNT = 100_000

CONTINUOUS: tuple[tuple[str, tuple[float, ...], Callable[[np.ndarray], np.ndarray]], ...] = (
    ("uniform", (-1.0, 3.0), lambda x: (x + 1) / 4),
    ("normal", (2.0, 0.5), lambda x: oracle.normal_cdf((x - 2) / 0.5)),
    ("exponential", (3.0,), lambda x: -np.expm1(-x / 3)),
    ("gamma", (0.3, 1.0), oracle.gamma_cdf(0.3)),
    ("gamma", (1.0, 2.0), oracle.gamma_cdf(1.0, 2.0)),
    ("gamma", (7.5, 1.0), oracle.gamma_cdf(7.5)),
    ("gamma", (500.0, 1.0), oracle.gamma_cdf(500.0)),
    ("beta", (0.2, 0.3), oracle.beta_cdf(0.2, 0.3)),
    ("beta", (2.0, 5.0), oracle.beta_cdf(2.0, 5.0)),
)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    ("name", "parameters", "cdf"), CONTINUOUS, ids=lambda one: str(one) if not callable(one) else ""
)
def test_continuous_distributions(
    name: str, parameters: Any, cdf: Callable[[np.ndarray], np.ndarray], dtype: str
) -> None:
    sample = getattr(default_rng(20), name)(*parameters, size=COUNT, dtype=dtype).numpy().astype(np.float64)
    inside = np.clip(sample, 1e-300, 1 - 2.0**-53) if name == "beta" else sample
    assert oracle.kolmogorov_distance(inside, cdf) < oracle.KOLMOGOROV


@pytest.mark.parametrize("mean", [0.05, 1.0, 9.9, 10.0, 35.0, 2500.0])
def test_poisson(mean: float) -> None:
    oracle.check_counts(default_rng(21).poisson(mean, COUNT).numpy(), oracle.poisson_probability(mean))


@pytest.mark.parametrize(
    ("n", "p"), [(1, 0.4), (10, 0.05), (25, 0.39), (25, 0.41), (30, 0.9), (200, 0.5), (10_000, 0.002), (5000, 0.77)]
)
def test_binomial(n: int, p: float) -> None:
    oracle.check_counts(default_rng(22).binomial(n, p, COUNT).numpy(), oracle.binomial_probability(n, p))


@pytest.mark.parametrize(
    ("low", "high", "dtype"), [(0, 7, "int64"), (-5, 95, "int8"), (0, 1000, "uint16"), (2**40, 2**40 + 13, "int64")]
)
def test_integers_are_equally_likely(low: int, high: int, dtype: str) -> None:
    sample = default_rng(23).integers(low, high, COUNT, dtype=dtype).numpy().astype(np.int64)
    assert sample.min() >= low
    assert sample.max() < high
    oracle.check_counts(sample - low, lambda _: 1 / (high - low))


@pytest.mark.parametrize("span", [3 << 30, 3 << 62])
def test_integers_of_spans_that_do_not_divide_the_words_are_unbiased(span: int) -> None:
    sample = default_rng(24).integers(0, span, COUNT, dtype="uint64").numpy()
    thirds = (sample // np.uint64(span // 3)).astype(np.int64)
    oracle.check_counts(thirds, lambda _: 1 / 3)


def test_moments_of_large_samples() -> None:
    normal = default_rng(25).standard_normal(2_000_000, dtype="float32").numpy().astype(np.float64)
    # Five standard errors of each moment: variances 1, 2, 15, 96 over the count.
    for power, (mean, variance) in enumerate(((0, 1), (1, 2), (0, 15), (3, 96)), 1):
        assert abs((normal**power).mean() - mean) < 5 * math.sqrt(variance / len(normal))
    assert np.abs(normal).max() > 4.8
    assert abs(np.corrcoef(normal[::2], normal[1::2])[0, 1]) < 5 / math.sqrt(len(normal) / 2)


def test_extremes_of_parameters() -> None:
    rng = default_rng(26)
    assert (rng.gamma(0.0, size=100).numpy() == 0).all()
    tiny = rng.gamma(1e-3, size=1000).numpy()
    assert (tiny >= 0).all()
    assert (tiny == 0).any()
    edges = rng.beta(1e-3, 1e-3, 1000).numpy()
    assert ((edges >= 0) & (edges <= 1)).all()
    assert 400 < (edges > 0.5).sum() < 600
    assert (rng.poisson(0.0, 100).numpy() == 0).all()
    assert (rng.binomial(0, 0.5, 100).numpy() == 0).all()
    assert (rng.binomial(100, [0.0, 1.0], (50, 2)).numpy() == [0, 100]).all()
    large = rng.poisson(1e12, 1000).numpy()
    assert abs(large.mean() - 1e12) < 5 * 1e6 / math.sqrt(1000)
    assert rng.bernoulli(0.0, 1000).numpy().sum() == 0
    assert rng.bernoulli(1.0, 1000).numpy().sum() == 1000
    assert abs(int(rng.bernoulli(0.25, COUNT).numpy().sum()) - COUNT / 4) < 5 * math.sqrt(COUNT * 3 / 16)


def test_narrow_uniform_numbers_stay_below_one() -> None:
    for dtype, steps in (("float16", 2048), ("bfloat16", 256)):
        sample = default_rng(27).random(COUNT, dtype=dtype).numpy().astype(np.float64)
        assert sample.max() == (steps - 1) / steps
        assert sample.min() == 0
        oracle.check_counts((sample * steps).astype(np.int64), lambda _, steps=steps: 1 / steps)


def test_permutations_are_equally_likely() -> None:
    rng = default_rng(28)
    rank = {
        order: place for place, order in enumerate([(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
    }
    seen = np.array([rank[tuple(rng.permutation(3).tolist())] for _ in range(3000)])
    oracle.check_counts(seen, lambda _: 1 / 6)


def test_permutation_and_shuffle_move_parts_along_an_axis() -> None:
    x = np.arange(24).reshape(2, 12)
    moved = default_rng(1).permutation(x, axis=1)
    assert (np.sort(moved, axis=1) == x).all()
    assert (moved != x).any()
    assert (moved[1] - moved[0] == 12).all()
    held = amdgpu.array(x, device="cpu:0")
    assert default_rng(1).permutation(held, axis=1).tolist() == moved.tolist()
    default_rng(1).shuffle(held, axis=1)
    assert held.tolist() == moved.tolist()
    default_rng(1).shuffle(x, axis=1)
    assert (x == moved).all()
    assert sorted(default_rng(1).permutation(100).tolist()) == list(range(100))


def test_choices_have_their_probabilities() -> None:
    p = np.array([0.1, 0.0, 0.6, 0.3])
    sample = default_rng(29).choice(4, COUNT, p=p).numpy()
    counts = np.bincount(sample, minlength=4)
    assert counts[1] == 0
    statistic, degrees = oracle.chi_square(counts[p > 0], p[p > 0] * COUNT)
    assert statistic < oracle.chi_square_limit(degrees)
    oracle.check_counts(default_rng(29).choice(5, COUNT).numpy(), lambda _: 0.2)
    picked = default_rng(29).choice(np.array(["a", "b"]).astype("S1").view(np.uint8), (3, 2))
    assert picked.shape == (3, 2)
    rows = default_rng(29).choice(np.arange(12).reshape(3, 4), 2, replace=False)
    assert rows.shape == (2, 4)
    assert len(set(rows[:, 0])) == 2
    assert default_rng(29).choice([7.5]) == 7.5


def test_weighted_choices_without_replacement_are_drawn_one_after_the_other() -> None:
    p = np.array([0.5, 0.3, 0.2])
    rng = default_rng(30)
    pairs = np.array([rng.choice(3, 2, replace=False, p=p).tolist() for _ in range(4000)])
    assert (pairs[:, 0] != pairs[:, 1]).all()
    cells = [(a, b) for a in range(3) for b in range(3) if a != b]
    observed = np.array([((pairs == cell).all(1)).sum() for cell in cells])
    expected = np.array([p[a] * p[b] / (1 - p[a]) for a, b in cells]) * len(pairs)
    statistic, degrees = oracle.chi_square(observed, expected)
    assert statistic < oracle.chi_square_limit(degrees)


def test_dropout_keeps_its_share_and_its_mask() -> None:
    x = np.linspace(1, 2, COUNT, dtype=np.float32)
    y = amdgpu.ops.dropout(x, 0.25, seed=5)
    kept = y != 0
    assert abs(int(kept.sum()) - COUNT * 0.75) < 5 * math.sqrt(COUNT * 3 / 16)
    assert (y[kept] == x[kept] * np.float32(1 / 0.75)).all()
    gradient = amdgpu.ops.dropout(np.ones_like(x), 0.25, seed=5)
    assert ((gradient != 0) == kept).all()
    assert ((amdgpu.ops.dropout(x, 0.25, seed=6) != 0) != kept).any()
    mask = default_rng(5).bernoulli(0.75, COUNT)
    assert (mask.numpy() == kept).all()
    masked = amdgpu.ops.dropout(x, 0.25, mask=mask.numpy())
    assert ((masked != 0) == kept).all()
    rng = default_rng(5)
    state = rng.state
    assert (amdgpu.ops.dropout(x, 0.25, seed=state) == y).all()
    assert (amdgpu.ops.dropout(x, 0.0, seed=1) == x).all()
    assert (amdgpu.ops.dropout(x, 1.0, seed=1) == 0).all()
    for dtype in ("float16", "float64"):
        assert ((amdgpu.ops.dropout(x.astype(dtype), 0.25, seed=5) != 0) == kept).all()
    own = amdgpu.array(x, device="cpu:0")
    assert amdgpu.ops.dropout(own, 0.25, seed=5, out=own) is own
    assert (own.numpy() == y).all()
    for call in (
        lambda: amdgpu.ops.dropout(x, 1.5),
        lambda: amdgpu.ops.dropout(x, 0.5, seed=1, mask=kept),
        lambda: amdgpu.ops.dropout(x, 1.0, mask=kept),
    ):
        with pytest.raises(ValueError, match=r"p is|seed and mask"):
            call()
    with pytest.raises(TypeError, match="floats are scaled"):
        amdgpu.ops.dropout(np.arange(3), 0.5, seed=1)

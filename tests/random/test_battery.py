"""A battery of tests for the bits, after Knuth, Marsaglia's Diehard and L'Ecuyer's SmallCrush. Seeds are fixed.

Each statistic is near normal or chi-square for random bits; bounds are passed once in 10,000 times.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import random_oracle as oracle
from amdgpu.random import default_rng

SEEDS = (0, 1, 2**64 - 1)


def words(seed: int, count: int) -> np.ndarray:
    return default_rng(seed).integers(0, 2**32, count, dtype="uint32").numpy()


def check_normal(statistic: float) -> None:
    assert abs(statistic) < oracle.NORMAL_QUANTILE + 0.2, statistic


@pytest.mark.parametrize("seed", SEEDS)
def test_each_bit_is_set_in_half_of_the_words(seed: int) -> None:
    sample = words(seed, 1 << 18)
    for bit in range(32):
        ones = int((sample >> np.uint32(bit) & np.uint32(1)).sum())
        check_normal((ones - len(sample) / 2) / math.sqrt(len(sample) / 4))


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_of_equal_bits_are_as_many_as_expected(seed: int) -> None:
    bits = np.unpackbits(words(seed, 1 << 16).view(np.uint8))
    runs = 1 + int((bits[1:] != bits[:-1]).sum())
    share = bits.mean()
    expected = 2 * len(bits) * share * (1 - share)
    check_normal((runs - expected) / (2 * math.sqrt(len(bits)) * share * (1 - share)))


@pytest.mark.parametrize("seed", SEEDS)
def test_words_do_not_depend_on_those_before(seed: int) -> None:
    sample = words(seed, 1 << 18) / 2.0**32 - 0.5
    for lag in (1, 2, 3, 4, 5, 8, 64, 1024):
        product = sample[lag:] * sample[:-lag]
        check_normal(product.sum() * 12 / math.sqrt(len(product)))


@pytest.mark.parametrize("seed", SEEDS)
def test_neighbours_fill_the_plane_and_space_evenly(seed: int) -> None:
    sample = words(seed, 3 << 17)
    for dimensions, bits in ((1, 12), (2, 6), (3, 4)):
        tuples = sample[: len(sample) // dimensions * dimensions].reshape(-1, dimensions) >> np.uint32(32 - bits)
        cell = np.zeros(len(tuples), np.int64)
        for part in tuples.T:
            cell = cell << bits | part
        cells = 1 << bits * dimensions
        counts = np.bincount(cell, minlength=cells)
        statistic, degrees = oracle.chi_square(counts, np.full(cells, len(tuples) / cells))
        assert statistic < oracle.chi_square_limit(degrees)
        assert statistic > degrees - 4.5 * math.sqrt(2 * degrees)


@pytest.mark.parametrize("seed", SEEDS)
def test_spacings_of_birthdays_repeat_as_often_as_expected(seed: int) -> None:
    # Marsaglia: m birthdays in n days; repeated spacings are Poisson with the mean m^3 / (4 n).
    days, people, rounds = 1 << 24, 512, 400
    sample = words(seed, people * rounds).reshape(rounds, people) >> np.uint32(8)
    spacings = np.sort(np.diff(np.sort(sample.astype(np.int64), axis=1), axis=1), axis=1)
    repeated = int((spacings[:, 1:] == spacings[:, :-1]).sum())
    expected = rounds * people**3 / (4 * days)
    check_normal((repeated - expected) / math.sqrt(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_of_binary_matrices_are_those_of_random_ones(seed: int) -> None:
    # Diehard: 32 x 32 matrices of bits have full rank with the chance 0.2888, one less with 0.5776, two less with 0.1284.
    count = 2000
    ranks = np.zeros(33, int)
    for matrix in words(seed, 32 * count).reshape(count, 32).tolist():
        rank, rows = 0, matrix
        while rows:
            pivot = rows.pop()
            if pivot:
                rank += 1
                low = pivot & -pivot
                rows = [row ^ pivot if row & low else row for row in rows]
        ranks[rank] += 1
    observed = np.array([ranks[:30].sum(), ranks[30], ranks[31], ranks[32]])
    expected = np.array([0.0052854502, 0.1283502644, 0.5775761902, 0.2887880951]) * count
    statistic, degrees = oracle.chi_square(observed, expected)
    assert statistic < oracle.chi_square_limit(degrees)


@pytest.mark.parametrize("seed", SEEDS)
def test_gaps_between_small_numbers_are_geometric(seed: int) -> None:
    sample = default_rng(seed).random(400_000).numpy()
    places = np.flatnonzero(sample < 0.125)
    gaps = np.minimum(np.diff(places) - 1, 60)
    oracle.check_counts(gaps, lambda gap: 0.125 * 0.875**gap if gap < 60 else 0.875**60)


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_of_bytes_of_neighbours_are_independent(seed: int) -> None:
    # The number of ones in a byte, in pairs of neighbouring bytes.
    ones = np.array([byte.bit_count() for byte in range(256)])
    weights = ones[words(seed, 1 << 17).view(np.uint8)].reshape(-1, 2)
    chance = np.array([math.comb(8, weight) / 256 for weight in range(9)])
    counts = np.bincount(weights[:, 0] * 9 + weights[:, 1], minlength=81)
    statistic, degrees = oracle.chi_square(counts, np.outer(chance, chance).ravel() * len(weights))
    assert statistic < oracle.chi_square_limit(degrees)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bit_of_counter_or_key_changes_half_of_the_words(seed: int) -> None:
    rng = np.random.default_rng(seed % 2**32)
    counters = rng.integers(0, 2**32, (400, 4), dtype=np.uint32)
    before = oracle.philox(counters, (1, 2))
    state = default_rng(3).state
    changed = 0
    for bit in range(64):
        other = default_rng(3)
        other.state = {**state, "key": state["key"] ^ 1 << bit}
        ours = default_rng(3).integers(0, 2**32, 64, dtype="uint32").numpy()
        difference = np.bitwise_xor(ours, other.integers(0, 2**32, 64, dtype="uint32").numpy())
        changed += int(np.unpackbits(difference.view(np.uint8)).sum())
        flipped = counters.copy()
        flipped[:, bit % 4] ^= np.uint32(1 << bit // 4)
        changed += int(np.unpackbits((before ^ oracle.philox(flipped, (1, 2))).view(np.uint8)).sum())
    total = 64 * (64 * 32 + 400 * 128)
    check_normal((changed - total / 2) / math.sqrt(total / 4))

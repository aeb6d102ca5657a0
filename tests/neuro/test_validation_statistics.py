"""The statistic that distributions of rates are compared by in `./x validate`."""

import numpy as np
import pytest
from neuro_validation import spike_statistics

NEURONS = 9000


@pytest.fixture
def rng():
    return np.random.default_rng(20261122)


@pytest.mark.parametrize("means", [(5.9, 6.3), (6.0, 6.0), (1.0, 1.1)])
def test_counts_of_one_distribution_are_near_whatever_their_means(rng, means):
    left, right = (rng.poisson(rng.gamma(3.0, mean / 3.0, NEURONS)) / 2.0 for mean in means)
    distance = spike_statistics.distance_about_means(left, right, 2.0)
    # Thinner counts are wider about their mean: what a tenth of the mean makes of that is below this.
    assert distance < 0.05


def test_a_distribution_of_another_width_is_far(rng):
    left = rng.poisson(rng.gamma(3.0, 2.0, NEURONS)).astype(float)
    right = rng.poisson(np.full(NEURONS, 6.0)).astype(float)
    limit = spike_statistics.critical_distance(NEURONS, NEURONS)
    assert spike_statistics.distance_about_means(left, right, 1.0) > limit + 0.02


def test_silent_populations_have_a_distance():
    silent = np.zeros(10)
    assert spike_statistics.distance_about_means(silent, silent, 1.0) == 0.0


def test_the_probability_of_a_sum_of_ranks_is_that_of_the_tables():
    # Two samples apart: 2 of the 70 divisions of eight are as far from the middle.
    assert spike_statistics.rank_sum_probability([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(2 / 70)
    # Mann and Whitney's table: U = 1 and U = 3 of four and four.
    assert spike_statistics.rank_sum_probability([1, 2, 3, 5], [4, 6, 7, 8]) == pytest.approx(4 / 70)
    assert spike_statistics.rank_sum_probability([1, 2, 4, 6], [3, 5, 7, 8]) == pytest.approx(14 / 70)
    assert spike_statistics.rank_sum_probability([3, 3, 3], [3, 3, 3]) == 1
    assert spike_statistics.rank_sum_probability([1, 2, 2], [2, 2, 9]) == spike_statistics.rank_sum_probability(
        [2, 2, 9], [1, 2, 2]
    )

"""What the spikes of two simulators are compared by."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def rates(indices: npt.NDArray[np.int64], size: int, seconds: float) -> FloatArray:
    """Spikes a second of each of `size` neurons."""
    return np.bincount(indices, minlength=size) / seconds


def variation_of_intervals(times: FloatArray, indices: npt.NDArray[np.int64], fewest: int = 5) -> FloatArray:
    """Coefficients of variation of the intervals between a neuron's spikes, of neurons with at least `fewest` spikes."""
    order = np.lexsort((times, indices))
    times, indices = times[order], indices[order]
    starts = np.flatnonzero(np.diff(indices, prepend=-1))
    found = []
    for spikes in np.split(times, starts[1:]):
        if len(spikes) >= fewest:
            intervals = np.diff(spikes)
            found.append(intervals.std() / intervals.mean())
    return np.array(found)


def distance_about_means(left: FloatArray, right: FloatArray, seconds: float) -> float:
    """The Kolmogorov-Smirnov distance of two samples of rates, each divided by its mean.

    Rates are counts over `seconds`. Divided by two means they stand on two lattices, and steps of one distribution function between those
    of the other would count as distance: 0.08 to 0.10 between two seeds of one simulator at 6 Hz. So each count is spread evenly over the
    unit around it, which keeps the mean.
    """
    (left_ends, left_shares), (right_ends, right_shares) = _spread(left * seconds), _spread(right * seconds)
    ends = np.concatenate([left_ends, right_ends])
    differences = np.interp(ends, left_ends, left_shares) - np.interp(ends, right_ends, right_shares)
    return float(np.abs(differences).max())


def _spread(counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distribution function of counts about their mean: where it bends, and its values there."""
    numbers = np.bincount(np.rint(counts).astype(np.int64))
    ends = (np.arange(len(numbers) + 1) - 0.5) / max(counts.mean(), 1e-9)
    return ends, np.concatenate([[0.0], np.cumsum(numbers)]) / len(counts)


def critical_distance(left: int, right: int, probability: float = 1e-3) -> float:
    """The distance that two samples of one distribution stay below but for `probability` (asymptotic form)."""
    return float(np.sqrt(-np.log(probability / 2) / 2 * (left + right) / (left * right)))


def rank_sum_probability(left: Sequence[float], right: Sequence[float]) -> float:
    """How probable a sum of ranks as far from its mean is when both samples come from one distribution; exact, two-sided, with ties.

    Goes through every division of the joint sample, so both must be small: eight and eight have 12 870.
    """
    joint = np.concatenate([left, right])
    smaller = (joint[:, None] > joint).sum(axis=1)
    ranks = smaller + ((joint[:, None] == joint).sum(axis=1) + 1) / 2
    middle = len(left) * (len(joint) + 1) / 2
    sums = ranks[np.array(list(combinations(range(len(joint)), len(left))))].sum(axis=1)
    return float(np.mean(np.abs(sums - middle) >= abs(ranks[: len(left)].sum() - middle) - 1e-9))

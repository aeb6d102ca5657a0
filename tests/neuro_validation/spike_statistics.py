"""What the spikes of two simulators are compared by."""

from __future__ import annotations

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


def kolmogorov_smirnov(left: FloatArray, right: FloatArray) -> float:
    """The largest distance between the distribution functions of two samples (Smirnov 1939)."""
    values = np.concatenate([left, right])
    left_share = np.searchsorted(np.sort(left), values, side="right") / len(left)
    right_share = np.searchsorted(np.sort(right), values, side="right") / len(right)
    return float(np.abs(left_share - right_share).max())


def critical_distance(left: int, right: int, probability: float = 1e-3) -> float:
    """The distance that two samples of one distribution stay below but for `probability` (asymptotic form)."""
    return float(np.sqrt(-np.log(probability / 2) / 2 * (left + right) / (left * right)))

"""Published networks beside Brian2's figures for them, which `data/published_networks.json` keeps.

The figures are those of tests/neuro_validation/peers/brian2_published.py; `./x validate` runs it anew and compares.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import published_networks
import pytest

FIGURES = json.loads(
    (Path(__file__).resolve().parents[1] / "data" / "published_networks.json").read_text(encoding="utf-8")
)


def test_cells_of_the_cochlear_nucleus_follow_brian2() -> None:
    ours = published_networks.rothman_manis()
    for name, theirs in FIGURES["rothman_manis"].items():
        assert ours[name]["spikes"] == theirs["spikes"]
        # Spikes pass from one millisecond to the next with slopes of 300 V/s: one step of 25 us is 7 mV.
        difference = np.abs(ours[name]["v"] - np.array(theirs["v"]))
        assert np.median(difference) < 1e-5
        assert difference.max() < 7e-3


def test_the_scorpion_finds_its_prey_as_in_brian2() -> None:
    ours = [published_networks.stuerzl(seed) for seed in (1, 2, 3)]
    theirs = FIGURES["stuerzl"]
    # Standard deviations of a count between twelve seeds of ours; four standard errors of the difference of means of three.
    for name, deviation in (("legs", 2.5), ("commands", 10.5)):
        means = [np.mean([np.asarray(run[name]) for run in runs], axis=0) for runs in (ours, theirs)]
        assert np.abs(means[0] - means[1]).max() < 4 * deviation * np.sqrt(2 / 3), means
    for run in ours:
        assert published_networks.direction(run["commands"]) == pytest.approx(144, abs=8)


def test_a_decision_is_made() -> None:
    ours = published_networks.wang(11)
    # What the pools bring is 80 and more times a weight of 1; cut at 16 the two alternatives stay at 2.5 and 2 Hz.
    assert ours["e1"][2] > 20
    assert ours["e2"][2] < 3
    assert 1 < ours["e0"][2] < 6
    assert 8 < ours["i0"][2] < 18

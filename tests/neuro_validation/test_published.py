"""Published networks beside Brian2, run anew: the figures that tests/data/published_networks.json keeps are its, and ours agree with them.

`tests/test_network_published.py` holds ours to the kept figures in every run of the tests.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import published_networks
import pytest
from neuro_validation import simulators
from suite.environments import Absent, environment_python

pytestmark = [pytest.mark.slow, pytest.mark.validation, pytest.mark.timeout(900)]

FIGURES = simulators.HERE.parent / "data" / "published_networks.json"


def of_brian2(name: str, seed: int, folder: Path) -> dict:
    """The figures of a network; skips the test where Brian2 cannot be installed."""
    try:
        python = environment_python("brian2")
    except Absent as reason:
        pytest.skip(f"no brian2: {reason}")
    path = folder / f"{name}-{seed}.json"
    command = [
        str(python),
        str(simulators.HERE / "peers" / "brian2_published.py"),
        name,
        "--seed",
        str(seed),
        "--out",
        str(path),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=800)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["rothman_manis", "stuerzl"])
def test_the_kept_figures_are_those_of_brian2(name: str, tmp_path: Path) -> None:
    kept = json.loads(FIGURES.read_text(encoding="utf-8"))[name]
    fresh = of_brian2(name, 1, tmp_path)
    if name == "rothman_manis":
        for cell, figures in kept.items():
            assert fresh[cell]["spikes"] == figures["spikes"]
            assert np.allclose(fresh[cell]["v"], figures["v"], atol=1e-6)
        return
    for part, figures in kept[0].items():
        assert np.allclose(fresh[part], figures, rtol=1e-6), part


def test_a_decision_is_made_in_both(tmp_path: Path) -> None:
    """Wang's network: the winner, the loser, and the others in the last half second."""
    theirs = of_brian2("wang", 2, tmp_path)
    ours = published_networks.wang(11)
    for rates in (ours, theirs):
        assert rates["e1"][2] > 8 * rates["e2"][2]
    print({name: (ours[name][2], theirs[name][2]) for name in ours})

"""Tests that run as a sample: the same seed draws the same, `-m slow` runs all, and every case can be drawn."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sampling

SUPPORT = Path(__file__).resolve().parents[1] / "support"
CONFTEST = """
import pytest, sampling
def pytest_configure(config):
    config.addinivalue_line("markers", "sampled(share): x")
    config.addinivalue_line("markers", "slow: x")
    sampling.choose_seed()
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    sampling.sample(config, items)
"""
TESTS = """
import pytest
@pytest.mark.sampled(0.25)
@pytest.mark.parametrize("number", range(40))
def test_a(number): print(f"ran {number}")
def test_b(): print("ran b")
"""


def ran(folder: Path, *arguments: str, seed: str) -> set[str]:
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "test_x.py").write_text(TESTS)
    environment = {
        **os.environ,
        "PYTHONPATH": str(SUPPORT),
        "AMDGPU_TEST_SEED": seed,
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        "/dev/null",
        "--rootdir=.",
        "-s",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return {line.partition("ran ")[2] for line in done.stdout.splitlines() if "ran " in line}


def test_a_quarter_is_drawn_and_the_rest_runs_with_slow_with_the_seed_all_and_by_name(tmp_path: Path) -> None:
    drawn = ran(tmp_path, "-m", "not slow", seed="1")
    assert len(drawn) == 11
    assert "b" in drawn
    assert len(ran(tmp_path, "-m", "slow", seed="1")) == 40
    assert len(ran(tmp_path, "-m", "not slow", seed="all")) == 41
    assert len(ran(tmp_path, "-m", "not slow", "test_x.py::test_a", seed="1")) == 40


def test_the_seed_decides_which_cases_are_drawn_and_every_case_is_drawn_by_some_seed() -> None:
    draws = [sampling.draw("a", 40, 0.25, str(seed)) for seed in range(40)]
    assert all(len(drawn) == 10 for drawn in draws)
    assert draws[3] == sampling.draw("a", 40, 0.25, "3")
    assert draws[3] != draws[4]
    assert set.union(*draws) == set(range(40))
    assert len(sampling.draw("a", 2, 0.1, "0")) == 1

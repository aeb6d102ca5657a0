"""Tests with many parameters whose cases resemble each other run as a sample: `@pytest.mark.sampled(share)`.

Each run draws anew, with a seed that the last lines name; `AMDGPU_TEST_SEED=N` draws the same again. What was not drawn is marked `slow`.
All cases run with `-m slow`, with `AMDGPU_TEST_SEED=all`, and where somebody asks for tests by name.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict

import pytest

VARIABLE = "AMDGPU_TEST_SEED"
EVERYTHING = "all"


def choose_seed() -> str:
    """The seed of this run; processes of pytest-xdist, which have to collect the same, inherit it."""
    return os.environ.setdefault(VARIABLE, str(random.SystemRandom().randrange(10**6)))


def is_complete(config: pytest.Config, *, is_by_name: bool = True) -> bool:
    """Whether every case is wanted; `is_by_name` says whether to name a test is to want all of it."""
    expression = config.option.markexpr
    is_slow_wanted = "slow" in expression and "not slow" not in expression
    is_named = bool(config.option.keyword) or any("::" in argument for argument in config.args)
    return is_slow_wanted or (is_by_name and is_named) or os.environ.get(VARIABLE) == EVERYTHING


def draw(name: str, count: int, share: float, seed: str) -> set[int]:
    """Places of the cases that run, at least one."""
    return set(random.Random(f"{seed} {name}").sample(range(count), max(1, round(count * share))))


def sample(config: pytest.Config, items: list[pytest.Item]) -> int:
    """Marks what is not drawn as slow, or all cases where all are wanted; how many were drawn."""
    groups: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") is not None:
            groups[item.nodeid.partition("[")[0]].append(item)
    drawn = 0
    for name, cases in groups.items():
        (share,) = cases[0].get_closest_marker("sampled").args  # type: ignore[union-attr]
        kept = set(range(len(cases))) if is_complete(config) else draw(name, len(cases), share, os.environ[VARIABLE])
        drawn += len(kept)
        for place, case in enumerate(cases):
            if place not in kept or "slow" in config.option.markexpr.replace("not slow", ""):
                case.add_marker(pytest.mark.slow)
    return drawn

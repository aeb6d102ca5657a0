"""How candidates are chosen. A strategy is a generator: it yields a group of (levels, epochs) and is sent their scores and sizes.

All of them draw from one Philox generator of the seed and see nothing but scores and sizes, so that a search that is run again with
the same scores proposes the same candidates.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from amdgpu.search.marks import Mark

Levels = tuple[int, ...]
Request = tuple[Levels, int]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strategy learns of a candidate; a failed one scores minus infinity."""

    score: float
    parameters: int


Strategy = Generator[list[Request], list[Outcome], None]


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a search may try."""

    population: int
    generations: int
    epochs: int


def _random_levels(marks: Sequence[Mark], random: np.random.Generator) -> Levels:
    return tuple(int(random.integers(len(mark.levels))) for mark in marks)


def evolution(marks: Sequence[Mark], budget: Budget, random: np.random.Generator) -> Strategy:
    """Parents and children compete by fronts of score and size (NSGA-II, Deb et al. 2002).

    Tournaments of two, uniform crossover, mutation.
    """
    parents = [_random_levels(marks, random) for _ in range(budget.population)]
    outcomes = yield [(levels, budget.epochs) for levels in parents]
    for _ in range(budget.generations - 1):
        ranks = rank(outcomes)
        children = []
        for _ in range(budget.population):
            one, two = (
                min((int(place) for place in random.integers(len(parents), size=2)), key=lambda place: ranks[place])
                for _ in range(2)
            )
            mixed = [a if random.random() < 0.5 else b for a, b in zip(parents[one], parents[two], strict=True)]
            children.append(_mutated(mixed, marks, random))
        found = yield [(levels, budget.epochs) for levels in children]
        pool = list(dict(zip([*parents, *children], [*outcomes, *found], strict=True)).items())
        order = rank([outcome for _, outcome in pool])
        chosen = sorted(range(len(pool)), key=lambda place: order[place])[: budget.population]
        parents = [pool[place][0] for place in chosen]
        outcomes = [pool[place][1] for place in chosen]


def _mutated(levels: list[int], marks: Sequence[Mark], random: np.random.Generator) -> Levels:
    """Each level changes with a chance of one in their number, and one of them always: by a small step where levels are ordered."""
    always = int(random.integers(len(levels)))
    for place, mark in enumerate(marks):
        if place != always and random.random() >= 1 / len(levels):
            continue
        count = len(mark.levels)
        if mark.is_ordered and count > 4:
            step = max(1, round(abs(random.normal()) * count / 8))
            levels[place] = min(max(levels[place] + (step if random.random() < 0.5 else -step), 0), count - 1)
        elif count > 1:
            levels[place] = (levels[place] + 1 + int(random.integers(count - 1))) % count
    return tuple(levels)


def rank(outcomes: Sequence[Outcome]) -> list[tuple[int, float]]:
    """(front, minus crowding distance) of each: smaller is better."""
    left = set(range(len(outcomes)))
    ranks: list[tuple[int, float]] = [(0, 0.0)] * len(outcomes)
    front = 0
    while left:
        best = [one for one in left if not any(_dominates(outcomes[other], outcomes[one]) for other in left)]
        for place, distance in zip(best, _crowding([outcomes[one] for one in best]), strict=True):
            ranks[place] = (front, -distance)
        left -= set(best)
        front += 1
    return ranks


def _dominates(one: Outcome, other: Outcome) -> bool:
    is_as_good = one.score >= other.score and one.parameters <= other.parameters
    return is_as_good and (one.score > other.score or one.parameters < other.parameters)


def _crowding(outcomes: Sequence[Outcome]) -> list[float]:
    distances = [0.0] * len(outcomes)
    for values in ([one.score for one in outcomes], [float(one.parameters) for one in outcomes]):
        order = sorted(range(len(values)), key=values.__getitem__)
        low, high = values[order[0]], values[order[-1]]
        distances[order[0]] = distances[order[-1]] = math.inf
        if not (math.isfinite(low) and high > low):
            continue
        for before, place, after in zip(order, order[1:], order[2:], strict=False):
            distances[place] += (values[after] - values[before]) / (high - low)
    return distances


def successive_halving(marks: Sequence[Mark], budget: Budget, random: np.random.Generator) -> Strategy:
    """Many candidates for few epochs, the better half for twice as many, and so on (Jamieson and Talwalkar 2016).

    There are `generations` rungs.
    """
    rungs = budget.generations
    alive = [_random_levels(marks, random) for _ in range(budget.population)]
    alive = list(dict.fromkeys(alive))
    for rung in range(rungs):
        epochs = max(1, budget.epochs >> (rungs - 1 - rung))
        outcomes = yield [(levels, epochs) for levels in alive]
        order = sorted(range(len(alive)), key=lambda place: (-outcomes[place].score, outcomes[place].parameters, place))
        alive = [alive[place] for place in order[: max(1, len(alive) // 2)]]


# Han and Kim 2002 recommend 0.001 pi to 0.05 pi; networks are dear to try, so the quick end.
ROTATION = 0.05 * math.pi
# No amplitude comes nearer to 0 or 1 than this (the H-epsilon gate of Han and Kim 2004), so that every bit can still turn.
LEAST_CHANCE = 0.02
# Generations between two migrations of the best to all.
MIGRATION = 5


def quantum_inspired(marks: Sequence[Mark], budget: Budget, random: np.random.Generator) -> Strategy:
    """The quantum-inspired evolutionary algorithm of Han and Kim 2002.

    Individuals are strings of qubits, each by its angle: 1 is observed with the chance sin²(angle). Where an observed string is worse than
    the best one its individual knows, the qubits that differ are turned towards it by a rotation gate.
    """
    import numpy as np

    widths = [max(1, math.ceil(math.log2(len(mark.levels)))) for mark in marks]
    bits = sum(widths)
    angles = np.full((budget.population, bits), math.pi / 4)
    best: list[tuple[float, int, np.ndarray] | None] = [None] * budget.population
    low = math.asin(math.sqrt(LEAST_CHANCE))
    for generation in range(budget.generations):
        seen = random.random(angles.shape) < np.sin(angles) ** 2
        requests = [(_decode(row, widths, marks), budget.epochs) for row in seen]
        outcomes = yield requests
        for place, outcome in enumerate(outcomes):
            known = best[place]
            key = (outcome.score, -outcome.parameters)
            if known is None or key > known[:2]:
                best[place] = (*key, seen[place].copy())
                continue
            angles[place] += ROTATION * (known[2].astype(float) - seen[place].astype(float))
        np.clip(angles, low, math.pi / 2 - low, out=angles)
        if (generation + 1) % MIGRATION == 0:
            top = max((one for one in best if one is not None), key=lambda one: one[:2])
            best = [top] * budget.population


def _decode(row: np.ndarray, widths: Sequence[int], marks: Sequence[Mark]) -> Levels:
    """Bits to levels: the number they write, spread over the levels."""
    levels = []
    first = 0
    for width, mark in zip(widths, marks, strict=True):
        number = 0
        for bit in row[first : first + width]:
            number = 2 * number + int(bit)
        levels.append(number * len(mark.levels) >> width)
        first += width
    return tuple(levels)

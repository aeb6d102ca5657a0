"""Problems whose lowest energy is known."""

import itertools

import numpy as np


def brute_force(fields, couplings):
    """Lowest energy over all spins, for up to 20 of them; `couplings` has zeros below its diagonal."""
    spins = np.array(list(itertools.product([-1, 1], repeat=len(fields))), float)
    return float((spins @ fields + np.einsum("ki,ij,kj->k", spins, couplings, spins)).min())


def planted_loops(side, loops, seed):
    """Frustrated loops on a torus of `side` x `side` (Hen et al. 2015): couplings, a lowest state, its energy.

    Every loop has one bond of the wrong sign; the planted state satisfies all others of each loop, no state does better in any loop, and so
    none in their sum.
    """
    rng = np.random.default_rng(seed)
    size = side * side
    planted = rng.choice([-1, 1], size)
    couplings = np.zeros((size, size))
    energy = 0
    made = 0
    while made < loops:
        path = [int(rng.integers(size))]
        while True:
            row, column = divmod(path[-1], side)
            step = [(1, 0), (-1, 0), (0, 1), (0, -1)][rng.integers(4)]
            following = (row + step[0]) % side * side + (column + step[1]) % side
            if len(path) > 1 and following == path[-2]:
                continue
            if following in path:
                loop = path[path.index(following) :]
                break
            path.append(following)
        if len(loop) < 6:
            continue
        made += 1
        wrong = rng.integers(len(loop))
        for place, spin in enumerate(loop):
            other = loop[(place + 1) % len(loop)]
            sign = 1 if place == wrong else -1
            low, high = sorted((spin, other))
            couplings[low, high] += sign * planted[low] * planted[high]
        energy -= len(loop) - 2
    return couplings, planted, float(energy)

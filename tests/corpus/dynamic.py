"""Dynamic programming: alignments, paths, knapsack."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, I32 = np.float32, np.int32
FAR = 2**31 - 1


@case((64, 90), (1, 1), (0, 5), (33, 17))
def needleman_wunsch(size, rng):
    first, second = (rng.integers(97, 101, max(length, 1)).astype(np.int8) for length in size)
    gap = 2
    table = np.zeros((size[0] + 1, size[1] + 1), int)
    table[:, 0], table[0] = -gap * np.arange(size[0] + 1), -gap * np.arange(size[1] + 1)
    for i in range(1, size[0] + 1):
        for j in range(1, size[1] + 1):
            match = table[i - 1, j - 1] + (2 if first[i - 1] == second[j - 1] else -1)
            table[i, j] = max(match, table[i - 1, j] - gap, table[i, j - 1] - gap)
    arguments = (first, second, np.full(1, 9999, I32), *size, gap)
    return Launch(1, 65, arguments, {2: [table[-1, -1]]})


@case((500, 37), (1, 1), (65, 100))
def knapsack_row(size, rng):
    capacity, weight = size
    best = np.sort(rng.integers(0, 1000, capacity + 1, dtype=I32))
    value = 60
    with_it = np.full(capacity + 1, -FAR)
    with_it[weight:] = best[: max(capacity + 1 - weight, 0)] + value
    chosen = with_it > best
    taken = np.packbits(np.pad(chosen, (0, -(capacity + 1) % 32)), bitorder="little").view(np.uint32)
    arguments = (best, np.full(capacity + 1, -1, I32), np.zeros(taken.size, np.uint32), weight, value, capacity)
    return Launch(blocks(capacity + 1, 64), 64, arguments, {1: np.where(chosen, with_it, best), 2: taken})


@case((30, 7), (2, 0), (17, 16))
def floyd_warshall(size, rng):
    n, k = size
    distances = rng.integers(1, 100, (n, n), dtype=I32)
    distances[rng.random((n, n)) < 0.4] = FAR
    np.fill_diagonal(distances, 0)
    through = np.full((n, n), -1, I32)
    wide = distances.astype(np.int64)
    ways = wide[:, k : k + 1] + wide[k]
    shorter = (ways < wide) & (wide[:, k : k + 1] < FAR) & (wide[k] < FAR)
    expected = {0: np.where(shorter, ways, wide), 1: np.where(shorter, k, -1)}
    return Launch((blocks(n, 8),) * 2, (8, 8), (distances, through, k, n), expected)


@case((64, 50), (1, 1), (33, 65))
def longest_common_subsequence(size, rng):
    length, n = size
    a, b = rng.integers(0, 4, (2, n, length), dtype=np.uint8)
    expected = []
    for first, second in zip(a, b, strict=True):
        row = [0] * (length + 1)
        for x in first:
            diagonal = 0
            for j, y in enumerate(second, 1):
                diagonal, row[j] = row[j], diagonal + 1 if x == y else max(row[j], row[j - 1])
        expected.append(row[-1])
    return Launch(blocks(n, 64), 64, (a, b, np.full(n, -1, I32), length, n), {2: expected})


@case(50, 1, 33)
def viterbi_step(states, rng):
    scores, emissions = -rng.random((2, states), dtype=F32)
    transitions = -rng.random((states, states), dtype=F32) * F32(5)
    ways = scores[:, None] + transitions
    arguments = (scores, transitions, emissions, np.zeros(states, F32), np.full(states, -1, I32), states)
    expected = {3: ways.max(0) + emissions, 4: ways.argmax(0)}
    return Launch(1, 32, arguments, expected, shared_bytes=4 * states)


@case(100, 1, 33)
def time_warping(count, rng):
    query, series = rng.standard_normal(24).astype(F32), rng.standard_normal((24, count)).astype(F32)
    table = np.full((25, 25, count), np.inf)
    table[0, 0] = 0
    for i in range(24):
        for j in range(24):
            best = np.minimum(np.minimum(table[i, j + 1], table[i + 1, j]), table[i, j])
            table[i + 1, j + 1] = best + np.abs(query[i].astype(np.float64) - series[j])
    arguments = (query, series, np.full(count, -1, F32), count)
    reason = "sums along a path of at most 47 steps"
    return Launch(blocks(count, 32), 32, arguments, {2: table[-1, -1]}, relative=1e-5, reason=reason)


@case((300, (1, 2, 5, 10, 20, 50, 100)), (1, (1,)), (65, (7, 3)))
def coin_change(size, rng):
    amount, coins = size
    ways = [1] + [0] * amount
    for coin in coins:
        for i in range(coin, amount + 1):
            ways[i] += ways[i - coin]
    arguments = (np.array(coins, I32), np.full(amount + 1, 99, np.uint64), len(coins), amount)
    return Launch(1, 32, arguments, {1: np.array(ways, np.uint64)})


@case((60, 40), (1, 1), (33, 7))
def smith_waterman_lanes(size, rng):
    count, length = size
    query = rng.integers(97, 101, 13).astype(np.int8)
    sequences = rng.integers(97, 101, (count, length)).astype(np.int8)
    score, horizontal, highest = np.zeros((14, count), int), np.full((14, count), -100), np.zeros(count, int)
    for j in range(length):
        before = score.copy()
        vertical = np.full(count, -100)
        for i in range(1, 14):
            horizontal[i] = np.maximum(before[i] - 5, horizontal[i] - 1)
            vertical = np.maximum(score[i - 1] - 5, vertical - 1)
            match = before[i - 1] + np.where(sequences[:, j] == query[i - 1], 3, -2)
            score[i] = np.maximum.reduce([match, horizontal[i], vertical, np.zeros(count, int)])
            highest = np.maximum(highest, score[i])
    arguments = (query, 13, sequences, np.full(count, -1, np.int16), length, count)
    return Launch(blocks(count, 32), 32, arguments, {3: highest})

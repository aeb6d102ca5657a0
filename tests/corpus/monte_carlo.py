"""Random numbers by counters and by streams, and what is estimated with them."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64, U32, U64 = np.float32, np.float64, np.uint32, np.uint64
MASK = 2**32 - 1


@case(1000, 1, 129)
def pi_philox(n, rng):
    counter = [np.arange(n, dtype=U64), *(np.full(n, value, U64) for value in (0, 7, 0))]
    key = [12345, 99]
    for _ in range(10):
        first, second = U64(0xD2511F53) * counter[0], U64(0xCD9E8D57) * counter[2]
        counter = [
            (second >> U64(32)) ^ counter[1] ^ U64(key[0]),
            second & U64(MASK),
            (first >> U64(32)) ^ counter[3] ^ U64(key[1]),
            first & U64(MASK),
        ]
        key = [(key[0] + 0x9E3779B9) & MASK, (key[1] + 0xBB67AE85) & MASK]
    halves = [part >> U64(1) for part in counter]
    inside = sum((x * x + y * y < U64(2**62)).sum() for x, y in (halves[:2], halves[2:]))
    samples = np.stack(counter, 1).astype(U32)
    arguments = (np.zeros(1, U32), np.zeros((n, 4), U32), 12345, n)
    return Launch(blocks(n, 128), 128, arguments, {0: [inside], 1: samples})


@case((200, 9), (1, 1), (65, 3))
def xorshift_streams(size, rng):
    streams, each = size
    states = rng.integers(1, 2**32, (streams, 4), dtype=U32)
    x, y, z, w = states.T.copy()
    rows = []
    for _ in range(each):
        t = x ^ (x << U32(11))
        x, y, z = y, z, w
        w = w ^ (w >> U32(19)) ^ t ^ (t >> U32(8))
        rows.append(w)
    arguments = (states, np.zeros((each, streams), U32), each, streams)
    return Launch(blocks(streams, 64), 64, arguments, {0: np.stack([x, y, z, w], 1), 1: np.stack(rows)})


@case(300, 1, 65)
def pcg_fill(n, rng):
    state, expected = 42, []
    for _ in range(n):
        shifted, rotation = ((state >> 18 ^ state) >> 27) & MASK, state >> 59
        expected.append((shifted >> rotation | shifted << (-rotation & 31)) & MASK)
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
    return Launch(blocks(n, 64), 64, (np.zeros(n, U32), 42, n), {0: expected})


@case((500, 12), (1, 1), (65, 3))
def asian_option(size, rng):
    paths, steps = size

    def mixed(x):
        x = x ^ x >> U32(16)
        x = x * U32(0x7FEB352D)
        x = x ^ x >> U32(15)
        x = x * U32(0x846CA68B)
        return x ^ x >> U32(16)

    def uniform(bits):
        return ((bits >> U32(8)).astype(F32) + F32(0.5)).astype(F64) / 2**24

    price, total = np.full(paths, 100.0), np.zeros(paths)
    for step in range(steps):
        key = mixed(np.arange(paths, dtype=U32) * U32(1024) + U32(step))
        radius = np.sqrt(-2 * np.log(uniform(key)))
        price = price * np.exp(0.001 + 0.05 * radius * np.cos(6.2831853 * uniform(mixed(key ^ U32(0x9E3779B9)))))
        total += price
    expected = np.maximum(total / steps - 90, 0)
    arguments = (np.full(paths, -1, F32), 100.0, 90.0, 0.001, 0.05, steps, paths)
    reason = "a product of as many exponentials as there are steps, prices up to 300"
    return Launch(blocks(paths, 64), 64, arguments, {0: expected}, absolute=2e-3, reason=reason)


@case((100, 50), (1, 1), (65, 17))
def random_walk(size, rng):
    walkers, steps = size
    state = U32(7) + U32(2654435769) * np.arange(walkers, dtype=U32)
    place, home = np.zeros((walkers, 2), np.int16), np.zeros(walkers, np.int32)
    moves = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], np.int16)
    for _ in range(steps):
        state = state * U32(1664525) + U32(1013904223)
        place += moves[state >> U32(30)]
        home += ~place.any(1)
    arguments = (np.full((walkers, 2), -9, np.int16), np.full(walkers, -1, np.int32), 7, steps, walkers)
    return Launch(blocks(walkers, 64), 64, arguments, {0: place, 1: home})


@case((32, 0), (2, 1), (16, 1))
def ising_checkerboard(size, rng):
    side, colour = size
    spins = rng.choice(np.array([-1, 1], np.int8), (side, side))
    thresholds = (np.exp(-2 * 0.4 * np.array([0, 2, 4])) * (2**32 - 1)).astype(U32)
    place = np.arange(side * side, dtype=U32).reshape(side, side)
    h = (place + U32(0x9E3779B9)) * U32(2 * 5 + 1)
    h = (h ^ h >> U32(15)) * U32(0x2C1B3C6D)
    h = (h ^ h >> U32(12)) * U32(0x297A2D39)
    h = h ^ h >> U32(15)
    cost = spins * sum(np.roll(spins.astype(np.int32), shift, axis) for axis in (0, 1) for shift in (1, -1))
    accepted = (cost <= 0) | (h < thresholds[np.maximum(cost, 0) // 2])
    y, x = np.mgrid[:side, :side]
    expected = np.where(accepted & ((x ^ y) & 1 == colour), -spins, spins)
    return Launch((blocks(side, 8),) * 2, (8, 8), (spins, thresholds, side, 5, colour), {0: expected})


@case(500, 1, 65)
def halton_integral(n, rng):
    def radical_inverse(index, base):
        result, digit = 0.0, 1.0 / base
        while index:
            result += digit * (index % base)
            index //= base
            digit /= base
        return result

    points = np.array([[radical_inverse(i + 1, base) for base in (2, 3)] for i in range(n)])
    below = (points[:, 1] < points[:, 0] ** 2).sum()
    arguments = (np.zeros((n, 2)), np.zeros(1, np.int32), n)
    reason = "fused products of the digits"
    return Launch(blocks(n, 64), 64, arguments, {0: points, 1: [below]}, absolute=1e-15, reason=reason)

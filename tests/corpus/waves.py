"""Operations of waves: shuffles, votes, ballots, matches, for groups of 32 lanes so that every wave size gives the same."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case
from corpus.sparse import dense, random_rows

F32, F64, I32 = np.float32, np.float64, np.int32


@case((3000, 128), (1, 32), (777, 96))
def warp_sum(size, rng):
    n, threads = size
    values = rng.integers(-(2**31), 2**31, n).astype(I32)
    padded = np.zeros(-(-n // (3 * threads)) * 3 * threads, I32)
    padded[:n] = values
    expected = padded.reshape(-1, 3, threads).sum((0, 2), dtype=I32)
    return Launch(3, threads, (values, np.full(3, -1, I32), n), {1: expected})


@case(1000, 1, 65)
def warp_scan(n, rng):
    values = rng.integers(-100, 100, n).astype(F32)
    padded = np.zeros(-(-n // 32) * 32, F32)
    padded[:n] = values
    expected = padded.reshape(-1, 32).cumsum(1).ravel()[:n]
    return Launch(blocks(n, 64), 64, (values, np.full(n, -1e6, F32), n), {1: expected})


@case((500, 32), (1, 8), (77, 8), (33, 32))
def butterfly_maximum(size, rng):
    n, width = size
    values = rng.standard_normal(n)
    padded = np.full(-(-n // width) * width, -np.inf)
    padded[:n] = values
    expected = padded.reshape(-1, width).max(1).repeat(width)[:n]
    return Launch(blocks(n, 64), 64, (values, np.zeros(n), n), {1: expected}, kernel=f"butterfly_maximum<{width}>")


@case(500, 1, 33)
def ballot_compact(n, rng):
    values = rng.integers(-50, 50, n, dtype=I32)
    values[0] = 5
    count = blocks(n, 32)
    padded = np.zeros(count * 32, I32)
    padded[:n] = values
    out, ballots = np.full((count, 32), -1, I32), []
    for row, target in zip(padded.reshape(count, 32), out, strict=True):
        target[: (row > 0).sum()] = row[row > 0]
        ballots.append(int(((row > 0).astype(np.int64) << np.arange(32)).sum()))
    arguments = (values, np.full((count, 32), -1, I32), np.zeros(count, np.uint32), np.zeros(1, I32), n)
    return Launch(count, 32, arguments, {1: out, 2: ballots, 3: [(values > 0).sum()]})


@case(9, 1)
def broadcast_matvec(count, rng):
    matrices, vectors = (
        rng.integers(-1000, 1000, (count, 32, 32), dtype=I32),
        rng.integers(-1000, 1000, (count, 32), dtype=I32),
    )
    expected = np.einsum("bkl,bk->bl", matrices, vectors)
    return Launch(count, 32, (matrices, vectors, np.full((count, 32), -1, I32)), {2: expected})


@case(9, 1)
def wave_bitonic_sort(count, rng):
    values = rng.integers(-(2**63), 2**63, (count, 32))
    return Launch(count, 32, (values,), {0: np.sort(values, axis=1)})


@case(500, 1, 33)
def wave_votes(n, rng):
    values = rng.integers(0, 1000, n, dtype=I32)
    count = blocks(n, 32)
    padded = np.full(count * 32, -1, I32)
    padded[:n] = values
    rows = padded.reshape(count, 32)
    expected = []
    for row in rows:
        odd = np.flatnonzero(row & 1)
        remainders = [int(np.fmod(value, 13)) for value in row]
        expected.append((0 in remainders, True, odd.size, row[odd[0]] if odd.size else row[0]))
    return Launch(count, 32, (values, np.full((count, 4), -7, I32), 13, n), {1: expected})


@case(500, 1, 33)
def match_histogram(n, rng):
    keys = (rng.integers(0, 256, n) // 20).astype(np.uint8)
    arguments = (keys, np.zeros(256, np.uint32), n)
    return Launch(blocks(n, 32), 32, arguments, {1: np.bincount(keys, minlength=256)})


@case(8, 1)
def wave_transpose(tiles, rng):
    values = rng.standard_normal((tiles * 8, 4, 4)).astype(F32)
    return Launch(tiles, 32, (values, np.zeros_like(values)), {1: values.transpose(0, 2, 1)})


@case((50, 90), (1, 1), (5, 33))
def csr_wave(size, rng):
    starts, columns = random_rows(rng, *size, 70)
    values, x = rng.standard_normal(columns.size), rng.standard_normal(size[1])
    expected = dense(starts, columns, values, size) @ x
    arguments = (starts, columns, values, x, np.full(size[0], 9.0), size[0])
    grid = blocks(size[0], 2)
    return Launch(grid, 64, arguments, {4: expected}, absolute=1e-13, reason="order of the sum over a row")


@case(300, 1, 65)
def group_reduction(n, rng):
    values = rng.integers(-(2**31), 2**31, n).astype(I32)
    count = blocks(n, 64)
    padded = np.zeros(count * 64, I32)
    padded[:n] = values
    tiles = padded.reshape(-1, 16).sum(1, dtype=I32)
    arguments = (values, np.full(count * 4, -1, I32), np.full(count, -1, I32), n)
    return Launch(count, 64, arguments, {1: tiles, 2: tiles.reshape(count, 4).sum(1, dtype=I32)})

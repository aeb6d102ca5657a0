"""Scans, compaction, sorting and merging."""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from corpus.case import Launch, blocks, case


@case(1000, 1, 128, 129)
def blelloch_scan(n, rng):
    values = rng.integers(-1000, 1000, n, dtype=np.int32)
    count = blocks(n, 128)
    padded = np.zeros(count * 128, np.int32)
    padded[:n] = values
    inclusive = padded.reshape(count, 128).cumsum(1, dtype=np.int32)
    exclusive = (inclusive - padded.reshape(count, 128)).ravel()[:n]
    arguments = (values, np.zeros(n, np.int32), np.zeros(count, np.int32), n)
    return Launch(count, 64, arguments, {1: exclusive, 2: inclusive[:, -1]}, shared_bytes=4 * (128 + 4))


@case(3000, 1, 65)
def chained_scan(n, rng):
    values = rng.integers(0, 2**32, n, dtype=np.uint32)
    count = blocks(n, 64)
    arguments = (values, np.zeros(n, np.uint32), np.zeros(count, np.uint64), np.zeros(1, np.uint32), n)
    return Launch(count, 64, arguments, {1: values.cumsum(dtype=np.uint32)}, scratch=(2, 3))


@case(128, 1, 77)
def segmented_scan(n, rng):
    values = rng.integers(-100, 100, n, dtype=np.int32)
    starts = rng.random(n) < 0.15
    expected, sum_so_far = [], 0
    for value, starts_here in zip(values.tolist(), starts.tolist(), strict=True):
        sum_so_far = value if starts_here else sum_so_far + value
        expected.append(sum_so_far)
    return Launch(1, 128, (values, starts, np.zeros(n, np.int32), n), {2: expected})


@case(1000, 1, 129)
def stream_compaction(n, rng):
    values = rng.integers(0, 1000, n, dtype=np.int32)
    values[0] = 3
    count = blocks(n, 128)
    out, kept = np.full(count * 128, -1, np.int32), []
    for block in range(count):
        part = values[block * 128 : block * 128 + 128]
        part = part[part % 3 == 0]
        out[block * 128 : block * 128 + part.size] = part
        kept.append(part.size)
    arguments = (values, np.full(count * 128, -1, np.int32), np.full(count, -1, np.int32), 3, n)
    return Launch(count, 128, arguments, {1: out, 2: kept})


@case(128, 1, 101)
def running_maximum(n, rng):
    values = rng.standard_normal(n).cumsum()
    return Launch(1, 32, (values, np.zeros(n), n), {1: np.maximum.accumulate(values)})


@case(64, 1, 33)
def linear_recurrence(n, rng):
    maps = rng.integers(0, 2**32, (n, 2), dtype=np.uint32)
    expected = list(accumulate(maps.tolist(), lambda x, map_: (map_[0] * x + map_[1]) % 2**32, initial=12345))[1:]
    return Launch(1, 64, (maps, np.zeros(n, np.uint32), 12345, n), {1: expected})


@case(256, 1, 100)
def carry_lookahead(words, rng):
    a = rng.integers(0, 2**32, words, dtype=np.uint32)
    # Many words whose sum is all ones, so that carries travel far.
    b = np.where(rng.random(words) < 0.7, ~a, rng.integers(0, 2**32, words, dtype=np.uint32)).astype(np.uint32)
    b[0] = ~a[0] + np.uint32(1) if a[0] else 5
    total = int.from_bytes(a.tobytes(), "little") + int.from_bytes(b.tobytes(), "little")
    expected = np.frombuffer(total.to_bytes(4 * words + 4, "little"), np.uint32)
    return Launch(1, 256, (a, b, np.full(words + 1, 7, np.uint32), words), {2: expected})


@case(96, 2, 33)
def odd_even_sort(n, rng):
    values = rng.integers(-1000, 1000, n, dtype=np.int32)
    values[:2] = (5, -5)
    work, rounds = values.tolist(), 0
    while True:
        has_moved = False
        for phase in range(2):
            for i in range(phase, n - 1, 2):
                if work[i] > work[i + 1]:
                    work[i], work[i + 1] = work[i + 1], work[i]
                    has_moved = True
        if not has_moved:
            break
        rounds += 1
    return Launch(1, 96, (values, np.full(1, -1, np.int32), n), {0: np.sort(values), 1: [rounds]})


@case((6, 128, 4), (1, 1, 0), (3, 77, 31))
def radix_split(size, rng):
    count, threads, bit = size
    keys = rng.integers(0, 2**32, (count, threads), dtype=np.uint32) | np.uint32(1)
    order = np.argsort(keys >> np.uint32(bit) & np.uint32(1), axis=1, kind="stable")
    arguments = (keys, np.zeros_like(keys), bit)
    return Launch(count, threads, arguments, {1: np.take_along_axis(keys, order, 1)})


@case(7, 1)
def radix_sort_block(count, rng):
    keys = rng.integers(0, 2**16, (count, 64)).astype(np.uint16)
    return Launch(count, 64, (keys,), {0: np.sort(keys, axis=1)})


@case((300, "double"), (1, "double"), (130, "signed char"))
def rank_sort(size, rng):
    n, name = size
    values = rng.integers(-100, 100, n).astype(np.float64 if name == "double" else np.int8)
    values[0] = 1
    arguments = (values, np.zeros_like(values), n)
    return Launch(blocks(n, 64), 64, arguments, {1: np.sort(values)}, kernel=f"rank_sort<{name}>")


@case((500, 300), (1, 0), (3, 90), (0, 9))
def merge_path(size, rng):
    a, b = (np.sort(rng.integers(-200, 200, count, dtype=np.int32)) for count in size)
    expected = np.sort(np.concatenate([a, b]))
    padded = [part if part.size else np.zeros(1, np.int32) for part in (a, b)]
    out = np.full(sum(size), -1000, np.int32)
    return Launch(blocks(sum(size), 8 * 32), 32, (*padded, out, *size), {2: expected})


@case(100, 1, 65)
def insertion_sort_rows(rows, rng):
    values = rng.integers(-(2**15), 2**15, (rows, 12)).astype(np.int16)
    arguments = (values, np.zeros_like(values), rows)
    return Launch(blocks(rows, 64), 64, arguments, {1: np.sort(values, axis=1)})

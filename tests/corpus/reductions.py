"""Reductions: trees, atomics, segments, moments, counting barriers, histograms."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32 = np.float32


@case(5000, 1, 255)
def dot_product(n, rng):
    a, b = rng.standard_normal((2, n))
    products = np.zeros(-(-n // 192) * 192)
    products[:n] = a * b
    expected = products.reshape(-1, 3, 64).sum((0, 2))
    arguments = (a, b, np.zeros(3), n)
    reason = "the order of the sum; the error is that of the sum of magnitudes"
    absolute = 1e-14 * max(1.0, float(np.abs(products).sum()))
    return Launch(3, 64, arguments, {2: expected}, shared_bytes=8 * 64, absolute=absolute, reason=reason)


@case(3000, 1, 513)
def sum_atomic(n, rng):
    values = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    total = np.array([values.astype(np.int64).sum()], np.int64).view(np.uint64)
    return Launch(blocks(n, 128), 128, (values, np.zeros(1, np.uint64), n), {1: total})


@case((20, 300), (1, 1), (3, 65))
def argmax(size, rng):
    # Few values, so that there are ties.
    values = rng.integers(-5, 6, size).astype(F32)
    return Launch(size[0], 64, (values, np.full(size[0], -1, np.int32), size[1]), {1: values.argmax(1)})


@case(5000, 1, 127)
def min_max(n, rng):
    values = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    arguments = (values, np.array([2**31 - 1], np.int32), np.array([-(2**31)], np.int32), n)
    return Launch(blocks(n, 128), 128, arguments, {1: [values.min()], 2: [values.max()]})


@case((200, 37), (1, 1), (0, 3), (33, 5))
def segmented_sum(size, rng):
    n, segments = size
    values = rng.integers(-(2**31), 2**31, max(n, 1)).astype(np.int32)
    ends = np.sort(rng.integers(0, n + 1, segments)).astype(np.int32)
    ends[-1] = n
    begins = np.concatenate([[0], ends[:-1]])
    expected = [values[begin:end].astype(np.int64).sum() for begin, end in zip(begins, ends, strict=True)]
    return Launch(segments, 32, (values, ends, np.full(segments, -1, np.int64)), {2: expected})


@case(1000, 1, 129)
def count_if(n, rng):
    values = rng.standard_normal(n).astype(F32) * F32(0.8)
    count = blocks(n, 64)
    padded = np.zeros(count * 64, F32)
    padded[:n] = values
    parts = padded.reshape(count, 64)
    flags = (parts < 0).any(1) * 1 + (np.abs(parts) < 2).all(1) * 2
    arguments = (values, np.full(count, 99, np.uint32), np.full(count, 99, np.uint32), 0.5, n)
    return Launch(count, 64, arguments, {1: (parts > 0.5).sum(1), 2: flags})


@case(2000, 1, 63)
def welford(n, rng):
    values = (rng.standard_normal(n) + 100).astype(F32)
    exact = values.astype(np.float64)
    expected = {1: [exact.mean()], 2: [exact.var()]}
    arguments = (values, np.full(1, -1.0), np.full(1, -1.0), n)
    reason = "double throughout; about n roundings"
    return Launch(1, 64, arguments, expected, relative=1e-12, absolute=1e-12, reason=reason)


@case((1000, "unsigned int"), (1000, "unsigned long long"), (1, "unsigned int"), (127, "unsigned long long"))
def reduce_with(size, rng):
    n, name = size
    dtype = np.uint32 if name == "unsigned int" else np.uint64
    values = rng.integers(0, np.iinfo(dtype).max, n, dtype=dtype, endpoint=True)
    operations = (np.add, np.maximum, np.bitwise_and, np.bitwise_xor)
    expected = [operation.reduce(values, dtype=dtype) for operation in operations]
    return Launch(1, 128, (values, np.zeros(4, dtype), n), {1: np.array(expected)}, kernel=f"reduce_with<{name}>")


@case(4000, 1, 450)
def last_block(n, rng):
    values = rng.integers(0, 2**32, n, dtype=np.uint32)
    count = 7
    padded = np.zeros(-(-n // (64 * count)) * 64 * count, np.uint32)
    padded[:n] = values
    partial = padded.reshape(-1, count, 64).sum((0, 2), dtype=np.uint32)
    arguments = (values, np.zeros(count, np.uint32), np.zeros(1, np.uint32), np.zeros(1, np.uint32), n)
    return Launch(
        count, 64, arguments, {1: partial, 2: [0], 3: [values.sum(dtype=np.uint32)]} if n else {}, scratch=(2,)
    )


@case((100, 70), (1, 1), (9, 33))
def column_sums(size, rng):
    matrix = rng.integers(-(2**15), 2**15, size).astype(np.int16)
    arguments = (matrix, np.full(size[1], -1, np.int32), *size)
    return Launch(blocks(size[1], 32), (32, 8), arguments, {1: matrix.sum(0, dtype=np.int32)})


@case(5000, 1, 129)
def histogram_2d(n, rng):
    a, b = rng.integers(0, 256, (2, n), dtype=np.uint8)
    expected = np.bincount((a >> 4).astype(int) * 16 + (b >> 4), minlength=256)
    return Launch(2, 128, (a, b, np.zeros(256, np.uint32), n), {2: expected})


@case(3000, 1, 65)
def float_maximum(n, rng):
    values = (rng.standard_normal(n) - 6).astype(F32)
    bits = values.view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | 0x80000000).astype(np.uint32)
    return Launch(5, 64, (values, np.zeros(1, np.uint32), n), {1: [ordered.max()]})

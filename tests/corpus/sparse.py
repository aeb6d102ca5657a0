"""Sparse matrices in the usual formats."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64 = np.float32, np.float64
SUM = "order of the sum over a row"


def random_rows(rng, rows, columns, most):
    """Row starts and column numbers of a random pattern; some rows are empty."""
    lengths = rng.integers(0, min(most, columns) + 1, rows)
    lengths[rng.integers(rows)] = min(most, columns)
    starts = np.concatenate([[0], lengths.cumsum()]).astype(np.int32)
    chosen = [np.sort(rng.choice(columns, length, replace=False)) for length in lengths]
    return starts, np.concatenate(chosen).astype(np.int32)


def dense(starts, columns, values, shape):
    """The matrix in full."""
    full = np.zeros(shape)
    full[np.repeat(np.arange(shape[0]), np.diff(starts)), columns] = values
    return full


@case((100, 80), (1, 1), (65, 3))
def csr_scalar(size, rng):
    starts, columns = random_rows(rng, *size, 20)
    values, x = rng.standard_normal(columns.size).astype(F32), rng.standard_normal(size[1]).astype(F32)
    expected = dense(starts, columns, values, size) @ x
    arguments = (starts, columns, values, x, np.full(size[0], 9, F32), size[0])
    return Launch(blocks(size[0], 64), 64, arguments, {4: expected}, absolute=2e-5, reason=SUM)


@case((50, 90), (1, 1), (5, 33))
def csr_vector(size, rng):
    starts, columns = random_rows(rng, *size, 50)
    values, x = rng.standard_normal(columns.size), rng.standard_normal(size[1])
    expected = dense(starts, columns, values, size) @ x
    arguments = (starts, columns, values, x, np.full(size[0], 9.0), size[0])
    return Launch(blocks(size[0], 4), (16, 4), arguments, {4: expected}, absolute=1e-13, reason=SUM)


@case((100, 80), (1, 1), (65, 9))
def ell(size, rng):
    rows, columns = size
    width = 7
    chosen = rng.integers(0, columns, (width, rows)).astype(np.int32)
    chosen[rng.random(chosen.shape) < 0.3] = -1
    chosen[0, 0] = 0
    values, x = rng.standard_normal((width, rows)).astype(F32), rng.standard_normal(columns).astype(F32)
    expected = np.where(chosen >= 0, values.astype(F64) * x[chosen], 0).sum(0)
    arguments = (chosen, values, x, np.full(rows, 9, F32), rows, width)
    return Launch(blocks(rows, 64), 64, arguments, {3: expected}, absolute=1e-5, reason=SUM)


@case((60, 40), (1, 1), (9, 65))
def coo_atomic(size, rng):
    rows, columns = size
    entries = 5 * rows + 3
    row, column = rng.integers(0, rows, entries, dtype=np.int32), rng.integers(0, columns, entries, dtype=np.int32)
    values, x = rng.standard_normal(entries), rng.standard_normal(columns)
    expected = np.zeros(rows)
    np.add.at(expected, row, values * x[column])
    arguments = (row, column, values, x, np.zeros(rows), entries)
    return Launch(
        blocks(entries, 64), 64, arguments, {4: expected}, absolute=1e-13, reason=SUM, order_dependent="float atomics"
    )


@case((40, 30), (1, 1), (33, 9))
def block_sparse(size, rng):
    starts, columns = random_rows(rng, *size, 8)
    values = rng.standard_normal((columns.size, 2, 2)).astype(F32)
    x = rng.standard_normal((size[1], 2)).astype(F32)
    expected = np.zeros((size[0], 2))
    owners = np.repeat(np.arange(size[0]), np.diff(starts))
    np.add.at(expected, owners, np.einsum("nij,nj->ni", values.astype(F64), x[columns]))
    arguments = (starts, columns, values, x, np.full((size[0], 2), 9, F32), size[0])
    return Launch(blocks(size[0], 32), 32, arguments, {4: expected}, absolute=1e-5, reason=SUM)


@case((20, 30), (1, 1), (7, 50))
def sampled_product(size, rng):
    starts, columns = random_rows(rng, *size, 25)
    a, b = (rng.standard_normal((count, 24)).astype(F32) for count in size)
    owners = np.repeat(np.arange(size[0]), np.diff(starts))
    expected = (a[owners].astype(F64) * b[columns]).sum(1)
    arguments = (starts, columns, a, b, np.full(columns.size, 9, F32))
    return Launch(
        size[0], 16, arguments, {4: expected}, kernel="sampled_product<24>", absolute=2e-5, reason="sum of 24 products"
    )


@case(200, 1, 65)
def diagonal_format(n, rng):
    offsets = np.array([-7, -1, 0, 1, 30], np.int32)
    diagonals, x = rng.standard_normal((5, n)), rng.standard_normal(n)
    expected = np.zeros(n)
    for offset, diagonal in zip(offsets, diagonals, strict=True):
        rows = np.arange(max(0, -offset), min(n, n - offset))
        expected[rows] += diagonal[rows] * x[rows + offset]
    arguments = (offsets, diagonals, x, np.full(n, 9.0), n, 5)
    return Launch(blocks(n, 64), 64, arguments, {3: expected}, absolute=1e-14, reason="fused products")


@case((500, 60), (1, 1), (7, 100))
def row_lengths(size, rng):
    entries, rows = size
    numbers = np.sort(rng.integers(0, rows, entries, dtype=np.int32))
    arguments = (numbers, np.full(rows + 1, -1, np.int32), entries, rows)
    return Launch(blocks(rows + 1, 32), 32, arguments, {1: np.searchsorted(numbers, np.arange(rows + 1))})

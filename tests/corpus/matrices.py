"""Dense linear algebra: products, transposes, factorisations, solves, small matrices."""

from __future__ import annotations

import numpy as np

from corpus.case import Launch, blocks, case

F32, F64 = np.float32, np.float64


@case((30, 40, 20), (1, 1, 1), (17, 9, 33))
def gemm_naive(size, rng):
    m, n, k = size
    a, b, c = rng.standard_normal((k, m)), rng.standard_normal((n, k)), rng.standard_normal((n, m))
    expected = 1.5 * (b @ a) - 0.5 * c
    grid = (blocks(m, 16), blocks(n, 8))
    absolute = 1e-15 * (k + 2) * float((np.abs(b) @ np.abs(a) + np.abs(c)).max())
    return Launch(
        grid, (16, 8), (a, b, c, m, n, k, 1.5, -0.5), {2: expected}, absolute=absolute, reason="order of the sum"
    )


@case((70, "float, 8, 4"), (1, "float, 8, 4"), (33, "int, 4, 2"), (8, "int, 4, 2"))
def gemm_register_tiled(size, rng):
    n, name = size
    tile, per_thread = (8, 4) if name.startswith("float") else (4, 2)
    kernel = f"gemm_register_tiled<{name}>"
    grid, block = (blocks(n, tile * per_thread),) * 2, (tile, tile)
    if name.startswith("int"):
        a, b = rng.integers(-(2**31), 2**31, (2, n, n)).astype(np.int32)
        return Launch(grid, block, (a, b, np.zeros_like(a), n), {2: a @ b}, kernel=kernel)
    a, b = rng.standard_normal((2, n, n)).astype(F32)
    absolute = float(n * 2.0**-24 * (np.abs(a) @ np.abs(b)).max())
    expected = {2: a.astype(F64) @ b}
    arguments = (a, b, np.zeros_like(a), n)
    return Launch(grid, block, arguments, expected, kernel=kernel, absolute=absolute, reason="k eps sum |a||b|")


@case((20, 30, 9), (1, 1, 1), (9, 17, 4))
def gemm_int8(size, rng):
    m, n, words = size
    a = rng.integers(-128, 128, (m, 4 * words)).astype(np.int8)
    b = rng.integers(-128, 128, (n, 4 * words)).astype(np.int8)
    expected = a.astype(np.int32) @ b.astype(np.int32).T
    arguments = (a.view(np.uint32), b.view(np.uint32), np.zeros((m, n), np.int32), m, n, words)
    return Launch((blocks(n, 16), blocks(m, 8)), (16, 8), arguments, {2: expected})


@case(20, 1, 17)
def gemm_complex(n, rng):
    a, b = (rng.standard_normal((2, n, n, 2))).astype(F32)
    product = a.astype(F64).view(np.complex128)[..., 0] @ b.astype(F64).view(np.complex128)[..., 0]
    expected = np.stack([product.real, product.imag], -1)
    grid = (blocks(n, 8), blocks(n, 8))
    absolute = n * 2.0**-22 * max(1.0, float((np.abs(a) ** 2).max()))
    arguments = (a, b, np.zeros_like(a), n)
    return Launch(grid, (8, 8), arguments, {2: expected}, absolute=absolute, reason="2 k additions of float32 products")


@case(50, 1, 17)
def transpose_in_place(n, rng):
    matrix = rng.integers(0, 2**16, (n, n)).astype(np.uint16)
    matrix.flat[0] = 7
    if n == 1:
        return Launch((2, 2), (8, 8), (np.array([[1]], np.uint16), 1), {0: [[1]]}, scratch=())
    return Launch((blocks(n, 8),) * 2, (8, 8), (matrix, n), {0: matrix.T})


@case(5, 1)
def lu_small(count, rng):
    n = 12
    matrices = rng.standard_normal((count, n, n))
    expected, pivots = matrices.copy(), np.zeros((count, n), np.int32)
    for m, chosen in zip(expected, pivots, strict=True):
        for k in range(n):
            pivot = k + int(np.abs(m[k:, k]).argmax())
            chosen[k] = pivot
            m[[k, pivot]] = m[[pivot, k]]
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    arguments = (matrices, np.full((count, n), -1, np.int32))
    reason = "fused products; errors grow with the elimination"
    return Launch(count, n, arguments, {0: expected, 1: pivots}, relative=1e-10, absolute=1e-11, reason=reason)


@case((3, 20), (1, 1), (2, 33))
def cholesky_block(size, rng):
    count, n = size
    base = rng.standard_normal((count, n, n))
    matrices = base @ base.transpose(0, 2, 1) + n * np.eye(n)
    expected = np.linalg.cholesky(matrices)
    arguments = (matrices, np.zeros_like(matrices), n)
    return Launch(
        count, 16, arguments, {1: expected}, shared_bytes=8 * n * n, absolute=1e-12, reason="order of the operations"
    )


@case((16, 50), (1, 1), (9, 33))
def triangular_solve(size, rng):
    n, columns = size
    lower = np.tril(rng.standard_normal((n, n))) + 4 * np.eye(n)
    b = rng.standard_normal((n, columns))
    arguments = (lower, b, np.zeros_like(b), n, columns)
    expected = np.linalg.solve(lower, b)
    return Launch(blocks(columns, 32), 32, arguments, {2: expected}, absolute=1e-13, reason="order of the operations")


@case((20, 600), (1, 4), (3, 252))
def matvec_rows(size, rng):
    rows, columns = size
    matrix, x = rng.standard_normal(size).astype(F32), rng.standard_normal(columns).astype(F32)
    expected = matrix.astype(F64) @ x
    absolute = float(20 * 2.0**-24 * (np.abs(matrix) @ np.abs(x)).max())
    arguments = (matrix, x, np.zeros(rows, F32), columns)
    return Launch(rows, 64, arguments, {2: expected}, absolute=absolute, reason="twenty levels of additions at most")


@case((70, 50), (1, 1), (33, 31))
def matvec_transposed(size, rng):
    rows, columns = size
    matrix, x = rng.standard_normal(size), rng.standard_normal(rows)
    arguments = (matrix, x, np.zeros(columns), rows, columns)
    expected = {2: matrix.T @ x}
    return Launch(blocks(columns, 32), 32, arguments, expected, absolute=1e-13, reason="order of the sum")


@case((30, 50, "long long"), (1, 1, "double"), (17, 5, "double"))
def outer_product(size, rng):
    rows, columns, name = size
    dtype = np.int64 if name == "long long" else F64
    a, x, y = (rng.integers(-1000, 1000, shape).astype(dtype) for shape in ((rows, columns), rows, columns))
    arguments = (a, x, y, 3, rows, columns)
    x[0] = y[0] = 5
    return Launch((2, 2), (8, 4), arguments, {0: a + 3 * np.outer(x, y)}, kernel=f"outer_product<{name}>")


@case((30, 20), (1, 1), (17, 5))
def rank_k_update(size, rng):
    n, k = size
    a, c = rng.standard_normal((n, k)).astype(F32), rng.standard_normal((n, n)).astype(F32)
    exact = a.astype(F64)
    expected = np.where(np.tri(n, dtype=bool), c - exact @ exact.T, c)
    absolute = float((k + 2) * 2.0**-24 * (np.abs(exact) @ np.abs(exact).T + np.abs(c)).max())
    return Launch(
        (blocks(n, 8),) * 2, (8, 8), (a, c, n, k), {1: expected}, absolute=absolute, reason="k eps sum |a||a|"
    )


@case(100, 1, 65)
def inverse_3x3(n, rng):
    matrices = rng.standard_normal((n, 3, 3)) + 3 * np.eye(3)
    expected = np.linalg.inv(matrices)
    if n > 1:
        matrices[1] = 1.0
        expected[1] = 0.0
    arguments = (matrices, np.full_like(matrices, 9), n)
    return Launch(
        blocks(n, 64), 64, arguments, {1: expected}, relative=1e-10, absolute=1e-12, reason="cofactors cancel"
    )


@case(300, 1, 65)
def matrix_power(n, rng):
    exponents = rng.integers(1, 2**32, n, dtype=np.uint32)
    exponents[: min(n, 3)] = (1, 10, 2**32 - 1)[: min(n, 3)]

    def fibonacci(index):
        if index == 0:
            return 0, 1
        a, b = fibonacci(index // 2)
        c, d = a * (2 * b - a) % 1000000007, (a * a + b * b) % 1000000007
        return (d, (c + d) % 1000000007) if index % 2 else (c, d)

    expected = [fibonacci(int(index))[0] for index in exponents]
    return Launch(blocks(n, 64), 64, (exponents, np.zeros(n, np.uint32), n), {1: expected})


@case((4, 40), (1, 1), (3, 33))
def givens_rotations(size, rng):
    pairs, columns = size
    matrix = rng.standard_normal((pairs, 2, columns))
    length = np.hypot(matrix[:, 0, 0], matrix[:, 1, 0])
    cosine, sine = (matrix[:, side, 0] / length for side in range(2))
    first = cosine[:, None] * matrix[:, 0] + sine[:, None] * matrix[:, 1]
    second = cosine[:, None] * matrix[:, 1] - sine[:, None] * matrix[:, 0]
    expected = np.stack([first, second], 1)
    return Launch(pairs, 32, (matrix, columns), {0: expected}, absolute=1e-14, reason="four roundings")

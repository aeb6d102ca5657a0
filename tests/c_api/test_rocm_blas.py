"""ROCmBLAS beside NumPy, column-major: all transposes, leading dimensions, batches, factors, arguments that cannot be."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from rocm_layer import NONE, OPERATIONS, TRANSPOSE, Layer, long


def columns(matrix: np.ndarray, leading: int) -> np.ndarray:
    """Column-major memory of a matrix, with NaN in the gaps that a larger leading dimension leaves."""
    memory = np.full((matrix.shape[1], leading), np.nan, matrix.dtype)
    memory[:, : matrix.shape[0]] = matrix.T
    return memory


def op(matrix: np.ndarray, operation: int) -> np.ndarray:
    return matrix if operation == NONE else matrix.T


class Problem:
    """op(A) is m x k, op(B) is k x n; leading dimensions are `more` larger than needed."""

    def __init__(
        self, seed: int, sizes: tuple[int, int, int], operations: tuple[int, int], more: tuple[int, int, int]
    ) -> None:
        rng = np.random.default_rng(seed)
        m, n, k = sizes
        self.a = rng.standard_normal((m, k) if operations[0] == NONE else (k, m)).astype(np.float32)
        self.b = rng.standard_normal((k, n) if operations[1] == NONE else (n, k)).astype(np.float32)
        self.c = rng.standard_normal((m, n)).astype(np.float32)
        self.lda, self.ldb, self.ldc = (
            matrix.shape[0] + gap for matrix, gap in zip((self.a, self.b, self.c), more, strict=True)
        )
        wide = [matrix.astype(np.float64) for matrix in (self.a, self.b)]
        self.product = op(wide[0], operations[0]) @ op(wide[1], operations[1])


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS, OPERATIONS)))
@pytest.mark.parametrize("more", [(0, 0, 0), (3, 5, 7)], ids=["dense", "gaps"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (-0.5, 2.0), (2.0, 1.0)])
def test_gemm(layer: Layer, operations: tuple[int, int], more: tuple[int, int, int], alpha: float, beta: float) -> None:
    m, n, k = 7, 5, 9
    problem = Problem(1, (m, n, k), operations, more)
    a, b, c = columns(problem.a, problem.lda), columns(problem.b, problem.ldb), columns(problem.c, problem.ldc)
    layer("gemm", *operations, m, n, k, alpha, a, problem.lda, b, problem.ldb, beta, c, problem.ldc)
    wanted = alpha * problem.product + beta * problem.c.astype(np.float64)
    np.testing.assert_allclose(c[:, :m].T, wanted, rtol=2e-5, atol=2e-5)
    assert np.isnan(c[:, m:]).all()


@pytest.mark.parametrize("sizes", [(1, 1, 1), (64, 33, 128), (130, 1, 70), (1, 90, 3)])
def test_gemm_of_other_sizes(layer: Layer, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    problem = Problem(2, sizes, (NONE, TRANSPOSE), (1, 2, 3))
    a, b, c = columns(problem.a, problem.lda), columns(problem.b, problem.ldb), columns(problem.c, problem.ldc)
    layer("gemm", NONE, TRANSPOSE, m, n, k, 1.0, a, problem.lda, b, problem.ldb, 0.0, c, problem.ldc)
    np.testing.assert_allclose(c[:, :m].T, problem.product, rtol=2e-5, atol=1e-4)


def test_gemm_does_not_read_what_factors_leave_out(layer: Layer) -> None:
    problem = Problem(3, (4, 3, 5), (NONE, NONE), (0, 0, 2))
    a, b = columns(problem.a, 4), columns(problem.b, 5)
    c = np.full((3, 6), np.nan, np.float32)
    layer("gemm", NONE, NONE, 4, 3, 5, 1.0, a, 4, b, 5, 0.0, c, 6)
    np.testing.assert_allclose(c[:, :4].T, problem.product, rtol=2e-5, atol=2e-5)
    # With alpha 0, A and B may be NaN, or not be there.
    for missing in (np.full((9, 9), np.nan, np.float32), None):
        c = columns(problem.c, 6)
        layer("gemm", NONE, NONE, 4, 3, 5, 0.0, missing, 4, missing, 5, 3.0, c, 6)
        np.testing.assert_allclose(c[:, :4].T, 3 * problem.c, rtol=1e-6)
        c = np.full((3, 6), np.nan, np.float32)
        layer("gemm", NONE, NONE, 4, 3, 5, 0.0, missing, 4, missing, 5, 0.0, c, 6)
        assert (c[:, :4] == 0).all()
        assert np.isnan(c[:, 4:]).all()
    # Without K the product is 0; with beta 1 nothing changes.
    c = columns(problem.c, 6)
    layer("gemm", NONE, NONE, 4, 3, 0, 1.0, None, 4, None, 1, 0.5, c, 6)
    np.testing.assert_allclose(c[:, :4].T, 0.5 * problem.c, rtol=1e-6)
    layer("gemm", NONE, NONE, 4, 3, 0, 1.0, None, 4, None, 1, 1.0, c, 6)
    np.testing.assert_allclose(c[:, :4].T, 0.5 * problem.c, rtol=1e-6)
    # Without M, N or batches there is nothing to do, and nothing is looked at.
    layer("gemm", NONE, NONE, 0, 3, 5, 1.0, None, 1, None, 5, 0.0, None, 1)
    layer("gemm", NONE, NONE, 4, 0, 5, 1.0, None, 4, None, 5, 0.0, None, 4)


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS[:2], OPERATIONS[:2])))
@pytest.mark.parametrize("shared", ["", "a", "b"])
def test_gemm_strided_batched(layer: Layer, operations: tuple[int, int], shared: str) -> None:
    m, n, k, batches = 6, 4, 5, 3
    problems = [Problem(seed, (m, n, k), operations, (1, 2, 3)) for seed in range(batches)]
    lda, ldb, ldc = problems[0].lda, problems[0].ldb, problems[0].ldc

    def memory(matrices: list[np.ndarray], leading: int, is_shared: bool) -> tuple[np.ndarray, int]:
        all_columns = [np.append(columns(matrix, leading).ravel(), [np.nan] * 4) for matrix in matrices]
        joined = np.concatenate(all_columns).astype(np.float32)
        return joined, 0 if is_shared else all_columns[0].size

    a, stride_a = memory([one.a for one in problems], lda, shared == "a")
    b, stride_b = memory([one.b for one in problems], ldb, shared == "b")
    c, stride_c = memory([one.c for one in problems], ldc, False)
    strides = long(stride_a), long(stride_b), long(stride_c)
    arguments = [1.5, a, lda, strides[0], b, ldb, strides[1], -1.0, c, ldc, strides[2], batches]
    layer("gemm_strided_batched", *operations, m, n, k, *arguments)
    for i, one in enumerate(problems):
        left = problems[0] if shared == "a" else one
        right = problems[0] if shared == "b" else one
        product = op(left.a.astype(np.float64), operations[0]) @ op(right.b.astype(np.float64), operations[1])
        found = c[i * stride_c : i * stride_c + n * ldc].reshape(n, ldc)
        np.testing.assert_allclose(found[:, :m].T, 1.5 * product - one.c, rtol=2e-5, atol=2e-5)
        assert np.isnan(found[:, m:]).all()
        assert np.isnan(c[i * stride_c + n * ldc : (i + 1) * stride_c]).all()
    layer(
        "gemm_strided_batched",
        *operations,
        m,
        n,
        k,
        1.0,
        None,
        lda,
        long(0),
        None,
        ldb,
        long(0),
        0.0,
        None,
        ldc,
        long(0),
        0,
    )


BAD_GEMM = [
    ({"m": -1}, "M is -1"),
    ({"n": -2}, "N is -2"),
    ({"k": -3}, "K is -3"),
    ({"trans_a": 0}, "trans_a is 0"),
    ({"trans_b": 114}, "trans_b is 114"),
    ({"lda": 3}, "lda is 3; the columns of the matrix have 4"),
    ({"lda": 4, "trans_a": TRANSPOSE}, "lda is 4; the columns of the matrix have 5"),
    ({"ldb": 4}, "ldb is 4; the columns of the matrix have 5"),
    ({"ldb": 0, "k": 0}, "ldb is 0; the columns of the matrix have 1"),
    ({"ldc": 3}, "ldc is 3; the columns of the matrix have 4"),
    ({"a": None}, "A is NULL"),
    ({"b": None}, "B is NULL"),
    ({"c": None}, "C is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_GEMM, ids=[words for _, words in BAD_GEMM])
def test_gemm_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    c = np.ones((8, 8), np.float32)
    given: dict[str, Any] = {
        "trans_a": NONE,
        "trans_b": NONE,
        "m": 4,
        "n": 3,
        "k": 5,
        "alpha": 1.0,
        "a": np.ones((8, 8), np.float32),
    }
    given |= {"lda": 6, "b": np.ones((8, 8), np.float32), "ldb": 6, "beta": 0.0, "c": c, "ldc": 6} | wrong
    with pytest.raises(ValueError, match=words):
        layer("gemm", *given.values())
    assert (c == 1).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"stride_a": -1}, "stride_a is -1"),
        ({"stride_b": -1}, "stride_b is -1"),
        ({"stride_c": 15}, "stride_c is 15; it must be 16"),
        ({"batches": -1}, "batch_count is -1"),
    ],
)
def test_gemm_strided_batched_refuses(layer: Layer, wrong: dict[str, int], words: str) -> None:
    strides = {"stride_a": 64, "stride_b": 64, "stride_c": 64, "batches": 2} | wrong
    a, b, c = (np.ones(128, np.float32) for _ in range(3))
    given = [
        1.0,
        a,
        6,
        long(strides["stride_a"]),
        b,
        6,
        long(strides["stride_b"]),
        0.0,
        c,
        6,
        long(strides["stride_c"]),
        strides["batches"],
    ]
    with pytest.raises(ValueError, match=words):
        layer("gemm_strided_batched", NONE, NONE, 4, 3, 5, *given)


def test_gemm_refuses_operands_that_overlap_the_result(layer: Layer) -> None:
    memory = np.ones(64, np.float32)
    with pytest.raises(ValueError, match="shares memory"):
        layer("gemm", NONE, NONE, 4, 4, 4, 1.0, memory, 4, memory, 4, 0.0, memory, 4)
    with pytest.raises(ValueError, match="not aligned"):
        layer("gemm", NONE, NONE, 1, 1, 1, 1.0, memory.view(np.uint8)[1:], 1, memory, 1, 0.0, memory[8:], 1)


@pytest.mark.parametrize("operations", list(itertools.product(OPERATIONS, OPERATIONS)))
@pytest.mark.parametrize("more", [(0, 0, 0), (3, 5, 7)], ids=["dense", "gaps"])
@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 1.0), (-0.5, 2.0), (0.0, 3.0), (3.0, 0.0), (0.0, 0.0)])
def test_geam(layer: Layer, operations: tuple[int, int], more: tuple[int, int, int], alpha: float, beta: float) -> None:
    m, n = 7, 5
    rng = np.random.default_rng(11)
    matrices = [
        rng.standard_normal((m, n) if operation == NONE else (n, m)).astype(np.float32) for operation in operations
    ]
    # What a factor of 0 leaves out may be NaN.
    given = [
        np.full_like(one, np.nan) if factor == 0 else one for one, factor in zip(matrices, (alpha, beta), strict=True)
    ]
    lda, ldb, ldc = (one.shape[0] + gap for one, gap in zip((*matrices, matrices[0]), more, strict=True))
    ldc = m + more[2]
    a, b, c = columns(given[0], lda), columns(given[1], ldb), np.full((n, ldc), np.nan, np.float32)
    layer("geam", *operations, m, n, alpha, a, lda, beta, b, ldb, c, ldc)
    wanted = alpha * op(matrices[0], operations[0]) + beta * op(matrices[1], operations[1])
    np.testing.assert_allclose(c[:, :m].T, wanted, rtol=2e-6, atol=2e-6)
    assert np.isnan(c[:, m:]).all()


def test_geam_in_place_and_without_operands(layer: Layer) -> None:
    a, b = (np.random.default_rng(12).standard_normal((6, 4)).astype(np.float32) for _ in range(2))
    c = columns(a, 8)
    layer("geam", NONE, TRANSPOSE, 6, 4, 2.0, c, 8, -1.0, columns(b.T.copy(), 4), 4, c, 8)
    np.testing.assert_allclose(c[:, :6].T, 2 * a - b, rtol=2e-6, atol=2e-6)
    layer("geam", NONE, NONE, 6, 4, 0.0, None, 6, 0.5, c, 8, c, 8)
    np.testing.assert_allclose(c[:, :6].T, a - b / 2, rtol=2e-6, atol=2e-6)
    layer("geam", NONE, NONE, 6, 4, 0.0, None, 6, 0.0, None, 6, c, 8)
    assert (c[:, :6] == 0).all()
    assert np.isnan(c[:, 6:]).all()
    layer("geam", NONE, NONE, 0, 4, 1.0, None, 1, 1.0, None, 1, None, 1)
    layer("geam", NONE, NONE, 4, 0, 1.0, None, 4, 1.0, None, 4, None, 4)


BAD_SUMS = [
    ({"m": -1}, "M is -1"),
    ({"n": -1}, "N is -1"),
    ({"trans_a": 1}, "trans_a is 1"),
    ({"trans_b": 0}, "trans_b is 0"),
    ({"lda": 3}, "lda is 3; the columns of the matrix have 4"),
    ({"ldb": 2, "trans_b": TRANSPOSE}, "ldb is 2; the columns of the matrix have 3"),
    ({"ldc": 3}, "ldc is 3; the columns of the matrix have 4"),
    ({"a": None}, "A is NULL"),
    ({"b": None}, "B is NULL"),
    ({"c": None}, "C is NULL"),
]


@pytest.mark.parametrize(("wrong", "words"), BAD_SUMS, ids=[words for _, words in BAD_SUMS])
def test_geam_refuses(layer: Layer, wrong: dict[str, Any], words: str) -> None:
    given: dict[str, Any] = {
        "trans_a": NONE,
        "trans_b": NONE,
        "m": 4,
        "n": 3,
        "alpha": 1.0,
        "a": np.ones(32, np.float32),
        "lda": 6,
    }
    given |= {"beta": 1.0, "b": np.ones(32, np.float32), "ldb": 6, "c": np.ones(32, np.float32), "ldc": 6} | wrong
    with pytest.raises(ValueError, match=words):
        layer("geam", *given.values())


def test_geam_refuses_operands_that_overlap_the_result(layer: Layer) -> None:
    memory = np.ones(32, np.float32)
    with pytest.raises(ValueError, match="overlaps"):
        layer("geam", TRANSPOSE, NONE, 4, 4, 1.0, memory, 4, 1.0, np.ones(32, np.float32), 4, memory, 4)

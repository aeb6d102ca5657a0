"""`einsum` against NumPy's, over its whole grammar."""

import amdgpu as xp
import numpy as np
import pytest
from amdgpu import errors

RNG = np.random.default_rng(5)
A, B, C = RNG.random((3, 4)), RNG.random((4, 5)), RNG.random((5, 3))
D, E = RNG.random((2, 3, 4)), RNG.random((2, 4, 3))
S, T = RNG.random((3, 3)), RNG.random((3, 3, 3))
CASES = [
    ("ij,jk", (A, B)),
    ("ij,jk->ki", (A, B)),
    (" i j , j k -> i k", (A, B)),
    ("iJ,Jk", (A, B)),
    ("zb,ba->az", (A, B)),
    ("ij,jk,kl->il", (A, B, C)),
    ("ij,jk,ki->", (A, B, C)),
    ("ij,jk,kl,lm->im", (A, B, C, A)),
    ("ab,ab,ab->ab", (A, A, A)),
    ("ii", (S,)),
    ("ii->i", (S,)),
    ("iii->i", (T,)),
    ("iij->ij", (T,)),
    ("iij,j->i", (T, S[0])),
    ("ij", (A,)),
    ("ji", (A,)),
    ("ij->ji", (A,)),
    ("ij->", (A,)),
    ("ij->j", (A,)),
    ("bij,bjk->bik", (D, E)),
    ("bij,bkj->bik", (D, D)),
    ("bij,cjk->bcik", (D, E)),
    ("...ij,...jk->...ik", (D, E)),
    ("...ij,...jk->...ik", (D, B)),
    ("i...->...", (D,)),
    ("...i->...", (D,)),
    ("...", (D,)),
    ("i...,i...", (A, A)),
    ("...,...", (A, A[0])),
    ("i,j->ij", (A[0], B[0])),
    ("i,i", (A[0], A[1])),
    ("i,i->i", (A[0], A[1])),
    ("ij,ij->", (A, A)),
    ("ij,kl->", (A, B)),
    ("ij,jk->ik", (A[:, :1], B)),
    ("ij,j->", (A, B[:, 0])),
    ("ij,jk->ik", (A[:0], B)),
    ("ij,jk->ik", (A[:, :0], B[:0])),
    (",ij->ij", (np.float64(3), A)),
]


@pytest.mark.parametrize(("text", "operands"), CASES, ids=[text for text, _ in CASES])
@pytest.mark.parametrize("optimize", [True, False, "optimal"])
def test_sums_of_products_are_those_of_numpy(text, operands, optimize):
    found = xp.einsum(text, *map(xp.asarray, operands), optimize=optimize)
    expected = np.einsum(text, *operands)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32"])
@pytest.mark.parametrize("text", ["ij,kj->ik", "ij,ij->i", "ij->j", "ij,ij->ij"])
def test_dtypes_stay_what_they_are(dtype, text):
    a = RNG.integers(0, 4, (3, 5)).astype(dtype)
    operands = [a] * (text.count(",") + 1)
    found, expected = xp.einsum(text, *map(xp.asarray, operands)), np.einsum(text, *operands)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found.numpy(), expected)


def test_dtypes_are_promoted_or_asked_for():
    a, b = np.ones((2, 3), "int32"), np.ones(3, "float32")
    assert xp.einsum("ij,j", xp.asarray(a), xp.asarray(b)).dtype == np.einsum("ij,j", a, b).dtype
    assert xp.einsum("ij->i", xp.asarray(a), dtype="float32").dtype == "float32"


def test_lists_of_labels_stand_for_a_text():
    a, b, d, e = map(xp.asarray, (A, B, D, E))
    np.testing.assert_allclose(xp.einsum(a, [0, 1], b, [1, 2], [0, 2]).numpy(), A @ B)
    np.testing.assert_allclose(xp.einsum(a, [30, 1], b, [1, 2]).numpy(), np.einsum(A, [30, 1], B, [1, 2]))
    np.testing.assert_allclose(xp.einsum(d, [..., 0, 1], e, [..., 1, 2], [..., 0, 2]).numpy(), D @ E)


def test_a_path_of_numpy_is_followed():
    operands = A, B, C, A
    path, _ = np.einsum_path("ij,jk,kl,lm->im", *operands, optimize="optimal")
    for one in (path, ["einsum_path", (0, 1, 2, 3)], ["einsum_path", (2, 3), (0, 2), (0, 1)]):
        found = xp.einsum("ij,jk,kl,lm->im", *map(xp.asarray, operands), optimize=one)
        np.testing.assert_allclose(found.numpy(), A @ B @ C @ A)


def test_out_receives_the_result_and_views_share_memory():
    a, out = xp.asarray(A), xp.zeros((4, 3))
    assert xp.einsum("ij->ji", a, out=out) is out
    assert (out.numpy() == A.T).all()
    diagonal = xp.einsum("ii->i", square := xp.asarray(S))
    square[1, 1] = 9
    assert diagonal[1] == 9


def test_operands_without_a_device_go_to_that_of_the_others():
    a = xp.asarray(A, device="null:gfx1100")
    assert xp.einsum("ij,jk->ik", a, B).device == "null:gfx1100"
    with pytest.raises(errors.WrongDeviceError):
        xp.einsum("ij,jk->ik", a, xp.asarray(B, device="cpu:0"))


def test_numpy_calls_ours():
    found = np.einsum("ij,jk", xp.asarray(A), xp.asarray(B))
    assert isinstance(found, xp.Array)


@pytest.mark.parametrize(
    ("text", "operands", "match"),
    [
        ("ij,jk", (A,), "for 2 operands, and 1"),
        ("ij,j3", (A, B), "more than letters"),
        ("i.j", (A,), "more than letters"),
        ("......", (A,), "more than letters"),
        ("i", (A,), "names 1 axes of an operand that has 2"),
        ("ijk", (A,), "names 3 axes"),
        ("ij->k", (A,), "no operand has"),
        ("ij->ii", (A,), "a label twice"),
        ("...i->i", (D,), "needs an ellipsis"),
        ("ij,jk", (A, A), "label 'j' have 4 and 3"),
        ("ii", (A,), "label 'i' have 3 and 4"),
    ],
)
def test_what_breaks_the_grammar_is_refused_as_numpy_refuses_it(text, operands, match):
    with pytest.raises(ValueError):  # noqa: PT011 (only that NumPy refuses it too)
        np.einsum(text, *operands)
    with pytest.raises(ValueError, match=match):
        xp.einsum(text, *operands)


def test_other_arguments_are_refused():
    with pytest.raises(errors.InvalidArgumentError, match="known are True, False and greedy, optimal"):
        xp.einsum("ij,jk", A, B, optimize="best")
    with pytest.raises(errors.InvalidArgumentError, match="a text of labels is expected first"):
        xp.einsum(A)
    with pytest.raises(errors.InvalidTypeError, match="a list of labels"):
        xp.einsum(A, B)
    with pytest.raises(errors.InvalidArgumentError, match="from 0 to 51"):
        xp.einsum(A, [0, 99])

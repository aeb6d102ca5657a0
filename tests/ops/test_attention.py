"""amdgpu.ops: attention and its gradients against their formulas in float64 and finite differences."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from ops_oracle import FLOATS

attend, gradients = ops.scaled_dot_product_attention, ops.scaled_dot_product_attention_gradient
TOLERANCES = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 4e-6, "float64": 1e-13}


def wide(array):
    return np.asarray(array).astype(np.float64)


def shares_of(q, k, mask=None, is_causal=False, scale=None):
    """The shares of keys in float64, in full; rows that see no key are zeros."""
    q, k = wide(q), wide(k)
    if q.ndim > 2:
        k = np.repeat(k, q.shape[-3] // k.shape[-3], axis=-3)
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + wide(mask)
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = np.max(scores, -1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1, total)


def expected_of(q, k, v, **options):
    values = wide(v)
    if values.ndim > 2:
        values = np.repeat(values, q.shape[-3] // v.shape[-3], axis=-3)
    return shares_of(q, k, **options) @ values


def expected_gradients(q, k, v, upper, *, scale=None, **options):
    """By the chain rule, with matrices of queries by keys."""
    factor = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    shares = shares_of(q, k, scale=scale, **options)
    group = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
    keys, values = (np.repeat(wide(x), group, axis=-3) if q.ndim > 2 else wide(x) for x in (k, v))
    upper = wide(upper)
    by_shares = upper @ np.swapaxes(values, -1, -2)
    by_scores = shares * (by_shares - (shares * by_shares).sum(-1, keepdims=True))
    by_k, by_v = np.swapaxes(by_scores, -1, -2) @ wide(q) * factor, np.swapaxes(shares, -1, -2) @ upper
    if q.ndim > 2:
        by_k, by_v = (x.reshape(*k.shape[:-2], group, *x.shape[-2:]).sum(-3) for x in (by_k, by_v))
    return by_scores @ keys * factor, by_k, by_v


def check(result, expected, dtype, scale=1.0):
    result = np.asarray(result)
    assert (result.dtype, result.shape) == (dtype, expected.shape)
    tolerance = TOLERANCES[np.dtype(dtype).name]
    np.testing.assert_allclose(result.astype(np.float64), expected, tolerance, tolerance * scale)


def scene(rng, dtype, heads=(2, 4), key_heads=None, lengths=(70, 130), sizes=(16, 16)):
    key_heads = heads if key_heads is None else key_heads
    shapes = ((*heads, lengths[0], sizes[0]), (*key_heads, lengths[1], sizes[0]), (*key_heads, lengths[1], sizes[1]))
    return tuple((rng.standard_normal(shape)).astype(dtype) for shape in shapes)


SCENES = {
    "plain": ({}, {}),
    "one query": ({"lengths": (1, 200)}, {}),
    "causal": ({"lengths": (200, 200), "heads": (3,)}, {"is_causal": True}),
    "more queries than keys": ({"lengths": (150, 20)}, {"is_causal": True}),
    "grouped": ({"heads": (2, 6), "key_heads": (2, 2)}, {"scale": 0.3}),
    "without heads": ({"heads": (), "lengths": (97, 5)}, {}),
    "odd sizes": ({"heads": (1, 2, 1), "sizes": (7, 19)}, {"is_causal": True}),
    "wide": ({"heads": (1,), "lengths": (20, 30), "sizes": (200, 130)}, {}),
}


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_attention_and_its_gradients_are_their_formulas(dtype, name, rng):
    shapes, options = SCENES[name]
    q, k, v = scene(rng, dtype, **shapes)
    expected = expected_of(q, k, v, **options)
    check(attend(q, k, v, **options), expected, dtype, 4)
    upper = rng.standard_normal(expected.shape).astype(dtype)
    wanted = expected_gradients(q, k, v, upper, **options)
    for found, slope in zip(gradients(q, k, v, upper, **options), wanted, strict=True):
        check(found, slope, dtype, 40)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("shape", [(70, 130), (1, 130), (4, 1, 1), (2, 1, 70, 130), (1,), ()])
def test_masks_are_broadcast(shape, dtype, rng):
    q, k, v = scene(rng, dtype)
    upper = rng.standard_normal(q.shape).astype(dtype)
    seen = rng.random(shape) > 0.4
    added = (rng.standard_normal(shape) * 2).astype(dtype)
    for mask in (np.asarray(seen), np.asarray(added)):
        for is_causal in (False, True):
            options = {"mask": mask, "is_causal": is_causal}
            check(attend(q, k, v, **options), expected_of(q, k, v, **options), dtype, 4)
            wanted = expected_gradients(q, k, v, upper, **options)
            for found, slope in zip(gradients(q, k, v, upper, **options), wanted, strict=True):
                check(found, slope, dtype, 40)


def test_gradients_are_finite_differences(rng):
    given = scene(rng, np.float64, (2,), (1,), (3, 4), (2, 3))
    upper, mask = rng.standard_normal((2, 3, 3)), rng.standard_normal((3, 4))
    found = gradients(*given, upper, mask=mask, is_causal=True)
    for place, slope in enumerate(found):
        for at in np.ndindex(given[place].shape):
            moved = [x.copy() for x in given]
            sides = []
            for step in (1e-6, -2e-6):
                moved[place][at] += step
                sides.append((attend(*moved, mask=mask, is_causal=True) * upper).sum())
            np.testing.assert_allclose(slope[at], (sides[0] - sides[1]) / 2e-6, 1e-6, 1e-8)


def test_arrays_with_gaps_are_read_where_they_lie(rng):
    q, k, v = scene(rng, np.float32, (3, 2), lengths=(40, 50))
    moved = tuple(np.ascontiguousarray(np.moveaxis(x, 1, 2)).swapaxes(1, 2) for x in (q, k, v))
    transposed = tuple(np.ascontiguousarray(x.swapaxes(-1, -2)).swapaxes(-1, -2)[..., ::-1, :] for x in (q, k, v))
    assert not moved[0].flags.c_contiguous
    assert np.array_equal(attend(*moved), attend(q, k, v))
    expected = expected_of(*(x[..., ::-1, :] for x in (q, k, v)))
    check(attend(*transposed), expected, np.float32, 4)
    for found, same in zip(gradients(*moved, q), gradients(q, k, v, q), strict=True):
        assert np.array_equal(found, same)
    repeated = np.broadcast_to(k[:1], k.shape)
    check(attend(q, repeated, v), expected_of(q, repeated, v), np.float32, 4)


def test_large_scores_do_not_overflow(rng):
    q, k, v = (x * 100 for x in scene(rng, np.float32, (1,), lengths=(20, 300)))
    check(attend(q, k, v), expected_of(q, k, v), np.float32, 200)


def test_who_sees_no_key_gets_zeros():
    q, k, v = (np.ones((2, n, 3), np.float32) for n in (4, 5, 5))
    mask = np.ones((4, 5), bool)
    mask[1] = False
    found = attend(q, k, v, mask=mask)
    assert found[:, 1].tolist() == [[0, 0, 0]] * 2
    assert found[:, 0].tolist() == [[1, 1, 1]] * 2
    by_q, by_k, by_v = gradients(q, k, v, q, mask=mask)
    assert not by_q[:, 1].any()
    assert np.isfinite(by_k).all()
    assert by_v.sum() == pytest.approx(2 * 3 * 3)
    assert attend(q, k[:, :0], v[:, :0]).tolist() == np.zeros((2, 4, 3)).tolist()


def test_nan_stays(rng):
    q, k, v = scene(rng, np.float32, (1,), lengths=(3, 4))
    q[0, 1, 0] = np.nan
    assert np.isnan(attend(q, k, v)[0]).all(-1).tolist() == [False, True, False]


def test_attention_of_nothing():
    for shape in ((0, 4, 3), (2, 0, 3)):
        x = np.ones(shape, np.float32)
        assert attend(x, x, x).shape == shape
        assert [one.shape for one in gradients(x, x, x, x)] == [shape] * 3
    q, k = np.ones((2, 0, 3), np.float32), np.ones((2, 5, 3), np.float32)
    assert not gradients(q, k, k, q)[1].any()
    assert attend(k, k, k[..., :0]).shape == (2, 5, 0)
    sizeless = attend(k[..., :0], k[..., :0], k)
    assert sizeless.tolist() == np.ones((2, 5, 3)).tolist()


def test_results_do_not_depend_on_the_number_of_threads(rng):
    q, k, v = scene(rng, np.float32, (4,), lengths=(300, 500))
    upper = rng.standard_normal(q.shape).astype(np.float32)
    whole, all_gradients = attend(q, k, v), gradients(q, k, v, upper)
    for head in range(4):
        # One head alone is less work, on fewer threads.
        own = slice(head, head + 1)
        assert np.array_equal(attend(q[own], k[own], v[own]), whole[own])
        for found, wanted in zip(gradients(q[own], k[own], v[own], upper[own]), all_gradients, strict=True):
            assert np.array_equal(found, wanted[own])


Q = np.ones((2, 4, 5, 8), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (errors.ShapeMismatchError, "they have as many axes", lambda: attend(Q, Q[0], Q)),
        (errors.ShapeMismatchError, "two at least", lambda: attend(Q[0, 0, 0], Q[0, 0, 0], Q[0, 0, 0])),
        (errors.ShapeMismatchError, "queries and keys have one size", lambda: attend(Q, Q[..., :4], Q)),
        (errors.ShapeMismatchError, "each key has its value", lambda: attend(Q, Q, Q[:, :, :3])),
        (errors.ShapeMismatchError, "a multiple of those of k", lambda: attend(Q, Q[:, :3], Q[:, :3])),
        (errors.ShapeMismatchError, "batches are the same", lambda: attend(Q, Q[:1], Q[:1])),
        (errors.UnsupportedDtypeError, "attention is of floats", lambda: attend(Q.astype(int), Q, Q)),
        (errors.UnsupportedDtypeError, "q has dtype float32 and v float64", lambda: attend(Q, Q, Q.astype("f8"))),
        (errors.UnsupportedDtypeError, "and mask int64", lambda: attend(Q, Q, Q, mask=np.ones((5, 5), int))),
        (
            errors.ShapeMismatchError,
            r"mask has shape \[4, 5\], which does not",
            lambda: attend(Q, Q, Q, mask=Q[0, 0, :4, :5]),
        ),
        (errors.InvalidTypeError, "is_causal", lambda: attend(Q, Q, Q, is_causal=1)),
        (errors.InvalidTypeError, "scale", lambda: attend(Q, Q, Q, scale="1")),
        (errors.ShapeMismatchError, "gradient has shape", lambda: gradients(Q, Q, Q, Q[:1])),
        (errors.UnsupportedDtypeError, "and gradient float64", lambda: gradients(Q, Q, Q, Q.astype("f8"))),
        (errors.InvalidTypeError, "q is no array", lambda: attend("words", Q, Q)),
    ],
)
def test_what_does_not_fit_is_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_kernels_refuse_what_the_library_refuses():
    with amdgpu.initialize_device("cpu:0") as device:
        for arguments in ((Q, Q[0], Q), (Q, Q, Q.astype("f8")), (Q, Q, Q, np.ones((4, 5), bool))):
            with pytest.raises(errors.AmdgpuError) as expected:
                cases.on_host("attention")(*arguments)
            with pytest.raises(type(expected.value)) as found:
                cases.on_device("attention")(*arguments, device=device)
            assert str(found.value) == str(expected.value)

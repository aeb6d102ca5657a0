"""matrix_multiply of vectors and stacks, and what follows the sums: bias, residual, activation, alpha and beta."""

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import _native, errors, ops
from amdgpu._generated.operations import ACTIVATIONS as TABLE
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import matmul_bound

DTYPES = {"fp32": np.float32, "fp64": np.float64}
ACTIVATIONS = [name for name, row in TABLE.items() if row.follows_matmul]


def check(a, b, result):
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert result.shape == exact.shape
    magnitude = np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert (np.abs(result - exact) <= (a.shape[-1] + 1) * np.finfo(result.dtype).eps * magnitude).all()


@st.composite
def stacked_shapes(draw):
    lead = draw(st.lists(st.integers(0, 3), max_size=3))
    m, k, n = (draw(st.integers(0, 20)) for _ in range(3))

    def thinned():
        kept = lead[draw(st.integers(0, len(lead))) :]
        return [1 if draw(st.booleans()) else extent for extent in kept]

    a = [*thinned(), m, k] if draw(st.integers(0, 4)) else [k]
    b = [*thinned(), k, n] if draw(st.integers(0, 4)) else [k]
    return tuple(a), tuple(b)


@settings(max_examples=150, deadline=None)
@given(stacked_shapes(), st.sampled_from(list(DTYPES)), st.booleans(), st.booleans())
def test_vectors_and_stacks_multiply_as_in_numpy(shapes, precision, is_reversed, is_spread):
    rng = np.random.default_rng(sum(sum(shape) for shape in shapes))
    a, b = (rng.standard_normal(shape).astype(DTYPES[precision]) for shape in shapes)
    if is_reversed:
        a, b = a[::-1], b[..., ::-1]
    if is_spread:
        a = np.repeat(a, 2, axis=-1)[..., ::2]
    result = amdgpu.matrix_multiply(a, b, precision=precision)
    assert result.dtype == DTYPES[precision]
    check(a, b, result)


@pytest.mark.parametrize("precision", ["fp32", "fp64", "bf16", "fp16", "int8"])
def test_a_stack_is_multiplied_matrix_by_matrix(precision, rng):
    dtype = {"fp64": np.float64, "int8": np.int8, "bf16": ml_dtypes.bfloat16, "fp16": np.float16}.get(
        precision, np.float32
    )
    a, b = ((rng.standard_normal(shape) * 20).astype(dtype) for shape in ((3, 5, 33, 20), (5, 20, 50)))
    result = amdgpu.matrix_multiply(a, b, precision=precision)
    assert result.shape == (3, 5, 33, 50)
    for i in range(3):
        for j in range(5):
            assert np.array_equal(result[i, j], amdgpu.matrix_multiply(a[i, j], b[j], precision=precision))
    turned = amdgpu.matrix_multiply(
        a.swapaxes(-1, -2).copy(), b.swapaxes(-1, -2).copy(), precision=precision, transpose_a=True, transpose_b=True
    )
    assert np.array_equal(result, turned)


def test_one_matrix_for_a_whole_stack_is_one_product(rng):
    a, b = rng.random((6, 7, 30, 40), dtype=np.float32), rng.random((40, 25), dtype=np.float32)
    result = amdgpu.matrix_multiply(a, b)
    assert np.array_equal(result.reshape(-1, 25), amdgpu.matrix_multiply(a.reshape(-1, 40), b))
    out = np.empty((7, 6, 30, 25), np.float32).swapaxes(0, 1)
    assert amdgpu.matrix_multiply(a, b, out=out) is out
    check(a, b, out)


def test_stacks_are_written_into_any_strides(rng):
    a, b = rng.random((4, 9, 11), dtype=np.float32), rng.random((4, 11, 6), dtype=np.float32)
    room = np.full((9, 4, 12), np.nan, np.float32)
    out = room[:, ::-1, ::2].swapaxes(0, 1)
    amdgpu.matrix_multiply(a, b, out=out)
    check(a, b, out)
    assert np.isnan(room[:, :, 1::2]).all()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("size", [(5, 3, 7), (64, 64, 64), (65, 130, 47), (1, 300, 200), (200, 300, 1), (300, 17, 700)])
def test_an_epilogue_has_the_bits_of_the_operations_after_the_product(size, activation, precision, rng):
    m, k, n = size
    dtype = DTYPES[precision]
    a, b = rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)
    bias, residual = rng.standard_normal(n).astype(dtype), rng.standard_normal((m, n)).astype(dtype)
    fused = amdgpu.matrix_multiply(a, b, precision=precision, bias=bias, residual=residual, activation=activation)
    steps = ops.add(ops.add(amdgpu.matrix_multiply(a, b, precision=precision), bias), residual)
    # The slope is a float32 in every precision.
    options = {"alpha": float(np.float32(0.01))} if activation == "leaky_relu" else {}
    expected = steps if activation == "identity" else getattr(ops, activation)(steps, **options)
    assert np.array_equal(fused, expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("size", [(40, 30, 50), (3, 200, 100), (100, 200, 3), (150, 300, 260)])
def test_alpha_and_beta_scale_before_bias_and_activation(size, order, rng):
    m, k, n = size
    a, b = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    held, bias, residual = rng.standard_normal((m, n)), rng.standard_normal(2 * n)[::2], rng.standard_normal((m, 1))
    out = np.array(held, order=order)
    options = {"alpha": -0.5, "beta": 2.0, "bias": bias, "residual": residual, "activation": "relu"}
    assert amdgpu.matrix_multiply(a, b, 0, "fp64", out=out, **options) is out
    expected = np.maximum(-0.5 * (a @ b) + 2 * held + bias + residual, 0)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
@pytest.mark.parametrize("beta", [0.0, 0.5])
def test_narrow_results_are_rounded_after_the_epilogue(precision, beta, rng):
    dtype = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}[precision]
    a, b, held = (rng.standard_normal(shape).astype(dtype) for shape in ((40, 30), (30, 70), (40, 70)))
    bias, residual = rng.standard_normal(70).astype(np.float32), rng.standard_normal((40, 70)).astype(np.float32)
    for layout in (np.array(held), np.asfortranarray(held), np.repeat(held, 2, axis=1)[:, ::2]):
        amdgpu.matrix_multiply(
            a, b, 0, precision, out=layout, beta=beta, bias=bias, residual=residual, activation="gelu"
        )
        sums = a.astype(np.float64) @ b.astype(np.float64) + beta * held.astype(np.float64) + bias + residual
        exact = ops.gelu(sums)
        step = np.abs(exact) * (2**-8 if precision == "bf16" else 2**-11) + 1e-4
        assert (np.abs(layout.astype(np.float64) - exact) <= step).all()


def test_integer_products_take_integer_epilogues(rng):
    a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((3, 20, 30), (30, 50)))
    bias, residual = rng.integers(-1000, 1000, 50), rng.integers(-1000, 1000, (20, 50))
    result = amdgpu.matrix_multiply(a, b, 0, "int8", bias=bias, residual=residual, activation="relu")
    expected = np.maximum(a.astype(np.int32) @ b.astype(np.int32) + bias + residual, 0)
    assert result.dtype == np.int32
    assert np.array_equal(result, expected)
    with pytest.raises(errors.UnsupportedDtypeError, match="gelu is not computed for integers"):
        amdgpu.matrix_multiply(a, b, 0, "int8", activation="gelu")
    with pytest.raises(errors.UnsupportedDtypeError, match="bias has dtype float64; an integer product takes integers"):
        amdgpu.matrix_multiply(a, b, 0, "int8", bias=np.ones(50))


@pytest.mark.parametrize("precision", ["fp32", "fp64", "bf16", "fp16", "int8"])
@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((130, 300), (300, 170)),
        ((1, 700), (700, 900)),
        ((900, 700), (700, 1)),
        ((1000, 3), (3, 900)),
        ((6, 300), (300, 800)),
        ((33, 40, 50), (33, 50, 20)),
        ((2, 150, 260), (2, 260, 270)),
    ],
)
def test_any_number_of_threads_gives_the_same_bits(shape_a, shape_b, precision, rng):
    from amdgpu import _native

    dtype = {"fp64": np.float64, "int8": np.int8}.get(precision, np.float32)
    a, b = ((rng.standard_normal(shape) * 20).astype(dtype) for shape in (shape_a, shape_b))
    bias = (rng.standard_normal(shape_b[-1]) * 20).astype(np.int32 if dtype == np.int8 else dtype)
    results = [
        _native.matmul(a, b, precision=precision, threads=threads, bias=bias, activation="relu")
        for threads in (1, 2, 3, 7)
    ]
    assert results[0].any()
    for result in results[1:]:
        assert results[0].tobytes() == result.tobytes()


REFUSED = {
    "inner dimensions": (
        ((2, 3), (2, 3)),
        {},
        errors.ShapeMismatchError,
        r"inner dimensions differ: \[2, 3\] @ \[2, 3\]",
    ),
    "stacks": (((2, 3, 4), (3, 4, 5)), {}, errors.ShapeMismatchError, r"do not broadcast.*\[2, 3, 4\] @ \[3, 4, 5\]"),
    "no axes": (((), (2, 2)), {}, errors.ShapeMismatchError, "vectors, matrices and stacks"),
    "bias": (((2, 3), (3, 4)), {"bias": np.ones(3)}, errors.ShapeMismatchError, r"bias is \(3\)"),
    "bias of two axes": (
        ((2, 3), (3, 4)),
        {"bias": np.ones((2, 4))},
        errors.ShapeMismatchError,
        "bias has 2 dimensions",
    ),
    "residual": (
        ((2, 3), (3, 4)),
        {"residual": np.ones((3, 4))},
        errors.ShapeMismatchError,
        r"residual has shape \[3, 4\]",
    ),
    "larger residual": (
        ((2, 3), (3, 4)),
        {"residual": np.ones((2, 2, 4))},
        errors.ShapeMismatchError,
        "does not broadcast",
    ),
    "activation": (((2, 3), (3, 4)), {"activation": "swish"}, errors.InvalidArgumentError, "known are identity, relu"),
    "softmax": (((2, 3), (3, 4)), {"activation": "softmax"}, errors.InvalidArgumentError, "softmax is no activation"),
    "beta": (((2, 3), (3, 4)), {"beta": 1.0}, errors.InvalidArgumentError, "no out was given"),
    "shape of out": (
        ((2, 3), (3, 4)),
        {"out": np.ones((4, 2), np.float32)},
        errors.ShapeMismatchError,
        r"out has shape \[4, 2\], the product \[2, 4\]",
    ),
    "axes of out": (
        ((5, 2, 3), (3, 4)),
        {"out": np.ones((2, 4), np.float32)},
        errors.ShapeMismatchError,
        r"the product \[5, 2, 4\]",
    ),
    "repeated out": (
        ((5, 2, 3), (3, 4)),
        {"out": np.lib.stride_tricks.as_strided(np.ones((2, 4), np.float32), (5, 2, 4), (0, 16, 4))},
        errors.InvalidArgumentError,
        "elements that share memory",
    ),
    "complex bias": (((2, 3), (3, 4)), {"bias": np.ones(4, complex)}, errors.UnsupportedDtypeError, "bias is complex"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused_by_name(case):
    shapes, options, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        amdgpu.matrix_multiply(*(np.ones(shape, np.float32) for shape in shapes), **options)


def test_an_out_that_shares_memory_with_any_argument_is_refused(rng):
    room = rng.random((6, 8, 8), dtype=np.float32)
    a, b = rng.random((2, 3, 8, 8), dtype=np.float32)
    for overlapping in ({"a": room[1:4]}, {"b": room[2:5]}, {"residual": room[0:3]}, {"bias": room[1, 1]}):
        arguments = {"a": a, "b": b} | overlapping
        with pytest.raises(errors.InvalidArgumentError, match=f"shares memory with {next(iter(overlapping))}"):
            amdgpu.matrix_multiply(arguments.pop("a"), arguments.pop("b"), out=room[1:4], **arguments)
    read_only = room[:3]
    read_only.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        amdgpu.matrix_multiply(a, b, out=read_only)
    amdgpu.matrix_multiply(room[:3, :, ::2], b[:, :4], out=room[3:])


def test_a_product_larger_than_memory_is_a_memory_error():
    a = np.broadcast_to(np.float32(1), (1 << 24, 1))
    with pytest.raises(MemoryError):
        amdgpu.matrix_multiply(a, a.T)


def test_bounds_of_the_error_hold_for_stacks(rng):
    a, b = rng.standard_normal((4, 30, 500)).astype(np.float32), rng.standard_normal((500, 20)).astype(np.float32)
    result = amdgpu.matrix_multiply(a, b)
    for matrix, product in zip(a, result, strict=True):
        exact = matrix.astype(np.float64) @ b.astype(np.float64)
        assert (np.abs(product - exact) <= matmul_bound(matrix, b, np.float32) * (1 + 1e-6)).all()


@pytest.mark.parametrize("precision", ["fp32", "fp64"])
@pytest.mark.parametrize("is_spread", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 3, 4), (4, 4, 4), (3, 16, 5), (16, 7, 16), (9, 16, 17), (17, 2, 3)])
def test_a_small_matrix_has_the_same_bits_alone_and_in_a_stack(shape, is_spread, precision, rng):
    m, n, k = shape
    a, b = (rng.standard_normal((300, *pair)).astype(DTYPES[precision]) for pair in ((m, k), (k, n)))
    if is_spread:
        # Two axes before the matrices, one of them backwards, and matrices apart from each other.
        a, b = a.reshape(20, 15, m, k)[::-1, ::2], np.repeat(b, 2, axis=0).reshape(20, 30, k, n)[:, ::4]
    stack = amdgpu.matrix_multiply(a, b, precision=precision)
    check(a, b, stack)
    for index in np.ndindex(*stack.shape[:-2]):
        assert (amdgpu.matrix_multiply(a[index], b[index], precision=precision) == stack[index]).all()
    for threads in (1, 2, 3):
        assert (_native.matmul(a, b, precision=precision, threads=threads) == stack).all()

"""amdgpu.ops.geam against NumPy."""

import amdgpu
import device_ops_cases as cases
import numpy as np
import pytest
from amdgpu import errors, ops
from ops_oracle import FLOATS

TOLERANCES = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-6, "float64": 1e-15}


def transposed(x, is_transposed):
    return np.swapaxes(x, -1, -2) if is_transposed else x


def given(rng, shape, is_transposed, dtype):
    return np.ascontiguousarray(transposed(rng.standard_normal(shape), is_transposed)).astype(dtype)


def compute(a, b, device=None, **options):
    return (
        ops.geam(a, b, **options) if device is None else cases.on_device("geam")(a, b, device=device, **options).numpy()
    )


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_sums_of_matrices_are_numpys(dtype, transpose_a, transpose_b, rng):
    options = {"transpose_a": transpose_a, "transpose_b": transpose_b}
    with amdgpu.initialize_device("cpu:0") as kernels:
        for shape, other in (((5, 70), (5, 70)), ((3, 4, 6), (3, 4, 6)), ((2, 1, 4, 6), (3, 4, 6)), ((0, 3), (0, 3))):
            a, b = given(rng, shape, transpose_a, dtype), given(rng, other, transpose_b, dtype)
            for alpha, beta in ((1.0, 1.0), (2.0, -0.5), (0.0, 3.0), (0.25, 0.0), (0.0, 0.0)):
                wide = (
                    transposed(x.astype(np.float64), is_transposed)
                    for x, is_transposed in ((a, transpose_a), (b, transpose_b))
                )
                first, second = wide
                expected = alpha * first + beta * second
                for device in (None, kernels):
                    found = compute(a, b, device, alpha=alpha, beta=beta, **options)
                    assert (found.dtype, found.shape) == (dtype, expected.shape)
                    tolerance = TOLERANCES[np.dtype(dtype).name]
                    np.testing.assert_allclose(found.astype(np.float64), expected, tolerance, tolerance)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_sums_of_complex_matrices_are_numpys(dtype, rng):
    a, b = ((rng.standard_normal((2, 3, 5)) + 1j * rng.standard_normal((2, 3, 5))).astype(dtype) for _ in range(2))
    tolerance = TOLERANCES["float32" if dtype == "complex64" else "float64"]
    with amdgpu.initialize_device("cpu:0") as kernels:
        for alpha, beta in ((2.0, -0.5), (0.0, 3.0), (0.25, 0.0), (0.0, 0.0)):
            by_columns = np.ascontiguousarray(np.swapaxes(a, -1, -2))
            for device in (None, kernels):
                found = compute(by_columns, b, device, alpha=alpha, beta=beta, transpose_a=True)
                assert found.dtype == dtype
                np.testing.assert_allclose(found, alpha * a + beta * b, tolerance, tolerance)
    # Factors are real: what is infinite in one part leaves the other alone.
    infinite = np.array([[complex(np.inf, 1)]], dtype)
    assert ops.geam(infinite, np.ones((1, 1), dtype), alpha=2).tolist() == [[complex(np.inf, 2)]]
    out = np.empty((2, 3, 5), dtype)
    assert ops.geam(a, b, out=out) is out
    np.testing.assert_allclose(out, a + b, tolerance)
    assert ops.geam(amdgpu.array(a), amdgpu.array(b)).numpy().tolist() == out.tolist()
    with pytest.raises(errors.UnsupportedDtypeError, match="floats or complex numbers of one dtype"):
        ops.geam(a, b.real.copy())
    with pytest.raises(errors.UnsupportedDtypeError, match="do not become part of a graph"):
        amdgpu.jit(ops.geam)(amdgpu.array(a), amdgpu.array(b))


def test_what_is_multiplied_by_zero_is_not_read():
    nan = np.full((2, 3), np.nan, np.float32)
    one = np.ones((2, 3), np.float32)
    assert ops.geam(nan, one, alpha=0, beta=2).tolist() == [[2] * 3] * 2
    assert ops.geam(one, nan, alpha=3, beta=0).tolist() == [[3] * 3] * 2
    assert ops.geam(nan, nan, alpha=0, beta=0).tolist() == [[0] * 3] * 2


def test_arrays_with_gaps(rng):
    base = rng.standard_normal((8, 10))
    a, b = base[::2, ::-2], base[1::2, 5:]
    np.testing.assert_array_equal(ops.geam(a, b, alpha=2.0), 2 * a + b)
    np.testing.assert_array_equal(ops.geam(a, b, transpose_a=True, transpose_b=True), (a + b).T)


def test_out_may_be_an_operand_that_is_not_transposed(rng):
    a, b = rng.standard_normal((2, 4, 4))
    expected = a + 2 * b
    out = np.empty((4, 8))[:, ::2]
    assert ops.geam(a, b, beta=2.0, out=out) is out
    np.testing.assert_array_equal(out, expected)
    assert ops.geam(a, b, beta=2.0, out=a) is a
    np.testing.assert_array_equal(a, expected)
    expected = a.T + b
    ops.geam(a, b, transpose_a=True, out=b)
    np.testing.assert_array_equal(b, expected)
    ours = amdgpu.array(b, device="cpu:0")
    assert ops.geam(a, ours, alpha=0.0, beta=3.0, out=ours) is ours
    np.testing.assert_array_equal(ours.numpy(), 3 * expected)
    assert ops.geam(a, b, alpha=0, beta=0, out=b) is b
    assert not b.any()
    # What is not read may lie under the result.
    ops.geam(a, b, transpose_a=True, alpha=0.0, out=a)
    assert not a.any()


A = np.ones((2, 3), np.float32)


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (errors.ShapeMismatchError, "geam: a has shape .*; a matrix has two axes", lambda: ops.geam(A[0], A)),
        (errors.ShapeMismatchError, "check transpose_a and transpose_b", lambda: ops.geam(A, A, transpose_b=True)),
        (errors.ShapeMismatchError, "broadcast", lambda: ops.geam(np.ones((2, 2, 3)), np.ones((3, 2, 3)))),
        (errors.UnsupportedDtypeError, "a has dtype float32 and b float64", lambda: ops.geam(A, A.astype("f8"))),
        (
            errors.UnsupportedDtypeError,
            "floats or complex numbers of one dtype",
            lambda: ops.geam(A.astype(int), A.astype(int)),
        ),
        (errors.InvalidTypeError, "alpha", lambda: ops.geam(A, A, alpha="2")),
        (errors.InvalidTypeError, "transpose_a", lambda: ops.geam(A, A, transpose_a=1)),
        (errors.ShapeMismatchError, "out has shape", lambda: ops.geam(A, A, out=np.empty((3, 2), np.float32))),
        (errors.UnsupportedDtypeError, "out has dtype", lambda: ops.geam(A, A, out=np.empty((2, 3)))),
        (errors.InvalidTypeError, "out", lambda: ops.geam(A, A, out="there")),
    ],
)
def test_what_does_not_fit_is_refused(error, message, call):
    with pytest.raises(error, match=message):
        call()


def test_out_that_overlaps_is_refused():
    square = np.ones((3, 3))
    with pytest.raises(errors.InvalidArgumentError, match="geam: out overlaps an input"):
        ops.geam(square, square, transpose_a=True, out=square)
    fixed = np.ones((3, 3))
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        ops.geam(square, square, out=fixed)

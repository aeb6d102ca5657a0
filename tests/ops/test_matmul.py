"""matrix_multiply against NumPy in float64."""

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import errors
from hypothesis import given, settings
from hypothesis import strategies as st
from tolerances import matmul_bound

SIZES = [
    (1, 1, 1),
    (2, 3, 4),
    (7, 1, 9),
    (64, 64, 64),
    (65, 67, 129),
    (1, 300, 1),
    (300, 1, 300),
    (128, 513, 31),
    (511, 257, 130),
]
PRECISIONS = {"fp32": np.float32, "fp64": np.float64, "tf32": np.float32}


def check(a, b, result, dtype):
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert result.dtype == dtype
    assert result.shape == exact.shape
    assert (
        np.abs(result - exact) <= matmul_bound(a, b, dtype) * (1 + 1e-6) + 1e-12 * np.abs(exact) * (dtype == np.float64)
    ).all()


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("size", SIZES)
def test_products_are_within_the_error_bound(size, precision, rng):
    m, k, n = size
    dtype = PRECISIONS[precision]
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    check(a, b, amdgpu.matrix_multiply(a, b, precision=precision), dtype)


@settings(max_examples=60, deadline=None)
@given(
    st.tuples(*[st.integers(0, 40)] * 3),
    st.sampled_from(["C", "T", "step", "reversed"]),
    st.sampled_from(["C", "T", "step", "reversed"]),
    st.sampled_from(["fp32", "fp64"]),
)
def test_any_strides_give_the_product(size, layout_a, layout_b, precision):
    m, k, n = size
    dtype = PRECISIONS[precision]
    rng = np.random.default_rng(m * 1681 + k * 41 + n)

    def arrange(rows, columns, layout):
        if layout == "T":
            return rng.standard_normal((columns, rows)).astype(dtype).T
        if layout == "step":
            return rng.standard_normal((rows * 2, columns * 3)).astype(dtype)[::2, ::3]
        if layout == "reversed":
            return rng.standard_normal((rows, columns)).astype(dtype)[::-1, ::-1]
        return rng.standard_normal((rows, columns)).astype(dtype)

    a, b = arrange(m, k, layout_a), arrange(k, n, layout_b)
    check(a, b, amdgpu.matrix_multiply(a, b, precision=precision), dtype)


NARROW = {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}


@pytest.mark.parametrize("precision", NARROW)
@pytest.mark.parametrize("size", SIZES)
def test_float32_operands_are_rounded_to_the_precision_and_summed_in_float32(size, precision, rng):
    m, k, n = size
    a, b = (rng.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    rounded = [array.astype(NARROW[precision]).astype(np.float32) for array in (a, b)]
    check(*rounded, amdgpu.matrix_multiply(a, b, precision=precision), np.float32)


@pytest.mark.parametrize("precision", NARROW)
@pytest.mark.parametrize("size", SIZES)
def test_narrow_operands_give_narrow_results_rounded_once(size, precision, rng):
    m, k, n = size
    dtype = NARROW[precision]
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((m, k), (k, n)))
    result = amdgpu.matrix_multiply(a, b, precision=precision)
    assert result.dtype == dtype
    wide_a, wide_b = a.astype(np.float32), b.astype(np.float32)
    exact = wide_a.astype(np.float64) @ wide_b.astype(np.float64)
    half_unit = np.abs(exact) * float(ml_dtypes.finfo(dtype).eps) / 2
    least = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    assert (
        np.abs(result.astype(np.float64) - exact) <= matmul_bound(wide_a, wide_b, np.float32) + half_unit * 1.01 + least
    ).all()


@pytest.mark.parametrize("size", SIZES)
def test_int8_products_are_exact(size, rng):
    m, k, n = size
    a, b = (rng.integers(-128, 128, shape, dtype=np.int8) for shape in ((m, k), (k, n)))
    result = amdgpu.matrix_multiply(a, b, precision="int8")
    assert result.dtype == np.int32
    assert np.array_equal(result, a.astype(np.int32) @ b.astype(np.int32))


def test_int8_refuses_operands_that_would_have_to_be_quantised():
    with pytest.raises(errors.UnsupportedDtypeError, match="quantise"):
        amdgpu.matrix_multiply(np.eye(2), np.eye(2, dtype=np.int8), precision="int8")


@pytest.mark.parametrize("precision", ["fp64", "fp32", "bf16", "fp16", "int8"])
def test_transposes_are_taken_without_a_copy_of_the_caller(precision, rng):
    dtype = {"fp64": np.float64, "int8": np.int8}.get(precision, np.float32)
    a, b = ((rng.standard_normal(shape) * 20).astype(dtype) for shape in ((33, 20), (50, 33)))
    straight = amdgpu.matrix_multiply(a.T.copy(), b.T.copy(), precision=precision)
    turned = amdgpu.matrix_multiply(a, b, precision=precision, transpose_a=True, transpose_b=True)
    assert turned.shape == (20, 50)
    assert np.array_equal(straight, turned)


def test_a_not_a_number_stays_one_in_every_precision():
    a = np.array([[np.nan, 1.0]], np.float32)
    for precision in ("fp32", "bf16", "fp16"):
        assert np.isnan(amdgpu.matrix_multiply(a, a.T.copy(), precision=precision)).all()


def test_out_is_written_in_place_and_returned(rng):
    a, b = rng.random((2, 50, 50), dtype=np.float32)
    out = np.full((50, 50), np.nan, np.float32)
    assert amdgpu.matrix_multiply(a, b, out=out) is out
    check(a, b, out, np.float32)


def test_sequences_integers_and_device_arrays_are_accepted():
    assert amdgpu.matrix_multiply([[1, 2]], [[3], [4]]).tolist() == [[11.0]]
    a = amdgpu.array(np.eye(3, dtype="float32"))
    b = np.arange(9).reshape(3, 3)
    assert np.array_equal(amdgpu.matrix_multiply(a, b), b)


def test_empty_dimensions_are_as_in_numpy():
    for m, k, n in [(0, 3, 2), (2, 0, 3), (3, 2, 0), (0, 0, 0)]:
        result = amdgpu.matrix_multiply(np.ones((m, k), "float32"), np.ones((k, n), "float32"))
        assert np.array_equal(result, np.zeros((m, n)))


def test_nan_and_infinity_propagate():
    a = np.array([[1, np.inf], [np.nan, 0]], "float32")
    b = np.array([[0, 1], [1, 2]], "float32")
    result = amdgpu.matrix_multiply(a, b)
    with np.errstate(invalid="ignore"):
        expected = a @ b
    assert np.array_equal(result, expected, equal_nan=True)


def test_threads_do_not_change_the_bits(run_python, rng):
    code = (
        "import numpy as np, amdgpu, hashlib\n"
        "r = np.random.default_rng(5)\n"
        "a, b = r.random((700, 611), dtype=np.float32), r.random((611, 503), dtype=np.float32)\n"
        "print(hashlib.sha256(amdgpu.matrix_multiply(a, b).tobytes()).hexdigest())"
    )
    hashes = {run_python(code, AMDGPU_CPU_THREADS=threads).stdout for threads in ("1", "2", "3")}
    assert len(hashes) == 1


def test_mismatched_inner_dimensions_show_both_shapes():
    with pytest.raises(errors.ShapeMismatchError, match=r"\(?\[?2, 3\]?\)?.*\(?\[?4, 5\]?\)?"):
        amdgpu.matrix_multiply(np.ones((2, 3)), np.ones((4, 5)))


def test_operands_without_axes_are_refused():
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.matrix_multiply(np.float32(1), np.ones((3, 3), "float32"))


@pytest.mark.parametrize("bad", [np.array([["a", "b"], ["c", "d"]]), np.array([[object()]])])
def test_dtypes_that_have_no_product_are_refused(bad):
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.matrix_multiply(bad, bad)


def test_unknown_precisions_list_the_known_ones():
    with pytest.raises(errors.InvalidArgumentError, match="fp64, fp32"):
        amdgpu.matrix_multiply(np.eye(2), np.eye(2), precision="fp33")


def test_out_is_checked(rng):
    a = rng.random((4, 4), dtype=np.float32)
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.matrix_multiply(a, a, out=np.empty((4, 5), np.float32))
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.matrix_multiply(a, a, out=np.empty((4, 4)))
    with pytest.raises(errors.InvalidArgumentError, match="shares memory"):
        amdgpu.matrix_multiply(a, a, out=a)
    frozen = np.empty((4, 4), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        amdgpu.matrix_multiply(a, a, out=frozen)


def test_an_unknown_device_is_refused():
    with pytest.raises(errors.DeviceNotFoundError):
        amdgpu.matrix_multiply(np.eye(2), np.eye(2), 99)

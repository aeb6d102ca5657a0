"""The fast path in front of `amdgpu.matrix_multiply`: who calls it sees the Python function."""

import copy
import inspect
import pickle

import amdgpu
import ml_dtypes  # noqa: F401  (bfloat16 by name)
import numpy as np
import pytest
from amdgpu import errors


def decisions():
    snapshot = amdgpu.telemetry.snapshot()
    number = snapshot["names"]["names"].index("matrix_multiply")
    return sum(record["kind"] == "dispatch" and record["name_id"] == number for record in snapshot["records"])


def test_the_function_is_documented_named_and_pickled_as_functions_are():
    function = amdgpu.matrix_multiply
    assert function.__name__ == "matrix_multiply"
    assert "product of two matrices" in inspect.getdoc(function)
    parameters = inspect.signature(function).parameters
    assert list(parameters)[:5] == ["a", "b", "device_id", "precision", "out"]
    assert parameters["out"].kind is inspect.Parameter.KEYWORD_ONLY
    assert "matrix_multiply" in repr(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.deepcopy(function) is function


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("call", "precision"),
    [
        (amdgpu.matrix_multiply, None),
        (lambda a, b: amdgpu.matrix_multiply(a, b, "cpu"), None),
        (lambda a, b: amdgpu.matrix_multiply(a=a, b=b), None),
        (lambda a, b: amdgpu.matrix_multiply(a, b, precision=None), None),
        (lambda a, b: amdgpu.matrix_multiply(a, b, 0, "fp32"), "fp32"),
        (lambda a, b: amdgpu.matrix_multiply(a, b, 0, "tf32", out=None), "fp32"),
        (lambda a, b: amdgpu.matrix_multiply(a, b, precision="fp32"), "fp32"),
    ],
)
def test_every_way_to_call_gives_the_same_bits(call, precision, dtype, rng):
    a, b = (rng.standard_normal((7, 7)).astype(dtype) for _ in range(2))
    expected = amdgpu.matrix_multiply(a[None], b, 0, precision)[0]
    result = call(a, b)
    assert result.dtype == expected.dtype == (np.float32 if precision else dtype)
    assert (result == expected).all()


NARROW = ("bool", "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float32")
WIDE = ("int32", "uint32", "int64", "uint64", "float64")


def numbers(dtype):
    return np.arange(6).reshape(2, 3).astype(dtype), np.arange(6).reshape(3, 2).astype(dtype)


@pytest.mark.parametrize("other", NARROW + WIDE)
@pytest.mark.parametrize("dtype", NARROW + WIDE)
def test_the_result_keeps_the_digits_of_its_operands(dtype, other):
    a, b = numbers(dtype)[0], numbers(other)[1]
    expected = "float64" if dtype in WIDE or other in WIDE else "float32"
    exact = a.astype(float) @ b.astype(float)
    on_device = multiply_on_device(amdgpu.array(a, device="cpu:0"), amdgpu.array(b, device="cpu:0"))
    for result in (amdgpu.matrix_multiply(a, b), amdgpu.matrix_multiply(a[None], b)[0], on_device):
        assert np.asarray(result).dtype == expected
        np.testing.assert_array_equal(result, exact)


def multiply_on_device(a, b):
    """What GPUs run, on the CPU device."""
    from amdgpu import _native

    device = amdgpu.device.default_device("cpu:0")
    return np.asarray(_native.matmul_on_device(a, b, device=device))


def test_float64_is_multiplied_in_float64(rng):
    a, b = rng.standard_normal((40, 30)), rng.standard_normal((30, 50))
    result = amdgpu.matrix_multiply(a, b)
    assert result.dtype == np.float64
    np.testing.assert_allclose(result, a @ b, rtol=0, atol=1e-13)
    assert (amdgpu.matrix_multiply(a.tolist(), b.tolist()) == result).all()
    assert amdgpu.matrix_multiply(a, b.astype(np.float32)).dtype == np.float64
    assert amdgpu.matrix_multiply(a, b, 0, "fp32").dtype == np.float32
    out = np.empty((40, 50))
    assert amdgpu.matrix_multiply(a, b, out=out) is out
    assert (out == result).all()
    with pytest.raises(errors.UnsupportedDtypeError, match="out has dtype float32, the product float64"):
        amdgpu.matrix_multiply(a, b, out=np.empty((40, 50), np.float32))


@pytest.mark.parametrize(
    ("dtype", "precision", "result"),
    [("bfloat16", "bf16", "bfloat16"), ("float16", "fp16", "float16"), ("int8", "int8", "int32")],
)
def test_narrow_matrices_have_the_bits_of_other_shapes(dtype, precision, result, rng):
    a, b = ((rng.standard_normal(shape) * 9).astype(dtype) for shape in ((33, 70), (70, 20)))
    expected = amdgpu.matrix_multiply(a[None], b[None], 0, precision)[0]
    out = np.empty((33, 20), result)
    # Twice: the first call learns the number of a dtype that is none of NumPy's own.
    for made in (None, out, None):
        product = amdgpu.matrix_multiply(a, b, 0, precision, out=made)
        assert product.dtype == result
        assert made is None or product is out
        assert (product == expected).all()
    transposed = amdgpu.matrix_multiply(b.T, a.T, 0, precision).T
    assert (transposed == expected).all()
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.matrix_multiply(a, b, 0, precision, out=np.empty((33, 20), np.float64))


def test_mixed_operands_are_converted(rng):
    a = rng.standard_normal((4, 4)).astype("bfloat16")
    product = amdgpu.matrix_multiply(a, a.astype(np.float32), 0, "bf16")
    assert product.dtype == np.float32
    with pytest.raises(errors.UnsupportedDtypeError):
        amdgpu.matrix_multiply(a, a, 0, "int8")


def test_out_is_written_and_returned(rng):
    a = rng.standard_normal((5, 5)).astype(np.float32)
    out = np.empty((5, 5), np.float32)
    assert amdgpu.matrix_multiply(a, a, out=out) is out
    assert (out == amdgpu.matrix_multiply(a, a)).all()


@pytest.fixture
def all_records():
    """While the flight recorder runs, every call has its records; else brief calls have them in a sample."""
    amdgpu.telemetry.recorder.start()
    yield
    amdgpu.telemetry.recorder.stop()


@pytest.mark.usefixtures("all_records")
def test_each_call_records_one_decision(rng):
    a = rng.standard_normal((3, 3)).astype(np.float32)
    amdgpu.matrix_multiply(a, a)
    before = decisions()
    for _ in range(3):
        amdgpu.matrix_multiply(a, a)
    amdgpu.matrix_multiply(a, a, bias=[1, 2, 3])
    assert decisions() - before == 4


@pytest.mark.parametrize(
    ("arguments", "options", "error"),
    [
        ((), {}, TypeError),
        ((np.eye(2, dtype=np.float32),), {}, TypeError),
        ((np.eye(2),) * 2 + (0, "fp64", None), {}, TypeError),
        ((np.eye(2, dtype=np.float32),) * 2, {"output": None}, TypeError),
        ((np.eye(2, dtype=np.float32),) * 2 + ([],), {}, TypeError),
        ((np.eye(2, dtype=np.float32),) * 2 + ("cpu", "fp12"), {}, errors.InvalidArgumentError),
        ((np.eye(2, dtype=np.float32),) * 2 + ("cpu", 32), {}, errors.InvalidArgumentError),
        ((np.eye(2, dtype=np.float32),) * 2 + ("moon:0",), {}, errors.DeviceNotFoundError),
        ((np.eye(2, dtype=np.float32), np.eye(3, dtype=np.float32)), {}, errors.ShapeMismatchError),
    ],
)
def test_what_is_wrong_is_said_as_without_the_fast_path(arguments, options, error):
    amdgpu.matrix_multiply(np.eye(2), np.eye(2))
    with pytest.raises(error):
        amdgpu.matrix_multiply(*arguments, **options)


def test_an_out_that_does_not_fit_is_refused(rng):
    a = rng.standard_normal((4, 4)).astype(np.float32)
    with pytest.raises(errors.ShapeMismatchError):
        amdgpu.matrix_multiply(a, a, out=np.empty((4, 3), np.float32))
    with pytest.raises(errors.InvalidArgumentError, match="shares memory"):
        amdgpu.matrix_multiply(a, a, out=a)
    fixed = np.empty((4, 4), np.float32)
    fixed.flags.writeable = False
    with pytest.raises(errors.ReadOnlyError):
        amdgpu.matrix_multiply(a, a, out=fixed)

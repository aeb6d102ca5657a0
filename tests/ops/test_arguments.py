"""amdgpu.ops: arguments of the wrong kind are refused by their names, and arrays of other libraries go everywhere that NumPy's go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import amdgpu
import ml_dtypes
import numpy as np
import pytest
from amdgpu import errors, ops

X = np.arange(12, dtype=np.float32).reshape(3, 4)
IMAGE = np.ones((1, 2, 5, 5), np.float32)
WINDOW = np.ones((2, 2, 3, 3), np.float32)
FAR = 2**70

TYPES: dict[str, tuple[Callable[[], Any], str]] = {
    "axis of a sum": (lambda: ops.sum(X, "rows"), "sum: axis is 'rows'; an integer"),
    "axis of a softmax": (lambda: ops.softmax(X, None), "softmax: axis is None; an integer is expected"),
    "axis of a running sum": (lambda: ops.cumsum(X, 1.5), "cumsum: axis is 1.5; an integer is expected"),
    "axis of a gradient": (lambda: ops.softmax_gradient(X, X, "a"), "softmax_gradient: axis is 'a'; an integer"),
    "k": (lambda: ops.top_k(X, 1.0), "top_k: k is 1.0; an integer is expected"),
    "largest": (lambda: ops.top_k(X, 1, largest="no"), "top_k: largest is 'no'; True or False is expected"),
    "keepdims": (lambda: ops.sum(X, 0, keepdims=3), "sum: keepdims is 3; True or False is expected"),
    "correction": (lambda: ops.var(X, correction="1"), "var: correction is '1'; a number is expected"),
    "axes": (lambda: ops.transpose(X, "ab"), "transpose: axes is 'ab'; an integer or a tuple of integers"),
    "normalized_shape": (lambda: ops.layer_norm(X, 4.0), "layer_norm: normalized_shape is 4.0; an integer"),
    "shape of a gradient": (
        lambda: ops.rms_norm_gradient(X, X, None),
        "rms_norm_gradient: normalized_shape is None; an integer",
    ),
    "eps": (lambda: ops.layer_norm(X, 4, eps="x"), "layer_norm: eps is 'x'; a number is expected"),
    "eps of a batch": (lambda: ops.batch_norm(X, [0] * 4, [1] * 4, eps=None), "batch_norm: eps is None; a number"),
    "channel_axis": (
        lambda: ops.batch_norm_training(X, channel_axis=1.5),
        "batch_norm_training: channel_axis is 1.5; an integer",
    ),
    "mean": (lambda: ops.batch_norm(X, "abcd", [1] * 4), "batch_norm: mean is no array of numbers"),
    "ragged": (lambda: ops.power([[1], [2, 3]], 2), "power: an operand is no array of numbers"),
    "decimals": (lambda: ops.round(X, 1.5), "round: decimals is 1.5; an integer is expected"),
    "slope": (lambda: ops.leaky_relu(X, alpha="x"), "leaky_relu: alpha is 'x'; a number is expected"),
    "scale": (lambda: ops.elu_gradient(X, X, alpha=None), "elu_gradient: alpha is None; a number is expected"),
    "groups": (lambda: ops.conv2d(IMAGE, WINDOW, groups="all"), "conv2d: groups is 'all'; an integer is expected"),
    "layout": (lambda: ops.conv2d(IMAGE, WINDOW, layout=None), "conv2d: layout is None; 'NCHW' or 'NHWC' is expected"),
    "padding": (
        lambda: ops.conv2d(IMAGE, WINDOW, padding=None),
        "conv2d: padding is None; an integer or two are expected",
    ),
    "input_shape": (
        lambda: ops.conv2d_input_gradient(IMAGE, WINDOW, "abcd"),
        "conv2d_input_gradient: input_shape is 'abcd'; an integer",
    ),
    "layout of a pool": (lambda: ops.max_pool2d(IMAGE, 2, layout=3), "max_pool2d: layout is 3; 'NCHW' or 'NHWC'"),
    "counted padding": (
        lambda: ops.avg_pool2d(IMAGE, 2, count_include_pad="x"),
        "avg_pool2d: count_include_pad is 'x'; True or False",
    ),
    "activation": (lambda: amdgpu.matrix_multiply(X.T, X, activation=3), "activation is 3; a name such as 'relu'"),
    "a transpose": (
        lambda: amdgpu.matrix_multiply(X, X, transpose_a="yes"),
        "matrix_multiply: transpose_a is 'yes'; True or False is expected",
    ),
    "alpha": (lambda: amdgpu.matrix_multiply(X.T, X, alpha=X), "alpha is .*; a number is expected"),
    "beta": (lambda: amdgpu.matrix_multiply(X.T, X, beta=1j), "beta is 1j; a number is expected"),
}


@pytest.mark.parametrize("case", TYPES)
def test_arguments_of_another_type_are_named(case: str) -> None:
    call, words = TYPES[case]
    with pytest.raises(errors.InvalidTypeError, match=words):
        call()


VALUES: dict[str, tuple[Callable[[], Any], str]] = {
    "axis": (lambda: ops.sum(X, FAR), "sum: axis is 1180.*beyond what 64 bits hold"),
    "k": (lambda: ops.top_k(X, FAR), "top_k: k is 1180.*beyond what 64 bits hold"),
    "padding": (lambda: ops.conv2d(IMAGE, WINDOW, padding=FAR), "conv2d: padding is 1180.*beyond what 64 bits hold"),
    "scale": (lambda: ops.elu(X, alpha=10**400), "elu: alpha is 1000.*beyond what float64 holds"),
    "decimals": (lambda: ops.round(X, 400), "round: decimals is 400; -308 to 308"),
}


@pytest.mark.parametrize("case", VALUES)
def test_numbers_beyond_what_is_counted_in_are_named(case: str) -> None:
    call, words = VALUES[case]
    with pytest.raises(errors.InvalidArgumentError, match=words):
        call()


def test_truth_values_and_integers_of_numpy_are_taken() -> None:
    assert ops.sum(X, np.int64(0), keepdims=np.bool_(True)).shape == (1, 4)
    assert ops.sum(X, np.array(1)).shape == (3,)
    assert ops.sum(X, np.array([0, 1])).shape == ()
    assert amdgpu.matrix_multiply(X, X, transpose_a=np.True_).shape == (4, 4)
    assert ops.layer_norm(X, np.int32(4)).shape == X.shape
    assert ops.top_k(X, np.int8(2), largest=np.False_)[1].tolist() == [[0, 1]] * 3


MASKED: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: ops.add(x, 1.0),
    "add as the second": lambda x: ops.add(X, x),
    "out": lambda x: ops.add(X, X, out=x),
    "sum": ops.sum,
    "softmax": ops.softmax,
    "cumsum": ops.cumsum,
    "batch_norm": lambda x: ops.batch_norm(x, [0] * 4, [1] * 4),
    "matrix_multiply": lambda x: amdgpu.matrix_multiply(x, X.T),
    "another precision": lambda x: amdgpu.matrix_multiply(x, X.T, precision="fp64"),
}


@pytest.mark.parametrize("name", MASKED)
def test_a_mask_is_refused_and_not_ignored(name: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"arrays with a mask are not understood; pass x\.filled"):
        MASKED[name](np.ma.masked_array(X.copy(), X > 5))


def test_other_subclasses_are_arrays() -> None:
    class Subclass(np.ndarray[Any, Any]):
        pass

    assert ops.add(X.view(Subclass), 1.0).tolist() == (X + 1).tolist()
    assert amdgpu.matrix_multiply(X.view(Subclass), X.T).tolist() == (X @ X.T).tolist()


def test_memory_that_is_not_plain_says_what_to_pass_in_its_place() -> None:
    with pytest.raises(errors.UnsupportedDtypeError, match=r"foreign byte order \(pass x.astype"):
        ops.exp(X.astype(">f4"))
    shifted = np.zeros(X.nbytes + 1, np.uint8)[1:].view(np.float32)
    with pytest.raises(errors.InvalidArgumentError, match="not aligned to its 4-byte elements; pass a copy"):
        ops.exp(shifted)
    with pytest.raises(errors.InvalidArgumentError, match="memory of b is not aligned to its 4-byte elements; pass"):
        amdgpu.matrix_multiply(X, shifted.reshape(4, 3))
    field = np.zeros(3, [("a", "i1"), ("b", "f4")])["b"]
    with pytest.raises(errors.NotContiguousError, match=r"pass a copy: numpy\.ascontiguousarray"):
        ops.exp(field)


class Foreign:
    """An array as other libraries have them: it lends its memory, and its dtype is none of NumPy's."""

    def __init__(self, values: Any) -> None:
        self._held = amdgpu.array(values)
        self.shape, self.ndim, self.dtype = self._held.shape, len(self._held.shape), f"foreign.{values.dtype}"

    def __dlpack__(self, **options: Any) -> Any:
        return self._held.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._held.__dlpack_device__()

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("no arrays of NumPy are made of this")


@pytest.mark.parametrize("dtype", ["float32", ml_dtypes.bfloat16], ids=["float32", "bfloat16"])
def test_arrays_of_other_libraries_give_what_those_of_numpy_give(dtype: Any) -> None:
    x = (X / 7).astype(dtype)
    mean, variance = np.zeros(4, np.float32), np.ones(4, np.float32)
    calls: list[Callable[[Any], Any]] = [
        lambda a: ops.batch_norm(a, mean, variance),
        lambda a: ops.batch_norm_training(a)[0],
        lambda a: ops.batch_norm_training(a)[2],
        lambda a: ops.layer_norm_gradient(a, a, 4)[1],
        lambda a: ops.power(a, 2),
        lambda a: ops.power(2.0, a),
        lambda a: ops.round(a, 1),
        lambda a: ops.top_k(a, 2)[0],
        *(lambda a, p=p: amdgpu.matrix_multiply(a, X.T, precision=p) for p in ("fp32", "fp64", "bf16", "fp16")),
        lambda a: amdgpu.matrix_multiply(X.T, X, residual=ops.matrix_multiply(X.T, a, precision="fp64")),
    ]
    if dtype == "float32":
        calls.append(lambda a: ops.batch_norm_gradient(a, a)[0])
        calls.append(lambda a: ops.batch_norm(X, [0] * 4, [1] * 4, weight=ops.sum(a, 0)))
    for call in calls:
        np.testing.assert_array_equal(call(Foreign(x)), call(x))


def test_reversed_bfloat16_of_other_libraries_is_copied_in_order() -> None:
    x = X.astype(ml_dtypes.bfloat16)
    lent = amdgpu.from_dlpack(Foreign(x))
    np.testing.assert_array_equal(amdgpu.from_dlpack(lent).numpy(), x)
    strided = amdgpu.from_dlpack(x.T[::-1])
    np.testing.assert_array_equal(strided.numpy(), x.T[::-1])


class Refusing:
    """A tensor that may not be lent, as PyTorch's that record gradients."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __dlpack__(self, **_: Any) -> Any:
        raise RuntimeError("use tensor.detach()")


def test_a_lender_that_refuses_is_quoted() -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match=r"Refusing does not lend its memory: use tensor.detach\(\)"
    ) as caught:
        ops.add(Refusing(), 1.0)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_products_of_arrays_of_a_device_are_arrays_of_the_device() -> None:
    a = amdgpu.array(X)
    for product in (amdgpu.matrix_multiply(a, X.T), amdgpu.matrix_multiply(X, amdgpu.array(X.T), precision="fp64")):
        assert isinstance(product, amdgpu.Array)
        np.testing.assert_allclose(product.numpy(), X @ X.T)


def test_products_larger_than_memory_are_errors_of_memory_however_they_end() -> None:
    row, column = np.broadcast_to(np.float32(1), (1, 1 << 40)), np.broadcast_to(np.float32(1), (1 << 40, 1))
    square = np.broadcast_to(np.float32(1), (1 << 20, 1 << 20))
    for call in (
        lambda: amdgpu.matrix_multiply(column, row),
        lambda: amdgpu.matrix_multiply(square, square),
        lambda: amdgpu.matrix_multiply(square, square, precision="fp64"),
        lambda: amdgpu.matrix_multiply(square, square, precision="bf16"),
    ):
        with pytest.raises(errors.OutOfMemoryError):
            call()


def test_results_that_find_no_memory_left_are_errors_of_memory(run_python: Any) -> None:
    """The limit is that of the process, so that small results fit and those of 36 MB do not."""
    done = run_python(
        "import resource\n"
        "import amdgpu, numpy as np\n"
        "from amdgpu import errors, ops\n"
        "a, b = np.ones((3000, 1), 'float32'), np.ones((1, 3000), 'float32')\n"
        "x, y = np.broadcast_to(a, (3000, 3000)), np.ones((3000, 3000), 'float32')\n"
        "calls = [\n"
        "    *(lambda p=p: amdgpu.matrix_multiply(a, b, precision=p) for p in ('fp32', 'fp64', 'tf32', 'bf16', 'fp16')),\n"
        "    lambda: amdgpu.matrix_multiply(a.astype('int8'), b.astype('int8'), precision='int8'),\n"
        "    lambda: amdgpu.matrix_multiply(a, b, bias=b[0]),\n"
        "    lambda: ops.add(x, 1.0), lambda: ops.add(y, y), lambda: ops.exp(x), lambda: ops.softmax(x), lambda: ops.softmax(y),\n"
        "    lambda: ops.cumsum(x), lambda: ops.transpose(y), lambda: ops.layer_norm(y, 3000),\n"
        "]\n"
        "for call in calls:\n"
        "    call()\n"
        "pages = int(open('/proc/self/statm').read().split()[0])\n"
        "most = pages * resource.getpagesize() + (8 << 20)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (most, most))\n"
        "for number, call in enumerate(calls):\n"
        "    try:\n"
        "        call()\n"
        "    except errors.OutOfMemoryError:\n"
        "        continue\n"
        "    raise SystemExit(f'call {number} found memory')\n"
        "print(ops.add(a[:2, 0], 1.0).tolist())\n"
    )
    assert done.stdout.strip() == "[2.0, 2.0]", done.stderr

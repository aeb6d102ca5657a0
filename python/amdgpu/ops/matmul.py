"""Matrix multiplication on Matrix cores."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from amdgpu import _native, arguments, dispatch
from amdgpu._generated.dtypes import PRECISIONS
from amdgpu.device import AMDGPUDevice, default_device
from amdgpu.ops import placement

if TYPE_CHECKING:
    import numpy.typing as npt

_Function = TypeVar("_Function", bound=Callable[..., Any])


def _with_fast_path(function: _Function) -> _Function:
    """The function with a native fast path in front, for arrays in memory of the host and arrays of a device."""
    host = dispatch.host_functions("matrix_multiply", "matrix"), _native.matmul
    device = dispatch.device_functions(), _native.matmul_on_device
    fast = _native.matmul_fast_call(function, host, device)
    return cast(_Function, functools.update_wrapper(fast, function))


@_with_fast_path
def matrix_multiply(
    a: Any,
    b: Any,
    device_id: int | str = 0,
    precision: str | None = None,
    *,
    out: npt.NDArray[Any] | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: Any | None = None,
    activation: str | None = None,
    residual: Any | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> npt.NDArray[Any]:
    """The product of two matrices, or of stacks of them: `activation(alpha * (a @ b) + beta * out + bias + residual)`.

    Args:
        a: Matrix of shape (m, k): a NumPy array, `amdgpu.Array` or anything with DLPack. Any strides. With more axes it is a stack of
            matrices; the axes before the last two broadcast with those of `b`, as in `numpy.matmul`. A vector counts as one row, and
            its axis is not in the result.
        b: Matrix of shape (k, n), or a stack of them; a vector counts as one column.
        device_id: Index in `list_devices()` or a name: where the product is computed when no operand is on a device. Arrays of a device
            are multiplied there, whatever is named here.
        precision: Compute type; operands of another dtype are converted to it first. None (the default) takes it from the operands as NumPy
            does: fp64 where one of them is float64 or holds integers of 32 or 64 bits, nested lists of Python numbers included, else
            fp32. Error bound per element: k * eps * sum(|a| * |b|) (Higham, Accuracy and Stability, section 3.5), and the roundings
            named here.

            - fp32 and tf32 (computed as fp32 on the CPU): float32, eps = 2^-24; fp64: float64, eps = 2^-53. On NVIDIA GPUs
              tf32 cuts operands to 11 significant bits first. Sums have another order on each kind of device, so last bits differ.
            - bf16, fp16: operands are rounded to bfloat16 or float16 (nearest, ties to even), sums are float32. Where both operands
              have that dtype already (`ml_dtypes.bfloat16`, `numpy.float16`) the result is rounded to it once, else it is float32.
            - complex64 and complex128 take None, fp32 for the former and fp64 for the latter, and none of the options behind
              `transpose_b`: each part of a result is a sum of 2 k real products, within the bound of that sum.
            - int8: both operands int8, sums and result int32. Exact; a sum beyond 32 bits wraps (k > 131,071).
        out: Array of the shape and dtype of the result to write to; must not overlap another argument.
        transpose_a: Take the transpose of `a`: shape (k, m), in a stack of each matrix. Nothing is copied.
        transpose_b: Take the transpose of `b`: shape (n, k), in a stack of each matrix. Nothing is copied.
        bias: Shape (n,): added to every row. Converted to the type of the sums.
        activation: identity, relu, leaky_relu (slope 0.01 as a float32), sigmoid, tanh, gelu (with erf), silu, softplus or elu (scale
            1), applied last. The bits are those of `amdgpu.ops` after the product; what is narrower than its sums is rounded after it.
            Of int8 products relu only.
        residual: Added before the activation; broadcast to the shape of the result. Converted to the type of the sums.
        alpha: Factor of the product; an integer for int8.
        beta: Factor of what `out` holds; an integer for int8. With 0 `out` is not read.

    Returns:
        The product, shape (..., m, n): a NumPy array, or an `amdgpu.Array` when an operand is one; `out` when it was given. An empty inner
        dimension gives zeros before bias, residual and activation.

    Raises:
        ShapeMismatchError: Inner dimensions differ, stacks do not broadcast to each other, or an operand has no axes.
        UnsupportedDtypeError: An operand cannot be converted (object; anything but int8 to int8), or `out` has another dtype
            than the result.
        InvalidArgumentError: An unknown precision or activation, `beta` without `out`, `out` shares memory with another argument; an
            operand has a mask, or its owner does not lend it.
        InvalidTypeError: `alpha` or `beta` is no number, a transpose neither True nor False, `activation` no name, `out` no array.
        OutOfMemoryError: The result, or the copy of an operand in another type, does not fit into memory.
        ReadOnlyError: `out` cannot be written to.
        DeviceNotFoundError: No such device.
        CoreNotEnabledError: `device_id` is an opened device without the core type "matrix".
        WrongDeviceError: Operands of two devices.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.matrix_multiply(numpy.eye(2), [[1, 2], [3, 4]]).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
        >>> amdgpu.matrix_multiply(numpy.eye(2), [[1, -2], [3, -4]], bias=[10, 1], activation="relu").tolist()
        [[11.0, 0.0], [13.0, 0.0]]
    """
    if type(device_id) is not int and isinstance(device_id, AMDGPUDevice):
        # Also where operands decide on the device, and before a plan of another opening of it is found.
        device_id.require_core("matrix")
    if precision is not None:
        arguments.choice("matrix_multiply", "precision", precision, tuple(PRECISIONS))
    if activation is not None:
        arguments.text("matrix_multiply", "activation", activation, "a name such as 'relu'")
    transpose_a = arguments.truth("matrix_multiply", "transpose_a", transpose_a)
    transpose_b = arguments.truth("matrix_multiply", "transpose_b", transpose_b)
    alpha = arguments.number("matrix_multiply", "alpha", alpha)
    beta = arguments.number("matrix_multiply", "beta", beta)
    options: dict[str, Any] = {}
    # Implementations of plug-ins need not know of what is not asked for.
    if transpose_a or transpose_b or not (bias is activation is residual is None) or alpha != 1 or beta != 0:
        given = {
            "transpose_a": (transpose_a, False),
            "transpose_b": (transpose_b, False),
            "bias": (bias, None),
            "activation": (activation, None),
            "residual": (residual, None),
        }
        options = {name: value for name, (value, default) in given.items() if value is not default}
        # By value: 1.0 asks for no more than 1 does.
        options |= {} if alpha == 1 else {"alpha": alpha}
        options |= {} if beta == 0 else {"beta": beta}
    if precision is not None:
        options["precision"] = precision
    result: npt.NDArray[Any]
    place = placement.device_of("matrix_multiply", (a, b, bias, residual, out))
    device_id = device_id if place is None else place
    if place is not None and _native.is_tracing():
        multiply = placement.implementation("matrix_multiply", a, b, bias, residual, out)
    else:
        multiply = dispatch.shared("matrix_multiply", "matrix", device_id, default_device)
    result = multiply(a, b, out, **options)
    return result

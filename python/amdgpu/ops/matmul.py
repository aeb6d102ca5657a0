"""Matrix multiplication on Matrix cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import dispatch
from amdgpu.errors import InvalidArgumentError

if TYPE_CHECKING:
    import numpy.typing as npt

PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "int8")


def matrix_multiply(
    a: Any,
    b: Any,
    device_id: int | str = 0,
    precision: str = "fp32",
    *,
    out: npt.NDArray[Any] | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> npt.NDArray[Any]:
    """The product of two matrices.

    Args:
        a: Matrix of shape (m, k): a NumPy array, `amdgpu.Array` or anything with DLPack. Any strides.
        b: Matrix of shape (k, n).
        device_id: Index in `list_devices()` or a name.
        precision: Compute type. Operands of another dtype are converted to it first: float64 arrays need `precision='fp64'` to keep
            their digits. Error bound per element: k * eps * sum(|a| * |b|) (Higham, Accuracy and Stability, section 3.5), and the
            roundings named here.

            - fp32 (default) and tf32 (computed as fp32 on the CPU): float32, eps = 2^-24; fp64: float64, eps = 2^-53.
            - bf16, fp16: operands are rounded to bfloat16 or float16 (nearest, ties to even), sums are float32. Where both operands
              have that dtype already (`ml_dtypes.bfloat16`, `numpy.float16`) the result is rounded to it once, else it is float32.
            - int8: both operands int8, sums and result int32. Exact; a sum beyond 32 bits wraps (k > 131,071).
        out: Array of shape (m, n) and the dtype of the result to write to; must not overlap `a` or `b`.
        transpose_a: Take the transpose of `a`: shape (k, m). Nothing is copied.
        transpose_b: Take the transpose of `b`: shape (n, k). Nothing is copied.

    Returns:
        The product, shape (m, n); `out` when it was given. An empty inner dimension gives zeros.

    Raises:
        ShapeMismatchError: Inner dimensions differ, or an operand is not a matrix.
        UnsupportedDtypeError: An operand cannot be converted (complex, object; anything but int8 to int8), or `out` has another dtype
            than the result.
        InvalidArgumentError: An unknown precision.
        DeviceNotFoundError: No such device.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.matrix_multiply(numpy.eye(2), [[1, 2], [3, 4]]).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    if precision not in PRECISIONS:
        raise InvalidArgumentError(f"precision is {precision!r}; known are {', '.join(PRECISIONS)}")
    multiply = dispatch.shared("matrix_multiply", "matrix", device_id)
    if not (transpose_a or transpose_b):
        # Implementations of plug-ins need not know of transposes until one is asked for.
        plain: npt.NDArray[Any] = multiply(a, b, out, precision=precision)
        return plain
    result: npt.NDArray[Any] = multiply(
        a, b, out, precision=precision, transpose_a=transpose_a, transpose_b=transpose_b
    )
    return result

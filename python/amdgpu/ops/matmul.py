"""Matrix multiplication on Matrix cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu import dispatch
from amdgpu.device import default_device
from amdgpu.errors import InvalidArgumentError, UnsupportedFeatureError

if TYPE_CHECKING:
    import numpy.typing as npt

PRECISIONS = ("fp64", "fp32", "tf32", "fp16", "bf16", "int8")
AVAILABLE = frozenset({"fp64", "fp32", "tf32"})


def matrix_multiply(
    a: Any,
    b: Any,
    device_id: int | str = 0,
    precision: str = "fp32",
    *,
    out: npt.NDArray[Any] | None = None,
) -> npt.NDArray[Any]:
    """The product of two matrices.

    Args:
        a: Matrix of shape (m, k): a NumPy array, `amdgpu.Array` or anything with DLPack. Any strides.
        b: Matrix of shape (k, n).
        device_id: Index in `list_devices()` or a name.
        precision: Compute type: fp32 (default), fp64, or tf32 (computed as fp32 on the CPU). Operands of another dtype are converted to
            it first, as is the result: float64 arrays need `precision='fp64'` to keep their digits. Error bound per element:
            k * eps * sum(|a| * |b|), with eps = 2^-24 for fp32 and 2^-53 for fp64 (Higham, Accuracy and Stability, section 3.5).
        out: Array of shape (m, n) and the dtype of the precision to write to; must not overlap `a` or `b`.

    Returns:
        The product, shape (m, n), float32 or float64; `out` when it was given. An empty inner dimension gives zeros.

    Raises:
        ShapeMismatchError: Inner dimensions differ, or an operand is not a matrix.
        UnsupportedDtypeError: An operand cannot be converted (complex, object).
        UnsupportedFeatureError: A precision that the device does not compute in yet.
        InvalidArgumentError: An unknown precision.
        DeviceNotFoundError: No such device.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.matrix_multiply(numpy.eye(2), [[1, 2], [3, 4]]).tolist()
        [[1.0, 2.0], [3.0, 4.0]]
    """
    if precision not in AVAILABLE:
        if precision in PRECISIONS:
            raise UnsupportedFeatureError(
                f"precision {precision!r} is not computed by this version; available are {', '.join(sorted(AVAILABLE))}"
            )
        raise InvalidArgumentError(f"precision is {precision!r}; known are {', '.join(PRECISIONS)}")
    device = default_device(device_id)
    multiply, _ = dispatch.resolve("matrix_multiply", "matrix", device.native.kind)
    result: npt.NDArray[Any] = multiply(a, b, out, precision=precision)
    return result

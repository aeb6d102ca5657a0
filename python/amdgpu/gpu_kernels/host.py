"""`matrix_multiply` on a GPU: operands go there, the product comes back. What no archived kernel computes is left to the CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from amdgpu import _native
from amdgpu.array import array
from amdgpu.errors import LibraryMissingError, NoImplementationError
from amdgpu.gpu_kernels.matmul import matmul

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_DTYPES = {
    "fp64": "float64",
    "fp32": "float32",
    "tf32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "int8": "int8",
}
# Kinds of numbers that convert to floating point, as the CPU's implementation has it.
_CONVERTIBLE = "biuf"


def multiply(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    device: AMDGPUDevice,
    precision: str = "fp32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    **following: Any,
) -> Any:
    """As `amdgpu.matrix_multiply`, on one GPU. What follows the sums (`bias`, `activation` and their like) is left to the CPU.

    Raises:
        As `amdgpu.matrix_multiply`; whatever is refused is refused by the CPU's implementation.
    """
    neutral = {"alpha": 1, "beta": 0}
    following = {name: value for name, value in following.items() if name not in neutral or value != neutral[name]}
    operands: list[Any] = [None if following else _operand(x, precision, device) for x in (a, b)]
    reason = ", ".join(following) or "arguments that the CPU's implementation checks"
    if all(operand is not None for operand in operands) and _is_writable(out, operands):
        left, right = operands
        try:
            rows, columns = left.shape[::-1] if transpose_a else left.shape
            inner, last = right.shape[::-1] if transpose_b else right.shape
            if columns == inner and rows and columns and last:
                return _on_device(
                    device, left, right, out=out, precision=precision, transposes=(transpose_a, transpose_b)
                )
        except (NoImplementationError, LibraryMissingError) as error:
            reason = str(error)
    _native.record_fallback(
        "matrix_multiply", f"the CPU computes what no archived kernel of {device.name} does: {reason}"
    )
    left, right = (x.numpy() if isinstance(x, _native.Array) and not x.is_on_host else x for x in (a, b))
    return _native.matmul(
        left, right, out, precision=precision, transpose_a=transpose_a, transpose_b=transpose_b, **following
    )


def _operand(x: Any, precision: str, device: AMDGPUDevice) -> Any:
    """A matrix of the precision's dtype, on the device or as a NumPy array; None where that takes more than a conversion."""
    dtype = _DTYPES[precision]
    if isinstance(x, _native.Array) and x.device == device.name:
        return x if x.ndim == 2 and str(x.dtype) == dtype else None
    values = np.asarray(x) if not isinstance(x, _native.Array) or x.is_on_host else None
    if values is None or values.ndim != 2:
        return None
    if str(values.dtype) == dtype:
        return values
    # Narrow operands that were converted would ask for a result that is not rounded, which the kernels do not give.
    is_wide = precision in ("fp64", "fp32", "tf32")
    return values.astype(dtype) if is_wide and values.dtype.kind in _CONVERTIBLE else None


def _is_writable(out: Any, operands: list[Any]) -> bool:
    """Whether a result goes to `out` without further checks."""
    if out is None:
        return True
    is_plain = isinstance(out, np.ndarray) and out.flags.writeable
    return is_plain and not any(isinstance(x, np.ndarray) and np.may_share_memory(out, x) for x in operands)


def _on_device(
    device: AMDGPUDevice, left: Any, right: Any, *, out: Any, precision: str, transposes: tuple[bool, bool]
) -> Any:
    are_ours = all(isinstance(x, _native.Array) for x in (left, right))
    moved = [x if isinstance(x, _native.Array) else array(x, device=device.name) for x in (left, right)]
    result = matmul(
        device,
        moved[0],
        moved[1],
        transpose_a=transposes[0],
        transpose_b=transposes[1],
        precision="tf32" if precision == "tf32" else None,
    )
    if are_ours and out is None:
        return result
    values = result.numpy()
    if out is None:
        return values
    if out.shape != values.shape or out.dtype != values.dtype:
        raise NoImplementationError("`out` does not have the shape and dtype of the result")
    out[...] = values
    return out

"""Parts of complex numbers. A real number is its own real part, and has an imaginary part of zero.

Functions are those of the Python array API standard 2025.12; `angle` is NumPy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amdgpu.ops.placement import elementwise

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["angle", "conj", "imag", "real"]


def angle(x: Any, /, *, out: Any = None) -> Any:
    """The angle from the positive real axis in radians, between -pi and pi; real numbers count as complex ones.

    Args:
        x: Values.
        out: Receives the result, of the dtype of a part; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.angle(amdgpu.asarray([1, 1j])).tolist()
        [0.0, 1.5707963267948966]
    """
    return elementwise("angle", (x,), out)


def conj(x: Any, /, *, out: Any = None) -> Any:
    """The complex conjugate; real numbers as they are, in a new array.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.conj(amdgpu.asarray([1 + 2j])).tolist()
        [(1-2j)]
    """
    from amdgpu.ops.placement import held

    is_complex = held("conj", "x", x).dtype.kind == "c"
    return elementwise("conj" if is_complex else "identity", (x,), out)


def real(x: Array, /) -> Array:
    """The real part, in the memory of the array: of real numbers the array itself."""
    return x.real


def imag(x: Array, /) -> Array:
    """The imaginary part: of complex numbers in the memory of the array, of real ones zeros."""
    return x.imag

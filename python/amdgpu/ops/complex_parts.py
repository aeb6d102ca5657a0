"""Parts of numbers. Arrays of complex numbers are not computed with yet, so that these are those of real numbers.

Functions are those of the Python array API standard 2025.12.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amdgpu.errors import UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["conj", "imag", "real"]


def _check(operation: str, x: Array) -> None:
    if x.dtype.kind == "c":
        raise UnsupportedDtypeError(f"{operation}: {x.dtype} is not computed with yet; use NumPy on x.numpy()")


def conj(x: Array, /) -> Array:
    """The complex conjugate, which of real numbers are the numbers themselves, in a new array."""
    _check("conj", x)
    return x.copy()


def real(x: Array, /) -> Array:
    """The real part: of real numbers the array itself."""
    _check("real", x)
    return x


def imag(x: Array, /) -> Array:
    """The imaginary part: of real numbers zeros."""
    from amdgpu.ops.creation import zeros_like

    _check("imag", x)
    return zeros_like(x)

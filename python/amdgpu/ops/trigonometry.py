"""Tangent, inverse trigonometric and hyperbolic functions, elementwise.

Arguments, results and errors are those of `amdgpu.ops.elementwise`; integers are computed in float64. On the CPU `tan` is within 4 units
in the last place, `hypot` within 2 and the others within 3, at every argument; the same input gives the same bits on every instruction
set. Special cases are those of C (Annex F.10) and of the Python array API standard.
"""

from __future__ import annotations

from typing import Any

from amdgpu.ops import fast_call
from amdgpu.ops.placement import elementwise

__all__ = [
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cosh",
    "hypot",
    "sinh",
    "tan",
]


@fast_call.elementwise
def tan(x: Any, *, out: Any = None) -> Any:
    """The tangent; NaN for infinities.

    Args:
        x: Angles in radians.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.tan([0.0]).tolist()
        [0.0]
    """
    return elementwise("tan", (x,), out)


@fast_call.elementwise
def asin(x: Any, *, out: Any = None) -> Any:
    """The inverse sine, in [-pi / 2, pi / 2]; NaN beyond 1.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.asin([0.0, 2.0]).tolist()
        [0.0, nan]
    """
    return elementwise("asin", (x,), out)


@fast_call.elementwise
def acos(x: Any, *, out: Any = None) -> Any:
    """The inverse cosine, in [0, pi]; NaN beyond 1.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.acos([1.0]).tolist()
        [0.0]
    """
    return elementwise("acos", (x,), out)


@fast_call.elementwise
def atan(x: Any, *, out: Any = None) -> Any:
    """The inverse tangent, in [-pi / 2, pi / 2].

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.atan([0.0, -0.0]).tolist()
        [0.0, -0.0]
    """
    return elementwise("atan", (x,), out)


@fast_call.elementwise
def atan2(a: Any, b: Any, *, out: Any = None) -> Any:
    """The angle of the point (b, a), in [-pi, pi]: the inverse tangent of a / b in the quadrant that their signs say.

    Args:
        a: Heights of points.
        b: Distances of points to the right.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.atan2([1.0, 0.0], [0.0, -1.0]).tolist()
        [1.5707963267948966, 3.141592653589793]
    """
    return elementwise("atan2", (a, b), out)


@fast_call.elementwise
def sinh(x: Any, *, out: Any = None) -> Any:
    """The hyperbolic sine.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.sinh([0.0]).tolist()
        [0.0]
    """
    return elementwise("sinh", (x,), out)


@fast_call.elementwise
def cosh(x: Any, *, out: Any = None) -> Any:
    """The hyperbolic cosine.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cosh([0.0]).tolist()
        [1.0]
    """
    return elementwise("cosh", (x,), out)


@fast_call.elementwise
def asinh(x: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic sine.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.asinh([0.0]).tolist()
        [0.0]
    """
    return elementwise("asinh", (x,), out)


@fast_call.elementwise
def acosh(x: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic cosine; NaN below 1.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.acosh([1.0, 0.0]).tolist()
        [0.0, nan]
    """
    return elementwise("acosh", (x,), out)


@fast_call.elementwise
def atanh(x: Any, *, out: Any = None) -> Any:
    """The inverse hyperbolic tangent; infinite at 1 and -1, NaN beyond.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.atanh([0.0, 1.0]).tolist()
        [0.0, inf]
    """
    return elementwise("atanh", (x,), out)


@fast_call.elementwise
def hypot(a: Any, b: Any, *, out: Any = None) -> Any:
    """The length sqrt(a^2 + b^2), without overflow on the way; an infinity wins over NaN.

    Args:
        a: One side.
        b: The other side.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.hypot([3.0], [4.0]).tolist()
        [5.0]
    """
    return elementwise("hypot", (a, b), out)

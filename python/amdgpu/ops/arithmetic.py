"""Powers, remainders, rounding to decimals, signs and neighbours of numbers, and operations on bits, elementwise.

Arguments, results and errors are those of `amdgpu.ops.elementwise`. Integers wrap: the smallest one divided by -1 stays what it is.
Integers divided by zero give 0 as in NumPy, which warns; here nothing does. Truth values count as int8 where a result is a number: in
powers, remainders, floor division and shifts.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, UnsupportedDtypeError
from amdgpu.ops import fast_call, placement
from amdgpu.ops.placement import elementwise
from amdgpu.ops.reduce import min as smallest_of

__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "copysign",
    "floor_divide",
    "fmod",
    "invert",
    "left_shift",
    "logaddexp",
    "nextafter",
    "positive",
    "power",
    "remainder",
    "right_shift",
    "round",
    "signbit",
]


# 10^308 is the largest power of ten in float64.
_MOST_DECIMALS = 308


def positive(x: Any, *, out: Any = None) -> Any:
    """The values themselves, in a new array.

    Args:
        x: Numbers.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Raises:
        UnsupportedDtypeError: Truth values, which have no sign.
    """
    kind = placement.held("positive", "x", x).dtype.kind
    if kind == "b":
        raise UnsupportedDtypeError(
            "positive: x holds truth values, which have no sign; convert them to integers, or copy x"
        )
    if kind == "c":
        return elementwise("identity", (x,), out)
    return elementwise("maximum", (x, x), out)


def power(a: Any, b: Any, *, out: Any = None) -> Any:
    """The power a^b, with the special cases of C: x^0 and 1^y are 1 even for NaN.

    Within 1 unit in the last place of float32 and 5 of float64. Integers to integers stay integers.

    Args:
        a: Bases.
        b: Exponents; of integer bases not negative where they are integers.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Raises:
        InvalidArgumentError: An integer to a negative integer.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.power([2, 3], 2).tolist()
        [4, 9]
    """
    if _is_integer(a) and _is_integer(b) and _smallest(b) < 0:
        raise InvalidArgumentError(
            "power: integers to negative integers are no integers; convert the bases to floats first"
        )
    return elementwise("power", (a, b), out)


@fast_call.elementwise
def remainder(a: Any, b: Any, *, out: Any = None) -> Any:
    """What division of a by b leaves, with the sign of b, as `%` of Python; exact. For b = 0 NaN, of integers 0.

    Args:
        a: Dividends.
        b: Divisors.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.remainder([-3, 3], [2, -2]).tolist()
        [1, -1]
    """
    return elementwise("remainder", (a, b), out)


@fast_call.elementwise
def fmod(a: Any, b: Any, *, out: Any = None) -> Any:
    """What division of a by b leaves, with the sign of a, as `%` of C; exact. For b = 0 NaN, of integers 0.

    Args:
        a: Dividends.
        b: Divisors.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.fmod([-3, 3], [2, -2]).tolist()
        [-1, 1]
    """
    return elementwise("fmod", (a, b), out)


@fast_call.elementwise
def floor_divide(a: Any, b: Any, *, out: Any = None) -> Any:
    """The largest whole number that is not above a / b, as `//` of Python. For b = 0 floats give a / b, integers 0.

    Args:
        a: Dividends.
        b: Divisors.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.floor_divide([-3, 3, 1], [2, 2, 0]).tolist()
        [-2, 1, 0]
    """
    return elementwise("floor_divide", (a, b), out)


def round(x: Any, decimals: int = 0, *, out: Any = None) -> Any:
    """The nearest number with that many decimals, ties to even; scaled, rounded and scaled back as in NumPy.

    Args:
        x: Values.
        decimals: Digits behind the point; negative ones count before it, for floats alone.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Raises:
        InvalidArgumentError: Digits before the point of integers; `decimals` is beyond 308.
        InvalidTypeError: `decimals` is no integer.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.round([1.25, 2.5], 1).tolist()
        [1.2, 2.5]
    """
    decimals = arguments.integer("round", "decimals", decimals)
    if abs(decimals) > _MOST_DECIMALS:
        raise InvalidArgumentError(
            f"round: decimals is {decimals}; {-_MOST_DECIMALS} to {_MOST_DECIMALS} are within what float64 holds"
        )
    if placement.held("round", "x", x).dtype.kind == "c":
        return _round_parts(x, decimals, out)
    if decimals == 0:
        return elementwise("rint", (x,), out)
    if _is_integer(x):
        if decimals > 0:
            return elementwise("identity", (x,), out)
        raise InvalidArgumentError("round: integers are rounded to integers; convert them to floats for tens and more")
    factor = 10.0 ** abs(decimals)
    there, back = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    scaled = elementwise(there, (x, factor), out)
    rounded = elementwise("rint", (scaled,), scaled)
    return elementwise(back, (rounded, factor), rounded)


def _round_parts(x: Any, decimals: int, out: Any) -> Any:
    made = elementwise("identity", (x,), out)
    for part in (made.real, made.imag):
        round(part, decimals, out=part)
    return made


@fast_call.elementwise
def bitwise_and(a: Any, b: Any, *, out: Any = None) -> Any:
    """The bits that both have; of truth values, their conjunction.

    Args:
        a: Integers or truth values.
        b: Integers or truth values.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("bitwise_and", (a, b), out)


@fast_call.elementwise
def bitwise_or(a: Any, b: Any, *, out: Any = None) -> Any:
    """The bits that one of both has; of truth values, their disjunction.

    Args:
        a: Integers or truth values.
        b: Integers or truth values.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("bitwise_or", (a, b), out)


@fast_call.elementwise
def bitwise_xor(a: Any, b: Any, *, out: Any = None) -> Any:
    """The bits in which both differ.

    Args:
        a: Integers or truth values.
        b: Integers or truth values.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("bitwise_xor", (a, b), out)


@fast_call.elementwise
def invert(x: Any, *, out: Any = None) -> Any:
    """Every bit inverted; of truth values, the other one.

    Args:
        x: Integers or truth values.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("invert", (x,), out)


@fast_call.elementwise
def left_shift(a: Any, b: Any, *, out: Any = None) -> Any:
    """A 2^b, with the bits that leave the dtype dropped: 0 for b from its width on, and for negative b.

    Args:
        a: Integers or truth values.
        b: How many bits to shift by.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.left_shift([1, 1, 1], [3, 64, -1]).tolist()
        [8, 0, 0]
    """
    return elementwise("left_shift", (a, b), out)


@fast_call.elementwise
def right_shift(a: Any, b: Any, *, out: Any = None) -> Any:
    """The whole part of a / 2^b, downwards: 0 or -1 for b from the width of the dtype on, and for negative b.

    Args:
        a: Integers or truth values.
        b: How many bits to shift by.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.right_shift([-8, 8, -8], [1, 2, 64]).tolist()
        [-4, 2, -1]
    """
    return elementwise("right_shift", (a, b), out)


@fast_call.elementwise
def copysign(a: Any, b: Any, *, out: Any = None) -> Any:
    """The size of a with the sign of b, of zeros and NaN too.

    Args:
        a: Sizes.
        b: Numbers whose signs are taken.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.copysign([1.0, 2.0], [-0.0, 3.0]).tolist()
        [-1.0, 2.0]
    """
    return elementwise("copysign", (a, b), out)


@fast_call.elementwise
def signbit(x: Any, *, out: Any = None) -> Any:
    """Whether the sign is negative, of zeros and NaN too.

    Args:
        x: Values.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.signbit([-0.0, 0.0]).tolist()
        [True, False]
    """
    return elementwise("signbit", (x,), out)


@fast_call.elementwise
def nextafter(a: Any, b: Any, *, out: Any = None) -> Any:
    """The next number of the dtype from a towards b; b where they are equal, NaN where either is.

    Args:
        a: Where to start.
        b: Where to go.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.nextafter([1.0], [2.0]).tolist()
        [1.0000000000000002]
    """
    return elementwise("nextafter", (a, b), out)


@fast_call.elementwise
def logaddexp(a: Any, b: Any, *, out: Any = None) -> Any:
    """log(e^a + e^b) without overflow, within 1 unit in the last place of the larger of the result and 1.

    Args:
        a: One logarithm.
        b: The other logarithm.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.logaddexp([1000.0], [1000.0]).tolist()
        [1000.6931471805599]
    """
    return elementwise("logaddexp", (a, b), out)


def _is_integer(value: Any) -> bool:
    if isinstance(value, (int, float, complex)):
        return isinstance(value, int)
    return placement.held("power", "an operand", value).dtype.kind in "iu"


def _smallest(exponents: Any) -> int:
    if isinstance(exponents, int):
        return exponents
    values = placement.held("power", "b", exponents)
    return 0 if 0 in values.shape else int(placement.values_of(smallest_of(values)))

"""Elementwise operations: arithmetic, functions, activations, comparisons, selection.

What holds for all of them

- Inputs are NumPy arrays, `amdgpu.Array`, anything with DLPack, nested sequences or numbers, of any strides, and are broadcast as in NumPy.
- dtypes: bool, uint8 to uint64, int8 to int64, float16, bfloat16 (`ml_dtypes`), float32, float64, and complex64 and complex128 where the
  operation is among those of complex numbers in docs/operations.md; promoted as in NumPy. A number takes the dtype of the arrays beside it.
  Functions of real numbers compute integers in float64. float16 and bfloat16 are computed in float32 and rounded once. Integers wrap.
- The result is a NumPy array, or an `amdgpu.Array` when an input is one with memory of its own; when one lies on a GPU, the operation runs
  there and the result stays there. `out` receives it instead when given: of the shape and dtype of the result; it may be an input itself,
  and shares no memory with one otherwise.
- `exp`, `log`, `tanh` and their kin are within 4 units in the last place (gelu and sigmoid: relative 2e-5 in their float32 tails),
  `sin` and `cos` within 2. The same input gives the same bits at every position, for any number of threads and on every instruction set.
- An integer of Python's that the dtype beside it does not hold raises NumberOutOfRangeError, which is an OverflowError; comparisons answer
  as its value says: `uint8 == -3` is False, `uint8 > -3` True.
- Errors: ShapeMismatchError (shapes do not broadcast; `out` has another shape), UnsupportedDtypeError, InvalidTypeError (no array of
  numbers), InvalidArgumentError (`out` overlaps an input; an array with a mask, whose memory is not aligned, or that its owner does not
  lend), NumberOutOfRangeError, ReadOnlyError, OutOfMemoryError.
"""

from __future__ import annotations

from typing import Any

from amdgpu.arguments import number
from amdgpu.errors import InvalidArgumentError, InvalidTypeError
from amdgpu.ops import fast_call
from amdgpu.ops.placement import elementwise as _run

__all__ = [
    "absolute",
    "add",
    "ceil",
    "clip",
    "cos",
    "divide",
    "elu",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "gelu",
    "greater",
    "greater_equal",
    "isfinite",
    "isinf",
    "isnan",
    "leaky_relu",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "reciprocal",
    "relu",
    "rint",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "softplus",
    "sqrt",
    "square",
    "subtract",
    "tanh",
    "trunc",
    "where",
]


@fast_call.elementwise
def add(a: Any, b: Any, *, out: Any = None) -> Any:
    """The sum a + b; of truth values, their disjunction.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.add([1, 2], [10, 20]).tolist()
        [11, 22]
    """
    return _run("add", (a, b), out)


@fast_call.elementwise
def subtract(a: Any, b: Any, *, out: Any = None) -> Any:
    """The difference a - b; refused for truth values.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("subtract", (a, b), out)


@fast_call.elementwise
def multiply(a: Any, b: Any, *, out: Any = None) -> Any:
    """The product a * b; of truth values, their conjunction.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("multiply", (a, b), out)


@fast_call.elementwise
def divide(a: Any, b: Any, *, out: Any = None) -> Any:
    """The quotient a / b in floating point; x / 0 is an infinity, 0 / 0 is NaN.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.divide([1, 2], 4).tolist()
        [0.25, 0.5]
    """
    return _run("divide", (a, b), out)


@fast_call.elementwise
def maximum(a: Any, b: Any, *, out: Any = None) -> Any:
    """The larger of a and b; NaN when either is.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("maximum", (a, b), out)


@fast_call.elementwise
def minimum(a: Any, b: Any, *, out: Any = None) -> Any:
    """The smaller of a and b; NaN when either is.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("minimum", (a, b), out)


@fast_call.elementwise
def negative(x: Any, *, out: Any = None) -> Any:
    """-x; refused for truth values.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("negative", (x,), out)


@fast_call.elementwise
def absolute(x: Any, *, out: Any = None) -> Any:
    """The distance from zero; the smallest integer of a dtype stays what it is.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("absolute", (x,), out)


@fast_call.elementwise
def sign(x: Any, *, out: Any = None) -> Any:
    """-1, 0 or 1; zeros keep their sign and NaN stays NaN.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("sign", (x,), out)


@fast_call.elementwise
def square(x: Any, *, out: Any = None) -> Any:
    """The square x * x.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("square", (x,), out)


@fast_call.elementwise
def reciprocal(x: Any, *, out: Any = None) -> Any:
    """1 / x in floating point.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("reciprocal", (x,), out)


@fast_call.elementwise
def sqrt(x: Any, *, out: Any = None) -> Any:
    """The square root, correctly rounded; NaN below zero.

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.sqrt([4.0, 9.0]).tolist()
        [2.0, 3.0]
    """
    return _run("sqrt", (x,), out)


@fast_call.elementwise
def exp(x: Any, *, out: Any = None) -> Any:
    """e^x.

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.exp([0.0]).tolist()
        [1.0]
    """
    return _run("exp", (x,), out)


@fast_call.elementwise
def exp2(x: Any, *, out: Any = None) -> Any:
    """2^x; exact for whole numbers.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("exp2", (x,), out)


@fast_call.elementwise
def expm1(x: Any, *, out: Any = None) -> Any:
    """e^x - 1, precise near zero.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("expm1", (x,), out)


@fast_call.elementwise
def log(x: Any, *, out: Any = None) -> Any:
    """The natural logarithm; -inf at zero, NaN below.

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.log([1.0]).tolist()
        [0.0]
    """
    return _run("log", (x,), out)


@fast_call.elementwise
def log2(x: Any, *, out: Any = None) -> Any:
    """The logarithm to base 2; exact for powers of two.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("log2", (x,), out)


@fast_call.elementwise
def log10(x: Any, *, out: Any = None) -> Any:
    """The logarithm to base 10.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("log10", (x,), out)


@fast_call.elementwise
def log1p(x: Any, *, out: Any = None) -> Any:
    """log(1 + x), precise near zero.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("log1p", (x,), out)


@fast_call.elementwise
def erf(x: Any, *, out: Any = None) -> Any:
    """The error function.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("erf", (x,), out)


@fast_call.elementwise
def sin(x: Any, *, out: Any = None) -> Any:
    """The sine; NaN for infinities.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("sin", (x,), out)


@fast_call.elementwise
def cos(x: Any, *, out: Any = None) -> Any:
    """The cosine; NaN for infinities.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("cos", (x,), out)


@fast_call.elementwise
def tanh(x: Any, *, out: Any = None) -> Any:
    """The hyperbolic tangent.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("tanh", (x,), out)


@fast_call.elementwise
def floor(x: Any, *, out: Any = None) -> Any:
    """The largest whole number that is not larger.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("floor", (x,), out)


@fast_call.elementwise
def ceil(x: Any, *, out: Any = None) -> Any:
    """The smallest whole number that is not smaller.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("ceil", (x,), out)


@fast_call.elementwise
def trunc(x: Any, *, out: Any = None) -> Any:
    """The whole part, towards zero.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("trunc", (x,), out)


@fast_call.elementwise
def rint(x: Any, *, out: Any = None) -> Any:
    """The nearest whole number, ties to even.

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.rint([0.5, 1.5]).tolist()
        [0.0, 2.0]
    """
    return _run("rint", (x,), out)


@fast_call.elementwise
def sigmoid(x: Any, *, out: Any = None) -> Any:
    """1 / (1 + e^-x).

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.sigmoid([0.0]).tolist()
        [0.5]
    """
    return _run("sigmoid", (x,), out)


@fast_call.elementwise
def relu(x: Any, *, out: Any = None) -> Any:
    """The value where it is positive, else zero; NaN stays NaN.

    Args:
        x: Values.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.relu([-1.0, 2.0]).tolist()
        [0.0, 2.0]
    """
    return _run("relu", (x,), out)


@fast_call.elementwise
def leaky_relu(x: Any, *, alpha: float = 0.01, out: Any = None) -> Any:
    """The value where it is positive, else alpha * x.

    Args:
        x: Values.
        alpha: Slope below zero.
        out: Receives the result; see the module.
    """
    return _run("leaky_relu", (x,), out, number("leaky_relu", "alpha", alpha))


@fast_call.elementwise
def elu(x: Any, *, alpha: float = 1.0, out: Any = None) -> Any:
    """The value where it is positive, else alpha * (e^x - 1).

    Args:
        x: Values.
        alpha: Limit far below zero, negated.
        out: Receives the result; see the module.
    """
    return _run("elu", (x,), out, number("elu", "alpha", alpha))


@fast_call.elementwise
def gelu(x: Any, *, approximate: str = "none", out: Any = None) -> Any:
    """Gaussian error linear unit: x / 2 * (1 + erf(x / sqrt 2)), or its approximation by tanh (Hendrycks & Gimpel 2016).

    Args:
        x: Values.
        approximate: "none" for the exact form or "tanh".
        out: Receives the result; see the module.

    Raises:
        InvalidArgumentError: `approximate` is neither.
    """
    if approximate not in ("none", "tanh"):
        raise InvalidArgumentError(f"gelu: approximate is {approximate!r}; known are 'none' and 'tanh'")
    return _run("gelu" if approximate == "none" else "gelu_tanh", (x,), out)


@fast_call.elementwise
def silu(x: Any, *, out: Any = None) -> Any:
    """Sigmoid linear unit: x * sigmoid(x).

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("silu", (x,), out)


@fast_call.elementwise
def softplus(x: Any, *, out: Any = None) -> Any:
    """log(1 + e^x) without overflow.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("softplus", (x,), out)


@fast_call.elementwise
def isnan(x: Any, *, out: Any = None) -> Any:
    """Whether values are NaN.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("isnan", (x,), out)


@fast_call.elementwise
def isinf(x: Any, *, out: Any = None) -> Any:
    """Whether values are infinite.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("isinf", (x,), out)


@fast_call.elementwise
def isfinite(x: Any, *, out: Any = None) -> Any:
    """Whether values are neither infinite nor NaN.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("isfinite", (x,), out)


@fast_call.elementwise
def equal(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a == b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("equal", (a, b), out)


@fast_call.elementwise
def not_equal(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a != b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("not_equal", (a, b), out)


@fast_call.elementwise
def less(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a < b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.less([1, 5], 3).tolist()
        [True, False]
    """
    return _run("less", (a, b), out)


@fast_call.elementwise
def less_equal(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a <= b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("less_equal", (a, b), out)


@fast_call.elementwise
def greater(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a > b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("greater", (a, b), out)


@fast_call.elementwise
def greater_equal(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether a >= b.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("greater_equal", (a, b), out)


@fast_call.elementwise
def logical_and(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether both are other than zero.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("logical_and", (a, b), out)


@fast_call.elementwise
def logical_or(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether either is other than zero.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("logical_or", (a, b), out)


@fast_call.elementwise
def logical_xor(a: Any, b: Any, *, out: Any = None) -> Any:
    """Whether one of both is other than zero.

    Args:
        a: First operand.
        b: Second operand.
        out: Receives the result; see the module.
    """
    return _run("logical_xor", (a, b), out)


@fast_call.elementwise
def logical_not(x: Any, *, out: Any = None) -> Any:
    """Whether values are zero.

    Args:
        x: Values.
        out: Receives the result; see the module.
    """
    return _run("logical_not", (x,), out)


@fast_call.elementwise
def where(condition: Any, a: Any = None, b: Any = None, *, out: Any = None) -> Any:
    """The value of a where the condition (bool or 8-bit integers) is true, else b.

    Args:
        condition: Truth values.
        a: First operand; without both operands the result is `nonzero(condition)`, as in NumPy.
        b: Second operand.
        out: Receives the result; see the module.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.where([True, False], [1, 2], [3, 4]).tolist()
        [1, 4]
    """
    if a is None or b is None:
        if a is not b or out is not None:
            raise InvalidTypeError("where: pass both a and b, or neither of them for nonzero(condition)")
        from amdgpu.ops.indexing import nonzero

        return nonzero(condition)
    return _run("where", (condition, a, b), out)


@fast_call.elementwise
def clip(x: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:  # noqa: A002 (the standard's names)
    """The value kept within [min, max]; `max` wins where it is below `min`.

    Args:
        x: Values.
        min: Lower bounds; None for no bound.
        max: Upper bounds; None for no bound.
        out: Receives the result; see the module.
    """
    if min is None and max is None:
        return _run("maximum", (x, x), out)
    if min is None or max is None:
        return _run("minimum", (x, max), out) if min is None else _run("maximum", (x, min), out)
    return _run("clip", (x, min, max), out)

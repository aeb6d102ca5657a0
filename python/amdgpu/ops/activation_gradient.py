"""Gradients of the activations of `amdgpu.ops`, elementwise.

Each takes what the activation took (`sigmoid` and `tanh`: what they returned) and the gradient of a loss by the result, and returns the
gradient of the loss by the argument. Arguments, results and errors are those of `amdgpu.ops.elementwise`.
"""

from __future__ import annotations

from typing import Any

from amdgpu.arguments import number
from amdgpu.errors import InvalidArgumentError
from amdgpu.ops import fast_call
from amdgpu.ops.placement import elementwise

__all__ = [
    "elu_gradient",
    "gelu_gradient",
    "leaky_relu_gradient",
    "relu_gradient",
    "sigmoid_gradient",
    "silu_gradient",
    "softplus_gradient",
    "tanh_gradient",
]


@fast_call.elementwise
def relu_gradient(x: Any, gradient: Any, *, out: Any = None) -> Any:
    """The gradient by x of `relu`: the gradient of the result where x is positive, else zero.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.relu_gradient([-1.0, 2.0], [5.0, 5.0]).tolist()
        [0.0, 5.0]
    """
    return elementwise("relu_gradient", (x, gradient), out)


@fast_call.elementwise
def leaky_relu_gradient(x: Any, gradient: Any, *, alpha: float = 0.01, out: Any = None) -> Any:
    """The gradient by x of `leaky_relu`: alpha times the gradient of the result where x is not positive.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        alpha: Slope below zero.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("leaky_relu_gradient", (x, gradient), out, alpha=number("leaky_relu_gradient", "alpha", alpha))


@fast_call.elementwise
def elu_gradient(x: Any, gradient: Any, *, alpha: float = 1.0, out: Any = None) -> Any:
    """The gradient by x of `elu`: alpha e^x times the gradient of the result where x is not positive.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        alpha: Limit far below zero, negated.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("elu_gradient", (x, gradient), out, alpha=number("elu_gradient", "alpha", alpha))


@fast_call.elementwise
def gelu_gradient(x: Any, gradient: Any, *, approximate: str = "none", out: Any = None) -> Any:
    """The gradient by x of `gelu`. The absolute error of the slope is below 1e-6 in float32 and 1e-14 in float64.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        approximate: "none" for the exact form or "tanh".
        out: Receives the result; see `amdgpu.ops.elementwise`.

    Raises:
        InvalidArgumentError: `approximate` is neither.
    """
    if approximate not in ("none", "tanh"):
        raise InvalidArgumentError(f"gelu_gradient: approximate is {approximate!r}; known are 'none' and 'tanh'")
    operation = "gelu_gradient" if approximate == "none" else "gelu_tanh_gradient"
    return elementwise(operation, (x, gradient), out)


@fast_call.elementwise
def silu_gradient(x: Any, gradient: Any, *, out: Any = None) -> Any:
    """The gradient by x of `silu`: s (1 + x (1 - s)) times the gradient of the result, s the sigmoid of x.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("silu_gradient", (x, gradient), out)


@fast_call.elementwise
def softplus_gradient(x: Any, gradient: Any, *, out: Any = None) -> Any:
    """The gradient by x of `softplus`: the sigmoid of x times the gradient of the result.

    Args:
        x: Argument of the activation.
        gradient: Gradient of the result.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("softplus_gradient", (x, gradient), out)


@fast_call.elementwise
def sigmoid_gradient(y: Any, gradient: Any, *, out: Any = None) -> Any:
    """The gradient by the argument of `sigmoid`, from its result: y (1 - y) times the gradient of the result.

    Args:
        y: Result of the activation.
        gradient: Gradient of the result.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("sigmoid_gradient", (y, gradient), out)


@fast_call.elementwise
def tanh_gradient(y: Any, gradient: Any, *, out: Any = None) -> Any:
    """The gradient by the argument of `tanh`, from its result: (1 - y^2) times the gradient of the result.

    Args:
        y: Result of the activation.
        gradient: Gradient of the result.
        out: Receives the result; see `amdgpu.ops.elementwise`.
    """
    return elementwise("tanh_gradient", (y, gradient), out)

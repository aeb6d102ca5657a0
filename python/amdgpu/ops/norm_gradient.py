"""Gradients of softmax and the norms of `amdgpu.ops`, as training needs them.

Each takes what the operation took (the softmaxes: what they returned) and the gradient of a loss by the result; both are floats of one
dtype. Sums are taken in blocks, sums of blocks in float64; float16 and bfloat16 are computed in float32 and rounded once. Against float64,
gradients by arguments are within 32 units of rounding of the largest term that is added for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = [
    "batch_norm_gradient",
    "layer_norm_gradient",
    "log_softmax_gradient",
    "rms_norm_gradient",
    "softmax_gradient",
]


def softmax_gradient(y: Any, gradient: Any, axis: int = -1, *, out: Any = None) -> Any:
    """The gradient by the argument of `softmax`: y (gradient - sum of gradient y along the axis).

    Args:
        y: Result of `softmax`.
        gradient: Gradient of that result; same shape and dtype.
        axis: Axis that was normalised over.
        out: Array of the shape and dtype of the result to write to; may be `y` or `gradient`.

    Raises:
        InvalidArgumentError: No such axis; `out` overlaps an argument without being it.
        ShapeMismatchError: `gradient` has another shape.
        UnsupportedDtypeError: The arguments are not floats of one dtype.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.softmax_gradient([0.5, 0.5], [1.0, 0.0]).tolist()
        [0.25, -0.25]
    """
    return _along("softmax", y, gradient, axis, out)


def log_softmax_gradient(y: Any, gradient: Any, axis: int = -1, *, out: Any = None) -> Any:
    """The gradient by the argument of `log_softmax`: gradient - e^y sum of gradient; arguments and errors as for `softmax_gradient`."""
    return _along("log_softmax", y, gradient, axis, out)


def layer_norm_gradient(
    x: Any, gradient: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float = 1e-5
) -> tuple[Any, Any, Any]:
    """The gradients of `layer_norm`.

    Args:
        x: Argument of `layer_norm`.
        gradient: Gradient of its result; same shape and dtype.
        normalized_shape: Extents of the last axes, which were normalised together.
        weight: Factors that were given; None for 1.
        eps: As it was given.

    Returns:
        Gradients by x, weight and bias; the latter two have the normalised shape.

    Raises:
        InvalidArgumentError: `eps` is negative or NaN.
        ShapeMismatchError: x does not end in `normalized_shape`, or `gradient` or `weight` has another shape.
        UnsupportedDtypeError: x and `gradient` are not floats of one dtype.

    Example:
        >>> import amdgpu
        >>> by_x, by_weight, by_bias = amdgpu.ops.layer_norm_gradient([[1.0, 3.0]], [[1.0, 2.0]], 2, eps=0.0)
        >>> by_weight.tolist(), by_bias.tolist()
        ([-1.0, 2.0], [1.0, 2.0])
    """
    extents = arguments.integers("layer_norm_gradient", "normalized_shape", normalized_shape)
    by_x = _over_last("layer_norm", x, gradient, extents, weight=weight, eps=eps)
    by_weight, by_bias = _by_parameters("layer_norm", x, gradient, extents, eps)
    return by_x, by_weight, by_bias


def rms_norm_gradient(
    x: Any, gradient: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float = 1e-6
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` by x and weight; arguments and errors as for `layer_norm_gradient`."""
    extents = arguments.integers("rms_norm_gradient", "normalized_shape", normalized_shape)
    by_x = _over_last("rms_norm", x, gradient, extents, weight=weight, eps=eps)
    (by_weight,) = _by_parameters("rms_norm", x, gradient, extents, eps)
    return by_x, by_weight


def batch_norm_gradient(
    x: Any, gradient: Any, weight: Any = None, *, eps: float = 1e-5, channel_axis: int = 1
) -> tuple[Any, Any, Any]:
    """The gradients of `batch_norm_training`, whose statistics are those of x.

    Args:
        x: Argument of `batch_norm_training`.
        gradient: Gradient of its result; same shape and dtype.
        weight: Factor of each channel; None for 1.
        eps: As it was given.
        channel_axis: Axis of the channels: 1 for NCHW, -1 for NHWC.

    Returns:
        Gradients by x, weight and bias; the latter two have one value for each channel.

    Raises:
        ShapeMismatchError: x has no such axis, `gradient` has another shape, or `weight` does not have one value for each channel.
        UnsupportedDtypeError: x and `gradient` are not floats of one dtype.
        InvalidArgumentError: `eps` is negative or NaN.
    """
    eps = arguments.number("batch_norm_gradient", "eps", eps)
    axis = arguments.integer("batch_norm_gradient", "channel_axis", channel_axis)
    given = (x, gradient, weight, eps, axis)
    found: tuple[Any, Any, Any] = placement.run(("batch_norm_gradient",), (x, gradient), *given)
    return found


def _along(operation: str, y: Any, gradient: Any, axis: Any, out: Any) -> Any:
    axes = (arguments.integer(f"{operation}_gradient", "axis", axis),)
    options = ("normalize_gradient", operation, axes)
    return placement.run(options, (y, gradient, out), operation, y, gradient, None, axes, out)


def _over_last(operation: str, x: Any, gradient: Any, extents: tuple[int, ...], *, weight: Any, eps: float) -> Any:
    eps = arguments.number(f"{operation}_gradient", "eps", eps)
    options, given = ("normalize_gradient", operation, extents, eps), (operation, x, gradient, weight, (), None)
    return placement.run(options, (x, gradient, weight), *given, row_shape=extents, epsilon=eps)


def _by_parameters(operation: str, x: Any, gradient: Any, extents: tuple[int, ...], eps: Any) -> tuple[Any, ...]:
    options = ("norm_parameter_gradients", f"{operation}_gradient")
    found: tuple[Any, ...] = placement.run(options, (x, gradient), operation, x, gradient, extents, float(eps))
    return found

"""Batch normalisation (Ioffe & Szegedy 2015): every channel is normalised over all other axes.

Statistics are those of `amdgpu.ops.mean` and `amdgpu.ops.var`, kept in float64 until they are used; the result is (x - mean) * scale + bias
with scale = weight / sqrt(variance + eps) computed in float64 and rounded once. float16 and bfloat16 images are computed in float32.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = ["batch_norm", "batch_norm_training"]


def batch_norm(
    x: Any, mean: Any, variance: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5, channel_axis: int = 1
) -> Any:
    """Normalises with given statistics, as at inference.

    Args:
        x: Values, floats.
        mean: Mean of each channel.
        variance: Variance of each channel.
        weight: Factor of each channel; None for 1.
        bias: Addend of each channel; None for 0.
        eps: Added to the variance.
        channel_axis: Axis of the channels: 1 for NCHW, -1 for NHWC.

    Returns:
        Normalised values of the shape and dtype of x.

    Raises:
        ShapeMismatchError: x has no such axis, or a parameter does not have one value for each channel.
        UnsupportedDtypeError: x does not hold floats.
        InvalidArgumentError: `eps` is negative or NaN.
        InvalidTypeError: x or a parameter holds no numbers; `eps` or `channel_axis` is none.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.batch_norm([[1.0], [3.0]], [2.0], [4.0], eps=0.0).tolist()
        [[-0.5], [0.5]]
    """
    given = (x, mean, variance, weight, bias)
    return placement.run(("batch_norm",), (x,), *given, *_options("batch_norm", eps, channel_axis))


def batch_norm_training(
    x: Any, weight: Any = None, bias: Any = None, *, eps: float = 1e-5, channel_axis: int = 1
) -> tuple[Any, Any, Any]:
    """Normalises with the statistics of x itself, as in training.

    Args:
        x: Values, floats.
        weight: Factor of each channel; None for 1.
        bias: Addend of each channel; None for 0.
        eps: Added to the variance.
        channel_axis: Axis of the channels: 1 for NCHW, -1 for NHWC.

    Returns:
        Normalised values, mean and variance of each channel; these are float32 unless x is float64. The variance is divided by the number
        of values, not by one less.

    Raises:
        ShapeMismatchError: See `batch_norm`, like the other errors.
    """
    options = _options("batch_norm_training", eps, channel_axis)
    found: tuple[Any, Any, Any] = placement.run(("batch_norm_training",), (x,), x, weight, bias, *options)
    return found


def _options(operation: str, eps: Any, channel_axis: Any) -> tuple[float, int]:
    return arguments.number(operation, "eps", eps), arguments.integer(operation, "channel_axis", channel_axis)

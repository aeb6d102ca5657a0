"""Batch normalisation (Ioffe & Szegedy 2015): every channel is normalised over all other axes.

Statistics are those of `amdgpu.ops.mean` and `amdgpu.ops.var`, kept in float64 until they are used; the result is (x - mean) * scale + bias
with scale = weight / sqrt(variance + eps) computed in float64 and rounded once. float16 and bfloat16 images are computed in float32.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu._generated.dtypes import FLOATS, FLOATS_OF_FLOAT32
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError
from amdgpu.ops import placement

__all__ = ["batch_norm", "batch_norm_training"]

# Means and factors outside of it lose digits as float32, or are infinite.
_FLOAT32_RANGE = (2.0**-120, 2.0**120)


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
    import numpy as np

    x = placement.held("batch_norm", "x", x)
    axis = _channel_axis(x, channel_axis)
    eps = arguments.number("batch_norm", "eps", eps)
    if not eps >= 0:
        raise InvalidArgumentError(f"batch_norm: eps is {eps}; it must not be negative")
    name = np.dtype(x.dtype).name
    if name not in FLOATS:
        raise UnsupportedDtypeError(f"batch_norm: x has dtype {name}; floats are normalised")
    given = {"mean": mean, "variance": variance, "weight": weight, "bias": bias}
    channels = x.shape[axis]
    wide: dict[str, Any] = {}
    for parameter, value in given.items():
        wide[parameter] = (
            np.full(channels, parameter == "weight", float)
            if value is None
            else placement.on_host("batch_norm", parameter, value)
        )
        if wide[parameter].shape != (channels,):
            raise ShapeMismatchError(
                f"batch_norm: {parameter} has shape {wide[parameter].shape}; x of shape {tuple(x.shape)} has {channels} channels"
            )
    with np.errstate(all="ignore"):
        scale = wide["weight"] / np.sqrt(wide["variance"] + eps)
    shape = [1] * len(x.shape)
    shape[axis] = channels
    compute = np.float32 if name != "float64" and fit_float32(wide["mean"], scale) else np.float64
    parameters = (values.astype(compute).reshape(shape) for values in (wide["mean"], scale, wide["bias"]))
    result = placement.implementation("elementwise", x)("standardize", (x, *parameters))
    return result if result.dtype == x.dtype else np.asarray(result).astype(x.dtype)


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
    import numpy as np

    x = placement.held("batch_norm", "x", x)
    axis = _channel_axis(x, channel_axis)
    others = tuple(other for other in range(len(x.shape)) if other != axis)
    mean, variance = statistic("mean", x, others), statistic("var", x, others)
    result = batch_norm(x, mean, variance, weight, bias, eps=eps, channel_axis=axis)
    dtype = "float64" if np.dtype(x.dtype) == np.float64 else "float32"
    return result, placement.converted(mean, dtype), placement.converted(variance, dtype)


def statistic(name: str, x: Any, axes: tuple[int, ...]) -> Any:
    """A mean or a variance in float64, whatever the dtype of x: those of float16 values need not fit float16."""
    import numpy as np

    dtype = "float64" if np.dtype(x.dtype).name in FLOATS_OF_FLOAT32 else None
    return placement.implementation("reduce", x)(name, x, axes, None, dtype=dtype)


def fit_float32(*statistics: Any) -> bool:
    """Whether float32 holds values in all their digits; what is zero, infinite or NaN stays that."""
    import numpy as np

    least, most = _FLOAT32_RANGE
    sizes = np.abs(np.concatenate([np.ravel(values) for values in statistics]))
    return not ((sizes > 0) & (sizes < least) | np.isfinite(sizes) & (sizes > most)).any()


def _channel_axis(x: Any, channel_axis: int) -> int:
    rank = len(x.shape)
    given = arguments.integer("batch_norm", "channel_axis", channel_axis)
    axis = given + rank if given < 0 else given
    if not 0 <= axis < rank:
        raise ShapeMismatchError(f"batch_norm: channel_axis is {channel_axis}; x has shape {tuple(x.shape)}")
    return axis

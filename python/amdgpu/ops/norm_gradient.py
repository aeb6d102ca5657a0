"""Gradients of softmax and the norms of `amdgpu.ops`, as training needs them.

Each takes what the operation took (the softmaxes: what they returned) and the gradient of a loss by the result; both are floats of one
dtype. Sums are taken in blocks, sums of blocks in float64; float16 and bfloat16 are computed in float32 and rounded once. Against float64,
gradients by arguments are within 32 units of rounding of the largest term that is added for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu._generated.dtypes import FLOATS, NARROW_FLOATS
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError
from amdgpu.ops import placement
from amdgpu.ops.batch_norm import fit_float32, statistic
from amdgpu.ops.normalize import layer_norm, rms_norm

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
    leading = _leading(gradient, extents)
    x, gradient = _computed("x", x), _computed("gradient", gradient)
    dtype = _dtype_name(by_x)
    by_weight = _summed(
        placement.elementwise("multiply", (layer_norm(x, extents, eps=eps), gradient), None), leading, dtype
    )
    return by_x, by_weight, _summed(gradient, leading, dtype)


def rms_norm_gradient(
    x: Any, gradient: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float = 1e-6
) -> tuple[Any, Any]:
    """The gradients of `rms_norm` by x and weight; arguments and errors as for `layer_norm_gradient`."""
    extents = arguments.integers("rms_norm_gradient", "normalized_shape", normalized_shape)
    by_x = _over_last("rms_norm", x, gradient, extents, weight=weight, eps=eps)
    leading = _leading(gradient, extents)
    x, gradient = _computed("x", x), _computed("gradient", gradient)
    products = placement.elementwise("multiply", (rms_norm(x, extents, eps=eps), gradient), None)
    return by_x, _summed(products, leading, _dtype_name(by_x))


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
    import numpy as np

    x, gradient = (
        placement.held("batch_norm_gradient", "x", x),
        placement.held("batch_norm_gradient", "gradient", gradient),
    )
    eps = arguments.number("batch_norm_gradient", "eps", eps)
    rank = len(x.shape)
    given = arguments.integer("batch_norm_gradient", "channel_axis", channel_axis)
    axis = given + rank if given < 0 else given
    if not 0 <= axis < rank:
        raise ShapeMismatchError(f"batch_norm_gradient: channel_axis is {channel_axis}; x has shape {tuple(x.shape)}")
    if tuple(gradient.shape) != tuple(x.shape):
        raise ShapeMismatchError(f"batch_norm_gradient: gradient has shape {tuple(gradient.shape)}, x {tuple(x.shape)}")
    name = _dtype_name(x)
    if name not in FLOATS or _dtype_name(gradient) != name:
        raise UnsupportedDtypeError(
            f"batch_norm_gradient: x has dtype {name} and gradient {_dtype_name(gradient)}; both must be floats of one dtype"
        )
    if not eps >= 0:
        raise InvalidArgumentError(f"batch_norm_gradient: eps is {eps}; it must not be negative")
    channels = x.shape[axis]
    factor = np.ones(channels) if weight is None else placement.on_host("batch_norm_gradient", "weight", weight)
    if factor.shape != (channels,):
        raise ShapeMismatchError(
            f"batch_norm_gradient: weight has shape {factor.shape}; x of shape {tuple(x.shape)} has {channels} channels"
        )
    others = tuple(other for other in range(rank) if other != axis)
    shape = [channels if other == axis else 1 for other in range(rank)]

    elementwise = placement.elementwise
    with np.errstate(all="ignore"):
        mean = placement.values_of(statistic("mean", x, others), float)
        deviation = 1 / np.sqrt(placement.values_of(statistic("var", x, others), float) + eps)
        dtype = "float32" if name != "float64" and fit_float32(mean, deviation) else "float64"

        def of_channels(values: Any) -> Any:
            return np.asarray(values, dtype).reshape(shape)

        x, gradient = placement.converted(x, dtype), placement.converted(gradient, dtype)
        zero = np.zeros(1, dtype)
        normalised = elementwise("standardize", (x, of_channels(mean), of_channels(deviation), zero), None)
        by_bias = statistic("sum", gradient, others)
        by_weight = statistic("sum", elementwise("multiply", (normalised, gradient), None), others)
        count = x.size // max(channels, 1)
        scale = factor * deviation
        level = of_channels(placement.values_of(by_bias, float) / count)
        slope = of_channels(scale * placement.values_of(by_weight, float) / count)
        by_x = elementwise("standardize", (gradient, level, of_channels(scale), zero), None)
        by_x = elementwise("subtract", (by_x, elementwise("multiply", (normalised, slope), None)), by_x)
    return placement.converted(by_x, name), placement.converted(by_weight, name), placement.converted(by_bias, name)


def _along(operation: str, y: Any, gradient: Any, axis: Any, out: Any) -> Any:
    axes = (arguments.integer(f"{operation}_gradient", "axis", axis),)
    options = ("normalize_gradient", operation, axes)
    return placement.run(options, (y, gradient, out), operation, y, gradient, None, axes, out)


def _over_last(operation: str, x: Any, gradient: Any, extents: tuple[int, ...], *, weight: Any, eps: float) -> Any:
    eps = arguments.number(f"{operation}_gradient", "eps", eps)
    options, given = ("normalize_gradient", operation, extents, eps), (operation, x, gradient, weight, (), None)
    return placement.run(options, (x, gradient, weight), *given, row_shape=extents, epsilon=eps)


def _dtype_name(array: Any) -> str:
    import numpy as np

    name: str = np.dtype(array.dtype).name
    return name


def _computed(name: str, values: Any) -> Any:
    """float16 and bfloat16 as float32, so that products of them neither overflow nor are rounded before they are summed."""
    values = placement.held("norm_gradient", name, values)
    return placement.converted(values, "float32") if _dtype_name(values) in NARROW_FLOATS else values


def _summed(values: Any, axes: tuple[int, ...], dtype: str) -> Any:
    return placement.implementation("reduce", values)("sum", values, axes, None, dtype=dtype)


def _leading(gradient: Any, extents: tuple[int, ...]) -> tuple[int, ...]:
    import numpy as np

    return tuple(range(np.ndim(gradient) - len(extents)))

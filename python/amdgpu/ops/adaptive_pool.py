"""Adaptive pooling: windows that cut images into as many parts as the result has pixels.

Window i along an axis covers the pixels from floor(i * extent / size) up to ceil((i + 1) * extent / size), so that windows overlap where
the extent is no multiple of the size, as in PyTorch. Images and layouts are those of `amdgpu.ops.pool`. `output_size` is an integer, or one
for each axis; None keeps the extent of the images.

Source: He, Zhang, Ren and Sun, Spatial pyramid pooling in deep convolutional networks for visual recognition, section 2.2.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidTypeError
from amdgpu.ops.pool import axes_of, layout_of, run

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool1d_gradient",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool2d_gradient",
    "adaptive_avg_pool3d",
    "adaptive_avg_pool3d_gradient",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_gradient",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_gradient",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_gradient",
]


def adaptive_avg_pool1d(x: Any, output_size: Any, *, layout: str = "NCL", out: Any = None) -> Any:
    """The average of each of `output_size` windows along each axis.

    Args:
        x: Images of shape (batch, channels, columns).
        output_size: An integer, or None.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have three axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_avg_pool1d(numpy.arange(4.0).reshape(1, 1, 4), 1).tolist()
        [[[1.5]]]
    """
    operation = "adaptive_avg_pool1d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_avg_pool2d(x: Any, output_size: Any, *, layout: str = "NCHW", out: Any = None) -> Any:
    """The average of each of `output_size` windows along each axis.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        output_size: An integer or a pair (rows, columns), any of them None.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have four axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_avg_pool2d(numpy.arange(6.0).reshape(1, 1, 2, 3), (None, 1)).tolist()
        [[[[1.0], [4.0]]]]
    """
    operation = "adaptive_avg_pool2d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_avg_pool3d(x: Any, output_size: Any, *, layout: str = "NCDHW", out: Any = None) -> Any:
    """The average of each of `output_size` windows along each axis.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        output_size: An integer or three (depth, rows, columns), any of them None.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have five axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_avg_pool3d(numpy.arange(8.0).reshape(1, 1, 2, 2, 2), 1).tolist()
        [[[[[3.5]]]]]
    """
    operation = "adaptive_avg_pool3d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool1d(x: Any, output_size: Any, *, layout: str = "NCL", out: Any = None) -> Any:
    """The largest value of each of `output_size` windows along each axis; NaN when there is one.

    Args:
        x: Images of shape (batch, channels, columns).
        output_size: An integer, or None.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have three axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_max_pool1d(numpy.arange(4.0).reshape(1, 1, 4), 2).tolist()
        [[[1.0, 3.0]]]
    """
    operation = "adaptive_max_pool1d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool2d(x: Any, output_size: Any, *, layout: str = "NCHW", out: Any = None) -> Any:
    """The largest value of each of `output_size` windows along each axis; NaN when there is one.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        output_size: An integer or a pair (rows, columns), any of them None.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have four axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_max_pool2d(numpy.arange(6.0).reshape(1, 1, 2, 3), (1, 2)).tolist()
        [[[[4.0, 5.0]]]]
    """
    operation = "adaptive_max_pool2d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool3d(x: Any, output_size: Any, *, layout: str = "NCDHW", out: Any = None) -> Any:
    """The largest value of each of `output_size` windows along each axis; NaN when there is one.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        output_size: An integer or three (depth, rows, columns), any of them None.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have five axes, or has no pixels.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: An output_size below 1; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.adaptive_max_pool3d(numpy.arange(8.0).reshape(1, 1, 2, 2, 2), 1).tolist()
        [[[[[7.0]]]]]
    """
    operation = "adaptive_max_pool3d"
    return run(operation, x, None, out, **adaptive_options(operation, output_size, layout))


def adaptive_avg_pool1d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCL", out: Any = None
) -> Any:
    """The gradient of `adaptive_avg_pool1d` by x, from that by its result; of x only shape and dtype matter."""
    operation = "adaptive_avg_pool1d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_avg_pool2d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_avg_pool2d` by x, from that by its result; of x only shape and dtype matter."""
    operation = "adaptive_avg_pool2d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_avg_pool3d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCDHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_avg_pool3d` by x, from that by its result; of x only shape and dtype matter."""
    operation = "adaptive_avg_pool3d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool1d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCL", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool1d` by x, from that by its result; of equal values in a window the first has it all."""
    operation = "adaptive_max_pool1d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool2d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool2d` by x, from that by its result; of equal values in a window the first has it all."""
    operation = "adaptive_max_pool2d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_max_pool3d_gradient(
    x: Any, gradient: Any, output_size: Any, *, layout: str = "NCDHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool3d` by x, from that by its result; of equal values in a window the first has it all."""
    operation = "adaptive_max_pool3d"
    return run(operation, x, gradient, out, **adaptive_options(operation, output_size, layout))


def adaptive_options(operation: str, output_size: Any, layout: Any) -> dict[str, Any]:
    """The options of adaptive windows, as implementations take them; messages name the operation."""
    axes = axes_of(operation)
    many = (output_size,) * axes if output_size is None or hasattr(output_size, "__index__") else output_size
    if not isinstance(many, (tuple, list)) or len(many) != axes:
        wanted = ("an integer or None", "an integer, None or a pair of them", "an integer, None or three of them")[
            axes - 1
        ]
        raise InvalidTypeError(f"{operation}: output_size is {output_size!r}; {wanted} is expected")
    sizes = tuple(None if one is None else arguments.integer(operation, "output_size", one) for one in many)
    return {"output_size": sizes, "layout": layout_of(operation, layout)}

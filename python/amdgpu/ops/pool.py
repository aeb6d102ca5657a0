"""Pooling of images of one to three axes, and its gradients.

Images are (batch, channels, rows, columns), or (batch, rows, columns, channels) with `layout="NHWC"`, of any strides and float dtype; of
one axis "NCL" or "NLC", of three "NCDHW" or "NDHWC". Parameters mean what they mean in PyTorch. Results do
not depend on the number of threads.

Source: Goodfellow, Bengio and Courville, Deep Learning, section 9.3.
"""

from __future__ import annotations

from typing import Any

from amdgpu.arguments import along, integer, text, truth
from amdgpu.errors import InvalidArgumentError
from amdgpu.ops import placement

__all__ = [
    "avg_pool1d",
    "avg_pool1d_gradient",
    "avg_pool2d",
    "avg_pool2d_gradient",
    "avg_pool3d",
    "avg_pool3d_gradient",
    "max_pool1d",
    "max_pool1d_gradient",
    "max_pool2d",
    "max_pool2d_gradient",
    "max_pool3d",
    "max_pool3d_gradient",
]


def max_pool1d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The largest value of each window; NaN when there is one. Padding never is the largest.

    Args:
        x: Images of shape (batch, channels, columns).
        window: Extent of the window: an integer.
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have three axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.max_pool1d(numpy.arange(4.0).reshape(1, 1, 4), 2).tolist()
        [[[1.0, 3.0]]]
    """
    options = window_options("max_pool1d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool1d", x, None, out, **options)


def max_pool2d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The largest value of each window; NaN when there is one. Padding never is the largest.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        window: Extent of the window: an integer or a pair (rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have four axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.max_pool2d(numpy.arange(4.0).reshape(1, 1, 2, 2), 2).tolist()
        [[[[3.0]]]]
    """
    options = window_options("max_pool2d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool2d", x, None, out, **options)


def max_pool3d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The largest value of each window; NaN when there is one. Padding never is the largest.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        window: Extent of the window: an integer or three (depth, rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have five axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.max_pool3d(numpy.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
        [[[[[7.0]]]]]
    """
    options = window_options("max_pool3d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool3d", x, None, out, **options)


def avg_pool1d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The average of each window.

    Args:
        x: Images of shape (batch, channels, columns).
        window: Extent of the window: an integer.
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        count_include_pad: Whether an average is over the padding, too.
        divisor_override: What sums are divided by, not 0; None for the number of values.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have three axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.avg_pool1d(numpy.arange(4.0).reshape(1, 1, 4), 2).tolist()
        [[[0.5, 2.5]]]
    """
    options = window_options("avg_pool1d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool1d", count_include_pad, divisor_override)
    return run("avg_pool1d", x, None, out, **options)


def avg_pool2d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The average of each window.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        window: Extent of the window: an integer or a pair (rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        count_include_pad: Whether an average is over the padding, too.
        divisor_override: What sums are divided by, not 0; None for the number of values.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have four axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.avg_pool2d(numpy.arange(4.0).reshape(1, 1, 2, 2), 2).tolist()
        [[[[1.5]]]]
    """
    options = window_options("avg_pool2d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool2d", count_include_pad, divisor_override)
    return run("avg_pool2d", x, None, out, **options)


def avg_pool3d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The average of each window.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        window: Extent of the window: an integer or three (depth, rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        count_include_pad: Whether an average is over the padding, too.
        divisor_override: What sums are divided by, not 0; None for the number of values.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have five axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.avg_pool3d(numpy.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
        [[[[[3.5]]]]]
    """
    options = window_options("avg_pool3d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool3d", count_include_pad, divisor_override)
    return run("avg_pool3d", x, None, out, **options)


def max_pool1d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool1d` by x, from that by its result; of equal values in a window the first has it all."""
    options = window_options("max_pool1d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool1d", x, gradient, out, **options)


def max_pool2d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool2d` by x, from that by its result; of equal values in a window the first has it all."""
    options = window_options("max_pool2d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool2d", x, gradient, out, **options)


def max_pool3d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool3d` by x, from that by its result; of equal values in a window the first has it all."""
    options = window_options("max_pool3d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return run("max_pool3d", x, gradient, out, **options)


def avg_pool1d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `avg_pool1d` by x, from that by its result; of x only shape and dtype matter."""
    options = window_options("avg_pool1d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool1d", count_include_pad, divisor_override)
    return run("avg_pool1d", x, gradient, out, **options)


def avg_pool2d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `avg_pool2d` by x, from that by its result; of x only shape and dtype matter."""
    options = window_options("avg_pool2d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool2d", count_include_pad, divisor_override)
    return run("avg_pool2d", x, gradient, out, **options)


def avg_pool3d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `avg_pool3d` by x, from that by its result; of x only shape and dtype matter."""
    options = window_options("avg_pool3d", window, stride, padding, 1, ceil_mode=ceil_mode, layout=layout)
    options |= _average("avg_pool3d", count_include_pad, divisor_override)
    return run("avg_pool3d", x, gradient, out, **options)


def window_options(
    operation: str, window: Any, stride: Any, padding: Any, dilation: Any, *, ceil_mode: Any, layout: Any
) -> dict[str, Any]:
    """The options of windows that slide, as implementations take them; messages name the operation."""
    axes = axes_of(operation)
    given = {"window": window, "stride": window if stride is None else stride, "padding": padding, "dilation": dilation}
    options: dict[str, Any] = {name: along(operation, name, value, axes) for name, value in given.items()}
    options["layout"] = layout_of(operation, layout)
    # Implementations that other packages bring need not know the word.
    return {**options, "ceil_mode": True} if truth(operation, "ceil_mode", ceil_mode) else options


def layout_of(operation: str, layout: Any) -> str:
    """The name of a layout; whether images with so many axes have it is for the operation to say."""
    known = {1: "'NCL' or 'NLC'", 2: "'NCHW' or 'NHWC'", 3: "'NCDHW' or 'NDHWC'"}[axes_of(operation)]
    return text(operation, "layout", layout, known)


def axes_of(operation: str) -> int:
    """Axes that windows of an operation reach along, as its name says: 2 of max_pool2d."""
    return int(operation[operation.index("pool") + len("pool")])


def run(operation: str, x: Any, other: Any, out: Any, **options: Any) -> Any:
    """Runs a pooling, or its gradient, on the device of its arguments."""
    return placement.run(("pool", operation), (x, other, out), operation, x, other, out, **options)


def _average(operation: str, count_include_pad: Any, divisor_override: Any) -> dict[str, Any]:
    options: dict[str, Any] = {"counts_padding": truth(operation, "count_include_pad", count_include_pad)}
    if divisor_override is None:
        return options
    divisor = integer(operation, "divisor_override", divisor_override)
    if divisor == 0:
        raise InvalidArgumentError(f"{operation}: divisor_override is 0; give another integer, or None")
    return {**options, "divisor_override": divisor}

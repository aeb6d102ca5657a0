"""Transposed convolution of images of one to three axes, and its gradients.

It is the gradient of a convolution by its images: each pixel spreads over a window of the result. Images are as in
`amdgpu.ops.convolve`; weights are (channels, outputs / groups, rows, columns). The result has
(extent - 1) * stride - 2 * padding + dilation * (window - 1) + 1 + output_padding pixels along an axis, as in PyTorch.

Source: Dumoulin and Visin, A guide to convolution arithmetic for deep learning, chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.ops.convolve import input_gradient, run, weight_gradient, window_options

__all__ = [
    "conv_transpose1d",
    "conv_transpose1d_input_gradient",
    "conv_transpose1d_weight_gradient",
    "conv_transpose2d",
    "conv_transpose2d_input_gradient",
    "conv_transpose2d_weight_gradient",
    "conv_transpose3d",
    "conv_transpose3d_input_gradient",
    "conv_transpose3d_weight_gradient",
]


def conv_transpose1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The transpose of `conv1d`: images whose convolution has the shape of x.

    Args:
        x: Images of shape (batch, channels, columns).
        weight: Windows of shape (channels, outputs / groups, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Pixels of the result from one pixel of x to the next.
        padding: Pixels that are cut off on all sides of the result.
        output_padding: Pixels that the result has more behind its last; fewer than stride or dilation.
        groups: Channels and outputs are cut into so many groups.
        dilation: Steps within the window.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the padding leaves nothing.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, output_padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv_transpose1d(numpy.ones((1, 1, 2)), numpy.ones((1, 1, 2)), stride=2).tolist()
        [[[1.0, 1.0, 1.0, 1.0]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    options = _options("conv_transpose1d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return run("conv_transpose1d", "forward", inputs, out, **options)


def conv_transpose2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The transpose of `conv2d`: images whose convolution has the shape of x.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        weight: Windows of shape (channels, outputs / groups, rows, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Pixels of the result from one pixel of x to the next.
        padding: Pixels that are cut off on all sides of the result.
        output_padding: Pixels that the result has more behind its last; fewer than stride or dilation.
        groups: Channels and outputs are cut into so many groups.
        dilation: Steps within the window.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the padding leaves nothing.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, output_padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv_transpose2d(numpy.ones((1, 1, 1, 2)), numpy.ones((1, 1, 1, 2))).tolist()
        [[[[1.0, 2.0, 1.0]]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    options = _options("conv_transpose2d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return run("conv_transpose2d", "forward", inputs, out, **options)


def conv_transpose3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The transpose of `conv3d`: images whose convolution has the shape of x.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        weight: Windows of shape (channels, outputs / groups, depth, rows, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Pixels of the result from one pixel of x to the next.
        padding: Pixels that are cut off on all sides of the result.
        output_padding: Pixels that the result has more behind its last; fewer than stride or dilation.
        groups: Channels and outputs are cut into so many groups.
        dilation: Steps within the window.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the padding leaves nothing.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, output_padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv_transpose3d(numpy.ones((1, 1, 1, 1, 2)), numpy.ones((1, 1, 1, 1, 2))).tolist()
        [[[[[1.0, 2.0, 1.0]]]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    options = _options("conv_transpose3d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return run("conv_transpose3d", "forward", inputs, out, **options)


def conv_transpose1d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose1d` by x, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose1d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return input_gradient("conv_transpose1d", gradient, weight, input_shape, out=out, **options)


def conv_transpose2d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose2d` by x, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose2d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return input_gradient("conv_transpose2d", gradient, weight, input_shape, out=out, **options)


def conv_transpose3d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose3d` by x, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose3d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return input_gradient("conv_transpose3d", gradient, weight, input_shape, out=out, **options)


def conv_transpose1d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose1d` by its weights, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose1d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return weight_gradient("conv_transpose1d", x, gradient, weight_shape, out=out, **options)


def conv_transpose2d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose2d` by its weights, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose2d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return weight_gradient("conv_transpose2d", x, gradient, weight_shape, out=out, **options)


def conv_transpose3d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv_transpose3d` by its weights, whose shape is given, from that by its result; options and errors as there."""
    options = _options("conv_transpose3d", stride, padding, dilation, output_padding, groups=groups, layout=layout)
    return weight_gradient("conv_transpose3d", x, gradient, weight_shape, out=out, **options)


def _options(
    operation: str, stride: Any, padding: Any, dilation: Any, output_padding: Any, *, groups: Any, layout: Any
) -> dict[str, Any]:
    options = window_options(operation, stride, padding, dilation, groups=groups, layout=layout)
    more = arguments.along(operation, "output_padding", output_padding, int(operation[-2]))
    return {**options, "output_padding": more} if any(more) else options

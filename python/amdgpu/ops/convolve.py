"""Convolution of images of one to three axes, and its gradients.

Images are (batch, channels, rows, columns), or (batch, rows, columns, channels) with `layout="NHWC"`, of any strides; weights are
(outputs, channels / groups, rows, columns) in both. Images of one axis are "NCL" or "NLC", of three "NCDHW" or "NDHWC", and weights have as
many. `stride`, `padding` and `dilation` are integers or one for each axis. As in PyTorch the window is not mirrored, and padding stands on
all sides; "valid" is no padding, and "same" as much as keeps the extents of images where the stride is 1, behind them one more than
before them where that is odd. x and weight have the same dtype: float32, float64, float16 or bfloat16, the latter two computed in float32
and rounded once. Results do not depend on the number of threads.

Source: Goodfellow, Bengio and Courville, Deep Learning, section 9.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.ops import fast_call, placement

__all__ = [
    "conv1d",
    "conv1d_input_gradient",
    "conv1d_weight_gradient",
    "conv2d",
    "conv2d_input_gradient",
    "conv2d_weight_gradient",
    "conv3d",
    "conv3d_input_gradient",
    "conv3d_weight_gradient",
]


def conv1d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """`conv2d` of images of one axis.

    Args:
        x: Images of shape (batch, channels, columns).
        weight: Windows of shape (outputs, channels / groups, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Steps of the window.
        padding: Zeros around the images, "same" or "valid".
        dilation: Steps within the window.
        groups: Channels and outputs are cut into so many groups, each convolved alone.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv1d(numpy.ones((1, 1, 4)), numpy.ones((1, 1, 3)), padding="same").tolist()
        [[[2.0, 3.0, 3.0, 2.0]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    options = window_options("conv1d", stride, padding, dilation, groups=groups, layout=layout)
    return run("conv1d", "forward", inputs, out, **options)


@fast_call.convolve
def conv2d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
    precision: str = "fp32",
    out: Any = None,
) -> Any:
    """Convolves images with weights.

    Args:
        x: Images.
        weight: Windows of shape (outputs, channels / groups, rows, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Steps of the window.
        padding: Zeros around the images, "same" or "valid".
        dilation: Steps within the window.
        groups: Channels and outputs are cut into so many groups, each convolved alone.
        layout: "NCHW" or "NHWC".
        precision: "tf32" lets NVIDIA's matrix units cut float32 images and weights to 11 significant bits, as `matrix_multiply` does: a
            result is then off by at most 2^-9 plus k * 2^-24 of the sum of its absolute products, where k counts the elements of the
            window times the channels of a group. "fp32" keeps all digits. Both mean the same for other dtypes and on other
            devices, and where cuDNN does not compute also with `out`, with padding "same", with a stride, padding or dilation that
            differs between rows and columns, and with several groups of fewer than 8 channels each.
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv2d(numpy.ones((1, 1, 3, 3)), numpy.ones((1, 1, 2, 2))).tolist()
        [[[[4.0, 4.0], [4.0, 4.0]]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    if precision not in ("fp32", "tf32"):
        raise InvalidArgumentError(f"conv2d: precision is {precision!r}; it may be 'fp32' or 'tf32'")
    options = window_options("conv2d", stride, padding, dilation, groups=groups, layout=layout)
    return run("conv2d", "forward", inputs, out, precision=precision, **options)


def conv3d(
    x: Any,
    weight: Any,
    bias: Any = None,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """`conv2d` of images of three axes.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        weight: Windows of shape (outputs, channels / groups, depth, rows, columns).
        bias: An addend for each output, of the dtype of x.
        stride: Steps of the window.
        padding: Zeros around the images, "same" or "valid".
        dilation: Steps within the window.
        groups: Channels and outputs are cut into so many groups, each convolved alone.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of `outputs` channels.

    Raises:
        ShapeMismatchError: Channels, groups and weight do not fit, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers, or dtypes that differ.
        InvalidArgumentError: A stride, padding, dilation or number of groups that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.conv3d(numpy.ones((1, 1, 2, 2, 3)), numpy.ones((1, 1, 2, 2, 2))).tolist()
        [[[[[8.0, 8.0]]]]]
    """
    inputs = (x, weight) if bias is None else (x, weight, bias)
    options = window_options("conv3d", stride, padding, dilation, groups=groups, layout=layout)
    return run("conv3d", "forward", inputs, out, **options)


def conv1d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `conv1d` by its images; arguments and errors as for `conv2d_input_gradient`."""
    options = window_options("conv1d", stride, padding, dilation, groups=groups, layout=layout)
    return input_gradient("conv1d", gradient, weight, input_shape, out=out, **options)


def conv2d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv2d` by its images.

    Args:
        gradient: Gradient by the result.
        weight: As in `conv2d`.
        input_shape: Shape of the images, which the gradient has, too.
        stride: As in `conv2d`, like the next four.
        padding: See there.
        dilation: See there.
        groups: See there.
        layout: See there.
        out: Receives the result.

    Returns:
        The gradient by the images.

    Raises:
        ShapeMismatchError: The three shapes do not belong to one convolution.
    """
    options = window_options("conv2d", stride, padding, dilation, groups=groups, layout=layout)
    return input_gradient("conv2d", gradient, weight, input_shape, out=out, **options)


def conv3d_input_gradient(
    gradient: Any,
    weight: Any,
    input_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv3d` by its images; arguments and errors as for `conv2d_input_gradient`."""
    options = window_options("conv3d", stride, padding, dilation, groups=groups, layout=layout)
    return input_gradient("conv3d", gradient, weight, input_shape, out=out, **options)


def conv1d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `conv1d` by its weights; arguments and errors as for `conv2d_weight_gradient`."""
    options = window_options("conv1d", stride, padding, dilation, groups=groups, layout=layout)
    return weight_gradient("conv1d", x, gradient, weight_shape, out=out, **options)


def conv2d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv2d` by its weights. That by the bias is the sum of `gradient` over batch, rows and columns.

    Args:
        x: Images.
        gradient: Gradient by the result.
        weight_shape: Shape of the weights, which the gradient has, too.
        stride: As in `conv2d`, like the next four.
        padding: See there.
        dilation: See there.
        groups: See there.
        layout: See there.
        out: Receives the result.

    Returns:
        The gradient by the weights.

    Raises:
        ShapeMismatchError: The three shapes do not belong to one convolution.
    """
    options = window_options("conv2d", stride, padding, dilation, groups=groups, layout=layout)
    return weight_gradient("conv2d", x, gradient, weight_shape, out=out, **options)


def conv3d_weight_gradient(
    x: Any,
    gradient: Any,
    weight_shape: Sequence[int],
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `conv3d` by its weights; arguments and errors as for `conv2d_weight_gradient`."""
    options = window_options("conv3d", stride, padding, dilation, groups=groups, layout=layout)
    return weight_gradient("conv3d", x, gradient, weight_shape, out=out, **options)


def window_options(
    operation: str, stride: Any, padding: Any, dilation: Any, *, groups: Any, layout: Any
) -> dict[str, Any]:
    """The options of a convolution, or of a transposed one, as implementations take them."""
    axes = int(operation[-2])
    if isinstance(padding, str) and padding not in ("same", "valid"):
        wanted = ("an integer", "an integer or two", "an integer or three")[axes - 1]
        raise InvalidArgumentError(f"{operation}: padding is {padding!r}; {wanted}, 'same' or 'valid' is expected")
    given = {"stride": stride, "padding": 0 if isinstance(padding, str) else padding, "dilation": dilation}
    names = {1: "'NCL' or 'NLC'", 2: "'NCHW' or 'NHWC'", 3: "'NCDHW' or 'NDHWC'"}[axes]
    options = {
        **{name: arguments.along(operation, name, value, axes) for name, value in given.items()},
        "groups": arguments.integer(operation, "groups", groups),
        "layout": arguments.text(operation, "layout", layout, names),
    }
    return {**options, "same": True} if padding == "same" else options


def input_gradient(operation: str, gradient: Any, weight: Any, shape: Any, *, out: Any, **options: Any) -> Any:
    """The gradient of an operation by its images, whose shape is given."""
    shape = arguments.integers(f"{operation}_input_gradient", "input_shape", shape)
    return run(operation, "image_gradient", (gradient, weight), out, **options, shape=shape)


def weight_gradient(operation: str, x: Any, gradient: Any, shape: Any, *, out: Any, **options: Any) -> Any:
    """The gradient of an operation by its weights, whose shape is given."""
    shape = arguments.integers(f"{operation}_weight_gradient", "weight_shape", shape)
    return run(operation, "weight_gradient", (x, gradient), out, **options, shape=shape)


def run(
    operation: str, direction: str, inputs: tuple[Any, ...], out: Any, *, precision: str = "fp32", **options: Any
) -> Any:
    """Runs a pass of a convolution on the device of its arguments."""
    key = ("convolve", operation, direction, len(inputs), precision, *options.values())
    # Implementations that other packages bring need not know these words.
    if precision != "fp32":
        options["precision"] = precision
    if operation != "conv2d":
        options["operation"] = operation
    return placement.run(key, (*inputs, out), direction, inputs, out, **options)

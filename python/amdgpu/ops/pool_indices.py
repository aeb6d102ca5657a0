"""Max pooling with the indices of the largest values, the gradient from indices, and the partial inverse.

An index counts the pixels of a plane (of one channel of one image) in row-major order, whatever the layout; of equal values in a window it
is that of the first, and of the first NaN where there is one. Images and layouts are those of `amdgpu.ops.pool`.

Source: Zeiler and Fergus, Visualizing and understanding convolutional networks, section 2.1 (unpooling).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.errors import ShapeMismatchError
from amdgpu.ops import placement
from amdgpu.ops.adaptive_pool import adaptive_options
from amdgpu.ops.pool import axes_of, run, window_options

__all__ = [
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool1d_with_indices_gradient",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool2d_with_indices_gradient",
    "adaptive_max_pool3d_with_indices",
    "adaptive_max_pool3d_with_indices_gradient",
    "max_pool1d_with_indices",
    "max_pool1d_with_indices_gradient",
    "max_pool2d_with_indices",
    "max_pool2d_with_indices_gradient",
    "max_pool3d_with_indices",
    "max_pool3d_with_indices_gradient",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def max_pool1d_with_indices(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCL",
) -> tuple[Any, Any]:
    """The largest value of each window, and where it stands.

    Args:
        x: Images of shape (batch, channels, columns).
        window: Extent of the window: an integer.
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCL" or "NLC".

    Returns:
        Images of the windows, and int64 indices of the same shape; -1 for a window without pixels, as dilation can make it.

    Raises:
        ShapeMismatchError: x does not have three axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu
        >>> values, indices = amdgpu.ops.max_pool1d_with_indices([[[1.0, 9.0, 4.0, 3.0]]], 2)
        >>> values.tolist(), indices.tolist()
        ([[[9.0, 4.0]]], [[[1, 2]]])
    """
    options = window_options("max_pool1d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _with_indices("max_pool1d", x, options)


def max_pool2d_with_indices(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCHW",
) -> tuple[Any, Any]:
    """The largest value of each window, and where it stands.

    Args:
        x: Images of shape (batch, channels, rows, columns).
        window: Extent of the window: an integer or a pair (rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCHW" or "NHWC".

    Returns:
        Images of the windows, and int64 indices of the same shape; -1 for a window without pixels, as dilation can make it.

    Raises:
        ShapeMismatchError: x does not have four axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu
        >>> values, indices = amdgpu.ops.max_pool2d_with_indices([[[[1.0, 9.0], [4.0, 3.0]]]], 2)
        >>> values.tolist(), indices.tolist()
        ([[[[9.0]]]], [[[[1]]]])
    """
    options = window_options("max_pool2d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _with_indices("max_pool2d", x, options)


def max_pool3d_with_indices(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
) -> tuple[Any, Any]:
    """The largest value of each window, and where it stands.

    Args:
        x: Images of shape (batch, channels, depth, rows, columns).
        window: Extent of the window: an integer or three (depth, rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Pixels around the images, at most half of the window.
        dilation: Steps within the window.
        ceil_mode: Whether a last window may reach beyond the padding, if it begins in the image or before it.
        layout: "NCDHW" or "NDHWC".

    Returns:
        Images of the windows, and int64 indices of the same shape; -1 for a window without pixels, as dilation can make it.

    Raises:
        ShapeMismatchError: x does not have five axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding, dilation or divisor that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu
        >>> values, indices = amdgpu.ops.max_pool3d_with_indices([[[[[1.0, 9.0]]]]], (1, 1, 2))
        >>> values.tolist(), indices.tolist()
        ([[[[[9.0]]]]], [[[[[1]]]]])
    """
    options = window_options("max_pool3d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _with_indices("max_pool3d", x, options)


def adaptive_max_pool1d_with_indices(x: Any, output_size: Any, *, layout: str = "NCL") -> tuple[Any, Any]:
    """`adaptive_max_pool1d` and where the largest values stand; arguments and errors as there, indices as of `max_pool1d_with_indices`."""
    operation = "adaptive_max_pool1d"
    return _with_indices(operation, x, adaptive_options(operation, output_size, layout))


def adaptive_max_pool2d_with_indices(x: Any, output_size: Any, *, layout: str = "NCHW") -> tuple[Any, Any]:
    """`adaptive_max_pool2d` and where the largest values stand; arguments and errors as there, indices as of `max_pool2d_with_indices`."""
    operation = "adaptive_max_pool2d"
    return _with_indices(operation, x, adaptive_options(operation, output_size, layout))


def adaptive_max_pool3d_with_indices(x: Any, output_size: Any, *, layout: str = "NCDHW") -> tuple[Any, Any]:
    """`adaptive_max_pool3d` and where the largest values stand; arguments and errors as there, indices as of `max_pool3d_with_indices`."""
    operation = "adaptive_max_pool3d"
    return _with_indices(operation, x, adaptive_options(operation, output_size, layout))


def max_pool1d_with_indices_gradient(
    gradient: Any,
    indices: Any,
    input_shape: Sequence[int],
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool1d_with_indices` by x, from that by its values and from its indices.

    Args:
        gradient: Gradient by the values.
        indices: The indices, int64 of the same shape.
        input_shape: Shape of x, which the gradient has, too.
        window: As in `max_pool1d_with_indices`, like the next five.
        stride: See there.
        padding: See there.
        dilation: See there.
        ceil_mode: See there.
        layout: See there.
        out: Receives the result; must not overlap the inputs.

    Returns:
        The gradient by x.

    Raises:
        ShapeMismatchError: The shapes do not belong to one pooling.
        InvalidArgumentError: An index that is in no plane; options that make no sense.
    """
    options = window_options("max_pool1d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _gradient("max_pool1d", (gradient, indices), input_shape, out, options)


def max_pool2d_with_indices_gradient(
    gradient: Any,
    indices: Any,
    input_shape: Sequence[int],
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool2d_with_indices` by x, from that by its values and from its indices.

    Args:
        gradient: Gradient by the values.
        indices: The indices, int64 of the same shape.
        input_shape: Shape of x, which the gradient has, too.
        window: As in `max_pool2d_with_indices`, like the next five.
        stride: See there.
        padding: See there.
        dilation: See there.
        ceil_mode: See there.
        layout: See there.
        out: Receives the result; must not overlap the inputs.

    Returns:
        The gradient by x.

    Raises:
        ShapeMismatchError: The shapes do not belong to one pooling.
        InvalidArgumentError: An index that is in no plane; options that make no sense.
    """
    options = window_options("max_pool2d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _gradient("max_pool2d", (gradient, indices), input_shape, out, options)


def max_pool3d_with_indices_gradient(
    gradient: Any,
    indices: Any,
    input_shape: Sequence[int],
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool3d_with_indices` by x, from that by its values and from its indices.

    Args:
        gradient: Gradient by the values.
        indices: The indices, int64 of the same shape.
        input_shape: Shape of x, which the gradient has, too.
        window: As in `max_pool3d_with_indices`, like the next five.
        stride: See there.
        padding: See there.
        dilation: See there.
        ceil_mode: See there.
        layout: See there.
        out: Receives the result; must not overlap the inputs.

    Returns:
        The gradient by x.

    Raises:
        ShapeMismatchError: The shapes do not belong to one pooling.
        InvalidArgumentError: An index that is in no plane; options that make no sense.
    """
    options = window_options("max_pool3d", window, stride, padding, dilation, ceil_mode=ceil_mode, layout=layout)
    return _gradient("max_pool3d", (gradient, indices), input_shape, out, options)


def adaptive_max_pool1d_with_indices_gradient(
    gradient: Any, indices: Any, input_shape: Sequence[int], output_size: Any, *, layout: str = "NCL", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool1d_with_indices` by x; arguments and errors as of `max_pool1d_with_indices_gradient`."""
    options = adaptive_options("adaptive_max_pool1d", output_size, layout)
    return _gradient("adaptive_max_pool1d", (gradient, indices), input_shape, out, options)


def adaptive_max_pool2d_with_indices_gradient(
    gradient: Any, indices: Any, input_shape: Sequence[int], output_size: Any, *, layout: str = "NCHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool2d_with_indices` by x; arguments and errors as of `max_pool2d_with_indices_gradient`."""
    options = adaptive_options("adaptive_max_pool2d", output_size, layout)
    return _gradient("adaptive_max_pool2d", (gradient, indices), input_shape, out, options)


def adaptive_max_pool3d_with_indices_gradient(
    gradient: Any, indices: Any, input_shape: Sequence[int], output_size: Any, *, layout: str = "NCDHW", out: Any = None
) -> Any:
    """The gradient of `adaptive_max_pool3d_with_indices` by x; arguments and errors as of `max_pool3d_with_indices_gradient`."""
    options = adaptive_options("adaptive_max_pool3d", output_size, layout)
    return _gradient("adaptive_max_pool3d", (gradient, indices), input_shape, out, options)


def max_unpool1d(
    x: Any,
    indices: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
    layout: str = "NCL",
    out: Any = None,
) -> Any:
    """Images that hold values at indices, and zeros elsewhere: what is left of x behind `max_pool1d_with_indices`.

    Args:
        x: Values, as max pooling gives them.
        indices: Their indices, int64 of the same shape; of equal ones the last counts.
        window: Extent of the window that images were pooled with.
        stride: Its steps; None for its extent.
        padding: Its padding.
        output_size: Extents of the images along their axis; None for (extent - 1) * stride - 2 * padding + window.
        layout: "NCL" or "NLC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of the dtype of x.

    Raises:
        ShapeMismatchError: x and indices differ in shape, or do not have three axes.
        InvalidArgumentError: An index that is not in a plane.
        UnsupportedDtypeError: x holds no floats, or indices are not int64.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.max_unpool1d([[[9.0]]], [[[1]]], 2).tolist()
        [[[0.0, 9.0]]]
    """
    operation = "max_unpool1d"
    sliding = window_options(operation, window, stride, padding, 1, ceil_mode=False, layout=layout)
    return _unpool(operation, (x, indices), output_size, out, sliding)


def max_unpool2d(
    x: Any,
    indices: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """Images that hold values at indices, and zeros elsewhere: what is left of x behind `max_pool2d_with_indices`.

    Args:
        x: Values, as max pooling gives them.
        indices: Their indices, int64 of the same shape; of equal ones the last counts.
        window: Extent of the window that images were pooled with.
        stride: Its steps; None for its extent.
        padding: Its padding.
        output_size: Extents of the images along their axes; None for (extent - 1) * stride - 2 * padding + window.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of the dtype of x.

    Raises:
        ShapeMismatchError: x and indices differ in shape, or do not have four axes.
        InvalidArgumentError: An index that is not in a plane.
        UnsupportedDtypeError: x holds no floats, or indices are not int64.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.max_unpool2d([[[[9.0]]]], [[[[1]]]], 2).tolist()
        [[[[0.0, 9.0], [0.0, 0.0]]]]
    """
    operation = "max_unpool2d"
    sliding = window_options(operation, window, stride, padding, 1, ceil_mode=False, layout=layout)
    return _unpool(operation, (x, indices), output_size, out, sliding)


def max_unpool3d(
    x: Any,
    indices: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    output_size: Sequence[int] | None = None,
    layout: str = "NCDHW",
    out: Any = None,
) -> Any:
    """Images that hold values at indices, and zeros elsewhere: what is left of x behind `max_pool3d_with_indices`.

    Args:
        x: Values, as max pooling gives them.
        indices: Their indices, int64 of the same shape; of equal ones the last counts.
        window: Extent of the window that images were pooled with.
        stride: Its steps; None for its extent.
        padding: Its padding.
        output_size: Extents of the images along their axes; None for (extent - 1) * stride - 2 * padding + window.
        layout: "NCDHW" or "NDHWC".
        out: Receives the result; must not overlap the inputs.

    Returns:
        Images of the dtype of x.

    Raises:
        ShapeMismatchError: x and indices differ in shape, or do not have five axes.
        InvalidArgumentError: An index that is not in a plane.
        UnsupportedDtypeError: x holds no floats, or indices are not int64.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.max_unpool3d([[[[[9.0]]]]], [[[[[1]]]]], (1, 1, 2)).tolist()
        [[[[[0.0, 9.0]]]]]
    """
    operation = "max_unpool3d"
    sliding = window_options(operation, window, stride, padding, 1, ceil_mode=False, layout=layout)
    return _unpool(operation, (x, indices), output_size, out, sliding)


def _with_indices(operation: str, x: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    both: tuple[Any, Any] = run(operation, x, None, None, **options, direction="with_indices")
    return both


def _gradient(operation: str, arrays: tuple[Any, Any], shape: Any, out: Any, options: dict[str, Any]) -> Any:
    shape = arguments.integers(operation, "input_shape", shape)
    return run(operation, *arrays, out, **options, direction="indices_gradient", shape=shape)


def _unpool(operation: str, arrays: tuple[Any, Any], output_size: Any, out: Any, sliding: dict[str, Any]) -> Any:
    axes, layout = axes_of(operation), sliding["layout"]
    x = placement.held(operation, "x", arrays[0])
    indices = placement.held(operation, "indices", arrays[1])
    if len(x.shape) != 2 + axes:
        count = ("three", "four", "five")[axes - 1]
        raise ShapeMismatchError(f"{operation}: x has shape {list(x.shape)}; {count} axes are expected")
    is_last = layout.endswith("C")
    first = 1 if is_last else 2
    if output_size is None:
        steps = zip(x.shape[first:], sliding["stride"], sliding["padding"], sliding["window"], strict=False)
        extents = tuple((extent - 1) * step - 2 * pad + window for extent, step, pad, window in steps)
    else:
        extents = arguments.along(operation, "output_size", output_size, axes)
    shape = (x.shape[0], *extents, x.shape[-1]) if is_last else (*x.shape[:2], *extents)
    options = {"layout": layout, "direction": "unpool", "shape": shape}
    return run(operation.replace("unpool", "pool"), x, indices, out, **options)

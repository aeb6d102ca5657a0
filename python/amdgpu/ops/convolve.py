"""Convolution of images, and its gradients.

Images are (batch, channels, rows, columns), or (batch, rows, columns, channels) with `layout="NHWC"`, of any strides; weights are
(outputs, channels / groups, rows, columns) in both. `stride`, `padding` and `dilation` are integers or pairs (rows, columns). As in
PyTorch the window is not mirrored, and padding stands on all sides. x and weight have the same dtype: float32, float64, float16 or
bfloat16, the latter two computed in float32 and rounded once. Results do not depend on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError
from amdgpu.ops import fast_call, placement

__all__ = ["conv2d", "conv2d_input_gradient", "conv2d_weight_gradient"]


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
        padding: Zeros around the images.
        dilation: Steps within the window.
        groups: Channels and outputs are cut into so many groups, each convolved alone.
        layout: "NCHW" or "NHWC".
        precision: "tf32" lets NVIDIA's matrix units cut float32 images and weights to 11 significant bits, as `matrix_multiply` does: a
            result is then off by at most 2^-9 plus k * 2^-24 of the sum of its absolute products, where k counts the elements of the
            window times the channels of a group. "fp32" keeps all digits. Both mean the same for other dtypes, on other devices, with
            `out`, with a stride, padding or dilation that differs between rows and columns, and with several groups of fewer than 8
            channels each.
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
    options = _options(stride, padding, dilation, groups, layout)
    return _run("forward", inputs, out, precision=precision, **options)


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
    options = _options(stride, padding, dilation, groups, layout)
    shape = arguments.integers("conv2d_input_gradient", "input_shape", input_shape)
    return _run("image_gradient", (gradient, weight), out, **options, shape=shape)


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
    options = _options(stride, padding, dilation, groups, layout)
    shape = arguments.integers("conv2d_weight_gradient", "weight_shape", weight_shape)
    return _run("weight_gradient", (x, gradient), out, **options, shape=shape)


def _options(stride: Any, padding: Any, dilation: Any, groups: Any, layout: Any) -> dict[str, Any]:
    given = {"stride": stride, "padding": padding, "dilation": dilation}
    return {
        **{name: arguments.pair("conv2d", name, value) for name, value in given.items()},
        "groups": arguments.integer("conv2d", "groups", groups),
        "layout": arguments.text("conv2d", "layout", layout, "'NCHW' or 'NHWC'"),
    }


def _run(direction: str, inputs: tuple[Any, ...], out: Any, *, precision: str = "fp32", **options: Any) -> Any:
    key = ("convolve", direction, len(inputs), precision, *options.values())
    # Implementations that other packages bring need not know the word.
    if precision != "fp32":
        options["precision"] = precision
    return placement.run(key, (*inputs, out), direction, inputs, out, **options)

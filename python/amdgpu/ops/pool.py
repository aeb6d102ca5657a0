"""Pooling of images, and its gradients.

Images are (batch, channels, rows, columns), or (batch, rows, columns, channels) with `layout="NHWC"`, of any strides and float dtype.
Parameters mean what they mean in PyTorch. Results do not depend on the number of threads.
"""

from __future__ import annotations

from typing import Any

from amdgpu.arguments import pair, text, truth
from amdgpu.ops import placement

__all__ = ["avg_pool2d", "avg_pool2d_gradient", "max_pool2d", "max_pool2d_gradient"]


def max_pool2d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The largest value of each window; NaN when there is one. Padding never is the largest.

    Args:
        x: Images.
        window: Extent of the window: an integer or a pair (rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Elements around the images, at most half of the window.
        dilation: Steps within the window.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.

    Returns:
        Images of the windows.

    Raises:
        ShapeMismatchError: x does not have four axes, or the window is larger than the padded image.
        UnsupportedDtypeError: Integers.
        InvalidArgumentError: A stride, padding or dilation that makes no sense; an unknown layout.

    Example:
        >>> import amdgpu, numpy
        >>> amdgpu.ops.max_pool2d(numpy.arange(4.0).reshape(1, 1, 2, 2), 2).tolist()
        [[[[3.0]]]]
    """
    return _run("max_pool2d", x, None, out, **_options("max_pool2d", window, stride, padding, dilation, layout=layout))


def avg_pool2d(
    x: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    count_include_pad: bool = True,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The average of each window; arguments and errors as for `max_pool2d`.

    Args:
        x: Images.
        window: Extent of the window: an integer or a pair (rows, columns).
        stride: Steps of the window; None for its extent.
        padding: Elements around the images, at most half of the window.
        count_include_pad: Whether an average is over the padding, too.
        layout: "NCHW" or "NHWC".
        out: Receives the result; must not overlap x.
    """
    options = _options("avg_pool2d", window, stride, padding, 1, layout=layout)
    counts_padding = truth("avg_pool2d", "count_include_pad", count_include_pad)
    return _run("avg_pool2d", x, None, out, **options, counts_padding=counts_padding)


def max_pool2d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `max_pool2d` by x, from that by its result; of equal values in a window the first has it all."""
    return _run(
        "max_pool2d", x, gradient, out, **_options("max_pool2d", window, stride, padding, dilation, layout=layout)
    )


def avg_pool2d_gradient(
    x: Any,
    gradient: Any,
    window: Any,
    *,
    stride: Any = None,
    padding: Any = 0,
    count_include_pad: bool = True,
    layout: str = "NCHW",
    out: Any = None,
) -> Any:
    """The gradient of `avg_pool2d` by x, from that by its result; of x only shape and dtype matter."""
    options = _options("avg_pool2d", window, stride, padding, 1, layout=layout)
    counts_padding = truth("avg_pool2d", "count_include_pad", count_include_pad)
    return _run("avg_pool2d", x, gradient, out, **options, counts_padding=counts_padding)


def _options(operation: str, window: Any, stride: Any, padding: Any, dilation: Any, *, layout: Any) -> dict[str, Any]:
    given = {"window": window, "stride": window if stride is None else stride, "padding": padding, "dilation": dilation}
    pairs = {name: pair(operation, name, value) for name, value in given.items()}
    return {**pairs, "layout": text(operation, "layout", layout, "'NCHW' or 'NHWC'")}


def _run(operation: str, x: Any, gradient: Any, out: Any, **options: Any) -> Any:
    plan_options = ("pool", operation, *options.values())
    return placement.run(plan_options, (x, gradient, out), operation, x, gradient, out, **options)

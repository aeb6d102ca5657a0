"""Losses, as PyTorch defines them, and their gradients.

`reduction` says what becomes of the terms: "none" gives them, "mean" their mean, which is NaN of no terms, and "sum" their sum.
Terms of float16 and bfloat16 are float32 until the result is rounded.
"""

from __future__ import annotations

from typing import Any

from amdgpu import arguments
from amdgpu.ops import placement

__all__ = [
    "bce_loss",
    "bce_loss_gradient",
    "cross_entropy_loss",
    "cross_entropy_loss_gradient",
    "mse_loss",
    "mse_loss_gradient",
    "nll_loss",
    "nll_loss_gradient",
]

_IGNORED = -100
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def mse_loss(x: Any, target: Any, *, reduction: str = "mean") -> Any:
    """The squared error (x - target)^2.

    Args:
        x: Floats of any shape.
        target: Values of the shape and dtype of x.
        reduction: "none", "mean" or "sum".

    Returns:
        Values of the dtype of x: of its shape for "none", else without axes.

    Raises:
        InvalidArgumentError: An unknown reduction.
        ShapeMismatchError: The shapes differ.
        UnsupportedDtypeError: Not floats, or floats of two dtypes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.mse_loss([1.0, 2.0], [0.0, 4.0]).tolist()
        2.5

    Source: `torch.nn.functional.mse_loss`.
    """
    return _elements(("mse_loss", "mse_loss"), x, target, (None, None), reduction)


def mse_loss_gradient(x: Any, target: Any, gradient: Any, *, reduction: str = "mean") -> Any:
    """The gradient of `mse_loss` by x, from that by its result, which is a number unless the reduction is "none".

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.mse_loss_gradient([1.0, 2.0], [0.0, 4.0], 1.0).tolist()
        [1.0, -2.0]
    """
    return _elements(("mse_loss_gradient", "mse_loss"), x, target, (None, gradient), reduction)


def bce_loss(x: Any, target: Any, *, weight: Any = None, with_logits: bool = False, reduction: str = "mean") -> Any:
    """The binary cross entropy -(target log(x) + (1 - target) log(1 - x)), with logarithms of at least -100.

    Args:
        x: Chances from 0 to 1, floats of any shape; what lies outside gives NaN. With logits, numbers whose sigmoid are the chances.
        target: Values of the shape and dtype of x.
        weight: Factor of the terms, of the dtype of x and broadcast to its shape; None for 1.
        with_logits: True to take the sigmoid of x, without overflow.
        reduction: "none", "mean" or "sum".

    Returns:
        Values of the dtype of x: of its shape for "none", else without axes.

    Raises:
        InvalidArgumentError: An unknown reduction.
        InvalidTypeError: `with_logits` is no truth value.
        ShapeMismatchError: The shapes differ, or the weight does not broadcast.
        UnsupportedDtypeError: Not floats, or floats of two dtypes.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.bce_loss([1.0, 0.0], [1.0, 1.0]).tolist()
        50.0

    Source: `torch.nn.functional.binary_cross_entropy` and `binary_cross_entropy_with_logits`.
    """
    return _elements(("bce_loss", _binary("bce_loss", with_logits)), x, target, (weight, None), reduction)


def bce_loss_gradient(
    x: Any, target: Any, gradient: Any, *, weight: Any = None, with_logits: bool = False, reduction: str = "mean"
) -> Any:
    """The gradient of `bce_loss` by x, from that by its result, which is a number unless the reduction is "none".

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.bce_loss_gradient([0.0], [1.0], 1.0, with_logits=True).tolist()
        [-0.5]
    """
    name = "bce_loss_gradient"
    return _elements((name, _binary(name, with_logits)), x, target, (weight, gradient), reduction)


def cross_entropy_loss(
    x: Any,
    target: Any,
    *,
    weight: Any = None,
    ignore_index: int = _IGNORED,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """The cross entropy -sum(target log(softmax(x))) of rows of classes.

    Args:
        x: Floats of shape (rows, classes, ...), or (classes,) for a single row.
        target: The class of each row as int32 or int64, of shape (rows, ...), or the probabilities of all classes, of the
            shape and dtype of x.
        weight: Factor of each class, of shape (classes,) and the dtype of x; None for 1.
        ignore_index: The class of rows that count for nothing.
        label_smoothing: The part of each target, from 0 to 1, that all classes share.
        reduction: "none", "mean" or "sum". The mean of classes is over the weights of the rows that count, that of
            probabilities over the rows.

    Returns:
        Values of the dtype of x: of shape (rows, ...) for "none", else without axes.

    Raises:
        IndexOutOfRangeError: A target is neither a class nor `ignore_index`.
        InvalidArgumentError: An unknown reduction; a smoothing that is no part.
        ShapeMismatchError: The shapes do not fit.
        UnsupportedDtypeError: x does not hold floats, or another argument has not its dtype.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cross_entropy_loss([[0.0, 0.0], [1.0, 5.0]], [1, -100]).tolist()
        0.6931471805599453

    Source: `torch.nn.functional.cross_entropy`.
    """
    options = _class_options("cross_entropy_loss", reduction, ignore_index, label_smoothing)
    return _classes(("cross_entropy_loss", "cross_entropy_loss"), x, target, (weight, None), options)


def cross_entropy_loss_gradient(
    x: Any,
    target: Any,
    gradient: Any,
    *,
    weight: Any = None,
    ignore_index: int = _IGNORED,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
) -> Any:
    """The gradient of `cross_entropy_loss` by x, from that by its result, which is a number unless the reduction is "none".

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.cross_entropy_loss_gradient([[0.0, 0.0]], [1], 1.0).tolist()
        [[0.5, -0.5]]
    """
    name = "cross_entropy_loss_gradient"
    options = _class_options(name, reduction, ignore_index, label_smoothing)
    return _classes((name, "cross_entropy_loss"), x, target, (weight, gradient), options)


def nll_loss(x: Any, target: Any, *, weight: Any = None, ignore_index: int = _IGNORED, reduction: str = "mean") -> Any:
    """The negative log likelihood -x of the class of each row, where x are logarithms of chances, as `log_softmax` gives them.

    Args:
        x: Floats of shape (rows, classes, ...), or (classes,) for a single row.
        target: The class of each row as int32 or int64, of shape (rows, ...).
        weight: Factor of each class, of shape (classes,) and the dtype of x; None for 1.
        ignore_index: The class of rows that count for nothing.
        reduction: "none", "mean" (over the weights of the rows that count) or "sum".

    Returns:
        Values of the dtype of x: of shape (rows, ...) for "none", else without axes.

    Raises:
        IndexOutOfRangeError: See `cross_entropy_loss`, like the other errors.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.nll_loss([[-1.0, -2.0], [-3.0, -4.0]], [1, 0]).tolist()
        2.5

    Source: `torch.nn.functional.nll_loss`.
    """
    options = _class_options("nll_loss", reduction, ignore_index)
    return _classes(("nll_loss", "nll_loss"), x, target, (weight, None), options)


def nll_loss_gradient(
    x: Any, target: Any, gradient: Any, *, weight: Any = None, ignore_index: int = _IGNORED, reduction: str = "mean"
) -> Any:
    """The gradient of `nll_loss` by x, from that by its result, which is a number unless the reduction is "none".

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.nll_loss_gradient([[-1.0, -2.0]], [1], 1.0).tolist()
        [[0.0, -1.0]]
    """
    options = _class_options("nll_loss_gradient", reduction, ignore_index)
    return _classes(("nll_loss_gradient", "nll_loss"), x, target, (weight, gradient), options)


def _binary(operation: str, with_logits: Any) -> str:
    return "bce_with_logits_loss" if arguments.truth(operation, "with_logits", with_logits) else "bce_loss"


def _class_options(operation: str, reduction: Any, ignore_index: Any, label_smoothing: Any = 0.0) -> dict[str, Any]:
    return {
        "reduction": arguments.text(operation, "reduction", reduction, "'none', 'mean' or 'sum'"),
        "ignore_index": arguments.integer(operation, "ignore_index", ignore_index),
        "label_smoothing": arguments.number(operation, "label_smoothing", label_smoothing),
    }


def _elements(names: tuple[str, str], x: Any, target: Any, given: tuple[Any, Any], reduction: Any) -> Any:
    """A loss of elements, or with a gradient its gradient; the name for messages, and that in the library."""
    name = arguments.text(names[0], "reduction", reduction, "'none', 'mean' or 'sum'")
    arrays = (x, target, given[0], _beside(given[1], x))
    return placement.run(("element_loss", names[0]), arrays, names[1], *arrays, reduction=name)


def _classes(names: tuple[str, str], x: Any, target: Any, given: tuple[Any, Any], options: dict[str, Any]) -> Any:
    """As `_elements`, a loss of classes."""
    arrays = (x, target, given[0], _beside(given[1], x))
    return placement.run(("class_loss", names[0]), arrays, names[1], *arrays, **options)


def _beside(gradient: Any, x: Any) -> Any:
    """A gradient; a number of Python's in the dtype of x."""
    is_number = isinstance(gradient, float) or (isinstance(gradient, int) and gradient.bit_length() < 64)
    if not is_number or str(getattr(x, "dtype", "")) not in _FLOATS:
        return gradient
    import numpy as np

    return np.asarray(gradient, np.dtype(x.dtype))

"""Softmax and normalisations over axes.

Inputs are NumPy arrays, `amdgpu.Array`, anything with DLPack or nested sequences, of any strides; results as in `amdgpu.ops.elementwise`.
float16, bfloat16 and float32 are computed in float32 with sums carried in float64, integers and float64 in float64. Results do not depend
on the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amdgpu import arguments
from amdgpu.ops import fast_call, placement

__all__ = ["layer_norm", "log_softmax", "rms_norm", "softmax"]


@fast_call.normalize
def softmax(x: Any, axis: int = -1, *, out: Any = None) -> Any:
    """e^(x - max) / sum of the same along an axis.

    A NaN makes its whole row NaN, as does an infinity that is the maximum.

    Args:
        x: Values, at least one axis.
        axis: Axis to normalise over; negative counts from the end.
        out: Array of the shape and dtype of the result to write to; may be `x`.

    Returns:
        Values between 0 and 1 that sum to 1 along the axis.

    Raises:
        InvalidArgumentError: No such axis; `out` overlaps `x`.
        UnsupportedDtypeError: x does not hold real numbers; `out` has another dtype.
        InvalidTypeError: `axis` is no integer.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.softmax([[1.0, 1.0]]).tolist()
        [[0.5, 0.5]]
    """
    return _run("softmax", x, (), (arguments.integer("softmax", "axis", axis),), out)


@fast_call.normalize
def log_softmax(x: Any, axis: int = -1, *, out: Any = None) -> Any:
    """The logarithm of `softmax`, without overflow; arguments and errors as there."""
    return _run("log_softmax", x, (), (arguments.integer("log_softmax", "axis", axis),), out)


@fast_call.normalize
def layer_norm(
    x: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *,
    out: Any = None,
) -> Any:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes (Ba, Kiros & Hinton 2016), as PyTorch's `layer_norm`.

    Args:
        x: Values.
        normalized_shape: Extents of the last axes, which are normalised together.
        weight: Factors of that shape; None for 1.
        bias: Addends of that shape; None for 0.
        eps: Added to the variance, which is the mean of the squared deviations.
        out: Array of the shape and dtype of the result to write to; may be `x`.

    Returns:
        Normalised values of the shape of x.

    Raises:
        InvalidArgumentError: `eps` is negative or NaN; `out` overlaps another argument.
        InvalidTypeError: `normalized_shape` or `eps` is no number.
        UnsupportedDtypeError: x does not hold real numbers; `out` has another dtype.
        ShapeMismatchError: x does not end in `normalized_shape`, or weight or bias has another shape.

    Example:
        >>> import amdgpu
        >>> amdgpu.ops.layer_norm([[1.0, 3.0]], 2, eps=0.0).tolist()
        [[-1.0, 1.0]]
    """
    if bias is not None and weight is None:
        import numpy as np

        weight = np.ones(arguments.integers("layer_norm", "normalized_shape", normalized_shape), np.float32)
    parameters = tuple(parameter for parameter in (weight, bias) if parameter is not None)
    return _norm("layer_norm", x, normalized_shape, parameters, eps=eps, out=out)


@fast_call.normalize
def rms_norm(
    x: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float = 1e-6, *, out: Any = None
) -> Any:
    """Root-mean-square norm: x / sqrt(mean of x^2 + eps) * weight (Zhang & Sennrich 2019); arguments and errors as for `layer_norm`."""
    return _norm("rms_norm", x, normalized_shape, () if weight is None else (weight,), eps=eps, out=out)


def _norm(
    operation: str, x: Any, normalized_shape: int | Sequence[int], parameters: tuple[Any, ...], *, eps: float, out: Any
) -> Any:
    extents = arguments.integers(operation, "normalized_shape", normalized_shape)
    eps = arguments.number(operation, "eps", eps)
    options, arrays = ("normalize", operation, extents, eps), (x, *parameters, *(None,) * (2 - len(parameters)), out)
    return placement.run(options, arrays, operation, x, parameters, (), out, row_shape=extents, epsilon=eps)


def _run(operation: str, x: Any, parameters: tuple[Any, ...], axes: tuple[int, ...], out: Any) -> Any:
    return placement.run(("normalize", operation, axes), (x, *parameters, out), operation, x, parameters, axes, out)

"""Products of arrays in the words of the array API standard.

Functions and arguments are those of the Python array API standard 2025.12, "Linear algebra functions". Products run in the dtype that the
operands have together; integers other than int8 are multiplied elementwise and summed in 64 bits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amdgpu import arguments
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError

if TYPE_CHECKING:
    from amdgpu._native import Array

__all__ = ["matmul", "tensordot", "vecdot"]


def matmul(a: Any, b: Any, /) -> Array:
    """`a @ b`: matrix products over the last two axes, the others broadcast; vectors count as rows and columns.

    Raises:
        ShapeMismatchError: The inner extents differ, or an operand has no axes.

    Example:
        >>> import amdgpu
        >>> amdgpu.matmul(amdgpu.asarray([1.0, 2.0]), amdgpu.asarray([3.0, 4.0])).item()
        11.0
    """
    from amdgpu.ops.creation import as_arrays
    from amdgpu.ops.data_types import result_type
    from amdgpu.ops.matmul import matrix_multiply

    a, b = as_arrays("matmul", (a, b))
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeMismatchError(f"matmul: shapes {a.shape} and {b.shape}; operands have one axis at least")
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeMismatchError(f"matmul: shapes {a.shape} and {b.shape} do not fit together")
    dtype = result_type(a, b)
    rows = a.reshape((1, *a.shape)) if a.ndim == 1 else a
    columns = b.reshape((*b.shape, 1)) if b.ndim == 1 else b
    if dtype.kind == "f" or dtype.name == "bfloat16":
        precision = {"float64": "fp64", "float16": "fp16", "bfloat16": "bf16"}.get(dtype.name, "fp32")
        made: Any = matrix_multiply(
            rows.astype(dtype, copy=False), columns.astype(dtype, copy=False), precision=precision
        )
        made = made.astype(dtype, copy=False)
    elif dtype.kind == "c":
        made = matrix_multiply(rows, columns)
    else:
        made = _integer_product(rows, columns).astype(dtype, copy=False)
    shape = made.shape
    if b.ndim == 1:
        shape = shape[:-1]
    if a.ndim == 1:
        shape = (*shape[:-2], shape[-1]) if b.ndim > 1 else shape[:-1]
    result: Array = made.reshape(shape)
    return result


def _integer_product(a: Array, b: Array) -> Array:
    from amdgpu import ops

    wide, columns = a.expand_dims((-1,)), b.expand_dims((-3,))
    if a.dtype.kind == "b" and b.dtype.kind == "b":
        found: Array = ops.any(ops.logical_and(wide, columns), -2)
        return found
    product: Array = ops.sum(ops.multiply(wide, columns), -2)
    return product


def vecdot(a: Array, b: Array, /, *, axis: int = -1) -> Array:
    """Sums of products along an axis, the others broadcast; the elements of a are conjugated."""
    from amdgpu import ops
    from amdgpu.ops.data_types import result_type

    extents = a.shape[axis], b.shape[axis]
    if extents[0] != extents[1]:
        raise ShapeMismatchError(f"vecdot: axis {axis} has {extents[0]} and {extents[1]} elements")
    product = ops.multiply(ops.conj(a) if a.dtype.kind == "c" else a, b)
    result: Array = ops.sum(product, axis).astype(result_type(a, b), copy=False)
    return result


def tensordot(a: Array, b: Array, /, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Array:
    """Sums of products over axes of both: the last of a and the first of b, or two lists of as many axes.

    Raises:
        InvalidArgumentError: More axes than an operand has.
        ShapeMismatchError: Two axes that are summed over differ.
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(a.ndim, b.ndim):
            raise InvalidArgumentError(f"tensordot: {axes} axes of arrays with {a.ndim} and {b.ndim}")
        summed_a, summed_b = list(range(a.ndim - axes, a.ndim)), list(range(axes))
    else:
        summed_a = [axis % a.ndim for axis in arguments.integers("tensordot", "axes", axes[0])]
        summed_b = [axis % b.ndim for axis in arguments.integers("tensordot", "axes", axes[1])]
    extents = [a.shape[axis] for axis in summed_a], [b.shape[axis] for axis in summed_b]
    if extents[0] != extents[1]:
        raise ShapeMismatchError(
            f"tensordot: the axes that are summed over have {extents[0]} and {extents[1]} elements"
        )
    kept_a = [axis for axis in range(a.ndim) if axis not in summed_a]
    kept_b = [axis for axis in range(b.ndim) if axis not in summed_b]
    depth = math.prod(extents[0])
    shape_a, shape_b = [a.shape[axis] for axis in kept_a], [b.shape[axis] for axis in kept_b]
    rows = _permuted(a, kept_a + summed_a).reshape((math.prod(shape_a), depth))
    columns = _permuted(b, summed_b + kept_b).reshape((depth, math.prod(shape_b)))
    return matmul(rows, columns).reshape((*shape_a, *shape_b))


def _permuted(x: Array, order: list[int]) -> Array:
    return x.transpose(*order) if order else x

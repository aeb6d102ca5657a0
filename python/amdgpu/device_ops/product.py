"""What `amdgpu.matrix_multiply` is asked for, taken apart: operands on the device, axes, what follows the sums."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from amdgpu import _native
from amdgpu.device_ops.operand import Operand, Target, broadcast, lend, of_array, target
from amdgpu.device_ops.transpose import dense
from amdgpu.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu.device import AMDGPUDevice

_NAME = "matrix_multiply"
ACTIVATIONS = ("identity", "relu", "leaky_relu", "sigmoid", "tanh", "gelu", "silu", "softplus", "elu")
_NARROW = {"bf16": "bfloat16", "fp16": "float16"}
# Their values have digits that float32 has not.
_NEEDS_FLOAT64 = ("float64", "int32", "uint32", "int64", "uint64")
_WIDE = {"fp64": "float64", "fp32": "float32", "tf32": "float32"}


@dataclass(frozen=True)
class Product:
    """`activation(alpha * (a @ b) + beta * held + bias + residual)` on a device.

    Attributes:
        a: Shape (..., m, k), stretched over the stack.
        b: Shape (..., k, n), stretched over the stack.
        made: Where the result goes; its operand has the shape (..., m, n).
        shape: Of the result as the caller sees it.
        sums: Dtype of the sums.
        rounding: Dtype that operands are rounded to first; empty for none.
        may_be_tf32: Operands may lose digits to the matrix units of NVIDIA.
        held: What the result held before, shape (..., m, n); None where it does not matter.
        bias: Shape (n,).
        residual: Shape (..., m, n), stretched.
        activation: One of `ACTIVATIONS`.
        alpha: Factor of the product.
        beta: Factor of what the result held.
    """

    a: Operand
    b: Operand
    made: Target
    shape: tuple[int, ...]
    sums: str
    rounding: str
    may_be_tf32: bool
    held: Operand | None
    bias: Operand | None
    residual: Operand | None
    activation: str
    alpha: float
    beta: float

    @property
    def result(self) -> Operand:
        """Where the result goes."""
        return self.made.operand

    @property
    def stack(self) -> tuple[int, ...]:
        """Axes before the matrices."""
        return self.result.shape[:-2]

    @property
    def extents(self) -> tuple[int, int, int]:
        """m, n and k."""
        return self.result.shape[-2], self.result.shape[-1], self.a.shape[-1]

    @property
    def is_plain(self) -> bool:
        """Whether the sums are the result, scaled at most."""
        return self.bias is None and self.residual is None and self.activation == "identity"


def product_of(
    a: Any,
    b: Any,
    out: Any,
    *,
    device: AMDGPUDevice,
    precision: str | None = None,
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: Any = None,
    activation: str | None = None,
    residual: Any = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Product:
    """The arguments of `amdgpu.matrix_multiply` on a device.

    Raises:
        As `amdgpu.matrix_multiply`.
    """
    _check_apart(out, {"a": a, "b": b, "bias": bias, "residual": residual})
    left, right = _lend("a", a, precision, device), _lend("b", b, precision, device)
    precision = precision or precision_of(left.dtype, right.dtype)
    result, sums, rounding = _kinds(precision, left.dtype, right.dtype)
    left, right, shape, is_missing = _axes(left, right, (transpose_a, transpose_b))
    activation = activation or "identity"
    _check_following(precision, activation, alpha, beta, out)
    given = None if bias is None else _lend("bias", bias, None, device)
    if given is not None and given.shape != right.shape[-1:]:
        raise ShapeMismatchError(f"bias has shape {list(given.shape)}; the product has {right.shape[-1]} columns")
    added = None if residual is None else _lend("residual", residual, None, device)
    if added is not None and added.array is None:
        added = of_array(dense(device, added))
    if added is not None and broadcast(_NAME, {"residual": added, "the product": replace(left, shape=shape)}) != shape:
        raise ShapeMismatchError(
            f"residual has shape {list(added.shape)}, which does not stretch to the product's {list(shape)}"
        )
    inputs = tuple(one for one in (left, right, given, added) if one is not None)
    made = target(_NAME, device, shape, result, out, inputs=inputs, is_dense=False)
    held = None
    if beta:
        held = made.operand if made.is_direct else lend(_NAME, "out", out, device)
    full = _completed(made.operand, is_missing)
    lead = full.shape[:-2]
    return Product(
        a=left.broadcast_to((*lead, *left.shape[-2:])),
        b=right.broadcast_to((*lead, *right.shape[-2:])),
        made=replace(made, operand=full),
        shape=shape,
        sums=sums,
        rounding=rounding,
        may_be_tf32=precision == "tf32",
        held=None if held is None else _completed(held, is_missing),
        bias=given,
        residual=None if added is None else _completed(added.broadcast_to(shape), is_missing),
        activation=activation,
        alpha=alpha,
        beta=beta,
    )


def precision_of(a: str, b: str) -> str:
    """What is computed in where the caller does not say it; the rule of `amdgpu._native.matmul`."""
    return "fp64" if a in _NEEDS_FLOAT64 or b in _NEEDS_FLOAT64 else "fp32"


def _check_apart(out: Any, others: dict[str, Any]) -> None:
    """Refuse what the host's library refuses, although operands that are copied to the device would not be overwritten."""
    import numpy as np

    if not isinstance(out, np.ndarray):
        return
    for name, x in others.items():
        if isinstance(x, np.ndarray) and np.may_share_memory(out, x):
            raise InvalidArgumentError(f"{_NAME}: out shares memory with {name}")


def _lend(name: str, x: Any, precision: str | None, device: AMDGPUDevice) -> Operand:
    import numpy as np

    is_host = not isinstance(x, _native.Array) and not hasattr(x, "__cuda_array_interface__")
    if is_host or (isinstance(x, _native.Array) and x.is_on_host and x.device != device.name):
        try:
            values = np.asarray(x)
        except (ValueError, TypeError) as error:
            raise UnsupportedDtypeError(f"{_NAME}: {name} is no array of numbers: {error}") from None
        if values.dtype.kind in "OUSMm":
            raise UnsupportedDtypeError(f"{_NAME}: {name} is no array of numbers: it becomes {values.dtype}")
        if values.dtype.kind in "biuf" and precision in _WIDE:
            # Fewer bytes move, and dtypes that kernels do not have are those of NumPy.
            values = values.astype(_WIDE[precision], copy=False)
        x = values
    lent = lend(_NAME, name, x, device)
    if precision == "int8" and lent.dtype != "int8":
        raise UnsupportedDtypeError(
            f"{_NAME}: {name} has dtype {lent.dtype}; precision='int8' takes int8: quantise it first"
        )
    return lent


def _kinds(precision: str, a: str, b: str) -> tuple[str, str, str]:
    """Dtype of the result, dtype of the sums, and what operands are rounded to."""
    if precision == "int8":
        return "int32", "int32", ""
    if precision in _WIDE:
        return _WIDE[precision], _WIDE[precision], ""
    narrow = _NARROW[precision]
    return (narrow, "float32", "") if a == b == narrow else ("float32", "float32", narrow)


def _axes(
    a: Operand, b: Operand, transposes: tuple[bool, bool]
) -> tuple[Operand, Operand, tuple[int, ...], tuple[bool, bool]]:
    """Operands as stacks of matrices, the shape of the result, and whether it lacks its rows and its columns."""
    if not a.shape or not b.shape:
        raise ShapeMismatchError(
            f"matrix_multiply takes vectors, matrices and stacks of matrices, not shapes {list(a.shape)} and {list(b.shape)}"
        )
    a, b = (
        _swapped(one) if is_transposed and len(one.shape) > 1 else one
        for one, is_transposed in zip((a, b), transposes, strict=True)
    )
    is_missing = (len(a.shape) == 1, len(b.shape) == 1)
    if a.shape[-1] != b.shape[max(len(b.shape) - 2, 0)]:
        raise ShapeMismatchError(f"inner dimensions differ: {list(a.shape)} @ {list(b.shape)}")
    leads = {name: replace(one, shape=one.shape[:-2], strides=one.strides[:-2]) for name, one in (("a", a), ("b", b))}
    shape = broadcast("the axes before the matrices", leads)
    shape += () if is_missing[0] else a.shape[-2:-1]
    shape += () if is_missing[1] else b.shape[-1:]
    if is_missing[0]:
        a = replace(a, shape=(1, *a.shape), strides=(0, *a.strides))
    if is_missing[1]:
        b = replace(b, shape=(*b.shape, 1), strides=(*b.strides, 0))
    return a, b, shape, is_missing


def _swapped(x: Operand) -> Operand:
    rank = len(x.shape)
    return x.permuted((*range(rank - 2), rank - 1, rank - 2))


def _completed(x: Operand, is_missing: tuple[bool, bool]) -> Operand:
    """An operand of the result's shape with the axes that vectors lack."""
    shape, strides = x.shape, x.strides
    if is_missing[1]:
        shape, strides = (*shape, 1), (*strides, 1)
    if is_missing[0]:
        # Row-major memory stays so: the stride of the one row is the length of a row.
        row = shape[-1] if x.is_dense else 0
        shape, strides = (*shape[:-1], 1, shape[-1]), (*strides[:-1], row, strides[-1])
    return replace(x, shape=shape, strides=strides)


def _check_following(precision: str, activation: str, alpha: float, beta: float, out: Any) -> None:
    if activation not in ACTIVATIONS:
        raise InvalidArgumentError(f"activation is {activation!r}; known are {', '.join(ACTIVATIONS)}")
    if beta and out is None:
        raise InvalidArgumentError("beta scales what out holds, and no out was given")
    if precision == "int8":
        if activation not in ("identity", "relu"):
            raise InvalidArgumentError(f"activation is {activation!r}; int8 products have relu only")
        if not float(alpha).is_integer() or not float(beta).is_integer():
            raise InvalidArgumentError(f"alpha is {alpha} and beta {beta}; int8 products take integers")

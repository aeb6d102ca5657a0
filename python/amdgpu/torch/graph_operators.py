"""What operators of ATen are in `amdgpu.ops`: the table by which `torch.compile(backend="amdgpu")` makes graphs of ours.

Functions take arrays and numbers as the nodes of an FX graph have them. torch promotes dtypes by rules of its own, so operands get the
dtype that torch computes in, and results that of the node.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from amdgpu import ops
from amdgpu._native import Array

Function = Callable[..., Any]
TABLE: dict[Any, Function] = {}

aten = torch.ops.aten
# Dtypes of torch that arrays have.
DTYPES = {
    getattr(torch, name): name
    for name in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64")
}


def _overload(name: str) -> Any:
    return getattr(aten, name).default


def operator(*overloads: Any) -> Callable[[Function], Function]:
    """Enters a function for overloads; it is called with the node's dtype and arguments."""

    def enter(function: Function) -> Function:
        TABLE.update(dict.fromkeys(overloads, function))
        return function

    return enter


def as_dtype(x: Any, dtype: torch.dtype) -> Any:
    """An array in a dtype of torch; numbers as they are."""
    return x.astype(DTYPES[dtype], copy=False) if isinstance(x, Array) else x


def _own_dtype(x: Array) -> torch.dtype:
    return getattr(torch, str(x.dtype))


def _common(*values: Any) -> torch.dtype:
    """What torch computes operands of these dtypes in; arrays without axes and numbers give way to arrays with axes of their kind."""
    examples = [
        torch.empty((1,) * x.ndim, dtype=_own_dtype(x), device="meta") if isinstance(x, Array) else x for x in values
    ]
    found = examples[0]
    for other in examples[1:]:
        found = torch.empty((1,), dtype=torch.result_type(found, other), device="meta")
    return found.dtype if isinstance(found, torch.Tensor) else torch.result_type(found, found)


def _unary(name: str) -> Function:
    function = getattr(ops, name)
    return lambda dtype, x: function(as_dtype(x, dtype))


def _binary(name: str) -> Function:
    function = getattr(ops, name)

    def computed(dtype: torch.dtype, a: Any, b: Any) -> Any:
        del dtype
        common = _common(a, b)
        return function(as_dtype(a, common), as_dtype(b, common))

    return computed


for _name in (
    "abs",
    "neg",
    "exp",
    "log",
    "sqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "erf",
    "reciprocal",
    "log1p",
    "expm1",
    "exp2",
):
    operator(getattr(aten, _name).default)(_unary({"neg": "negative"}.get(_name, _name)))
for _name in ("floor", "ceil", "sign", "round", "trunc", "silu"):
    operator(getattr(aten, _name).default)(_unary(_name))
for _name, _own in {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}.items():
    operator(getattr(aten, _name).Tensor, getattr(aten, _name).Scalar)(_binary(_own))
operator(aten.mul.Tensor, aten.mul.Scalar)(_binary("multiply"))
operator(aten.maximum.default)(_binary("maximum"))
operator(aten.minimum.default)(_binary("minimum"))
operator(aten.logical_and.default)(_binary("logical_and"))
operator(aten.logical_or.default)(_binary("logical_or"))
operator(aten.bitwise_and.Tensor)(_binary("bitwise_and"))
operator(aten.bitwise_or.Tensor)(_binary("bitwise_or"))
operator(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar)(
    lambda dtype, a, b: ops.power(as_dtype(a, dtype), as_dtype(b, dtype))
)


@operator(aten.div.Tensor, aten.div.Scalar)
def _divide(dtype: torch.dtype, a: Any, b: Any) -> Any:
    return ops.divide(as_dtype(a, dtype), as_dtype(b, dtype))


@operator(aten.add.Tensor, aten.add.Scalar)
def _add(dtype: torch.dtype, a: Any, b: Any, *, alpha: Any = 1) -> Any:
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    return ops.add(a, b if alpha == 1 else ops.multiply(b, alpha) if isinstance(b, Array) else b * alpha)


@operator(aten.sub.Tensor, aten.sub.Scalar)
def _subtract(dtype: torch.dtype, a: Any, b: Any, *, alpha: Any = 1) -> Any:
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    return ops.subtract(a, b if alpha == 1 else ops.multiply(b, alpha) if isinstance(b, Array) else b * alpha)


@operator(aten.rsqrt.default)
def _rsqrt(dtype: torch.dtype, x: Any) -> Any:
    return ops.reciprocal(ops.sqrt(as_dtype(x, dtype)))


@operator(aten.logical_not.default)
def _logical_not(dtype: torch.dtype, x: Any) -> Any:
    del dtype
    return ops.logical_not(x)


@operator(aten.clamp.default)
def _clamp(dtype: torch.dtype, x: Any, low: Any = None, high: Any = None) -> Any:
    return ops.clip(as_dtype(x, dtype), low, high)


@operator(aten.where.self)
def _where(dtype: torch.dtype, condition: Any, a: Any, b: Any) -> Any:
    return ops.where(condition, as_dtype(a, dtype), as_dtype(b, dtype))


@operator(_overload("_to_copy"))
def _to_copy(dtype: torch.dtype, x: Any, **_: Any) -> Any:
    return as_dtype(x, dtype)


@operator(aten.clone.default, aten.alias.default, aten.detach.default)
def _same(dtype: torch.dtype, x: Any, **_: Any) -> Any:
    del dtype
    return x


@operator(aten.view.default, aten.reshape.default, _overload("_unsafe_view"))
def _view(dtype: torch.dtype, x: Any, shape: Sequence[int]) -> Any:
    del dtype
    return ops.reshape(x, tuple(shape))


@operator(aten.permute.default)
def _permute(dtype: torch.dtype, x: Any, axes: Sequence[int]) -> Any:
    del dtype
    return ops.permute_dims(x, tuple(axis % x.ndim for axis in axes))


@operator(aten.transpose.int)
def _transpose(dtype: torch.dtype, x: Any, first: int, second: int) -> Any:
    del dtype
    return ops.swapaxes(x, first, second)


@operator(aten.t.default)
def _turned(dtype: torch.dtype, x: Any) -> Any:
    del dtype
    return ops.swapaxes(x, 0, 1) if x.ndim == 2 else x


@operator(aten.expand.default)
def _expand(dtype: torch.dtype, x: Any, shape: Sequence[int], **_: Any) -> Any:
    del dtype
    missing = len(shape) - x.ndim
    return ops.broadcast_to(
        x, tuple(x.shape[axis - missing] if extent == -1 else extent for axis, extent in enumerate(shape))
    )


@operator(aten.unsqueeze.default)
def _unsqueeze(dtype: torch.dtype, x: Any, axis: int) -> Any:
    del dtype
    return ops.expand_dims(x, axis=axis)


@operator(aten.squeeze.dim, aten.squeeze.dims)
def _squeeze(dtype: torch.dtype, x: Any, axes: Any) -> Any:
    del dtype
    axes = (axes,) if isinstance(axes, int) else axes
    return ops.squeeze(x, axis=tuple(axis % x.ndim for axis in axes if x.shape[axis] == 1))


@operator(aten.slice.Tensor)
def _slice(  # noqa: PLR0917 - as nodes have them
    dtype: torch.dtype, x: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    del dtype
    end = None if end is not None and end >= x.shape[axis] else end
    return x[(slice(None),) * (axis % x.ndim) + (slice(start, end, step),)]


@operator(aten.select.int)
def _select(dtype: torch.dtype, x: Any, axis: int, index: int) -> Any:
    del dtype
    return x[(slice(None),) * (axis % x.ndim) + (index,)]


@operator(aten.cat.default)
def _concatenate(dtype: torch.dtype, arrays: Sequence[Any], axis: int = 0) -> Any:
    return ops.concat([as_dtype(one, dtype) for one in arrays], axis=axis)


def _axes(x: Any, axes: Any) -> Any:
    axes = (axes,) if isinstance(axes, int) else axes
    return tuple(axis % max(x.ndim, 1) for axis in axes) if axes else None


@operator(aten.sum.dim_IntList, aten.sum.default)
def _sum(dtype: torch.dtype, x: Any, axes: Any = None, keepdim: bool = False, **_: Any) -> Any:
    return ops.sum(as_dtype(x, dtype), axis=_axes(x, axes), keepdims=keepdim)


@operator(aten.mean.dim, aten.mean.default)
def _mean(dtype: torch.dtype, x: Any, axes: Any = None, keepdim: bool = False, **_: Any) -> Any:
    return ops.mean(as_dtype(x, dtype), axis=_axes(x, axes), keepdims=keepdim)


@operator(aten.amax.default)
def _amax(dtype: torch.dtype, x: Any, axes: Any = (), keepdim: bool = False) -> Any:
    del dtype
    return ops.max(x, axis=_axes(x, axes), keepdims=keepdim)


@operator(aten.amin.default)
def _amin(dtype: torch.dtype, x: Any, axes: Any = (), keepdim: bool = False) -> Any:
    del dtype
    return ops.min(x, axis=_axes(x, axes), keepdims=keepdim)


@operator(aten.mm.default, aten.bmm.default)
def _product(dtype: torch.dtype, a: Any, b: Any) -> Any:
    del dtype
    return ops.matmul(a, b)


@operator(aten.addmm.default)
def _affine(dtype: torch.dtype, bias: Any, a: Any, b: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    del dtype
    product = ops.matmul(a, b)
    product = product if alpha == 1 else ops.multiply(product, alpha)
    if beta == 0:
        return product
    return ops.add(product, bias if beta == 1 else ops.multiply(bias, beta))


@operator(aten.convolution.default)
def _convolve(  # noqa: PLR0917 - as nodes have them
    dtype: torch.dtype,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    _: Any,
    groups: int,
) -> Any:
    del dtype, transposed
    function = {3: ops.conv1d, 4: ops.conv2d, 5: ops.conv3d}[x.ndim]
    steps = {"stride": stride, "padding": padding, "dilation": dilation}
    spatial = x.ndim - 2
    whole: dict[str, Any] = {name: tuple(value) * (spatial if len(value) == 1 else 1) for name, value in steps.items()}
    return function(x, weight, bias, **whole, groups=groups)


@operator(_overload("_softmax"))
def _softmax(dtype: torch.dtype, x: Any, axis: int, _: bool) -> Any:
    return ops.softmax(as_dtype(x, dtype), axis=axis)


@operator(_overload("_log_softmax"))
def _log_softmax(dtype: torch.dtype, x: Any, axis: int, _: bool) -> Any:
    return ops.log_softmax(as_dtype(x, dtype), axis=axis)


@operator(aten.gelu.default)
def _gelu(dtype: torch.dtype, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "none":
        return ops.gelu(x)
    computed = as_dtype(x, torch.float32) if dtype in (torch.float16, torch.bfloat16) else x
    inner = (computed + computed * computed * computed * 0.044715) * math.sqrt(2 / math.pi)
    return as_dtype(computed * 0.5 * (ops.tanh(inner) + 1), dtype)


@operator(aten.embedding.default)
def _embedding(dtype: torch.dtype, table: Any, indices: Any, *_: Any) -> Any:
    del dtype
    return ops.embedding(indices, table)


@operator(aten.native_layer_norm.default)
def _layer_norm(  # noqa: PLR0917 - as nodes have them
    dtype: Any, x: Any, shape: Sequence[int], weight: Any, bias: Any, eps: float
) -> tuple[Any, Any, Any]:
    del dtype
    axes = tuple(range(x.ndim - len(shape), x.ndim))
    wide = as_dtype(x, torch.float32) if str(x.dtype) in ("float16", "bfloat16") else x
    mean = ops.mean(wide, axis=axes, keepdims=True)
    deviation = ops.reciprocal(ops.sqrt(ops.var(wide, axis=axes, keepdims=True) + eps))
    return ops.layer_norm(x, tuple(shape), weight, bias, eps=eps), mean, deviation


def takes(node: torch.fx.Node) -> bool:
    """Whether a node of a graph has a function here that means the same."""
    if node.target not in TABLE:
        return False
    if node.target is aten.convolution.default:
        is_transposed, output_padding = node.args[6], node.args[7]
        return not is_transposed and not any(output_padding)
    if node.target is aten.native_layer_norm.default and node.args[2] is None:
        return node.args[3] is None
    return True

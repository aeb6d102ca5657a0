"""Operations on arrays.

Beside the names that are listed, every function of the array API standard that `amdgpu` has is here under its name: `ops.permute_dims` is
`amdgpu.permute_dims`.
"""

from typing import TYPE_CHECKING, Any

from amdgpu import namespace
from amdgpu.ops.activation_gradient import (
    elu_gradient,
    gelu_gradient,
    leaky_relu_gradient,
    relu_gradient,
    sigmoid_gradient,
    silu_gradient,
    softplus_gradient,
    tanh_gradient,
)
from amdgpu.ops.arithmetic import (
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    copysign,
    floor_divide,
    fmod,
    invert,
    left_shift,
    logaddexp,
    nextafter,
    positive,
    power,
    remainder,
    right_shift,
    round,
    signbit,
)
from amdgpu.ops.batch_norm import batch_norm, batch_norm_training
from amdgpu.ops.convolve import conv2d, conv2d_input_gradient, conv2d_weight_gradient
from amdgpu.ops.data_types import astype
from amdgpu.ops.dropout import dropout
from amdgpu.ops.elementwise import (
    absolute,
    add,
    ceil,
    clip,
    cos,
    divide,
    elu,
    equal,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    gelu,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    leaky_relu,
    less,
    less_equal,
    log,
    log1p,
    log2,
    log10,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    reciprocal,
    relu,
    rint,
    sigmoid,
    sign,
    silu,
    sin,
    softplus,
    sqrt,
    square,
    subtract,
    tanh,
    trunc,
    where,
)
from amdgpu.ops.embedding import embedding
from amdgpu.ops.indexing import argwhere, nonzero, put_along_axis, take, take_along_axis
from amdgpu.ops.matmul import matrix_multiply
from amdgpu.ops.norm_gradient import (
    batch_norm_gradient,
    layer_norm_gradient,
    log_softmax_gradient,
    rms_norm_gradient,
    softmax_gradient,
)
from amdgpu.ops.normalize import layer_norm, log_softmax, rms_norm, softmax
from amdgpu.ops.pool import avg_pool2d, avg_pool2d_gradient, max_pool2d, max_pool2d_gradient
from amdgpu.ops.reduce import all, any, argmax, argmin, max, mean, min, prod, std, sum, var
from amdgpu.ops.scan import cumprod, cumsum
from amdgpu.ops.sorting import argsort, searchsorted, sort
from amdgpu.ops.top_k import top_k
from amdgpu.ops.transpose import transpose
from amdgpu.ops.trigonometry import acos, acosh, asin, asinh, atan, atan2, atanh, cosh, hypot, sinh, tan

# Behind the import of the module `matmul`, whose place in this package the function takes.
from amdgpu.ops.linear_algebra import matmul  # isort: skip

__all__ = [
    "absolute",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "argwhere",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "avg_pool2d",
    "avg_pool2d_gradient",
    "batch_norm",
    "batch_norm_gradient",
    "batch_norm_training",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "ceil",
    "clip",
    "conv2d",
    "conv2d_input_gradient",
    "conv2d_weight_gradient",
    "copysign",
    "cos",
    "cosh",
    "cumprod",
    "cumsum",
    "divide",
    "dropout",
    "elu",
    "elu_gradient",
    "embedding",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmod",
    "gelu",
    "gelu_gradient",
    "greater",
    "greater_equal",
    "hypot",
    "invert",
    "isfinite",
    "isinf",
    "isnan",
    "layer_norm",
    "layer_norm_gradient",
    "leaky_relu",
    "leaky_relu_gradient",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "log_softmax",
    "log_softmax_gradient",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "matmul",
    "matrix_multiply",
    "max",
    "max_pool2d",
    "max_pool2d_gradient",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "nonzero",
    "not_equal",
    "positive",
    "power",
    "prod",
    "put_along_axis",
    "reciprocal",
    "relu",
    "relu_gradient",
    "remainder",
    "right_shift",
    "rint",
    "rms_norm",
    "rms_norm_gradient",
    "round",
    "searchsorted",
    "sigmoid",
    "sigmoid_gradient",
    "sign",
    "signbit",
    "silu",
    "silu_gradient",
    "sin",
    "sinh",
    "softmax",
    "softmax_gradient",
    "softplus",
    "softplus_gradient",
    "sort",
    "sqrt",
    "square",
    "std",
    "subtract",
    "sum",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tanh_gradient",
    "top_k",
    "transpose",
    "trunc",
    "var",
    "where",
]


# Set here, and not found by a `__getattr__`: where a module has one, CPython looks each attribute up anew, which `ops.add` would pay for.
globals().update({name: namespace.find(name) for name in namespace.FUNCTIONS if name not in globals()})


def __dir__() -> list[str]:
    return sorted({*__all__, *namespace.FUNCTIONS})


if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

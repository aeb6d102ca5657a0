"""Elementwise operations on a device: one generated kernel for each operation, combination of dtypes and rank.

Dense arrays of one shape are read and written 16 bytes at a time; everything else walks its strides. Values are computed in the type that
`amdgpu.ops.elementwise` names, and nothing is fused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.operand import Operand, broadcast, lend, number, target
from amdgpu.errors import InvalidArgumentError, NoImplementationError, UnsupportedDtypeError

if TYPE_CHECKING:
    from amdgpu import _native
    from amdgpu.device import AMDGPUDevice

_VECTOR_BYTES = 16
# Axes that are left when those are joined that can be; every one costs a division.
_RANK_LIMIT = 12

_NAMES = {3: ("x", "low", "high"), 2: ("a", "b"), 1: ("x",)}
_WHERE_NAMES = ("condition", "a", "b")
_STANDARDIZE_NAMES = ("x", "mean", "scale", "shift")

# Of x, y, z, w and alpha, all of type C. SIGMOID and MAXIMUM are macros of the kernel.
_FLOAT = {
    "identity": "x",
    "negative": "-x",
    "absolute": "F(fabs)(x)",
    "sign": "x > 0 ? (C)1 : x < 0 ? (C)-1 : x",
    "square": "x * x",
    "reciprocal": "(C)1 / x",
    "sqrt": "F(sqrt)(x)",
    "exp": "F(exp)(x)",
    "expm1": "F(expm1)(x)",
    "log": "F(log)(x)",
    "log1p": "F(log1p)(x)",
    "erf": "F(erf)(x)",
    "tanh": "F(tanh)(x)",
    "sigmoid": "sigmoid(x)",
    "relu": "x < 0 ? (C)0 : x",
    "leaky_relu": "x < 0 ? alpha * x : x",
    "elu": "x < 0 ? alpha * F(expm1)(x) : x",
    # The complement keeps the digits of the left tail.
    "gelu": "(C)0.5 * x * F(erfc)(x * (C)-0.70710678118654752440)",
    "gelu_tanh": "x * sigmoid((C)1.59576912160573071176 * (x + (C)0.044715 * x * x * x))",
    "silu": "x * sigmoid(x)",
    "softplus": "(x > 0 ? x : (C)0) + F(log1p)(F(exp)(-F(fabs)(x)))",
    "floor": "F(floor)(x)",
    "ceil": "F(ceil)(x)",
    "trunc": "F(trunc)(x)",
    "rint": "F(rint)(x)",
    "isnan": "x != x",
    "isinf": "F(fabs)(x) == (C)INFINITY",
    "isfinite": "F(fabs)(x) < (C)INFINITY",
    "divide": "x / y",
    "maximum": "larger(x, y)",
    "minimum": "smaller(x, y)",
    "clip": "smaller(larger(x, y), z)",
}
_INTEGER = {
    "identity": "x",
    "negative": "(C)0 - x",
    "absolute": "x < 0 ? (C)0 - x : x",
    "sign": "x > 0 ? (C)1 : x < 0 ? (C)-1 : (C)0",
    "square": "x * x",
    "relu": "x < 0 ? (C)0 : x",
    "maximum": "x >= y ? x : y",
    "minimum": "x <= y ? x : y",
    "clip": "(x >= y ? x : y) <= z ? (x >= y ? x : y) : z",
}
_BOTH = {
    "add": "x + y",
    "subtract": "x - y",
    "multiply": "x * y",
    "where": "x != 0 ? y : z",
    "logical_not": "x == 0",
    "equal": "x == y",
    "not_equal": "x != y",
    "less": "x < y",
    "less_equal": "x <= y",
    "greater": "x > y",
    "greater_equal": "x >= y",
    "logical_and": "x != 0 && y != 0",
    "logical_or": "x != 0 || y != 0",
}
# Names of the operands in expressions.
_VALUES = "xyzwvu"
_KNOWN = {*_FLOAT, *_INTEGER, *_BOTH, "standardize"}
_PREDICATES = {
    "isnan",
    "isinf",
    "isfinite",
    "logical_not",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
}
_FLOAT_PREDICATES = {"isnan", "isinf", "isfinite"}
_ROUNDING = {"floor", "ceil", "trunc", "rint"}
_SIGNED = {"negative", "sign", "subtract"}

HELPERS = """
__device__ inline C larger(C x, C y) { return x != x ? x : x >= y ? x : y; }
__device__ inline C smaller(C x, C y) { return x != x ? x : x <= y ? x : y; }
__device__ inline C sigmoid(C x) {
    const C t = F(exp)(-F(fabs)(x));
    return x < 0 ? t / ((C)1 + t) : (C)1 / ((C)1 + t);
}
"""


@dataclass(frozen=True)
class Body:
    """An operation of the caller's own.

    Attributes:
        name: For messages.
        text: Statements that return the result, of x, y, z, w, v, u and alpha, all of type C.
    """

    name: str
    text: str


def activation_text(name: str, computed: str) -> str:
    """The expression of a function of x."""
    return (_FLOAT if computed in dtypes.FLOATS else _INTEGER)[name]


def elementwise(
    operation: str, inputs: tuple[Any, ...], out: Any = None, *, alpha: float = 0.0, device: AMDGPUDevice
) -> Any:
    """`operation(*inputs)`, broadcast; what `amdgpu._native.elementwise` does, on a device.

    Raises:
        As the functions of `amdgpu.ops.elementwise`.
    """
    if operation not in _KNOWN:
        raise NoImplementationError(f"there is no generated kernel for {operation}")
    names = _names(operation, len(inputs))
    operands = _lend_all(operation, names, inputs, device)
    common, result_dtype = result_dtypes(operation, names, operands)
    shape = broadcast(operation, dict(zip(names, operands, strict=True)))
    made = target(operation, device, shape, result_dtype, out, inputs=operands, may_alias=True, is_dense=False)
    done = "identity" if operation in _ROUNDING and common not in dtypes.FLOATS else operation
    compute(device, done, operands, made.operand, dtypes.compute(common), alpha=alpha)
    return made.deliver()


def convert(device: AMDGPUDevice, x: Operand, dtype: str) -> _native.Array:
    """A dense copy on the device, converted as NumPy converts; the array itself where it is that already."""
    if x.array is not None and x.dtype == dtype and x.is_dense:
        return x.array
    made = target("convert", device, x.shape, dtype, None)
    # Numbers that are not whole pass through the wider of both types, whole ones through their own.
    wide = x.dtype if x.dtype not in dtypes.FLOATS else dtypes.promote(x.dtype, "float32")
    compute(device, "identity", (x,), made.operand, dtypes.compute(wide))
    return made.array


def _names(operation: str, count: int) -> tuple[str, ...]:
    if operation == "where":
        return _WHERE_NAMES
    return _STANDARDIZE_NAMES if operation == "standardize" else _NAMES[count]


def _lend_all(
    operation: str, names: tuple[str, ...], inputs: tuple[Any, ...], device: AMDGPUDevice
) -> tuple[Operand, ...]:
    """Arguments on the device; a Python number takes the dtype of the arrays beside it (NumPy's rule, NEP 50)."""
    lent: list[Operand | None] = [
        None if isinstance(x, (float, int)) else lend(operation, name, x, device)
        for name, x in zip(names, inputs, strict=True)
    ]
    beside = [one for one, name in zip(lent, names, strict=True) if one is not None and name != "condition"]
    common = None
    for one in beside:
        common = one.dtype if common is None else dtypes.promote(common, one.dtype)
    return tuple(
        _number(operation, name, x, None if name == "condition" else common) if one is None else one
        for one, name, x in zip(lent, names, inputs, strict=True)
    )


def _number(operation: str, name: str, value: Any, common: str | None) -> Operand:
    """A Python number beside arrays of a dtype, or alone."""
    import numpy as np

    dtype = None if common is None else _number_dtype(value, common)
    if dtype == "bfloat16":
        import ml_dtypes

        return number(np.array(value, ml_dtypes.bfloat16))
    try:
        return number(np.array(value, dtype))
    except OverflowError:
        raise InvalidArgumentError(
            f"{operation}: {name} is {value}, which does not fit {dtype or 'any dtype'}"
        ) from None


def _number_dtype(value: Any, common: str) -> str:
    if common in dtypes.FLOATS:
        return common
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, float):
        return "float64"
    return "int64" if common == "bool" else common


def result_dtypes(operation: str, names: tuple[str, ...], operands: tuple[Operand, ...]) -> tuple[str, str]:
    """The dtype in which operands meet, and that of the result.

    Raises:
        UnsupportedDtypeError: The operation does not take them.
    """
    common: str | None = None
    for name, operand in zip(names, operands, strict=True):
        if name == "condition":
            if dtypes.ITEM_BYTES[operand.dtype] != 1:
                raise UnsupportedDtypeError(
                    f"where: condition has dtype {operand.dtype}; it must be bool or 8-bit integers: compare first"
                )
        else:
            common = operand.dtype if common is None else dtypes.promote(common, operand.dtype)
    assert common is not None
    if operation in _SIGNED and common == "bool":
        raise UnsupportedDtypeError(
            f"{operation}: truth values have no sign; convert them to numbers or use logical_not"
        )
    is_general = operation in _BOTH or operation in _INTEGER or operation in _ROUNDING
    if not is_general or operation in _FLOAT_PREDICATES:
        common = dtypes.as_float(common)
    if operation == "standardize":
        # Statistics are wider than images of half precision; what they make has the images' dtype.
        return common, dtypes.as_float(operands[0].dtype)
    return common, "bool" if operation in _PREDICATES else common


def compute(
    device: AMDGPUDevice,
    operation: str | Body,
    operands: tuple[Operand, ...],
    result: Operand,
    computed: str,
    *,
    alpha: float = 0.0,
) -> None:
    """Launch the kernel that writes `operation(*operands)`, computed in a dtype, to a result of the shape they broadcast to."""
    count = result.size
    if not count:
        return
    wide = [
        result,
        *(one for one in (operand.broadcast_to(result.shape) for operand in operands) if one.array is not None),
    ]
    is_flat = all(one.is_dense and one.array is not None and one.array.ptr % _VECTOR_BYTES == 0 for one in wide)
    shapes = [operand.shape for operand in operands if operand.array is not None]
    is_flat = is_flat and all(shape == result.shape for shape in shapes)
    kinds = tuple((operand.dtype, operand.array is not None) for operand in operands)
    arguments: list[Any] = [float(alpha)]
    arguments += [operand.value for operand in operands if operand.array is None]
    if is_flat:
        key = ("elementwise", operation, kinds, result.dtype, computed)
        kernel = source.kernel_for(
            device, key, lambda: _flat_source(operation, kinds, result.dtype, computed), "elementwise"
        )
        width = _pack(kinds, result.dtype)
        blocks = -(-count // (width * source.BLOCK))
        kernel.launch(blocks, source.BLOCK, [*arguments, *(one.array for one in wide), count])
        return
    extents, strides = source.coalesce(result.shape, [one.strides for one in wide])
    rank = len(extents)
    if rank > _RANK_LIMIT:
        raise NoImplementationError(
            f"{getattr(operation, 'name', operation)}: {rank} axes with strides of their own are more than {_RANK_LIMIT}"
        )
    are_dense = tuple(one.is_dense for one in wide)
    width_name = source.index_type(count)
    walk_key = ("elementwise", operation, kinds, result.dtype, computed, rank, are_dense, width_name)
    kernel = source.kernel_for(
        device,
        walk_key,
        lambda: _strided_source(operation, kinds, computed, wide, rank=rank, width=width_name),
        "elementwise",
    )
    arguments += [source.pointer(one) for one in wide]
    arguments += [count, *source.walk_arguments(extents, strides)]
    kernel.launch(-(-count // source.BLOCK), source.BLOCK, arguments)


def _pack(kinds: tuple[tuple[str, bool], ...], result: str) -> int:
    """Elements that a work-item computes: 16 bytes of the widest array."""
    sizes = [dtypes.ITEM_BYTES[dtype] for dtype, is_array in kinds if is_array]
    return _VECTOR_BYTES // max([dtypes.ITEM_BYTES[result], *sizes])


def _head(operation: str | Body, kinds: tuple[tuple[str, bool], ...], result: str, computed: str) -> tuple[str, str]:
    """Types and the function of one element; parameters for the numbers."""
    names = {f"A{index}": dtype for index, (dtype, _) in enumerate(kinds)}
    text = source.types(C=computed, R=result, **names) + source.functions(computed)
    is_float = computed in dtypes.FLOATS
    text += HELPERS if is_float else ""
    values = ", ".join(f"C {name}" for name in _VALUES[: len(kinds)])
    if isinstance(operation, Body):
        body = operation.text
    elif operation == "standardize":
        # The product has a name, so it is not fused with the sum.
        body = "const C scaled = (x - y) * z; return scaled + w;"
    else:
        expression = _BOTH.get(operation) or (_FLOAT if is_float else _INTEGER)[operation]
        body = f"return {expression};"
    returned = "bool" if operation in _PREDICATES else "C"
    text += f"__device__ inline {returned} one({values}, C alpha) {{ {body} }}\n"
    wide = "double" if is_float else "long long"
    numbers = "".join(f", {wide} number{index}" for index, (_, is_array) in enumerate(kinds) if not is_array)
    return text, numbers


def _call(kinds: tuple[tuple[str, bool], ...], element: str) -> str:
    """A call of the function of one element; `element` says how array number {0} is read."""
    values = [
        f"(C){element.format(index)}" if is_array else f"(C)number{index}" for index, (_, is_array) in enumerate(kinds)
    ]
    return f"(R)one({', '.join(values)}, (C)alpha)"


def _flat_source(operation: str | Body, kinds: tuple[tuple[str, bool], ...], result: str, computed: str) -> str:
    text, numbers = _head(operation, kinds, result, computed)
    arrays = [index for index, (_, is_array) in enumerate(kinds) if is_array]
    width = _pack(kinds, result)
    parameters = "".join(f", const A{index}* a{index}" for index in arrays)
    loads = "".join(f"        const Pack<A{k}> p{k} = *(const Pack<A{k}>*)(a{k} + first);\n" for k in arrays)
    return (
        text
        + f"""
template <typename T> struct alignas(sizeof(T) * {width}) Pack {{ T v[{width}]; }};

extern "C" __global__ void elementwise(double alpha{numbers}, R* result{parameters}, unsigned long long count) {{
    const unsigned long long first = ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x) * {width};
    if (first + {width} <= count) {{
{loads}        Pack<R> r;
        #pragma unroll
        for (int j = 0; j < {width}; j++) r.v[j] = {_call(kinds, "p{0}.v[j]")};
        *(Pack<R>*)(result + first) = r;
    }} else {{
        for (unsigned long long i = first; i < count; i++) result[i] = {_call(kinds, "a{0}[i]")};
    }}
}}
"""
    )


def _strided_source(
    operation: str | Body,
    kinds: tuple[tuple[str, bool], ...],
    computed: str,
    wide: list[Operand],
    *,
    rank: int,
    width: str,
) -> str:
    text, numbers = _head(operation, kinds, wide[0].dtype, computed)
    arrays = [index for index, (_, is_array) in enumerate(kinds) if is_array]
    names = ["result", *(f"a{index}" for index in arrays)]
    ctypes = ["R", *(f"A{index}" for index in arrays)]
    made = [
        source.pointer_parameter(one, ctype, name, is_written=name == "result")
        for one, ctype, name in zip(wide, ctypes, names, strict=True)
    ]
    offsets = [f"o_{name}" for name in names]
    declarations = "".join(f"    long long {offset} = 0;\n" for offset in offsets)
    return (
        text
        + f"""
extern "C" __global__ void elementwise(double alpha{numbers}, {", ".join(parameter for parameter, _ in made)},
                                       unsigned long long count{source.walk_parameters("d", rank, len(names))}) {{
    const unsigned long long index = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= count) return;
{"".join(statement for _, statement in made)}{declarations}{source.walk("d", rank, offsets, "index", width)}\
    result[o_result] = {_call(kinds, "a{0}[o_a{0}]")};
}}
"""
    )

"""The text of elementwise kernels: what each operation computes, and the kernels around it."""

from __future__ import annotations

from dataclasses import dataclass

from amdgpu.device_ops import dtypes, source
from amdgpu.device_ops.operand import Operand

VECTOR_BYTES = 16

# Of x, y, z, w and alpha, all of type C. SIGMOID and MAXIMUM are macros of the kernel.
FLOAT = {
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
    "gelu": "gelu(x)",
    "gelu_tanh": "x * sigmoid((C)1.59576912160573071176 * (x + (C)0.044715 * x * x * x))",
    "silu": "x * sigmoid(x)",
    "softplus": "(x > 0 ? x : (C)0) + F(log1p)(F(exp)(-F(fabs)(x)))",
    "sin": "F(sin)(x)",
    "cos": "F(cos)(x)",
    "exp2": "F(exp2)(x)",
    "log2": "F(log2)(x)",
    "log10": "F(log10)(x)",
    "relu_gradient": "x <= 0 ? (C)0 : y",
    "leaky_relu_gradient": "x > 0 ? y : alpha * y",
    "elu_gradient": "x > 0 ? y : alpha * F(exp)(x) * y",
    # At infinities x e^(-x^2 / 2) is zero, not infinity times zero.
    "gelu_gradient": "y * ((C)0.5 * F(erfc)(x * (C)-0.70710678118654752440) + times(x, density(x)))",
    "gelu_tanh_gradient": "y * gelu_tanh_slope(x)",
    "silu_gradient": "y * (sigmoid(x) + times(x, sigmoid(x) * sigmoid(-x)))",
    "softplus_gradient": "y * sigmoid(x)",
    "sigmoid_gradient": "y * (x * ((C)1 - x))",
    "tanh_gradient": "y * (((C)1 - x) * ((C)1 + x))",
    "power": "F(pow)(x, y)",
    "fmod": "F(fmod)(x, y)",
    "remainder": "remainder_of(x, y)",
    "floor_divide": "floor_quotient(x, y)",
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
INTEGER = {
    "identity": "x",
    "negative": "(C)0 - x",
    "absolute": "x < 0 ? (C)0 - x : x",
    "sign": "x > 0 ? (C)1 : x < 0 ? (C)-1 : (C)0",
    "square": "x * x",
    "relu": "x < 0 ? (C)0 : x",
    "maximum": "x >= y ? x : y",
    "minimum": "x <= y ? x : y",
    "bitwise_and": "x & y",
    "bitwise_or": "x | y",
    "bitwise_xor": "x ^ y",
    "invert": "~x",
    # As NumPy has it: integers divided by zero give zero.
    "fmod": "y == 0 ? (C)0 : x % y",
    "remainder": "y == 0 ? (C)0 : x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y",
    "floor_divide": "y == 0 ? (C)0 : x % y != 0 && (x % y < 0) != (y < 0) ? x / y - 1 : x / y",
    "clip": "(x >= y ? x : y) <= z ? (x >= y ? x : y) : z",
}
BOTH = {
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
    "logical_xor": "(x != 0) != (y != 0)",
}
# Names of the operands in expressions.
_VALUES = "xyzwvu"
KNOWN = {*FLOAT, *INTEGER, *BOTH, "standardize"}
PREDICATES = {
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
    "logical_xor",
}
FLOAT_PREDICATES = {"isnan", "isinf", "isfinite"}
ROUNDING = {"floor", "ceil", "trunc", "rint"}
SIGNED = {"negative", "sign", "subtract", "power", "remainder", "fmod", "floor_divide"}
BITS = {"bitwise_and", "bitwise_or", "bitwise_xor", "invert"}

HELPERS = """
__device__ inline C larger(C x, C y) { return x != x ? x : x >= y ? x : y; }
__device__ inline C smaller(C x, C y) { return x != x ? x : x <= y ? x : y; }
// max(x, 0) - |x| Q(|x|), where a Q(a) = a erfc(a / sqrt(2)) / 2 = 2.12132 * 2^(-a^2 log2(e) / 2) u p(2 u - 1) with u = a / (a + sqrt(18)):
// p is that of zig/src/matrix/vector_math.zig. Every value takes the same steps, so that lanes need not wait for each other.
__device__ inline float gelu(float x) {
    // Beyond, |x| Q(|x|) is below every float.
    const float a = fminf(fabsf(x), 14.5f);
    const float d = a + 4.2426405f;
    // 1 / d from a guess within 12 % by two steps of third order, which leave half of a unit in the last place.
    float inverse = __int_as_float(0x7ef311c7 - __float_as_int(d));
    float rest = fmaf(-d, inverse, 1.0f);
    inverse = fmaf(inverse, fmaf(rest, rest, rest), inverse);
    rest = fmaf(-d, inverse, 1.0f);
    inverse = fmaf(inverse, fmaf(rest, rest, rest), inverse);
    const float u = a * inverse;
    const float t = fmaf(u, 2.0f, -1.0f);
    float p = -0.000109298476939f;
    p = fmaf(p, t, -0.000162304952999f);
    p = fmaf(p, t, 0.0010270592139f);
    p = fmaf(p, t, -0.000407937096029f);
    p = fmaf(p, t, -0.00894659511275f);
    p = fmaf(p, t, 0.0398428204114f);
    p = fmaf(p, t, -0.103488675142f);
    p = fmaf(p, t, 0.19674278175f);
    p = fmaf(p, t, -0.294464828852f);
    p = fmaf(p, t, 0.358002302406f);
    // Beside 1.5 * 2^23 an ulp is 1: the sum is rounded to an integer, which stands in its lowest bits.
    const float square = a * a;
    const float shifted = fmaf(square, -0.72134752f, 12582912.0f);
    const float f = fmaf(square, -0.72134752f, 12582912.0f - shifted);
    float power = 0.0013264453737f;
    power = fmaf(power, f, 0.0096717253327f);
    power = fmaf(power, f, 0.0555073618889f);
    power = fmaf(power, f, 0.2402223944664f);
    power = fmaf(power, f, 0.6931470036507f);
    power = fmaf(power, f, 1.0f);
    // 64 more in the exponent, so that what becomes a denormal number is rounded once, at the end.
    const float scale = __int_as_float((int)((unsigned)__float_as_int(shifted) << 23) + 0x5f800000);
    // Zero times infinity is what the other activations make of it, too: not a number.
    return fmaf(u * p * power * scale, -1.14997004e-19f, x < 0 ? x * 0.0f : x);
}
__device__ inline double gelu(double x) { return 0.5 * x * erfc(x * -0.70710678118654752440); }
__device__ inline C sigmoid(C x) {
    const C t = F(exp)(-F(fabs)(x));
    return x < 0 ? t / ((C)1 + t) : (C)1 / ((C)1 + t);
}
__device__ inline C times(C x, C share) { return share == 0 ? (C)0 : x * share; }
__device__ inline C density(C x) { return (C)0.39894228040143267794 * F(exp)((C)-0.5 * x * x); }
__device__ inline C gelu_tanh_slope(C x) {
    const C factor = (C)1.59576912160573071176, square = x * x;
    const C u = factor * (x + (C)0.044715 * square * x);
    const C inner = factor * ((C)1 + (C)0.134145 * square);
    return sigmoid(u) + times(x * inner, sigmoid(u) * sigmoid(-u));
}
// Python's remainder, with the sign of the divisor.
__device__ inline C remainder_of(C x, C y) {
    const C rest = F(fmod)(x, y);
    if (rest == 0) return F(copysign)((C)0, y);
    return (rest < 0) != (y < 0) ? rest + y : rest;
}
__device__ inline C floor_quotient(C x, C y) {
    if (y == 0) return x / y;
    const C rest = F(fmod)(x, y);
    C quotient = (x - rest) / y;
    if (rest != 0 && (rest < 0) != (y < 0)) quotient = quotient - (C)1;
    if (quotient == 0) return F(copysign)((C)0, x / y);
    const C whole = F(floor)(quotient);
    return quotient - whole > (C)0.5 ? whole + (C)1 : whole;
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
    return (FLOAT if computed in dtypes.FLOATS else INTEGER)[name]


def pack_of(kinds: tuple[tuple[str, bool], ...], result: str) -> int:
    """Elements that a work-item computes: 16 bytes of the widest array."""
    sizes = [dtypes.ITEM_BYTES[dtype] for dtype, is_array in kinds if is_array]
    return VECTOR_BYTES // max([dtypes.ITEM_BYTES[result], *sizes])


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
        expression = BOTH.get(operation) or (FLOAT if is_float else INTEGER)[operation]
        body = f"return {expression};"
    returned = "bool" if operation in PREDICATES else "C"
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


def flat_source(operation: str | Body, kinds: tuple[tuple[str, bool], ...], result: str, computed: str) -> str:
    """The kernel for dense arrays of one shape."""
    text, numbers = _head(operation, kinds, result, computed)
    arrays = [index for index, (_, is_array) in enumerate(kinds) if is_array]
    width = pack_of(kinds, result)
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


@dataclass(frozen=True)
class Walk:
    """How a kernel walks arrays with strides.

    Attributes:
        arrays: The result and the arrays that are read.
        rank: Axes.
        width: Type of indices.
        pack: Neighbours along the last axis that a work-item computes.
        repeats: For each array, whether it has one value for all neighbours of a pack.
    """

    arrays: list[Operand]
    rank: int
    width: str
    pack: int
    repeats: tuple[bool, ...]


def strided_source(operation: str | Body, kinds: tuple[tuple[str, bool], ...], computed: str, shape: Walk) -> str:
    """The kernel for arrays with strides."""
    text, numbers = _head(operation, kinds, shape.arrays[0].dtype, computed)
    arrays = [index for index, (_, is_array) in enumerate(kinds) if is_array]
    names = ["result", *(f"a{index}" for index in arrays)]
    ctypes = ["R", *(f"A{index}" for index in arrays)]
    made = [
        source.pointer_parameter(one, ctype, name, is_written=name == "result")
        for one, ctype, name in zip(shape.arrays, ctypes, names, strict=True)
    ]
    offsets = [f"o_{name}" for name in names]
    declarations = "".join(f"    long long {offset} = 0;\n" for offset in offsets)
    loads = "".join(
        f"    const A{k} p{k} = a{k}[o_a{k}];\n"
        if repeats
        else f"    const Pack<A{k}> p{k} = *(const Pack<A{k}>*)(a{k} + o_a{k});\n"
        for k, repeats in zip(arrays, shape.repeats[1:], strict=True)
    )
    values = [
        f"(C)p{k}" + ("" if dict(zip(arrays, shape.repeats[1:], strict=True))[k] else ".v[j]")
        if is_array
        else f"(C)number{k}"
        for k, (_, is_array) in enumerate(kinds)
    ]
    return (
        text
        + f"""
template <typename T> struct alignas(sizeof(T) * {shape.pack}) Pack {{ T v[{shape.pack}]; }};

extern "C" __global__ void elementwise(double alpha{numbers}, {", ".join(parameter for parameter, _ in made)},
                                       unsigned long long count{source.walk_parameters("d", shape.rank, len(names))}) {{
    const unsigned long long index = ((unsigned long long)blockIdx.x * blockDim.x + threadIdx.x) * {shape.pack};
    if (index >= count) return;
{"".join(statement for _, statement in made)}{declarations}{source.walk("d", shape.rank, offsets, "index", shape.width)}\
{loads}    Pack<R> r;
    #pragma unroll
    for (int j = 0; j < {shape.pack}; j++) r.v[j] = (R)one({", ".join(values)}, (C)alpha);
    *(Pack<R>*)(result + o_result) = r;
}}
"""
    )

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
    "silu": "silu(x)",
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
_NARROW = ("float16", "bfloat16")
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

_COMMON_HELPERS = """
__device__ inline C larger(C x, C y) { return x != x ? x : x >= y ? x : y; }
__device__ inline C smaller(C x, C y) { return x != x ? x : x <= y ? x : y; }
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
# For results as wide as what they are computed in.
_WIDE_HELPERS = """
// max(x, 0) - |x| Q(|x|), where a Q(a) = a erfc(a / sqrt(2)) / 2 = 2.12132 * 2^(-a^2 log2(e) / 2) u p(2 u - 1) with u = a / (a + sqrt(18)):
// p is that of zig/src/simd/vector_math.zig. Every value takes the same steps, so that lanes need not wait for each other.
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
__device__ inline C silu(C x) { return x * sigmoid(x); }
"""
# For results of 11 digits or fewer: the same, within 1e-5 before they are rounded, in two thirds of the steps.
_NARROW_HELPERS = """
// 2^(64 + whole) of a number that `shifted` is the sum of with 1.5 * 2^23, where an ulp is 1: its lowest bits are the number, rounded.
__device__ inline float raised(float shifted) {
    return __int_as_float((int)((unsigned)__float_as_int(shifted) << 23) + 0x5f800000);
}
__device__ inline float power_of_two(float f) {
    float power = 0.0095701013f;
    power = fmaf(power, f, 0.0559178591f);
    power = fmaf(power, f, 0.2402474433f);
    power = fmaf(power, f, 0.6931217909f);
    return fmaf(power, f, 0.9999992847f);
}
// max(x, 0) - 2.12132 * 2^(-a^2 log2(e) / 2) u p(2 u - 1) with a = |x| and u = a / (a + sqrt(18)).
__device__ inline float gelu(float x) {
    const float a = fminf(fabsf(x), 14.5f);
    const float d = a + 4.2426405f;
    // 1 / d from a guess within 12 % by a step of third order and one of second.
    float inverse = __int_as_float(0x7ef311c7 - __float_as_int(d));
    float rest = fmaf(-d, inverse, 1.0f);
    inverse = fmaf(inverse, fmaf(rest, rest, rest), inverse);
    rest = fmaf(-d, inverse, 1.0f);
    inverse = fmaf(inverse, rest, inverse);
    const float u = a * inverse;
    const float t = fmaf(u, 2.0f, -1.0f);
    float p = -0.0018162980f;
    p = fmaf(p, t, -0.0086501678f);
    p = fmaf(p, t, 0.0405566208f);
    p = fmaf(p, t, -0.1035017893f);
    p = fmaf(p, t, 0.1966453046f);
    p = fmaf(p, t, -0.2944636643f);
    p = fmaf(p, t, 0.3580042422f);
    const float square = a * a;
    const float shifted = fmaf(square, -0.72134752f, 12582912.0f);
    const float power = power_of_two(fmaf(square, -0.72134752f, 12582912.0f - shifted));
    // Zero times infinity is what the other activations make of it, too: not a number.
    return fmaf(u * p * power * raised(shifted), -1.14997004e-19f, x < 0 ? x * 0.0f : x);
}
// x / (1 + e^-x), for negative numbers |x| e^-|x| / (1 + e^-|x|) with another sign.
__device__ inline float silu(float x) {
    // Beyond, the product is below every number of 16 bits.
    const float a = fminf(fabsf(x), 105.0f);
    const float shifted = fmaf(a, -1.44269504f, 12582912.0f);
    const float t = power_of_two(fmaf(a, -1.44269504f, 12582912.0f - shifted)) * raised(shifted);
    const float d = fmaf(t, 5.42101086e-20f, 1.0f);
    // 1 / d of a number between 1 and 2 from a parabola within 1 % by a step of third order.
    float inverse = fmaf(fmaf(d, 0.3232318461f, -1.4545439482f), d, 2.1212110519f);
    const float rest = fmaf(-d, inverse, 1.0f);
    inverse = fmaf(inverse, fmaf(rest, rest, rest), inverse);
    return x < 0 ? fmaf(a * inverse * t, -5.42101086e-20f, x * 0.0f) : x * inverse;
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


def helpers(result: str) -> str:
    """Functions that expressions use, for results of a dtype."""
    return _COMMON_HELPERS + (_NARROW_HELPERS if result in _NARROW else _WIDE_HELPERS)


def activation_text(name: str, computed: str) -> str:
    """The expression of a function of x."""
    return (FLOAT if computed in dtypes.FLOATS else INTEGER)[name]


def pack_of(kinds: tuple[tuple[str, bool], ...], result: str) -> int:
    """Elements that a work-item computes: 16 bytes of the widest array."""
    sizes = [dtypes.ITEM_BYTES[dtype] for dtype, is_array in kinds if is_array]
    return VECTOR_BYTES // max([dtypes.ITEM_BYTES[result], *sizes])


def parts_of(operation: str | Body) -> int:
    """Packs that a work-item asks for before it computes the first: memory is idle where every work-item computes for long."""
    return 2 if isinstance(operation, Body) or operation in FLOAT else 1


def _head(operation: str | Body, kinds: tuple[tuple[str, bool], ...], result: str, computed: str) -> tuple[str, str]:
    """Types and the function of one element; parameters for the numbers."""
    names = {f"A{index}": dtype for index, (dtype, _) in enumerate(kinds)}
    text = source.types(C=computed, R=result, **names) + source.functions(computed)
    is_float = computed in dtypes.FLOATS
    text += helpers(result) if is_float else ""
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
    width, parts = pack_of(kinds, result), parts_of(operation)
    parameters = "".join(f", const A{index}* a{index}" for index in arrays)
    declared = "".join(f"        Pack<A{k}> p{k}[{parts}];\n" for k in arrays)
    loads = "".join(f" p{k}[part] = *(const Pack<A{k}>*)(a{k} + first + part * step);" for k in arrays)
    return (
        text
        + f"""
template <typename T> struct alignas(sizeof(T) * {width}) Pack {{ T v[{width}]; }};

extern "C" __global__ void elementwise(double alpha{numbers}, R* result{parameters}, unsigned long long count) {{
    const unsigned long long step = (unsigned long long)blockDim.x * {width};
    const unsigned long long first = blockIdx.x * step * {parts} + threadIdx.x * {width};
    if (first + {parts - 1} * step + {width} <= count) {{
{declared}        #pragma unroll
        for (int part = 0; part < {parts}; part++) {{{loads} }}
        #pragma unroll
        for (int part = 0; part < {parts}; part++) {{
            Pack<R> r;
            #pragma unroll
            for (int j = 0; j < {width}; j++) r.v[j] = {_call(kinds, "p{0}[part].v[j]")};
            *(Pack<R>*)(result + first + part * step) = r;
        }}
    }} else {{
        for (int part = 0; part < {parts}; part++) {{
            const unsigned long long begin = first + part * step;
            for (unsigned long long i = begin; i < begin + {width} && i < count; i++)
                result[i] = {_call(kinds, "a{0}[i]")};
        }}
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
    declarations = "".join(f"        long long {offset} = 0;\n" for offset in offsets)
    repeats = dict(zip(arrays, shape.repeats[1:], strict=True))
    parts = parts_of(operation) if shape.pack > 1 else 1
    declared = "".join(f"    {f'A{k}' if repeats[k] else f'Pack<A{k}>'} p{k}[{parts}];\n" for k in arrays)
    loads = "".join(
        f"        p{k}[part] = a{k}[o_a{k}];\n"
        if repeats[k]
        else f"        p{k}[part] = *(const Pack<A{k}>*)(a{k} + o_a{k});\n"
        for k in arrays
    )
    values = [
        f"(C)p{k}[part]" + ("" if repeats[k] else ".v[j]") if is_array else f"(C)number{k}"
        for k, (_, is_array) in enumerate(kinds)
    ]
    return (
        text
        + f"""
template <typename T> struct alignas(sizeof(T) * {shape.pack}) Pack {{ T v[{shape.pack}]; }};

extern "C" __global__ void elementwise(double alpha{numbers}, {", ".join(parameter for parameter, _ in made)},
                                       unsigned long long count{source.walk_parameters("d", shape.rank, len(names))}) {{
    const unsigned long long step = (unsigned long long)blockDim.x * {shape.pack};
    const unsigned long long begin = blockIdx.x * step * {parts} + threadIdx.x * {shape.pack};
{"".join(statement for _, statement in made)}{declared}    long long places[{parts}];
    #pragma unroll
    for (int part = 0; part < {parts}; part++) {{
        const unsigned long long index = begin + part * step;
        if (index >= count) break;
{declarations}{source.walk("d", shape.rank, offsets, "index", shape.width)}\
{loads}        places[part] = o_result;
    }}
    #pragma unroll
    for (int part = 0; part < {parts}; part++) {{
        if (begin + part * step >= count) return;
        Pack<R> r;
        #pragma unroll
        for (int j = 0; j < {shape.pack}; j++) r.v[j] = (R)one({", ".join(values)}, (C)alpha);
        *(Pack<R>*)(result + places[part]) = r;
    }}
}}
"""
    )

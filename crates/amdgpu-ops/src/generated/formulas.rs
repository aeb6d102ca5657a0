//! What each elementwise operation computes, in HIP-C: the expressions of `ops.toml` of x, y, z, w and alpha, all of the type C that is
//! computed in, and the functions that they use.

use amdgpu_abi::Dtype;
use amdgpu_abi::ops::{ELEMENTWISE, ElementwiseRow, elementwise_position};
use amdgpu_abi::promotion::is_float;

/// The expression of an operation for values computed in a dtype; `None` where there is none.
#[must_use]
pub fn formula(operation: &str, computed: Dtype) -> Option<&'static str> {
    let row = row(operation)?;
    row.hip.or(if is_float(computed) {
        row.hip_float
    } else {
        row.hip_integer
    })
}

/// Whether a generated kernel of floats computes the operation from more than a few instructions, so that loads are issued early.
#[must_use]
pub fn is_long(operation: &str) -> bool {
    row(operation).is_some_and(|row| row.hip_float.is_some())
}

fn row(operation: &str) -> Option<&'static ElementwiseRow> {
    elementwise_position(operation).map(|place| &ELEMENTWISE[place])
}

/// Functions that expressions use.
pub const COMMON_HELPERS: &str = r"
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
";

/// Functions that the expression of one operation alone uses.
#[must_use]
pub fn own_helpers(operation: &str) -> &'static str {
    match operation {
        "logaddexp" => LOGADDEXP,
        "nextafter_half" | "nextafter_bfloat" => NEXT_NARROW,
        _ => "",
    }
}

const LOGADDEXP: &str = r"
__device__ inline C log_add_exp(C x, C y) {
    // The difference of infinities is none.
    return x == y ? x + (C)0.69314718055994530942 : larger(x, y) + F(log1p)(F(exp)(-F(fabs)(x - y)));
}
";

const NEXT_NARROW: &str = r"
// The next number from x towards y of a format whose normal neighbours differ by 2^shift units in the last place of float; those up to
// `limit` by `least`. `most` is the largest.
__device__ inline float next_narrow(float x, float y, int shift, float limit, float least, float most) {
    if (x != x) return x;
    if (y != y || x == y) return y;
    if (x == 0) return copysignf(least, y);
    const float size = fabsf(x);
    const bool grows = (x < y) == (x > 0);
    if (!grows && size == INFINITY) return copysignf(most, x);
    if (grows ? size < limit : size <= limit) return copysignf(grows ? size + least : size - least, x);
    const int step = 1 << shift;
    return copysignf(__int_as_float(__float_as_int(size) + (grows ? step : -step)), x);
}
";

/// The same for results as wide as what they are computed in.
pub const WIDE_HELPERS: &str = r"
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
";

/// The same for results of 11 digits or fewer: within 1e-5 before they are rounded, in two thirds of the steps.
pub const NARROW_HELPERS: &str = r"
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
";

/// Whether an operation answers with a truth value.
#[must_use]
pub fn is_predicate(operation: &str) -> bool {
    row(operation).is_some_and(|row| row.class.is_predicate())
}

//! Elementary functions on vectors of float32 or float64: those of vector_math.zig and vector_math_f64.zig by the element of the vector, and
//! the logarithms and the error function, which are written once for both. Within four units in the last place; NaN in gives NaN out.

const std = @import("std");
const vector_math = @import("vector_math.zig");
const vector_math_f64 = @import("vector_math_f64.zig");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn Math(comptime V: type) type {
    return if (Element(V) == f32) vector_math else vector_math_f64;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

pub inline fn exp(comptime V: type, x: V) V {
    return Math(V).exp(V, x);
}

pub inline fn tanh(comptime V: type, x: V) V {
    // The sign of zero is lost by e^2x - 1.
    return @select(Element(V), x == all(V, 0), x, Math(V).tanh(V, x));
}

pub inline fn sigmoid(comptime V: type, x: V) V {
    return Math(V).sigmoid(V, x);
}

pub inline fn gelu(comptime V: type, x: V) V {
    return Math(V).gelu(V, x);
}

/// e^x - 1; above the range of the reduction it is e^x to the last bit.
pub inline fn expm1(comptime V: type, x: V) V {
    const T = Element(V);
    const small = @select(T, x == all(V, 0), x, Math(V).expm1(V, x));
    return @select(T, x > all(V, 40), exp(V, x), small);
}

/// x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) (Hendrycks & Gimpel 2016), written as x * sigmoid of twice the argument, which does
/// not cancel for negative x.
pub inline fn geluTanh(comptime V: type, x: V) V {
    const inner = all(V, 2 * 0.79788456080286535588) * (x + all(V, 0.044715) * x * x * x);
    return x * sigmoid(V, inner);
}

/// The parts of a float format that the logarithm needs.
fn Format(comptime T: type) type {
    return if (T == f32) struct {
        const Bits = u32;
        const Signed = i32;
        const mantissa_bits = 23;
        /// 1.5 * 2^23; see vector_math.zig.
        const round_magic: f32 = 12582912.0;
        const ln2_high: f32 = 0.693359375;
        const ln2_low: f32 = -2.12194440054690583e-4;
        /// Terms of the series of atanh: the next is below 2^-28 at 0.1716.
        const log_terms = 6;
        /// Terms of the series of erf: the next is below 2^-28 at 0.5.
        const erf_terms = 8;
    } else struct {
        const Bits = u64;
        const Signed = i64;
        const mantissa_bits = 52;
        const round_magic: f64 = 6755399441055744.0;
        const ln2_high: f64 = 6.93147180369123816490e-01;
        const ln2_low: f64 = 1.90821492927058770002e-10;
        const log_terms = 12;
        const erf_terms = 14;
    };
}

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 atanh((m - 1) / (m + 1)) by its series.
pub inline fn log(comptime V: type, x: V) V {
    const T = Element(V);
    const format = Format(T);
    const len = @typeInfo(V).vector.len;
    const Bits = @Vector(len, format.Bits);
    const Signed = @Vector(len, format.Signed);
    const smallest_normal = std.math.floatMin(T);
    const lift_bits = format.mantissa_bits + 1;
    const lift: T = 1 << lift_bits;

    const is_subnormal = x < all(V, smallest_normal);
    const lifted = @select(T, is_subnormal, x * all(V, lift), x);
    const root_half: format.Bits = @bitCast(@as(T, std.math.sqrt1_2));
    const shifted: Signed = @bitCast(@as(Bits, @bitCast(lifted)) -% @as(Bits, @splat(root_half)));
    const whole = shifted >> @splat(format.mantissa_bits);
    const m: V = @bitCast(@as(Bits, @bitCast(lifted)) -% @as(Bits, @bitCast(whole << @splat(format.mantissa_bits))));
    const magic_bits: format.Bits = @bitCast(format.round_magic);
    const e_lifted = @as(V, @bitCast(@as(Bits, @bitCast(whole)) +% @as(Bits, @splat(magic_bits)))) - all(V, format.round_magic);
    const e = e_lifted - @select(T, is_subnormal, all(V, lift_bits), all(V, 0));

    const f = m - all(V, 1);
    const s = f / (m + all(V, 1));
    const s2 = s * s;
    var series = all(V, 0);
    comptime var term = format.log_terms;
    inline while (term > 0) : (term -= 1) series = series * s2 + all(V, 1.0 / (2.0 * @as(T, term) + 1.0));
    const two_s = s + s;
    const small = two_s + (two_s * s2 * series + e * all(V, format.ln2_low));
    var result = e * all(V, format.ln2_high) + small;
    result = @select(T, x == all(V, 0), all(V, -std.math.inf(T)), result);
    result = @select(T, x < all(V, 0), all(V, std.math.nan(T)), result);
    result = @select(T, x == all(V, std.math.inf(T)), x, result);
    return @select(T, x != x, x, result);
}

/// log(1 + x), with the rounding of 1 + x put right by the factor x / ((1 + x) - 1) (Goldberg 1991, theorem 4).
pub inline fn log1p(comptime V: type, x: V) V {
    const T = Element(V);
    const sum = all(V, 1) + x;
    const excess = sum - all(V, 1);
    const corrected = log(V, sum) * (x / excess);
    const result = @select(T, excess == all(V, 0), x, corrected);
    return @select(T, x == all(V, std.math.inf(T)), x, result);
}

/// log(1 + e^x) without overflow.
pub inline fn softplus(comptime V: type, x: V) V {
    const T = Element(V);
    const result = @max(x, all(V, 0)) + log1p(V, exp(V, -@abs(x)));
    return @select(T, x != x, x, result);
}

/// The series below 0.5 (DLMF 7.6.1), 1 - erfc above.
pub inline fn erf(comptime V: type, x: V) V {
    const T = Element(V);
    const z = @abs(x);
    const x2 = x * x;
    var series = all(V, 0);
    comptime var n = Format(T).erf_terms;
    inline while (n >= 0) : (n -= 1) series = series * x2 + all(V, comptime erfCoefficient(T, n));
    const far = all(V, 1) - Math(V).erfcPositive(V, z);
    const signed_far = @select(T, x < all(V, 0), -far, far);
    const result = @select(T, z < all(V, 0.5), x * series, signed_far);
    return @select(T, x != x, x, result);
}

/// 2 / sqrt(pi) (-1)^n / (n! (2 n + 1))
fn erfCoefficient(comptime T: type, comptime n: comptime_int) T {
    var value: f64 = 2.0 / 1.77245385090551602730;
    for (1..n + 1) |k| value /= -@as(f64, @floatFromInt(k));
    return @floatCast(value / (2 * n + 1));
}

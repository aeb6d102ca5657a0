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
    if (Element(V) == f32) return vector_math.tanh(V, x);
    // The sign of zero is lost by e^2x - 1.
    return @select(f64, x == all(V, 0), x, vector_math_f64.tanh(V, x));
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
        /// Terms of the series of erf: the next is below 2^-28 at 0.5.
        const erf_terms = 8;
    } else struct {
        const Bits = u64;
        const Signed = i64;
        const mantissa_bits = 52;
        const round_magic: f64 = 6755399441055744.0;
        const ln2_high: f64 = 6.93147180369123816490e-01;
        const ln2_low: f64 = 1.90821492927058770002e-10;
        /// Terms of the series of atanh: the next is below 2^-57 at 0.1716.
        const log_terms = 12;
        const erf_terms = 14;
    };
}

pub inline fn exp2(comptime V: type, x: V) V {
    return Math(V).exp2(V, x);
}

/// x = m 2^e with m in [sqrt(1/2), sqrt(2)); both exact.
fn Split(comptime V: type) type {
    return struct { m: V, e: V };
}

/// Of a normal number.
inline fn split(comptime V: type, x: V) Split(V) {
    const T = Element(V);
    const format = Format(T);
    const len = @typeInfo(V).vector.len;
    const Bits = @Vector(len, format.Bits);
    const Signed = @Vector(len, format.Signed);
    const root_half: format.Bits = @bitCast(@as(T, std.math.sqrt1_2));
    const magic_bits: format.Bits = @bitCast(format.round_magic);
    const shifted: Signed = @bitCast(@as(Bits, @bitCast(x)) -% @as(Bits, @splat(root_half)));
    const signed = shifted >> @splat(format.mantissa_bits);
    const whole: Bits = @bitCast(signed);
    return .{
        .m = @bitCast(@as(Bits, @bitCast(x)) -% (whole << @splat(format.mantissa_bits))),
        // Not every instruction set converts 64-bit integers.
        .e = if (T == f32) @floatFromInt(signed) else @as(V, @bitCast(whole +% @as(Bits, @splat(magic_bits)))) - all(V, format.round_magic),
    };
}

/// log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)]. float32: f^2 (f p(f) - 1/2), p of degree 6 fitted by reweighted least squares, so that
/// the logarithm is within 3.2e-8 of its size. float64: 2 atanh(f / (2 + f)) by its series.
inline fn logExcess(comptime V: type, f: V) V {
    const T = Element(V);
    if (T == f32) {
        const f2 = f * f;
        // Two chains are half as long as one.
        const even = ((all(V, 0.0870040456627026) * f2 + all(V, 0.1491478216809817)) * f2 + all(V, 0.19963062495804493)) * f2 +
            all(V, 0.3333391076591516);
        const odd = (all(V, -0.14267497597754633) * f2 + all(V, -0.16577583675074897)) * f2 + all(V, -0.2500133706814701);
        return f2 * (f * (even + f * odd) - all(V, 0.5));
    }
    const s = f / (all(V, 2) + f);
    const s2 = s * s;
    const s4 = s2 * s2;
    // Terms of odd and of even number: two chains again.
    var series = [2]V{ all(V, 0), all(V, 0) };
    comptime var term = Format(T).log_terms;
    inline while (term > 0) : (term -= 1) series[term % 2] = series[term % 2] * s4 + all(V, 1.0 / (2.0 * @as(T, term) + 1.0));
    // 2 s = f - f s, so that 2 s + 2 s^3 series = f - s (f - 2 s^2 series).
    return -s * (f - all(V, 2) * s2 * (series[1] + s2 * series[0]));
}

/// Whether all values are normal, positive and finite.
inline fn areOrdinary(comptime V: type, x: V) bool {
    const T = Element(V);
    const is_ordinary = x >= all(V, std.math.floatMin(T));
    return @reduce(.And, @select(bool, is_ordinary, x < all(V, std.math.inf(T)), is_ordinary));
}

/// How a logarithm is put together from its parts.
const Base = enum { e, two, ten };

pub inline fn log(comptime V: type, x: V) V {
    return logTo(V, .e, x);
}

pub inline fn log2(comptime V: type, x: V) V {
    return logTo(V, .two, x);
}

pub inline fn log10(comptime V: type, x: V) V {
    return logTo(V, .ten, x);
}

inline fn logTo(comptime V: type, comptime base: Base, x: V) V {
    const T = Element(V);
    if (areOrdinary(V, x)) {
        const parts = split(V, x);
        return logOfParts(V, base, parts.m - all(V, 1), parts.e);
    }
    const lift_bits = Format(T).mantissa_bits + 1;
    const is_subnormal = x < all(V, std.math.floatMin(T));
    const parts = split(V, @select(T, is_subnormal, x * all(V, 1 << lift_bits), x));
    const e = parts.e - @select(T, is_subnormal, all(V, lift_bits), all(V, 0));
    var result = logOfParts(V, base, parts.m - all(V, 1), e);
    result = @select(T, x == all(V, 0), all(V, -std.math.inf(T)), result);
    result = @select(T, x < all(V, 0), all(V, std.math.nan(T)), result);
    result = @select(T, x == all(V, std.math.inf(T)), x, result);
    return @select(T, x != x, x, result);
}

/// The logarithm of (1 + f) 2^e.
inline fn logOfParts(comptime V: type, comptime base: Base, f: V, e: V) V {
    const format = Format(Element(V));
    const excess = logExcess(V, f);
    return switch (base) {
        .e => e * all(V, format.ln2_high) + (f + (excess + e * all(V, format.ln2_low))),
        // Powers of two are exact.
        .two => e + (f + excess) * all(V, std.math.log2e),
        .ten => (e * all(V, format.ln2_high) + (f + (excess + e * all(V, format.ln2_low)))) * all(V, std.math.log10e),
    };
}

/// log(1 + x); what the rounding of 1 + x takes off is added to its fraction.
pub inline fn log1p(comptime V: type, x: V) V {
    const T = Element(V);
    const sum = all(V, 1) + x;
    const is_ordinary = sum >= all(V, std.math.floatMin(T));
    if (@reduce(.And, @select(bool, is_ordinary, sum < all(V, nothing_lost), is_ordinary))) return log1pOf(V, x, sum, true);
    var result = log1pOf(V, x, sum, false);
    result = @select(T, sum == all(V, 0), all(V, -std.math.inf(T)), result);
    result = @select(T, sum < all(V, 0), all(V, std.math.nan(T)), result);
    result = @select(T, x == all(V, std.math.inf(T)), x, result);
    return @select(T, x != x, x, result);
}

/// From here on, the rounding of 1 + x does not show in the logarithm.
const nothing_lost = 0x1p60;

inline fn log1pOf(comptime V: type, x: V, sum: V, comptime is_ordinary: bool) V {
    const T = Element(V);
    const Bits = @Vector(@typeInfo(V).vector.len, Format(T).Bits);
    const lost = x - (sum - all(V, 1));
    const parts = split(V, sum);
    // 2^-e
    const scale: V = @bitCast(@as(Bits, @bitCast(all(V, 1))) +% (@as(Bits, @bitCast(parts.m)) -% @as(Bits, @bitCast(sum))));
    const scaled = if (is_ordinary) lost * scale else @select(T, sum < all(V, nothing_lost), lost * scale, all(V, 0));
    const logarithm = logOfParts(V, .e, (parts.m - all(V, 1)) + scaled, parts.e);
    // The result has the sign of x, zeros too.
    const sign: Bits = @splat(1 << (@bitSizeOf(T) - 1));
    return @bitCast((@as(Bits, @bitCast(logarithm)) & ~sign) | (@as(Bits, @bitCast(x)) & sign));
}

/// log(1 + e^x) without overflow.
pub inline fn softplus(comptime V: type, x: V) V {
    const T = Element(V);
    const result = @max(x, all(V, 0)) + log1p(V, exp(V, -@abs(x)));
    return @select(T, x != x, x, result);
}

/// log(e^x + e^y) without overflow.
pub inline fn logaddexp(comptime V: type, x: V, y: V) V {
    const result = @max(x, y) + log1p(V, exp(V, -@abs(x - y)));
    // The difference of infinities is none.
    return @select(Element(V), x == y, x + all(V, std.math.ln2), result);
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

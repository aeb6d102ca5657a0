//! Elementary functions on vectors of float32, within three units in the last place wherever the result is above 1e-6 (below, the tails of
//! gelu and sigmoid lose up to 2e-5 of their value); no tables, no branches, NaN in gives NaN out.
//! The scalar twins in float64 are at the end; the tests compare them over the whole range.

const std = @import("std");
const fma = @import("fma.zig");

const Arithmetic = fma.Arithmetic;

inline fn Like(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, u32);
}

inline fn all(comptime V: type, value: f32) V {
    return @splat(value);
}

inline fn clamp(comptime V: type, x: V, low: f32, high: f32) V {
    return @min(@max(x, all(V, low)), all(V, high));
}

/// Coefficients from the highest power down.
inline fn horner(comptime V: type, x: V, comptime coefficients: []const f32) V {
    return hornerBy(.separate, V, x, coefficients);
}

inline fn hornerBy(comptime arithmetic: Arithmetic, comptime V: type, x: V, comptime coefficients: []const f32) V {
    var sum = all(V, coefficients[0]);
    inline for (coefficients[1..]) |coefficient| sum = fma.multiplyAdd(arithmetic, V, sum, x, all(V, coefficient));
    return sum;
}

inline fn keepNan(comptime V: type, x: V, result: V) V {
    return @select(f32, x != x, x, result);
}

/// Adding and subtracting 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
const round_magic: f32 = 12582912.0;
/// ln 2 in two parts; the first has 9 bits, so that its multiples by exponents are exact (Cody & Waite 1980).
const ln2_high: f32 = 0.693359375;
const ln2_low: f32 = -2.12194440054690583e-4;

/// x = n ln 2 + r with |r| <= ln 2 / 2. `shifted` holds n in its low bits.
fn Reduced(comptime V: type) type {
    return struct { r: V, shifted: V };
}

inline fn reduce(comptime V: type, x: V) Reduced(V) {
    return reduceBy(.separate, V, x);
}

inline fn reduceBy(comptime arithmetic: Arithmetic, comptime V: type, x: V) Reduced(V) {
    const shifted = fma.multiplyAdd(arithmetic, V, x, all(V, std.math.log2e), all(V, round_magic));
    const n = shifted - all(V, round_magic);
    const near = fma.multiplyAdd(arithmetic, V, n, all(V, -ln2_high), x);
    return .{ .r = fma.multiplyAdd(arithmetic, V, n, all(V, -ln2_low), near), .shifted = shifted };
}

/// 2^n for n in [-126, 127].
inline fn powerOfTwo(comptime V: type, n: Like(V)) V {
    return @bitCast((n +% @as(Like(V), @splat(127))) << @splat(23));
}

inline fn exponent(comptime V: type, shifted: V) Like(V) {
    return @as(Like(V), @bitCast(shifted)) -% @as(Like(V), @splat(@as(u32, @bitCast(round_magic))));
}

/// e^r - 1 = r + r^2 p(r), p of degree 4 fitted by reweighted least squares to the relative error on the reduced range: below 1.4e-8.
inline fn expm1Reduced(comptime V: type, r: V) V {
    return expm1ReducedBy(.separate, V, r);
}

inline fn expm1ReducedBy(comptime arithmetic: Arithmetic, comptime V: type, r: V) V {
    const p = hornerBy(arithmetic, V, r, &.{ 0.0013882516741037523, 0.008366538228691, 0.041667200444071247, 0.1666654349000882, 0.4999999815106091 });
    return fma.multiplyAdd(arithmetic, V, r * r, p, r);
}

/// 2^x: the distance from the nearest whole number is exact, its power is that of e at the distance times ln 2.
pub inline fn exp2(comptime V: type, x: V) V {
    const bounded = clamp(V, x, -152.0, 129.0);
    const shifted = bounded + all(V, round_magic);
    const n = exponent(V, shifted);
    const r = (bounded - (shifted - all(V, round_magic))) * all(V, std.math.ln2);
    const Signed = @Vector(@typeInfo(V).vector.len, i32);
    const half: Like(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1Reduced(V, r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

pub inline fn exp(comptime V: type, x: V) V {
    if (@reduce(.And, @abs(x) <= all(V, ordinary_exponent))) return expOrdinary(.separate, V, x);
    return expAnywhere(.separate, V, x);
}

/// As far as `expOrdinary` goes.
pub const ordinary_exponent = 86.0;

/// n is in [-124, 124] and may be added to the exponent at once; the magic number has no bits that a shift by 23 keeps.
pub inline fn expOrdinary(comptime arithmetic: Arithmetic, comptime V: type, x: V) V {
    const reduced = reduceBy(arithmetic, V, x);
    const scale = @as(Like(V), @bitCast(reduced.shifted)) << @splat(23);
    return @bitCast(@as(Like(V), @bitCast(all(V, 1) + expm1ReducedBy(arithmetic, V, reduced.r))) +% scale);
}

/// The same bits, also where the result is zero, subnormal, infinite or NaN.
pub inline fn expAnywhere(comptime arithmetic: Arithmetic, comptime V: type, x: V) V {
    // Outside, the result is 0 or infinity; inside, n is in [-151, 128], more than one power of two can express.
    const reduced = reduceBy(arithmetic, V, clamp(V, x, -104.0, 89.0));
    const n = exponent(V, reduced.shifted);
    const Signed = @Vector(@typeInfo(V).vector.len, i32);
    const half: Like(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1ReducedBy(arithmetic, V, reduced.r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

/// e^x / 2, finite up to 89.4, for x that are not negative.
pub inline fn halfExp(comptime V: type, x: V) V {
    if (@reduce(.And, x <= all(V, ordinary_exponent))) return all(V, 0.5) * expOrdinary(.separate, V, x);
    const reduced = reduce(V, clamp(V, x, 0, 90.0));
    const n = exponent(V, reduced.shifted) -% @as(Like(V), @splat(1));
    const Signed = @Vector(@typeInfo(V).vector.len, i32);
    const half: Like(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1Reduced(V, reduced.r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

/// e^x - 1 for x <= 88; keeps its precision near zero.
pub inline fn expm1(comptime V: type, x: V) V {
    const reduced = reduce(V, clamp(V, x, -30.0, 88.0));
    const scale = powerOfTwo(V, exponent(V, reduced.shifted));
    return keepNan(V, x, scale * expm1Reduced(V, reduced.r) + (scale - all(V, 1)));
}

/// With t = e^(-2 |x|) - 1, tanh |x| = -t / (t + 2): nothing cancels, and nothing overflows. NaN passes.
pub inline fn tanh(comptime V: type, x: V) V {
    const doubled = @abs(x) * all(V, -2);
    // At 10, tanh is 1 to the last bit of float32.
    const bounded = @select(f32, doubled < all(V, -20), all(V, -20), doubled);
    const shifted = bounded * all(V, std.math.log2e) + all(V, round_magic);
    // Multiples of ln 2 by -1 and -2 are exact; where they are not, e^(-2 |x|) is small beside 1.
    const r = bounded - (shifted - all(V, round_magic)) * all(V, std.math.ln2);
    const scale: V = @bitCast((@as(Like(V), @bitCast(shifted)) << @splat(23)) +% @as(Like(V), @bitCast(all(V, 1))));
    const t = scale * expm1Reduced(V, r) + (scale - all(V, 1));
    const sign: Like(V) = @splat(1 << 31);
    return @bitCast((@as(Like(V), @bitCast(t / (t + all(V, 2)))) & ~sign) | (@as(Like(V), @bitCast(x)) & sign));
}

pub inline fn sigmoid(comptime V: type, x: V) V {
    return all(V, 1) / (all(V, 1) + exp(V, -x));
}

/// log(1 + y) for y in [0, 1]: twice the series of atanh at y / (2 + y); its term of degree 17 is below 2^-28.
inline fn log1pUnit(comptime V: type, y: V) V {
    const s = y / (all(V, 2) + y);
    const s2 = s * s;
    const series = horner(V, s2, &.{ 1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0 });
    return all(V, 2) * (s + s * s2 * series);
}

/// log(1 + e^x) without overflow.
pub inline fn softplus(comptime V: type, x: V) V {
    const result = @max(x, all(V, 0)) + log1pUnit(V, exp(V, -@abs(x)));
    return keepNan(V, x, result);
}

/// erfc(z) for z >= 0, as e^(-z^2) * 3 / (z + 3) * p(t), t = (z - 3) / (z + 3). p is the Chebyshev interpolant of degree 9 of
/// e^(z^2) erfc(z) (z + 3) / 3 at 400 nodes over z in [0, 10.2], computed in float64; its relative error is below 2.5e-9. Beyond 10.2
/// erfc is zero in float32.
pub inline fn erfcPositive(comptime V: type, z: V) V {
    const bounded = @min(z, all(V, 10.2));
    const inverse = all(V, 1) / (bounded + all(V, 3));
    const t = (bounded - all(V, 3)) * inverse;
    const p = horner(V, t, &erfc_coefficients);
    return exp(V, -z * z) * p * inverse * all(V, 3);
}

const erfc_coefficients = [_]f32{
    -0.000109298476939, -0.000162304952999, 0.0010270592139, -0.000407937096029, -0.00894659511275,
    0.0398428204114,    -0.103488675142,    0.19674278175,   -0.294464828852,    0.358002302406,
};

/// Exact form: x / 2 * (1 + erf(x / sqrt 2)), arranged so that the negative tail does not cancel.
pub inline fn gelu(comptime V: type, x: V) V {
    const half_tail = all(V, 0.5) * erfcPositive(V, @abs(x) * all(V, std.math.sqrt1_2));
    const share = @select(f32, x < all(V, 0), half_tail, all(V, 1) - half_tail);
    return keepNan(V, x, x * share);
}

/// The scalar twins, in float64.
pub const scalar = struct {
    pub fn sigmoid(x: f64) f64 {
        return 1.0 / (1.0 + @exp(-x));
    }

    pub fn softplus(x: f64) f64 {
        return @max(x, 0) + std.math.log1p(@exp(-@abs(x)));
    }

    pub fn gelu(x: f64) f64 {
        const half_tail = 0.5 * erfc(@abs(x) * std.math.sqrt1_2);
        return x * (if (x < 0) half_tail else 1 - half_tail);
    }

    /// erfc for z >= 0: the series of erf below 2 (DLMF 7.6.1), the continued fraction above (DLMF 7.9.1).
    fn erfc(z: f64) f64 {
        if (z < 2) {
            var term = z;
            var sum = z;
            for (1..60) |n| {
                const index: f64 = @floatFromInt(n);
                term *= -z * z / index;
                sum += term / (2 * index + 1);
            }
            return 1 - sum * 2.0 / @sqrt(std.math.pi);
        }
        var fraction: f64 = 0;
        var k: f64 = 80;
        while (k > 0) : (k -= 1) fraction = k / 2 / (z + fraction);
        return @exp(-z * z) / @sqrt(std.math.pi) / (z + fraction);
    }
};

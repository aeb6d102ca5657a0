//! Elementary functions on vectors of float64: the same arrangements as vector_math.zig with the constants of the wider type, within four
//! units in the last place. No tables, no branches, NaN in gives NaN out. The tests hold them against the scalar functions of the language.

const std = @import("std");

inline fn Bits(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, u64);
}

inline fn all(comptime V: type, value: f64) V {
    return @splat(value);
}

inline fn clamp(comptime V: type, x: V, low: f64, high: f64) V {
    return @min(@max(x, all(V, low)), all(V, high));
}

inline fn horner(comptime V: type, x: V, comptime coefficients: []const f64) V {
    var sum = all(V, coefficients[0]);
    inline for (coefficients[1..]) |coefficient| sum = sum * x + all(V, coefficient);
    return sum;
}

inline fn keepNan(comptime V: type, x: V, result: V) V {
    return @select(f64, x != x, x, result);
}

/// Adding and subtracting 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
const round_magic: f64 = 6755399441055744.0;
/// ln 2 in two parts; the first ends in 21 zero bits, so that its multiples by exponents are exact (Cody & Waite 1980).
const ln2_high: f64 = 6.93147180369123816490e-01;
const ln2_low: f64 = 1.90821492927058770002e-10;

fn Reduced(comptime V: type) type {
    return struct { r: V, shifted: V };
}

/// x = n ln 2 + r with |r| <= ln 2 / 2. `shifted` holds n in its low bits.
inline fn reduce(comptime V: type, x: V) Reduced(V) {
    const shifted = x * all(V, std.math.log2e) + all(V, round_magic);
    const n = shifted - all(V, round_magic);
    return .{ .r = (x - n * all(V, ln2_high)) - n * all(V, ln2_low), .shifted = shifted };
}

/// 2^n for n in [-1022, 1023].
inline fn powerOfTwo(comptime V: type, n: Bits(V)) V {
    return @bitCast((n +% @as(Bits(V), @splat(1023))) << @splat(52));
}

inline fn exponent(comptime V: type, shifted: V) Bits(V) {
    return @as(Bits(V), @bitCast(shifted)) -% @as(Bits(V), @splat(@as(u64, @bitCast(round_magic))));
}

/// 1/2! down to 1/13!: the next term of the series is below 2^-57 on the reduced range.
const inverse_factorials = blk: {
    var coefficients: [12]f64 = undefined;
    var factorial: f64 = 1;
    for (2..14) |n| {
        factorial *= n;
        coefficients[13 - n] = 1.0 / factorial;
    }
    break :blk coefficients;
};

/// e^r - 1 by its series.
inline fn expm1Reduced(comptime V: type, r: V) V {
    return r + r * r * horner(V, r, &inverse_factorials);
}

pub inline fn exp(comptime V: type, x: V) V {
    if (@reduce(.And, @abs(x) <= all(V, 700.0))) {
        // n is in [-1010, 1010] and may be added to the exponent at once; the magic number has no bits that a shift by 52 keeps.
        const reduced = reduce(V, x);
        const scale = @as(Bits(V), @bitCast(reduced.shifted)) << @splat(52);
        return @bitCast(@as(Bits(V), @bitCast(all(V, 1) + expm1Reduced(V, reduced.r))) +% scale);
    }
    return expAnywhere(V, x);
}

/// The same bits, also where the result is zero, subnormal, infinite or NaN.
inline fn expAnywhere(comptime V: type, x: V) V {
    // Outside, the result is 0 or infinity; inside, n is in [-1077, 1025], more than one power of two can express.
    const reduced = reduce(V, clamp(V, x, -746.0, 710.0));
    const n = exponent(V, reduced.shifted);
    const Signed = @Vector(@typeInfo(V).vector.len, i64);
    const half: Bits(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1Reduced(V, reduced.r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

/// 2^x: the distance from the nearest whole number is exact, its power is that of e at the distance times ln 2.
pub inline fn exp2(comptime V: type, x: V) V {
    const bounded = clamp(V, x, -1080.0, 1025.0);
    const shifted = bounded + all(V, round_magic);
    const n = exponent(V, shifted);
    const r = (bounded - (shifted - all(V, round_magic))) * all(V, std.math.ln2);
    const Signed = @Vector(@typeInfo(V).vector.len, i64);
    const half: Bits(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1Reduced(V, r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

/// e^x / 2, finite up to 710.4, for x that are not negative.
pub inline fn halfExp(comptime V: type, x: V) V {
    if (@reduce(.And, x <= all(V, 700.0))) return all(V, 0.5) * exp(V, x);
    const reduced = reduce(V, clamp(V, x, 0, 711.0));
    const n = exponent(V, reduced.shifted) -% @as(Bits(V), @splat(1));
    const Signed = @Vector(@typeInfo(V).vector.len, i64);
    const half: Bits(V) = @bitCast(@as(Signed, @bitCast(n)) >> @splat(1));
    const result = (all(V, 1) + expm1Reduced(V, reduced.r)) * powerOfTwo(V, half) * powerOfTwo(V, n -% half);
    return keepNan(V, x, result);
}

/// e^x - 1 for x <= 709; keeps its precision near zero.
pub inline fn expm1(comptime V: type, x: V) V {
    const reduced = reduce(V, clamp(V, x, -60.0, 709.0));
    const scale = powerOfTwo(V, exponent(V, reduced.shifted));
    return keepNan(V, x, scale * expm1Reduced(V, reduced.r) + (scale - all(V, 1)));
}

pub inline fn tanh(comptime V: type, x: V) V {
    // At 20, tanh is 1 to the last bit of float64.
    const grown = expm1(V, clamp(V, x, -20.0, 20.0) * all(V, 2));
    return keepNan(V, x, grown / (grown + all(V, 2)));
}

pub inline fn sigmoid(comptime V: type, x: V) V {
    return all(V, 1) / (all(V, 1) + exp(V, -x));
}

/// e^(-z^2 * factor), factor 1 or 1/2: z is split, because z^2 rounded to float64 would cost its size in units of the last place.
inline fn gaussian(comptime V: type, z: V, comptime factor: f64) V {
    const high: V = @bitCast(@as(Bits(V), @bitCast(z)) & @as(Bits(V), @splat(0xffff_ffff_f800_0000)));
    return exp(V, -high * high * all(V, factor)) * exp(V, -(z - high) * (z + high) * all(V, factor));
}

/// e^(z^2) erfc(z) for z in [0, 27.3], as 3 / (z + 3) * p(t), t = (z - 3) / (z + 3). p interpolates e^(z^2) erfc(z) (z + 3) / 3 at 23
/// Chebyshev nodes, computed with 60 digits; its relative error is below 2e-17.
inline fn scaledErfc(comptime V: type, z: V) V {
    const inverse = all(V, 1) / (z + all(V, 3));
    const t = (z - all(V, 3)) * inverse;
    return horner(V, t, &erfc_coefficients) * inverse * all(V, 3);
}

/// erfc(z) for z >= 0; beyond 27.3 it is zero in float64.
pub inline fn erfcPositive(comptime V: type, z: V) V {
    const bounded = @min(z, all(V, 27.3));
    return @select(f64, z > all(V, 27.3), all(V, 0), gaussian(V, bounded, 1) * scaledErfc(V, bounded));
}

const erfc_coefficients = [_]f64{
    -5.438981689146350003e-10, -2.145509677654928036e-9,   8.312587216370008852e-10,  1.632095304869856151e-8,
    1.338685410787595861e-8,   -7.77881920393376603e-8,    -1.342040338730320379e-7,  3.3320398123455665e-7,
    9.208157251551649744e-7,   -1.583273785648977208e-6,   -5.823182058991015838e-6,  0.00001013279916085259384,
    0.00003585375466753071307, -0.00009225929950313978527, -0.0001827698873658798135, 0.001011354002618884962,
    -0.0004041388764874841103, -0.008942411541644499962,   0.03984258709579206409,    -0.1034890873001844841,
    0.1967427857013668612,     -0.2944648177232945847,     0.3580023023627799017,
};

/// Exact form: x / 2 * (1 + erf(x / sqrt 2)), arranged so that the negative tail does not cancel; its exponential takes x itself, because
/// the rounding of x / sqrt 2 would grow with x^2.
pub inline fn gelu(comptime V: type, x: V) V {
    const z = @min(@abs(x), all(V, 38.6));
    const tail = all(V, 0.5) * gaussian(V, z, 0.5) * scaledErfc(V, z * all(V, std.math.sqrt1_2));
    const half_tail = @select(f64, @abs(x) > all(V, 38.6), all(V, 0), tail);
    const share = @select(f64, x < all(V, 0), half_tail, all(V, 1) - half_tail);
    return keepNan(V, x, x * share);
}

//! Sine, cosine and tangent on vectors of float32 or float64, within two units in the last place everywhere, the tangent within four; NaN in,
//! and infinities, give NaN.
//!
//! x = n pi / 2 + r: pi / 2 in parts of 33 bits, so that their products with n are exact (Cody & Waite 1980); float32 is reduced in float64,
//! small arguments in parts of 18 bits.
//! Arguments too large for that go one by one through the functions of the language, which reduce them with all the bits of pi they need.

const std = @import("std");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

const Function = enum { sine, cosine, tangent };

pub inline fn sin(comptime V: type, x: V) V {
    return apply(V, .sine, x);
}

pub inline fn cos(comptime V: type, x: V) V {
    return apply(V, .cosine, x);
}

pub inline fn tan(comptime V: type, x: V) V {
    return apply(V, .tangent, x);
}

/// n stays below 2^20.
const largest_argument = 1e6;

inline fn apply(comptime V: type, comptime function: Function, x: V) V {
    if (Element(V) == f32 and @reduce(.And, @abs(x) <= all(V, largest_short))) return reducedShort(V, function, x);
    if (@reduce(.And, @abs(x) <= all(V, largest_argument))) return reduced(V, function, x);
    const len = @typeInfo(V).vector.len;
    const arguments: [len]Element(V) = x;
    const is_small = @abs(x) <= all(V, largest_argument);
    const small = reduced(V, function, @select(Element(V), is_small, x, all(V, 0)));
    var large: [len]Element(V) = small;
    for (arguments, &large) |argument, *value| {
        if (!(@abs(argument) <= largest_argument)) value.* = scalar(Element(V), function, argument);
    }
    return large;
}

fn scalar(comptime T: type, comptime function: Function, x: T) T {
    if (x - x != 0) return std.math.nan(T);
    return switch (function) {
        .sine => @sin(x),
        .cosine => @cos(x),
        .tangent => @tan(x),
    };
}

const pi_half_parts = [4]f64{ 0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69, 0x1.b839a252049c1p-104 };
const two_over_pi = 0.63661977236758134308;
/// Adding and subtracting 1.5 * 2^52 rounds to an integer, which then stands in the low bits.
const round_magic: f64 = 6755399441055744.0;

inline fn reduced(comptime V: type, comptime function: Function, x: V) V {
    return if (Element(V) == f32) reducedSingle(V, function, x) else reducedDouble(V, function, x);
}

/// Up to here n is below 64: its products with parts of 18 bits are exact in float32.
const largest_short = 100;
const short_parts = [3]f32{ 0x1.921f8p+0, 0x1.aa22p-19, 0x1.68c234p-39 };
/// Adding and subtracting 1.5 * 2^23 rounds to an integer, which then stands in the low bits.
const short_magic: f32 = 12582912.0;

inline fn reducedSingle(comptime V: type, comptime function: Function, x: V) V {
    // A value has the same bits whatever stands beside it.
    const is_short = @abs(x) <= all(V, largest_short);
    return @select(f32, is_short, reducedShort(V, function, x), reducedWide(V, function, x));
}

/// In float32 alone: within 1.5 units in the last place.
inline fn reducedShort(comptime V: type, comptime function: Function, x: V) V {
    const shifted = x * all(V, two_over_pi) + all(V, short_magic);
    const n = shifted - all(V, short_magic);
    const r = ((x - n * all(V, short_parts[0])) - n * all(V, short_parts[1])) - n * all(V, short_parts[2]);
    return ofReduced(V, function, x, r, @bitCast(shifted));
}

inline fn reducedWide(comptime V: type, comptime function: Function, x: V) V {
    const len = @typeInfo(V).vector.len;
    const Wide = @Vector(len, f64);
    const wide: Wide = @floatCast(x);
    const shifted = wide * all(Wide, two_over_pi) + all(Wide, round_magic);
    const n = shifted - all(Wide, round_magic);
    const rest = (wide - n * all(Wide, pi_half_parts[0])) - n * all(Wide, pi_half_parts[1]);
    return ofReduced(V, function, x, @floatCast(rest), @truncate(@as(@Vector(len, u64), @bitCast(shifted))));
}

inline fn ofReduced(comptime V: type, comptime function: Function, x: V, r: V, quadrant: @Vector(@typeInfo(V).vector.len, u32)) V {
    // Fitted by reweighted least squares to the relative error on [0, pi / 4]: below 4e-9.
    const z = r * r;
    const sine_series = all(V, -0.16666654934659875) + z * (all(V, 0.00833217755520938) + z * all(V, -0.00019517216511262352));
    const cosine_series = all(V, 0.04166664685082286) + z * (all(V, -0.0013887366721815168) + z * all(V, 2.4438357495438402e-05));
    const sine = r + r * (z * sine_series);
    const cosine = all(V, 1) - (all(V, 0.5) * z - z * z * cosine_series);
    const result = choose(V, @TypeOf(quadrant), function, quadrant, sine, cosine);
    return if (function == .cosine) result else @select(f32, x == all(V, 0), x, result);
}

/// 1/3!, 1/5! ... with alternating signs, or 1/4!, 1/6! ...: the next term is below 2^-57 on [0, pi / 4].
fn series(comptime first: comptime_int, comptime count: comptime_int, comptime sign: f64) [count]f64 {
    var coefficients: [count]f64 = undefined;
    var term: f64 = sign;
    for (2..first + 1) |k| term /= @floatFromInt(k);
    for (&coefficients, 0..) |*coefficient, i| {
        coefficient.* = term;
        const next: f64 = @floatFromInt(first + 2 * i + 1);
        term /= -next * (next + 1);
    }
    return coefficients;
}

const sine_coefficients = series(3, 8, -1);
const cosine_coefficients = series(4, 7, 1);

inline fn horner(comptime V: type, z: V, comptime coefficients: []const f64) V {
    var sum = all(V, coefficients[coefficients.len - 1]);
    inline for (1..coefficients.len) |i| sum = sum * z + all(V, coefficients[coefficients.len - 1 - i]);
    return sum;
}

inline fn reducedDouble(comptime V: type, comptime function: Function, x: V) V {
    const Bits = @Vector(@typeInfo(V).vector.len, u64);
    const shifted = x * all(V, two_over_pi) + all(V, round_magic);
    const n = shifted - all(V, round_magic);
    // The first difference is exact; what the others lose goes into `tail`.
    const first = x - n * all(V, pi_half_parts[0]);
    const second_part = n * all(V, pi_half_parts[1]);
    const second = first - second_part;
    const second_loss = differenceLoss(V, first, second_part, second);
    const third_part = n * all(V, pi_half_parts[2]);
    const r = second - third_part;
    const tail = (second_loss + differenceLoss(V, second, third_part, r)) - n * all(V, pi_half_parts[3]);

    const z = r * r;
    const sine = r + (r * (z * horner(V, z, &sine_coefficients)) + tail * (all(V, 1) - all(V, 0.5) * z));
    const half_z = all(V, 0.5) * z;
    const head = all(V, 1) - half_z;
    const cosine = head + (((all(V, 1) - head) - half_z) + (z * z * horner(V, z, &cosine_coefficients) - r * tail));
    const result = choose(V, Bits, function, @bitCast(shifted), sine, cosine);
    return if (function == .cosine) result else @select(f64, x == all(V, 0), x, result);
}

/// What a - b is more than its rounded value (Knuth 1969).
inline fn differenceLoss(comptime V: type, a: V, b: V, difference: V) V {
    const back = difference - a;
    return (a - (difference - back)) - (b + back);
}

/// The sine of n pi / 2 + r: sine and cosine take turns, and two of four quadrants are negative. The cosine is one quadrant ahead.
/// The tangent is their quotient.
inline fn choose(comptime V: type, comptime Bits: type, comptime function: Function, n: Bits, sine: V, cosine: V) V {
    const T = Element(V);
    const quadrant = if (function == .cosine) n +% @as(Bits, @splat(1)) else n;
    const is_odd = (quadrant & @as(Bits, @splat(1))) != @as(Bits, @splat(0));
    if (function == .tangent) return @select(T, is_odd, cosine, sine) / @select(T, is_odd, -sine, cosine);
    const value = @select(T, is_odd, cosine, sine);
    const sign = (quadrant & @as(Bits, @splat(2))) << @splat(@bitSizeOf(T) - 2);
    return @bitCast(@as(Bits, @bitCast(value)) ^ sign);
}

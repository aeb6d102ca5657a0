//! Elementary functions for random numbers: of arguments in the ranges that occur there, made of operations that every device rounds alike.
//!
//! `amdgpu_philox.h` (crates/amdgpu-compiler/device_lib) has the same functions for kernels, operation by operation, so that the bits are equal:
//! what changes here changes there. Fused multiply-adds are asked for by name, and no others may happen.

const std = @import("std");

inline fn all(comptime V: type, value: comptime_float) V {
    return @splat(value);
}

inline fn fma(comptime V: type, a: V, b: V, c: V) V {
    return @mulAdd(V, a, b, c);
}

/// Coefficients from the highest power down.
inline fn horner(comptime V: type, x: V, comptime coefficients: []const comptime_float) V {
    var sum = all(V, coefficients[0]);
    inline for (coefficients[1..]) |coefficient| sum = fma(V, sum, x, all(V, coefficient));
    return sum;
}

inline fn Bits(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, if (@typeInfo(V).vector.child == f32) u32 else u64);
}

inline fn shift(comptime B: type, bits: B, comptime count: comptime_int) B {
    return if (count >= 0) bits << @splat(count) else bits >> @splat(-count);
}

/// A word as a number in (0, 1], of 31 bits: above zero, so that its logarithm is finite.
pub inline fn openUnit32(comptime lanes: comptime_int, word: @Vector(lanes, u32)) @Vector(lanes, f32) {
    const V = @Vector(lanes, f32);
    const signed: @Vector(lanes, i32) = @bitCast(word >> @splat(1));
    return fma(V, @floatFromInt(signed), all(V, 0x1p-31), all(V, 0x1p-32));
}

/// Two words (the first in the low half) as a number in [0, 1) of 53 bits.
pub inline fn unit64(comptime lanes: comptime_int, pair: @Vector(lanes, u64)) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    return fromInteger(V, pair >> @splat(11)) * all(V, 0x1p-53);
}

/// The same in (0, 1].
pub inline fn openUnit64(comptime lanes: comptime_int, pair: @Vector(lanes, u64)) @Vector(lanes, f64) {
    const V = @Vector(lanes, f64);
    return fma(V, fromInteger(V, pair >> @splat(11)), all(V, 0x1p-53), all(V, 0x1p-53));
}

/// Integers below 2^53 are exact: their halves are put under exponents, since not every CPU converts 64 bits.
pub inline fn fromInteger(comptime V: type, value: Bits(V)) V {
    const B = Bits(V);
    const low: V = @bitCast((value & @as(B, @splat(0xFFFF_FFFF))) | @as(B, @splat(@as(u64, @bitCast(@as(f64, 0x1p52))))));
    const high: V = @bitCast((value >> @splat(32)) | @as(B, @splat(@as(u64, @bitCast(@as(f64, 0x1p84))))));
    return (high - all(V, 0x1p84 + 0x1p52)) + low;
}

/// Of positive normal numbers. Polynomial of Moshier's Cephes (logf).
pub inline fn log32(comptime V: type, x: V) V {
    const B = Bits(V);
    // sqrt(1/2): fractions lie in [sqrt(1/2), sqrt(2)).
    const root: B = @splat(0x3F3504F3);
    const moved = @as(B, @bitCast(x)) +% (@as(B, @splat(0x3F800000)) -% root);
    const exponent: @Vector(@typeInfo(V).vector.len, i32) = @bitCast((moved >> @splat(23)) -% @as(B, @splat(127)));
    const e: V = @floatFromInt(exponent);
    const fraction: V = @bitCast((moved & @as(B, @splat(0x007FFFFF))) +% root);
    const f = fraction - all(V, 1);
    const square = f * f;
    const cube = f * square;
    const series = horner(V, f, &.{
        7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1,
        3.3333331174e-1,
    });
    var result = series * cube;
    result = fma(V, e, all(V, -2.12194440e-4), result);
    result = fma(V, square, all(V, -0.5), result);
    result = result + f;
    return fma(V, e, all(V, 0.693359375), result);
}

pub fn Pair(comptime V: type) type {
    return struct { cos: V, sin: V };
}

/// Cosine and sine of the word's part of a turn. Polynomials of Cephes (sinf, cosf).
pub inline fn turn32(comptime lanes: comptime_int, word: @Vector(lanes, u32)) Pair(@Vector(lanes, f32)) {
    const V = @Vector(lanes, f32);
    const B = @Vector(lanes, u32);
    const moved = word +% @as(B, @splat(1 << 29));
    const quarter = moved >> @splat(30);
    const place: @Vector(lanes, i32) = @bitCast((moved & @as(B, @splat((1 << 30) - 1))) >> @splat(6));
    const x = (@as(V, @floatFromInt(place)) - all(V, 0x1p23)) * all(V, 2.0 * std.math.pi * 0x1p-26);
    const z = x * x;
    const sine_series = horner(V, z, &.{ -1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1 });
    const cosine_series = horner(V, z, &.{ 2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2 });
    const cube = x * z;
    const fourth = z * z;
    const sine = fma(V, sine_series, cube, x);
    const cosine = fma(V, cosine_series, fourth, fma(V, z, all(V, -0.5), all(V, 1)));
    return rotated(V, quarter, cosine, sine);
}

/// Cosine and sine of the part of a turn that two words (the first in the low half) are. Polynomials of Sun's fdlibm (k_sin, k_cos).
pub inline fn turn64(comptime lanes: comptime_int, pair: @Vector(lanes, u64)) Pair(@Vector(lanes, f64)) {
    const V = @Vector(lanes, f64);
    const B = @Vector(lanes, u64);
    const moved = pair +% @as(B, @splat(1 << 61));
    const quarter = moved >> @splat(62);
    const place = fromInteger(V, (moved & @as(B, @splat((1 << 62) - 1))) >> @splat(9));
    const x = (place - all(V, 0x1p52)) * all(V, 2.0 * std.math.pi * 0x1p-55);
    const z = x * x;
    const sine_series = horner(V, z, &.{
        1.58969099521155010221e-10,  -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04, 8.33333333332248946124e-03,
        -1.66666666666666324348e-01,
    });
    const cosine_series = horner(V, z, &.{
        -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05, -1.38888888888741095749e-03,
        4.16666666666666019037e-02,
    });
    const cube = x * z;
    const fourth = z * z;
    const sine = fma(V, sine_series, cube, x);
    const cosine = fma(V, cosine_series, fourth, fma(V, z, all(V, -0.5), all(V, 1)));
    return rotated(V, quarter, cosine, sine);
}

/// The point (cosine, sine), so many quarters of a turn further.
inline fn rotated(comptime V: type, quarter: Bits(V), cosine: V, sine: V) Pair(V) {
    const B = Bits(V);
    const sign_shift = @bitSizeOf(@typeInfo(V).vector.child) - 1;
    const is_odd = (quarter & @as(B, @splat(1))) != @as(B, @splat(0));
    const first = @select(@typeInfo(V).vector.child, is_odd, sine, cosine);
    const second = @select(@typeInfo(V).vector.child, is_odd, cosine, sine);
    // The cosine is negative in quarters 1 and 2, the sine in 2 and 3.
    const first_sign = ((quarter +% @as(B, @splat(1))) >> @splat(1)) << @splat(sign_shift);
    const second_sign = (quarter >> @splat(1)) << @splat(sign_shift);
    return .{ .cos = @bitCast(@as(B, @bitCast(first)) ^ first_sign), .sin = @bitCast(@as(B, @bitCast(second)) ^ second_sign) };
}

/// Of positive normal numbers. Series of fdlibm (e_log).
pub inline fn log64(comptime V: type, x: V) V {
    const B = Bits(V);
    const root: B = @splat(0x3FE6A09E667F3BCD);
    const moved = @as(B, @bitCast(x)) +% (@as(B, @splat(0x3FF0000000000000)) -% root);
    const exponent: V = @bitCast((moved >> @splat(52)) | @as(B, @splat(@as(u64, @bitCast(@as(f64, 0x1p52))))));
    const e = exponent - all(V, 0x1p52 + 1023.0);
    const fraction: V = @bitCast((moved & @as(B, @splat(0x000FFFFFFFFFFFFF))) +% root);
    const f = fraction - all(V, 1);
    const s = f / (f + all(V, 2));
    const z = s * s;
    const series = horner(V, z, &.{
        1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01, 2.857142874366239149e-01,
        3.999999999940941908e-01, 6.666666666666735130e-01,
    });
    const half = f * all(V, 0.5);
    const half_square = half * f;
    const rest = fma(V, series, z, half_square);
    const low = e * all(V, 1.90821492927058770002e-10);
    const sum = half_square - fma(V, s, rest, low);
    return fma(V, e, all(V, 6.93147180369123816490e-01), f - sum);
}

/// e^x; 0 below -745, the largest powers that are finite above 709. Taylor's series of |x| <= ln(2) / 2.
pub inline fn exp64(comptime V: type, x: V) V {
    const B = Bits(V);
    // Adding and subtracting 1.5 * 2^52 rounds to an integer, which is then in the low bits.
    const magic = all(V, 0x1.8p52);
    const bounded = @min(@max(x, all(V, -746)), all(V, 709));
    const shifted = fma(V, bounded, all(V, std.math.log2e), magic);
    const n = shifted - magic;
    const near = fma(V, n, all(V, -6.93147180369123816490e-01), bounded);
    const r = fma(V, n, all(V, -1.90821492927058770002e-10), near);
    const power = horner(V, r, &.{
        1.6059043836821613e-10, 2.08767569878681e-9,   2.505210838544172e-8, 2.755731922398589e-7,  2.7557319223985893e-6, 2.48015873015873e-5,
        1.984126984126984e-4,   1.3888888888888889e-3, 8.333333333333333e-3, 4.1666666666666664e-2, 0.16666666666666666,   0.5,
        1.0,                    1.0,
    });
    // Two factors, so that subnormal results are reached. n + 2048 is positive.
    const whole = @as(B, @bitCast(shifted)) -% @as(B, @splat(@as(u64, @bitCast(@as(f64, 0x1.8p52))) -% 2048));
    const first = whole >> @splat(1);
    const second = whole -% first;
    const scale_1: V = @bitCast((first -% @as(B, @splat(1))) << @splat(52));
    const scale_2: V = @bitCast((second -% @as(B, @splat(1))) << @splat(52));
    const half_scaled = power * scale_1;
    return half_scaled * scale_2;
}

/// log(1 + x) of x in (-0.5, 0]: what the sum loses is put back (Kahan).
pub inline fn log1p64(comptime V: type, x: V) V {
    const sum = x + all(V, 1);
    const lost = x - (sum - all(V, 1));
    return log64(V, sum) + lost / sum;
}

/// log(k!) of whole k >= 0: Stirling's series, which needs k + 1 >= 10; smaller ones are multiplied up to it.
pub inline fn logFactorial(comptime V: type, k: V) V {
    var x = k + all(V, 1);
    var product = all(V, 1);
    const has_small = @reduce(.Or, x < all(V, 10));
    // Without small ones the product is 1 and its logarithm 0.
    if (has_small) inline for (0..10) |_| {
        const is_small = x < all(V, 10);
        product = @select(f64, is_small, product * x, product);
        x = @select(f64, is_small, x + all(V, 1), x);
    };
    const inverse = all(V, 1) / x;
    const square = inverse * inverse;
    const series = horner(V, square, &.{ 8.417508417508417e-4, -5.952380952380953e-4, 7.936507936507937e-4, -2.777777777777778e-3, 8.333333333333333e-2 });
    const correction = series * inverse;
    const main = fma(V, x - all(V, 0.5), log64(V, x), -x);
    const sum = main + (correction + all(V, 0.9189385332046728));
    return if (has_small) sum - log64(V, product) else sum;
}

test "functions are those of the standard library" {
    const V = @Vector(4, f64);
    const W = @Vector(4, f32);
    var prng: std.Random.DefaultPrng = .init(7);
    const random = prng.random();
    for (0..20000) |_| {
        const u = 1.0 - random.float(f64);
        const x = (random.float(f64) - 0.5) * 1400;
        try std.testing.expectApproxEqRel(@log(u), log64(V, @splat(u))[0], 1e-14);
        try std.testing.expectApproxEqRel(@log(u * 1e9), log64(V, @splat(u * 1e9))[0], 1e-14);
        try std.testing.expectApproxEqRel(@exp(x), exp64(V, @splat(x))[0], 4e-16);
        try std.testing.expectApproxEqRel(std.math.log1p(-u * 0.5), log1p64(V, @splat(-u * 0.5))[0], 1e-15);
        const narrow: f32 = @floatCast(u);
        try std.testing.expectApproxEqAbs(@log(@as(f64, narrow)), log32(W, @splat(narrow))[0], 1e-6);
        const pair = random.int(u64);
        const angle = 2 * std.math.pi * 0x1p-64 * @as(f64, @floatFromInt(pair));
        const wide = turn64(4, @splat(pair));
        try std.testing.expectApproxEqAbs(@cos(angle), wide.cos[0], 1e-15);
        try std.testing.expectApproxEqAbs(@sin(angle), wide.sin[0], 1e-15);
        const word: u32 = @truncate(pair >> 32);
        const short = turn32(4, @splat(word));
        try std.testing.expectApproxEqAbs(@cos(angle), short.cos[0], 3e-7);
        try std.testing.expectApproxEqAbs(@sin(angle), short.sin[0], 3e-7);
    }
    try std.testing.expectEqual(0, exp64(V, @splat(-800))[0]);
    var factorial: f64 = 0;
    for (0..300) |k| {
        if (k > 1) factorial += @log(@as(f64, @floatFromInt(k)));
        try std.testing.expectApproxEqAbs(factorial, logFactorial(V, @splat(@floatFromInt(k)))[0], 1e-13 * @max(1, factorial));
    }
}

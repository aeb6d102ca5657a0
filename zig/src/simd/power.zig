//! x^y on vectors: of floats within two units in the last place of float32 and five of float64, with the special cases of C (Annex F.10.4.4);
//! of integers by squaring, wrapping, for exponents that are not negative.

const std = @import("std");
const vector_math_f64 = @import("vector_math_f64.zig");

inline fn all(comptime V: type, value: @typeInfo(V).vector.child) V {
    return @splat(value);
}

pub inline fn pow(comptime V: type, x: V, y: V) V {
    const T = @typeInfo(V).vector.child;
    if (T == f64) return powDouble(V, x, y);
    const Wide = @Vector(@typeInfo(V).vector.len, f64);
    return @floatCast(powDouble(Wide, @floatCast(x), @floatCast(y)));
}

inline fn powDouble(comptime V: type, x: V, y: V) V {
    const inf = all(V, std.math.inf(f64));
    const zero = all(V, 0);
    const one = all(V, 1);
    const size = @abs(x);
    // Beyond 2^67 every power of anything but one is zero or infinite already.
    const bounded = @min(@max(y, all(V, -0x1p67)), all(V, 0x1p67));
    const logarithm = logDouble(V, @select(f64, size == zero, one, @select(f64, size < inf, size, one)));
    const product = multiply(V, bounded, logarithm.high);
    // exp answers beyond its own limits; the low part must stay finite for that.
    const is_far = @abs(product.high) > all(V, 800);
    const low = @select(f64, is_far, zero, product.low + bounded * logarithm.low);
    const power = vector_math_f64.exp(V, product.high);
    var result = @select(f64, power < inf, power + power * low, power);

    const is_rising = y > zero;
    result = @select(f64, size == zero, @select(f64, is_rising, zero, inf), result);
    result = @select(f64, size == inf, @select(f64, is_rising, inf, zero), result);
    const grows = @select(bool, size > one, is_rising, y < zero);
    const at_infinity = @select(f64, size == one, one, @select(f64, grows, inf, zero));
    result = @select(f64, @abs(y) == inf, at_infinity, result);

    // Negative bases have powers for whole exponents; those of odd ones are negative. Above 2^53 every number is even.
    const is_whole = @trunc(y) == y;
    const half = y * all(V, 0.5);
    const is_odd = @select(bool, is_whole, @trunc(half) != half, is_whole);
    const Bits = @Vector(@typeInfo(V).vector.len, u64);
    const sign_bit: Bits = @splat(1 << 63);
    const sign = @select(u64, is_odd, @as(Bits, @bitCast(x)) & sign_bit, @as(Bits, @splat(0)));
    result = @bitCast(@as(Bits, @bitCast(result)) | sign);
    const is_below = @select(bool, x < zero, x > -inf, x < zero);
    result = @select(f64, @select(bool, is_below, !is_whole, is_below), all(V, std.math.nan(f64)), result);
    result = @select(f64, x != x, x, @select(f64, y != y, y, result));
    return @select(f64, y == zero, one, @select(f64, x == one, one, result));
}

/// An unevaluated sum: `low` is below half a unit in the last place of `high`, or nearly.
fn Pair(comptime V: type) type {
    return struct { high: V, low: V };
}

inline fn sumOf(comptime V: type, large: V, small: V) Pair(V) {
    const high = large + small;
    return .{ .high = high, .low = small - (high - large) };
}

/// A fraction rounded to 26 bits, which leaves no more than 26: products of any two such parts are exact.
inline fn upper(comptime V: type, x: V) V {
    const Bits = @Vector(@typeInfo(V).vector.len, u64);
    return @bitCast((@as(Bits, @bitCast(x)) +% @as(Bits, @splat(0x0400_0000))) & @as(Bits, @splat(0xffff_ffff_f800_0000)));
}

/// The exact product (Dekker 1971).
pub inline fn multiply(comptime V: type, a: V, b: V) Pair(V) {
    const a_high = upper(V, a);
    const a_low = a - a_high;
    const b_high = upper(V, b);
    const b_low = b - b_high;
    const high = a * b;
    return .{ .high = high, .low = ((a_high * b_high - high) + (a_high * b_low + a_low * b_high)) + a_low * b_low };
}

/// log x to about 2^-65 of its size, for positive finite x: x = m 2^e, log m = 2 (s + s^3 / 3 + s^5 / 5 ...), s = (m - 1) / (m + 1), the first
/// two terms in pairs.
inline fn logDouble(comptime V: type, x: V) Pair(V) {
    const Bits = @Vector(@typeInfo(V).vector.len, u64);
    const Signed = @Vector(@typeInfo(V).vector.len, i64);
    const is_subnormal = x < all(V, std.math.floatMin(f64));
    const lifted = @select(f64, is_subnormal, x * all(V, 0x1p54), x);
    const root_half: Bits = @splat(@bitCast(@as(f64, std.math.sqrt1_2)));
    const whole = @as(Signed, @bitCast(@as(Bits, @bitCast(lifted)) -% root_half)) >> @splat(52);
    const m: V = @bitCast(@as(Bits, @bitCast(lifted)) -% @as(Bits, @bitCast(whole << @splat(52))));
    const magic: f64 = 6755399441055744.0;
    const magic_bits: Bits = @splat(@bitCast(magic));
    const e = (@as(V, @bitCast(@as(Bits, @bitCast(whole)) +% magic_bits)) - all(V, magic)) - @select(f64, is_subnormal, all(V, 54), all(V, 0));

    const f = m - all(V, 1);
    const below = sumOf(V, all(V, 2), f);
    const s = f / below.high;
    const back = multiply(V, s, below.high);
    const s_low = (((f - back.high) - back.low) - s * below.low) / below.high;
    const square = multiply(V, s, s);
    const square_low = square.low + all(V, 2) * s * s_low;
    const cube = multiply(V, square.high, s);
    const cube_low = cube.low + square_low * s + square.high * s_low;
    const third = multiply(V, cube.high, all(V, 2.0 / 3.0));
    const third_low = third.low + cube_low * all(V, 2.0 / 3.0) + cube.high * all(V, 3.700743415417188e-17);
    // 2 / 5, 2 / 7 ...: the next term is below 2^-66.
    var tail = all(V, 2.0 / 27.0);
    inline for (0..11) |i| tail = tail * square.high + all(V, 2.0 / (25.0 - 2.0 * @as(f64, i)));
    const rest = tail * square.high * cube.high;

    // e ln 2: the first part has 21 zero bits at its end.
    const first = sumOf(V, e * all(V, 6.93147180369123816490e-01), all(V, 2) * s);
    const is_small = e == all(V, 0);
    const head = @select(f64, is_small, all(V, 2) * s, first.high);
    const head_low = @select(f64, is_small, all(V, 0), first.low);
    const second = sumOf(V, head, third.high);
    return sumOf(V, second.high, second.low + (head_low + (all(V, 2) * s_low + (third_low + (rest + e * all(V, 1.90821492927058770002e-10))))));
}

/// By squaring; x^0 is 1. Exponents are not negative (checked above).
pub inline fn powInteger(comptime V: type, x: V, y: V) V {
    const T = @typeInfo(V).vector.child;
    const zero: V = @splat(0);
    const one: V = @splat(1);
    var result = one;
    var base = x;
    var rest = y;
    // One round for each bit of the exponent.
    for (0..@bitSizeOf(T)) |_| {
        if (!@reduce(.Or, rest > zero)) break;
        result = @select(T, (rest & one) != zero, result *% base, result);
        base *%= base;
        rest = rest >> @splat(1);
    }
    return result;
}

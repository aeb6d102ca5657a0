//! Remainders and rounded quotients on vectors, exact, with NumPy's conventions: `fmod` has the sign of the dividend (C), `remainder` that of the
//! divisor (Python), `floorDivide` rounds down. Integers divided by zero give zero.

const std = @import("std");
const power = @import("power.zig");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

/// x - trunc(x / y) y; NaN for y = 0 and infinite x.
pub inline fn fmod(comptime V: type, x: V, y: V) V {
    const T = Element(V);
    const len = @typeInfo(V).vector.len;
    const Wide = @Vector(len, f64);
    const a: Wide = @floatCast(@abs(x));
    const b: Wide = @floatCast(@abs(y));
    const quotient = @trunc(a / b);
    // float32: quotient and divisor have 29 + 24 bits, so that their product is exact. float64: the product is a pair, and far from
    // underflow. Elsewhere one by one.
    const limit = if (T == f32) 0x1p29 else 0x1p52;
    var is_simple = quotient < all(Wide, limit);
    is_simple = @select(bool, is_simple, b < all(Wide, std.math.inf(f64)), is_simple);
    if (T == f64) is_simple = @select(bool, quotient == all(Wide, 0), is_simple, @select(bool, is_simple, a > all(Wide, 0x1p-900), is_simple));
    const product = power.multiply(Wide, quotient, b);
    var rest = if (T == f32) a - quotient * b else (a - product.high) - product.low;
    // The quotient was rounded up to a whole number.
    rest = @select(f64, rest < all(Wide, 0), rest + b, rest);
    if (!@reduce(.And, is_simple)) {
        const dividends: [len]f64 = a;
        const divisors: [len]f64 = b;
        const simple: [len]bool = is_simple;
        var values: [len]f64 = rest;
        for (&values, dividends, divisors, simple) |*value, dividend, divisor, done| {
            if (!done) value.* = scalar(dividend, divisor);
        }
        rest = values;
    }
    const Bits = @Vector(len, @Int(.unsigned, @bitSizeOf(T)));
    const sign: Bits = @splat(1 << (@bitSizeOf(T) - 1));
    const size: V = @floatCast(rest);
    return @bitCast(@as(Bits, @bitCast(size)) | (@as(Bits, @bitCast(x)) & sign));
}

fn scalar(dividend: f64, divisor: f64) f64 {
    const is_answered = dividend != dividend or divisor != divisor or divisor == 0 or dividend == std.math.inf(f64);
    if (is_answered) return std.math.nan(f64);
    if (divisor == std.math.inf(f64) or dividend < divisor) return dividend;
    return @rem(dividend, divisor);
}

/// `fmod`, moved to the sign of y; a zero has the sign of y.
pub inline fn remainder(comptime V: type, x: V, y: V) V {
    const T = Element(V);
    const Bits = @Vector(@typeInfo(V).vector.len, @Int(.unsigned, @bitSizeOf(T)));
    const sign: Bits = @splat(1 << (@bitSizeOf(T) - 1));
    const zero = all(V, 0);
    const rest = fmod(V, x, y);
    const moved = @select(T, (rest < zero) != (y < zero), rest + y, rest);
    const signed_zero: V = @bitCast(@as(Bits, @bitCast(y)) & sign);
    return @select(T, rest == zero, signed_zero, @select(T, rest != rest, rest, moved));
}

/// The largest whole number that is not above x / y, from the exact remainder; x / y for y = 0.
pub inline fn floorDivide(comptime V: type, x: V, y: V) V {
    const T = Element(V);
    const zero = all(V, 0);
    const rest = fmod(V, x, y);
    const whole = (x - rest) / y;
    const is_moved = @select(bool, rest != zero, (rest < zero) != (y < zero), rest != zero);
    const lowered = @select(T, is_moved, whole - all(V, 1), whole);
    const down = @floor(lowered);
    const nearest = @select(T, lowered - down > all(V, 0.5), down + all(V, 1), down);
    const Bits = @Vector(@typeInfo(V).vector.len, @Int(.unsigned, @bitSizeOf(T)));
    const sign: Bits = @splat(1 << (@bitSizeOf(T) - 1));
    // A zero keeps the sign of the quotient.
    const quotient = x / y;
    const signed_zero: V = @bitCast(@as(Bits, @bitCast(quotient)) & sign);
    return @select(T, y == zero, quotient, @select(T, nearest == zero, signed_zero, nearest));
}

pub const Part = enum { fmod, remainder, quotient };

/// Of integers, value by value: there is no instruction for vectors. The smallest integer divided by -1 wraps.
pub inline fn integer(comptime V: type, comptime part: Part, x: V, y: V) V {
    const T = Element(V);
    const len = @typeInfo(V).vector.len;
    const dividends: [len]T = x;
    const divisors: [len]T = y;
    var values: [len]T = undefined;
    for (&values, dividends, divisors) |*value, dividend, divisor| {
        if (divisor == 0) {
            value.* = 0;
        } else if (@typeInfo(T).int.signedness == .signed and divisor == -1) {
            value.* = if (part == .quotient) 0 -% dividend else 0;
        } else value.* = switch (part) {
            .fmod => @rem(dividend, divisor),
            .remainder => floorRemainder(T, dividend, divisor),
            .quotient => @divFloor(dividend, divisor),
        };
    }
    return values;
}

inline fn floorRemainder(comptime T: type, dividend: T, divisor: T) T {
    const rest = @rem(dividend, divisor);
    return if (rest != 0 and (rest < 0) != (divisor < 0)) rest + divisor else rest;
}

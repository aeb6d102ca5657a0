//! The length sqrt(x^2 + y^2) on vectors, without overflow on the way: within one unit in the last place. An infinity wins over NaN, as in C
//! (Annex F.10.4.3).

const std = @import("std");

inline fn all(comptime V: type, value: @typeInfo(V).vector.child) V {
    return @splat(value);
}

pub inline fn hypot(comptime V: type, x: V, y: V) V {
    const T = @typeInfo(V).vector.child;
    const inf = all(V, std.math.inf(T));
    const a = @abs(x);
    const b = @abs(y);
    const is_infinite = @select(bool, a == inf, a == inf, b == inf);
    return @select(T, is_infinite, inf, if (T == f32) short(V, a, b) else scaled(V, a, b));
}

/// Squares of float32 are exact in float64, and their sums finite.
inline fn short(comptime V: type, a: V, b: V) V {
    const Wide = @Vector(@typeInfo(V).vector.len, f64);
    const wide_a: Wide = @floatCast(a);
    const wide_b: Wide = @floatCast(b);
    return @floatCast(@sqrt(wide_a * wide_a + wide_b * wide_b));
}

/// Numbers whose squares would overflow or vanish are multiplied by a power of two.
inline fn scaled(comptime V: type, a: V, b: V) V {
    const size = @max(a, b);
    const is_large = size > all(V, 0x1p500);
    const is_small = size < all(V, 0x1p-400);
    const factor = @select(f64, is_large, all(V, 0x1p-600), @select(f64, is_small, all(V, 0x1p600), all(V, 1)));
    const back = @select(f64, is_large, all(V, 0x1p600), @select(f64, is_small, all(V, 0x1p-600), all(V, 1)));
    const scaled_a = a * factor;
    const scaled_b = b * factor;
    return @sqrt(scaled_a * scaled_a + scaled_b * scaled_b) * back;
}

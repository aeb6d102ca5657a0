//! Hyperbolic functions and their inverses on vectors of float32 or float64, within four units in the last place; NaN in gives NaN out.

const std = @import("std");
const elementary = @import("elementary.zig");
const number_parts = @import("number_parts.zig");
const vector_math = @import("vector_math.zig");
const vector_math_f64 = @import("vector_math_f64.zig");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

/// e^x / 2, which is finite as far as sinh and cosh are.
inline fn halfExp(comptime V: type, x: V) V {
    return if (Element(V) == f32) vector_math.halfExp(V, x) else vector_math_f64.halfExp(V, x);
}

/// Terms of the series of sinh: the next is below half a unit in the last place at 1.
fn sinhTerms(comptime T: type) comptime_int {
    return if (T == f32) 5 else 9;
}

/// With h = e^|x| / 2, sinh |x| = h - 1 / (4 h); its series (DLMF 4.33.1) below 1, where that cancels.
pub inline fn sinh(comptime V: type, x: V) V {
    const T = Element(V);
    const size = @abs(x);
    const half = halfExp(V, size);
    const far = half - all(V, 0.25) / half;
    const z = x * x;
    var series = all(V, 0);
    comptime var term = sinhTerms(T);
    inline while (term > 0) : (term -= 1) series = series * z + all(V, comptime inverseFactorial(T, 2 * term + 1));
    const near = size + size * (z * series);
    return number_parts.copysign(V, @select(T, size < all(V, 1), near, far), x);
}

fn inverseFactorial(comptime T: type, comptime n: comptime_int) T {
    var value: f64 = 1;
    for (2..n + 1) |k| value /= @floatFromInt(k);
    return @floatCast(value);
}

/// With h = e^|x| / 2, cosh x = h + 1 / (4 h).
pub inline fn cosh(comptime V: type, x: V) V {
    const half = halfExp(V, @abs(x));
    return half + all(V, 0.25) / half;
}

/// From here on the logarithm of twice the argument is the result to the last bit, and below the square is finite.
fn large(comptime T: type) T {
    return if (T == f32) 0x1p30 else 0x1p60;
}

/// log(1 + u) where the argument is ordinary, log(argument) + log 2 where it is large.
inline fn logOfTwice(comptime V: type, size: V, u: V) V {
    const T = Element(V);
    const is_large = size >= all(V, large(T));
    const logarithm = elementary.log1p(V, @select(T, is_large, size, u));
    return logarithm + @select(T, is_large, all(V, std.math.ln2), all(V, 0));
}

/// log(1 + a + a^2 / (1 + sqrt(1 + a^2))) for a = |x|, with the sign of x.
pub inline fn asinh(comptime V: type, x: V) V {
    const size = @abs(x);
    const square = size * size;
    const one = all(V, 1);
    const u = size + square / (one + @sqrt(one + square));
    return number_parts.copysign(V, logOfTwice(V, size, u), x);
}

/// log(1 + t + sqrt(2 t + t^2)) for t = x - 1; NaN below 1.
pub inline fn acosh(comptime V: type, x: V) V {
    const T = Element(V);
    const t = x - all(V, 1);
    const u = t + @sqrt(all(V, 2) * t + t * t);
    const result = logOfTwice(V, x, u);
    return @select(T, x < all(V, 1), all(V, std.math.nan(T)), result);
}

/// log(1 + 2 a / (1 - a)) / 2 for a = |x|, with the sign of x; infinite at 1, NaN beyond.
pub inline fn atanh(comptime V: type, x: V) V {
    const size = @abs(x);
    const u = all(V, 2) * size / (all(V, 1) - size);
    return number_parts.copysign(V, all(V, 0.5) * elementary.log1p(V, u), x);
}

//! Inverse sine, cosine and tangent on vectors of float32 or float64, within three units in the last place; NaN in gives NaN out.
//!
//! Coefficients: tools/fit_polynomials.py (`asin`, `atan`, `asinf`, `atanf`).

const std = @import("std");
const number_parts = @import("number_parts.zig");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

inline fn horner(comptime V: type, z: V, comptime coefficients: []const Element(V)) V {
    var sum = all(V, coefficients[0]);
    inline for (coefficients[1..]) |coefficient| sum = sum * z + all(V, coefficient);
    return sum;
}

fn Constants(comptime T: type) type {
    return if (T == f32) struct {
        /// (asin(x) / x - 1) / x^2 in x^2, up to 1/4.
        const asin = [_]f32{ 0x1.14138cp-5, 0x1.18e1f6p-6, 0x1.fd921ap-6, 0x1.6d5b8ep-5, 0x1.333432p-4, 0x1.555554p-3 };
        /// (atan(x) / x - 1) / x^2 in x^2, up to tan(pi / 8)^2.
        const atan = [_]f32{ 0x1.9d8478p-5, -0x1.6142fep-4, 0x1.c57b8p-4, -0x1.248a16p-3, 0x1.99997cp-3, -0x1.555556p-2 };
        const half_pi: f32 = 0x1.921fb6p+0;
        const half_pi_low: f32 = -0x1.777a5cp-25;
    } else struct {
        const asin = [_]f64{
            0x1.d78189767524ep-6, -0x1.e7a24f548c99dp-7, 0x1.1d661531b222ep-6, 0x1.653a8f8cfd43dp-8, 0x1.524ea8b3aad31p-7,
            0x1.78246f32d075cp-7, 0x1.c9cf3759fd8ffp-7,  0x1.1c4d343fa57f6p-6, 0x1.6e8bb1d89492bp-6, 0x1.f1c71c1d4aa0dp-6,
            0x1.6db6db6e3292ep-5, 0x1.3333333332ec4p-4,  0x1.5555555555556p-3,
        };
        const atan = [_]f64{
            0x1.e3ddb8d3850abp-7, -0x1.0f54730d6c30ep-5, 0x1.6ffb4e901f5dbp-5, -0x1.ab582fd05ec97p-5, 0x1.e1704532a7e28p-5, -0x1.110c9a0c8644ap-4,
            0x1.3b1375a0eb258p-4, -0x1.745d154ac3da3p-4, 0x1.c71c71bd21787p-4, -0x1.2492492485417p-3, 0x1.99999999998c4p-3, -0x1.5555555555555p-2,
        };
        const half_pi: f64 = 0x1.921fb54442d18p+0;
        const half_pi_low: f64 = 0x1.1a62633145c07p-54;
    };
}

/// asin of |x|, or of the root of (1 - |x|) / 2 where |x| is above 1/2: what both functions are put together from.
inline fn asinPart(comptime V: type, size: V, is_near: @Vector(@typeInfo(V).vector.len, bool)) [2]V {
    const T = Element(V);
    const half = all(V, 0.5);
    const z = @select(T, is_near, size * size, half * (all(V, 1) - size));
    const s = @select(T, is_near, size, @sqrt(z));
    return .{ s, s * (z * horner(V, z, &Constants(T).asin)) };
}

/// Above 1/2 it is pi / 2 - 2 asin(sqrt((1 - x) / 2)). NaN beyond 1.
pub inline fn asin(comptime V: type, x: V) V {
    const T = Element(V);
    const constants = Constants(T);
    const size = @abs(x);
    const is_near = size <= all(V, 0.5);
    const s, const tail = asinPart(V, size, is_near);
    const far = all(V, constants.half_pi) - (all(V, 2) * (s + tail) - all(V, constants.half_pi_low));
    return number_parts.copysign(V, @select(T, is_near, s + tail, far), x);
}

/// Below 1/2 in size it is pi / 2 - asin(x), else twice asin(sqrt((1 - |x|) / 2)) or what that lacks to pi. NaN beyond 1.
pub inline fn acos(comptime V: type, x: V) V {
    const T = Element(V);
    const constants = Constants(T);
    const size = @abs(x);
    const is_near = size <= all(V, 0.5);
    const s, const tail = asinPart(V, size, is_near);
    const zero = all(V, 0);
    // pi / 2 - x and what its rounding loses.
    const whole = all(V, constants.half_pi) - x;
    const lost = (all(V, constants.half_pi) - whole) - x;
    const signed_tail = @select(T, x < zero, -tail, tail);
    const near = whole + (lost - (signed_tail - all(V, constants.half_pi_low)));
    const twice = all(V, 2) * (s + tail);
    const left = all(V, 2 * constants.half_pi) - (twice - all(V, 2 * constants.half_pi_low));
    return @select(T, is_near, near, @select(T, x < zero, left, twice));
}

/// atan(above / below) of numbers without a sign, not both zero or infinite, whose sum is finite. The quotient is moved by pi / 4 or pi / 2
/// where it is above tan(pi / 8) or tan(3 pi / 8), in one division.
inline fn atanOfRatio(comptime V: type, above: V, below: V) V {
    const T = Element(V);
    const constants = Constants(T);
    const is_large = above > below * all(V, 2.41421356237309504880);
    const is_middle = above > below * all(V, 0.41421356237309504880);
    const dividend = @select(T, is_large, -below, @select(T, is_middle, above - below, above));
    const divisor = @select(T, is_large, above, @select(T, is_middle, above + below, below));
    const t = dividend / divisor;
    const z = t * t;
    const high = @select(T, is_large, all(V, constants.half_pi), @select(T, is_middle, all(V, constants.half_pi / 2), all(V, 0)));
    const low = @select(T, is_large, all(V, constants.half_pi_low), @select(T, is_middle, all(V, constants.half_pi_low / 2), all(V, 0)));
    return high + (t + (t * (z * horner(V, z, &constants.atan)) + low));
}

pub inline fn atan(comptime V: type, x: V) V {
    return number_parts.copysign(V, atanOfRatio(V, @abs(x), all(V, 1)), x);
}

/// The angle of the point (x, y), with the special cases of C (Annex F.10.1.4).
pub inline fn atan2(comptime V: type, y: V, x: V) V {
    const T = Element(V);
    const constants = Constants(T);
    const Bits = number_parts.Bits(V);
    const inf = all(V, std.math.inf(T));
    const limit = all(V, std.math.floatMax(T) / 4);
    const size_y = @abs(y);
    const size_x = @abs(x);
    const is_huge = @select(bool, size_y > limit, size_y > limit, size_x > limit);
    const factor = @select(T, is_huge, all(V, 0.25), all(V, 1));
    const are_infinite = @select(bool, size_y == inf, size_x == inf, size_y == inf);
    const above = @select(T, are_infinite, all(V, 1), size_y * factor);
    const is_flat = size_y == all(V, 0);
    const below = @select(T, @select(bool, is_flat, is_flat, are_infinite), all(V, 1), size_x * factor);
    const right = atanOfRatio(V, above, below);
    const left = all(V, 2 * constants.half_pi) - (right - all(V, 2 * constants.half_pi_low));
    const is_left = (@as(Bits, @bitCast(x)) & number_parts.signBit(V)) != @as(Bits, @splat(0));
    const result = number_parts.copysign(V, @select(T, is_left, left, right), y);
    return @select(T, x != x, x, @select(T, y != y, y, result));
}

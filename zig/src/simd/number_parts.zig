//! Signs and neighbours of floating-point numbers on vectors, and shifts of integers: exact, by their bits.

const std = @import("std");

inline fn Element(comptime V: type) type {
    return @typeInfo(V).vector.child;
}

inline fn all(comptime V: type, value: Element(V)) V {
    return @splat(value);
}

/// Unsigned integers as wide as the elements of a vector.
pub fn Bits(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, @Int(.unsigned, @bitSizeOf(Element(V))));
}

pub inline fn signBit(comptime V: type) Bits(V) {
    return @splat(1 << (@bitSizeOf(Element(V)) - 1));
}

/// The size of one number with the sign of another one, NaN and zeros included.
pub inline fn copysign(comptime V: type, size: V, sign: V) V {
    const bit = signBit(V);
    return @bitCast((@as(Bits(V), @bitCast(size)) & ~bit) | (@as(Bits(V), @bitCast(sign)) & bit));
}

/// Whether the sign is negative, of NaN and zeros too.
pub inline fn isNegative(comptime V: type, x: V) @Vector(@typeInfo(V).vector.len, bool) {
    return (@as(Bits(V), @bitCast(x)) & signBit(V)) != @as(Bits(V), @splat(0));
}

/// The format whose neighbours are meant; those of 16 bits are computed in float32.
pub const Format = enum { own, half, bfloat };

/// The next number of a format from x towards y; y where they are equal, NaN where either is.
pub inline fn nextafter(comptime V: type, comptime format: Format, x: V, y: V) V {
    const T = Element(V);
    // Bits of the type that is computed in by which normal neighbours differ, and the distance of subnormal ones.
    const unit = switch (format) {
        .own => 1,
        .half => 1 << 13,
        .bfloat => 1 << 16,
    };
    const least: T = switch (format) {
        .own => std.math.floatTrueMin(T),
        .half => 0x1p-24,
        .bfloat => 0x1p-133,
    };
    const zero = all(V, 0);
    const size = @abs(x);
    const grows = (x < y) == (x > zero);
    const bits: Bits(V) = @bitCast(size);
    const step: Bits(V) = @splat(unit);
    var moved: V = @bitCast(@select(@typeInfo(Bits(V)).vector.child, grows, bits +% step, bits -% step));
    if (format == .half) {
        // Numbers below 2^-14 are subnormal there, and what follows the largest one is infinity.
        const least_normal = all(V, 0x1p-14);
        const largest = all(V, 65504);
        const inf = all(V, std.math.inf(T));
        const raised = @select(T, size < least_normal, size + all(V, least), @select(T, size >= largest, inf, moved));
        const lowered = @select(T, size <= least_normal, size - all(V, least), @select(T, size == inf, largest, moved));
        moved = @select(T, grows, raised, lowered);
    }
    const result = @select(T, x == zero, copysign(V, all(V, least), y), copysign(V, moved, x));
    return @select(T, x != x, x, @select(T, y != y, y, @select(T, x == y, y, result)));
}

/// x 2^y with the bits that leave the type dropped; by its width and more, and by negative counts, nothing is left.
pub inline fn leftShift(comptime V: type, x: V, y: V) V {
    const within = isWithin(V, y);
    const count: @Vector(@typeInfo(V).vector.len, std.math.Log2Int(Element(V))) = @intCast(@select(Element(V), within, y, all(V, 0)));
    return @select(Element(V), within, x << count, all(V, 0));
}

/// The whole part of x / 2^y, downwards; by the width and more, and by negative counts, the sign is left: 0 or -1.
pub inline fn rightShift(comptime V: type, x: V, y: V) V {
    const T = Element(V);
    const last = all(V, @bitSizeOf(T) - 1);
    const within = isWithin(V, y);
    const count: @Vector(@typeInfo(V).vector.len, std.math.Log2Int(T)) = @intCast(@select(T, within, y, last));
    const shifted = x >> count;
    // Of numbers without a sign the last bit is no sign.
    return if (@typeInfo(T).int.signedness == .signed) shifted else @select(T, within, shifted, all(V, 0));
}

inline fn isWithin(comptime V: type, count: V) @Vector(@typeInfo(V).vector.len, bool) {
    return @as(Bits(V), @bitCast(count)) < @as(Bits(V), @splat(@bitSizeOf(Element(V))));
}

//! bfloat16 as the upper half of float32.

const std = @import("std");

pub inline fn fromBfloat16(bits: u16) f32 {
    return @bitCast(@as(u32, bits) << 16);
}

/// Rounded to nearest, ties to even.
pub inline fn toBfloat16(value: f32) u16 {
    const bits: u32 = @bitCast(value);
    if (value != value) return @truncate(bits >> 16 | 0x40);
    return @truncate((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

test "numbers are rounded to the nearest bfloat16, ties to even" {
    try std.testing.expectEqual(@as(u16, 0x3f80), toBfloat16(1.0));
    try std.testing.expectEqual(@as(u16, 0x3f80), toBfloat16(@bitCast(@as(u32, 0x3f80_8000))));
    try std.testing.expectEqual(@as(u16, 0x3f82), toBfloat16(@bitCast(@as(u32, 0x3f81_8000))));
    try std.testing.expectEqual(@as(f32, 1.0), fromBfloat16(0x3f80));
}

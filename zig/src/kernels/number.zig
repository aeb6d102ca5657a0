//! Numbers between memory and registers.

const Number = @import("variant").Number;

pub inline fn toSum(comptime number: Number, value: number.Stored()) number.Sum() {
    return switch (number) {
        .bf16 => @bitCast(@as(u32, value) << 16),
        .i8, .i32 => @intCast(value),
        else => @floatCast(value),
    };
}

/// To the nearest, ties to even; a NaN stays one.
pub inline fn fromSum(comptime number: Number, value: anytype) number.Stored() {
    if (number == .bf16) {
        const bits: u32 = @bitCast(value);
        if (value != value) return @truncate((bits >> 16) | 0x40);
        return @truncate((bits +% 0x7fff +% ((bits >> 16) & 1)) >> 16);
    }
    if (@TypeOf(value) == i32) return if (number == .i32) value else @truncate(value);
    return @floatCast(value);
}

//! Numbers between memory and registers.

const device = @import("device.zig");
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
        if (device.is_nvidia) {
            return asm ("cvt.rn.bf16.f32 %[result], %[value];"
                : [result] "=h" (-> u16),
                : [value] "f" (value),
            );
        }
        const bits: u32 = @bitCast(value);
        if (value != value) return @truncate((bits >> 16) | 0x40);
        return @truncate((bits +% 0x7fff +% ((bits >> 16) & 1)) >> 16);
    }
    if (@TypeOf(value) == i32) return if (number == .i32) value else @truncate(value);
    return @floatCast(value);
}

/// Two numbers; one instruction for bfloat16 on NVIDIA.
pub inline fn pairFromSum(comptime number: Number, values: anytype) [2]number.Stored() {
    if (number == .bf16 and device.is_nvidia) {
        return @bitCast(asm ("cvt.rn.bf16x2.f32 %[result], %[high], %[low];"
            : [result] "=r" (-> u32),
            : [high] "f" (values[1]),
              [low] "f" (values[0]),
        ));
    }
    return .{ fromSum(number, values[0]), fromSum(number, values[1]) };
}

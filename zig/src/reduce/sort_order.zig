//! Elements as unsigned integers in the order in which they are sorted: NaN comes last, in both directions.

const std = @import("std");
const strided = @import("../tensor/strided.zig");

const Storage = strided.Storage;

/// Keys of elements of a storage. Where `joins_zeros`, the two zeros have one key; else the negative one comes first, so that a key has a value.
pub fn Order(comptime storage: Storage, comptime joins_zeros: bool) type {
    const Raw = storage.Raw();
    return struct {
        /// All bits set where the order descends.
        flip: Key,

        const Self = @This();
        pub const Key = @Int(.unsigned, @bitSizeOf(Raw));

        pub const negative_zero: Key = sign;

        pub const is_float = switch (storage) {
            .f16, .bf16, .f32, .f64 => true,
            else => false,
        };
        const is_signed = @typeInfo(Raw) == .int and @typeInfo(Raw).int.signedness == .signed;
        const sign: Key = 1 << (@bitSizeOf(Key) - 1);
        const nan: Key = std.math.maxInt(Key);
        const infinity: Key = switch (storage) {
            .f16 => 0x7c00,
            .bf16 => 0x7f80,
            .f32 => 0x7f80_0000,
            .f64 => 0x7ff0_0000_0000_0000,
            else => 0,
        };

        pub fn of(is_descending: bool) Self {
            return .{ .flip = if (is_descending) nan else 0 };
        }

        pub inline fn key(order: Self, element: Raw) Key {
            const bits: Key = @bitCast(element);
            if (!is_float) return (if (is_signed) bits ^ sign else bits) ^ order.flip;
            if (bits & ~sign > infinity) return nan;
            const own = if (joins_zeros and bits == sign) 0 else bits;
            return (if (own & sign != 0) ~own else own | sign) ^ order.flip;
        }

        /// The element of a key.
        pub inline fn value(order: Self, of_key: Key) Raw {
            const own = of_key ^ order.flip;
            if (!is_float) return @bitCast(if (is_signed) own ^ sign else own);
            if (of_key == nan) return @bitCast(infinity | (infinity >> 1));
            return @bitCast(if (own & sign != 0) own ^ sign else ~own);
        }
    };
}

test "keys rise with their elements and lead back to them" {
    const order: Order(.f32, false) = .of(false);
    const rising = [_]f32{ -std.math.inf(f32), -1, -0.0, 0.0, 1, std.math.inf(f32), std.math.nan(f32) };
    for (rising[1..], rising[0 .. rising.len - 1]) |larger, smaller| try std.testing.expect(order.key(larger) > order.key(smaller));
    for (rising[0 .. rising.len - 1]) |element| try std.testing.expectEqual(@as(u32, @bitCast(element)), @as(u32, @bitCast(order.value(order.key(element)))));
    const falling: Order(.f32, true) = .of(true);
    try std.testing.expect(falling.key(1) < falling.key(-1));
    try std.testing.expect(falling.key(-std.math.inf(f32)) < falling.key(-std.math.nan(f32)));
    try std.testing.expectEqual(falling.key(0.0), falling.key(-0.0));
    const integers: Order(.i8, false) = .of(true);
    try std.testing.expect(integers.key(127) < integers.key(-128));
    try std.testing.expectEqual(@as(i8, -5), integers.value(integers.key(-5)));
}

//! Blocks of elements that lie at offsets: what gathers and scatters share.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const strided = @import("../tensor/strided.zig");

const View = strided.View;

/// Bytes of an element of any dtype.
pub fn itemBytes(dtype: abi.Dtype) usize {
    return @as(usize, dtype.bits) * dtype.lanes / 8;
}

/// Elements of so many bytes that are only moved; those of 16 are aligned to 8, as complex numbers are.
pub fn Item(comptime bytes: usize) type {
    return switch (bytes) {
        1 => u8,
        2 => u16,
        4 => u32,
        8 => u64,
        16 => extern struct { real: u64, imaginary: u64 },
        else => @compileError("no dtype has such elements"),
    };
}

pub inline fn at(comptime T: type, address: usize, elements: isize) *T {
    return @ptrFromInt(address +% @as(usize, @bitCast(elements * @sizeOf(T))));
}

/// A tensor of any dtype; its storage says nothing.
pub fn anyView(tensor: *const abi.Tensor) View {
    var plain = tensor.*;
    plain.dtype = .{ .code = abi.dtype_uint, .bits = 8, .lanes = 1 };
    return .of(&plain);
}

/// The elements at an offset: view 0 is the side without an array of its own, whose strides the options give.
pub fn space(options: *const abi.BlocksOptions, other: *const View) strided.Space(2) {
    const rank: usize = @intCast(options.block_rank);
    var own = other.*;
    for (0..rank) |axis| {
        std.debug.assert(other.shape[axis] == options.block_shape.?[axis]);
        own.strides[axis] = @intCast(options.block_strides.?[axis]);
    }
    var both: strided.Space(2) = .of(.{ &own, other });
    both.coalesce();
    return both;
}

/// The first offset that leaves the memory, if there is one.
pub const Bad = struct {
    place: std.atomic.Value(u64) = .init(none),

    const none = std.math.maxInt(u64);

    /// Notes the first of these offsets that is outside of the bounds; whether there is one.
    pub fn note(bad: *Bad, options: *const abi.BlocksOptions, offsets: []const i64, first: usize) bool {
        var are_good = true;
        for (offsets) |offset| are_good = are_good and offset >= options.lowest and offset <= options.highest;
        if (are_good) return false;
        for (offsets, first..) |offset, place| {
            if (offset >= options.lowest and offset <= options.highest) continue;
            _ = bad.place.fetchMin(place, .monotonic);
            return true;
        }
        unreachable;
    }

    pub fn outcome(bad: *const Bad, options: *const abi.BlocksOptions, name: []const u8) abi.Status {
        const place = bad.place.load(.monotonic);
        if (place == none) return abi.ok;
        return status.fail(abi.errors.index_out_of_range, "{s}: the offset at place {d} leaves the memory of the array, whose blocks begin at {d} to {d}", .{
            name, place, options.lowest, options.highest,
        });
    }
};

//! Where the numbers of an operand lie in global memory: a matrix, or the patches of images that a convolution multiplies.
//!
//! A source has `find(outer, k)`: the place of a number and how many that follow it in memory belong to the same row of the operand, 0 where
//! (outer, k) is outside. `is_k_contiguous` says along which dimension they follow.

const device = @import("device.zig");

pub const chunk_bytes = 16;

pub fn Position(comptime Stored: type) type {
    return struct { ptr: device.Input(Stored), inside: u32 };
}

pub fn Matrix(comptime T: type, comptime has_contiguous_k: bool) type {
    return struct {
        const Self = @This();
        pub const Stored = T;
        pub const is_k_contiguous = has_contiguous_k;

        start: device.Input(T),
        /// Distance from row to row in memory.
        lead: u32,
        outer_end: u32,
        k_end: u32,

        pub inline fn find(self: *const Self, outer: u32, k: u32) Position(T) {
            const is_inside = outer < self.outer_end and k < self.k_end;
            const row, const column, const end = if (has_contiguous_k) .{ outer, k, self.k_end } else .{ k, outer, self.outer_end };
            return .{ .ptr = self.start + (@as(usize, row) * self.lead + column), .inside = if (is_inside) end - column else 0 };
        }
    };
}

/// Geometry of a convolution over images whose channels are contiguous (NHWC); the channels are those of one group.
pub const Geometry = struct {
    height: u32,
    width: u32,
    channels: u32,
    /// Distance from pixel to pixel in memory: the channels of all groups.
    pixel: u32,
    out_height: u32,
    out_width: u32,
    kernel_width: u32,
    stride: u32,
    padding: u32,
    dilation: u32,
};

/// A row for each pixel of the result; along k the kernel's rows, its columns, the channels.
pub fn Patches(comptime T: type) type {
    return struct {
        const Self = @This();
        pub const Stored = T;
        pub const is_k_contiguous = true;

        start: device.Input(T),
        geometry: Geometry,
        outer_end: u32,
        k_end: u32,

        pub inline fn find(self: *const Self, outer: u32, k: u32) Position(T) {
            const g = &self.geometry;
            const tap = k / g.channels;
            const channel = k % g.channels;
            const row = outer / g.out_width;
            // What would be left of or above the image wraps to a large number.
            const y = row % g.out_height * g.stride +% tap / g.kernel_width * g.dilation -% g.padding;
            const x = outer % g.out_width * g.stride +% tap % g.kernel_width * g.dilation -% g.padding;
            const is_inside = outer < self.outer_end and k < self.k_end and y < g.height and x < g.width;
            const line = @as(usize, row / g.out_height) * g.height + y;
            const position = self.start + ((line * g.width + x) * g.pixel + channel);
            return .{ .ptr = if (is_inside) position else self.start, .inside = if (is_inside) g.channels - channel else 0 };
        }
    };
}

/// 16 bytes of an operand from (outer, k) on; zeros where it ends.
pub inline fn fetch(comptime is_aligned: bool, source: anytype, outer: u32, k: u32) Vector(@TypeOf(source.*).Stored) {
    const Source = @TypeOf(source.*);
    const V = Vector(Source.Stored);
    const len = @typeInfo(V).vector.len;
    if (is_aligned) {
        const position = source.find(outer, k);
        if (position.inside == 0) return @splat(0);
        const whole: *align(chunk_bytes) addrspace(.global) const V = @ptrCast(@alignCast(position.ptr));
        return whole.*;
    }
    var values: V = @splat(0);
    inline for (0..len) |i| {
        const offset: u32 = i;
        const position = if (Source.is_k_contiguous) source.find(outer, k + offset) else source.find(outer + offset, k);
        if (position.inside != 0) values[i] = position.ptr[0];
    }
    return values;
}

pub fn Vector(comptime T: type) type {
    return @Vector(chunk_bytes / @sizeOf(T), T);
}

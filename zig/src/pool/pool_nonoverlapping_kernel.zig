//! The gradient of the largest values of windows that lie side by side: every pixel is read once and written once, and stays in registers in between.

const std = @import("std");
const pointers = @import("../simd/pointers.zig");

/// An integer that counts taps of a window.
fn Place(comptime T: type) type {
    return if (T == f32) u32 else u64;
}

/// Of equal values the first one wins; a NaN is larger than any number.
inline fn takesOver(comptime V: type, held: V, value: V) @Vector(@typeInfo(V).vector.len, bool) {
    return ~(value <= held) & (held == held);
}

/// What is side by side in vectors: channels, or windows of two columns.
pub const Along = enum { channels, pairs };

/// A row of windows.
pub fn Nonoverlapping(comptime T: type) type {
    return struct {
        along: Along,
        windows: usize,
        rows: usize,
        columns: usize,
        channels: usize,
        /// In elements, from window to window, and in the image and its gradient from pixel to pixel.
        given_step: isize,
        image_row: isize,
        image_column: isize,
        out_row: isize,
        out_column: isize,
        image: [*]const T,
        given: [*]const T,
        out: [*]T,
    };
}

/// Vectors that are computed side by side.
const together = 4;

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, job: *const Nonoverlapping(T)) void {
    switch (job.along) {
        .channels => for (0..job.windows) |window| {
            var channel: usize = 0;
            while (channel + together * lanes <= job.channels) : (channel += together * lanes) channelsOf(T, lanes, together, job, window, channel);
            while (channel + lanes <= job.channels) : (channel += lanes) channelsOf(T, lanes, 1, job, window, channel);
            while (channel < job.channels) : (channel += 1) channelsOf(T, 1, 1, job, window, channel);
        },
        .pairs => {
            var window: usize = 0;
            comptime var width = lanes;
            inline while (width > 0) : (width /= 2) {
                while (window + width <= job.windows) : (window += width) pairsOf(T, width, job, window);
            }
        },
    }
}

inline fn channelsOf(comptime T: type, comptime lanes: comptime_int, comptime vectors: comptime_int, job: *const Nonoverlapping(T), window: usize, channel: usize) void {
    const V = @Vector(lanes, T);
    const P = @Vector(lanes, Place(T));
    const column = window * job.columns;
    const image = pointers.offsetConst(T, job.image, @as(isize, @intCast(column)) * job.image_column) + channel;
    const out = pointers.offset(T, job.out, @as(isize, @intCast(column)) * job.out_column) + channel;
    const given = pointers.offsetConst(T, job.given, @as(isize, @intCast(window)) * job.given_step) + channel;
    var largest: [vectors]V = undefined;
    inline for (&largest, 0..) |*held, k| held.* = image[k * lanes ..][0..lanes].*;
    var holders: [vectors]P = @splat(@splat(0));
    for (0..job.rows) |i| for (0..job.columns) |j| {
        const at = @as(isize, @intCast(i)) * job.image_row + @as(isize, @intCast(j)) * job.image_column;
        const source = pointers.offsetConst(T, image, at);
        const place: P = @splat(@intCast(i * job.columns + j));
        inline for (0..vectors) |k| {
            const value: V = source[k * lanes ..][0..lanes].*;
            const takes_over = takesOver(V, largest[k], value);
            largest[k] = @select(T, takes_over, value, largest[k]);
            holders[k] = @select(Place(T), takes_over, place, holders[k]);
        }
    };
    const nothing: V = @splat(0);
    for (0..job.rows) |i| for (0..job.columns) |j| {
        const at = @as(isize, @intCast(i)) * job.out_row + @as(isize, @intCast(j)) * job.out_column;
        const target = pointers.offset(T, out, at);
        const place: P = @splat(@intCast(i * job.columns + j));
        inline for (0..vectors) |k| target[k * lanes ..][0..lanes].* = @select(T, holders[k] == place, @as(V, given[k * lanes ..][0..lanes].*), nothing);
    };
}

inline fn pairsOf(comptime T: type, comptime lanes: comptime_int, job: *const Nonoverlapping(T), window: usize) void {
    const V = @Vector(lanes, T);
    const P = @Vector(lanes, Place(T));
    const image = job.image + 2 * window;
    const out = job.out + 2 * window;
    const given: V = job.given[window..][0..lanes].*;
    const nothing: V = @splat(0);
    var largest: V = @splat(-std.math.inf(T));
    var holders: P = @splat(0);
    for (0..job.rows) |i| {
        const both: @Vector(2 * lanes, T) = pointers.offsetConst(T, image, @as(isize, @intCast(i)) * job.image_row)[0 .. 2 * lanes].*;
        const parts = std.simd.deinterlace(2, both);
        inline for (0..2) |j| {
            const takes_over = takesOver(V, largest, parts[j]);
            largest = @select(T, takes_over, parts[j], largest);
            holders = @select(Place(T), takes_over, @as(P, @splat(@intCast(2 * i + j))), holders);
        }
    }
    for (0..job.rows) |i| {
        var parts: [2]V = undefined;
        inline for (0..2) |j| parts[j] = @select(T, holders == @as(P, @splat(@intCast(2 * i + j))), given, nothing);
        pointers.offset(T, out, @as(isize, @intCast(i)) * job.out_row)[0 .. 2 * lanes].* = std.simd.interlace(parts);
    }
}

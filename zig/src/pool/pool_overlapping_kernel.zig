//! The gradient of the largest values of windows that overlap: vectors run over the windows of a row and find where the largest values are,
//! which then get their shares one by one.
//!
//! Values are compared as integers of the same order (`keysOf`): the larger of two is then one operation, and none depends on a comparison.

const std = @import("std");
const pointers = @import("../simd/pointers.zig");

/// An integer that counts values of the rows that are kept.
pub fn Place(comptime T: type) type {
    return if (T == f32) u32 else u64;
}

/// Integers in the order of values: equal where values are, zeros of both signs too, and the largest for every NaN.
pub fn Key(comptime T: type) type {
    return if (T == f32) i32 else i64;
}

/// A key below that of every value.
pub fn lowest(comptime T: type) Key(T) {
    return std.math.minInt(Key(T));
}

inline fn keysOf(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) @Vector(lanes, Key(T)) {
    const K = @Vector(lanes, Key(T));
    const largest: K = @splat(std.math.maxInt(Key(T)));
    // Minus zero plus zero is zero. Of negative numbers larger bits are smaller values.
    const bits: K = @bitCast(values + @as(@Vector(lanes, T), @splat(0)));
    const flipped = bits ^ (bits >> @splat(@bitSizeOf(T) - 1) & largest);
    return @select(Key(T), values == values, flipped, largest);
}

/// Some rows of windows, whose rows of the image and of its gradient are numbered from the first that they reach.
pub fn Windows(comptime T: type) type {
    return struct {
        rows: usize,
        columns: usize,
        /// Rows of taps; the first of the first window, which may lie before the image; from window to window and from tap to tap; and how many
        /// rows of the image there are.
        tap_rows: usize,
        row_start: isize,
        row_stride: usize,
        row_dilation: usize,
        image_rows: usize,
        /// Keys of the image, in lines: windows side by side in every tap, padded with the lowest. Vectors may read behind the windows.
        lines: [*]const Key(T),
        lines_row: usize,
        /// Of each column of taps, in the lines of a row.
        offsets: []const usize,
        /// From window to window, from tap to tap, and before the first column of the image.
        column_stride: usize,
        column_dilation: usize,
        column_padding: usize,
        given: [*]const T,
        given_row: isize,
        /// Added to, even windows and odd ones apart: neighbours often share their largest value, and would wait for each other. Behind each
        /// part is room for a vector of what belongs to no window.
        out: [2][*]T,
        out_row: usize,
        out_len: usize,
        /// Far values that are wanted soon, read and written: `ahead_len` more of them for each row of windows.
        ahead_read: [*]const T,
        ahead_written: [*]const T,
        ahead_len: usize,
    };
}

/// The keys of rows of adjacent values, in one line each, or in two: every other value, and those between.
pub fn Rows(comptime T: type) type {
    return struct {
        rows: usize,
        len: usize,
        source: [*]const T,
        source_row: isize,
        even: [*]Key(T),
        odd: ?[*]Key(T),
        lines_row: usize,
    };
}

/// Values that become keys in place.
pub fn Keys(comptime T: type) type {
    return struct { len: usize, values: [*]T };
}

/// Sums of the two parts of gradients, which are zero afterwards.
pub fn Move(comptime T: type) type {
    return struct { len: usize, source: [2][*]T, target: [*]T };
}

pub fn Step(comptime T: type) type {
    return union(enum) { windows: Windows(T), rows: Rows(T), keys: Keys(T), move: Move(T) };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, step: *const Step(T)) void {
    switch (step.*) {
        .windows => |*job| if (job.offsets.len == 3) allWindows(T, lanes, 3, job) else allWindows(T, lanes, null, job),
        .rows => |*job| for (0..job.rows) |row| if (job.odd == null) transposeRow(T, lanes, job, row) else split(T, lanes, job, row),
        .keys => |*job| {
            var at: usize = 0;
            while (at + lanes <= job.len) : (at += lanes) transposeIntoKeys(T, lanes, job, at);
            while (at < job.len) : (at += 1) transposeIntoKeys(T, 1, job, at);
        },
        .move => |*job| {
            var at: usize = 0;
            while (at + lanes <= job.len) : (at += lanes) move(T, lanes, job, at);
            while (at < job.len) : (at += 1) move(T, 1, job, at);
        },
    }
}

/// `taps` columns of taps, where that is known.
inline fn allWindows(comptime T: type, comptime lanes: comptime_int, comptime taps: ?comptime_int, job: *const Windows(T)) void {
    const line = 64 / @sizeOf(T);
    for (0..job.rows) |row| {
        var ahead = row * job.ahead_len;
        while (ahead < (row + 1) * job.ahead_len) : (ahead += line) {
            @prefetch(job.ahead_read + ahead, .{ .rw = .read, .locality = 2 });
            @prefetch(job.ahead_written + ahead, .{ .rw = .write, .locality = 2 });
        }
        var column: usize = 0;
        while (column < job.columns) : (column += lanes) giveBack(T, lanes, taps, job, row, column);
    }
}

/// Of equal values the first one wins; a NaN is larger than any number.
inline fn giveBack(comptime T: type, comptime lanes: comptime_int, comptime taps: ?comptime_int, job: *const Windows(T), row: usize, column: usize) void {
    const K = @Vector(lanes, Key(T));
    const P = @Vector(lanes, Place(T));
    var largest: K = @splat(lowest(T));
    var holders: P = @splat(0);
    var image_row = job.row_start + @as(isize, @intCast(row * job.row_stride));
    for (0..job.tap_rows) |_| {
        defer image_row += @intCast(job.row_dilation);
        if (image_row < 0 or image_row >= job.image_rows) continue;
        const at: usize = @intCast(image_row);
        const line = job.lines + at * job.lines_row + column;
        var place = at * job.out_row -% job.column_padding;
        if (taps) |count| {
            inline for (0..count) |tap| {
                take(T, K, P, &largest, &holders, line[job.offsets[tap]..][0..lanes].*, place);
                place +%= job.column_dilation;
            }
        } else for (job.offsets) |offset| {
            take(T, K, P, &largest, &holders, line[offset..][0..lanes].*, place);
            place +%= job.column_dilation;
        }
    }
    const starts = (std.simd.iota(Place(T), lanes) +% @as(P, @splat(@truncate(column)))) *% @as(P, @splat(@truncate(job.column_stride)));
    const given = pointers.offsetConst(T, job.given, @as(isize, @intCast(row)) * job.given_row) + column;
    if (column + lanes <= job.columns) return scatter(T, lanes, job.out, holders +% starts, given);
    const lane = std.simd.iota(Place(T), lanes);
    const is_window = lane < @as(P, @splat(@truncate(job.columns - column)));
    var padded: [lanes]T = @splat(0);
    for (padded[0 .. job.columns - column], given) |*share, value| share.* = value;
    scatter(T, lanes, job.out, @select(Place(T), is_window, holders +% starts, @as(P, @splat(@truncate(job.out_len))) +% lane), &padded);
}

inline fn scatter(comptime T: type, comptime lanes: comptime_int, out: [2][*]T, places: @Vector(lanes, Place(T)), given: [*]const T) void {
    inline for (0..lanes) |k| out[k % 2][places[k]] += given[k];
}

inline fn take(comptime T: type, comptime K: type, comptime P: type, largest: *K, holders: *P, key: K, place: usize) void {
    holders.* = @select(Place(T), key > largest.*, @as(P, @splat(@truncate(place))), holders.*);
    largest.* = @max(largest.*, key);
}

inline fn move(comptime T: type, comptime lanes: comptime_int, job: *const Move(T), at: usize) void {
    const V = @Vector(lanes, T);
    const even = job.source[0][at..][0..lanes];
    const odd = job.source[1][at..][0..lanes];
    const sum = @as(V, even.*) + @as(V, odd.*);
    even.* = @splat(0);
    odd.* = @splat(0);
    job.target[at..][0..lanes].* = sum;
}

inline fn transposeRow(comptime T: type, comptime lanes: comptime_int, job: *const Rows(T), row: usize) void {
    const source = pointers.offsetConst(T, job.source, @as(isize, @intCast(row)) * job.source_row);
    const target = job.even + row * job.lines_row;
    var at: usize = 0;
    comptime var width = lanes;
    inline while (width > 0) : (width /= 2) {
        while (at + width <= job.len) : (at += width) target[at..][0..width].* = keysOf(T, width, source[at..][0..width].*);
    }
}

inline fn split(comptime T: type, comptime lanes: comptime_int, job: *const Rows(T), row: usize) void {
    const all = pointers.offsetConst(T, job.source, @as(isize, @intCast(row)) * job.source_row);
    const even = job.even + row * job.lines_row;
    const odd = job.odd.? + row * job.lines_row;
    var pair: usize = 0;
    comptime var width = lanes;
    inline while (width > 0) : (width /= 2) {
        while (2 * (pair + width) <= job.len) : (pair += width) {
            const both: @Vector(2 * width, T) = all[2 * pair ..][0 .. 2 * width].*;
            const parts = std.simd.deinterlace(2, both);
            even[pair..][0..width].* = keysOf(T, width, parts[0]);
            odd[pair..][0..width].* = keysOf(T, width, parts[1]);
        }
    }
    if (2 * pair < job.len) even[pair] = keysOf(T, 1, .{all[2 * pair]})[0];
}

inline fn transposeIntoKeys(comptime T: type, comptime lanes: comptime_int, job: *const Keys(T), at: usize) void {
    job.values[at..][0..lanes].* = @bitCast(keysOf(T, lanes, job.values[at..][0..lanes].*));
}

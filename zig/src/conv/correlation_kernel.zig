//! The gradient of a convolution of each channel alone by its weights: for each tap, the sum over windows of what the tap reads times what the
//! window is given. Channels are adjacent.

const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");

/// Taps that are summed side by side: as many as a window of 3 x 3 has, with room for the rest in 16 registers.
const many_taps = 9;
/// The same, for what is left of other windows.
const few_taps = 3;

/// Neighbouring windows that are summed for all channels before the next: pixels of many channels lie a power of two apart, and all columns of a
/// row would share a few sets of the first cache.
const near_windows = 8;

/// Windows that have the same taps.
pub fn Correlation(comptime T: type) type {
    return struct {
        /// Channels.
        len: usize,
        rows: usize,
        columns: usize,
        /// In elements, from window to window, in the image and in what is given.
        image_row: isize,
        image_column: isize,
        given_row: isize,
        given_column: isize,
        tap_rows: usize,
        tap_columns: usize,
        tap_row: isize,
        tap_column: isize,
        /// The first tap of the first window.
        image: [*]const T,
        given: [*]const T,
        /// `len` values for the first tap; added to. From row to row of taps and from tap to tap.
        sums: [*]T,
        sums_row: usize,
        sums_column: usize,
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, job: *const Correlation(T)) void {
    if (job.len <= 2 * lanes) return windowsOf(T, lanes, arithmetic, job, .{ .row = 0, .column = 0, .rows = job.rows, .columns = job.columns });
    for (0..job.rows) |row| {
        var column: usize = 0;
        while (column < job.columns) : (column += near_windows) {
            const columns = @min(near_windows, job.columns - column);
            if (row + 1 < job.rows) askFor(T, job, row + 1, column, columns);
            windowsOf(T, lanes, arithmetic, job, .{ .row = row, .column = column, .rows = 1, .columns = columns });
        }
    }
}

/// Channels go before columns, which is no order that a processor sees through: the pixels that a row of windows adds are asked for.
inline fn askFor(comptime T: type, job: *const Correlation(T), row: usize, column: usize, columns: usize) void {
    const new_rows: usize = if (job.tap_rows > 1 and job.image_row > job.tap_row) 2 else 1;
    const new_columns: usize = if (job.tap_columns > 1 and job.image_column > job.tap_column) 2 else 1;
    for (column..column + columns) |at| {
        const window = @as(isize, @intCast(row)) * job.given_row + @as(isize, @intCast(at)) * job.given_column;
        ask(T, pointers.offsetConst(T, job.given, window), job.len);
        const first = @as(isize, @intCast(row)) * job.image_row + @as(isize, @intCast(at)) * job.image_column;
        for (job.tap_rows - new_rows..job.tap_rows) |i| for (0..new_columns) |j| {
            const tap = @as(isize, @intCast(i)) * job.tap_row + @as(isize, @intCast(j)) * job.tap_column;
            ask(T, pointers.offsetConst(T, job.image, first + tap), job.len);
        };
    }
}

inline fn ask(comptime T: type, values: [*]const T, len: usize) void {
    var at: usize = 0;
    while (at < len) : (at += 64 / @sizeOf(T)) @prefetch(values + at, .{ .locality = 2 });
}

/// Some of the windows.
const Part = struct { row: usize, column: usize, rows: usize, columns: usize };

inline fn windowsOf(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, job: *const Correlation(T), windows: Part) void {
    const taps = job.tap_rows * job.tap_columns;
    var tap: usize = 0;
    inline for (.{ many_taps, few_taps, 1 }) |count| {
        while (tap + count <= taps) : (tap += count) {
            var channel: usize = 0;
            while (channel + lanes <= job.len) : (channel += lanes) part(T, lanes, arithmetic, count, job, &windows, tap, channel);
            while (channel < job.len) : (channel += 1) part(T, 1, arithmetic, count, job, &windows, tap, channel);
        }
    }
}

inline fn part(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: fma.Arithmetic,
    comptime taps: comptime_int,
    job: *const Correlation(T),
    windows: *const Part,
    first: usize,
    channel: usize,
) void {
    const V = @Vector(lanes, T);
    var sources: [taps]isize = undefined;
    var targets: [taps][*]T = undefined;
    var sums: [taps]V = undefined;
    inline for (0..taps) |k| {
        const row = (first + k) / job.tap_columns;
        const column = (first + k) % job.tap_columns;
        sources[k] = @as(isize, @intCast(row)) * job.tap_row + @as(isize, @intCast(column)) * job.tap_column;
        targets[k] = job.sums + row * job.sums_row + column * job.sums_column + channel;
        sums[k] = targets[k][0..lanes].*;
    }
    const column: isize = @intCast(windows.column);
    for (windows.row..windows.row + windows.rows) |at| {
        const row: isize = @intCast(at);
        var image = pointers.offsetConst(T, job.image, row * job.image_row + column * job.image_column) + channel;
        var given = pointers.offsetConst(T, job.given, row * job.given_row + column * job.given_column) + channel;
        for (0..windows.columns) |_| {
            const share: V = given[0..lanes].*;
            inline for (0..taps) |k| {
                const value: V = pointers.offsetConst(T, image, sources[k])[0..lanes].*;
                sums[k] = fma.multiplyAdd(arithmetic, V, share, value, sums[k]);
            }
            image = pointers.offsetConst(T, image, job.image_column);
            given = pointers.offsetConst(T, given, job.given_column);
        }
    }
    inline for (0..taps) |k| targets[k][0..lanes].* = sums[k];
}

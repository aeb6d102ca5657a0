//! Windows over pixels whose channels are adjacent: largest values, sums, weighted sums, and what gradients give back to the taps.

const std = @import("std");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");

/// Vectors that are computed side by side, so that the latency of one hides behind the others.
const together = 4;

pub const Fold = enum { maximum, sum, weighted };
pub const Back = enum { largest, average };

/// Neighbouring results whose windows have the same taps: the extents of the windows, and steps in elements.
pub fn Taps(comptime T: type) type {
    return struct {
        /// Channels.
        len: usize,
        results: usize,
        /// From one result to the next, in the image and among the results.
        image_step: isize,
        result_step: isize,
        rows: usize,
        columns: usize,
        row_step: isize,
        column_step: isize,
        /// The first tap of the first result.
        image: [*]const T,

        inline fn at(taps: *const @This(), result: usize, row: usize, column: usize, channel: usize) isize {
            return @as(isize, @intCast(result)) * taps.image_step + @as(isize, @intCast(row)) * taps.row_step +
                @as(isize, @intCast(column)) * taps.column_step + @as(isize, @intCast(channel));
        }
    };
}

pub fn Window(comptime T: type) type {
    return struct {
        fold: Fold,
        taps: Taps(T),
        out: [*]T,
        /// What a sum is divided by.
        divisor: T = 1,
        /// Of the first tap, `len` values; from row to row and from tap to tap.
        weights: [*]const T = undefined,
        weights_row: usize = 0,
        weights_column: usize = 0,
        /// `len` values that weighted sums begin with.
        addend: ?[*]const T = null,
        /// Whether weighted sums are added to `out`, instead of to an addend.
        accumulates: bool = false,
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, job: *const Window(T)) void {
    switch (job.fold) {
        inline else => |fold| {
            const len = job.taps.len;
            var result: usize = 0;
            while (result < job.taps.results) {
                // Adjacent channels side by side where there are enough, else neighbouring results.
                const count: usize = if (len < together * lanes and result + together <= job.taps.results) together else 1;
                var channel: usize = 0;
                while (channel + together * lanes <= len) : (channel += together * lanes) {
                    part(T, lanes, arithmetic, fold, 1, together, job, result, channel);
                }
                while (channel + lanes <= len) : (channel += lanes) {
                    if (count == 1) part(T, lanes, arithmetic, fold, 1, 1, job, result, channel) else part(T, lanes, arithmetic, fold, together, 1, job, result, channel);
                }
                while (channel < len) : (channel += 1) {
                    if (count == 1) part(T, 1, arithmetic, fold, 1, 1, job, result, channel) else part(T, 1, arithmetic, fold, together, 1, job, result, channel);
                }
                result += count;
            }
        },
    }
}

/// `vectors` vectors of channels of `results` neighbouring results.
inline fn part(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: fma.Arithmetic,
    comptime fold: Fold,
    comptime results: comptime_int,
    comptime vectors: comptime_int,
    job: *const Window(T),
    first: usize,
    channel: usize,
) void {
    const V = @Vector(lanes, T);
    const taps = &job.taps;
    var sums: [results][vectors]V = undefined;
    inline for (0..vectors) |k| {
        const start: V = switch (fold) {
            .maximum => @splat(-std.math.inf(T)),
            .sum => @splat(0),
            .weighted => if (job.addend) |addend| addend[channel + k * lanes ..][0..lanes].* else @splat(0),
        };
        inline for (0..results) |i| sums[i][k] = start;
    }
    if (fold == .weighted and job.accumulates) inline for (0..results) |i| {
        const held = pointers.offset(T, job.out, @as(isize, @intCast(first + i)) * taps.result_step) + channel;
        inline for (0..vectors) |k| sums[i][k] = held[k * lanes ..][0..lanes].*;
    };
    var row_source = pointers.offsetConst(T, taps.image, taps.at(first, 0, 0, channel));
    var row_weights = job.weights + channel;
    for (0..taps.rows) |_| {
        var source = row_source;
        var weights = row_weights;
        for (0..taps.columns) |_| {
            inline for (0..vectors) |k| {
                const weight: V = if (fold == .weighted) weights[k * lanes ..][0..lanes].* else undefined;
                inline for (0..results) |i| {
                    const value: V = pointers.offsetConst(T, source, @as(isize, i) * taps.image_step)[k * lanes ..][0..lanes].*;
                    sums[i][k] = switch (fold) {
                        .maximum => larger(V, sums[i][k], value),
                        .sum => sums[i][k] + value,
                        .weighted => fma.multiplyAdd(arithmetic, V, weight, value, sums[i][k]),
                    };
                }
            }
            source = pointers.offsetConst(T, source, taps.column_step);
            if (fold == .weighted) weights += job.weights_column;
        }
        row_source = pointers.offsetConst(T, row_source, taps.row_step);
        if (fold == .weighted) row_weights += job.weights_row;
    }
    inline for (0..results) |i| {
        const to = pointers.offset(T, job.out, @as(isize, @intCast(first + i)) * taps.result_step) + channel;
        inline for (0..vectors) |k| {
            to[k * lanes ..][0..lanes].* = if (fold == .sum) sums[i][k] / @as(V, @splat(job.divisor)) else sums[i][k];
        }
    }
}

/// A NaN is larger than any number.
inline fn larger(comptime V: type, held: V, value: V) V {
    return @select(@typeInfo(V).vector.child, takesOver(V, held, value), value, held);
}

inline fn takesOver(comptime V: type, held: V, value: V) @Vector(@typeInfo(V).vector.len, bool) {
    return ~(value <= held) & (held == held);
}

pub fn WindowBack(comptime T: type) type {
    return struct {
        back: Back,
        /// With the steps of the gradient by the image, which are those of the image.
        taps: Taps(T),
        /// By the results.
        given: [*]const T,
        /// By the image, at the first tap of the first result; added to.
        gradient: [*]T,
        /// What a gradient is divided by.
        divisor: T = 1,
    };
}

pub inline fn applyBack(comptime T: type, comptime lanes: comptime_int, job: *const WindowBack(T)) void {
    switch (job.back) {
        inline else => |back| {
            const taps = &job.taps;
            // The window of most networks with every tap in registers.
            if (taps.rows == 3 and taps.columns == 3) giveBackAll(T, lanes, back, 3, job) else giveBackAll(T, lanes, back, null, job);
        },
    }
}

inline fn giveBackAll(comptime T: type, comptime lanes: comptime_int, comptime back: Back, comptime window: ?comptime_int, job: *const WindowBack(T)) void {
    for (0..job.taps.results) |result| {
        var channel: usize = 0;
        while (channel + lanes <= job.taps.len) : (channel += lanes) giveBack(T, lanes, back, window, job, result, channel);
        while (channel < job.taps.len) : (channel += 1) giveBack(T, 1, back, null, job, result, channel);
    }
}

/// `window` rows and columns of taps, where that is known.
inline fn giveBack(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime back: Back,
    comptime window: ?comptime_int,
    job: *const WindowBack(T),
    result: usize,
    channel: usize,
) void {
    const V = @Vector(lanes, T);
    const P = @Vector(lanes, if (T == f32) u32 else u64);
    const taps = &job.taps;
    const source = pointers.offsetConst(T, job.given, @as(isize, @intCast(result)) * taps.result_step) + channel;
    const start = taps.at(result, 0, 0, channel);
    var given: V = source[0..lanes].*;
    if (back == .average) given /= @splat(job.divisor);
    // The first of the largest values, counted in taps.
    var largest: V = undefined;
    var holder: P = @splat(0);
    if (back == .largest) {
        var row_image = pointers.offsetConst(T, taps.image, start);
        largest = row_image[0..lanes].*;
        var is_number = largest == largest;
        if (window) |extent| {
            inline for (0..extent) |row| {
                var image = row_image;
                inline for (0..extent) |column| {
                    if (row + column > 0) take(T, V, P, &largest, &holder, &is_number, image[0..lanes].*, @splat(row * extent + column));
                    image = pointers.offsetConst(T, image, taps.column_step);
                }
                row_image = pointers.offsetConst(T, row_image, taps.row_step);
            }
        } else for (0..taps.rows) |row| {
            var image = row_image;
            for (0..taps.columns) |column| {
                take(T, V, P, &largest, &holder, &is_number, image[0..lanes].*, @splat(@intCast(row * taps.columns + column)));
                image = pointers.offsetConst(T, image, taps.column_step);
            }
            row_image = pointers.offsetConst(T, row_image, taps.row_step);
        }
    }
    var row_target = pointers.offset(T, job.gradient, start);
    if (window) |extent| {
        inline for (0..extent) |row| {
            var target = row_target;
            inline for (0..extent) |column| {
                add(T, V, P, back, target[0..lanes], given, holder, @splat(row * extent + column));
                target = pointers.offset(T, target, taps.column_step);
            }
            row_target = pointers.offset(T, row_target, taps.row_step);
        }
    } else for (0..taps.rows) |row| {
        var target = row_target;
        for (0..taps.columns) |column| {
            add(T, V, P, back, target[0..lanes], given, holder, @splat(@intCast(row * taps.columns + column)));
            target = pointers.offset(T, target, taps.column_step);
        }
        row_target = pointers.offset(T, row_target, taps.row_step);
    }
}

/// What is equal to what is held does not take over, so the first tap may come twice. A NaN takes over and stays: whether what is held is a
/// number is known from the values alone, and does not wait for it.
inline fn take(
    comptime T: type,
    comptime V: type,
    comptime P: type,
    largest: *V,
    holder: *P,
    is_number: *@Vector(@typeInfo(V).vector.len, bool),
    value: V,
    b_value: P,
) void {
    const takes_over = ~(value <= largest.*) & is_number.*;
    is_number.* = is_number.* & (value == value);
    largest.* = @select(T, takes_over, value, largest.*);
    holder.* = @select(@typeInfo(P).vector.child, takes_over, b_value, holder.*);
}

inline fn add(comptime T: type, comptime V: type, comptime P: type, comptime back: Back, target: *[@typeInfo(V).vector.len]T, given: V, holder: P, b_value: P) void {
    const share: V = if (back == .largest) @select(T, holder == b_value, given, @as(V, @splat(0))) else given;
    target.* = @as(V, target.*) + share;
}

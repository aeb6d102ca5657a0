//! Normalisations of one row of adjacent values: softmax, log-softmax, layer norm, root-mean-square norm. In place or not.
//!
//! Sums are taken in blocks: within a block lane by lane, block sums in float64, so that long rows lose nothing.

const std = @import("std");
const elementary = @import("elementary.zig");
const micro_kernel = @import("micro_kernel.zig");
const stream_store = @import("stream_store.zig");
const vector_math = @import("vector_math.zig");

const Arithmetic = micro_kernel.Arithmetic;

/// Numbered as in agpu.h; normalize.zig asserts that.
pub const Operation = enum(u32) { softmax = 0, log_softmax = 1, layer_norm = 2, rms_norm = 3 };

pub fn Row(comptime T: type) type {
    return struct {
        operation: Operation,
        x: [*]const T,
        out: [*]T,
        len: usize,
        /// Factor and addend of each value, of layer_norm and rms_norm.
        scale: ?[*]const T,
        shift: ?[*]const T,
        epsilon: f64,
        /// The row that comes next, if its values are to be asked for meanwhile.
        next: ?[*]const T = null,
        /// Whether stores pass the caches by; to be followed by `stream_store.finish`.
        streams: bool = false,
    };
}

/// Values of a block: its sum in single precision keeps all but the last three bits.
const block_len = 4096;
/// Rows up to this long are asked for ahead and kept until they are written: they stay in L1.
pub const short_row = 2048;

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, row: *const Row(T)) void {
    // Everything below is one function.
    @setEvalBranchQuota(10_000);
    if (row.len == 0) return;
    switch (row.operation) {
        .softmax => softmax(T, lanes, arithmetic, row),
        .log_softmax => logSoftmax(T, lanes, arithmetic, row),
        .layer_norm => standardize(T, lanes, arithmetic, row, true),
        .rms_norm => standardize(T, lanes, arithmetic, row, false),
    }
}

/// What is done with each vector of a row on its way into a sum.
const Step = union(enum) {
    /// x
    plain,
    /// (x - shift)^2
    square_deviation,
    /// e^(x - shift), written to `out`.
    exp_written,
    /// e^(x - shift)
    exp,
};

/// Vectors whose additions do not wait for each other.
fn Group(comptime T: type, comptime lanes: comptime_int) type {
    return [chains]@Vector(lanes, T);
}

inline fn mapped(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime step: Step, group: Group(T, lanes), shift: T) Group(T, lanes) {
    const V = @Vector(lanes, T);
    const shifts: V = @splat(shift);
    var values: Group(T, lanes) = undefined;
    if (T == f32 and (step == .exp or step == .exp_written)) {
        // One question for all vectors. A value has the same bits either way.
        var is_ordinary: @Vector(lanes, bool) = @splat(true);
        inline for (0..chains) |part| {
            values[part] = group[part] - shifts;
            is_ordinary = is_ordinary & (@abs(values[part]) <= @as(V, @splat(vector_math.ordinary_exponent)));
        }
        if (@reduce(.And, is_ordinary)) {
            inline for (&values) |*value| value.* = vector_math.expOrdinary(arithmetic, V, value.*);
        } else {
            inline for (&values) |*value| value.* = vector_math.expAnywhere(arithmetic, V, value.*);
        }
        return values;
    }
    inline for (0..chains) |part| {
        const x = group[part];
        values[part] = switch (step) {
            .plain => x,
            .square_deviation => (x - shifts) * (x - shifts),
            .exp, .exp_written => elementary.exp(V, x - shifts),
        };
    }
    return values;
}

/// Asks for lines [from, from + lines) of a group of the next row.
inline fn ask(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), place: usize, comptime from: usize, comptime lines: usize) void {
    const next = row.next orelse return;
    const line_len = 64 / @sizeOf(T);
    inline for (from..from + lines) |line| {
        if (line * line_len < chains * lanes) @prefetch(next + place + line * line_len, .{});
    }
}

/// Additions of different chains do not wait for each other: more than an addition takes cycles, with two of them begun in each.
const chains = 4;

/// The sum of the lanes, halves upon halves: a chain of four additions instead of sixteen.
pub fn laneSum(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    const indices = std.simd.iota(i32, lanes);
    const low = @shuffle(T, values, undefined, std.simd.extract(indices, 0, half));
    const high = @shuffle(T, values, undefined, std.simd.extract(indices, half, half));
    return laneSum(T, half, low + high);
}

inline fn sum(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime step: Step, row: *const Row(T), out: [*]T, shift: T, comptime from: usize, comptime lines: usize) f64 {
    const V = @Vector(lanes, T);
    var total: f64 = 0;
    var begin: usize = 0;
    while (begin < row.len) {
        const end = @min(row.len, begin + block_len);
        var sums: Group(T, lanes) = @splat(@splat(0));
        var i = begin;
        while (i + chains * lanes <= end) : (i += chains * lanes) {
            ask(T, lanes, row, i, from, lines);
            var group: Group(T, lanes) = undefined;
            inline for (0..chains) |part| group[part] = row.x[i + part * lanes ..][0..lanes].*;
            const values = mapped(T, lanes, arithmetic, step, group, shift);
            inline for (0..chains) |part| {
                if (step == .exp_written) out[i + part * lanes ..][0..lanes].* = values[part];
                sums[part] += values[part];
            }
        }
        if (i < end) {
            var padded: [chains * lanes]T = @splat(shift);
            for (padded[0 .. end - i], row.x[i..end]) |*to, from_x| to.* = from_x;
            var group: Group(T, lanes) = undefined;
            inline for (0..chains) |part| group[part] = padded[part * lanes ..][0..lanes].*;
            const values = mapped(T, lanes, arithmetic, step, group, shift);
            inline for (0..chains) |part| padded[part * lanes ..][0..lanes].* = values[part];
            if (step == .exp_written) @memcpy(out[i..end], padded[0 .. end - i]);
            @memset(padded[end - i ..], 0);
            inline for (0..chains) |part| sums[part] += @as(V, padded[part * lanes ..][0..lanes].*);
        }
        total += laneSum(T, lanes, (sums[0] + sums[1]) + (sums[2] + sums[3]));
        begin = end;
    }
    return total;
}

inline fn largestOf(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) T {
    const V = @Vector(lanes, T);
    var parts: [chains]V = @splat(@splat(row.x[0]));
    var i: usize = 0;
    while (i + chains * lanes <= row.len) : (i += chains * lanes) {
        inline for (&parts, 0..) |*part, k| part.* = larger(V, row.x[i + k * lanes ..][0..lanes].*, part.*);
    }
    while (i + lanes <= row.len) : (i += lanes) parts[0] = larger(V, row.x[i..][0..lanes].*, parts[0]);
    var largest = @reduce(.Max, larger(V, larger(V, parts[0], parts[1]), larger(V, parts[2], parts[3])));
    for (i..row.len) |rest| largest = @max(largest, row.x[rest]);
    return largest;
}

/// One instruction, unlike @max; with a NaN among them either may come out, and the row is NaN throughout anyway.
inline fn larger(comptime V: type, a: V, b: V) V {
    return @select(@typeInfo(V).vector.child, a > b, a, b);
}

/// e^(x - max) / sum; a NaN or an infinity of the wrong sign in the row makes it NaN throughout.
inline fn softmax(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, row);
    if (row.streams and row.len <= short_row) {
        var powers: [short_row]T align(64) = undefined;
        const total = sum(T, lanes, arithmetic, .exp_written, row, &powers, largest, 0, chains);
        return finish(T, lanes, row, &powers, 0, @floatCast(1.0 / total), .{});
    }
    const total = sum(T, lanes, arithmetic, .exp_written, row, row.out, largest, 0, chains);
    var written = row.*;
    written.streams = false;
    finish(T, lanes, &written, row.out, 0, @floatCast(1.0 / total), .{});
}

/// (x - max) - log(sum)
inline fn logSoftmax(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, row);
    const total = sum(T, lanes, arithmetic, .exp, row, undefined, largest, 0, chains);
    const logarithm = elementary.log(@Vector(1, f64), .{total})[0];
    finish(T, lanes, row, row.x, largest, 1, .{ .shift_all = @as(T, @floatCast(-logarithm)) });
}

/// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + shift; the mean is zero for the root-mean-square norm.
inline fn standardize(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, row: *const Row(T), comptime is_centered: bool) void {
    const count: f64 = @floatFromInt(row.len);
    const mean: T = if (is_centered) @floatCast(sum(T, lanes, arithmetic, .plain, row, undefined, 0, 0, 2) / count) else 0;
    const variance = sum(T, lanes, arithmetic, .square_deviation, row, undefined, mean, if (is_centered) 2 else 0, if (is_centered) 2 else chains) / count;
    const factor: T = @floatCast(1.0 / @sqrt(variance + row.epsilon));
    if (row.scale) |scale| {
        if (row.shift) |shift| return finish(T, lanes, row, row.x, mean, factor, .{ .scale = scale, .shift = shift });
        return finish(T, lanes, row, row.x, mean, factor, .{ .scale = scale });
    }
    if (row.shift) |shift| return finish(T, lanes, row, row.x, mean, factor, .{ .shift = shift });
    finish(T, lanes, row, row.x, mean, factor, .{});
}

/// (source - mean) * factor, times scale and plus shift where there are any; each rounded.
inline fn finish(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), source: [*]const T, mean: T, factor: T, parameters: anytype) void {
    const V = @Vector(lanes, T);
    var at: usize = 0;
    if (row.streams) {
        const misaligned = @intFromPtr(row.out) / @sizeOf(T) % lanes;
        const head = if (misaligned == 0) 0 else @min(row.len, lanes - misaligned);
        while (at < head) : (at += 1) row.out[at] = finished(T, 1, source, at, mean, factor, parameters)[0];
        while (at + lanes <= row.len) : (at += lanes) {
            const value = finished(T, lanes, source, at, mean, factor, parameters);
            stream_store.store(lanes * @sizeOf(T), @ptrCast(row.out + at), @bitCast(value));
        }
    }
    while (at + chains * lanes <= row.len) : (at += chains * lanes) {
        var values: [chains]V = undefined;
        inline for (0..chains) |part| values[part] = finished(T, lanes, source, at + part * lanes, mean, factor, parameters);
        inline for (0..chains) |part| row.out[at + part * lanes ..][0..lanes].* = values[part];
    }
    while (at + lanes <= row.len) : (at += lanes) row.out[at..][0..lanes].* = finished(T, lanes, source, at, mean, factor, parameters);
    while (at < row.len) : (at += 1) row.out[at] = finished(T, 1, source, at, mean, factor, parameters)[0];
}

inline fn finished(comptime T: type, comptime lanes: comptime_int, source: [*]const T, at: usize, mean: T, factor: T, parameters: anytype) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    var value = (@as(V, source[at..][0..lanes].*) - @as(V, @splat(mean))) * @as(V, @splat(factor));
    if (@hasField(@TypeOf(parameters), "shift_all")) value += @as(V, @splat(parameters.shift_all));
    if (@hasField(@TypeOf(parameters), "scale")) value *= @as(V, parameters.scale[at..][0..lanes].*);
    if (@hasField(@TypeOf(parameters), "shift")) value += @as(V, parameters.shift[at..][0..lanes].*);
    return value;
}

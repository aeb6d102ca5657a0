//! Normalisations of one row of adjacent values: softmax, log-softmax, layer norm, root-mean-square norm. In place or not.
//!
//! Sums are taken in blocks: within a block lane by lane, block sums in float64, so that long rows lose nothing.

const std = @import("std");
const elementary = @import("elementary.zig");

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
    };
}

/// Values of a block: its sum in single precision keeps all but the last three bits.
const block_len = 4096;

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) void {
    // Everything below is one function.
    @setEvalBranchQuota(10_000);
    if (row.len == 0) return;
    switch (row.operation) {
        .softmax => softmax(T, lanes, row),
        .log_softmax => logSoftmax(T, lanes, row),
        .layer_norm => standardize(T, lanes, row, true),
        .rms_norm => standardize(T, lanes, row, false),
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

inline fn mapped(comptime T: type, comptime lanes: comptime_int, comptime step: Step, x: @Vector(lanes, T), shift: @Vector(lanes, T)) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    return switch (step) {
        .plain => x,
        .square_deviation => (x - shift) * (x - shift),
        .exp, .exp_written => elementary.exp(V, x - shift),
    };
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

inline fn sum(comptime T: type, comptime lanes: comptime_int, comptime step: Step, row: *const Row(T), shift: T) f64 {
    const V = @Vector(lanes, T);
    const shifts: V = @splat(shift);
    var total: f64 = 0;
    var begin: usize = 0;
    while (begin < row.len) {
        const end = @min(row.len, begin + block_len);
        var sums: [chains]V = @splat(@splat(0));
        var i = begin;
        while (i + chains * lanes <= end) : (i += chains * lanes) {
            inline for (0..chains) |part| {
                const x: V = row.x[i + part * lanes ..][0..lanes].*;
                const value = mapped(T, lanes, step, x, shifts);
                if (step == .exp_written) row.out[i + part * lanes ..][0..lanes].* = value;
                sums[part] += value;
            }
        }
        while (i < end) : (i += lanes) {
            const rest = @min(lanes, end - i);
            var padded: [lanes]T = @splat(shift);
            for (0..rest) |lane| padded[lane] = row.x[i + lane];
            const values: [lanes]T = mapped(T, lanes, step, padded, shifts);
            var kept: [lanes]T = @splat(0);
            for (0..rest) |lane| kept[lane] = values[lane];
            if (step == .exp_written) for (0..rest) |lane| {
                row.out[i + lane] = values[lane];
            };
            sums[0] += kept;
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
inline fn softmax(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, row);
    const total = sum(T, lanes, .exp_written, row, largest);
    const factor: T = @floatCast(1.0 / total);
    affine(T, lanes, row.out, row.out, row.len, factor, 0);
}

/// (x - max) - log(sum)
inline fn logSoftmax(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, row);
    const total = sum(T, lanes, .exp, row, largest);
    const logarithm = elementary.log(@Vector(1, f64), .{total})[0];
    const V = @Vector(lanes, T);
    const most: V = @splat(largest);
    const taken: V = @splat(@floatCast(logarithm));
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) row.out[i..][0..lanes].* = (@as(V, row.x[i..][0..lanes].*) - most) - taken;
    for (i..row.len) |rest| row.out[rest] = (row.x[rest] - largest) - taken[0];
}

/// target = source * factor + addend, with two roundings.
inline fn affine(comptime T: type, comptime lanes: comptime_int, source: [*]const T, target: [*]T, len: usize, factor: T, addend: T) void {
    const V = @Vector(lanes, T);
    const factors: V = @splat(factor);
    const addends: V = @splat(addend);
    var i: usize = 0;
    while (i + lanes <= len) : (i += lanes) target[i..][0..lanes].* = @as(V, source[i..][0..lanes].*) * factors + addends;
    for (i..len) |rest| target[rest] = source[rest] * factor + addend;
}

/// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + shift; the mean is zero for the root-mean-square norm.
inline fn standardize(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), comptime is_centered: bool) void {
    const count: f64 = @floatFromInt(row.len);
    const mean: T = if (is_centered) @floatCast(sum(T, lanes, .plain, row, 0) / count) else 0;
    const variance = sum(T, lanes, .square_deviation, row, mean) / count;
    const factor: T = @floatCast(1.0 / @sqrt(variance + row.epsilon));
    if (row.scale) |scale| {
        if (row.shift) |shift| return finish(T, lanes, row, mean, factor, scale, shift);
        return finish(T, lanes, row, mean, factor, scale, null);
    }
    if (row.shift) |shift| return finish(T, lanes, row, mean, factor, null, shift);
    return finish(T, lanes, row, mean, factor, null, null);
}

/// (x - mean) * factor * scale + shift, each rounded.
inline fn finish(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), mean: T, factor: T, scale: anytype, shift: anytype) void {
    const V = @Vector(lanes, T);
    const means: V = @splat(mean);
    const factors: V = @splat(factor);
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) {
        var value = (@as(V, row.x[i..][0..lanes].*) - means) * factors;
        if (@TypeOf(scale) != @TypeOf(null)) value *= @as(V, scale[i..][0..lanes].*);
        if (@TypeOf(shift) != @TypeOf(null)) value += @as(V, shift[i..][0..lanes].*);
        row.out[i..][0..lanes].* = value;
    }
    for (i..row.len) |rest| {
        var value = (row.x[rest] - mean) * factor;
        if (@TypeOf(scale) != @TypeOf(null)) value *= scale[rest];
        if (@TypeOf(shift) != @TypeOf(null)) value += shift[rest];
        row.out[rest] = value;
    }
}

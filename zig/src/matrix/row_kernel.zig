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

inline fn sum(comptime T: type, comptime lanes: comptime_int, comptime step: Step, row: *const Row(T), shift: T) f64 {
    const V = @Vector(lanes, T);
    const shifts: V = @splat(shift);
    var total: f64 = 0;
    var begin: usize = 0;
    while (begin < row.len) {
        const end = @min(row.len, begin + block_len);
        var sums: [2]V = @splat(@splat(0));
        var i = begin;
        while (i + 2 * lanes <= end) : (i += 2 * lanes) {
            inline for (0..2) |part| {
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
        total += @reduce(.Add, sums[0] + sums[1]);
        begin = end;
    }
    return total;
}

inline fn largestOf(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) T {
    const V = @Vector(lanes, T);
    var most: V = @splat(row.x[0]);
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) most = @max(most, @as(V, row.x[i..][0..lanes].*));
    var largest = @reduce(.Max, most);
    for (i..row.len) |rest| largest = @max(largest, row.x[rest]);
    return largest;
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
    const V = @Vector(lanes, T);
    const means: V = @splat(mean);
    const factors: V = @splat(factor);
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) {
        var value = (@as(V, row.x[i..][0..lanes].*) - means) * factors;
        if (row.scale) |scale| value *= @as(V, scale[i..][0..lanes].*);
        if (row.shift) |shift| value += @as(V, shift[i..][0..lanes].*);
        row.out[i..][0..lanes].* = value;
    }
    for (i..row.len) |rest| {
        var value = (row.x[rest] - mean) * factor;
        if (row.scale) |scale| value *= scale[rest];
        if (row.shift) |shift| value += shift[rest];
        row.out[rest] = value;
    }
}

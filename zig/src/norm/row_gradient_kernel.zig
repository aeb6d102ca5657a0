//! Gradients of the normalisations of one row of adjacent values (row_kernel.zig): from the gradient of the result, that of the argument. In
//! place or not. Sums are taken as there: in blocks, lane by lane, the sums of blocks in float64.

const std = @import("std");
const elementary = @import("../simd/elementary.zig");
const row_kernel = @import("row_kernel.zig");
const wide_row = @import("wide_row.zig");

pub fn Row(comptime T: type) type {
    return struct {
        operation: row_kernel.Operation,
        /// The argument of a norm; of the softmaxes the result.
        x: [*]const T,
        /// The gradient of the result.
        gradient: [*]const T,
        out: [*]T,
        len: usize,
        /// Factor of each value, of layer_norm and rms_norm.
        scale: ?[*]const T,
        epsilon: f64,
    };
}

/// Values of a block; as in row_kernel.zig.
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

/// The quantity that is summed; `shift` is the mean.
const Term = enum {
    x,
    /// (x - shift)^2
    square_deviation,
    gradient,
    /// gradient x
    product,
    /// gradient scale
    scaled,
    /// gradient scale (x - shift)
    scaled_deviation,
};

inline fn valueOf(comptime T: type, comptime len: comptime_int, comptime term: Term, row: *const Row(T), index: usize, shift: @Vector(len, T)) @Vector(len, T) {
    const V = @Vector(len, T);
    const x: V = row.x[index..][0..len].*;
    const gradient: V = row.gradient[index..][0..len].*;
    return switch (term) {
        .x => x,
        .square_deviation => (x - shift) * (x - shift),
        .gradient => gradient,
        .product => gradient * x,
        .scaled => scaled(T, len, row, index),
        .scaled_deviation => scaled(T, len, row, index) * (x - shift),
    };
}

inline fn scaled(comptime T: type, comptime len: comptime_int, row: *const Row(T), index: usize) @Vector(len, T) {
    const V = @Vector(len, T);
    const gradient: V = row.gradient[index..][0..len].*;
    const scale = row.scale orelse return gradient;
    return gradient * @as(V, scale[index..][0..len].*);
}

inline fn sum(comptime T: type, comptime lanes: comptime_int, comptime term: Term, row: *const Row(T), shift: T) f64 {
    const V = @Vector(lanes, T);
    const shifts: V = @splat(shift);
    var total: f64 = 0;
    var begin: usize = 0;
    while (begin < row.len) {
        const end = @min(row.len, begin + block_len);
        var sums: [2]V = @splat(@splat(0));
        var i = begin;
        while (i + 2 * lanes <= end) : (i += 2 * lanes) {
            inline for (0..2) |part| sums[part] += valueOf(T, lanes, term, row, i + part * lanes, shifts);
        }
        var rest: T = 0;
        while (i < end) : (i += 1) rest += valueOf(T, 1, term, row, i, .{shift})[0];
        total += row_kernel.laneSum(T, lanes, sums[0] + sums[1]) + rest;
        begin = end;
    }
    return total;
}

/// y (g - sum of g y)
inline fn softmax(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) void {
    const total: T = @floatCast(sum(T, lanes, .product, row, 0));
    if (T == f32 and !std.math.isFinite(total)) return wide_row.softmaxGradient(row.x[0..row.len], row.gradient, row.out);
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) softmaxAt(T, lanes, row, i, total);
    while (i < row.len) : (i += 1) softmaxAt(T, 1, row, i, total);
}

inline fn softmaxAt(comptime T: type, comptime len: comptime_int, row: *const Row(T), index: usize, total: T) void {
    const V = @Vector(len, T);
    const y: V = row.x[index..][0..len].*;
    const gradient: V = row.gradient[index..][0..len].*;
    row.out[index..][0..len].* = y * (gradient - @as(V, @splat(total)));
}

/// g - e^y sum of g
inline fn logSoftmax(comptime T: type, comptime lanes: comptime_int, row: *const Row(T)) void {
    const V = @Vector(lanes, T);
    const sum_of_gradient: T = @floatCast(sum(T, lanes, .gradient, row, 0));
    if (T == f32 and !std.math.isFinite(sum_of_gradient)) return wide_row.logSoftmaxGradient(row.x[0..row.len], row.gradient, row.out);
    const total: V = @splat(sum_of_gradient);
    var i: usize = 0;
    while (i < row.len) : (i += lanes) {
        const rest = @min(lanes, row.len - i);
        // The last few go through the same vector code.
        var y: [lanes]T = @splat(0);
        var gradient: [lanes]T = @splat(0);
        for (0..rest) |lane| {
            y[lane] = row.x[i + lane];
            gradient[lane] = row.gradient[i + lane];
        }
        const values: [lanes]T = @as(V, gradient) - elementary.exp(V, @as(V, y)) * total;
        for (0..rest) |lane| row.out[i + lane] = values[lane];
    }
}

/// With h = g scale, n = (x - mean) r and r = 1 / sqrt(variance + epsilon): r (h - mean of h - n mean of h n); the means of x and h are zero for the
/// root-mean-square norm.
inline fn standardize(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), comptime is_centered: bool) void {
    const count: f64 = @floatFromInt(row.len);
    const mean: T = if (is_centered) @floatCast(sum(T, lanes, .x, row, 0) / count) else 0;
    const variance = sum(T, lanes, .square_deviation, row, mean) / count;
    const factor = 1.0 / @sqrt(variance + row.epsilon);
    const level: T = if (is_centered) @floatCast(sum(T, lanes, .scaled, row, 0) / count) else 0;
    const slope: T = @floatCast(sum(T, lanes, .scaled_deviation, row, mean) / count * factor * factor);
    const factors: T = @floatCast(factor);
    if (T == f32 and (wide_row.isNeeded(variance, row.epsilon) or !std.math.isFinite(level) or !std.math.isFinite(slope))) {
        return wide_row.standardizeGradient(row.x[0..row.len], row.gradient, row.scale, row.out, is_centered, row.epsilon);
    }
    var i: usize = 0;
    while (i + lanes <= row.len) : (i += lanes) standardizeAt(T, lanes, row, i, mean, level, slope, factors);
    while (i < row.len) : (i += 1) standardizeAt(T, 1, row, i, mean, level, slope, factors);
}

inline fn standardizeAt(comptime T: type, comptime len: comptime_int, row: *const Row(T), index: usize, mean: T, level: T, slope: T, factor: T) void {
    const V = @Vector(len, T);
    const x: V = row.x[index..][0..len].*;
    const centred = scaled(T, len, row, index) - @as(V, @splat(level));
    row.out[index..][0..len].* = @as(V, @splat(factor)) * (centred - (x - @as(V, @splat(mean))) * @as(V, @splat(slope)));
}

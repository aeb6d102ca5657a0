//! Activations of the network language over runs of adjacent float32 values, with the bias added first.
//!
//! A value's result does not depend on where it stands in a run, nor (softmax aside, whose sum is taken lane by lane) on the instruction
//! set: nothing here is fused.

const std = @import("std");
const vector_math = @import("vector_math.zig");

pub const Kind = @import("../operations.zig").Activation;

/// `values[i] = f(values[i] + bias)`.
pub const Run = struct {
    values: [*]f32,
    len: usize,
    bias: Bias,
    kind: Kind,
    /// Slope of leaky_relu, scale of elu, alpha of neuromorphic.
    alpha: f32,
    /// beta of neuromorphic.
    beta: f32,

    pub const Bias = union(enum) {
        none,
        /// One bias for all values of the run.
        one: f32,
        /// One bias for each value.
        each: [*]const f32,
    };
};

pub inline fn apply(comptime lanes: usize, run: *const Run) void {
    // Every kind of activation is compiled here, each with the series of its functions.
    @setEvalBranchQuota(10_000);
    addBias(lanes, run);
    switch (run.kind) {
        .identity => {},
        .softmax => softmax(lanes, run.values, run.len),
        inline else => |kind| applyElementwise(lanes, kind, run),
    }
}

inline fn addBias(comptime lanes: usize, run: *const Run) void {
    const V = @Vector(lanes, f32);
    const whole = run.len / lanes * lanes;
    switch (run.bias) {
        .none => {},
        .one => |bias| {
            var i: usize = 0;
            while (i < whole) : (i += lanes) {
                const values: V = run.values[i..][0..lanes].*;
                run.values[i..][0..lanes].* = values + @as(V, @splat(bias));
            }
            for (whole..run.len) |rest| run.values[rest] += bias;
        },
        .each => |biases| {
            var i: usize = 0;
            while (i < whole) : (i += lanes) {
                const values: V = run.values[i..][0..lanes].*;
                const added: V = biases[i..][0..lanes].*;
                run.values[i..][0..lanes].* = values + added;
            }
            for (whole..run.len) |rest| run.values[rest] += biases[rest];
        },
    }
}

inline fn applyElementwise(comptime lanes: usize, comptime kind: Kind, run: *const Run) void {
    const V = @Vector(lanes, f32);
    var i: usize = 0;
    while (i + lanes <= run.len) : (i += lanes) {
        run.values[i..][0..lanes].* = elementwise(V, kind, run.values[i..][0..lanes].*, run.alpha, run.beta);
    }
    const rest = run.len - i;
    if (rest == 0) return;
    // The last few go through the same vector code, so that position does not change a bit.
    var padded: [lanes]f32 = @splat(0);
    for (0..rest) |lane| padded[lane] = run.values[i + lane];
    padded = elementwise(V, kind, padded, run.alpha, run.beta);
    for (0..rest) |lane| run.values[i + lane] = padded[lane];
}

inline fn elementwise(comptime V: type, comptime kind: Kind, x: V, alpha: f32, beta: f32) V {
    const zero: V = @splat(0);
    const alphas: V = @splat(alpha);
    return switch (kind) {
        .relu => @select(f32, x < zero, zero, x),
        .leaky_relu => @select(f32, x < zero, alphas * x, x),
        .sigmoid => vector_math.sigmoid(V, x),
        .tanh => vector_math.tanh(V, x),
        .gelu => vector_math.gelu(V, x),
        .silu => x * vector_math.sigmoid(V, x),
        .softplus => vector_math.softplus(V, x),
        .elu => @select(f32, x < zero, alphas * vector_math.expm1(V, @min(x, zero)), x),
        .neuromorphic => vector_math.tanh(V, alphas * x) + @as(V, @splat(beta)) * x * vector_math.exp(V, -x * x),
        .identity, .softmax => comptime unreachable,
    };
}

/// Computes softmax in place over one row. The largest value is subtracted first, so that nothing overflows.
inline fn softmax(comptime lanes: usize, values: [*]f32, len: usize) void {
    const V = @Vector(lanes, f32);
    if (len == 0) return;
    const whole = len / lanes * lanes;
    var largest: f32 = values[0];
    if (whole > 0) {
        var most: V = values[0..lanes].*;
        var i: usize = lanes;
        while (i < whole) : (i += lanes) most = @max(most, @as(V, values[i..][0..lanes].*));
        largest = @reduce(.Max, most);
    }
    for (whole..len) |i| largest = @max(largest, values[i]);

    const shift: V = @splat(largest);
    var sums: V = @splat(0);
    var i: usize = 0;
    while (i < whole) : (i += lanes) {
        const powers = vector_math.exp(V, @as(V, values[i..][0..lanes].*) - shift);
        values[i..][0..lanes].* = powers;
        sums += powers;
    }
    if (whole < len) {
        var padded: [lanes]f32 = @splat(-std.math.inf(f32));
        for (whole..len) |at| padded[at - whole] = values[at] - largest;
        const powers: [lanes]f32 = vector_math.exp(V, padded);
        for (whole..len) |at| values[at] = powers[at - whole];
        sums += powers;
    }
    const scale: V = @splat(1.0 / @reduce(.Add, sums));
    i = 0;
    while (i < whole) : (i += lanes) {
        values[i..][0..lanes].* = @as(V, values[i..][0..lanes].*) * scale;
    }
    for (whole..len) |at| values[at] *= scale[0];
}

/// The scalar twin, in float64.
pub fn scalar(kind: Kind, x: f64, alpha: f64, beta: f64) f64 {
    return switch (kind) {
        .identity => x,
        .relu => if (x < 0) 0 else x,
        .leaky_relu => if (x < 0) alpha * x else x,
        .sigmoid => vector_math.scalar.sigmoid(x),
        .tanh => std.math.tanh(x),
        .gelu => vector_math.scalar.gelu(x),
        .silu => x * vector_math.scalar.sigmoid(x),
        .softplus => vector_math.scalar.softplus(x),
        .elu => if (x < 0) alpha * std.math.expm1(x) else x,
        .neuromorphic => std.math.tanh(alpha * x) + beta * x * @exp(-x * x),
        .softmax => unreachable,
    };
}

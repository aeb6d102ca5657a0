//! Gradients of normalisations on every instruction set of this machine, against their definitions in float64.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const normalize_gradient = @import("normalize_gradient.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const rows = 5;
const columns = 203;

fn viewOf(comptime T: type, values: []T, strides: [2]isize) strided.View {
    var view: strided.View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = 2, .shape = @splat(1), .strides = @splat(0) };
    view.shape[0..2].* = .{ rows, columns };
    view.strides[0..2].* = strides;
    return view;
}

fn at(values: anytype, strides: [2]isize, row: usize, column: usize) f64 {
    return values[row * @as(usize, @intCast(strides[0])) + column * @as(usize, @intCast(strides[1]))];
}

/// One row by the definition.
fn scalar(operation: generic.row_kernel.Operation, x: *const [columns]f64, gradient: *const [columns]f64, out: *[columns]f64) void {
    var sum: f64 = 0;
    var mean: f64 = 0;
    for (x, gradient) |value, slope| {
        sum += if (operation == .softmax) value * slope else slope;
        mean += value / columns;
    }
    if (operation == .rms_norm) mean = 0;
    var variance: f64 = 0;
    for (x) |value| variance += (value - mean) * (value - mean) / columns;
    const factor = 1 / @sqrt(variance + 1e-3);
    var level: f64 = 0;
    var along: f64 = 0;
    for (x, gradient) |value, slope| {
        if (operation == .layer_norm) level += slope / columns;
        along += slope * (value - mean) * factor / columns;
    }
    for (x, gradient, out) |value, slope, *target| target.* = switch (operation) {
        .softmax => value * (slope - sum),
        .log_softmax => slope - @exp(value) * sum,
        .layer_norm, .rms_norm => factor * (slope - level - (value - mean) * factor * along),
    };
}

fn testGradients(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(41);
    const rng = random.random();
    var x: [rows * columns]T = undefined;
    var gradient: [rows * columns]T = undefined;
    var out: [rows * columns]T = undefined;
    for (&x, &gradient) |*value, *slope| {
        value.* = rng.floatNorm(T) * 0.1;
        slope.* = rng.floatNorm(T);
    }
    const executor = test_support.executor(3);
    for (kernels.available()) |set| for (std.enums.values(generic.row_kernel.Operation)) |operation| {
        for ([_][2]isize{ .{ columns, 1 }, .{ 1, rows } }) |strides| {
            try normalize_gradient.runWith(T, tensor_kernels.tableOf(T, set), &.{
                .operation = operation,
                .x = viewOf(T, &x, strides),
                .gradient = viewOf(T, &gradient, strides),
                .out = viewOf(T, &out, strides),
                .row_axes = 1,
                .epsilon = 1e-3,
            }, &executor);
            for (0..rows) |row| {
                var values: [columns]f64 = undefined;
                var slopes: [columns]f64 = undefined;
                var expected: [columns]f64 = undefined;
                for (0..columns) |column| {
                    values[column] = at(x, strides, row, column);
                    slopes[column] = at(gradient, strides, row, column);
                }
                scalar(operation, &values, &slopes, &expected);
                for (expected, 0..) |wanted, column| {
                    try std.testing.expectApproxEqAbs(wanted, at(out, strides, row, column), 200 * std.math.floatEps(T) * (1 + @abs(wanted)));
                }
            }
        }
    };
}

test "gradients of normalisations agree with their definitions on every instruction set and layout" {
    try testGradients(f32);
    try testGradients(f64);
}

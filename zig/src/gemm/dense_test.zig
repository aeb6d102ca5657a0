//! Dense layers and activations against their scalar twins.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const dense = @import("dense.zig");
const kernels = @import("gemm_kernels.zig");
const support = @import("../tensor/test_support.zig");

const activation = generic.activation;
const Kind = activation.Kind;
const RandomMatrix = support.RandomMatrix;

const alpha: f32 = 0.5;
const beta: f32 = 0.25;

/// Relative to the larger of the result and 1e-6.
const activation_tolerance = 1e-6;
/// Sums of up to 60 products of numbers below 1 in float32, through functions with slopes up to about 1.2.
const layer_tolerance = 2e-5;

fn expectActivated(kind: Kind, x: f32, result: f32) !void {
    const expected = activation.scalar(kind, x, alpha, beta);
    const allowed = activation_tolerance * @max(@abs(expected), 1.0);
    std.testing.expectApproxEqAbs(expected, @as(f64, result), allowed) catch |failure| {
        std.debug.print("{t}({d}) = {d}, expected {d}\n", .{ kind, x, result, expected });
        return failure;
    };
}

test "every activation agrees with its scalar twin, over all magnitudes and every length of the remainder" {
    var values: [4099]f32 = undefined;
    for (kernels.available()) |set| {
        for (std.enums.values(Kind)) |kind| {
            if (kind == .softmax) continue;
            for ([_]usize{ 1, 15, 16, 17, 31, values.len }) |len| {
                for (values[0..len], 0..) |*value, i| value.* = sample(i);
                kernels.tableOf(f32, set).activate(&.{
                    .values = &values,
                    .len = len,
                    .bias = .none,
                    .kind = kind,
                    .alpha = alpha,
                    .beta = beta,
                });
                for (values[0..len], 0..) |value, i| try expectActivated(kind, sample(i), value);
            }
        }
    }
}

/// A line through zero, then both signs of magnitudes from 1e-20 to 100.
fn sample(index: usize) f32 {
    const position: f32 = @floatFromInt(index);
    if (index < 2000) return (position - 1000) / 80;
    const magnitude = std.math.pow(f32, 10, (position - 2000) / 2100 * 22 - 20);
    return if (index % 2 == 0) magnitude else -magnitude;
}

test "activations keep NaN and have the right limits" {
    const inf = std.math.inf(f32);
    for (kernels.available()) |set| {
        for (std.enums.values(Kind)) |kind| {
            var values = [_]f32{std.math.nan(f32)};
            const run: activation.Run = .{ .values = &values, .len = 1, .bias = .none, .kind = kind, .alpha = 1, .beta = 0 };
            kernels.tableOf(f32, set).activate(&run);
            try std.testing.expect(std.math.isNan(values[0]));
        }
        const Limit = struct { kind: Kind, at: f32, is: f32 };
        for ([_]Limit{
            .{ .kind = .sigmoid, .at = inf, .is = 1 },
            .{ .kind = .sigmoid, .at = -inf, .is = 0 },
            .{ .kind = .tanh, .at = inf, .is = 1 },
            .{ .kind = .tanh, .at = -inf, .is = -1 },
            .{ .kind = .softplus, .at = inf, .is = inf },
            .{ .kind = .softplus, .at = -inf, .is = 0 },
            .{ .kind = .elu, .at = -inf, .is = -1 },
            .{ .kind = .relu, .at = -inf, .is = 0 },
            .{ .kind = .gelu, .at = inf, .is = inf },
        }) |limit| {
            var values = [_]f32{limit.at};
            kernels.tableOf(f32, set).activate(&.{ .values = &values, .len = 1, .bias = .none, .kind = limit.kind, .alpha = 1, .beta = 0 });
            try std.testing.expectEqual(limit.is, values[0]);
        }
    }
}

test "softmax rows sum to one and survive large values" {
    for (kernels.available()) |set| {
        for ([_]usize{ 1, 2, 10, 16, 33, 1000 }) |len| {
            var values: [1000]f32 = undefined;
            for (values[0..len], 0..) |*value, i| value.* = 3e38 - @as(f32, @floatFromInt(i % 3)) * 1e38;
            values[0] = -std.math.inf(f32);
            if (len == 1) values[0] = 1e30;
            const run: activation.Run = .{ .values = &values, .len = len, .bias = .none, .kind = .softmax, .alpha = 0, .beta = 0 };
            kernels.tableOf(f32, set).activate(&run);
            var sum: f64 = 0;
            for (values[0..len]) |value| sum += value;
            try std.testing.expectApproxEqAbs(1.0, sum, 1e-5);
            if (len > 1) try std.testing.expectEqual(0, values[0]);
        }
    }
}

fn vectorTensor(data: []f32, shape: *[1]i64, strides: *[1]i64) abi.Tensor {
    return .{
        .data = data.ptr,
        .device = .{ .device_type = abi.device_cpu, .device_id = 0 },
        .ndim = 1,
        .dtype = .{ .code = abi.dtype_float, .bits = 32, .lanes = 1 },
        .shape = shape,
        .strides = strides,
        .byte_offset = 0,
    };
}

fn hostOf(matrix: RandomMatrix(f32)) support.Host {
    return .{
        .shape = .{ @intCast(matrix.rows), @intCast(matrix.columns) },
        .strides = .{ matrix.row_stride, matrix.column_stride },
    };
}

test "layers with random shapes, strides and bias agree with the scalar twin for every activation" {
    var random: std.Random.DefaultPrng = .init(21);
    const rng = random.random();
    for (0..220) |round| {
        const kind: Kind = @fromBackingInt(@as(u32, @intCast(round % 11)));
        const batch = rng.uintLessThan(usize, 40);
        const inputs = rng.uintLessThan(usize, 60);
        const outputs = rng.uintLessThan(usize, 70);
        const x: RandomMatrix(f32) = try .init(rng, batch, inputs, true);
        defer x.deinit();
        const weight: RandomMatrix(f32) = try .init(rng, inputs, outputs, true);
        defer weight.deinit();
        const out: RandomMatrix(f32) = try .init(rng, batch, outputs, false);
        defer out.deinit();
        var bias: [140]f32 = undefined;
        for (&bias) |*value| value.* = rng.float(f32);
        const bias_stride: usize = if (rng.boolean()) 1 else 2;
        const has_bias = rng.uintLessThan(u8, 3) > 0;

        var x_host = hostOf(x);
        var weight_host = hostOf(weight);
        var out_host = hostOf(out);
        var bias_shape = [1]i64{@intCast(outputs)};
        var bias_strides = [1]i64{@intCast(bias_stride)};
        const x_tensor = x_host.tensor(f32, x.ptr());
        const weight_tensor = weight_host.tensor(f32, weight.ptr());
        var out_tensor = out_host.tensor(f32, out.ptr());
        const bias_tensor = vectorTensor(&bias, &bias_shape, &bias_strides);
        const given: abi.Activation = .{ .kind = @backingInt(kind), .alpha = alpha, .beta = beta, .reserved = 0 };
        const executor = support.executor(3);
        try std.testing.expectEqual(abi.ok, dense.denseForward(
            &x_tensor,
            &weight_tensor,
            if (has_bias) &bias_tensor else null,
            &out_tensor,
            &given,
            if (rng.boolean()) &executor else null,
        ));

        for (0..batch) |row| {
            var sums: [70]f64 = undefined;
            for (sums[0..outputs], 0..) |*sum, column| {
                const added: f64 = if (has_bias) bias[column * bias_stride] else 0;
                sum.* = support.scalarMatmul(f32, x, weight, row, column) + added;
            }
            if (kind == .softmax) scalarSoftmax(sums[0..outputs]);
            for (sums[0..outputs], 0..) |sum, column| {
                const expected = if (kind == .softmax) sum else activation.scalar(kind, sum, alpha, beta);
                const allowed = layer_tolerance * @max(1, @abs(expected));
                try std.testing.expectApproxEqAbs(expected, @as(f64, out.at(row, column).*), allowed);
            }
        }
    }
}

fn scalarSoftmax(row: []f64) void {
    var largest = -std.math.inf(f64);
    for (row) |value| largest = @max(largest, value);
    var total: f64 = 0;
    for (row) |*value| {
        value.* = @exp(value.* - largest);
        total += value.*;
    }
    for (row) |*value| value.* /= total;
}

test "a layer refuses what does not fit" {
    var data: [64]f32 = @splat(0);
    var square: support.Host = .rowMajor(4, 4);
    const x = square.tensor(f32, &data);
    const weight = square.tensor(f32, data[16..].ptr);
    var out = square.tensor(f32, data[32..].ptr);
    var bias_shape = [1]i64{3};
    var bias_strides = [1]i64{1};
    const short_bias = vectorTensor(data[48..], &bias_shape, &bias_strides);
    const relu: abi.Activation = .{ .kind = abi.activation_relu, .alpha = 0, .beta = 0, .reserved = 0 };
    const unknown: abi.Activation = .{ .kind = 11, .alpha = 0, .beta = 0, .reserved = 0 };

    try std.testing.expectEqual(abi.ok, dense.denseForward(&x, &weight, null, &out, &relu, null));
    try std.testing.expectEqual(abi.errors.shape_mismatch, dense.denseForward(&x, &weight, &short_bias, &out, &relu, null));
    try std.testing.expectEqual(abi.errors.invalid_argument, dense.denseForward(&x, &weight, null, &out, &unknown, null));
    try std.testing.expectEqual(abi.errors.invalid_argument, dense.denseForward(&x, &weight, null, &out, null, null));
    try std.testing.expectEqual(abi.errors.invalid_argument, dense.denseForward(null, &weight, null, &out, &relu, null));

    bias_shape[0] = 4;
    const bias_in_out = vectorTensor(data[40..], &bias_shape, &bias_strides);
    try std.testing.expectEqual(abi.errors.invalid_argument, dense.denseForward(&x, &weight, &bias_in_out, &out, &relu, null));

    var doubles: [48]f64 = @splat(0);
    const x64 = square.tensor(f64, &doubles);
    const weight64 = square.tensor(f64, doubles[16..].ptr);
    var out64 = square.tensor(f64, doubles[32..].ptr);
    try std.testing.expectEqual(abi.errors.unsupported_dtype, dense.denseForward(&x64, &weight64, null, &out64, &relu, null));
}

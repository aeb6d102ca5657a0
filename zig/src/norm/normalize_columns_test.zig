//! Softmax down columns on every instruction set of this machine, against its definition in float64.

const std = @import("std");
const cpu = @import("../simd/cpu.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const normalize = @import("normalize.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const View = strided.View;

/// Rows of `shape` down its columns: the transpose of a matrix of adjacent values, whose lines are `step` apart.
fn transposed(comptime T: type, values: []T, shape: [2]usize, step: usize) View {
    var view: View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = 2, .shape = @splat(1), .strides = @splat(0) };
    view.shape[0] = shape[1];
    view.shape[1] = shape[0];
    view.strides[0] = 1;
    view.strides[1] = @intCast(step);
    return view;
}

fn softmax(comptime T: type, set: cpu.InstructionSet, is_logarithmic: bool, x: View, out: View, threads: u32) !void {
    const executor = test_support.executor(threads);
    try normalize.runWith(T, tensor_kernels.tableOf(T, set), &.{
        .operation = if (is_logarithmic) .log_softmax else .softmax,
        .x = x,
        .out = out,
        .row_axes = 1,
    }, &executor);
}

fn testColumns(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(51);
    const rng = random.random();
    // Places, lines: parts of blocks and of vectors, several blocks each way.
    for ([_][2]usize{ .{ 1, 3 }, .{ 33, 70 }, .{ 200, 5 }, .{ 70, 1100 } }) |shape| {
        const step = shape[1] + 5;
        const x = try allocator.alloc(T, shape[0] * step);
        defer allocator.free(x);
        const out = try allocator.alloc(T, x.len);
        defer allocator.free(out);
        const other = try allocator.alloc(T, x.len);
        defer allocator.free(other);
        for (x) |*value| value.* = 50 + rng.floatNorm(T) * 8;
        // A column that begins with nothing, one with a block of nothing, one of nothing else.
        x[0] = -std.math.inf(T);
        if (shape[0] > 32) for (0..32) |place| {
            x[place * step + 1] = -std.math.inf(T);
        };
        for (0..shape[0]) |place| x[place * step + 2] = -std.math.inf(T);
        for (kernels.available()) |set| for ([_]bool{ false, true }) |is_logarithmic| {
            @memset(out, 7);
            try softmax(T, set, is_logarithmic, transposed(T, x, shape, step), transposed(T, out, shape, step), 1);
            for (0..shape[1]) |line| try checkLine(T, x, out, shape[0], step, line, is_logarithmic);
            for (0..shape[0]) |place| {
                for (out[place * step + shape[1] ..][0..5]) |value| try std.testing.expectEqual(7, value);
            }
            for (1..4) |threads| {
                // In place, on any number of threads: the same bits.
                @memcpy(other, x);
                const view = transposed(T, other, shape, step);
                try softmax(T, set, is_logarithmic, view, view, @intCast(threads));
                for (0..shape[0]) |place| {
                    const row = place * step;
                    for (out[row..][0..shape[1]], other[row..][0..shape[1]]) |expected, value| {
                        // The sign of a NaN is no result.
                        if (std.math.isNan(expected)) try std.testing.expect(std.math.isNan(value)) else try std.testing.expectEqual(expected, value);
                    }
                }
            }
        };
    }
}

fn checkLine(comptime T: type, x: []const T, out: []const T, places: usize, step: usize, line: usize, is_logarithmic: bool) !void {
    var largest: f64 = -std.math.inf(f64);
    for (0..places) |place| largest = @max(largest, x[place * step + line]);
    var sum: f64 = 0;
    for (0..places) |place| sum += @exp(x[place * step + line] - largest);
    for (0..places) |place| {
        const distance = @as(f64, x[place * step + line]) - largest;
        const expected = if (is_logarithmic) distance - @log(sum) else @exp(distance) / sum;
        const value: f64 = out[place * step + line];
        if (std.math.isNan(expected) or std.math.isInf(expected)) {
            try std.testing.expectEqual(std.math.isNan(expected), std.math.isNan(value));
            if (std.math.isInf(expected)) try std.testing.expectEqual(expected, value);
        } else try std.testing.expectApproxEqAbs(expected, value, 40 * std.math.floatEps(T) * (1 + @abs(expected)));
    }
}

test "softmax of columns agrees with its definition, whatever is infinite, with the same bits in place and for any number of threads" {
    try testColumns(f32);
    try testColumns(f64);
}

test "what columns of softmax pass around the caches has the same bits, and nothing beside it is written" {
    const width = 150;
    const rows = 3;
    var random: std.Random.DefaultPrng = .init(52);
    var x: [rows * width]f32 = undefined;
    for (&x) |*value| value.* = random.random().floatNorm(f32);
    var factor: [width]f32 = @splat(0.25);
    var shift: [width]f32 = @splat(4);
    for (kernels.available()) |set| for ([_]usize{ 0, 3 }) |offset| {
        var lines: [2][rows * (width + 20)]f32 align(64) = @splat(@splat(7));
        for (&lines, 0..) |*line, streams| {
            tensor_kernels.tableOf(f32, set).columns(&.{
                .step = .softmax,
                .x = &x,
                .x_step = width,
                .rows = rows,
                .width = width,
                .shift = &shift,
                .factor = &factor,
                .out = line[offset..].ptr,
                .out_step = width + 16,
                .streams = streams == 1,
            });
            @import("generic").stream_store.finish();
        }
        try std.testing.expectEqualSlices(f32, &lines[0], &lines[1]);
        for (0..rows) |row| for (lines[1][offset + row * (width + 16) + width ..][0..16]) |value| try std.testing.expectEqual(7, value);
    };
}

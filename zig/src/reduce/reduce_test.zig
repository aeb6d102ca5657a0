//! Reductions and searches on every instruction set of this machine, against plain loops.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const reduce = @import("reduce.zig");
const search = @import("search.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const kernel = generic.reduce_kernel;
const View = strided.View;

fn viewOf(comptime T: type, values: []T, storage: strided.Storage, shape: []const usize, strides: []const isize) View {
    var view: View = .{ .storage = storage, .address = @intFromPtr(values.ptr), .rank = shape.len, .shape = @splat(1), .strides = @splat(0) };
    for (shape, strides, 0..) |extent, stride, axis| {
        view.shape[axis] = extent;
        view.strides[axis] = stride;
    }
    return view;
}

/// One result by plain loops, in float64.
fn scalar(fold: kernel.Fold, values: []const f64) f64 {
    var mean: f64 = 0;
    for (values) |x| mean += x / @as(f64, @floatFromInt(values.len));
    var result: f64 = kernel.identity(f64, fold);
    for (values) |x| result = switch (fold) {
        .sum => result + x,
        .squares => result + (x - mean) * (x - mean),
        .product => result * x,
        .maximum => @max(result, x),
        .minimum => @min(result, x),
        .any => if (x != 0) 1 else result,
        .all => if (x == 0) 0 else result,
    };
    return result;
}

const lines = 37;
const len = 2500;

fn testFolds(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(21);
    const rng = random.random();
    const x = try allocator.alloc(T, lines * len);
    defer allocator.free(x);
    for (x) |*value| value.* = 1 + rng.floatNorm(T) * 0.01;
    var out: [lines]T = undefined;
    var indices: [lines]i64 = undefined;
    const executor = test_support.executor(3);
    for (kernels.available()) |set| {
        const table = tensor_kernels.tableOf(T, set);
        for ([_][2]isize{ .{ len, 1 }, .{ 1, lines } }) |strides| {
            const view = viewOf(T, x, .of(T), &.{ lines, len }, &strides);
            for (std.enums.values(kernel.Fold)) |fold| {
                const problem: reduce.Problem = .{
                    .fold = fold,
                    .x = view,
                    .out = viewOf(T, &out, .of(T), &.{lines}, &.{1}),
                };
                try reduce.runWith(T, table, &problem, &executor);
                for (0..lines) |line| {
                    var values: [len]f64 = undefined;
                    for (&values, 0..) |*value, i| value.* = at(x, strides, line, i);
                    const expected = scalar(fold, &values);
                    try std.testing.expectApproxEqRel(expected, @as(f64, out[line]), 2 * len * std.math.floatEps(T));
                }
            }
            for ([_]bool{ true, false }) |is_largest| {
                try search.find(T, table, view, viewOf(i64, &indices, .i64, &.{lines}, &.{1}), is_largest, &executor);
                for (indices, 0..) |index, line| {
                    var best: usize = 0;
                    for (0..len) |i| {
                        const value = at(x, strides, line, i);
                        const held = at(x, strides, line, best);
                        if (if (is_largest) value > held else value < held) best = i;
                    }
                    try std.testing.expectEqual(@as(i64, @intCast(best)), index);
                }
            }
        }
    }
}

fn testNan(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(22);
    const rng = random.random();
    var x: [3 * kernel.leaf_len + 130]T = undefined;
    const nan = std.math.nan(T);
    for (kernels.available()) |set| for ([_]usize{ 1, 40, 256, 300, kernel.leaf_len, x.len }) |count| for (0..20) |_| {
        const table = tensor_kernels.tableOf(T, set);
        for (&x) |*value| value.* = @floatFromInt(rng.intRangeAtMost(i32, -40, 40));
        const first = rng.uintLessThan(usize, count);
        for ([_]usize{ count, first }) |index| {
            // Without one, then with one and perhaps a second behind it.
            if (index < count) x[index] = nan;
            if (index < count) x[index + rng.uintLessThan(usize, count - index)] = nan;
            for ([_]bool{ true, false }) |is_largest| {
                var best: usize = 0;
                for (x[0..count], 0..) |value, i| {
                    const beats = if (is_largest) value > x[best] else value < x[best];
                    if (x[best] == x[best] and (beats or value != value)) best = i;
                }
                var found: kernel.Best(T) = undefined;
                table.search(&.{ .is_largest = is_largest, .ptr = &x, .len = count, .found = &found });
                try std.testing.expectEqual(best, found.index);
                const value = table.fold_run(&.{ .fold = if (is_largest) .maximum else .minimum, .ptr = &x, .len = count });
                if (index < count) try std.testing.expect(value != value) else try std.testing.expectEqual(x[best], value);
            }
        }
    };
}

test "NaN is the best of a run wherever it stands, and the first index of equal values is found" {
    try testNan(f32);
    try testNan(f64);
}

fn testVariance(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(23);
    const rng = random.random();
    const count = 3;
    const executor = test_support.executor(3);
    // One segment, and several; adjacent, in parts and spaced out.
    for ([_]usize{ 1, 7, 3000, reduce.segment_len + 500 }) |extent| for ([_]isize{ 1, 2 }) |gap| {
        const step: usize = @intCast(gap);
        const x = try allocator.alloc(T, count * extent * step);
        defer allocator.free(x);
        for (x) |*value| value.* = 5 + rng.floatNorm(T);
        for (kernels.available()) |set| {
            var out: [count]T = undefined;
            const view = viewOf(T, x, .of(T), &.{ count, extent }, &.{ @as(isize, @intCast(extent)) * gap, gap });
            const target = viewOf(T, &out, .of(T), &.{count}, &.{1});
            const problem: reduce.Problem = .{ .fold = .squares, .x = view, .out = target, .divisor = @floatFromInt(extent) };
            try reduce.runWith(T, tensor_kernels.tableOf(T, set), &problem, &executor);
            for (0..count) |line| {
                var mean: f64 = 0;
                for (0..extent) |i| mean += x[(line * extent + i) * step] / @as(f64, @floatFromInt(extent));
                var squares: f64 = 0;
                for (0..extent) |i| squares += (x[(line * extent + i) * step] - mean) * (x[(line * extent + i) * step] - mean);
                const expected = squares / @as(f64, @floatFromInt(extent));
                try std.testing.expectApproxEqAbs(expected, out[line], 50 * std.math.floatEps(T) * (1 + expected));
            }
        }
    };
}

test "variances agree with two plain loops over runs of one segment and of several" {
    try testVariance(f32);
    try testVariance(f64);
}

/// Sums of the first rows overflow, those of the others do not: what is joined with an infinite mean stays infinite.
fn testOverflow(comptime T: type) !void {
    const extent = 4096;
    const large = std.math.floatMax(T);
    const allocator = std.testing.allocator;
    const x = try allocator.alloc(T, lines * extent);
    defer allocator.free(x);
    for ([_][2]isize{ .{ extent, 1 }, .{ 1, lines } }) |strides| for ([_]usize{ 8, 1024, 2048 }) |many| {
        for (0..lines) |line| for (0..extent) |index| {
            x[line * @as(usize, @intCast(strides[0])) + index * @as(usize, @intCast(strides[1]))] = if (index < many) large else 0;
        };
        const view = viewOf(T, x, .of(T), &.{ lines, extent }, &strides);
        for (kernels.available()) |set| {
            var out: [lines]T = undefined;
            const results = viewOf(T, &out, .of(T), &.{lines}, &.{1});
            const problem: reduce.Problem = .{ .fold = .squares, .x = view, .out = results, .divisor = extent };
            try reduce.runWith(T, tensor_kernels.tableOf(T, set), &problem, null);
            for (out) |value| try std.testing.expectEqual(std.math.inf(T), value);
        }
    };
}

test "variances of sums that overflow are infinite" {
    try testOverflow(f32);
    try testOverflow(f64);
}

fn at(x: anytype, strides: [2]isize, line: usize, index: usize) f64 {
    return x[line * @as(usize, @intCast(strides[0])) + index * @as(usize, @intCast(strides[1]))];
}

test "reductions and searches agree with plain loops on every instruction set and layout" {
    try testFolds(f32);
    try testFolds(f64);
}

test "of nothing a fold has its identity, whatever strides nothing kept" {
    var x: [lines]f32 = @splat(7);
    const nothing = viewOf(f32, &x, .of(f32), &.{ lines, 0 }, &.{ 1, lines });
    for (kernels.available()) |set| {
        for (std.enums.values(kernel.Fold)) |fold| {
            var out: [lines]f32 = @splat(7);
            const results = viewOf(f32, &out, .of(f32), &.{lines}, &.{1});
            try reduce.runWith(f32, tensor_kernels.tableOf(f32, set), &.{ .fold = fold, .x = nothing, .out = results }, null);
            for (out) |value| try std.testing.expectEqual(kernel.identity(f32, fold), value);
        }
    }
}

fn testShortRows(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(24);
    const rng = random.random();
    const executor = test_support.executor(3);
    for ([_]usize{ 2, 3, 4 }) |width| for ([_]usize{ 1, 7, 511, 513, 40_000 }) |rows| {
        const x = try allocator.alloc(T, width * rows);
        defer allocator.free(x);
        for (x) |*value| value.* = 1 + rng.floatNorm(T) * 0.0001;
        const values = try allocator.alloc(f64, rows);
        defer allocator.free(values);
        for (kernels.available()) |set| for (std.enums.values(kernel.Fold)) |fold| {
            var out: [4]T = undefined;
            const problem: reduce.Problem = .{
                .fold = fold,
                .x = viewOf(T, x, .of(T), &.{ width, rows }, &.{ 1, @intCast(width) }),
                .out = viewOf(T, &out, .of(T), &.{width}, &.{1}),
            };
            try reduce.runWith(T, tensor_kernels.tableOf(T, set), &problem, &executor);
            for (out[0..width], 0..) |value, column| {
                for (values, 0..) |*target, row| target.* = x[row * width + column];
                const tolerance = (if (fold == .product) @as(f64, 2) * @as(f64, @floatFromInt(rows)) else 50) * std.math.floatEps(T);
                try std.testing.expectApproxEqRel(scalar(fold, values), @as(f64, value), 2e-11 + tolerance);
            }
        };
        x[width * (rows / 2) + 1] = std.math.nan(T);
        for (kernels.available()) |set| for ([_]kernel.Fold{ .maximum, .minimum }) |fold| {
            var out: [4]T = undefined;
            const problem: reduce.Problem = .{
                .fold = fold,
                .x = viewOf(T, x, .of(T), &.{ width, rows }, &.{ 1, @intCast(width) }),
                .out = viewOf(T, &out, .of(T), &.{width}, &.{1}),
            };
            try reduce.runWith(T, tensor_kernels.tableOf(T, set), &problem, null);
            for (out[0..width], 0..) |value, column| try std.testing.expectEqual(column == 1, std.math.isNan(value));
        };
    };
}

test "columns of rows that are shorter than a vector are folded apart, and NaN stays in its column" {
    try testShortRows(f32);
    try testShortRows(f64);
}

//! Attention and its gradients on every instruction set of this machine, against their definitions in float64.

const std = @import("std");
const attention = @import("attention.zig");
const attention_gradient = @import("attention_gradient.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const strided = @import("../tensor/strided.zig");
const test_support = @import("../tensor/test_support.zig");

const heads = 4;
const key_heads = 2;

/// A view of heads, rows and columns; `transposed` has the rows adjacent.
fn viewOf(comptime T: type, values: []T, shape: [3]usize, transposed: bool) strided.View {
    var view: strided.View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = 3, .shape = @splat(1), .strides = @splat(0) };
    view.shape[0..3].* = shape;
    const rows: isize = @intCast(shape[1]);
    const columns: isize = @intCast(shape[2]);
    view.strides[0..3].* = if (transposed) .{ rows * columns, 1, rows } else .{ rows * columns, columns, 1 };
    return view;
}

fn at(comptime T: type, view: *const strided.View, head: usize, row: usize, column: usize) f64 {
    const index: [3]isize = .{ @intCast(head), @intCast(row), @intCast(column) };
    var offset: isize = 0;
    for (index, view.strides[0..3]) |place, stride| offset += place * stride;
    return @as(*const T, @ptrFromInt(strided.addressAt(view, offset))).*;
}

/// The shares of a row by the definition.
fn sharesOf(comptime T: type, problem: *const attention.Problem, head: usize, row: usize, shares: []f64) void {
    var largest = -std.math.inf(f64);
    for (shares, 0..) |*share, key| {
        share.* = 0;
        for (0..problem.size()) |e| share.* += problem.scale * at(T, &problem.q, head, row, e) * at(T, &problem.k, head / 2, key, e);
        if (problem.mask) |*mask| share.* += at(T, mask, head, row, key);
        if (problem.is_causal and key > row) share.* = -std.math.inf(f64);
        largest = @max(largest, share.*);
    }
    var sum: f64 = 0;
    for (shares) |*share| {
        share.* = @exp(share.* - largest);
        sum += share.*;
    }
    for (shares) |*share| share.* /= sum;
}

fn expectClose(comptime T: type, expected: f64, actual: f64, largest: f64) !void {
    try std.testing.expect(@abs(expected - actual) <= 64 * std.math.floatEps(T) * largest);
}

fn testShape(comptime T: type, lengths: [2]usize, sizes: [2]usize, is_causal: bool, has_mask: bool, transposed: bool) !void {
    const allocator = std.testing.allocator;
    const queries, const keys = lengths;
    const size, const value_size = sizes;
    var random: std.Random.DefaultPrng = .init(7);
    const rng = random.random();
    const lens = [_]usize{ heads * queries * size, key_heads * keys * size, key_heads * keys * value_size, heads * queries * value_size, heads * queries * keys };
    var given: [5][]T = undefined;
    for (&given, lens) |*values, len| {
        values.* = try allocator.alloc(T, len);
        for (values.*) |*value| value.* = rng.floatNorm(T);
    }
    defer for (given) |values| allocator.free(values);
    const shapes = [_][3]usize{ .{ heads, queries, size }, .{ key_heads, keys, size }, .{ key_heads, keys, value_size }, .{ heads, queries, value_size }, .{ heads, queries, keys } };
    var results: [4][]T = undefined;
    for (&results, [_]usize{ lens[3], lens[0], lens[1], lens[2] }) |*values, len| values.* = try allocator.alloc(T, len);
    defer for (results) |values| allocator.free(values);
    var problem: attention.Problem = .{
        .q = viewOf(T, given[0], shapes[0], transposed),
        .k = viewOf(T, given[1], shapes[1], transposed),
        .v = viewOf(T, given[2], shapes[2], transposed),
        .gradient = viewOf(T, given[3], shapes[3], transposed),
        .mask = if (has_mask) viewOf(T, given[4], shapes[4], transposed) else null,
        .scale = 0.3,
        .is_causal = is_causal,
    };
    const out = viewOf(T, results[0], shapes[3], transposed);
    const gradients: [3]strided.View = .{ viewOf(T, results[1], shapes[0], transposed), viewOf(T, results[2], shapes[1], transposed), viewOf(T, results[3], shapes[2], transposed) };
    const executor = test_support.executor(3);
    const shares = try allocator.alloc(f64, keys);
    defer allocator.free(shares);
    const slopes = try allocator.alloc(f64, lens[0] + lens[1] + lens[2]);
    defer allocator.free(slopes);
    for (kernels.available()) |set| {
        try attention.runWith(T, .of(set), &problem, &out, &executor);
        try attention_gradient.runWith(T, .of(set), &problem, &gradients, &executor);
        @memset(slopes, 0);
        for (0..heads) |head| for (0..queries) |row| {
            sharesOf(T, &problem, head, row, shares);
            var level: f64 = 0;
            for (0..value_size) |e| {
                var sum: f64 = 0;
                for (shares, 0..) |share, key| sum += share * at(T, &problem.v, head / 2, key, e);
                try expectClose(T, sum, at(T, &out, head, row, e), 4);
                level += sum * at(T, &problem.gradient.?, head, row, e);
            }
            for (shares, 0..) |share, key| {
                var slope = -level;
                for (0..value_size) |e| {
                    const upper = at(T, &problem.gradient.?, head, row, e);
                    slope += upper * at(T, &problem.v, head / 2, key, e);
                    slopes[lens[0] + lens[1] + ((head / 2) * keys + key) * value_size + e] += share * upper;
                }
                for (0..size) |e| {
                    slopes[(head * queries + row) * size + e] += 0.3 * share * slope * at(T, &problem.k, head / 2, key, e);
                    slopes[lens[0] + ((head / 2) * keys + key) * size + e] += 0.3 * share * slope * at(T, &problem.q, head, row, e);
                }
            }
        };
        var next: usize = 0;
        for (&gradients) |*gradient| for (0..gradient.shape[0]) |head| for (0..gradient.shape[1]) |row| for (0..gradient.shape[2]) |e| {
            try expectClose(T, slopes[next], at(T, gradient, head, row, e), 50);
            next += 1;
        };
    }
}

fn testType(comptime T: type) !void {
    try testShape(T, .{ 5, 7 }, .{ 3, 2 }, false, false, false);
    try testShape(T, .{ 97, 203 }, .{ 16, 32 }, false, true, false);
    try testShape(T, .{ 130, 130 }, .{ 17, 16 }, true, false, true);
    try testShape(T, .{ 1, 96 }, .{ 64, 64 }, false, false, false);
    try testShape(T, .{ 100, 40 }, .{ 8, 5 }, true, true, true);
}

test "attention and its gradients are those of the definition" {
    try testType(f32);
    try testType(f64);
}

test "who sees no key gets nothing and passes nothing on" {
    var q: [2]f32 = .{ 1, 2 };
    var k: [2]f32 = .{ 3, 4 };
    var mask: [2]f32 = .{ -std.math.inf(f32), -std.math.inf(f32) };
    var out: [1]f32 = .{9};
    var by: [3][2]f32 = @splat(.{ 9, 9 });
    var problem: attention.Problem = .{
        .q = viewOf(f32, q[0..1], .{ 1, 1, 1 }, false),
        .k = viewOf(f32, &k, .{ 1, 2, 1 }, false),
        .v = viewOf(f32, &k, .{ 1, 2, 1 }, false),
        .mask = viewOf(f32, &mask, .{ 1, 1, 2 }, false),
        .gradient = viewOf(f32, q[1..2], .{ 1, 1, 1 }, false),
        .scale = 1,
        .is_causal = false,
    };
    try attention.runWith(f32, .best(), &problem, &viewOf(f32, &out, .{ 1, 1, 1 }, false), null);
    try std.testing.expectEqual(0, out[0]);
    const results: [3]strided.View = .{ viewOf(f32, by[0][0..1], .{ 1, 1, 1 }, false), viewOf(f32, &by[1], .{ 1, 2, 1 }, false), viewOf(f32, &by[2], .{ 1, 2, 1 }, false) };
    try attention_gradient.runWith(f32, .best(), &problem, &results, null);
    try std.testing.expectEqual(0, by[0][0]);
    for (by[1..3]) |values| try std.testing.expectEqual([2]f32{ 0, 0 }, values);
}

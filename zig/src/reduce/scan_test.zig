//! Prefix sums and the best of lines on every instruction set of this machine, against plain loops.

const std = @import("std");
const kernels = @import("../gemm/gemm_kernels.zig");
const scan = @import("scan.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");
const top_k = @import("top_k.zig");

const View = strided.View;

fn viewOf(comptime T: type, values: []T, shape: []const usize, strides: []const isize) View {
    var view: View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = shape.len, .shape = @splat(1), .strides = @splat(0) };
    for (shape, strides, 0..) |extent, stride, axis| {
        view.shape[axis] = extent;
        view.strides[axis] = stride;
    }
    return view;
}

const lines = 41;
const len = 1300;
/// Elements from row to row, whole vectors: rows that may bypass the caches.
const pitch = 64;
const layouts = [_][2]isize{ .{ len, 1 }, .{ 1, lines }, .{ 1, pitch } };

fn indexOf(strides: [2]isize, line: usize, index: usize) usize {
    return line * @as(usize, @intCast(strides[0])) + index * @as(usize, @intCast(strides[1]));
}

fn randomValues(comptime T: type, rng: std.Random, values: []T) void {
    for (values) |*value| value.* = switch (@typeInfo(T)) {
        .float => 1 + rng.floatNorm(T) * 0.01,
        else => rng.int(T),
    };
}

fn Bits(comptime T: type) type {
    return @Int(.unsigned, @bitSizeOf(T));
}

/// NaN stays.
fn joined(comptime T: type, operation: scan.Operation, old: T, value: T) T {
    const is_float = @typeInfo(T) == .float;
    return switch (operation) {
        .sum => if (is_float) old + value else old +% value,
        .product => if (is_float) old * value else old *% value,
        .maximum => if (old != old or old > value) old else value,
        .minimum => if (old != old or old < value) old else value,
    };
}

fn testScans(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(31);
    const x = try allocator.alloc(T, pitch * len);
    defer allocator.free(x);
    const out = try allocator.alignedAlloc(T, .@"64", pitch * len);
    defer allocator.free(out);
    randomValues(T, random.random(), x);
    if (@typeInfo(T) == .float) x[indexOf(layouts[0], 7, len / 2)] = std.math.nan(T);
    const executor = test_support.executor(3);
    for (kernels.available()) |set| for (layouts) |strides| for (std.enums.values(scan.Operation)) |operation| for ([_]usize{ 0, std.math.maxInt(usize) }) |streamed_bytes| {
        const view = viewOf(T, x, &.{ lines, len }, &strides);
        const target = viewOf(T, out, &.{ lines, len }, &strides);
        @memset(out, 0);
        try scan.runWith(T, tensor_kernels.tableOf(T, set), operation, &view, &target, streamed_bytes, &executor);
        for (0..lines) |line| {
            var value: ?T = null;
            for (0..len) |index| {
                const next = x[indexOf(strides, line, index)];
                value = joined(T, operation, value orelse scan.identity(T, operation), next);
                // In order, so that every layout and instruction set has the bits of the loop.
                try std.testing.expectEqual(@as(Bits(T), @bitCast(value.?)), @as(Bits(T), @bitCast(out[indexOf(strides, line, index)])));
            }
        }
    };
}

test "prefix sums, products and bests are those of a loop on every instruction set and layout" {
    try testScans(f32);
    try testScans(f64);
    try testScans(i64);
    try testScans(u64);
}

fn testBest(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(32);
    const rng = random.random();
    const x = try allocator.alloc(T, pitch * len);
    defer allocator.free(x);
    // Few different values: every line has ties.
    for (x) |*value| value.* = if (@typeInfo(T) == .float) @floatFromInt(rng.uintLessThan(u8, 50)) else rng.uintLessThan(u8, 50);
    const most = 70;
    var values: [lines * most]T = undefined;
    var indices: [lines * most]i64 = undefined;
    const executor = test_support.executor(3);
    for (kernels.available()) |set| for (layouts) |strides| for ([_]bool{ true, false }) |is_largest| for ([_]usize{ 1, 10, most }) |k| {
        const view = viewOf(T, x, &.{ lines, len }, &strides);
        const target = viewOf(T, &values, &.{ lines, k }, &.{ @intCast(k), 1 });
        const found = viewOf(i64, &indices, &.{ lines, k }, &.{ @intCast(k), 1 });
        try top_k.runWith(T, tensor_kernels.tableOf(T, set), &view, &target, &found, is_largest, &executor);
        for (0..lines) |line| {
            var taken: [len]bool = @splat(false);
            for (0..k) |rank| {
                var best: ?usize = null;
                for (0..len) |index| {
                    if (taken[index]) continue;
                    const value = x[indexOf(strides, line, index)];
                    const held = if (best) |at| x[indexOf(strides, line, at)] else value;
                    if (best == null or (if (is_largest) value > held else value < held)) best = index;
                }
                taken[best.?] = true;
                try std.testing.expectEqual(@as(i64, @intCast(best.?)), indices[line * k + rank]);
                try std.testing.expectEqual(x[indexOf(strides, line, best.?)], values[line * k + rank]);
            }
        }
    };
}

test "the best of lines come in order and ties by index on every instruction set and layout" {
    try testBest(f32);
    try testBest(f64);
    try testBest(i32);
    try testBest(u64);
}

/// Whether the value at one place is better than that at another.
fn isBetter(comptime T: type, is_largest: bool, x: []const T, a: usize, b: usize) bool {
    if (@typeInfo(T) == .float) {
        const a_is_nan = x[a] != x[a];
        const b_is_nan = x[b] != x[b];
        if (a_is_nan != b_is_nan) return a_is_nan == is_largest;
        if (a_is_nan) return a < b;
    }
    if (x[a] == x[b]) return a < b;
    return (x[a] > x[b]) == is_largest;
}

fn testManyBest(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(33);
    const rng = random.random();
    const count = 9000;
    const x = try allocator.alloc(T, count);
    defer allocator.free(x);
    const order = try allocator.alloc(usize, count);
    defer allocator.free(order);
    const values = try allocator.alloc(T, count);
    defer allocator.free(values);
    const indices = try allocator.alloc(i64, count);
    defer allocator.free(indices);
    const is_float = @typeInfo(T) == .float;
    // Of many different values, few, one, rising ones, and some that are no numbers or zeros of both signs.
    for (0..5) |kind| {
        for (x, 0..) |*value, i| value.* = switch (kind) {
            0 => if (is_float) rng.floatNorm(T) else rng.int(T),
            1 => if (is_float) @floatFromInt(rng.uintLessThan(u8, 7)) else rng.uintLessThan(u8, 7),
            2 => 3,
            3 => if (is_float) @floatFromInt(i) else @intCast(i),
            else => if (!is_float) rng.int(T) else switch (rng.uintLessThan(u8, 4)) {
                0 => std.math.nan(T),
                1 => -0.0,
                2 => 0,
                else => rng.floatNorm(T),
            },
        };
        for ([_]bool{ true, false }) |is_largest| {
            const Context = struct { x: []const T, is_largest: bool };
            for (order, 0..) |*place, i| place.* = i;
            std.mem.sort(usize, order, Context{ .x = x, .is_largest = is_largest }, struct {
                fn before(context: Context, a: usize, b: usize) bool {
                    return isBetter(T, context.is_largest, context.x, a, b);
                }
            }.before);
            for ([_]usize{ 65, 500, 4000, 8999, count }) |k| {
                const view = viewOf(T, x, &.{ 1, count }, &.{ count, 1 });
                const target = viewOf(T, values, &.{ 1, k }, &.{ @intCast(k), 1 });
                const found = viewOf(i64, indices, &.{ 1, k }, &.{ @intCast(k), 1 });
                for (kernels.available()) |set| {
                    try top_k.runWith(T, tensor_kernels.tableOf(T, set), &view, &target, &found, is_largest, null);
                    for (indices[0..k], values[0..k], order[0..k]) |index, value, place| {
                        try std.testing.expectEqual(@as(i64, @intCast(place)), index);
                        try std.testing.expectEqual(@as(Bits(T), @bitCast(x[place])), @as(Bits(T), @bitCast(value)));
                    }
                }
            }
        }
    }
}

test "many of a long line come in order, ties by index, NaN as the largest" {
    try testManyBest(f32);
    try testManyBest(f64);
    try testManyBest(i32);
    try testManyBest(u64);
}

//! Operations that move data, on every instruction set of this machine: blocks that are transposed, operands whose neighbours lie along another axis,
//! prefix sums in place, the best among values of every kind.

const std = @import("std");
const generic = @import("generic");
const elementwise = @import("../elementwise/elementwise.zig");
const elementwise_transposed = @import("../elementwise/elementwise_transposed.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const scan = @import("../reduce/scan.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");
const top_k = @import("../reduce/top_k.zig");

const View = strided.View;

fn viewOf(comptime T: type, storage: generic.storage.Storage, values: []T, shape: []const usize, strides: []const isize) View {
    var view: View = .{ .storage = storage, .address = @intFromPtr(values.ptr), .rank = shape.len, .shape = @splat(1), .strides = @splat(0) };
    for (shape, strides, 0..) |extent, stride, axis| {
        view.shape[axis] = extent;
        view.strides[axis] = stride;
    }
    return view;
}

fn testBlocks(comptime T: type) !void {
    const edge = generic.transpose_kernel.blockEdge(T);
    const stride = edge + 3;
    var source: [edge * stride]T = undefined;
    for (&source, 0..) |*value, i| value.* = @floatFromInt(i);
    for (kernels.available()) |set| for ([_]bool{ false, true }) |streams| for ([_][2]usize{ .{ edge, edge }, .{ edge - 5, 19 }, .{ 1, 7 }, .{ 3, edge } }) |extents| {
        var target: [edge * stride + 1]T = @splat(-1);
        tensor_kernels.tableOf(T, set).transpose_block(&.{
            .transpose = .{ .rows = extents[0], .columns = extents[1], .source = &source, .source_row = stride, .target = target[1..].ptr, .target_column = stride },
            .target_ahead = 0,
            .streams = streams,
        });
        generic.stream_store.finish();
        for (0..edge) |column| for (0..stride) |row| {
            const is_written = row < extents[0] and column < extents[1];
            const expected = if (is_written) source[row * stride + column] else -1;
            try std.testing.expectEqual(expected, target[1 + column * stride + row]);
        };
    };
}

test "blocks are transposed whole and nothing beside them is written" {
    try testBlocks(f32);
    try testBlocks(f64);
}

const rows = 70;
const columns = 131;
const planes = 2;
const count = planes * rows * columns;

fn testTransposed(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(41);
    const rng = random.random();
    const values = try allocator.alloc(T, 4 * count);
    defer allocator.free(values);
    for (values) |*value| value.* = rng.floatNorm(T);
    const x = values[0..count];
    const spaced = values[count .. 3 * count];
    const vector = values[3 * count ..];
    var halves: [count]f16 = undefined;
    for (&halves) |*value| value.* = @floatCast(rng.floatNorm(f32));
    const out = try allocator.alloc(T, count);
    defer allocator.free(out);
    var truths: [count]bool = undefined;
    const shape = [_]usize{ planes, rows, columns };
    const plane: isize = rows * columns;
    const executor = test_support.executor(3);
    for (kernels.available()) |set| {
        const table = tensor_kernels.tableOf(T, set);
        // By columns; a row for all; by columns with gaps; a column for all.
        const views = [_]View{
            viewOf(T, .of(T), out, &shape, &.{ plane, columns, 1 }),
            viewOf(T, .of(T), x, &shape, &.{ plane, 1, rows }),
            viewOf(T, .of(T), vector, &shape, &.{ 0, 0, 1 }),
            viewOf(T, .of(T), spaced, &shape, &.{ 2 * plane, 2, 2 * rows }),
            viewOf(T, .of(T), vector, &shape, &.{ 0, 1, 0 }),
        };
        for ([_]bool{ false, true }) |streams| {
            @memset(out, 0);
            if (streams) {
                var job: elementwise.Job(T) = .of(table, .standardize, &views, 0);
                job.streams = true;
                const transposed: elementwise_transposed.Job(T) = .of(&job, elementwise_transposed.transposedAxis(&job.space, job.count).?);
                transposed.run(0, transposed.tiles());
            } else try elementwise.runWith(T, table, .standardize, &views, 0, &executor);
            for (0..planes) |p| for (0..rows) |i| for (0..columns) |j| {
                const at = p * rows * columns + j * rows + i;
                const expected = (x[at] - vector[j]) * spaced[2 * at] + vector[i];
                try std.testing.expectEqual(expected, out[p * rows * columns + i * columns + j]);
            };
        }
        // Truth values, of operands in another type, into bytes and into places of the type that is computed in.
        const compared = [_]View{
            viewOf(bool, .bool, &truths, &shape, &.{ plane, columns, 1 }),
            viewOf(f16, .f16, &halves, &shape, &.{ plane, 1, rows }),
            views[1],
            views[1],
            views[1],
        };
        if (T == f32) {
            try elementwise.runWith(T, table, .less, &compared, 0, &executor);
            var widened = compared;
            widened[0] = views[0];
            try elementwise.runWith(T, table, .less, &widened, 0, &executor);
            for (0..planes) |p| for (0..rows) |i| for (0..columns) |j| {
                const at = p * rows * columns + j * rows + i;
                const index = p * rows * columns + i * columns + j;
                const expected = @as(f32, halves[at]) < x[at];
                try std.testing.expectEqual(expected, truths[index]);
                try std.testing.expectEqual(@as(T, if (expected) 1 else 0), out[index]);
            };
        }
    }
}

fn testTransposedIntegers(comptime T: type) !void {
    var x: [count]T = undefined;
    var out: [count]T = undefined;
    for (&x, 0..) |*value, i| value.* = @truncate(@as(i128, @intCast(i * 0x9e37_79b9)));
    const shape = [_]usize{ rows, planes * columns };
    const transposed = viewOf(T, .of(T), &x, &shape, &.{ 1, rows });
    const views = [_]View{ viewOf(T, .of(T), &out, &shape, &.{ planes * columns, 1 }), transposed, transposed, transposed, transposed };
    for (kernels.available()) |set| {
        try elementwise.runWith(T, tensor_kernels.tableOf(T, set), .add, &views, 0, null);
        for (0..rows) |i| for (0..planes * columns) |j| {
            try std.testing.expectEqual(x[j * rows + i] +% x[j * rows + i], out[i * planes * columns + j]);
        };
    }
}

test "operands that are column-major, broadcast, strided or converted give what plain loops give" {
    try testTransposed(f32);
    try testTransposed(f64);
    try testTransposedIntegers(i32);
    try testTransposedIntegers(i64);
}

fn testScansInIndex(comptime T: type) !void {
    const lines = 19;
    const len = 300;
    var x: [lines * len]T align(64) = undefined;
    var held: [lines * len]T align(64) = undefined;
    for (&x, 0..) |*value, i| value.* = if (@typeInfo(T) == .float) 1 / @as(T, @floatFromInt(i + 1)) else @truncate(i *% 0x9e37_79b9_7f4a_7c15);
    for (kernels.available()) |set| for ([_][2]isize{ .{ len, 1 }, .{ 1, lines } }) |strides| {
        const table = tensor_kernels.tableOf(T, set);
        held = x;
        const view = viewOf(T, .of(T), &held, &.{ lines, len }, &strides);
        try scan.runWith(T, table, .sum, &view, &view, std.math.maxInt(usize), null);
        for (0..lines) |line| {
            var value: T = 0;
            for (0..len) |index| {
                const at = line * @as(usize, @intCast(strides[0])) + index * @as(usize, @intCast(strides[1]));
                value = generic.scan_kernel.next(T, .sum, value, x[at]);
                try std.testing.expectEqual(value, held[at]);
            }
        }
    };
    // Past the caches.
    const width = 2 * lines;
    for (kernels.available()) |set| {
        var values: [width]T = @splat(1);
        tensor_kernels.tableOf(T, set).scan_rows(&.{
            .operation = .product,
            .rows = 7,
            .width = width,
            .source = &x,
            .source_row = width + 1,
            .target = &held,
            .target_row = 64,
            .values = &values,
            .streams = true,
        });
        generic.stream_store.finish();
        for (0..width) |column| {
            var value: T = 1;
            for (0..7) |row| {
                value = generic.scan_kernel.next(T, .product, value, x[row * (width + 1) + column]);
                try std.testing.expectEqual(value, held[row * 64 + column]);
            }
            try std.testing.expectEqual(value, values[column]);
        }
    }
}

test "prefix sums in place and past the caches are those of a loop" {
    try testScansInIndex(f32);
    try testScansInIndex(f64);
    try testScansInIndex(u64);
}

const line_len = 2500;
const Pattern = enum { mixed, rising, constant };

fn isBetter(comptime T: type, is_largest: bool, a: T, b: T) bool {
    if (@typeInfo(T) == .float) {
        if (std.math.isNan(a) or std.math.isNan(b)) return std.math.isNan(a) != std.math.isNan(b) and std.math.isNan(a) == is_largest;
    }
    return if (is_largest) a > b else a < b;
}

fn fill(comptime T: type, rng: std.Random, pattern: Pattern, x: *[line_len]T) void {
    const specials: [4]T = switch (@typeInfo(T)) {
        .float => .{ std.math.nan(T), -std.math.nan(T), -0.0, -std.math.inf(T) },
        else => .{ std.math.minInt(T), std.math.maxInt(T), 0, 1 },
    };
    for (x, 0..) |*value, i| {
        const number: T = if (@typeInfo(T) == .float) @floatFromInt(i) else @intCast(i);
        value.* = switch (pattern) {
            .mixed => if (rng.uintLessThan(u8, 40) == 0) specials[rng.uintLessThan(u8, 4)] else rng.uintLessThan(u8, 100),
            .rising => number,
            .constant => specials[0],
        };
    }
}

fn testBest(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(42);
    const most = 70;
    var x: [line_len]T = undefined;
    var order: [line_len]usize = undefined;
    var values: [most]T = undefined;
    var indices: [most]i64 = undefined;
    for (std.enums.values(Pattern)) |pattern| for ([_]bool{ true, false }) |is_largest| {
        fill(T, random.random(), pattern, &x);
        for (&order, 0..) |*index, i| index.* = i;
        const Order = struct {
            x: []const T,
            is_largest: bool,
            fn before(self: @This(), a: usize, b: usize) bool {
                if (isBetter(T, self.is_largest, self.x[a], self.x[b])) return true;
                return !isBetter(T, self.is_largest, self.x[b], self.x[a]) and a < b;
            }
        };
        std.mem.sort(usize, &order, Order{ .x = &x, .is_largest = is_largest }, Order.before);
        for (kernels.available()) |set| for ([_]usize{ 1, 7, 16, 17, 64, most }) |k| {
            const line = viewOf(T, .of(T), &x, &.{ 1, line_len }, &.{ line_len, 1 });
            const target = viewOf(T, .of(T), &values, &.{ 1, k }, &.{ most, 1 });
            const found = viewOf(i64, .i64, &indices, &.{ 1, k }, &.{ most, 1 });
            try top_k.runWith(T, tensor_kernels.tableOf(T, set), &line, &target, &found, is_largest, null);
            for (0..k) |rank| {
                try std.testing.expectEqual(@as(i64, @intCast(order[rank])), indices[rank]);
                const expected = std.mem.asBytes(&x[order[rank]]);
                try std.testing.expectEqualSlices(u8, expected, std.mem.asBytes(&values[rank]));
            }
        };
    };
}

test "the best among NaN, zeros of both signs, extremes and ties come in order, few and many" {
    try testBest(f32);
    try testBest(f64);
    try testBest(i32);
    try testBest(i64);
    try testBest(u64);
}

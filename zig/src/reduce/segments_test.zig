//! Segments of values in any order, with strides and several threads, give what plain loops give; wrong rows write nothing.

const std = @import("std");
const abi = @import("../abi.zig");
const segments = @import("segments.zig");
const status = @import("../status.zig");
const test_support = @import("../tensor/test_support.zig");

const rows = 37;
const width = 3;
const len = 3000;

fn tensorOf(comptime T: type, data: []const T, shape: []const i64, strides: ?[]const i64) abi.Tensor {
    return .{
        .data = @ptrCast(@constCast(data.ptr)),
        .device = .{ .device_type = abi.device_cpu, .device_id = 0 },
        .ndim = @intCast(shape.len),
        .dtype = .{ .code = if (@typeInfo(T) == .float) abi.dtype_float else abi.dtype_int, .bits = @bitSizeOf(T), .lanes = 1 },
        .shape = @constCast(shape.ptr),
        .strides = if (strides) |own| @constCast(own.ptr) else null,
        .byte_offset = 0,
    };
}

fn optionsOf(operation: segments.Operation, start: u32, executor: *const abi.Executor) abi.SegmentsOptions {
    return .{
        .size_bytes = @sizeOf(abi.SegmentsOptions),
        .operation = @backingInt(operation),
        .start = start,
        .has_offsets = 0,
        .wraps = 0,
        .skipped = -1,
        .executor = executor,
    };
}

fn joined(operation: segments.Operation, old: f64, value: f64) f64 {
    return switch (operation) {
        .sum, .mean => old + value,
        .product => old * value,
        .maximum => @max(old, value),
        .minimum => @min(old, value),
    };
}

test "rows in any order join their values, for any number of threads" {
    const allocator = std.testing.allocator;
    const values = try allocator.alloc(f32, len * width);
    defer allocator.free(values);
    var random: std.Random.DefaultPrng = .init(5);
    const rng = random.random();
    for (values) |*value| value.* = @floatFromInt(rng.intRangeAtMost(i32, 1, 3));
    var row_of: [len]i32 = undefined;
    for ([_]bool{ false, true }) |is_sorted| {
        for (&row_of) |*row| row.* = rng.intRangeLessThan(i32, 0, rows - 1);
        if (is_sorted) std.mem.sort(i32, &row_of, {}, std.sort.asc(i32));
        for (std.enums.values(segments.Operation)) |operation| {
            var expected: [rows * width]f64 = undefined;
            var counts: [rows]f64 = @splat(0);
            for (row_of) |row| counts[@intCast(row)] += 1;
            for (0..rows) |row| for (0..width) |column| {
                var state: f64 = switch (operation) {
                    .sum, .mean => 0,
                    .product => 1,
                    .maximum => -std.math.inf(f64),
                    .minimum => std.math.inf(f64),
                };
                for (row_of, 0..) |own, i| {
                    if (own == row) state = joined(operation, state, values[i + column * len]);
                }
                if (operation == .mean and counts[row] > 0) state /= counts[row];
                expected[row * width + column] = state;
            };
            for ([_]u32{ 1, 3 }) |threads| {
                var executor = test_support.executor(threads);
                var out: [rows * width]f32 = @splat(-1);
                // Values of one column are adjacent.
                const inputs = [2]abi.Tensor{
                    tensorOf(f32, values, &.{ len, width }, &.{ 1, len }),
                    tensorOf(i32, &row_of, &.{len}, null),
                };
                const target = tensorOf(f32, &out, &.{ rows, width }, null);
                const options = optionsOf(operation, abi.segments_fill, &executor);
                try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
                for (out, expected) |own, wanted| try std.testing.expectEqual(@as(f32, @floatCast(wanted)), own);
            }
        }
    }
}

test "rows without values are kept, what they hold takes part, and a row is left out" {
    var executor = test_support.executor(2);
    const values = [_]i64{ 1, 2, 3, 4 };
    const row_of = [_]i64{ 2, 0, 2, 1 };
    const inputs = [2]abi.Tensor{ tensorOf(i64, &values, &.{4}, null), tensorOf(i64, &row_of, &.{4}, null) };
    var options = optionsOf(.sum, abi.segments_keep, &executor);
    options.skipped = 1;
    var out = [_]i64{ 10, 20, 30, 40 };
    const target = tensorOf(i64, &out, &.{4}, null);
    try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
    try std.testing.expectEqualSlices(i64, &.{ 2, 20, 4, 40 }, &out);
    options.start = abi.segments_include;
    try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
    try std.testing.expectEqualSlices(i64, &.{ 4, 20, 8, 40 }, &out);
    options = optionsOf(.mean, abi.segments_include, &executor);
    try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
    try std.testing.expectEqualSlices(i64, &.{ 3, 12, 4, 40 }, &out);
}

test "offsets give segments, empty ones too, and rows that there are not write nothing" {
    var executor = test_support.executor(2);
    const values = [_]f32{ 1, 2, 3, 4 };
    const offsets = [_]i64{ 0, 3, 3, 4 };
    var inputs = [2]abi.Tensor{ tensorOf(f32, &values, &.{4}, null), tensorOf(i64, &offsets, &.{4}, null) };
    var out: [3]f32 = @splat(-1);
    const target = tensorOf(f32, &out, &.{3}, null);
    var options = optionsOf(.sum, abi.segments_fill, &executor);
    options.has_offsets = 1;
    try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
    try std.testing.expectEqualSlices(f32, &.{ 6, 0, 4 }, &out);
    options.has_offsets = 0;
    inputs[1] = tensorOf(i64, &.{ 0, 1, 3, -1 }, &.{4}, null);
    try std.testing.expectEqual(abi.errors.index_out_of_range, segments.segments(&inputs, 2, &target, &options));
    var failure: abi.LastError = undefined;
    failure.size_bytes = @sizeOf(abi.LastError);
    _ = status.read(&failure);
    try std.testing.expect(std.mem.indexOf(u8, failure.message.ptr.?[0..failure.message.len], "index 3 at place 2 is none of 3 rows") != null);
    try std.testing.expectEqualSlices(f32, &.{ 6, 0, 4 }, &out);
    inputs[1] = tensorOf(i64, &.{ 0, 1, 2, -1 }, &.{4}, null);
    options.wraps = 1;
    try std.testing.expectEqual(abi.ok, segments.segments(&inputs, 2, &target, &options));
    try std.testing.expectEqualSlices(f32, &.{ 1, 2, 7 }, &out);
}

//! Casts, offsets, gathers, scatters and indices of what is not zero: strides, repeated offsets and several threads give what plain loops give.

const std = @import("std");
const abi = @import("../abi.zig");
const cast = @import("cast.zig");
const gather = @import("gather.zig");
const nonzero = @import("nonzero.zig");
const offsets = @import("offsets.zig");
const scatter = @import("scatter.zig");
const status = @import("../status.zig");
const test_support = @import("../tensor/test_support.zig");

fn tensorOf(comptime T: type, data: []const T, shape: []const i64, strides: ?[]const i64) abi.Tensor {
    const dtype: abi.Dtype = switch (T) {
        f32 => .{ .code = abi.dtype_float, .bits = 32, .lanes = 1 },
        f64 => .{ .code = abi.dtype_float, .bits = 64, .lanes = 1 },
        i64 => .{ .code = abi.dtype_int, .bits = 64, .lanes = 1 },
        u8 => .{ .code = abi.dtype_uint, .bits = 8, .lanes = 1 },
        else => @compileError("no test has such elements"),
    };
    return .{
        .data = @ptrCast(@constCast(data.ptr)),
        .device = .{ .device_type = abi.device_cpu, .device_id = 0 },
        .ndim = @intCast(shape.len),
        .dtype = dtype,
        .shape = @constCast(shape.ptr),
        .strides = if (strides) |own| @constCast(own.ptr) else null,
        .byte_offset = 0,
    };
}

test "casts of transposed, gapped and repeated values" {
    var executor = test_support.executor(3);
    var x: [6 * 5000]f64 = undefined;
    for (&x, 0..) |*value, i| value.* = @as(f64, @floatFromInt(i)) * 0.75 - 900;
    var out: [6 * 2500]u8 = undefined;
    const shape = [_]i64{ 2500, 6 };
    for ([_][2]i64{ .{ 1, 5000 }, .{ 12, 2 }, .{ 0, 3 } }) |strides| {
        const input = tensorOf(f64, &x, &shape, &strides);
        const target = tensorOf(u8, &out, &shape, null);
        const options: abi.CastOptions = .{ .size_bytes = @sizeOf(abi.CastOptions), .executor = &executor };
        try std.testing.expectEqual(abi.ok, cast.cast(@ptrCast(&input), 1, &target, &options));
        for (0..2500) |i| for (0..6) |j| {
            const at: usize = @intCast(@as(i64, @intCast(i)) * strides[0] + @as(i64, @intCast(j)) * strides[1]);
            const whole: i32 = @intFromFloat(x[at]);
            try std.testing.expectEqual(@as(u8, @truncate(@as(u32, @bitCast(whole)))), out[i * 6 + j]);
        };
    }
}

test "offsets count from both ends, and the first index that is none is named" {
    var executor = test_support.executor(3);
    const len = 5000;
    var rows: [len]i64 = undefined;
    for (&rows, 0..) |*index, i| index.* = @as(i64, @intCast(i % 14)) - 7;
    const column = [_]u8{2};
    var out: [len]i64 = undefined;
    const shape = [_]i64{len};
    var inputs = [_]abi.Tensor{ tensorOf(i64, &rows, &shape, null), tensorOf(u8, &column, &shape, &[_]i64{0}) };
    const target = tensorOf(i64, &out, &shape, null);
    const options: abi.OffsetsOptions = .{
        .size_bytes = @sizeOf(abi.OffsetsOptions),
        .axes = &[_]i64{ 0, 1 },
        .extents = &[_]i64{ 7, 3 },
        .strides = &[_]i64{ -10, 4 },
        .executor = &executor,
    };
    try std.testing.expectEqual(abi.ok, offsets.offsets(&inputs, 2, &target, &options));
    for (rows, out) |index, offset| try std.testing.expectEqual(@mod(index, 7) * -10 + 8, offset);
    rows[4321] = 7;
    rows[4900] = -8;
    try std.testing.expectEqual(abi.errors.index_out_of_range, offsets.offsets(&inputs, 2, &target, &options));
    var failure: abi.LastError = undefined;
    failure.size_bytes = @sizeOf(abi.LastError);
    _ = status.read(&failure);
    try std.testing.expectEqualStrings(
        "index 7 is out of bounds for axis 0 with size 7: it stands at place 4321 of the indices",
        failure.message.ptr.?[0..failure.message.len],
    );
}

test "blocks are gathered and scattered whole, those of equal offsets in order" {
    var executor = test_support.executor(3);
    const count = 300;
    var memory: [4000]f32 = undefined;
    for (&memory, 0..) |*value, i| value.* = @floatFromInt(i);
    var at: [count]i64 = undefined;
    for (&at, 0..) |*offset, i| offset.* = @intCast(i * 37 % 400);
    var out: [count * 600]f32 = undefined;
    const of_offsets = [_]i64{count};
    // Extents and strides of blocks, and a distance at which they have no element in common.
    const Case = struct { [2]i64, [2]i64, i64 };
    for ([_]Case{
        .{ .{ 1, 1 }, .{ 9, 9 }, 1 },
        .{ .{ 1, 6 }, .{ 9, 1 }, 6 },
        .{ .{ 2, 3 }, .{ 1000, 5 }, 1 },
        .{ .{ 600, 1 }, .{ 3, 1 }, 1 },
        .{ .{ 3, 200 }, .{ 1000, 1 }, 200 },
    }) |block| {
        const extents, const strides, const distance = block;
        const len: usize = @intCast(extents[0] * extents[1]);
        const shape = [_]i64{ count, extents[0], extents[1] };
        var options: abi.BlocksOptions = .{
            .size_bytes = @sizeOf(abi.BlocksOptions),
            .block_rank = 2,
            .block_shape = &extents,
            .block_strides = &strides,
            .lowest = 0,
            .highest = 400,
            .mode = abi.scatter_assign,
            .reserved = 0,
            .executor = &executor,
        };
        const gathered = tensorOf(f32, &out, &shape, null);
        const inputs = [_]abi.Tensor{ tensorOf(f32, &memory, &of_offsets, null), tensorOf(i64, &at, &of_offsets, null) };
        try std.testing.expectEqual(abi.ok, gather.gather(&inputs, 2, &gathered, &options));
        for (0..count) |i| for (0..@intCast(extents[0])) |r| for (0..@intCast(extents[1])) |c| {
            const place = at[i] + @as(i64, @intCast(r)) * strides[0] + @as(i64, @intCast(c)) * strides[1];
            try std.testing.expectEqual(@as(f32, @floatFromInt(place)), out[i * len + r * @as(usize, @intCast(extents[1])) + c]);
        };
        var few: [count]i64 = undefined;
        for (&few, 0..) |*offset, i| offset.* = @as(i64, @intCast(i % 3)) * distance;
        for ([_]u32{ abi.scatter_assign, abi.scatter_add, abi.scatter_maximum }) |mode| {
            var changed: [4000]f32 = @splat(-1);
            var expected = changed;
            options.mode = mode;
            for (out[0 .. count * len], 0..) |*value, i| value.* = @floatFromInt(i * 7 % 11);
            const target = tensorOf(f32, &changed, &of_offsets, null);
            const given = [_]abi.Tensor{ tensorOf(i64, &few, &of_offsets, null), gathered };
            try std.testing.expectEqual(abi.ok, scatter.scatter(&given, 2, &target, &options));
            for (0..count) |i| for (0..@intCast(extents[0])) |r| for (0..@intCast(extents[1])) |c| {
                const place: usize = @intCast(few[i] + @as(i64, @intCast(r)) * strides[0] + @as(i64, @intCast(c)) * strides[1]);
                const value = out[i * len + r * @as(usize, @intCast(extents[1])) + c];
                expected[place] = switch (mode) {
                    abi.scatter_assign => value,
                    abi.scatter_add => expected[place] + value,
                    else => @max(expected[place], value),
                };
            };
            try std.testing.expectEqualSlices(f32, &expected, &changed);
        }
        at[7] = 401;
        try std.testing.expectEqual(abi.errors.index_out_of_range, gather.gather(&inputs, 2, &gathered, &options));
        at[7] = 7 * 37 % 400;
    }
}

test "indices of what is not zero come in row-major order" {
    var executor = test_support.executor(3);
    const rows = 123;
    const columns = 77;
    var x: [rows * columns]f32 = @splat(0);
    var random: std.Random.DefaultPrng = .init(3);
    for (&x) |*value| {
        if (random.random().uintLessThan(u8, 5) == 0) value.* = std.math.nan(f32);
    }
    x[3] = -0.0;
    const shape = [_]i64{ 1, columns, rows };
    const input = tensorOf(f32, &x, &shape, &[_]i64{ 5, 1, columns });
    var counts: [13]u64 = undefined;
    const options: abi.NonzeroOptions = .{ .size_bytes = @sizeOf(abi.NonzeroOptions), .piece_count = counts.len, .counts = &counts, .executor = &executor };
    try std.testing.expectEqual(abi.ok, nonzero.nonzero(@ptrCast(&input), 1, null, &options));
    var count: usize = 0;
    for (counts) |own| count += own;
    const places = try std.testing.allocator.alloc(i64, 3 * count);
    defer std.testing.allocator.free(places);
    const target = tensorOf(i64, places, &[_]i64{ @intCast(count), 3 }, null);
    try std.testing.expectEqual(abi.ok, nonzero.nonzero(@ptrCast(&input), 1, &target, &options));
    var row: usize = 0;
    for (0..columns) |j| for (0..rows) |i| {
        if (x[i * columns + j] == 0) continue;
        try std.testing.expectEqualSlices(i64, &.{ 0, @intCast(j), @intCast(i) }, places[3 * row ..][0..3]);
        row += 1;
    };
    try std.testing.expectEqual(count, row);
}

//! Rows as the kernels of every instruction set of this machine normalise them: alone, several that overlap, past the caches, in place.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const stream_store = generic.stream_store;
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const row_kernel = generic.row_kernel;
const Operation = row_kernel.Operation;

/// Of two blocks, and longer than any rows that overlap.
const longest = 2 * row_kernel.short_row + 70;
const most_rows = 5;
const untouched = -7;
/// Whole cache lines, so that all rows begin at the same place of one; and a value more, so that they do not.
const out_lens = [_]usize{ std.mem.alignForward(usize, longest + 64, 64), std.mem.alignForward(usize, longest + 64, 64) + 1 };

fn Fixture(comptime T: type) type {
    return struct {
        x: [most_rows][longest]T align(64),
        /// Rows begin a few values after a cache line; what surrounds them stays as it is.
        out: [most_rows * out_lens[1]]T align(64),
        scale: [longest]T,
        shift: [longest]T,

        const Self = @This();

        fn init(self: *Self, rng: std.Random) void {
            for (&self.x) |*row| for (row) |*value| {
                value.* = rng.floatNorm(T) * 3;
            };
            for (&self.scale, &self.shift) |*scale, *shift| {
                scale.* = rng.floatNorm(T);
                shift.* = rng.floatNorm(T);
            }
        }

        fn job(self: *Self, operation: Operation, len: usize, offset: usize, out_step: usize) row_kernel.Rows(T) {
            return .{
                .operation = operation,
                .x = &self.x[0],
                .x_step = longest,
                .out = self.out[offset..].ptr,
                .out_step = @intCast(out_step),
                .len = len,
                .scale = &self.scale,
                .shift = &self.shift,
                .epsilon = 1e-3,
            };
        }

        fn expectOnly(self: *const Self, rows: usize, expected: *const [most_rows][longest]T, len: usize, offset: usize, out_step: usize) !void {
            var at: usize = 0;
            for (0..rows) |k| {
                const begin = k * out_step + offset;
                for (self.out[at..begin]) |value| try std.testing.expectEqual(untouched, value);
                try std.testing.expectEqualSlices(T, expected[k][0..len], self.out[begin..][0..len]);
                at = begin + len;
            }
            for (self.out[at..]) |value| try std.testing.expectEqual(untouched, value);
        }
    };
}

fn testPaths(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(41);
    const fixture = try std.testing.allocator.create(Fixture(T));
    defer std.testing.allocator.destroy(fixture);
    fixture.init(random.random());
    var expected: [most_rows][longest]T = undefined;
    for (kernels.available()) |set| for (std.enums.values(Operation)) |operation| {
        const table = tensor_kernels.tableOf(T, set);
        for ([_]usize{ 1, 3, 16, 17, 100, 256, 1000, 1024, 1500, row_kernel.short_row + 70, longest }) |len| for ([_]usize{ 0, 1, 4 }, [_]usize{ 0, 1, 0 }) |offset, path| {
            const out_step = out_lens[path];
            for (0..most_rows) |k| {
                var alone = fixture.job(operation, len, offset, out_step);
                alone.x = &fixture.x[k];
                alone.out = &expected[k];
                table.row(&alone);
            }
            for ([_]bool{ false, true }) |streams| for ([_]usize{ 1, 2, 3, most_rows }) |count| {
                @memset(&fixture.out, untouched);
                var job = fixture.job(operation, len, offset, out_step);
                job.count = count;
                job.streams = streams;
                table.row(&job);
                stream_store.finish();
                try fixture.expectOnly(count, &expected, len, offset, out_step);
                // In place.
                for (0..count) |k| @memcpy(fixture.out[k * out_step + offset ..][0..len], fixture.x[k][0..len]);
                job.x = job.out;
                job.x_step = job.out_step;
                table.row(&job);
                stream_store.finish();
                try fixture.expectOnly(count, &expected, len, offset, out_step);
            };
        };
    };
}

test "a row has the same bits alone, among others, past the caches and in place, wherever it lies" {
    try testPaths(f32);
    try testPaths(f64);
}

test "softmax takes powers over the whole range of floats" {
    // The first value is the largest, so that out[i] / out[0] is a power.
    var x: [1024]f32 = undefined;
    for (&x, 0..) |*value, i| value.* = -0.1 * @as(f32, @floatFromInt(i));
    var out: [x.len]f32 = undefined;
    for (kernels.available()) |set| {
        softmaxOf(set, &x, &out);
        for (x, out) |argument, value| {
            const exact = @exp(@as(f64, argument)) * @as(f64, out[0]);
            const unit = @max(exact * std.math.floatEps(f32), std.math.floatTrueMin(f32));
            try std.testing.expect(@abs(value - exact) <= 4 * unit);
        }
    }
}

test "softmax gives zero beside infinities and NaN throughout where one is in the row" {
    var x: [300]f32 = @splat(1);
    var out: [x.len]f32 = undefined;
    for (kernels.available()) |set| for ([_]usize{ 0, 5, 250, 299 }) |place| {
        for ([_]f32{ -std.math.inf(f32), -200 }) |low| {
            x[place] = low;
            softmaxOf(set, &x, &out);
            for (out, 0..) |value, i| {
                if (i == place) try std.testing.expectEqual(0, value) else try std.testing.expectApproxEqRel(1.0 / 299.0, value, 1e-6);
            }
        }
        for ([_]f32{ std.math.inf(f32), std.math.nan(f32) }) |bad| {
            x[place] = bad;
            softmaxOf(set, &x, &out);
            for (out) |value| try std.testing.expect(std.math.isNan(value));
        }
        x[place] = 1;
    };
    @memset(&x, -std.math.inf(f32));
    for (kernels.available()) |set| {
        softmaxOf(set, &x, &out);
        for (out) |value| try std.testing.expect(std.math.isNan(value));
    }
}

fn softmaxOf(set: @import("../simd/cpu.zig").InstructionSet, x: []const f32, out: []f32) void {
    tensor_kernels.tableOf(f32, set).row(&.{
        .operation = .softmax,
        .x = x.ptr,
        .out = out.ptr,
        .len = x.len,
        .scale = null,
        .shift = null,
        .epsilon = 0,
    });
}

test "rows far from one in size are standardised as others are" {
    const plain = [_]f32{ 1, 2, 3, 6 };
    var expected: [4]f32 = undefined;
    _ = generic.wide_row.standardize(&plain, &expected, true, 0);
    for ([_]f32{ 0x1p-140, 0x1p-80, 0x1p70, 0x1p125 }) |size| {
        var row: [4]f32 = undefined;
        for (&row, plain) |*value, one| value.* = one * size;
        _ = generic.wide_row.standardize(&row, &row, true, 0);
        try std.testing.expectEqual(expected, row);
    }
}

fn expectStatistics(comptime T: type, x: []const T, epsilon: f64, mean: T, inverse_deviation: T) !void {
    const count: f64 = @floatFromInt(x.len);
    var total: f64 = 0;
    for (x) |value| total += value;
    const exact = total / count;
    var squares: f64 = 0;
    for (x) |value| squares += (value - exact) * (value - exact);
    const deviation = @sqrt(squares / count + epsilon);
    try std.testing.expectApproxEqAbs(exact, mean, 1e-6 * deviation);
    try std.testing.expectApproxEqRel(1.0 / deviation, inverse_deviation, 1e-5);
}

fn testStatistics(comptime T: type, size: T, epsilon: f64) !void {
    var random: std.Random.DefaultPrng = .init(43);
    const fixture = try std.testing.allocator.create(Fixture(T));
    defer std.testing.allocator.destroy(fixture);
    fixture.init(random.random());
    for (&fixture.x) |*row| for (row) |*value| {
        value.* = (value.* + 1) * size;
    };
    var expected: [most_rows][longest]T = undefined;
    for (kernels.available()) |set| for ([_]usize{ 2, 17, 100, 700, row_kernel.short_row + 70, longest }) |len| for ([_]usize{ 1, most_rows }) |count| {
        const table = tensor_kernels.tableOf(T, set);
        var job = fixture.job(.layer_norm, len, 0, out_lens[0]);
        job.epsilon = epsilon;
        job.count = count;
        @memset(&fixture.out, untouched);
        table.row(&job);
        for (0..count) |k| @memcpy(expected[k][0..len], fixture.out[k * out_lens[0] ..][0..len]);
        var means: [most_rows + 1]T = @splat(untouched);
        var inverses: [most_rows + 1]T = @splat(untouched);
        job.means = &means;
        job.inverse_deviations = &inverses;
        @memset(&fixture.out, untouched);
        table.row(&job);
        // What is told beside it changes no result.
        try fixture.expectOnly(count, &expected, len, 0, out_lens[0]);
        for (0..count) |k| try expectStatistics(T, fixture.x[k][0..len], epsilon, means[k], inverses[k]);
        try std.testing.expectEqual(untouched, means[count]);
        try std.testing.expectEqual(untouched, inverses[count]);
    };
}

test "a layer norm tells the mean of each row and one over its deviation" {
    try testStatistics(f32, 1, 1e-3);
    try testStatistics(f64, 1, 1e-3);
    // Squares that float32 does not hold.
    try testStatistics(f32, 0x1p80, 0);
    try testStatistics(f32, 0x1p-80, 0);
}

//! Rows as the kernels of every instruction set of this machine normalise them: alone, two in step, past the caches, in place.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("kernels.zig");
const stream_store = generic.stream_store;
const tensor_kernels = @import("tensor_kernels.zig");

const row_kernel = generic.row_kernel;
const Operation = row_kernel.Operation;

const longest = row_kernel.short_row + 70;
const untouched = -7;
/// Whole cache lines, so that both rows begin at the same place of one.
const out_len = std.mem.alignForward(usize, longest + 64, 64);

fn Fixture(comptime T: type) type {
    return struct {
        x: [2][longest]T align(64),
        /// Rows begin a few values after a cache line; what surrounds them stays as it is.
        out: [2][out_len]T align(64),
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

        fn job(self: *Self, operation: Operation, len: usize, offset: usize) row_kernel.Row(T) {
            return .{
                .operation = operation,
                .x = .{ &self.x[0], &self.x[1] },
                .out = .{ self.out[0][offset..].ptr, self.out[1][offset..].ptr },
                .len = len,
                .scale = &self.scale,
                .shift = &self.shift,
                .epsilon = 1e-3,
            };
        }

        fn clear(self: *Self) void {
            for (&self.out) |*row| @memset(row, untouched);
        }

        fn expectOnly(self: *const Self, rows: usize, expected: *const [2][longest]T, len: usize, offset: usize) !void {
            for (0..rows) |k| {
                try std.testing.expectEqualSlices(T, expected[k][0..len], self.out[k][offset..][0..len]);
                for (self.out[k][0..offset]) |value| try std.testing.expectEqual(untouched, value);
                for (self.out[k][offset + len ..]) |value| try std.testing.expectEqual(untouched, value);
            }
        }
    };
}

fn testWays(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(41);
    var fixture: Fixture(T) = undefined;
    fixture.init(random.random());
    var expected: [2][longest]T = undefined;
    for (kernels.available()) |set| for (std.enums.values(Operation)) |operation| {
        const table = tensor_kernels.tableOf(T, set);
        for ([_]usize{ 1, 3, 16, 17, 100, 256, 1000, row_kernel.pair_row, 1500, longest }) |len| for ([_]usize{ 0, 1, 4 }) |offset| {
            for (0..2) |k| {
                var alone = fixture.job(operation, len, offset);
                alone.x[0] = &fixture.x[k];
                alone.out[0] = &expected[k];
                table.row(&alone);
            }
            for ([_]bool{ false, true }) |streams| for (1..3) |count| {
                if (count == 2 and len > row_kernel.pair_row) continue;
                fixture.clear();
                var job = fixture.job(operation, len, offset);
                job.count = count;
                job.streams = streams;
                job.next = job.x;
                table.row(&job);
                stream_store.finish();
                try fixture.expectOnly(count, &expected, len, offset);
                // In place.
                for (0..count) |k| @memcpy(fixture.out[k][offset..][0..len], fixture.x[k][0..len]);
                job.x = .{ job.out[0], job.out[1] };
                job.next = null;
                table.row(&job);
                stream_store.finish();
                try fixture.expectOnly(count, &expected, len, offset);
            };
        };
    };
}

test "a row has the same bits alone, in a pair, past the caches and in place, wherever it lies" {
    try testWays(f32);
    try testWays(f64);
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

fn softmaxOf(set: @import("cpu.zig").InstructionSet, x: []const f32, out: []f32) void {
    tensor_kernels.tableOf(f32, set).row(&.{
        .operation = .softmax,
        .x = @splat(x.ptr),
        .out = @splat(out.ptr),
        .len = x.len,
        .scale = null,
        .shift = null,
        .epsilon = 0,
    });
}

//! Products of every instruction set this CPU has, against the scalar twin.

const std = @import("std");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const generic = @import("generic");
const kernels = @import("gemm_kernels.zig");
const gemm = @import("gemm.zig");
const support = @import("../tensor/test_support.zig");

const RandomMatrix = support.RandomMatrix;

/// Rounding of a sum of `k` products of numbers below 1: an ulp of the sum a step (Higham, "Accuracy and Stability of Numerical
/// Algorithms", 3.1), and some room.
fn tolerance(comptime T: type, k: usize, sum: f64) f64 {
    const steps: f64 = @floatFromInt(k + 8);
    return steps * std.math.floatEps(T) * @max(1, @abs(sum));
}

fn expectMatmul(comptime T: type, rng: std.Random, rows: usize, columns: usize, k: usize) !void {
    const a: RandomMatrix(T) = try .init(rng, rows, k, true);
    defer a.deinit();
    const b: RandomMatrix(T) = try .init(rng, k, columns, true);
    defer b.deinit();
    const before: RandomMatrix(T) = try .init(rng, rows, columns, false);
    defer before.deinit();
    const factors = [_][2]T{ .{ 1, 0 }, .{ 1, 1 }, .{ -0.5, 0.25 }, .{ 0, 2 } };
    const alpha, const beta = factors[rng.uintLessThan(usize, factors.len)];
    for (kernels.available()) |set| {
        const out = try before.copy();
        defer out.deinit();
        if (beta == 0) {
            // What `out` held must not matter.
            for (0..rows) |row| for (0..columns) |column| {
                out.at(row, column).* = std.math.nan(T);
            };
        }
        const problem = support.problemOf(T, a, b, out, alpha, beta);
        try gemm.multiplyWith(.plain(T), kernels.tableOf(T, set), &problem, null);
        for (0..rows) |row| for (0..columns) |column| {
            const kept: f64 = if (beta == 0) 0 else @as(f64, beta) * before.at(row, column).*;
            const expected = alpha * support.scalarMatmul(T, a, b, row, column) + kept;
            std.testing.expectApproxEqAbs(expected, @as(f64, out.at(row, column).*), tolerance(T, k, expected)) catch |failure| {
                std.debug.print("{t} {} m {d} n {d} k {d} alpha {d} beta {d} at {d}, {d}\n", .{
                    set, T, rows, columns, k, alpha, beta, row, column,
                });
                return failure;
            };
        };
        // Memory between the elements of `out` is not touched.
        for (0..rows) |row| for (0..columns) |column| {
            out.at(row, column).* = before.at(row, column).*;
        };
        try std.testing.expectEqualSlices(T, before.buffer, out.buffer);
    }
}

test "matmuls of random shapes and strides agree with the scalar twin" {
    var random: std.Random.DefaultPrng = .init(11);
    const rng = random.random();
    inline for (.{ f32, f64 }) |T| {
        for (0..150) |_| {
            try expectMatmul(T, rng, rng.uintLessThan(usize, 80), rng.uintLessThan(usize, 80), rng.uintLessThan(usize, 80));
        }
    }
}

test "sizes around every edge of tiles and blocks agree with the scalar twin" {
    var random: std.Random.DefaultPrng = .init(12);
    const rng = random.random();
    inline for (.{ f32, f64 }) |T| {
        const table = kernels.table(T);
        for ([_]usize{ 1, table.tile_rows - 1, table.tile_rows, table.tile_rows + 1 }) |rows| {
            for ([_]usize{ 1, table.tile_columns - 1, table.tile_columns, 2 * table.tile_columns + 1 }) |columns| {
                try expectMatmul(T, rng, rows, columns, 3);
            }
        }
        // Two blocks of k, more rows and columns than one block.
        try expectMatmul(T, rng, 300, 20, 700);
        try expectMatmul(T, rng, 20, 300, 513);
        try expectMatmul(T, rng, 1, 500, 300);
        try expectMatmul(T, rng, 500, 1, 300);
    }
}

test "skinny matmuls of every layout agree with the scalar twin" {
    var random: std.Random.DefaultPrng = .init(17);
    const rng = random.random();
    inline for (.{ f32, f64 }) |T| {
        for (1..10) |skinny| {
            // Strides are random: several draws meet each layout.
            for (0..6) |_| {
                try expectMatmul(T, rng, skinny, 70 + 30 * skinny, 60);
                try expectMatmul(T, rng, 70 + 30 * skinny, skinny, 60);
                try expectMatmul(T, rng, skinny, 9 - skinny, 500);
            }
        }
        // Operands `a` larger than L2, and small ones beside a large `b`.
        try expectMatmul(T, rng, 1, 5000, 130);
        try expectMatmul(T, rng, 5000, 3, 67);
        try expectMatmul(T, rng, 2000, 17, 30);
        try expectMatmul(T, rng, 17, 2000, 30);
    }
}

test "every route is taken by the matmul that it is made for" {
    const table = kernels.table(f32);
    const Case = struct { extents: [3]usize, a: [2]isize, b: [2]isize, beta: f32 = 0, route: blocking.Route };
    const large: isize = 4096;
    const cases = [_]Case{
        .{ .extents = .{ 4096, 1, 4096 }, .a = .{ 1, large }, .b = .{ 1, 1 }, .route = .combine },
        .{ .extents = .{ 4096, 4, 4096 }, .a = .{ 1, large }, .b = .{ 4, 1 }, .beta = 1, .route = .combine },
        .{ .extents = .{ 4096, 1, 4096 }, .a = .{ large, 1 }, .b = .{ 1, 1 }, .route = .dots },
        .{ .extents = .{ 4096, 8, 4096 }, .a = .{ large, 1 }, .b = .{ 8, 1 }, .route = .dots },
        .{ .extents = .{ 1, 1, 4096 }, .a = .{ 1, 1 }, .b = .{ 1, 1 }, .route = .dots },
        .{ .extents = .{ 4, 4, 4 }, .a = .{ 1, 4 }, .b = .{ 1, 4 }, .route = .small },
        .{ .extents = .{ 64, 64, 64 }, .a = .{ 1, 64 }, .b = .{ 1, 64 }, .route = .direct },
        .{ .extents = .{ 16, 4096, 256 }, .a = .{ 256, 1 }, .b = .{ 1, 256 }, .route = .copied_a },
        .{ .extents = .{ 3, 5, 4 }, .a = .{ 4, 1 }, .b = .{ 1, 4 }, .beta = 1, .route = .scalar },
        .{ .extents = .{ 1024, 1024, 1024 }, .a = .{ 1, 1024 }, .b = .{ 1, 1024 }, .route = .panels },
    };
    var nothing: [1]f32 = .{0};
    for (cases) |case| {
        const problem: gemm.Problem(.plain(f32)) = .{
            .m = case.extents[0],
            .n = case.extents[1],
            .k = case.extents[2],
            .a = &nothing,
            .a_row = case.a[0],
            .a_k = case.a[1],
            .b = &nothing,
            .b_k = case.b[0],
            .b_column = case.b[1],
            .out = &nothing,
            .out_row = 1,
            .out_column = @intCast(case.extents[0]),
            .alpha = 1,
            .beta = case.beta,
        };
        try std.testing.expectEqual(case.route, blocking.route(.plain(f32), table, &problem));
    }
}

test "any number of threads gives the same bits" {
    var random: std.Random.DefaultPrng = .init(13);
    const rng = random.random();
    for ([_][3]usize{ .{ 150, 170, 600 }, .{ 1000, 3, 40 }, .{ 3, 1000, 40 }, .{ 64, 64, 64 }, .{ 131, 101, 50 }, .{ 900, 800, 30 }, .{ 1, 9000, 40 }, .{ 700, 7, 90 }, .{ 20, 900, 90 }, .{ 600, 90, 1100 } }) |extents| {
        const a: RandomMatrix(f32) = try .init(rng, extents[0], extents[2], false);
        defer a.deinit();
        const b: RandomMatrix(f32) = try .init(rng, extents[2], extents[1], false);
        defer b.deinit();
        const one: RandomMatrix(f32) = try .init(rng, extents[0], extents[1], false);
        defer one.deinit();
        const initial = try one.copy();
        defer initial.deinit();
        for ([_]f32{ 0, 0.5 }) |beta| {
            @memcpy(one.buffer, initial.buffer);
            const problem = support.problemOf(f32, a, b, one, 1, beta);
            try gemm.multiply(f32, &problem, null);
            for ([_]u32{ 2, 3, 7 }) |thread_count| {
                const many = try initial.copy();
                defer many.deinit();
                const threaded = support.problemOf(f32, a, b, many, 1, beta);
                const executor = support.executor(thread_count);
                try gemm.multiply(f32, &threaded, &executor);
                try std.testing.expectEqualSlices(u8, std.mem.sliceAsBytes(one.buffer), std.mem.sliceAsBytes(many.buffer));
            }
        }
    }
}

test "row-major matmuls of any number of threads give the same bits" {
    var random: std.Random.DefaultPrng = .init(16);
    const rng = random.random();
    for ([_][3]usize{ .{ 131, 101, 50 }, .{ 64, 64, 64 }, .{ 5, 1030, 40 }, .{ 200, 37, 300 }, .{ 12, 129, 7 }, .{ 1, 9000, 40 }, .{ 700, 7, 90 }, .{ 900, 64, 32 }, .{ 300, 90, 1200 }, .{ 49, 256, 1300 }, .{ 30, 160, 20_000 } }) |extents| {
        const rows, const columns, const k = extents;
        const a = try std.testing.allocator.alloc(f32, rows * k);
        defer std.testing.allocator.free(a);
        const b = try std.testing.allocator.alloc(f32, k * columns);
        defer std.testing.allocator.free(b);
        for (a) |*value| value.* = rng.float(f32);
        for (b) |*value| value.* = rng.float(f32);
        var first: ?[]f32 = null;
        defer if (first) |out| std.testing.allocator.free(out);
        for ([_]u32{ 1, 2, 3, 7 }) |thread_count| {
            const out = try std.testing.allocator.alloc(f32, rows * columns);
            const problem: gemm.Problem(.plain(f32)) = .{
                .m = rows,
                .n = columns,
                .k = k,
                .a = a.ptr,
                .a_row = @intCast(k),
                .a_k = 1,
                .b = b.ptr,
                .b_k = @intCast(columns),
                .b_column = 1,
                .out = out.ptr,
                .out_row = @intCast(columns),
                .out_column = 1,
                .alpha = 1,
                .beta = 0,
            };
            const executor = support.executor(thread_count);
            try gemm.multiply(f32, &problem, &executor);
            if (first) |expected| {
                defer std.testing.allocator.free(out);
                try std.testing.expectEqualSlices(u8, std.mem.sliceAsBytes(expected), std.mem.sliceAsBytes(out));
            } else first = out;
        }
    }
}

test "an executor that refuses is reported" {
    var random: std.Random.DefaultPrng = .init(14);
    const rng = random.random();
    const a: RandomMatrix(f32) = try .init(rng, 300, 300, false);
    defer a.deinit();
    const out: RandomMatrix(f32) = try .init(rng, 300, 300, false);
    defer out.deinit();
    const problem = support.problemOf(f32, a, a, out, 1, 0);
    try std.testing.expectError(error.ExecutorFailed, gemm.multiply(f32, &problem, &support.broken_executor));
}

test "infinity and NaN pass through as IEEE 754 says" {
    for (kernels.available()) |set| {
        for ([_]usize{ 1, 64 }) |size| {
            var values: [3][64 * 64]f32 = @splat(@splat(1));
            values[0][0] = std.math.inf(f32);
            values[0][size * size - 1] = std.math.nan(f32);
            const problem: gemm.Problem(.plain(f32)) = .{
                .m = size,
                .n = size,
                .k = size,
                .a = &values[0],
                .a_row = @intCast(size),
                .a_k = 1,
                .b = &values[1],
                .b_k = @intCast(size),
                .b_column = 1,
                .out = &values[2],
                .out_row = @intCast(size),
                .out_column = 1,
                .alpha = 1,
                .beta = 0,
            };
            try gemm.multiplyWith(.plain(f32), kernels.tableOf(f32, set), &problem, null);
            if (size > 1) try std.testing.expect(std.math.isPositiveInf(values[2][0]));
            try std.testing.expect(std.math.isNan(values[2][size * size - 1]));
        }
    }
}

test "packing by vectors agrees with packing by scalars" {
    var random: std.Random.DefaultPrng = .init(15);
    const rng = random.random();
    inline for (.{ f32, f64 }) |T| {
        for (kernels.available()) |set| {
            const table = kernels.tableOf(T, set);
            for ([_]usize{ 1, 5, 16, 37 }) |k| {
                for ([_]bool{ false, true }) |is_a| {
                    const lines = if (is_a) table.tile_rows else table.tile_columns;
                    for ([_]usize{ 1, lines - 1, lines }) |width| {
                        const source: RandomMatrix(T) = try .init(rng, width, k, true);
                        defer source.deinit();
                        const target = try std.testing.allocator.alloc(T, generic.pack.panelWords(.plain(T), lines, k, table.lanes));
                        defer std.testing.allocator.free(target);
                        const panel: generic.table.Panel(.plain(T)) = .{
                            .source = .{ .ptr = source.ptr(), .across = source.row_stride, .along = source.column_stride },
                            .width = width,
                            .k = k,
                            .target = target.ptr,
                        };
                        if (is_a) table.pack_a(&panel) else table.pack_b(&panel);
                        for (0..k) |step| for (0..lines) |line| {
                            const expected = if (line < width) source.at(line, step).* else 0;
                            try std.testing.expectEqual(expected, target[step * lines + line]);
                        };
                    }
                }
            }
        }
    }
}

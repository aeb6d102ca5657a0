//! Convolutions and what they are made of on every instruction set of this machine, against plain loops.

const std = @import("std");
const generic = @import("generic");
const convolve = @import("convolve.zig");
const convolve_depthwise = @import("convolve_depthwise.zig");
const convolve_depthwise_weights = @import("convolve_depthwise_weights.zig");
const convolve_pointwise = @import("convolve_pointwise.zig");
const convolve_sliding = @import("convolve_sliding.zig");
const convolve_weights = @import("convolve_weights.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const taps_of = @import("taps.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");
const windows_of = @import("windows.zig");

fn testSweep(comptime T: type) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(5);
    const rng = random.random();
    const values = try allocator.alloc(T, 20_000);
    defer allocator.free(values);
    for (values) |*value| value.* = rng.float(T) * 2 - 1;
    for (kernels.available()) |set| {
        const table = tensor_kernels.tableOf(T, set);
        const height = table.sweep_height;
        var out: [16 * 64]T = undefined;
        for (1..table.sweep_columns + 1) |columns| for ([_]generic.sweep_kernel.Adjacent{ .steps, .columns }) |adjacent| {
            const has_edges = adjacent == .steps and columns > 1 and rng.boolean();
            var job: generic.sweep_kernel.Sweep(T) = .{
                .adjacent = adjacent,
                .blocks = rng.intRangeAtMost(usize, 1, 2),
                .rows = rng.uintLessThan(usize, 3),
                .taps = rng.intRangeAtMost(usize, 1, 2),
                .steps = rng.uintLessThan(usize, 7),
                .head_steps = if (has_edges) 2 else 0,
                .tail_steps = if (has_edges) 3 else 0,
                .a = values.ptr,
                .a_row = 24 * height,
                .a_block = 50 * height,
                .b = values.ptr + 8000,
                .b_stride = rng.intRangeAtMost(usize, 14, 20),
                .b_tap = 100,
                .b_row = 300,
                .b_block = 1000,
                .columns = columns,
                .vectors = rng.intRangeAtMost(usize, 1, table.sweep_vectors),
                .out = &out,
                .out_column = 64,
                .addend = if (rng.boolean()) values.ptr + 100 else null,
                .accumulates = rng.boolean(),
            };
            for (&out, 0..) |*value, i| value.* = @floatFromInt(i % 7);
            table.sweep(&job);
            const summed = job.vectors * (height / table.sweep_vectors);
            for (0..columns) |j| for (summed..height) |i| try std.testing.expectEqual(@as(T, @floatFromInt((j * 64 + i) % 7)), out[j * 64 + i]);
            for (0..columns) |j| for (0..summed) |i| {
                var expected: f64 = if (job.accumulates) @floatFromInt((j * 64 + i) % 7) else 0;
                if (job.addend) |addend| expected += addend[i];
                for (0..job.blocks) |block| for (0..job.rows) |row| for (0..job.taps) |tap| {
                    const steps = job.head_steps + job.steps + job.tail_steps;
                    for (0..steps) |step| {
                        if (step < job.head_steps and j == 0) continue;
                        if (step >= job.head_steps + job.steps and j + 1 == columns) continue;
                        const a = job.a[block * job.a_block + row * job.a_row + (tap * steps + step) * height + i];
                        const along = if (adjacent == .steps) step + j * job.b_stride else step * job.b_stride + j;
                        const b = job.b[block * job.b_block + row * job.b_row + tap * job.b_tap + along];
                        expected += @as(f64, a) * b;
                    }
                };
                try std.testing.expectApproxEqAbs(expected, @as(f64, out[j * 64 + i]), 40 * std.math.floatEps(T));
            };
        };
    }
}

test "a tile accumulates over blocks, rows, taps and steps" {
    try testSweep(f32);
    try testSweep(f64);
}

fn testTranspose(comptime T: type) !void {
    var source: [40 * 50]T = undefined;
    for (&source, 0..) |*value, i| value.* = @floatFromInt(i);
    var offsets: [50]u32 = undefined;
    for (&offsets, 0..) |*offset, i| offset.* = @intCast((i * 17 % 50) * 40);
    for (kernels.available()) |set| {
        const table = tensor_kernels.tableOf(T, set);
        for ([_]usize{ 1, 3, 7, 16, 17, 33, 40 }) |rows| for ([_]usize{ 1, 4, 15, 16, 32, 47 }) |columns| {
            for ([_]bool{ false, true }) |has_offsets| {
                var target: [50 * 40 + 1]T = @splat(-1);
                table.transpose(&.{
                    .rows = rows,
                    .columns = columns,
                    .source = &source,
                    .source_row = 50,
                    .target = &target,
                    .target_column = 40,
                    .target_offsets = if (has_offsets) &offsets else null,
                });
                var written: usize = 0;
                for (target) |value| written += @intFromBool(value != -1);
                try std.testing.expectEqual(rows * columns, written);
                for (0..columns) |column| for (0..rows) |row| {
                    const at = if (has_offsets) offsets[column] else column * 40;
                    try std.testing.expectEqual(source[row * 50 + column], target[at + row]);
                };
            }
        };
    }
}

test "transposed copies exchange rows and columns and write nothing else" {
    try testTranspose(f32);
    try testTranspose(f64);
}

fn testPanels(comptime T: type) !void {
    var source: [9 * 120]T = undefined;
    for (&source, 0..) |*value, i| value.* = @floatFromInt(i);
    for (kernels.available()) |set| {
        const table = tensor_kernels.tableOf(T, set);
        for ([_]usize{ 1, 2, 9 }) |rows| for ([_]usize{ 1, 5, 14, 16, 31, 64, 97 }) |columns| for ([_]usize{ 3, 14, 16, 32 }) |height| for ([_]usize{ 0, 1, 40 }) |first| {
            const panel_len = rows * height + 5;
            var target: [60 * 9 * 40]T = @splat(-1);
            table.panels(&.{
                .rows = rows,
                .columns = columns,
                .source = &source,
                .source_row = 120,
                .target = &target,
                .height = height,
                .target_panel = panel_len,
                .first = first,
            });
            var written: usize = 0;
            for (target) |value| written += @intFromBool(value != -1);
            try std.testing.expectEqual(rows * columns, written);
            for (0..rows) |row| for (0..columns) |column| {
                const place = first + column;
                try std.testing.expectEqual(source[row * 120 + column], target[place / height * panel_len + row * height + place % height]);
            };
        };
    }
}

test "rows are cut into panels, and nothing else is written" {
    try testPanels(f32);
    try testPanels(f64);
}

const Image = test_support.Image;

/// Adds every product of a convolution to whichever of the three is the sum.
fn scalar(comptime T: type, problem: *const convolve.Problem, image: anytype, weight: anytype, result: anytype, comptime sum: enum { result, image, weight }) void {
    const inputs = problem.groupInputs();
    // Channels are the innermost loops: where a tap lies is asked once for all of them.
    for (0..problem.result.shape[0]) |n| for (0..problem.result.shape[2]) |p| for (0..problem.weight.shape[2]) |i| {
        const row = problem.windows.rows.place(p, i) orelse continue;
        for (0..problem.result.shape[3]) |q| for (0..problem.weight.shape[3]) |j| {
            const column = problem.windows.columns.place(q, j) orelse continue;
            for (0..problem.result.shape[1]) |o| {
                const y = result.at(.{ n, o, p, q });
                const first = o / problem.groupOutputs() * inputs;
                for (0..inputs) |c| {
                    const x = image.at(.{ n, first + c, row, column });
                    const w = weight.at(.{ o, c, i, j });
                    switch (sum) {
                        .result => y.* += @as(f64, x.*) * w.*,
                        .image => x.* += @as(f64, w.*) * y.*,
                        .weight => w.* += @as(f64, x.*) * y.*,
                    }
                }
            }
        };
    };
    _ = T;
}

fn randomSlide(rng: std.Random) windows_of.Slide {
    while (true) {
        var slide: windows_of.Slide = .{
            .image = rng.intRangeAtMost(usize, 1, 34),
            .window = rng.intRangeAtMost(usize, 1, 4),
            .result = 0,
            .stride = rng.intRangeAtMost(usize, 1, 3),
            .padding = rng.uintLessThan(usize, 4),
            .dilation = rng.intRangeAtMost(usize, 1, 3),
        };
        const reach = slide.dilation * (slide.window - 1) + 1;
        if (slide.image + 2 * slide.padding < reach) continue;
        slide.result = (slide.image + 2 * slide.padding - reach) / slide.stride + 1;
        return slide;
    }
}

fn testConvolutions(comptime T: type, rounds: usize) !void {
    var random: std.Random.DefaultPrng = .init(31);
    const rng = random.random();
    for (0..rounds) |_| {
        const windows: windows_of.Windows = .{ .rows = randomSlide(rng), .columns = randomSlide(rng) };
        const groups = rng.intRangeAtMost(usize, 1, 2);
        const inputs = rng.intRangeAtMost(usize, 1, 20);
        const outputs = rng.intRangeAtMost(usize, 1, 40);
        const batch = rng.intRangeAtMost(usize, 1, 3);
        const shapes = [3][4]usize{
            .{ batch, inputs * groups, windows.rows.image, windows.columns.image },
            .{ outputs * groups, inputs, windows.rows.window, windows.columns.window },
            .{ batch, outputs * groups, windows.rows.result, windows.columns.result },
        };
        var given: [3]Image(T) = undefined;
        for (&given, shapes) |*image, shape| image.* = try .init(rng, shape, rng.enumValue(test_support.ImageLayout));
        defer for (given) |image| image.deinit();
        const problem: convolve.Problem = .{
            .image = given[0].view,
            .weight = given[1].view,
            .result = given[2].view,
            .bias = null,
            .windows = windows,
            .groups = groups,
        };
        const executor = test_support.executor(3);
        inline for (.{ .result, .image, .weight }, .{ 2, 0, 1 }) |which, place| {
            const expected: Image(f64) = try .init(rng, shapes[place], .nchw);
            defer expected.deinit();
            @memset(expected.values, 0);
            switch (which) {
                .result => scalar(T, &problem, given[0], given[1], expected, which),
                .image => scalar(T, &problem, expected, given[1], given[2], which),
                .weight => scalar(T, &problem, given[0], expected, given[2], which),
                else => comptime unreachable,
            }
            const kept = try std.testing.allocator.dupe(T, given[place].values);
            defer std.testing.allocator.free(kept);
            for (kernels.available()) |set| {
                const table = tensor_kernels.tableOf(T, set);
                for ([_]?*const @TypeOf(executor){ null, &executor }) |given_executor| {
                    const before = try std.testing.allocator.dupe(T, given[place].values);
                    defer std.testing.allocator.free(before);
                    switch (which) {
                        .result => try convolve_sliding.run(T, table, &problem, .forward, given_executor),
                        .image => try convolve_sliding.run(T, table, &problem, .backward, given_executor),
                        .weight => try convolve_weights.run(T, table, &problem, given_executor),
                        else => comptime unreachable,
                    }
                    // The second time with three threads: the same bits.
                    if (given_executor != null) try std.testing.expectEqualSlices(T, before, given[place].values);
                }
                const shape = shapes[place];
                for (0..shape[0]) |n| for (0..shape[1]) |c| for (0..shape[2]) |p| for (0..shape[3]) |q| {
                    const index = [4]usize{ n, c, p, q };
                    try std.testing.expectApproxEqAbs(expected.at(index).*, @as(f64, given[place].at(index).*), 2000 * std.math.floatEps(T));
                };
                // What is computed next reads what was given.
                @memcpy(given[place].values, kept);
            }
        }
    }
}

test "convolutions and their gradients, with the same bits for any number of threads" {
    try testConvolutions(f32, 60);
    try testConvolutions(f64, 15);
}

fn testPointwise(comptime T: type, rounds: usize) !void {
    var random: std.Random.DefaultPrng = .init(12);
    const rng = random.random();
    for (0..rounds) |round| {
        // Now and then planes of whole pages, and channels.
        const is_aliased = round % 8 == 0;
        const rows = if (is_aliased) 32 else rng.intRangeAtMost(usize, 1, 24);
        const columns = if (is_aliased) 32 else rng.intRangeAtMost(usize, 2, 26);
        const groups = rng.intRangeAtMost(usize, 1, 2);
        const inputs = if (is_aliased) 1024 else rng.intRangeAtMost(usize, 1, 70);
        const outputs = rng.intRangeAtMost(usize, 1, if (is_aliased) 9 else 70);
        const batch = rng.intRangeAtMost(usize, 1, if (is_aliased) 2 else 12);
        const shapes = [3][4]usize{ .{ batch, inputs * groups, rows, columns }, .{ outputs * groups, inputs, 1, 1 }, .{ batch, outputs * groups, rows, columns } };
        var given: [3]Image(T) = undefined;
        for (&given, shapes) |*image, shape| image.* = try .init(rng, shape, .nchw);
        defer for (given) |image| image.deinit();
        const problem: convolve.Problem = .{
            .image = given[0].view,
            .weight = given[1].view,
            .result = given[2].view,
            .bias = null,
            .windows = .{ .rows = pointwise(rows), .columns = pointwise(columns) },
            .groups = groups,
        };
        const executor = test_support.executor(3);
        inline for (.{ .result, .image, .weight }, .{ 2, 0, 1 }, .{ convolve.Pass.forward, .image_gradient, .weight_gradient }) |which, place, pass| {
            const expected: Image(f64) = try .init(rng, shapes[place], .nchw);
            defer expected.deinit();
            @memset(expected.values, 0);
            switch (which) {
                .result => scalar(T, &problem, given[0], given[1], expected, which),
                .image => scalar(T, &problem, expected, given[1], given[2], which),
                .weight => scalar(T, &problem, given[0], expected, given[2], which),
                else => comptime unreachable,
            }
            const kept = try std.testing.allocator.dupe(T, given[place].values);
            defer std.testing.allocator.free(kept);
            for (kernels.available()) |set| {
                const table = tensor_kernels.tableOf(T, set);
                if (!convolve_pointwise.fits(T, table, &problem, pass)) continue;
                for ([_]?*const @TypeOf(executor){ null, &executor }) |given_executor| {
                    const before = try std.testing.allocator.dupe(T, given[place].values);
                    defer std.testing.allocator.free(before);
                    try convolve_pointwise.run(T, table, &problem, pass, given_executor);
                    // The second time with three threads: the same bits.
                    if (given_executor != null) try std.testing.expectEqualSlices(T, before, given[place].values);
                }
                const tolerance = 2000 * std.math.floatEps(T);
                for (expected.values, given[place].values) |wanted, value| try std.testing.expectApproxEqAbs(wanted, @as(f64, value), tolerance);
            }
            @memcpy(given[place].values, kept);
        }
    }
}

fn pointwise(extent: usize) windows_of.Slide {
    return .{ .image = extent, .window = 1, .result = extent, .stride = 1, .padding = 0, .dilation = 1 };
}

test "windows of one element where pixels are adjacent, with the same bits for any number of threads" {
    try testPointwise(f32, 24);
    try testPointwise(f64, 9);
}

fn testDepthwise(comptime T: type) !void {
    var random: std.Random.DefaultPrng = .init(8);
    const rng = random.random();
    for (0..30) |_| {
        const windows: windows_of.Windows = .{ .rows = randomSlide(rng), .columns = randomSlide(rng) };
        const groups = rng.intRangeAtMost(usize, 1, 80);
        const outputs = groups * rng.intRangeAtMost(usize, 1, 2);
        const batch = rng.intRangeAtMost(usize, 1, 3);
        const shapes = [3][4]usize{
            .{ batch, groups, windows.rows.image, windows.columns.image },
            .{ outputs, 1, windows.rows.window, windows.columns.window },
            .{ batch, outputs, windows.rows.result, windows.columns.result },
        };
        const layout = rng.enumValue(test_support.ImageLayout);
        var given: [3]Image(T) = undefined;
        for (&given, shapes) |*image, shape| image.* = try .init(rng, shape, if (rng.boolean()) layout else rng.enumValue(test_support.ImageLayout));
        defer for (given) |image| image.deinit();
        const problem: convolve.Problem = .{
            .image = given[0].view,
            .weight = given[1].view,
            .result = given[2].view,
            .bias = null,
            .windows = windows,
            .groups = groups,
        };
        const executor = test_support.executor(3);
        inline for (.{ .result, .image, .weight }, .{ 2, 0, 1 }) |which, place| {
            if (which == .result or convolve_depthwise.hasChannels(&problem)) {
                const expected: Image(f64) = try .init(rng, shapes[place], .nchw);
                defer expected.deinit();
                @memset(expected.values, 0);
                switch (which) {
                    .result => scalar(T, &problem, given[0], given[1], expected, which),
                    .image => scalar(T, &problem, expected, given[1], given[2], which),
                    .weight => scalar(T, &problem, given[0], expected, given[2], which),
                    else => comptime unreachable,
                }
                const kept = try std.testing.allocator.dupe(T, given[place].values);
                defer std.testing.allocator.free(kept);
                for (kernels.available()) |set| {
                    const table = tensor_kernels.tableOf(T, set);
                    for ([_]?*const @TypeOf(executor){ null, &executor }) |given_executor| {
                        const before = try std.testing.allocator.dupe(T, given[place].values);
                        defer std.testing.allocator.free(before);
                        switch (which) {
                            .result => try convolve_depthwise.run(T, table, &problem, given_executor),
                            .image => try convolve_depthwise.byImage(T, table, &problem, given_executor),
                            .weight => try convolve_depthwise_weights.run(T, table, &problem, given_executor),
                            else => comptime unreachable,
                        }
                        // The second time with three threads: the same bits.
                        if (given_executor != null) try std.testing.expectEqualSlices(T, before, given[place].values);
                    }
                    const shape = shapes[place];
                    for (0..shape[0]) |n| for (0..shape[1]) |c| for (0..shape[2]) |p| for (0..shape[3]) |q| {
                        const index = [4]usize{ n, c, p, q };
                        try std.testing.expectApproxEqAbs(expected.at(index).*, @as(f64, given[place].at(index).*), 2000 * std.math.floatEps(T));
                    };
                    @memcpy(given[place].values, kept);
                }
            }
        }
    }
}

test "convolutions of each channel alone and their gradients, with the same bits for any number of threads" {
    try testDepthwise(f32);
    try testDepthwise(f64);
}

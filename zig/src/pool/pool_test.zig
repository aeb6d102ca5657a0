//! Pooling and its gradients on every instruction set of this machine, against plain loops.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const pool = @import("pool.zig");
const pool_general = @import("pool_general.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");
const windows_of = @import("../conv/windows.zig");

const Image = test_support.Image;

fn randomSlide(rng: std.Random, may_dilate: bool, lies_nonoverlapping: bool) windows_of.Slide {
    while (true) {
        const window = rng.intRangeAtMost(usize, 1, 4);
        var slide: windows_of.Slide = .{
            .image = rng.intRangeAtMost(usize, 1, 40),
            .window = window,
            .result = 0,
            .stride = rng.intRangeAtMost(usize, 1, 3),
            .padding = rng.uintAtMost(usize, window / 2),
            .dilation = if (may_dilate) rng.intRangeAtMost(usize, 1, 3) else 1,
        };
        if (lies_nonoverlapping) {
            slide.stride = window;
            slide.padding = 0;
            slide.dilation = 1;
        }
        const reach = slide.dilation * (slide.window - 1) + 1;
        if (slide.image + 2 * slide.padding < reach) continue;
        const rest = slide.image + 2 * slide.padding - reach;
        slide.result = rest / slide.stride + 1;
        // Rounded up, a last window reaches beyond the padding.
        const begins_inside = slide.result * slide.stride < slide.image + slide.padding;
        if (rest % slide.stride != 0 and begins_inside and rng.boolean()) slide.result += 1;
        return slide;
    }
}

/// What one result is, and what its gradient gives back.
fn scalar(comptime T: type, problem: *const pool.Problem, image: Image(T), given: Image(T), out: Image(f64), index: [4]usize) void {
    var holder: ?[4]usize = null;
    var sum: f64 = 0;
    var count: f64 = 0;
    for (0..problem.windows.rows.window) |i| for (0..problem.windows.columns.window) |j| {
        if (problem.counts_padding and isPadded(&problem.windows.rows, index[2], i) and isPadded(&problem.windows.columns, index[3], j)) count += 1;
        const row = problem.windows.rows.place(index[2], i) orelse continue;
        const column = problem.windows.columns.place(index[3], j) orelse continue;
        if (!problem.counts_padding) count += 1;
        const at = [4]usize{ index[0], index[1], row, column };
        const value = image.at(at).*;
        sum += value;
        if (holder == null or (value > image.at(holder.?).* or value != value) and image.at(holder.?).* == image.at(holder.?).*) holder = at;
    };
    if (problem.divisor != 0) count = @floatFromInt(problem.divisor);
    switch (problem.operation) {
        .maximum => out.at(index).* = if (holder) |at| image.at(at).* else -std.math.inf(f64),
        .average => out.at(index).* = sum / count,
        .maximum_gradient => if (holder) |at| {
            out.at(at).* += given.at(index).*;
        },
        .average_gradient => for (0..problem.windows.rows.window) |i| for (0..problem.windows.columns.window) |j| {
            const row = problem.windows.rows.place(index[2], i) orelse continue;
            const column = problem.windows.columns.place(index[3], j) orelse continue;
            out.at(.{ index[0], index[1], row, column }).* += given.at(index).* / count;
        },
        .add_at_indices, .set_at_indices => unreachable,
    }
}

/// Whether a tap lies in the image or its padding.
fn isPadded(slide: *const windows_of.Slide, at: usize, tap: usize) bool {
    return at * slide.stride + tap * slide.dilation < slide.image + 2 * slide.padding;
}

fn expectSame(comptime T: type, expected: f64, actual: T) !void {
    if (std.math.isNan(expected)) return std.testing.expect(std.math.isNan(actual));
    if (std.math.isInf(expected)) return std.testing.expectEqual(expected, actual);
    try std.testing.expectApproxEqAbs(expected, @as(f64, actual), 200 * std.math.floatEps(T));
}

fn expectAll(comptime T: type, shape: [4]usize, expected: Image(f64), actual: Image(T)) !void {
    for (0..shape[0]) |n| for (0..shape[1]) |c| for (0..shape[2]) |p| for (0..shape[3]) |q| {
        const index = [4]usize{ n, c, p, q };
        try expectSame(T, expected.at(index).*, actual.at(index).*);
    };
}

fn testPooling(comptime T: type, rounds: usize) !void {
    var random: std.Random.DefaultPrng = .init(17);
    const rng = random.random();
    const operations = [_]pool.Operation{ .maximum, .average, .maximum_gradient, .average_gradient };
    for (0..rounds) |_| for (operations) |operation| {
        const is_maximum = operation == .maximum or operation == .maximum_gradient;
        const lies_nonoverlapping = rng.uintLessThan(u8, 3) == 0;
        const windows: windows_of.Windows = .{ .rows = randomSlide(rng, is_maximum, lies_nonoverlapping), .columns = randomSlide(rng, is_maximum, lies_nonoverlapping) };
        const batch = rng.intRangeAtMost(usize, 1, 2);
        const channels = rng.intRangeAtMost(usize, 1, 70);
        const image_shape = [4]usize{ batch, channels, windows.rows.image, windows.columns.image };
        const result_shape = [4]usize{ batch, channels, windows.rows.result, windows.columns.result };
        const is_gradient = operation == .maximum_gradient or operation == .average_gradient;
        const layout = rng.enumValue(test_support.ImageLayout);
        const image: Image(T) = try .init(rng, image_shape, layout);
        defer image.deinit();
        // Few different values: most windows have ties; some are no numbers.
        for (image.values) |*value| value.* = @floatFromInt(rng.intRangeAtMost(i32, -3, 3));
        if (is_maximum) image.values[rng.uintLessThan(usize, image.values.len)] = std.math.nan(T);
        const result: Image(T) = try .init(rng, result_shape, if (rng.boolean()) layout else rng.enumValue(test_support.ImageLayout));
        defer result.deinit();
        const gradient: Image(T) = try .init(rng, image_shape, if (rng.boolean()) layout else rng.enumValue(test_support.ImageLayout));
        defer gradient.deinit();
        const expected: Image(f64) = try .init(rng, if (is_gradient) image_shape else result_shape, .nchw);
        defer expected.deinit();
        @memset(expected.values, 0);
        const problem: pool.Problem = .{
            .operation = operation,
            .image = image.view,
            .result = result.view,
            .gradient = if (is_gradient) gradient.view else null,
            .windows = windows,
            .counts_padding = rng.boolean(),
            .divisor = if (rng.uintLessThan(u8, 4) == 0) 3 else 0,
        };
        for (0..batch) |n| for (0..channels) |c| for (0..windows.rows.result) |p| for (0..windows.columns.result) |q| {
            scalar(T, &problem, image, result, expected, .{ n, c, p, q });
        };
        const out = if (is_gradient) gradient else result;
        const shape = if (is_gradient) image_shape else result_shape;
        const executor = test_support.executor(3);
        for (kernels.available()) |set| {
            for ([_]?*const @TypeOf(executor){ null, &executor }) |given_executor| {
                const before = try std.testing.allocator.dupe(T, out.values);
                defer std.testing.allocator.free(before);
                try pool.runWith(T, tensor_kernels.tableOf(T, set), &problem, given_executor);
                // The second time with three threads: the same bits.
                if (given_executor != null) try std.testing.expectEqualSlices(u8, std.mem.sliceAsBytes(before), std.mem.sliceAsBytes(out.values));
            }
            try expectAll(T, shape, expected, out);
            // The routine for all kinds of windows.
            @memset(out.values, 0);
            try pool_general.runWith(T, tensor_kernels.tableOf(T, set), &.{ .problem = problem, .depths = windows_of.still, .is_adaptive = false, .indices = null }, &executor);
            try expectAll(T, shape, expected, out);
        }
    };
}

test "pooling and its gradients, with the same bits for any number of threads" {
    try testPooling(f32, 40);
    try testPooling(f64, 10);
}

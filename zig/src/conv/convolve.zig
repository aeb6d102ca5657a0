//! Convolution of images (Goodfellow, Bengio & Courville, Deep Learning, section 9.1: cross-correlation, as the frameworks have it) with
//! groups, strides, padding and dilation; forward, and its gradients by image and by weight.
//!
//! Images are (batch, channels, rows, columns) with any strides, so NHWC is a matter of strides. Usually sums stay in registers over all taps
//! (convolve_sliding.zig, convolve_weights.zig; convolve_pointwise.zig for windows of one element and adjacent pixels). Groups of few outputs
//! are a matmul whose windows are laid out as columns, a tile at a time; one channel per group is convolved directly. The algorithm depends
//! on shapes and strides alone, so the bits do not depend on the number of threads. Arguments were validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const columns_of = @import("columns.zig");
const convolve_backward = @import("convolve_backward.zig");
const convolve_bias = @import("convolve_bias.zig");
const convolve_depthwise = @import("convolve_depthwise.zig");
const convolve_depthwise_weights = @import("convolve_depthwise_weights.zig");
const convolve_pointwise = @import("convolve_pointwise.zig");
const convolve_sliding = @import("convolve_sliding.zig");
const convolve_volume = @import("convolve_volume.zig");
const convolve_weights = @import("convolve_weights.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm = @import("../gemm/gemm.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");
const convolve_problem = @import("convolve_problem.zig");

const View = convolve_problem.View;
const Error = convolve_problem.Error;
pub const Pass = convolve_problem.Pass;
pub const Problem = convolve_problem.Problem;
const denseWeights = convolve_problem.denseWeights;
const isPointwise = convolve_problem.isPointwise;

pub fn convolve(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ConvolveOptions) abi.Status {
    const given = options.?;
    const pass = std.enums.fromInt(Pass, given.pass).?;
    const first: View = .of(&inputs.?[0]);
    const second: View = .of(&inputs.?[1]);
    const target: View = .of(out.?);
    const image, const weight, const result = switch (pass) {
        .forward => .{ first, second, target },
        .image_gradient => .{ target, second, first },
        .weight_gradient => .{ first, target, second },
    };
    const problem: Problem = .{
        .image = image,
        .weight = weight,
        .result = result,
        .bias = if (input_count == 3) .of(&inputs.?[2]) else null,
        .windows = .{
            .rows = .{
                .image = image.shape[image.rank - 2],
                .window = weight.shape[weight.rank - 2],
                .result = result.shape[result.rank - 2],
                .stride = given.row_stride,
                .padding = given.row_padding,
                .dilation = given.row_dilation,
            },
            .columns = .{
                .image = image.shape[image.rank - 1],
                .window = weight.shape[weight.rank - 1],
                .result = result.shape[result.rank - 1],
                .stride = given.column_stride,
                .padding = given.column_padding,
                .dilation = given.column_dilation,
            },
        },
        .groups = given.groups,
    };
    const is_single = given.compute.bits == 32;
    const outcome = if (image.rank == 5)
        if (is_single) runVolume(f32, pass, &problem, given) else runVolume(f64, pass, &problem, given)
    else if (is_single) run(f32, pass, &problem, given.executor) else run(f64, pass, &problem, given.executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => outOfMemory(&problem),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the tiles of a convolution", .{}),
    };
    return abi.ok;
}

fn outOfMemory(problem: *const Problem) abi.Status {
    const image = &problem.image.shape;
    const weight = &problem.weight.shape;
    const message = "no memory for the copies of a convolution of images of {d} x {d} x {d} x {d}";
    const fail = status.fail;
    if (problem.image.rank == 5) return fail(
        abi.errors.out_of_memory,
        message ++ " x {d} with weights of {d} x {d} x {d} x {d} x {d}",
        .{ image[0], image[1], image[2], image[3], image[4], weight[0], weight[1], weight[2], weight[3], weight[4] },
    );
    return fail(
        abi.errors.out_of_memory,
        message ++ " with weights of {d} x {d} x {d} x {d}",
        .{ image[0], image[1], image[2], image[3], weight[0], weight[1], weight[2], weight[3] },
    );
}

fn runVolume(comptime T: type, pass: Pass, problem: *const Problem, given: *const abi.ConvolveOptions) Error!void {
    return convolve_volume.run(T, tensor_kernels.table(T), pass, &.{
        .image = problem.image,
        .weight = problem.weight,
        .result = problem.result,
        .bias = problem.bias,
        .depths = .{
            .image = problem.image.shape[2],
            .window = problem.weight.shape[2],
            .result = problem.result.shape[2],
            .stride = given.depth_stride,
            .padding = given.depth_padding,
            .dilation = given.depth_dilation,
        },
        .windows = problem.windows,
        .groups = problem.groups,
    }, given.executor, run);
}

fn run(comptime T: type, pass: Pass, problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    const table = tensor_kernels.table(T);
    if (pass == .image_gradient) if (problem.bias) |*bias| {
        const sums: convolve_bias.Sums(T) = try .of(&problem.image);
        defer sums.deinit();
        var without = problem.*;
        without.bias = null;
        without.image = sums.view;
        try run(T, pass, &without, executor);
        return sums.finish(table, bias, executor);
    };
    switch (pass) {
        .forward => {
            if (problem.result.len() == 0) return;
            if (problem.groupInputs() == 1 and problem.groupOutputs() <= 2) return convolve_depthwise.run(T, table, problem, executor);
            if (convolve_pointwise.fits(T, table, problem, .forward)) return convolve_pointwise.run(T, table, problem, .forward, executor);
            if (convolve_sliding.fits(T, table, problem, .forward)) return convolve_sliding.run(T, table, problem, .forward, executor);
            return forward(T, table, problem, executor);
        },
        .image_gradient => return if (convolve_depthwise.fitsImage(T, problem))
            convolve_depthwise.byImage(T, table, problem, executor)
        else if (convolve_pointwise.fits(T, table, problem, .image_gradient))
            convolve_pointwise.run(T, table, problem, .image_gradient, executor)
        else if (convolve_sliding.fits(T, table, problem, .backward))
            convolve_sliding.run(T, table, problem, .backward, executor)
        else
            convolve_backward.byImage(T, table, problem, executor),
        .weight_gradient => return if (convolve_depthwise.hasChannels(problem))
            convolve_depthwise_weights.run(T, table, problem, executor)
        else if (convolve_pointwise.fits(T, table, problem, .weight_gradient))
            convolve_pointwise.run(T, table, problem, .weight_gradient, executor)
        else if (convolve_weights.fits(T, table, problem))
            convolve_weights.run(T, table, problem, executor)
        else
            convolve_backward.byWeight(T, table, problem, executor),
    }
}

/// Number of windows of a tile: its columns fit the second cache beside the weights, and there are enough tiles for several threads.
pub fn tileLen(problem: *const Problem) usize {
    const plane = problem.resultPlane();
    const fitting = std.math.clamp((128 << 10) / @max(1, problem.k()), 96, 4096);
    const wanted = @min(fitting, (plane + 3) / 4);
    return @min(plane, std.mem.alignForward(usize, @max(wanted, 96), 16));
}

fn forward(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    const k = problem.k();
    const tile_len = tileLen(problem);
    const reads_image = isPointwise(problem) and problem.image.storage.is(T) and windows_of.planeStride(&problem.image) != null;
    const writes_result = problem.result.storage.is(T) and windows_of.planeStride(&problem.result) != null;

    const tiles = (problem.resultPlane() + tile_len - 1) / tile_len;
    const count = problem.image.shape[0] * problem.groups * tiles;
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(count, 4 * threads);
    const columns_len = if (reads_image) 0 else k * tile_len;
    const result_len = if (writes_result) 0 else problem.groupOutputs() * tile_len;
    const weights_len = problem.weight.len();
    const outputs = problem.weight.shape[0];
    const buffer = try workspace.acquire((weights_len + outputs + pieces * (columns_len + result_len)) * @sizeOf(T));
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, weights_len + outputs + pieces * (columns_len + result_len));
    var job: Forward(T) = .{
        .table = table,
        .problem = problem,
        .weights = denseWeights(T, table, problem, values.ptr),
        .bias = null,
        .tile_len = tile_len,
        .tiles = tiles,
        .count = count,
        .pieces = pieces,
        .reads_image = reads_image,
        .writes_result = writes_result,
        .columns_len = columns_len,
        .buffers = values[weights_len + outputs ..],
    };
    if (problem.bias) |*bias| {
        const target = values[weights_len..].ptr;
        const space = strided.Space(1).of(.{bias});
        var walk = space.walk(0, 0);
        strided.readElements(T, table, bias, &walk, outputs, target);
        job.bias = target;
    }
    try parallel.run(executor, pieces, Forward(T), &job);
    if (job.failed.load(.monotonic)) return error.OutOfMemory;
}

fn Forward(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        weights: [*]const T,
        bias: ?[*]const T,
        tile_len: usize,
        tiles: usize,
        /// Number of tiles over all images and groups.
        count: usize,
        pieces: usize,
        /// Whether the image itself is the matrix of columns, and the result is what the matmul writes.
        reads_image: bool,
        writes_result: bool,
        columns_len: usize,
        /// Columns and results of a tile, for each piece.
        buffers: []T,
        failed: std.atomic.Value(bool) = .init(false),

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const piece_len = job.buffers.len / job.pieces;
            for (begin..end) |piece| {
                const buffer = job.buffers.ptr + piece * piece_len;
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |tile| {
                    job.compute(tile, buffer) catch @constCast(&job.failed).store(true, .monotonic);
                }
            }
        }

        fn compute(job: *const Self, index: usize, buffer: [*]T) Error!void {
            const it = job.problem;
            const group = index / job.tiles % it.groups;
            const batch = index / job.tiles / it.groups;
            const first = index % job.tiles * job.tile_len;
            const count = @min(job.tile_len, it.resultPlane() - first);
            const outputs = it.groupOutputs();
            const k = it.k();
            const first_output = group * outputs;
            var step: gemm.Problem(.plain(T)) = .{
                .m = outputs,
                .n = count,
                .k = k,
                .a = job.weights + first_output * k,
                .a_row = @intCast(k),
                .a_k = 1,
                .b = buffer,
                .b_k = @intCast(count),
                .b_column = 1,
                .out = buffer + job.columns_len,
                .out_row = @intCast(count),
                .out_column = 1,
                .alpha = 1,
                .beta = if (job.bias == null) 0 else 1,
            };
            if (job.reads_image) {
                const plane_stride = windows_of.planeStride(&it.image).?;
                const start = windows_of.offset(&it.image, batch, group * it.groupInputs(), 0, 0) + @as(isize, @intCast(first)) * plane_stride;
                step.b = @ptrFromInt(strided.addressAt(&it.image, start));
                step.b_k = it.image.strides[1];
                step.b_column = plane_stride;
            } else {
                columns_of.gather(
                    T,
                    job.table,
                    &it.image,
                    &it.windows,
                    .{ .batch = batch, .channel = group * it.groupInputs(), .channels = it.groupInputs() },
                    .{ .first = first, .count = count },
                    buffer,
                );
            }
            if (job.writes_result) {
                const plane_stride = windows_of.planeStride(&it.result).?;
                const start = windows_of.offset(&it.result, batch, first_output, 0, 0) + @as(isize, @intCast(first)) * plane_stride;
                step.out = @ptrFromInt(strided.addressAt(&it.result, start));
                step.out_row = it.result.strides[1];
                step.out_column = plane_stride;
            }
            if (job.bias) |bias| {
                for (0..outputs) |output| for (0..count) |at| {
                    generic.pointers.offset(T, step.out, @as(isize, @intCast(output)) * step.out_row + @as(isize, @intCast(at)) * step.out_column)[0] = bias[first_output + output];
                };
            }
            try gemm.multiply(T, &step, null);
            if (job.writes_result) return;
            const plane = it.result.axes(2, 2);
            const space = strided.Space(1).of(.{&plane});
            for (0..outputs) |output| {
                var walk = space.walk(0, first);
                walk.start += windows_of.offset(&it.result, batch, first_output + output, 0, 0);
                strided.writeElements(T, job.table, &it.result, &walk, count, step.out + output * count);
            }
        }
    };
}

//! Largest values and averages of windows of images, and their gradients. Images are (batch, channels, rows, columns), or with a depth behind
//! the channels, of any strides. Padding is never the largest value; it counts in an average if `counts_padding` is set. Arguments were
//! validated in Rust.
//!
//! Windows that slide over rows and columns are computed by windowed.zig and pool_backward.zig, all others, and indices of largest values, by
//! pool_general.zig.
//! The order of additions depends on the shapes alone: the bits do not depend on the number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const pool_backward = @import("pool_backward.zig");
const pool_general = @import("pool_general.zig");
const pool_indices = @import("pool_indices.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const windowed = @import("../conv/windowed.zig");
const windows_of = @import("../conv/windows.zig");
const pool_problem = @import("pool_problem.zig");

const View = strided.View;
const Error = pool_problem.Error;
pub const Operation = pool_problem.Operation;
pub const Problem = pool_problem.Problem;

pub fn pool(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.PoolOptions) abi.Status {
    const given = options.?;
    const operation = std.enums.fromInt(Operation, given.operation).?;
    const image: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    if (operation == .add_at_indices or operation == .set_at_indices) {
        std.debug.assert(input_count == 2);
        return pool_indices.run(given.compute.bits == 32, operation == .add_at_indices, &.{ .values = image, .indices = .of(&inputs.?[1]), .out = target }, given.executor);
    }
    std.debug.assert(input_count == @as(usize, if (operation.isGradient()) 2 else 1));
    const result: View = if (operation.isGradient()) .of(&inputs.?[1]) else target;
    const indices: ?View = if (given.indices) |tensor| .of(tensor) else null;
    const problem: Problem = .{
        .operation = operation,
        .image = image,
        .result = result,
        .gradient = if (operation.isGradient()) target else null,
        .windows = .{ .rows = rowsOf(given, &image, &result), .columns = columnsOf(given, &image, &result) },
        .counts_padding = given.counts_padding != 0,
        .divisor = given.divisor,
    };
    const is_general = image.rank == 5 or given.is_adaptive != 0 or indices != null;
    const outcome = if (is_general)
        pool_general.run(given.compute.bits == 32, &.{
            .problem = problem,
            .depths = depthsOf(given, &image, &result),
            .is_adaptive = given.is_adaptive != 0,
            .indices = indices,
        }, given.executor)
    else if (given.compute.bits == 32) run(f32, &problem, given.executor) else run(f64, &problem, given.executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the planes of a pooling", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the planes of a pooling", .{}),
    };
    return abi.ok;
}

fn rowsOf(given: *const abi.PoolOptions, image: *const View, result: *const View) windows_of.Slide {
    return .{
        .image = image.shape[image.rank - 2],
        .window = given.row_window,
        .result = result.shape[result.rank - 2],
        .stride = given.row_stride,
        .padding = given.row_padding,
        .dilation = given.row_dilation,
    };
}

fn columnsOf(given: *const abi.PoolOptions, image: *const View, result: *const View) windows_of.Slide {
    return .{
        .image = image.shape[image.rank - 1],
        .window = given.column_window,
        .result = result.shape[result.rank - 1],
        .stride = given.column_stride,
        .padding = given.column_padding,
        .dilation = given.column_dilation,
    };
}

fn depthsOf(given: *const abi.PoolOptions, image: *const View, result: *const View) windows_of.Slide {
    if (image.rank < 5) return windows_of.still;
    return .{
        .image = image.shape[2],
        .window = given.depth_window,
        .result = result.shape[2],
        .stride = given.depth_stride,
        .padding = given.depth_padding,
        .dilation = given.depth_dilation,
    };
}

fn run(comptime T: type, problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    return runWith(T, tensor_kernels.table(T), problem, executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    const fold: generic.window_kernel.Fold = switch (problem.operation) {
        .maximum => .maximum,
        .average => .sum,
        .maximum_gradient, .average_gradient => return pool_backward.run(T, table, problem, executor),
        .add_at_indices, .set_at_indices => unreachable,
    };
    return windowed.run(T, table, &.{
        .image = problem.image,
        .result = problem.result,
        .windows = problem.windows,
        .fold = fold,
        .counts_padding = problem.counts_padding,
        .divisor = problem.divisorOf(T),
    }, executor);
}

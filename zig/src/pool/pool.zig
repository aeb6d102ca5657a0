//! Largest values and averages of windows that slide over images, and their gradients. Images are (batch, channels, rows, columns) with any
//! strides. Padding is never the largest value; it counts in an average if `counts_padding` is set. Arguments were validated in Rust.
//!
//! The order of additions depends on the shapes alone: the bits do not depend on the number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const pool_backward = @import("pool_backward.zig");
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
    const is_gradient = operation == .maximum_gradient or operation == .average_gradient;
    std.debug.assert(input_count == @as(usize, if (is_gradient) 2 else 1));
    const image: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    const result: View = if (is_gradient) .of(&inputs.?[1]) else target;
    const problem: Problem = .{
        .operation = operation,
        .image = image,
        .result = result,
        .gradient = if (is_gradient) target else null,
        .windows = .{
            .rows = .{
                .image = image.shape[2],
                .window = given.row_window,
                .result = result.shape[2],
                .stride = given.row_stride,
                .padding = given.row_padding,
                .dilation = given.row_dilation,
            },
            .columns = .{
                .image = image.shape[3],
                .window = given.column_window,
                .result = result.shape[3],
                .stride = given.column_stride,
                .padding = given.column_padding,
                .dilation = given.column_dilation,
            },
        },
        .counts_padding = given.counts_padding != 0,
    };
    const outcome = if (given.compute.bits == 32) run(f32, &problem, given.executor) else run(f64, &problem, given.executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the planes of a pooling", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the planes of a pooling", .{}),
    };
    return abi.ok;
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
    };
    return windowed.run(T, table, &.{
        .image = problem.image,
        .result = problem.result,
        .windows = problem.windows,
        .fold = fold,
        .counts_padding = problem.counts_padding,
    }, executor);
}

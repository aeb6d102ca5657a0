//! Gradients of the largest values of windows that lie side by side in images that can be computed in place.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const pool_problem = @import("pool_problem.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("../conv/windows.zig");

const kernel = generic.pool_nonoverlapping_kernel;
const View = strided.View;

/// What vectors run along, if this is such a problem.
pub fn fits(comptime T: type, problem: *const pool_problem.Problem) ?kernel.Along {
    if (problem.operation != .maximum_gradient) return null;
    for ([_]*const windows_of.Slide{ &problem.windows.rows, &problem.windows.columns }) |slide| {
        if (slide.window != slide.stride or slide.padding != 0 or slide.dilation != 1) return null;
        if (slide.result * slide.stride > slide.image) return null;
    }
    var has_near_channels = true;
    var has_near_columns = problem.windows.columns.window == 2;
    for ([_]*const View{ &problem.image, &problem.result, &problem.gradient.? }) |view| {
        if (!view.storage.is(T)) return null;
        has_near_channels = has_near_channels and view.strides[1] == 1;
        has_near_columns = has_near_columns and view.strides[3] == 1;
    }
    return if (has_near_columns) .pairs else if (has_near_channels) .channels else null;
}

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const pool_problem.Problem, along: kernel.Along, executor: ?*const abi.Executor) pool_problem.Error!void {
    const job: Rows(T) = .{ .table = table, .problem = problem, .along = along };
    const shape = &problem.image.shape;
    try parallel.run(executor, shape[0] * job.planes() * job.rowCount(), Rows(T), &job);
}

/// Each item is a row of windows, of one channel or of all, or the rows of pixels behind the last of them.
fn Rows(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const pool_problem.Problem,
        along: kernel.Along,

        const Self = @This();

        fn planes(job: *const Self) usize {
            return if (job.along == .channels) 1 else job.problem.image.shape[1];
        }

        fn rowCount(job: *const Self) usize {
            return job.problem.windows.rows.result + 1;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| {
                job.compute(item / job.rowCount() / job.planes(), item / job.rowCount() % job.planes(), item % job.rowCount());
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, row: usize) void {
            const it = job.problem;
            const rows = &it.windows.rows;
            const columns = &it.windows.columns;
            const target = &it.gradient.?;
            const first = row * rows.stride;
            if (row == rows.result) {
                for (first..rows.image) |rest| job.clear(batch, channel, rest, 0);
                return;
            }
            job.table.pool_nonoverlapping(&.{
                .along = job.along,
                .windows = columns.result,
                .rows = rows.window,
                .columns = columns.window,
                .channels = it.image.shape[1],
                .given_step = it.result.strides[3],
                .image_row = it.image.strides[2],
                .image_column = it.image.strides[3],
                .out_row = target.strides[2],
                .out_column = target.strides[3],
                .image = place(&it.image, batch, channel, first, 0),
                .given = place(&it.result, batch, channel, row, 0),
                .out = place(target, batch, channel, first, 0),
            });
            for (first..first + rows.window) |pixel_row| job.clear(batch, channel, pixel_row, columns.result * columns.stride);
        }

        fn place(view: *const View, batch: usize, channel: usize, row: usize, column: usize) [*]T {
            return @ptrFromInt(strided.addressAt(view, windows_of.offset(view, batch, channel, row, column)));
        }

        /// Pixels behind the last window of a row.
        fn clear(job: *const Self, batch: usize, channel: usize, row: usize, begin: usize) void {
            const target = &job.problem.gradient.?;
            const len = if (job.along == .channels) target.shape[1] else 1;
            for (begin..target.shape[3]) |column| @memset(place(target, batch, channel, row, column)[0..len], 0);
        }
    };
}

//! Gradients of the largest values of windows that overlap, in images whose columns are closer in memory than their channels.
//!
//! Each channel of an image is computed by one thread, a band of windows at a time. The rows that a band reaches are taken apart into lines of
//! pixels a stride apart, so that neighbouring windows lie side by side in all of them; rows of the gradient are written when no window
//! reaches them any more.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("../conv/convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const pool_problem = @import("pool_problem.zig");
const strided = @import("../tensor/strided.zig");
const windowed = @import("../conv/windowed.zig");
const windows_of = @import("../conv/windows.zig");
const workspace = @import("../memory/workspace.zig");

const kernel = generic.pool_overlapping_kernel;
const View = strided.View;

/// Bytes that a band keeps, where it is more than a row of windows: they stay in L1.
const band_bytes = 24 << 10;

/// Whether this is such a problem: every window has a tap in the image, and the kept values can be counted.
pub fn fits(comptime T: type, problem: *const pool_problem.Problem) bool {
    if (problem.operation != .maximum_gradient) return false;
    const image = &problem.image;
    if (@abs(image.strides[1]) < @abs(image.strides[3]) and image.shape[1] > 1) return false;
    for ([_]*const windows_of.Slide{ &problem.windows.rows, &problem.windows.columns }) |slide| {
        for (0..slide.result) |at| {
            const inside = windowed.tapsInside(slide, at);
            if (inside.first == inside.last) return false;
        }
    }
    return image.shape[2] *| image.shape[3] <= std.math.maxInt(kernel.Place(T)) / 2;
}

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const pool_problem.Problem, executor: ?*const abi.Executor) pool_problem.Error!void {
    const rows = &problem.windows.rows;
    const columns = &problem.windows.columns;
    const padded = columns.image + columns.padding;
    const reach = (columns.window - 1) * columns.dilation / columns.stride;
    const line = @max(columns.result + reach, (padded - 1) / columns.stride + 1);
    var job: Planes(T) = .{
        .table = table,
        .problem = problem,
        .count = convolve_problem.productOf(problem.image.shape[0..2]) orelse return error.OutOfMemory,
        .phases = @min(columns.stride, padded + columns.padding),
        // The last windows of a row are computed as a whole vector.
        .line_len = std.mem.alignForward(usize, line, table.lanes) + table.lanes,
        .is_dense = isDense(T, &problem.image) and isDense(T, &problem.gradient.?),
        .reads_given = problem.result.storage.is(T) and problem.result.strides[3] == 1,
    };
    job.lines_row = convolve_problem.productOf(&.{ job.phases, job.line_len }) orelse return error.OutOfMemory;
    const row_bytes = (job.lines_row +| columns.image *| 2) *| @sizeOf(T);
    const band_reach = @min(rows.image, (rows.window - 1) * rows.dilation + 1);
    job.band = std.math.clamp((band_bytes / row_bytes -| band_reach) / rows.stride + 1, 1, @max(1, rows.result));
    const kept = @min(rows.image, (job.band - 1) * rows.stride +| (rows.window - 1) * rows.dilation +| 1);
    const threads = parallel.threadCount(executor);
    job.pieces = if (threads == 1) 1 else @min(job.count, 4 * threads);
    job.lines_len = convolve_problem.productOf(&.{ kept, job.lines_row }) orelse return error.OutOfMemory;
    job.out_len = convolve_problem.productOf(&.{ kept, columns.image }) orelse return error.OutOfMemory;
    job.out_part = std.mem.alignForward(usize, job.out_len, 16) + table.lanes;
    const given_len = if (job.reads_given) 0 else convolve_problem.productOf(&.{ job.band, columns.result }) orelse return error.OutOfMemory;
    job.piece_len = std.math.add(usize, job.lines_len, std.math.mul(usize, 2, job.out_part) catch return error.OutOfMemory) catch return error.OutOfMemory;
    job.piece_len = std.math.add(usize, job.piece_len, given_len) catch return error.OutOfMemory;
    job.piece_len = std.mem.alignForward(usize, job.piece_len, 16);
    const values_len = convolve_problem.productOf(&.{ job.pieces, job.piece_len }) orelse return error.OutOfMemory;
    const values_bytes = std.math.mul(usize, values_len, @sizeOf(T)) catch return error.OutOfMemory;
    const offsets_bytes = std.math.mul(usize, columns.window, @sizeOf(usize)) catch return error.OutOfMemory;
    const buffer = try workspace.acquire(std.math.add(usize, values_bytes, offsets_bytes) catch return error.OutOfMemory);
    defer workspace.release(buffer);
    job.buffers = buffer.slice(T, 0, values_len).ptr;
    job.offsets = buffer.slice(usize, values_bytes, columns.window);
    for (job.offsets, 0..) |*offset, tap| {
        const ahead = tap * columns.dilation;
        offset.* = ahead % columns.stride * job.line_len + ahead / columns.stride;
    }
    try parallel.run(executor, job.pieces, Planes(T), &job);
}

fn isDense(comptime T: type, view: *const View) bool {
    return view.storage.is(T) and windows_of.planeStride(view) == 1;
}

/// Each piece is a share of the channels of all images.
fn Planes(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const pool_problem.Problem,
        count: usize,
        /// Lines of a row: columns that lie apart by less than a stride.
        phases: usize,
        line_len: usize,
        lines_row: usize = 0,
        /// Whether what is given is read in place.
        reads_given: bool,
        /// Whether image and gradient lie row after row, so that what comes next is known.
        is_dense: bool,
        /// Rows of windows of a band.
        band: usize = 0,
        pieces: usize = 0,
        lines_len: usize = 0,
        /// Values of a part of the gradient, even windows or odd ones, and from the first part to the second.
        out_len: usize = 0,
        out_part: usize = 0,
        piece_len: usize = 0,
        buffers: [*]T = undefined,
        offsets: []usize = undefined,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const channels = job.problem.image.shape[1];
            for (begin..end) |piece| {
                const buffer = job.buffers + piece * job.piece_len;
                // Padding, which is never written, and gradients, which are left as they are found.
                @memset(buffer[0..job.lines_len], @bitCast(kernel.lowest(T)));
                @memset(buffer[job.lines_len..][0 .. 2 * job.out_part], 0);
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| job.compute(item / channels, item % channels, buffer);
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, buffer: [*]T) void {
            const it = job.problem;
            const rows = &it.windows.rows;
            const columns = &it.windows.columns;
            const out = [2][*]T{ buffer + job.lines_len, buffer + job.lines_len + job.out_part };
            const given_rows = out[1] + job.out_part;
            // The row of the image that the first of the kept rows is.
            var low: usize = 0;
            var first: usize = 0;
            while (first < rows.result) : (first += job.band) {
                const last = @min(rows.result, first + job.band);
                const high = @min(rows.image, (last - 1) * rows.stride + (rows.window - 1) * rows.dilation + 1 -| rows.padding);
                job.readRows(batch, channel, low, high, buffer);
                const given = windows_of.offset(&it.result, batch, channel, first, 0);
                if (!job.reads_given) for (first..last) |row| job.table.load(&.{
                    .storage = it.result.storage,
                    .address = strided.addressAt(&it.result, windows_of.offset(&it.result, batch, channel, row, 0)),
                    .step = it.result.strides[3],
                    .len = columns.result,
                    .target = given_rows + (row - first) * columns.result,
                });
                job.table.pool_overlapping(&.{
                    .windows = .{
                        .rows = last - first,
                        .columns = columns.result,
                        .tap_rows = rows.window,
                        .row_start = @as(isize, @intCast(first * rows.stride)) - @as(isize, @intCast(rows.padding + low)),
                        .row_stride = rows.stride,
                        .row_dilation = rows.dilation,
                        .image_rows = high - low,
                        .lines = @ptrCast(buffer),
                        .lines_row = job.lines_row,
                        .offsets = job.offsets,
                        .column_stride = columns.stride,
                        .column_dilation = columns.dilation,
                        .column_padding = columns.padding,
                        .given = if (job.reads_given) @ptrFromInt(strided.addressAt(&it.result, given)) else given_rows,
                        .given_row = if (job.reads_given) it.result.strides[2] else @intCast(columns.result),
                        .out = out,
                        .out_row = columns.image,
                        .out_len = job.out_len,
                        // The rows of the image behind this band, and of the gradient that it completes.
                        .ahead_read = @ptrFromInt(strided.addressAt(&it.image, windows_of.offset(&it.image, batch, channel, high, 0))),
                        .ahead_written = @ptrFromInt(strided.addressAt(&it.gradient.?, windows_of.offset(&it.gradient.?, batch, channel, low, 0))),
                        .ahead_len = if (job.is_dense) rows.stride * columns.image else 0,
                    },
                });
                const next = if (last == rows.result) rows.image else @min(rows.image, last * rows.stride -| rows.padding);
                job.writeRows(batch, channel, low, @min(next, high), out);
                // The next band goes on with the rows that it reaches too.
                const kept = (high -| next) * columns.image;
                const begin = (@min(next, high) - low) * columns.image;
                if (begin > 0) for (out) |part| {
                    std.mem.copyForwards(T, part[0..kept], part[begin..][0..kept]);
                    @memset(part[@max(kept, begin) .. begin + kept], 0);
                };
                // Rows that no window reaches.
                var row = high;
                while (row < next) : (row += 1) job.writeRows(batch, channel, row, row + 1, out);
                low = next;
            }
        }

        fn readRows(job: *const Self, batch: usize, channel: usize, begin: usize, end: usize, buffer: [*]T) void {
            const view = &job.problem.image;
            const columns = &job.problem.windows.columns;
            const start = windows_of.offset(view, batch, channel, begin, 0);
            if (columns.stride <= 2 and job.phases == columns.stride and view.storage.is(T) and view.strides[3] == 1) {
                const odd = columns.padding % columns.stride;
                const even_line = buffer + odd * job.line_len + columns.padding / columns.stride;
                const odd_line = buffer + (1 - odd) * job.line_len + (columns.padding + 1) / 2;
                return job.table.pool_overlapping(&.{ .rows = .{
                    .rows = end - begin,
                    .len = columns.image,
                    .source = @ptrFromInt(strided.addressAt(view, start)),
                    .source_row = view.strides[2],
                    .even = @ptrCast(even_line),
                    .odd = if (columns.stride == 2) @ptrCast(odd_line) else null,
                    .lines_row = job.lines_row,
                } });
            }
            for (begin..end) |row| for (0..job.phases) |phase| {
                const place = (columns.padding -| phase + columns.stride - 1) / columns.stride;
                const first = place * columns.stride + phase - columns.padding;
                if (first >= columns.image) continue;
                const len = (columns.image - first - 1) / columns.stride + 1;
                const line = buffer + (row - begin) * job.lines_row + phase * job.line_len + place;
                job.table.load(&.{
                    .storage = view.storage,
                    .address = strided.addressAt(view, windows_of.offset(view, batch, channel, row, first)),
                    .step = view.strides[3] * @as(isize, @intCast(columns.stride)),
                    .len = len,
                    .target = line,
                });
                job.table.pool_overlapping(&.{ .keys = .{ .len = len, .values = line } });
            };
        }

        /// Rows [begin, end) of the gradient, from the first kept one on, which are zero afterwards.
        fn writeRows(job: *const Self, batch: usize, channel: usize, begin: usize, end: usize, out: [2][*]T) void {
            const view = &job.problem.gradient.?;
            const columns = job.problem.windows.columns.image;
            const is_one = windows_of.planeStride(view) == view.strides[3];
            var row = begin;
            while (row < end) {
                const count = if (is_one) end - begin else 1;
                const address = strided.addressAt(view, windows_of.offset(view, batch, channel, row, 0));
                const source = [2][*]T{ out[0] + (row - begin) * columns, out[1] + (row - begin) * columns };
                const is_near = view.storage.is(T) and view.strides[3] == 1;
                job.table.pool_overlapping(&.{ .move = .{ .len = count * columns, .source = source, .target = if (is_near) @ptrFromInt(address) else source[0] } });
                if (!is_near) {
                    job.table.store(&.{ .storage = view.storage, .address = address, .step = view.strides[3], .len = count * columns, .source = source[0] });
                    @memset(source[0][0 .. count * columns], 0);
                }
                row += count;
            }
        }
    };
}

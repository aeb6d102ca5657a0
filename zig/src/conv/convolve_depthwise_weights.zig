//! The gradient of a convolution of each channel alone by its weights.
//!
//! Vectors run over channels. Images whose channels are adjacent are read in place; others are copied a block of channels and a band of
//! rows at a time. Every image is summed for itself, by one thread for each block of channels, and the images in order.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const convolve_depthwise = @import("convolve_depthwise.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("pixels.zig");
const strided = @import("../tensor/strided.zig");
const windowed = @import("windowed.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const Place = windowed.Place;

/// Channels at most of a block that is read in place: enough cache lines for the memory to run ahead.
const adjacent_channels = 128;
/// Values of the copies of a band: they stay in L2 between copying and summing.
const band_len = 1 << 16;

/// For problems that have channels.
pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    if (problem.weight.len() == 0) return;
    const outputs = problem.groupOutputs();
    const rows = &problem.windows.rows;
    const columns = &problem.windows.columns;
    var job: Blocks(T) = .{
        .table = table,
        .problem = problem,
        .result = undefined,
        .taps = problem.weight.shape[2] * problem.weight.shape[3],
        .pitch = std.mem.alignForward(usize, problem.groups, windowed.block_channels),
        .reads_image = windowed.isAdjacent(T, &problem.image),
        .reads_result = windowed.isAdjacent(T, &convolve_depthwise.outputView(problem, 0)),
    };
    const is_whole = job.reads_image and job.reads_result;
    if (is_whole) {
        // Even blocks: 144 channels are 80 and 64, not 128 and 16.
        const wanted = (problem.groups + adjacent_channels - 1) / adjacent_channels;
        job.block_len = std.mem.alignForward(usize, (problem.groups + wanted - 1) / wanted, windowed.block_channels);
    }
    job.blocks = (problem.groups + job.block_len - 1) / job.block_len;
    const row_len = (rows.stride *| columns.image +| columns.result) *| windowed.block_channels;
    job.band_rows = if (is_whole) @max(1, rows.result) else std.math.clamp(band_len / @max(1, row_len), 1, @max(1, rows.result));
    const copied_rows = @min(rows.image, (job.band_rows - 1) * rows.stride + (rows.window - 1) * rows.dilation + 1);
    job.image_len = if (job.reads_image) 0 else convolve_problem.productOf(&.{ copied_rows, columns.image, windowed.block_channels }) orelse return error.OutOfMemory;
    const result_len = if (job.reads_result) 0 else convolve_problem.productOf(&.{ job.band_rows, columns.result, windowed.block_channels }) orelse return error.OutOfMemory;
    job.piece_len = std.math.add(usize, job.image_len, result_len) catch return error.OutOfMemory;
    job.count = convolve_problem.productOf(&.{ problem.image.shape[0], job.blocks }) orelse return error.OutOfMemory;
    const threads = parallel.threadCount(executor);
    job.pieces = if (threads == 1) @min(1, job.count) else @min(job.count, 4 * threads);
    const sums_len = convolve_problem.productOf(&.{ problem.image.shape[0], job.taps, job.pitch }) orelse return error.OutOfMemory;
    const copies_len = convolve_problem.productOf(&.{ job.pieces, job.piece_len }) orelse return error.OutOfMemory;
    const total = std.math.add(usize, @max(sums_len, job.taps * job.pitch), copies_len) catch return error.OutOfMemory;
    const buffer = try workspace.acquire(std.math.mul(usize, total, @sizeOf(T)) catch return error.OutOfMemory);
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, total);
    job.sums = values.ptr;
    job.buffers = values.ptr + total - copies_len;
    for (0..outputs) |output| {
        job.result = convolve_depthwise.outputView(problem, output);
        @memset(values[0 .. total - copies_len], 0);
        try parallel.run(executor, job.pieces, Blocks(T), &job);
        job.write(output);
    }
}

/// Each piece is a share of the blocks of channels of all images.
fn Blocks(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const convolve_problem.Problem,
        /// Of one output of each group.
        result: View,
        taps: usize,
        /// From tap to tap in the sums of an image.
        pitch: usize,
        reads_image: bool,
        reads_result: bool,
        block_len: usize = windowed.block_channels,
        blocks: usize = 0,
        band_rows: usize = 0,
        count: usize = 0,
        pieces: usize = 0,
        image_len: usize = 0,
        piece_len: usize = 0,
        sums: [*]T = undefined,
        buffers: [*]T = undefined,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers + piece * job.piece_len;
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| {
                    job.compute(item / job.blocks, item % job.blocks * job.block_len, buffer);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, buffer: [*]T) void {
            const it = job.problem;
            const rows = &it.windows.rows;
            const columns = &it.windows.columns;
            const channels = @min(job.block_len, it.groups - channel);
            const row_len = columns.image * windowed.block_channels;
            const given_len = columns.result * windowed.block_channels;
            var span: pixels.Span = .{ .batch = batch, .channel = channel, .channels = channels, .row = 0, .column = 0, .count = columns.image };
            var first: usize = 0;
            while (first < rows.result) : (first += job.band_rows) {
                const last = @min(rows.result, first + job.band_rows);
                const low = @min(rows.image, first * rows.stride -| rows.padding);
                const high = @min(rows.image, (last - 1) * rows.stride + (rows.window - 1) * rows.dilation + 1 -| rows.padding);
                var image: Place(T) = .{ .start = buffer, .row_step = @intCast(row_len), .column_step = windowed.block_channels, .first_row = low };
                var given: Place(T) = .{ .start = buffer + job.image_len, .row_step = @intCast(given_len), .column_step = windowed.block_channels, .first_row = first };
                if (job.reads_image) image = .of(&it.image, batch, channel) else {
                    span.row = low;
                    span.count = columns.image;
                    pixels.readRows(T, job.table, &it.image, span, @max(low, high) - low, buffer, windowed.block_channels);
                }
                if (job.reads_result) given = .of(&job.result, batch, channel) else {
                    span.row = first;
                    span.count = columns.result;
                    pixels.readRows(T, job.table, &job.result, span, last - first, given.start, windowed.block_channels);
                }
                const sums = job.sums + batch * job.taps * job.pitch + channel;
                // Copied channels are padded to whole vectors.
                const len = if (job.reads_image or job.reads_result) channels else windowed.block_channels;
                job.sumRows(first, last, len, &image, &given, sums);
            }
        }

        /// Windows of the rows [first, last): those whose taps are all inside together, the others row by row and column by column.
        fn sumRows(job: *const Self, first: usize, last: usize, len: usize, image: *const Place(T), given: *const Place(T), sums: [*]T) void {
            const rows = &job.problem.windows.rows;
            const columns = &job.problem.windows.columns;
            const middle_rows = windowed.whole(rows);
            const middle = windowed.whole(columns);
            var row = first;
            while (row < last) {
                const inside_rows = windowed.tapsInside(rows, row);
                const row_count = if (row >= middle_rows.first and row < middle_rows.last) @min(last, middle_rows.last) - row else 1;
                defer row += row_count;
                if (inside_rows.first == inside_rows.last) continue;
                var column: usize = 0;
                while (column < columns.result) {
                    const inside = windowed.tapsInside(columns, column);
                    const column_count = if (column >= middle.first and column < middle.last) middle.last - column else 1;
                    defer column += column_count;
                    if (inside.first == inside.last) continue;
                    const from = @as(isize, @intCast(row - given.first_row)) * given.row_step + @as(isize, @intCast(column)) * given.column_step;
                    job.table.correlation(&.{
                        .len = len,
                        .rows = row_count,
                        .columns = column_count,
                        .image_row = image.row_step * @as(isize, @intCast(rows.stride)),
                        .image_column = image.column_step * @as(isize, @intCast(columns.stride)),
                        .given_row = given.row_step,
                        .given_column = given.column_step,
                        .tap_rows = inside_rows.last - inside_rows.first,
                        .tap_columns = inside.last - inside.first,
                        .tap_row = image.row_step * @as(isize, @intCast(rows.dilation)),
                        .tap_column = image.column_step * @as(isize, @intCast(columns.dilation)),
                        .image = image.at(rows, row, inside_rows.first, columns, column, inside.first),
                        .given = generic.pointers.offset(T, given.start, from),
                        .sums = sums + (inside_rows.first * columns.window + inside.first) * job.pitch,
                        .sums_row = columns.window * job.pitch,
                        .sums_column = job.pitch,
                    });
                }
            }
        }

        /// Sums the images in order, and writes one output of each group.
        fn write(job: *const Self, output: usize) void {
            const it = job.problem;
            const columns = it.weight.shape[3];
            const image_len = job.taps * job.pitch;
            for (1..@max(1, it.image.shape[0])) |batch| {
                for (job.sums[0..image_len], job.sums[batch * image_len ..][0..image_len]) |*sum, value| sum.* += value;
            }
            for (0..job.taps) |tap| job.table.store(&.{
                .storage = it.weight.storage,
                .address = strided.addressAt(&it.weight, windows_of.offset(&it.weight, output, 0, tap / columns, tap % columns)),
                .step = it.weight.strides[0] * @as(isize, @intCast(it.groupOutputs())),
                .len = it.groups,
                .source = job.sums + tap * job.pitch,
            });
        }
    };
}

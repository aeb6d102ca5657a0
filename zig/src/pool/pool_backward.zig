//! Gradients of pooling. Windows overlap, so every channel of an image is computed by one thread, results in order. Largest values of windows
//! that lie side by side are in pool_nonoverlapping.zig, of others in images whose columns are close in pool_overlapping.zig.
//!
//! Vectors run over channels, which are copied a block at a time unless they are adjacent in the image and both gradients.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("../conv/convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("../conv/pixels.zig");
const pool_problem = @import("pool_problem.zig");
const pool_nonoverlapping = @import("pool_nonoverlapping.zig");
const pool_overlapping = @import("pool_overlapping.zig");
const strided = @import("../tensor/strided.zig");
const windowed = @import("../conv/windowed.zig");
const windows_of = @import("../conv/windows.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const Place = windowed.Place;

/// Values of the copies of one block: larger planes are copied fewer channels at a time.
const copied_len = 1 << 24;
/// Channels of a piece of work where nothing is copied are a multiple of these: whole cache lines.
const adjacent_channels = 16;

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const pool_problem.Problem, executor: ?*const abi.Executor) pool_problem.Error!void {
    const target = &problem.gradient.?;
    if (target.len() == 0) return;
    if (pool_nonoverlapping.fits(T, problem)) |along| return pool_nonoverlapping.run(T, table, problem, along, executor);
    if (pool_overlapping.fits(T, problem)) return pool_overlapping.run(T, table, problem, executor);
    const columns = &problem.windows.columns;
    const plane = problem.windows.rows.image * columns.image;
    const copies = !isAdjacent(T, problem);
    const threads = parallel.threadCount(executor);
    const channels = problem.image.shape[1];
    var block_channels: usize = if (copies) windowed.block_channels else adjacentChannels(problem, threads);
    while (copies and block_channels > 1 and 2 *| plane *| block_channels > copied_len) block_channels /= 2;
    const blocks = (channels + block_channels - 1) / block_channels;
    const count = convolve_problem.productOf(&.{ problem.image.shape[0], blocks }) orelse return error.OutOfMemory;
    const pieces = if (threads == 1) 1 else @min(count, 2 * threads);
    const plane_len = if (copies) convolve_problem.productOf(&.{ plane, block_channels }) orelse return error.OutOfMemory else 0;
    const row_len = if (copies) convolve_problem.productOf(&.{ columns.result, block_channels }) orelse return error.OutOfMemory else 0;
    const piece_len = std.math.add(usize, row_len, std.math.mul(usize, 2, plane_len) catch return error.OutOfMemory) catch return error.OutOfMemory;
    const bytes = convolve_problem.productOf(&.{ pieces, piece_len, @sizeOf(T) }) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    const job: Blocks(T) = .{
        .table = table,
        .problem = problem,
        .copies = copies,
        .block_channels = block_channels,
        .blocks = blocks,
        .count = count,
        .pieces = pieces,
        .plane_len = plane_len,
        .piece_len = piece_len,
        .buffers = buffer.slice(T, 0, pieces * piece_len).ptr,
    };
    try parallel.run(executor, pieces, Blocks(T), &job);
}

/// All channels of a pixel at once, which memory has in order, unless there are too few images for all threads.
fn adjacentChannels(problem: *const pool_problem.Problem, threads: usize) usize {
    const channels = @max(1, problem.image.shape[1]);
    const blocks = if (threads == 1) 1 else (2 * threads + problem.image.shape[0] - 1) / problem.image.shape[0];
    return std.mem.alignForward(usize, (channels + blocks - 1) / blocks, adjacent_channels);
}

/// Whether everything can be computed in place: one pair of steps serves image and gradient.
fn isAdjacent(comptime T: type, problem: *const pool_problem.Problem) bool {
    const target = &problem.gradient.?;
    for ([_]*const View{ &problem.image, &problem.result, target }) |view| if (!windowed.isAdjacent(T, view)) return false;
    return std.mem.eql(isize, problem.image.strides[2..4], target.strides[2..4]);
}

/// Each piece is a share of the blocks of channels of all images.
fn Blocks(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const pool_problem.Problem,
        copies: bool,
        block_channels: usize,
        blocks: usize,
        count: usize,
        pieces: usize,
        plane_len: usize,
        piece_len: usize,
        buffers: [*]T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers + piece * job.piece_len;
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| {
                    job.compute(item / job.blocks, item % job.blocks * job.block_channels, buffer);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, buffer: [*]T) void {
            const it = job.problem;
            const columns = &it.windows.columns;
            const pitch = job.block_channels;
            const channels = @min(pitch, it.image.shape[1] - channel);
            const row_len = columns.image * pitch;
            const results = buffer + 2 * job.plane_len;
            var image: Place(T) = .{ .start = buffer, .row_step = @intCast(row_len), .column_step = @intCast(pitch) };
            var gradient = image;
            gradient.start += job.plane_len;
            var span: pixels.Span = .{ .batch = batch, .channel = channel, .channels = channels, .row = 0, .column = 0, .count = columns.image };
            if (job.copies) {
                @memset(gradient.start[0..job.plane_len], 0);
                if (it.operation == .maximum_gradient) for (0..it.windows.rows.image) |row| {
                    span.row = row;
                    pixels.read(T, job.table, &it.image, span, image.start + row * row_len, pitch);
                };
            } else {
                image = .of(&it.image, batch, channel);
                gradient = .of(&it.gradient.?, batch, channel);
            }
            var cleared: usize = 0;
            for (0..it.windows.rows.result) |row| {
                var given: Place(T) = .{ .start = results, .row_step = 0, .column_step = @intCast(pitch) };
                if (job.copies) {
                    span.row = row;
                    span.count = columns.result;
                    pixels.read(T, job.table, &it.result, span, results, pitch);
                } else {
                    given = .of(&it.result, batch, channel);
                    // Rows are cleared while they are near, just before the first window reaches them.
                    const reach = row * it.windows.rows.stride + (it.windows.rows.window - 1) * it.windows.rows.dilation + 1;
                    const end = @min(it.windows.rows.image, reach -| it.windows.rows.padding);
                    while (cleared < end) : (cleared += 1) job.clearRow(cleared, channels, &gradient);
                }
                job.computeRow(row, if (job.copies) pitch else channels, &image, &gradient, &given);
            }
            if (!job.copies) {
                while (cleared < it.windows.rows.image) : (cleared += 1) job.clearRow(cleared, channels, &gradient);
                return;
            }
            span.count = columns.image;
            for (0..it.windows.rows.image) |row| {
                span.row = row;
                pixels.write(T, job.table, &it.gradient.?, span, gradient.start + row * row_len, pitch);
            }
        }

        fn clearRow(job: *const Self, row: usize, channels: usize, gradient: *const Place(T)) void {
            const start = generic.pointers.offset(T, gradient.start, @as(isize, @intCast(row)) * gradient.row_step);
            const columns = job.problem.windows.columns.image;
            if (gradient.column_step == @as(isize, @intCast(channels))) return @memset(start[0 .. columns * channels], 0);
            for (0..columns) |column| @memset(generic.pointers.offset(T, start, @as(isize, @intCast(column)) * gradient.column_step)[0..channels], 0);
        }

        fn computeRow(job: *const Self, row: usize, len: usize, image: *const Place(T), gradient: *const Place(T), given: *const Place(T)) void {
            const it = job.problem;
            const rows = &it.windows.rows;
            const columns = &it.windows.columns;
            const inside_rows = windowed.tapsInside(rows, row);
            const middle = windowed.whole(columns);
            if (inside_rows.first == inside_rows.last) return;
            var column: usize = 0;
            while (column < columns.result) {
                const is_middle = column >= middle.first and column < middle.last;
                const inside = windowed.tapsInside(columns, column);
                const results = if (is_middle) middle.last - column else 1;
                defer column += results;
                if (inside.first == inside.last) continue;
                const from = @as(isize, @intCast(row)) * given.row_step + @as(isize, @intCast(column)) * given.column_step;
                const row_count = windowed.tapCount(rows, row, it.counts_padding);
                job.table.window_back(&.{
                    .back = if (it.operation == .maximum_gradient) .largest else .average,
                    .taps = .{
                        .len = len,
                        .results = results,
                        .image_step = image.column_step * @as(isize, @intCast(columns.stride)),
                        .result_step = given.column_step,
                        .rows = inside_rows.last - inside_rows.first,
                        .columns = inside.last - inside.first,
                        .row_step = image.row_step * @as(isize, @intCast(rows.dilation)),
                        .column_step = image.column_step * @as(isize, @intCast(columns.dilation)),
                        .image = image.at(rows, row, inside_rows.first, columns, column, inside.first),
                    },
                    .given = generic.pointers.offset(T, given.start, from),
                    .gradient = gradient.at(rows, row, inside_rows.first, columns, column, inside.first),
                    .divisor = it.divisorOf(T) orelse @floatFromInt(row_count * windowed.tapCount(columns, column, it.counts_padding)),
                });
            }
        }
    };
}

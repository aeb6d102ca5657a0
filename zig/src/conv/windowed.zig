//! Results that each come from the windows of one channel: pooling, convolution of each channel alone, and its gradient by the image.
//!
//! Vectors run over channels. Images whose channels are adjacent are read and written in place; others are copied a block of channels and
//! a band of rows at a time. Every result is computed by one thread, from its taps in order.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("pixels.zig");
const strided = @import("../tensor/strided.zig");
const taps_of = @import("taps.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;

/// Channels that are copied together; a multiple of every vector.
pub const block_channels = 16;
/// Values of the copies of a band of rows, of what is read and of what is written: they stay in L2 between copying and computing.
const band_len = 1 << 16;

pub fn Problem(comptime T: type) type {
    return struct {
        /// What is read, and what is written. Backward these are the gradient of the result and that of the image.
        image: View,
        result: View,
        windows: windows_of.Windows,
        direction: taps_of.Direction = .forward,
        fold: generic.window_kernel.Fold,
        /// Whether weighted sums are added to what the result holds.
        accumulates: bool = false,
        /// Whether an average is over the window within the padded image, as in PyTorch; else within the image.
        counts_padding: bool = false,
        /// What averages are divided by in the place of the number of their values.
        divisor: ?T = null,
        /// A row of weights for each tap in the order of `weightPlace`, one for each channel; it and `addend` are as long as whole blocks.
        weights: [*]const T = undefined,
        weights_pitch: usize = 0,
        addend: ?[*]const T = null,
    };
}

/// Where the weights of tap (i, j) are, counted in taps: classes, rows of taps, columns of taps.
pub fn weightPlace(rows: *const taps_of.Axis, columns: *const taps_of.Axis, i: usize, j: usize) usize {
    const row = rows.place(i);
    const column = columns.place(j);
    return classStart(rows, columns, row.class, column.class) + row.tap * columns.class(column.class).taps + column.tap;
}

fn classStart(rows: *const taps_of.Axis, columns: *const taps_of.Axis, row_class: usize, column_class: usize) usize {
    return rows.tapsBefore(row_class) * columns.slide.window + rows.class(row_class).taps * columns.tapsBefore(column_class);
}

/// The columns of results whose windows lie within the image as a whole, [first, last).
pub fn whole(slide: *const windows_of.Slide) struct { first: usize, last: usize } {
    const low = slide.inside(0, 0, slide.result);
    const high = slide.inside(slide.window - 1, 0, slide.result);
    const first = @max(low.first, high.first);
    return .{ .first = first, .last = @max(first, @min(low.last, high.last)) };
}

/// The taps [first, last) of window `at` that lie in the image.
pub fn tapsInside(slide: *const windows_of.Slide, at: usize) struct { first: usize, last: usize } {
    const start = at * slide.stride;
    const first = if (start >= slide.padding) 0 else (slide.padding - start + slide.dilation - 1) / slide.dilation;
    const reach = slide.image + slide.padding;
    const last = if (reach <= start) 0 else (reach - start + slide.dilation - 1) / slide.dilation;
    const low = @min(first, slide.window);
    return .{ .first = low, .last = @max(low, @min(last, slide.window)) };
}

/// Taps of window `at` that an average is over. The padded image ends as far behind the image as it begins before it.
pub fn tapCount(slide: *const windows_of.Slide, at: usize, counts_padding: bool) usize {
    if (counts_padding) return @min(slide.window, slide.image + 2 * slide.padding -| at * slide.stride);
    const inside = tapsInside(slide, at);
    return inside.last - inside.first;
}

/// Whether channels are adjacent and can be computed in place.
pub fn isAdjacent(comptime T: type, view: *const View) bool {
    return view.storage.is(T) and (view.strides[1] == 1 or view.shape[1] == 1) and view.shape[1] >= block_channels;
}

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem(T), executor: ?*const abi.Executor) convolve_problem.Error!void {
    if (problem.result.len() == 0) return;
    const rows: taps_of.Axis = .of(problem.windows.rows, problem.direction);
    const columns: taps_of.Axis = .of(problem.windows.columns, problem.direction);
    const reads_image = isAdjacent(T, &problem.image);
    const writes_result = isAdjacent(T, &problem.result);
    // Where images lie as they are read, bands only make work for all threads.
    const result_line = columns.results * block_channels;
    const fitting = @max(1, band_len / @max(1, result_line));
    const band_rows = if (reads_image) 8 else @min(fitting, bandRows(&rows, band_len / @max(1, columns.sources * block_channels)));
    const copied_rows = @min(rows.sources, sourceRows(&rows, band_rows));
    const is_whole = reads_image and writes_result;
    const channels = problem.image.shape[1];
    const blocks = if (is_whole) 1 else (channels + block_channels - 1) / block_channels;
    const bands = (rows.results + band_rows - 1) / band_rows;
    const count = convolve_problem.productOf(&.{ problem.image.shape[0], blocks, bands }) orelse return error.OutOfMemory;
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(count, 4 * threads);
    const image_len = if (reads_image) 0 else convolve_problem.productOf(&.{ copied_rows, columns.sources, block_channels }) orelse return error.OutOfMemory;
    const result_len = if (writes_result) 0 else convolve_problem.productOf(&.{ @min(band_rows, rows.results), result_line }) orelse return error.OutOfMemory;
    const piece_len = std.math.add(usize, image_len, result_len) catch return error.OutOfMemory;
    const bytes = convolve_problem.productOf(&.{ pieces, piece_len, @sizeOf(T) }) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    const job: Bands(T) = .{
        .table = table,
        .problem = problem,
        .rows = rows,
        .columns = columns,
        .reads_image = reads_image,
        .writes_result = writes_result,
        .block_len = if (is_whole) channels else block_channels,
        .blocks = blocks,
        .bands = bands,
        .band_rows = band_rows,
        .count = count,
        .pieces = pieces,
        .image_len = image_len,
        .piece_len = piece_len,
        .buffers = buffer.slice(T, 0, pieces * piece_len).ptr,
    };
    try parallel.run(executor, pieces, Bands(T), &job);
}

/// Rows of sources that `band_rows` neighbouring rows of results reach at most.
fn sourceRows(rows: *const taps_of.Axis, band_rows: usize) usize {
    const slide = &rows.slide;
    const reach = (slide.window - 1) * slide.dilation;
    return if (rows.direction == .forward) (band_rows - 1) *| slide.stride +| reach +| 1 else (band_rows - 1 +| reach) / slide.stride + 1;
}

/// Rows of results whose sources are `wanted` rows, and one at least.
fn bandRows(rows: *const taps_of.Axis, wanted: usize) usize {
    const slide = &rows.slide;
    const reach = (slide.window - 1) * slide.dilation;
    const fitting = if (rows.direction == .forward) (wanted -| @min(rows.sources, reach + 1)) / slide.stride + 1 else (wanted *| slide.stride) -| (reach + slide.stride);
    return std.math.clamp(fitting, 1, rows.results);
}

/// The rows of sources that the rows of results [first, last) reach.
fn copiedRows(rows: *const taps_of.Axis, first: usize, last: usize) struct { first: usize, last: usize } {
    const slide = &rows.slide;
    const reach = (slide.window - 1) * slide.dilation;
    const is_forward = rows.direction == .forward;
    const low = if (is_forward) first * slide.stride -| slide.padding else (first + slide.padding -| reach + slide.stride - 1) / slide.stride;
    const high = if (is_forward) (last - 1) * slide.stride + reach + 1 -| slide.padding else (last - 1 + slide.padding) / slide.stride + 1;
    const begin = @min(rows.sources, low);
    return .{ .first = begin, .last = @max(begin, @min(rows.sources, high)) };
}

/// Each piece is a share of the bands: some rows of results of a block of channels of one image.
fn Bands(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem(T),
        rows: taps_of.Axis,
        columns: taps_of.Axis,
        reads_image: bool,
        writes_result: bool,
        block_len: usize,
        blocks: usize,
        bands: usize,
        band_rows: usize,
        count: usize,
        pieces: usize,
        image_len: usize,
        piece_len: usize,
        buffers: [*]T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers + piece * job.piece_len;
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| {
                    job.compute(item / job.bands / job.blocks, item / job.bands % job.blocks, item % job.bands, buffer);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, block: usize, band: usize, buffer: [*]T) void {
            const it = job.problem;
            const width = job.columns.sources;
            const channel = block * job.block_len;
            const channels = @min(job.block_len, it.image.shape[1] - channel);
            const first = band * job.band_rows;
            const last = @min(job.rows.results, first + job.band_rows);
            const copied = copiedRows(&job.rows, first, last);
            var span: pixels.Span = .{ .batch = batch, .channel = channel, .channels = channels, .row = 0, .column = 0, .count = width };
            span.row = copied.first;
            if (!job.reads_image and width > 0) pixels.readRows(T, job.table, &it.image, span, copied.last - copied.first, buffer, block_channels);
            span.row = first;
            span.count = job.columns.results;
            const results = buffer + job.image_len;
            if (!job.writes_result and it.accumulates) pixels.readRows(T, job.table, &it.result, span, last - first, results, block_channels);
            for (first..last) |row| {
                var image: Place(T) = .{ .start = buffer, .row_step = @intCast(width * block_channels), .column_step = block_channels, .first_row = copied.first };
                if (job.reads_image) image = .of(&it.image, batch, channel);
                var window: generic.window_kernel.Window(T) = .{
                    .fold = it.fold,
                    .taps = undefined,
                    .out = results,
                    .weights = it.weights + channel,
                    .addend = if (it.addend) |addend| addend + channel else null,
                    .accumulates = it.accumulates,
                };
                // Copied channels are padded to whole vectors.
                window.taps.len = if (job.reads_image or job.writes_result) channels else block_channels;
                window.taps.result_step = block_channels;
                if (job.writes_result) {
                    window.out = @ptrFromInt(strided.addressAt(&it.result, windows_of.offset(&it.result, batch, channel, row, 0)));
                    window.taps.result_step = it.result.strides[3];
                } else window.out += (row - first) * job.columns.results * block_channels;
                job.computeRow(row, &image, &window);
            }
            if (!job.writes_result) pixels.writeRows(T, job.table, &it.result, span, last - first, results, block_channels);
        }

        fn computeRow(job: *const Self, row: usize, image: *const Place(T), window: *generic.window_kernel.Window(T)) void {
            const out = window.out;
            const result_step = window.taps.result_step;
            const found = job.rows.find(row);
            if ((found == null or !job.columns.isCovered()) and !window.accumulates) {
                for (0..job.columns.results) |column| {
                    const at = @as(isize, @intCast(column)) * result_step;
                    @memset(generic.pointers.offset(T, out, at)[0..window.taps.len], 0);
                }
            }
            const at = found orelse return;
            const row_class = job.rows.class(at.class);
            const inside_rows = row_class.inside(at.at, job.rows.sources);
            const weights = window.weights;
            for (0..job.columns.classCount()) |index| {
                const class = job.columns.class(index);
                window.taps.rows = inside_rows.last - inside_rows.first;
                window.taps.row_step = image.row_step * @as(isize, @intCast(row_class.tap_source));
                window.weights_row = class.taps * job.problem.weights_pitch;
                window.weights = weights + classStart(&job.rows, &job.columns, at.class, index) * job.problem.weights_pitch + inside_rows.first * window.weights_row;
                window.out = generic.pointers.offset(T, out, @as(isize, @intCast(class.first)) * result_step);
                window.taps.result_step = result_step * @as(isize, @intCast(class.step));
                const source_row = if (window.taps.rows == 0) 0 else row_class.at(at.at, inside_rows.first) - @as(isize, @intCast(image.first_row));
                job.computeClass(&class, row, generic.pointers.offset(T, image.start, source_row * image.row_step), image.column_step, window);
            }
        }

        /// The results of a row that the same columns of taps reach; those whose taps are all inside together, the others one by one.
        fn computeClass(job: *const Self, class: *const taps_of.Class, row: usize, source: [*]T, column_step: isize, window: *generic.window_kernel.Window(T)) void {
            const it = job.problem;
            const rows = &it.windows.rows;
            const columns = &it.windows.columns;
            const middle = class.whole(job.columns.sources);
            const out = window.out;
            const weights = window.weights;
            window.weights_column = it.weights_pitch;
            window.taps.column_step = column_step * @as(isize, @intCast(class.tap_source));
            window.taps.image_step = column_step * @as(isize, @intCast(class.source_step));
            var column: usize = 0;
            while (column < class.count) {
                const is_middle = column >= middle.first and column < middle.last;
                const inside = class.inside(column, job.columns.sources);
                window.taps.results = if (is_middle) middle.last - column else 1;
                window.taps.columns = inside.last - inside.first;
                const is_nothing = window.taps.rows == 0 or window.taps.columns == 0;
                const source_column = if (is_nothing) 0 else class.at(column, inside.first);
                window.taps.image = generic.pointers.offset(T, source, source_column * column_step);
                if (it.fold == .sum) window.divisor = it.divisor orelse @floatFromInt(tapCount(rows, row, it.counts_padding) * tapCount(columns, column, it.counts_padding));
                window.weights = weights + inside.first * it.weights_pitch;
                window.out = generic.pointers.offset(T, out, @as(isize, @intCast(column)) * window.taps.result_step);
                job.table.window(window);
                column += window.taps.results;
            }
        }
    };
}

/// Where channels of an image lie.
pub fn Place(comptime T: type) type {
    return struct {
        start: [*]T,
        row_step: isize,
        column_step: isize,
        /// The row that `start` is of.
        first_row: usize = 0,

        pub fn of(view: *const View, batch: usize, channel: usize) @This() {
            return .{
                .start = @ptrFromInt(strided.addressAt(view, windows_of.offset(view, batch, channel, 0, 0))),
                .row_step = view.strides[2],
                .column_step = view.strides[3],
            };
        }

        /// Tap (i, j) of window (row, column), which lies in the image.
        pub fn at(place: *const @This(), rows: *const windows_of.Slide, row: usize, i: usize, columns: *const windows_of.Slide, column: usize, j: usize) [*]T {
            const image_row: isize = @intCast(rows.place(row, i).? - place.first_row);
            const image_column: isize = @intCast(columns.place(column, j).?);
            return generic.pointers.offset(T, place.start, image_row * place.row_step + image_column * place.column_step);
        }
    };
}

test "taps inside the image are those whose position is, and whole windows have all" {
    var random: std.Random.DefaultPrng = .init(4);
    const rng = random.random();
    for (0..2000) |_| {
        const slide: windows_of.Slide = .{
            .image = rng.intRangeAtMost(usize, 1, 9),
            .window = rng.intRangeAtMost(usize, 1, 4),
            .result = 7,
            .stride = rng.intRangeAtMost(usize, 1, 3),
            .padding = rng.uintLessThan(usize, 4),
            .dilation = rng.intRangeAtMost(usize, 1, 3),
        };
        const middle = whole(&slide);
        for (0..slide.result) |at| {
            const span = tapsInside(&slide, at);
            var inside: usize = 0;
            for (0..slide.window) |tap| {
                const is_inside = slide.place(at, tap) != null;
                try std.testing.expectEqual(is_inside, tap >= span.first and tap < span.last);
                inside += @intFromBool(is_inside);
            }
            try std.testing.expectEqual(inside == slide.window, at >= middle.first and at < middle.last);
            try std.testing.expectEqual(inside, tapCount(&slide, at, false));
        }
    }
}

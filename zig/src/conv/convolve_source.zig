//! Copies of images as convolutions read them: blocks of few channels, rows of pixels, the channels of a pixel adjacent. Rows are padded with
//! the zeros that windows reach; what windows reach above and below an image is left out of the sums instead.

const std = @import("std");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const pixels = @import("pixels.zig");
const strided = @import("../tensor/strided.zig");
const taps_of = @import("taps.zig");
const windows_of = @import("windows.zig");
const divideUp = @import("../tensor/rounding.zig").divideUp;

const View = strided.View;

/// Channels of a block: those of a pixel are one cache line of float32.
const block_channels_limit = 16;

/// A convolution of windows of one element reads and writes whole planes: rows are of no importance.
const Plane = struct { rows: usize, columns: usize, row_step: usize, column_step: usize };

pub fn Source(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        view: *const View,
        /// Of one group.
        channels: usize,
        rows: taps_of.Axis,
        columns: taps_of.Axis,
        plane: ?Plane,
        blocks: usize,
        block_channels: usize,
        /// Rows and pixels of a copy.
        height: usize,
        width: usize,
        /// Whether a row holds the pixels of each tap on their own: less where strides are long or results are few.
        is_expanded: bool,
        /// Else: the column of the image that a row begins with.
        low: isize,

        const Self = @This();

        /// `may_join`: whether the plane of results may be seen as one row.
        pub fn of(
            table: *const generic.tensor_table.Table(T),
            view: *const View,
            channels: usize,
            windows: *const windows_of.Windows,
            direction: taps_of.Direction,
            may_join: bool,
        ) Self {
            const plane = if (may_join) planeOf(windows, direction) else null;
            var self: Self = .{
                .table = table,
                .view = view,
                .channels = channels,
                .rows = .of(if (plane == null) windows.rows else pointwise(1), direction),
                .columns = .of(if (plane) |it| pointwise(it.rows * it.columns) else windows.columns, direction),
                .plane = plane,
                .blocks = divideUp(channels, block_channels_limit),
                .block_channels = 0,
                .height = 0,
                .width = 0,
                .is_expanded = false,
                .low = std.math.maxInt(isize),
            };
            self.block_channels = if (self.blocks == 0) 0 else divideUp(channels, self.blocks);
            self.height = if (plane) |it| it.rows else self.rows.sources;
            var high: isize = std.math.minInt(isize);
            var expanded: usize = 0;
            for (0..self.columns.classCount()) |index| {
                const class = self.columns.class(index);
                if (class.count == 0) continue;
                self.low = @min(self.low, class.at(0, 0));
                high = @max(high, class.at(class.count - 1, class.taps - 1));
                expanded += class.taps * class.count;
            }
            const padded: usize = if (high < self.low) 0 else @intCast(high - self.low + 1);
            self.is_expanded = expanded < padded;
            self.width = @min(expanded, padded);
            return self;
        }

        fn planeOf(windows: *const windows_of.Windows, direction: taps_of.Direction) ?Plane {
            for ([_]*const windows_of.Slide{ &windows.rows, &windows.columns }) |slide| {
                if (slide.window != 1 or slide.padding != 0) return null;
                if (direction == .backward and slide.stride != 1) return null;
            }
            return .{
                .rows = windows.rows.result,
                .columns = windows.columns.result,
                .row_step = windows.rows.stride,
                .column_step = windows.columns.stride,
            };
        }

        fn pointwise(extent: usize) windows_of.Slide {
            return .{ .image = extent, .window = 1, .result = extent, .stride = 1, .padding = 0, .dilation = 1 };
        }

        /// Values from one row of a copy to the next; a plane that is one row has none.
        pub fn rowLen(self: *const Self) usize {
            return self.width * self.block_channels;
        }

        /// Values of one block of a copy; null when they cannot be counted.
        pub fn blockLen(self: *const Self) ?usize {
            const rows = if (self.plane == null) self.height else 1;
            return convolve_problem.productOf(&.{ rows, self.width, self.block_channels });
        }

        /// Rows [begin, end) of a block of the channels from `first_channel` on.
        pub fn copyRows(self: *const Self, batch: usize, first_channel: usize, block: usize, begin: usize, end: usize, target: [*]T) void {
            const pitch = self.block_channels;
            const channel = block * pitch;
            var span: pixels.Span = .{
                .batch = batch,
                .channel = first_channel + channel,
                .channels = @min(pitch, self.channels - @min(channel, self.channels)),
                .row = 0,
                .column = 0,
                .count = 0,
            };
            for (begin..end) |row| {
                if (self.plane) |plane| {
                    span.row = row * plane.row_step;
                    span.step = plane.column_step;
                    span.count = plane.columns;
                    pixels.read(T, self.table, self.view, span, target + row * plane.columns * pitch, pitch);
                    continue;
                }
                span.row = row;
                const line = target + row * self.rowLen();
                if (self.is_expanded) self.copyTaps(span, line) else self.copyRow(span, line);
            }
        }

        fn copyRow(self: *const Self, row: pixels.Span, target: [*]T) void {
            const pitch = self.block_channels;
            const before: usize = @min(self.width, @as(usize, @intCast(@max(0, -self.low))));
            const skipped: usize = @intCast(@max(0, self.low));
            const count = @min(self.columns.sources -| skipped, self.width - before);
            @memset(target[0 .. before * pitch], 0);
            @memset(target[(before + count) * pitch .. self.width * pitch], 0);
            if (count == 0) return;
            var span = row;
            span.column = skipped;
            span.count = count;
            pixels.read(T, self.table, self.view, span, target + before * pitch, pitch);
        }

        fn copyTaps(self: *const Self, row: pixels.Span, target: [*]T) void {
            const pitch = self.block_channels;
            var line = target;
            var span = row;
            for (0..self.columns.classCount()) |index| {
                const class = self.columns.class(index);
                for (0..class.taps) |tap| {
                    const reached = class.reached(tap, self.columns.sources);
                    @memset(line[0 .. reached.first * pitch], 0);
                    @memset(line[reached.last * pitch .. class.count * pitch], 0);
                    if (reached.first < reached.last) {
                        span.column = @intCast(class.at(reached.first, tap));
                        span.step = class.source_step;
                        span.count = reached.last - reached.first;
                        pixels.read(T, self.table, self.view, span, line + reached.first * pitch, pitch);
                    }
                    line += class.count * pitch;
                }
            }
        }
    };
}

//! Pixels of images of any strides and storage as runs of adjacent channels, and back.

const std = @import("std");
const generic = @import("generic");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");

const View = strided.View;

/// Pixels of one row of an image, some of its channels.
pub const Span = struct {
    batch: usize,
    channel: usize,
    channels: usize,
    row: usize,
    column: usize,
    /// From one pixel to the next.
    step: usize = 1,
    count: usize,

    fn offset(span: *const Span, view: *const View, channel: usize, pixel: usize) isize {
        return windows_of.offset(view, span.batch, span.channel + channel, span.row, span.column + pixel * span.step);
    }
};

/// Values that pass through a buffer at a time where memory is not as it is computed in: channels times pixels.
const buffer_channels = 16;
const buffer_pixels = 64;

/// `pitch` values of `target` for each pixel; those behind the channels of the span become zero.
pub fn read(comptime T: type, table: *const generic.tensor_table.Table(T), view: *const View, span: Span, target: [*]T, pitch: usize) void {
    if (pitch > span.channels) @memset(target[0 .. span.count * pitch], 0);
    const is_plain = view.storage.is(T);
    const step = view.strides[3] * @as(isize, @intCast(span.step));
    if (is_plain and view.strides[1] == 1) {
        var source: [*]const T = @ptrFromInt(strided.addressAt(view, span.offset(view, 0, 0)));
        for (0..span.count) |pixel| {
            const to = target + pixel * pitch;
            if (span.channels == 16) to[0..16].* = source[0..16].* else @memcpy(to[0..span.channels], source[0..span.channels]);
            source = generic.pointers.offsetConst(T, source, step);
        }
        return;
    }
    if (is_plain and step == 1) return table.transpose(&.{
        .rows = span.channels,
        .columns = span.count,
        .source = @ptrFromInt(strided.addressAt(view, span.offset(view, 0, 0))),
        .source_row = view.strides[1],
        .target = target,
        .target_column = @intCast(pitch),
    });
    var buffer: [buffer_channels * buffer_pixels]T align(64) = undefined;
    var channel: usize = 0;
    while (channel < span.channels) : (channel += buffer_channels) {
        const channels = @min(buffer_channels, span.channels - channel);
        var pixel: usize = 0;
        while (pixel < span.count) : (pixel += buffer_pixels) {
            const count = @min(buffer_pixels, span.count - pixel);
            for (0..channels) |i| table.load(&.{
                .storage = view.storage,
                .address = strided.addressAt(view, span.offset(view, channel + i, pixel)),
                .step = step,
                .len = count,
                .target = buffer[i * buffer_pixels ..].ptr,
            });
            table.transpose(&.{
                .rows = channels,
                .columns = count,
                .source = &buffer,
                .source_row = buffer_pixels,
                .target = target + pixel * pitch + channel,
                .target_column = @intCast(pitch),
            });
        }
    }
}

/// Whole rows of an image, one after the other: short rows that lie so are one long row.
pub fn readRows(comptime T: type, table: *const generic.tensor_table.Table(T), view: *const View, span: Span, rows: usize, target: [*]T, pitch: usize) void {
    var at = span;
    const joined = joinedRows(view, rows);
    at.count *= joined;
    var row: usize = 0;
    while (row < rows) : (row += joined) {
        at.row = span.row + row;
        read(T, table, view, at, target + row * span.count * pitch, pitch);
    }
}

/// The reverse.
pub fn writeRows(comptime T: type, table: *const generic.tensor_table.Table(T), view: *const View, span: Span, rows: usize, source: [*]const T, pitch: usize) void {
    var at = span;
    const joined = joinedRows(view, rows);
    at.count *= joined;
    var row: usize = 0;
    while (row < rows) : (row += joined) {
        at.row = span.row + row;
        write(T, table, view, at, source + row * span.count * pitch, pitch);
    }
}

fn joinedRows(view: *const View, rows: usize) usize {
    return if (windows_of.planeStride(view) == view.strides[3]) @max(1, rows) else 1;
}

/// The reverse of `read`: `pitch` values of `source` for each pixel, of which the first are its channels.
pub fn write(comptime T: type, table: *const generic.tensor_table.Table(T), view: *const View, span: Span, source: [*]const T, pitch: usize) void {
    const is_plain = view.storage.is(T);
    const step = view.strides[3] * @as(isize, @intCast(span.step));
    if (view.strides[1] == 1) {
        for (0..span.count) |pixel| table.store(&.{
            .storage = view.storage,
            .address = strided.addressAt(view, span.offset(view, 0, pixel)),
            .step = 1,
            .len = span.channels,
            .source = source + pixel * pitch,
        });
        return;
    }
    if (is_plain and step == 1) return table.transpose(&.{
        .rows = span.count,
        .columns = span.channels,
        .source = source,
        .source_row = @intCast(pitch),
        .target = @ptrFromInt(strided.addressAt(view, span.offset(view, 0, 0))),
        .target_column = view.strides[1],
    });
    var buffer: [buffer_channels * buffer_pixels]T align(64) = undefined;
    var channel: usize = 0;
    while (channel < span.channels) : (channel += buffer_channels) {
        const channels = @min(buffer_channels, span.channels - channel);
        var pixel: usize = 0;
        while (pixel < span.count) : (pixel += buffer_pixels) {
            const count = @min(buffer_pixels, span.count - pixel);
            table.transpose(&.{
                .rows = count,
                .columns = channels,
                .source = source + pixel * pitch + channel,
                .source_row = @intCast(pitch),
                .target = &buffer,
                .target_column = buffer_pixels,
            });
            for (0..channels) |i| table.store(&.{
                .storage = view.storage,
                .address = strided.addressAt(view, span.offset(view, channel + i, pixel)),
                .step = step,
                .len = count,
                .source = buffer[i * buffer_pixels ..].ptr,
            });
        }
    }
}

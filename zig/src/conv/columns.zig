//! Windows of an image as columns of a matrix (im2col), and their sum back into the image (col2im).

const std = @import("std");
const generic = @import("generic");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");

const Windows = windows_of.Windows;

/// Windows [first, first + count) of channels [channel, channel + channels) of one image: row (c, i, j) of `target` holds tap (i, j) of
/// channel c of each, zero in the padding. Rows are `count` elements apart.
pub fn gather(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    image: *const strided.View,
    windows: *const Windows,
    source: struct { batch: usize, channel: usize, channels: usize },
    span: struct { first: usize, count: usize },
    target: [*]T,
) void {
    const rows = &windows.rows;
    const columns = &windows.columns;
    var line = target;
    for (source.channel..source.channel + source.channels) |channel| {
        for (0..rows.window) |i| for (0..columns.window) |j| {
            var done: usize = 0;
            while (done < span.count) {
                const at = span.first + done;
                const result_row = at / columns.result;
                const begin = at % columns.result;
                const end = @min(columns.result, begin + span.count - done);
                const part = line[done..][0 .. end - begin];
                done += part.len;
                const row = rows.place(result_row, i) orelse {
                    @memset(part, 0);
                    continue;
                };
                const inside = columns.inside(j, begin, end);
                @memset(part[0 .. inside.first - begin], 0);
                @memset(part[inside.last - begin ..], 0);
                if (inside.first == inside.last) continue;
                const column = columns.place(inside.first, j).?;
                table.load(&.{
                    .storage = image.storage,
                    .address = strided.addressAt(image, windows_of.offset(image, source.batch, channel, row, column)),
                    .step = image.strides[3] * @as(isize, @intCast(columns.stride)),
                    .len = inside.last - inside.first,
                    .target = part[inside.first - begin ..].ptr,
                });
            }
            line += span.count;
        };
    }
}

/// Adds every row of `source` (as `gather` lays them out, all windows) to its places in `planes`: channels of adjacent values, row-major.
pub fn scatter(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    windows: *const Windows,
    channels: usize,
    source: [*]const T,
    planes: [*]T,
) void {
    const rows = &windows.rows;
    const columns = &windows.columns;
    const count = rows.result * columns.result;
    var line = source;
    for (0..channels) |channel| {
        const plane = planes + channel * rows.image * columns.image;
        for (0..rows.window) |i| for (0..columns.window) |j| {
            const inside = columns.inside(j, 0, columns.result);
            for (0..rows.result) |result_row| {
                const row = rows.place(result_row, i) orelse continue;
                if (inside.first == inside.last) continue;
                const target = plane + row * columns.image + columns.place(inside.first, j).?;
                const values = line + result_row * columns.result + inside.first;
                add(T, table, target, columns.stride, values, inside.last - inside.first);
            }
            line += count;
        };
    }
}

/// target[i * step] += values[i]
fn add(comptime T: type, table: *const generic.tensor_table.Table(T), target: [*]T, step: usize, values: [*]const T, len: usize) void {
    if (step > 1) {
        for (values[0..len], 0..) |value, i| target[i * step] += value;
        return;
    }
    const all = std.math.maxInt(usize);
    const none: generic.elementwise_kernel.Input(T) = .{ .ptr = target, .mask = 0 };
    table.elementwise(&.{
        .operation = .add,
        .inputs = .{ .{ .ptr = target, .mask = all }, .{ .ptr = values, .mask = all }, none, none },
        .out = @ptrCast(target),
        .len = len,
        .alpha = 0,
    });
}

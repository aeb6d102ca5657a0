//! What convolution and pooling share: images as (batch, channels, rows, columns) of any strides, and windows that slide over them.

const std = @import("std");
const strided = @import("../tensor/strided.zig");

/// The way of a window over the rows or over the columns of an image.
pub const Slide = struct {
    /// Extent of the image, of the window, and of the result.
    image: usize,
    window: usize,
    result: usize,
    stride: usize,
    /// Elements before the first of the image.
    padding: usize,
    dilation: usize,

    /// Where tap `tap` of window `at` lies in the image; null in the padding.
    pub fn place(slide: *const Slide, at: usize, tap: usize) ?usize {
        const padded = at * slide.stride + tap * slide.dilation;
        if (padded < slide.padding) return null;
        const at_image = padded - slide.padding;
        return if (at_image < slide.image) at_image else null;
    }

    /// The windows [first, last) among [begin, end) whose tap lies in the image.
    pub fn inside(slide: *const Slide, tap: usize, begin: usize, end: usize) struct { first: usize, last: usize } {
        const ahead = tap * slide.dilation;
        const first = if (ahead >= slide.padding) 0 else (slide.padding - ahead + slide.stride - 1) / slide.stride;
        const reach = slide.image + slide.padding;
        const last = if (reach <= ahead) 0 else (reach - ahead + slide.stride - 1) / slide.stride;
        const low = @min(@max(first, begin), end);
        return .{ .first = low, .last = @max(low, @min(last, end)) };
    }
};

pub const Windows = struct { rows: Slide, columns: Slide };

/// A way of one window over an axis where nothing slides.
pub const still: Slide = .{ .image = 1, .window = 1, .result = 1, .stride = 1, .padding = 0, .dilation = 1 };

/// Images with the axes batch, channels, depth, rows, columns: those of four axes have one plane.
pub fn withDepth(view: *const strided.View) strided.View {
    var wide = view.*;
    if (view.rank == 5) return wide;
    wide.rank = 5;
    std.mem.copyBackwards(usize, wide.shape[3..5], view.shape[2..4]);
    std.mem.copyBackwards(isize, wide.strides[3..5], view.strides[2..4]);
    wide.shape[2] = 1;
    wide.strides[2] = 0;
    return wide;
}

/// One plane of each channel of images with depth.
pub fn planeAt(view: *const strided.View, depth: usize) strided.View {
    var plane = view.*;
    plane.rank = 4;
    plane.address = strided.addressAt(view, @as(isize, @intCast(depth)) * view.strides[2]);
    std.mem.copyForwards(usize, plane.shape[2..5], &.{ view.shape[3], view.shape[4], 1 });
    std.mem.copyForwards(isize, plane.strides[2..5], &.{ view.strides[3], view.strides[4], 0 });
    return plane;
}

/// Element (batch, channel, row, column), counted from the address of the view.
pub fn offset(view: *const strided.View, batch: usize, channel: usize, row: usize, column: usize) isize {
    const n: isize, const c: isize, const p: isize, const q: isize = .{ @intCast(batch), @intCast(channel), @intCast(row), @intCast(column) };
    return n * view.strides[0] + c * view.strides[1] + p * view.strides[2] + q * view.strides[3];
}

/// The one stride that walks rows and columns of every image as one axis, if there is one.
pub fn planeStride(view: *const strided.View) ?isize {
    const columns: isize = @intCast(view.shape[3]);
    if (view.shape[2] == 1) return view.strides[3];
    if (view.shape[3] == 1) return view.strides[2];
    return if (view.strides[2] == view.strides[3] * columns) view.strides[3] else null;
}

test "windows inside the image are those whose position is" {
    var random: std.Random.DefaultPrng = .init(3);
    const rng = random.random();
    for (0..2000) |_| {
        const slide: Slide = .{
            .image = rng.intRangeAtMost(usize, 1, 9),
            .window = rng.intRangeAtMost(usize, 1, 4),
            .result = 12,
            .stride = rng.intRangeAtMost(usize, 1, 3),
            .padding = rng.uintLessThan(usize, 4),
            .dilation = rng.intRangeAtMost(usize, 1, 3),
        };
        for (0..slide.window) |tap| {
            const span = slide.inside(tap, 2, slide.result);
            for (2..slide.result) |at| {
                try std.testing.expectEqual(slide.place(at, tap) != null, at >= span.first and at < span.last);
            }
        }
    }
}

//! Which taps of a window reach which results along one axis, so that a convolution and its gradient by the image are one computation.
//!
//! Results fall into classes that the same taps reach. Forward there is one. Backward, where images are the results, positions that differ by
//! the stride are of one class: each tap belongs to one class only, and within a class the sources move by one.

const std = @import("std");
const divideUp = @import("../tensor/rounding.zig").divideUp;
const Slide = @import("windows.zig").Slide;

pub const Direction = enum { forward, backward };

/// A class: result t of `count` is at `first + t * step` and reads, for tap u of `taps`, source
/// `source + t * source_step + u * tap_source`. Taps are in the order of their sources.
pub const Class = struct {
    first: usize,
    step: usize,
    count: usize,
    taps: usize,
    source: isize,
    source_step: usize,
    tap_source: usize,

    /// Source of a result and a tap; it may lie outside.
    pub fn at(class: *const Class, result: usize, tap: usize) isize {
        return class.source + @as(isize, @intCast(result * class.source_step + tap * class.tap_source));
    }

    /// The taps [first, last) of a result whose source is in [0, extent).
    pub fn inside(class: *const Class, result: usize, extent: usize) struct { first: usize, last: usize } {
        const start = class.at(result, 0);
        const first = if (start >= 0) 0 else divideUp(@intCast(-start), class.tap_source);
        const reach = @as(isize, @intCast(extent)) - start;
        const last = if (reach <= 0) 0 else divideUp(@intCast(reach), class.tap_source);
        const low = @min(first, class.taps);
        return .{ .first = low, .last = @max(low, @min(last, class.taps)) };
    }

    /// The results [first, last) whose sources are all in [0, extent).
    pub fn whole(class: *const Class, extent: usize) struct { first: usize, last: usize } {
        const low = class.reached(0, extent);
        const high = class.reached(class.taps - 1, extent);
        const first = @max(low.first, high.first);
        return .{ .first = first, .last = @max(first, @min(low.last, high.last)) };
    }

    /// The results [first, last) of a tap whose source is in [0, extent).
    pub fn reached(class: *const Class, tap: usize, extent: usize) struct { first: usize, last: usize } {
        const start = class.at(0, tap);
        const first = if (start >= 0) 0 else divideUp(@intCast(-start), class.source_step);
        const reach = @as(isize, @intCast(extent)) - start;
        const last = if (reach <= 0) 0 else divideUp(@intCast(reach), class.source_step);
        const low = @min(first, class.count);
        return .{ .first = low, .last = @max(low, @min(last, class.count)) };
    }
};

pub const Axis = struct {
    slide: Slide,
    direction: Direction,
    /// Results, and sources, of all classes.
    results: usize,
    sources: usize,
    /// Taps of one class are so many apart; there are at most so many classes.
    period: usize,

    pub fn of(slide: Slide, direction: Direction) Axis {
        const is_forward = direction == .forward;
        return .{
            .slide = slide,
            .direction = direction,
            .results = if (is_forward) slide.result else slide.image,
            .sources = if (is_forward) slide.image else slide.result,
            .period = if (is_forward) 1 else slide.stride / std.math.gcd(slide.stride, slide.dilation),
        };
    }

    pub fn classCount(axis: *const Axis) usize {
        return @min(axis.slide.window, axis.period);
    }

    /// Whether every result is of a class: no tap reaches some of them where the stride is longer than the window.
    pub fn isCovered(axis: *const Axis) bool {
        return axis.direction == .forward or axis.classCount() == axis.slide.stride;
    }

    fn tapCount(axis: *const Axis, index: usize) usize {
        return divideUp(axis.slide.window - index, axis.period);
    }

    pub fn class(axis: *const Axis, index: usize) Class {
        const slide = &axis.slide;
        const padding: isize = @intCast(slide.padding);
        const taps = axis.tapCount(index);
        if (axis.direction == .forward) return .{
            .first = 0,
            .step = 1,
            .count = slide.result,
            .taps = taps,
            .source = -padding,
            .source_step = slide.stride,
            .tap_source = slide.dilation,
        };
        const stride: isize = @intCast(slide.stride);
        const first: usize = @intCast(@mod(@as(isize, @intCast(index * slide.dilation)) - padding, stride));
        const last_tap = index + (taps - 1) * axis.period;
        const ahead = @as(isize, @intCast(first)) + padding - @as(isize, @intCast(last_tap * slide.dilation));
        return .{
            .first = first,
            .step = slide.stride,
            .count = if (first < slide.image) divideUp(slide.image - first, slide.stride) else 0,
            .taps = taps,
            .source = @divExact(ahead, stride),
            .source_step = 1,
            .tap_source = axis.period * slide.dilation / slide.stride,
        };
    }

    /// The class of a result, and which of its results that is; null where no tap reaches it.
    pub fn find(axis: *const Axis, result: usize) ?struct { class: usize, at: usize } {
        if (axis.direction == .forward) return .{ .class = 0, .at = result };
        for (0..axis.classCount()) |index| {
            const padded: isize = @intCast(result + axis.slide.padding);
            if (@mod(padded - @as(isize, @intCast(index * axis.slide.dilation)), @as(isize, @intCast(axis.slide.stride))) == 0) {
                return .{ .class = index, .at = result / axis.slide.stride };
            }
        }
        return null;
    }

    /// The class of a tap of the window and its place among the taps of that class.
    pub fn place(axis: *const Axis, tap: usize) struct { class: usize, tap: usize } {
        if (axis.direction == .forward) return .{ .class = 0, .tap = tap };
        const index = tap % axis.period;
        return .{ .class = index, .tap = axis.tapCount(index) - 1 - tap / axis.period };
    }

    /// Taps of the classes before `index`.
    pub fn tapsBefore(axis: *const Axis, index: usize) usize {
        var sum: usize = 0;
        for (0..index) |before| sum += axis.tapCount(before);
        return sum;
    }
};

fn expectSameTaps(slide: Slide, direction: Direction) !void {
    const axis: Axis = .of(slide, direction);
    // found[image][result][tap], at most 9 x 9 x 4.
    var found: [9][9][4]bool = @splat(@splat(@splat(false)));
    for (0..slide.window) |tap| {
        const place = axis.place(tap);
        const class = axis.class(place.class);
        const reached = class.reached(place.tap, axis.sources);
        for (0..class.count) |t| {
            const result = class.first + t * class.step;
            const at = axis.find(result).?;
            try std.testing.expectEqual(place.class, at.class);
            try std.testing.expectEqual(t, at.at);
            const source = class.at(t, place.tap);
            const is_inside = source >= 0 and source < axis.sources;
            try std.testing.expectEqual(is_inside, t >= reached.first and t < reached.last);
            const inside = class.inside(t, axis.sources);
            const middle = class.whole(axis.sources);
            try std.testing.expectEqual(inside.last - inside.first == class.taps, t >= middle.first and t < middle.last);
            try std.testing.expectEqual(is_inside, place.tap >= inside.first and place.tap < inside.last);
            if (!is_inside) continue;
            const other: usize = @intCast(source);
            if (direction == .forward) found[other][result][tap] = true else found[result][other][tap] = true;
        }
    }
    for (0..slide.result) |result| for (0..slide.window) |tap| {
        const at = slide.place(result, tap);
        for (0..slide.image) |image| try std.testing.expectEqual(at != null and at.? == image, found[image][result][tap]);
    };
}

test "classes name the taps of the windows, forward and backward" {
    var random: std.Random.DefaultPrng = .init(9);
    const rng = random.random();
    for (0..3000) |_| {
        var slide: Slide = .{
            .image = rng.intRangeAtMost(usize, 1, 9),
            .window = rng.intRangeAtMost(usize, 1, 4),
            .result = 0,
            .stride = rng.intRangeAtMost(usize, 1, 5),
            .padding = rng.uintLessThan(usize, 5),
            .dilation = rng.intRangeAtMost(usize, 1, 4),
        };
        const reach = slide.dilation * (slide.window - 1) + 1;
        if (slide.image + 2 * slide.padding < reach) continue;
        slide.result = (slide.image + 2 * slide.padding - reach) / slide.stride + 1;
        if (slide.result > 9) continue;
        try expectSameTaps(slide, .forward);
        try expectSameTaps(slide, .backward);
    }
}

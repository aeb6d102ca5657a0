//! Pooling over any windows: of one to three axes, sliding or adaptive, with the indices of largest values, and the gradients.
//!
//! Windows overlap, so some channels of an image are computed by one thread, results in order. Vectors run over these channels, whose values are
//! copied so that they are adjacent.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("../conv/convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const pixels = @import("../conv/pixels.zig");
const pool_indices = @import("pool_indices.zig");
const pool_problem = @import("pool_problem.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const windowed = @import("../conv/windowed.zig");
const windows_of = @import("../conv/windows.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;

/// Values of the copy of an image at most, if it has several channels: of larger ones fewer channels are copied at a time.
const copied_len = 1 << 24;

pub const Problem = struct {
    problem: pool_problem.Problem,
    depths: windows_of.Slide,
    /// Whether windows cut images into equal parts; nothing of the slides counts then but the extents of image and result.
    is_adaptive: bool,
    /// int64, where the indices of largest values go.
    indices: ?View,

    fn axes(it: *const Problem) [3]Axis {
        return .{ it.axis(&it.depths), it.axis(&it.problem.windows.rows), it.axis(&it.problem.windows.columns) };
    }

    fn axis(it: *const Problem, slide: *const windows_of.Slide) Axis {
        return .{ .slide = slide.*, .is_adaptive = it.is_adaptive, .counts_padding = it.problem.counts_padding };
    }
};

/// Windows along one axis.
const Axis = struct {
    slide: windows_of.Slide,
    is_adaptive: bool,
    counts_padding: bool,

    /// Pixels of a window that lie in the image: the first, how many, from one to the next; and what an average counts.
    const Span = struct { first: usize, count: usize, step: usize, counted: usize };

    fn span(axis: *const Axis, at: usize) Span {
        const slide = &axis.slide;
        if (axis.is_adaptive) {
            const first = at * slide.image / slide.result;
            const last = ((at + 1) * slide.image + slide.result - 1) / slide.result;
            return .{ .first = first, .count = last - first, .step = 1, .counted = last - first };
        }
        const inside = windowed.tapsInside(slide, at);
        const count = inside.last - inside.first;
        return .{
            .first = if (count == 0) 0 else slide.place(at, inside.first).?,
            .count = count,
            .step = slide.dilation,
            .counted = windowed.tapCount(slide, at, axis.counts_padding),
        };
    }
};

pub fn run(is_single: bool, problem: *const Problem, executor: ?*const abi.Executor) pool_problem.Error!void {
    return if (is_single) runWith(f32, tensor_kernels.table(f32), problem, executor) else runWith(f64, tensor_kernels.table(f64), problem, executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) pool_problem.Error!void {
    const image = &problem.problem.image;
    const out = if (problem.problem.gradient) |*gradient| gradient else &problem.problem.result;
    if (out.len() == 0) return;
    const plane = convolve_problem.productOf(image.shape[2..5]) orelse return error.OutOfMemory;
    inline for (.{ 16, 4, 1 }) |lanes| {
        if (lanes == 1 or (2 * image.shape[1] > lanes and plane *| lanes <= copied_len)) return runLanes(T, lanes, table, problem, executor);
    }
}

fn runLanes(comptime T: type, comptime lanes: comptime_int, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) pool_problem.Error!void {
    const it = &problem.problem;
    const image = windows_of.withDepth(&it.image);
    const result = windows_of.withDepth(&it.result);
    const blocks = (image.shape[1] + lanes - 1) / lanes;
    const count = convolve_problem.productOf(&.{ image.shape[0], blocks }) orelse return error.OutOfMemory;
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(count, 2 * threads);
    const image_len = convolve_problem.productOf(&.{ image.shape[2], image.shape[3], image.shape[4], lanes }) orelse return error.OutOfMemory;
    const result_len = convolve_problem.productOf(&.{ result.shape[3], result.shape[4], lanes }) orelse return error.OutOfMemory;
    const planes: usize = if (it.operation.isGradient()) 2 else 1;
    const piece_len = std.math.add(usize, std.math.mul(usize, planes, image_len) catch return error.OutOfMemory, result_len) catch return error.OutOfMemory;
    const bytes = convolve_problem.productOf(&.{ pieces, piece_len, @sizeOf(T) }) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    const job: Blocks(T, lanes) = .{
        .table = table,
        .it = it,
        .axes = problem.axes(),
        .image = image,
        .result = result,
        .gradient = if (it.gradient) |*gradient| windows_of.withDepth(gradient) else null,
        .indices = if (problem.indices) |*indices| windows_of.withDepth(indices) else null,
        .blocks = blocks,
        .count = count,
        .pieces = pieces,
        .image_len = image_len,
        .piece_len = piece_len,
        .buffers = buffer.slice(T, 0, pieces * piece_len).ptr,
    };
    try parallel.run(executor, pieces, Blocks(T, lanes), &job);
}

/// Each piece is a share of the blocks of channels of all images.
fn Blocks(comptime T: type, comptime lanes: comptime_int) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        it: *const pool_problem.Problem,
        axes: [3]Axis,
        image: View,
        result: View,
        gradient: ?View,
        indices: ?View,
        blocks: usize,
        count: usize,
        pieces: usize,
        image_len: usize,
        piece_len: usize,
        buffers: [*]T,

        const Self = @This();
        const V = @Vector(lanes, T);
        const Indices = @Vector(lanes, i64);
        const Spans = [3]Axis.Span;

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers + piece * job.piece_len;
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| {
                    job.compute(item / job.blocks, item % job.blocks * lanes, buffer);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, buffer: [*]T) void {
            const image = buffer[0..job.image_len];
            const gradient = buffer[job.image_len..];
            const is_gradient = job.it.operation.isGradient();
            const results = if (is_gradient) gradient + job.image_len else gradient;
            var span: pixels.Span = .{ .batch = batch, .channel = channel, .channels = @min(lanes, job.image.shape[1] - channel), .row = 0, .column = 0, .count = 0 };
            if (job.it.operation != .average_gradient) job.readImage(span, image.ptr);
            if (is_gradient) @memset(gradient[0..job.image_len], 0);
            span.count = job.result.shape[4];
            for (0..job.result.shape[2]) |depth| {
                const plane = windows_of.planeAt(&job.result, depth);
                if (is_gradient) pixels.readRows(T, job.table, &plane, span, job.result.shape[3], results, lanes);
                for (0..job.result.shape[3]) |row| for (0..job.result.shape[4]) |column| {
                    const spans: Spans = .{ job.axes[0].span(depth), job.axes[1].span(row), job.axes[2].span(column) };
                    const value = results[(row * job.result.shape[4] + column) * lanes ..][0..lanes];
                    switch (job.it.operation) {
                        .maximum => job.maximum(&spans, image.ptr, value, .{ batch, channel, depth, row, column }),
                        .average => value.* = job.sum(&spans, image.ptr) / job.divisor(&spans),
                        .maximum_gradient => job.giveToLargest(&spans, image.ptr, gradient, value),
                        .average_gradient => job.giveToAll(&spans, gradient, value),
                        .add_at_indices, .set_at_indices => unreachable,
                    }
                };
                if (!is_gradient) pixels.writeRows(T, job.table, &plane, span, job.result.shape[3], results, lanes);
            }
            if (!is_gradient) return;
            span.count = job.image.shape[4];
            for (0..job.image.shape[2]) |depth| {
                const plane = windows_of.planeAt(&job.gradient.?, depth);
                pixels.writeRows(T, job.table, &plane, span, job.image.shape[3], gradient + depth * job.planeLen(), lanes);
            }
        }

        fn planeLen(job: *const Self) usize {
            return job.image.shape[3] * job.image.shape[4] * lanes;
        }

        fn readImage(job: *const Self, given: pixels.Span, target: [*]T) void {
            var span = given;
            span.count = job.image.shape[4];
            if (span.count == 0) return;
            for (0..job.image.shape[2]) |depth| {
                const plane = windows_of.planeAt(&job.image, depth);
                pixels.readRows(T, job.table, &plane, span, job.image.shape[3], target + depth * job.planeLen(), lanes);
            }
        }

        fn divisor(job: *const Self, spans: *const Spans) V {
            const given = job.it.divisorOf(T) orelse @as(T, @floatFromInt(spans[0].counted * spans[1].counted * spans[2].counted));
            return @splat(given);
        }

        /// The pixels of a window, in row-major order.
        const Walk = struct {
            spans: *const Spans,
            rows: usize,
            columns: usize,
            at: [3]usize = .{ 0, 0, 0 },

            fn next(walk: *Walk) ?usize {
                const spans = walk.spans;
                if (walk.at[0] >= spans[0].count or spans[1].count == 0 or spans[2].count == 0) return null;
                var place: usize = 0;
                inline for (spans, walk.at, .{ 1, walk.rows, walk.columns }) |span, at, extent| place = place * extent + span.first + at * span.step;
                walk.at[2] += 1;
                if (walk.at[2] == spans[2].count) {
                    walk.at[2] = 0;
                    walk.at[1] += 1;
                }
                if (walk.at[1] == spans[1].count) {
                    walk.at[1] = 0;
                    walk.at[0] += 1;
                }
                return place;
            }
        };

        fn walkOf(job: *const Self, spans: *const Spans) Walk {
            return .{ .spans = spans, .rows = job.image.shape[3], .columns = job.image.shape[4] };
        }

        fn sum(job: *const Self, spans: *const Spans, image: [*]const T) V {
            var total: V = @splat(0);
            var walk = job.walkOf(spans);
            while (walk.next()) |place| total += @as(V, image[place * lanes ..][0..lanes].*);
            return total;
        }

        const Largest = struct { values: V, holders: Indices };

        /// The first of the largest values of each channel; a NaN is larger than any number.
        fn largest(job: *const Self, spans: *const Spans, image: [*]const T) Largest {
            const yes: @Vector(lanes, bool) = @splat(true);
            const no: @Vector(lanes, bool) = @splat(false);
            var best: Largest = .{ .values = @splat(-std.math.inf(T)), .holders = @splat(pool_indices.nowhere) };
            var walk = job.walkOf(spans);
            var is_first = true;
            while (walk.next()) |place| {
                const value: V = image[place * lanes ..][0..lanes].*;
                const is_larger = @select(bool, value > best.values, yes, value != value);
                const takes = if (is_first) yes else @select(bool, best.values == best.values, is_larger, no);
                is_first = false;
                best.values = @select(T, takes, value, best.values);
                best.holders = @select(i64, takes, @as(Indices, @splat(@intCast(place))), best.holders);
            }
            return best;
        }

        fn maximum(job: *const Self, spans: *const Spans, image: [*]const T, value: *[lanes]T, at: [5]usize) void {
            const best = job.largest(spans, image);
            value.* = best.values;
            const indices = if (job.indices) |*indices| indices else return;
            var offset: isize = 0;
            for (at, indices.strides[0..5]) |index, stride| offset += @as(isize, @intCast(index)) * stride;
            const holders: [lanes]i64 = best.holders;
            for (holders[0..@min(lanes, job.image.shape[1] - at[1])], 0..) |holder, lane| {
                const address = strided.addressAt(indices, offset + @as(isize, @intCast(lane)) * indices.strides[1]);
                @as(*i64, @ptrFromInt(address)).* = holder;
            }
        }

        fn giveToLargest(job: *const Self, spans: *const Spans, image: [*]const T, gradient: [*]T, given: *const [lanes]T) void {
            const holders: [lanes]i64 = job.largest(spans, image).holders;
            for (holders, given, 0..) |holder, share, lane| {
                if (holder != pool_indices.nowhere) gradient[@as(usize, @intCast(holder)) * lanes + lane] += share;
            }
        }

        fn giveToAll(job: *const Self, spans: *const Spans, gradient: [*]T, given: *const [lanes]T) void {
            const share = @as(V, given.*) / job.divisor(spans);
            var walk = job.walkOf(spans);
            while (walk.next()) |place| {
                const target = gradient[place * lanes ..][0..lanes];
                target.* = @as(V, target.*) + share;
            }
        }
    };
}

//! An addend for each channel of images that are computed without one: gradients by images, which transposed convolutions are.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const Error = convolve_problem.Error;

/// Values that pass through a buffer at a time.
const buffer_len = 1024;

/// Images in the type that is computed in, to which a bias is added: `target` itself where it is stored so, else memory of their own, so that
/// results are rounded once.
pub fn Sums(comptime T: type) type {
    return struct {
        view: View,
        target: View,
        memory: ?workspace.Buffer,

        const Self = @This();

        pub fn of(target: *const View) Error!Self {
            if (target.storage.is(T)) return .{ .view = target.*, .target = target.*, .memory = null };
            const len = convolve_problem.productOf(target.shape[0..target.rank]) orelse return error.OutOfMemory;
            const memory = try workspace.acquire(std.math.mul(usize, len, @sizeOf(T)) catch return error.OutOfMemory);
            return .{ .view = denseLike(T, target, @intFromPtr(memory.bytes.ptr)), .target = target.*, .memory = memory };
        }

        pub fn deinit(sums: *const Self) void {
            if (sums.memory) |memory| workspace.release(memory);
        }

        /// Adds the bias and delivers the images.
        pub fn finish(sums: *const Self, table: *const generic.tensor_table.Table(T), bias: *const View, executor: ?*const abi.Executor) Error!void {
            const channels = bias.len();
            const buffer = try workspace.acquire(@max(1, channels) * @sizeOf(T));
            defer workspace.release(buffer);
            const addends = buffer.slice(T, 0, channels);
            const space = strided.Space(1).of(.{bias});
            var walk = space.walk(0, 0);
            strided.readElements(T, table, bias, &walk, channels, addends.ptr);
            const job: Adding(T) = .{ .table = table, .source = &sums.view, .target = &sums.target, .bias = addends };
            const count = if (job.hasPixels()) sums.target.shape[0] * sums.target.shape[2] else sums.target.shape[0] * channels;
            if (sums.target.len() > 0) try parallel.run(executor, count, Adding(T), &job);
        }
    };
}

fn isLast(view: *const View) bool {
    return view.strides[1] == 1 and view.shape[1] > 1;
}

/// Images of a shape without gaps, with their channels last where those of `like` are.
pub fn denseLike(comptime T: type, like: *const View, address: usize) View {
    var view = like.*;
    view.storage = .of(T);
    view.address = address;
    const order: []const usize = if (!isLast(like)) &.{ 4, 3, 2, 1, 0 } else if (like.rank == 5) &.{ 1, 4, 3, 2, 0 } else &.{ 1, 3, 2, 0 };
    var dense: isize = 1;
    for (order) |axis| {
        if (axis >= like.rank) continue;
        view.strides[axis] = dense;
        dense *= @intCast(view.shape[axis]);
    }
    return view;
}

/// Each item is a plane of one channel, or the first of the axes that all channels share.
fn Adding(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        source: *const View,
        target: *const View,
        bias: []const T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| if (job.hasPixels()) job.addToPixels(item) else job.addToPlane(item);
        }

        /// Whether the channels of a pixel are adjacent.
        fn hasPixels(job: *const Self) bool {
            return isLast(job.target) and isLast(job.source);
        }

        fn addToPlane(job: *const Self, item: usize) void {
            const channels = job.target.shape[1];
            const rank = job.target.rank - 2;
            var space = strided.Space(2).of(.{ &job.target.axes(2, rank), &job.source.axes(2, rank) });
            space.coalesce();
            var to = space.walk(0, 0);
            var from = space.walk(1, 0);
            to.start += startOf(job.target, item / channels, item % channels);
            from.start += startOf(job.source, item / channels, item % channels);
            var buffer: [buffer_len]T = undefined;
            var done: usize = 0;
            while (done < space.len()) {
                const count = @min(to.runLen(), buffer_len);
                job.table.load(&.{ .storage = job.source.storage, .address = strided.addressAt(job.source, from.start), .step = space.innerStride(1), .len = count, .target = &buffer });
                for (buffer[0..count]) |*value| value.* += job.bias[item % channels];
                job.table.store(&.{ .storage = job.target.storage, .address = strided.addressAt(job.target, to.start), .step = space.innerStride(0), .len = count, .source = &buffer });
                to.pass(count);
                from.pass(count);
                done += count;
            }
        }

        fn addToPixels(job: *const Self, item: usize) void {
            const first = job.target.shape[2];
            const rank = job.target.rank - 3;
            const space = strided.Space(2).of(.{ &job.target.axes(3, rank), &job.source.axes(3, rank) });
            var to = space.walk(0, 0);
            var from = space.walk(1, 0);
            to.start += startOf(job.target, item / first, 0) + @as(isize, @intCast(item % first)) * job.target.strides[2];
            from.start += startOf(job.source, item / first, 0) + @as(isize, @intCast(item % first)) * job.source.strides[2];
            for (0..space.len()) |_| {
                const source: [*]T = @ptrFromInt(strided.addressAt(job.source, from.start));
                for (source[0..job.bias.len], job.bias) |*value, addend| value.* += addend;
                if (job.source.address != job.target.address) {
                    job.table.store(&.{ .storage = job.target.storage, .address = strided.addressAt(job.target, to.start), .step = 1, .len = job.bias.len, .source = source });
                }
                to.pass(1);
                from.pass(1);
            }
        }

        fn startOf(view: *const View, batch: usize, channel: usize) isize {
            return @as(isize, @intCast(batch)) * view.strides[0] + @as(isize, @intCast(channel)) * view.strides[1];
        }
    };
}

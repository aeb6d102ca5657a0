//! Values at indices of the planes that they belong to: the gradient of max pooling, from the indices that it gave, and its partial inverse.
//! Everything else is zero. Each plane is computed by one thread, values in their order.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;

/// The index of a window without a pixel, whose value goes nowhere where values are added.
pub const nowhere = -1;

pub const Problem = struct {
    /// (batch, channels, …); `indices` are like them.
    values: View,
    indices: View,
    out: View,
};

pub fn run(is_single: bool, adds: bool, problem: *const Problem, executor: ?*const abi.Executor) abi.Status {
    if (wrongIndex(problem, adds)) |index| return status.fail(
        abi.errors.invalid_argument,
        "indices: {d} is not in a plane of {d} pixels; indices are those that max pooling gave for images of this shape",
        .{ index, planeOf(&problem.out).len() },
    );
    const outcome = if (is_single) runOf(f32, adds, problem, executor) else runOf(f64, adds, problem, executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the planes of a pooling", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the planes of a pooling", .{}),
    };
    return abi.ok;
}

fn planeOf(view: *const View) View {
    return view.axes(2, view.rank - 2);
}

fn read(indices: *const View, offset: isize) i64 {
    return @as(*const i64, @ptrFromInt(strided.addressAt(indices, offset))).*;
}

/// An index that is in no plane; nothing is written then.
fn wrongIndex(problem: *const Problem, adds: bool) ?i64 {
    const pixels: i64 = @intCast(planeOf(&problem.out).len());
    const space = strided.Space(1).of(.{&problem.indices});
    var walk = space.walk(0, 0);
    for (0..problem.indices.len()) |_| {
        const index = read(&problem.indices, walk.start);
        const is_nowhere = adds and index == nowhere;
        if ((index < 0 or index >= pixels) and !is_nowhere) return index;
        walk.pass(1);
    }
    return null;
}

fn runOf(comptime T: type, adds: bool, problem: *const Problem, executor: ?*const abi.Executor) (error{OutOfMemory} || parallel.Error)!void {
    const count = problem.out.shape[0] * problem.out.shape[1];
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(count, 4 * threads);
    const plane_len = planeOf(&problem.out).len();
    const values_len = planeOf(&problem.values).len();
    if (count == 0 or plane_len == 0) return;
    const buffer = try workspace.acquire(pieces * (plane_len + values_len) * @sizeOf(T));
    defer workspace.release(buffer);
    const job: Planes(T) = .{
        .table = tensor_kernels.table(T),
        .problem = problem,
        .adds = adds,
        .count = count,
        .pieces = pieces,
        .plane_len = plane_len,
        .values_len = values_len,
        .buffers = buffer.slice(T, 0, pieces * (plane_len + values_len)),
    };
    try parallel.run(executor, pieces, Planes(T), &job);
}

/// Each piece is a share of the planes of all images.
fn Planes(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        adds: bool,
        count: usize,
        pieces: usize,
        plane_len: usize,
        values_len: usize,
        buffers: []T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const piece_len = job.plane_len + job.values_len;
            for (begin..end) |piece| {
                const buffer = job.buffers[piece * piece_len ..][0..piece_len];
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| job.compute(item, buffer);
            }
        }

        fn compute(job: *const Self, item: usize, buffer: []T) void {
            const it = job.problem;
            const channels = it.out.shape[1];
            const plane = buffer[0..job.plane_len];
            const values = buffer[job.plane_len..];
            @memset(plane, 0);
            const value_plane = planeOf(&it.values);
            const index_plane = planeOf(&it.indices);
            const out_plane = planeOf(&it.out);
            const value_space = strided.Space(1).of(.{&value_plane});
            const index_space = strided.Space(1).of(.{&index_plane});
            const out_space = strided.Space(1).of(.{&out_plane});
            var value_walk = value_space.walk(0, 0);
            value_walk.start += start(&it.values, item / channels, item % channels);
            strided.readElements(T, job.table, &it.values, &value_walk, job.values_len, values.ptr);
            var index_walk = index_space.walk(0, 0);
            index_walk.start += start(&it.indices, item / channels, item % channels);
            for (values) |value| {
                const index = read(&it.indices, index_walk.start);
                index_walk.pass(1);
                if (index == nowhere) continue;
                const at: usize = @intCast(index);
                plane[at] = if (job.adds) plane[at] + value else value;
            }
            var out_walk = out_space.walk(0, 0);
            out_walk.start += start(&it.out, item / channels, item % channels);
            strided.writeElements(T, job.table, &it.out, &out_walk, job.plane_len, plane.ptr);
        }

        fn start(view: *const View, batch: usize, channel: usize) isize {
            return @as(isize, @intCast(batch)) * view.strides[0] + @as(isize, @intCast(channel)) * view.strides[1];
        }
    };
}

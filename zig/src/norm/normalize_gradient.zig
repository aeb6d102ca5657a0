//! Gradients of softmax, log-softmax, layer norm and root-mean-square norm over the last `row_axes` axes of tensors with any strides.
//!
//! Inputs are x (of the softmaxes the result), the gradient of the result, and the scale of a norm where it has one. They were validated in Rust;
//! `out` may be the very view of x or the gradient, else it shares no memory with any input.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const normalize = @import("normalize.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");

const row_kernel = generic.row_kernel;
const View = strided.View;

pub const Problem = struct {
    operation: row_kernel.Operation,
    x: View,
    gradient: View,
    out: View,
    scale: ?View = null,
    row_axes: usize,
    epsilon: f64 = 0,
};

pub fn normalizeGradient(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.NormalizeOptions) abi.Status {
    const given = options.?;
    std.debug.assert(input_count == 2 or input_count == 3);
    const problem: Problem = .{
        .operation = std.enums.fromInt(row_kernel.Operation, given.operation).?,
        .x = .of(&inputs.?[0]),
        .gradient = .of(&inputs.?[1]),
        .out = .of(out.?),
        .scale = if (input_count > 2) .of(&inputs.?[2]) else null,
        .row_axes = given.row_axes,
        .epsilon = given.epsilon,
    };
    const outcome = if (given.compute.bits == 32)
        runWith(f32, tensor_kernels.table(f32), &problem, given.executor)
    else
        runWith(f64, tensor_kernels.table(f64), &problem, given.executor);
    outcome catch |failure| return normalize.report(failure);
    return abi.ok;
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const Problem,
    executor: ?*const abi.Executor,
) normalize.Error!void {
    if (problem.x.len() == 0) return;
    const outer_rank = problem.x.rank - problem.row_axes;
    const views = [view_count]*const View{ &problem.out, &problem.x, &problem.gradient };
    var outer: [view_count]View = undefined;
    var inner: [view_count]View = undefined;
    for (views, &outer, &inner) |view, *outer_part, *inner_part| {
        outer_part.* = view.axes(0, outer_rank);
        inner_part.* = view.axes(outer_rank, problem.row_axes);
    }
    var job: Job(T) = .{
        .table = table,
        .problem = problem,
        .views = views,
        .rows = .of(.{ &outer[0], &outer[1], &outer[2] }),
        .row = .of(.{ &inner[0], &inner[1], &inner[2] }),
        .row_count = outer[0].len(),
        .row_len = inner[0].len(),
    };
    job.rows.sort();
    job.row.coalesce();
    for (0..view_count) |k| job.is_ready[k] = job.row.isDense(k) and inner[k].storage.is(T);
    const threads = parallel.threadCount(executor);
    job.pieces = if (threads == 1) 1 else @min(job.row_count, 4 * threads);
    job.buffer_len = std.mem.alignForward(usize, job.row_len, 64);
    const buffer = try workspace.acquire((1 + view_count * job.pieces) * job.buffer_len * @sizeOf(T));
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, (1 + view_count * job.pieces) * job.buffer_len);
    if (problem.scale) |*scale| {
        const space = strided.Space(1).of(.{scale});
        var walk = space.walk(0, 0);
        strided.readElements(T, table, scale, &walk, job.row_len, values.ptr);
        job.scale = values.ptr;
    }
    job.buffers = values[job.buffer_len..];
    try parallel.run(executor, job.pieces, Job(T), &job);
}

/// `out`, x, the gradient.
const view_count = 3;

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        views: [view_count]*const View,
        rows: strided.Space(view_count),
        row: strided.Space(view_count),
        row_count: usize,
        row_len: usize,
        /// Whether the rows of a view consist of adjacent values of type T.
        is_ready: [view_count]bool = @splat(false),
        scale: ?[*]const T = null,
        /// A row of each view for each piece.
        buffers: []T = &.{},
        buffer_len: usize = 0,
        pieces: usize = 1,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                for (piece * job.row_count / job.pieces..(piece + 1) * job.row_count / job.pieces) |row| job.passRow(piece, row);
            }
        }

        fn passRow(job: *const Self, piece: usize, row: usize) void {
            var places: [view_count][*]T = undefined;
            for (0..view_count) |k| {
                const offset = job.rows.offset(k, row);
                if (job.is_ready[k]) {
                    places[k] = @ptrFromInt(strided.addressAt(job.views[k], offset));
                    continue;
                }
                places[k] = job.buffers[(piece * view_count + k) * job.buffer_len ..].ptr;
                if (k == 0) continue;
                var walk = job.row.walk(k, 0);
                walk.start += offset;
                strided.readElements(T, job.table, job.views[k], &walk, job.row_len, places[k]);
            }
            job.table.row_gradient(&.{
                .operation = job.problem.operation,
                .x = places[1],
                .gradient = places[2],
                .out = places[0],
                .len = job.row_len,
                .scale = job.scale,
                .epsilon = job.problem.epsilon,
            });
            if (job.is_ready[0]) return;
            var walk = job.row.walk(0, 0);
            walk.start += job.rows.offset(0, row);
            strided.writeElements(T, job.table, job.views[0], &walk, job.row_len, places[0]);
        }
    };
}

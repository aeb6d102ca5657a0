//! The gradients of a convolution: by its image (columns = weights^T times gradient, summed back into images) and by its weights (gradient
//! times columns^T, summed over images in order).

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const columns_of = @import("columns.zig");
const convolve_problem = @import("convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm = @import("../gemm/gemm.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");

const Problem = convolve_problem.Problem;

pub fn byImage(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    if (problem.image.len() == 0) return;
    const count = problem.image.shape[0] * problem.groups;
    const threads = parallel.threadCount(executor);
    // Images are spread over the threads where there are enough of them; else the matmuls are.
    const spreads_images = count >= threads;
    const pieces = if (spreads_images) @min(count, 2 * threads) else 1;
    const plane = problem.resultPlane();
    const lens: Lens = .{
        .columns = problem.k() * plane,
        .gradient = problem.groupOutputs() * plane,
        .planes = problem.groupInputs() * problem.image.shape[2] * problem.image.shape[3],
    };
    const weights_len = problem.weight.len();
    const buffer = try workspace.acquire((weights_len + pieces * lens.total()) * @sizeOf(T));
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, weights_len + pieces * lens.total());
    const job: ByImage(T) = .{
        .table = table,
        .problem = problem,
        .weights = convolve_problem.denseWeights(T, table, problem, values.ptr),
        .lens = lens,
        .count = count,
        .pieces = pieces,
        .buffers = values[weights_len..],
        .executor = if (spreads_images) null else executor,
    };
    try parallel.run(if (spreads_images) executor else null, pieces, ByImage(T), &job);
    if (job.failed.load(.monotonic)) return error.OutOfMemory;
}

/// Values that one piece of work keeps.
const Lens = struct {
    columns: usize,
    gradient: usize,
    planes: usize,

    fn total(lens: Lens) usize {
        return lens.columns + lens.gradient + lens.planes;
    }
};

/// The gradient of the result of one group of one image as adjacent rows (outputs, windows).
fn readGradient(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, batch: usize, group: usize, target: [*]T) void {
    const outputs = problem.groupOutputs();
    const plane = problem.resultPlane();
    const part = problem.result.axes(2, 2);
    const space = strided.Space(1).of(.{&part});
    for (0..outputs) |output| {
        var walk = space.walk(0, 0);
        walk.start += windows_of.offset(&problem.result, batch, group * outputs + output, 0, 0);
        strided.readElements(T, table, &problem.result, &walk, plane, target + output * plane);
    }
}

/// Each item is one group of one image.
fn ByImage(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        weights: [*]const T,
        lens: Lens,
        count: usize,
        pieces: usize,
        buffers: []T,
        executor: ?*const abi.Executor,
        failed: std.atomic.Value(bool) = .init(false),

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const buffer = job.buffers.ptr + piece * job.lens.total();
                for (piece * job.count / job.pieces..(piece + 1) * job.count / job.pieces) |item| {
                    job.compute(item / job.problem.groups, item % job.problem.groups, buffer) catch @constCast(&job.failed).store(true, .monotonic);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, group: usize, buffer: [*]T) convolve_problem.Error!void {
            const it = job.problem;
            const columns = buffer;
            const gradient = columns + job.lens.columns;
            const planes = gradient + job.lens.gradient;
            const plane = it.resultPlane();
            const k = it.k();
            readGradient(T, job.table, it, batch, group, gradient);
            try gemm.multiply(T, &.{
                .m = k,
                .n = plane,
                .k = it.groupOutputs(),
                .a = job.weights + group * it.groupOutputs() * k,
                .a_row = 1,
                .a_k = @intCast(k),
                .b = gradient,
                .b_k = @intCast(plane),
                .b_column = 1,
                .out = columns,
                .out_row = @intCast(plane),
                .out_column = 1,
                .alpha = 1,
                .beta = 0,
            }, job.executor);
            @memset(planes[0..job.lens.planes], 0);
            columns_of.scatter(T, job.table, &it.windows, it.groupInputs(), columns, planes);
            const image_plane = it.image.shape[2] * it.image.shape[3];
            const part = it.image.axes(2, 2);
            const space = strided.Space(1).of(.{&part});
            for (0..it.groupInputs()) |channel| {
                var walk = space.walk(0, 0);
                walk.start += windows_of.offset(&it.image, batch, group * it.groupInputs() + channel, 0, 0);
                strided.writeElements(T, job.table, &it.image, &walk, image_plane, planes + channel * image_plane);
            }
        }
    };
}

pub fn byWeight(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    if (problem.weight.len() == 0) return;
    const outputs = problem.groupOutputs();
    const k = problem.k();
    const plane = problem.resultPlane();
    const sums_len = problem.weight.len();
    const total = sums_len + k * plane + outputs * plane;
    const buffer = try workspace.acquire(total * @sizeOf(T));
    defer workspace.release(buffer);
    const values = buffer.slice(T, 0, total);
    const columns = values.ptr + sums_len;
    const gradient = columns + k * plane;
    @memset(values[0..sums_len], 0);
    for (0..problem.image.shape[0]) |batch| for (0..problem.groups) |group| {
        const gathering: Gathering(T) = .{ .table = table, .problem = problem, .batch = batch, .group = group, .target = columns };
        try parallel.run(executor, problem.groupInputs(), Gathering(T), &gathering);
        readGradient(T, table, problem, batch, group, gradient);
        try gemm.multiply(T, &.{
            .m = outputs,
            .n = k,
            .k = plane,
            .a = gradient,
            .a_row = @intCast(plane),
            .a_k = 1,
            .b = columns,
            .b_k = 1,
            .b_column = @intCast(plane),
            .out = values.ptr + group * outputs * k,
            .out_row = @intCast(k),
            .out_column = 1,
            .alpha = 1,
            .beta = 1,
        }, executor);
    };
    const space = strided.Space(1).of(.{&problem.weight});
    var walk = space.walk(0, 0);
    strided.writeElements(T, table, &problem.weight, &walk, sums_len, values.ptr);
}

/// The columns of one channel each.
fn Gathering(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        batch: usize,
        group: usize,
        target: [*]T,

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const it = job.problem;
            const plane = it.resultPlane();
            const taps = it.weight.shape[2] * it.weight.shape[3];
            columns_of.gather(
                T,
                job.table,
                &it.image,
                &it.windows,
                .{ .batch = job.batch, .channel = job.group * it.groupInputs() + begin, .channels = end - begin },
                .{ .first = 0, .count = plane },
                job.target + begin * taps * plane,
            );
        }
    };
}

//! Convolution of volumes as convolutions of planes: the planes that a window reaches in depth become channels of one image, so that its
//! weights (outputs, channels, depths, rows, columns) are those of (outputs, channels * depths, rows, columns).
//!
//! Planes are copied some depths of one result at a time. The order of additions depends on shapes alone.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_bias = @import("convolve_bias.zig");
const convolve_problem = @import("convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");

const View = strided.View;
const Error = convolve_problem.Error;
const Pass = convolve_problem.Pass;
const Planar = convolve_problem.Problem;

/// Values of the copies of planes, unless one depth of a result takes more.
const copied_len = 1 << 23;

/// All tensors have five axes but the bias.
pub const Problem = struct {
    image: View,
    weight: View,
    result: View,
    bias: ?View,
    depths: windows_of.Slide,
    windows: windows_of.Windows,
    groups: usize,
};

/// `planar` computes convolutions of planes.
pub fn run(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    pass: Pass,
    problem: *const Problem,
    executor: ?*const abi.Executor,
    comptime planar: fn (comptime type, Pass, *const Planar, ?*const abi.Executor) Error!void,
) Error!void {
    var job: Volume(T) = try .init(table, pass, problem);
    defer job.deinit();
    for (0..problem.image.shape[0]) |batch| {
        var first: usize = 0;
        while (first < problem.depths.result) : (first += job.chunk) {
            job.batch = batch;
            job.first = first;
            job.depths = @min(job.chunk, problem.depths.result - first);
            if (pass != .image_gradient) try parallel.run(executor, job.depths * job.planeCount(), Volume(T).Unfolding, &.{ .job = &job });
            const planes = job.planar();
            try planar(T, pass, &planes, executor);
            switch (pass) {
                .forward => {},
                .image_gradient => try parallel.run(executor, problem.image.shape[1], Volume(T).Folding, &.{ .job = &job }),
                .weight_gradient => for (job.sums, job.weights) |*sum, share| {
                    sum.* += share;
                },
            }
        }
        if (pass == .image_gradient) try job.deliverImage(batch, executor);
    }
    if (pass == .weight_gradient) job.deliverWeights();
}

fn Volume(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        pass: Pass,
        problem: *const Problem,
        buffer: workspace.Buffer,
        /// Depths of results that are computed together.
        chunk: usize,
        /// (depths of results, channels, depths of the window, rows, columns)
        planes_copy: []T,
        /// The weights without gaps, or a share of their gradient.
        weights: []T,
        /// The gradient of the weights, or that of one image.
        sums: []T,
        batch: usize = 0,
        first: usize = 0,
        depths: usize = 0,

        const Self = @This();

        fn init(table: *const generic.tensor_table.Table(T), pass: Pass, problem: *const Problem) Error!Self {
            const shape = &problem.image.shape;
            const plane = convolve_problem.productOf(shape[3..5]) orelse return error.OutOfMemory;
            const of_depth = convolve_problem.productOf(&.{ shape[1], problem.depths.window, plane }) orelse return error.OutOfMemory;
            const chunk = std.math.clamp(copied_len / @max(1, of_depth), 1, @max(1, problem.depths.result));
            const copy_len = convolve_problem.productOf(&.{ chunk, of_depth }) orelse return error.OutOfMemory;
            const weights_len = convolve_problem.productOf(problem.weight.shape[0..5]) orelse return error.OutOfMemory;
            const sums_len = switch (pass) {
                .forward => 0,
                .image_gradient => convolve_problem.productOf(shape[1..5]) orelse return error.OutOfMemory,
                .weight_gradient => weights_len,
            };
            const part = std.math.add(usize, copy_len, weights_len) catch return error.OutOfMemory;
            const total = std.math.add(usize, part, sums_len) catch return error.OutOfMemory;
            const buffer = try workspace.acquire(std.math.mul(usize, total, @sizeOf(T)) catch return error.OutOfMemory);
            const values = buffer.slice(T, 0, total);
            const job: Self = .{
                .table = table,
                .pass = pass,
                .problem = problem,
                .buffer = buffer,
                .chunk = chunk,
                .planes_copy = values[0..copy_len],
                .weights = values[copy_len..part],
                .sums = values[part..],
            };
            if (pass != .image_gradient) @memset(job.sums, 0);
            if (pass != .weight_gradient) {
                const space = strided.Space(1).of(.{&problem.weight});
                var walk = space.walk(0, 0);
                strided.readElements(T, table, &problem.weight, &walk, weights_len, job.weights.ptr);
            }
            return job;
        }

        fn deinit(job: *const Self) void {
            workspace.release(job.buffer);
        }

        /// Planes that become channels, for each depth of a result.
        fn planeCount(job: *const Self) usize {
            return job.problem.image.shape[1] * job.problem.depths.window;
        }

        fn planeLen(job: *const Self) usize {
            return job.problem.image.shape[3] * job.problem.image.shape[4];
        }

        fn dense(shape: [4]usize, values: []T) View {
            var view: View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = 4, .shape = @splat(1), .strides = @splat(0) };
            var step: isize = 1;
            var axis: usize = 4;
            while (axis > 0) {
                axis -= 1;
                view.shape[axis] = shape[axis];
                view.strides[axis] = step;
                step *= @intCast(shape[axis]);
            }
            return view;
        }

        /// The convolution of planes that these depths of one result are.
        fn planar(job: *const Self) Planar {
            const it = job.problem;
            const weight = &it.weight.shape;
            var result = it.result;
            result.rank = 4;
            result.address = strided.addressAt(&it.result, @as(isize, @intCast(job.batch)) * it.result.strides[0] + @as(isize, @intCast(job.first)) * it.result.strides[2]);
            for ([_]usize{ 2, 1, 3, 4 }, 0..) |from, to| {
                result.shape[to] = it.result.shape[from];
                result.strides[to] = it.result.strides[from];
            }
            result.shape[0] = job.depths;
            result.shape[4] = 1;
            result.strides[4] = 0;
            return .{
                .image = dense(.{ job.depths, job.planeCount(), it.image.shape[3], it.image.shape[4] }, job.planes_copy),
                .weight = dense(.{ weight[0], weight[1] * weight[2], weight[3], weight[4] }, job.weights),
                .result = result,
                .bias = if (job.pass == .forward) it.bias else null,
                .windows = it.windows,
                .groups = it.groups,
            };
        }

        /// Each item is a plane for one depth of a result: that of an image, or zeros in the padding.
        const Unfolding = struct {
            job: *const Self,

            pub fn run(unfolding: *const Unfolding, begin: usize, end: usize) void {
                const job = unfolding.job;
                const it = job.problem;
                const plane = it.image.axes(3, 2);
                var space = strided.Space(1).of(.{&plane});
                space.coalesce();
                for (begin..end) |item| {
                    const target = job.planes_copy[item * job.planeLen() ..][0..job.planeLen()];
                    const channel = item % job.planeCount() / it.depths.window;
                    const depth = it.depths.place(job.first + item / job.planeCount(), item % it.depths.window) orelse {
                        @memset(target, 0);
                        continue;
                    };
                    var walk = space.walk(0, 0);
                    inline for (.{ job.batch, channel, depth }, 0..) |at, axis| walk.start += @as(isize, @intCast(at)) * it.image.strides[axis];
                    strided.readElements(T, job.table, &it.image, &walk, target.len, target.ptr);
                }
            }
        };

        /// Each item is a channel of one image, to whose gradient the planes of some depths of the result are added.
        const Folding = struct {
            job: *const Self,

            pub fn run(folding: *const Folding, begin: usize, end: usize) void {
                const job = folding.job;
                const depths = &job.problem.depths;
                const len = job.planeLen();
                for (begin..end) |channel| {
                    const image = job.sums[channel * depths.image * len ..][0 .. depths.image * len];
                    if (job.first == 0) @memset(image, 0);
                    for (0..job.depths) |at| for (0..depths.window) |tap| {
                        const depth = depths.place(job.first + at, tap) orelse continue;
                        const source = job.planes_copy[(at * job.planeCount() + channel * depths.window + tap) * len ..][0..len];
                        for (image[depth * len ..][0..len], source) |*sum, share| sum.* += share;
                    };
                }
            }
        };

        fn deliverImage(job: *const Self, batch: usize, executor: ?*const abi.Executor) Error!void {
            const it = job.problem;
            var target = it.image;
            target.address = strided.addressAt(&it.image, @as(isize, @intCast(batch)) * it.image.strides[0]);
            target.shape[0] = 1;
            if (job.problem.depths.result == 0) @memset(job.sums, 0);
            const channels = it.image.shape[1];
            const sums: convolve_bias.Sums(T) = .{
                .view = convolve_bias.denseLike(T, &plain(target), @intFromPtr(job.sums.ptr)),
                .target = target,
                .memory = null,
            };
            const buffer = try workspace.acquire(@max(1, channels) * @sizeOf(T));
            defer workspace.release(buffer);
            const none = buffer.slice(T, 0, channels);
            @memset(none, 0);
            const zeros = dense(.{ 1, 1, 1, channels }, none);
            try sums.finish(job.table, if (it.bias) |*bias| bias else &zeros.axes(3, 1), executor);
        }

        /// The view with its channels before its pixels, as sums lie.
        fn plain(view: View) View {
            var like = view;
            like.strides[1] = 0;
            return like;
        }

        fn deliverWeights(job: *const Self) void {
            const weight = &job.problem.weight;
            const space = strided.Space(1).of(.{weight});
            var walk = space.walk(0, 0);
            strided.writeElements(T, job.table, weight, &walk, job.sums.len, job.sums.ptr);
        }
    };
}

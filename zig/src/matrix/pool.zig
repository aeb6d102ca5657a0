//! Largest values and averages of windows that slide over images, and their gradients. Images are (batch, channels, rows, columns) with any
//! strides. Padding never is the largest; it counts in an average where `counts_padding` says so. Validated in Rust.
//!
//! Every plane (channel of an image) is computed by one thread from adjacent copies of its rows and columns.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const strided = @import("strided.zig");
const tensor_kernels = @import("tensor_kernels.zig");
const windows_of = @import("windows.zig");
const workspace = @import("workspace.zig");

const View = strided.View;
const Error = error{OutOfMemory} || parallel.Error;

const Operation = enum(u32) { maximum = 0, average = 1, maximum_gradient = 2, average_gradient = 3 };

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "pool_" ++ name));
    }
}

const Problem = struct {
    operation: Operation,
    image: View,
    /// What is computed forward, or its gradient.
    result: View,
    /// The gradient by the image, where that is computed.
    gradient: ?View,
    windows: windows_of.Windows,
    /// As PyTorch: an average is over the window within the padded image, else within the image.
    counts_padding: bool,

    fn imagePlane(problem: *const Problem) usize {
        return problem.windows.rows.image * problem.windows.columns.image;
    }

    fn resultPlane(problem: *const Problem) usize {
        return problem.windows.rows.result * problem.windows.columns.result;
    }
};

pub fn pool(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.PoolOptions) abi.Status {
    const given = options.?;
    const operation = std.enums.fromInt(Operation, given.operation).?;
    const is_gradient = operation == .maximum_gradient or operation == .average_gradient;
    std.debug.assert(input_count == @as(usize, if (is_gradient) 2 else 1));
    const image: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    const result: View = if (is_gradient) .of(&inputs.?[1]) else target;
    const problem: Problem = .{
        .operation = operation,
        .image = image,
        .result = result,
        .gradient = if (is_gradient) target else null,
        .windows = .{
            .rows = .{
                .image = image.shape[2],
                .window = given.row_window,
                .result = result.shape[2],
                .stride = given.row_stride,
                .padding = given.row_padding,
                .dilation = given.row_dilation,
            },
            .columns = .{
                .image = image.shape[3],
                .window = given.column_window,
                .result = result.shape[3],
                .stride = given.column_stride,
                .padding = given.column_padding,
                .dilation = given.column_dilation,
            },
        },
        .counts_padding = given.counts_padding != 0,
    };
    const outcome = if (given.compute.bits == 32) run(f32, &problem, given.executor) else run(f64, &problem, given.executor);
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the planes of a pooling", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the planes of a pooling", .{}),
    };
    return abi.ok;
}

fn run(comptime T: type, problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    const planes = problem.image.shape[0] * problem.image.shape[1];
    if (planes == 0) return;
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(planes, 4 * threads);
    const piece_len = 2 * problem.imagePlane() + problem.resultPlane();
    const buffer = try workspace.acquire(@max(1, pieces * piece_len) * @sizeOf(T));
    defer workspace.release(buffer);
    const job: Planes(T) = .{
        .table = tensor_kernels.table(T),
        .problem = problem,
        .planes = planes,
        .pieces = pieces,
        .piece_len = piece_len,
        .buffers = buffer.slice(T, 0, pieces * piece_len).ptr,
    };
    try parallel.run(executor, pieces, Planes(T), &job);
}

fn Planes(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        planes: usize,
        pieces: usize,
        piece_len: usize,
        buffers: [*]T,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const channels = job.problem.image.shape[1];
            for (begin..end) |piece| {
                const image = job.buffers + piece * job.piece_len;
                const result = image + job.problem.imagePlane();
                const gradient = result + job.problem.resultPlane();
                for (piece * job.planes / job.pieces..(piece + 1) * job.planes / job.pieces) |plane| {
                    job.compute(plane / channels, plane % channels, image, result, gradient);
                }
            }
        }

        fn compute(job: *const Self, batch: usize, channel: usize, image: [*]T, result: [*]T, gradient: [*]T) void {
            const it = job.problem;
            switch (it.operation) {
                .maximum => {
                    job.readPlane(&it.image, batch, channel, image);
                    job.forward(.maximum, image, result);
                    job.writePlane(&it.result, batch, channel, result);
                },
                .average => {
                    job.readPlane(&it.image, batch, channel, image);
                    job.forward(.add, image, result);
                    job.divide(result);
                    job.writePlane(&it.result, batch, channel, result);
                },
                .maximum_gradient => {
                    job.readPlane(&it.image, batch, channel, image);
                    job.readPlane(&it.result, batch, channel, result);
                    @memset(gradient[0..it.imagePlane()], 0);
                    job.giveToLargest(image, result, gradient);
                    job.writePlane(&it.gradient.?, batch, channel, gradient);
                },
                .average_gradient => {
                    job.readPlane(&it.result, batch, channel, result);
                    job.divide(result);
                    @memset(gradient[0..it.imagePlane()], 0);
                    job.spread(result, gradient);
                    job.writePlane(&it.gradient.?, batch, channel, gradient);
                },
            }
        }

        fn readPlane(job: *const Self, view: *const View, batch: usize, channel: usize, target: [*]T) void {
            const part = view.axes(2, 2);
            var space: strided.Space(1) = .of(.{&part});
            space.coalesce();
            var walk = space.walk(0, 0);
            walk.start += windows_of.offset(view, batch, channel, 0, 0);
            strided.readElements(T, job.table, view, &walk, part.len(), target);
        }

        fn writePlane(job: *const Self, view: *const View, batch: usize, channel: usize, source: [*]const T) void {
            const part = view.axes(2, 2);
            var space: strided.Space(1) = .of(.{&part});
            space.coalesce();
            var walk = space.walk(0, 0);
            walk.start += windows_of.offset(view, batch, channel, 0, 0);
            strided.writeElements(T, job.table, view, &walk, part.len(), source);
        }

        /// Rows of results, joined tap by tap.
        fn forward(job: *const Self, operation: generic.elementwise_kernel.Operation, image: [*]const T, result: [*]T) void {
            const rows = &job.problem.windows.rows;
            const columns = &job.problem.windows.columns;
            const start: T = if (operation == .add) 0 else -std.math.inf(T);
            for (0..rows.result) |row| {
                const line = result + row * columns.result;
                @memset(line[0..columns.result], start);
                for (0..rows.window) |i| {
                    const image_row = rows.place(row, i) orelse continue;
                    for (0..columns.window) |j| {
                        const inside = columns.inside(j, 0, columns.result);
                        if (inside.first == inside.last) continue;
                        const source = image + image_row * columns.image + columns.place(inside.first, j).?;
                        job.join(operation, line + inside.first, source, columns.stride, inside.last - inside.first);
                    }
                }
            }
        }

        /// target[i] = operation(target[i], source[i * step])
        fn join(job: *const Self, operation: generic.elementwise_kernel.Operation, target: [*]T, source: [*]const T, step: usize, len: usize) void {
            const all = std.math.maxInt(usize);
            var taps: [256]T align(64) = undefined;
            var done: usize = 0;
            while (done < len) {
                const count = if (step == 1) len else @min(taps.len, len - done);
                var values = source + done * step;
                if (step != 1) {
                    for (taps[0..count], 0..) |*tap, i| tap.* = values[i * step];
                    values = &taps;
                }
                const none: generic.elementwise_kernel.Input(T) = .{ .ptr = values, .mask = 0 };
                job.table.elementwise(&.{
                    .operation = operation,
                    .inputs = .{ .{ .ptr = target + done, .mask = all }, .{ .ptr = values, .mask = all }, none, none },
                    .out = @ptrCast(target + done),
                    .len = count,
                    .alpha = 0,
                });
                done += count;
            }
        }

        /// Taps of window `at` that an average is over.
        fn tapCount(job: *const Self, slide: *const windows_of.Slide, at: usize) usize {
            var count: usize = 0;
            for (0..slide.window) |tap| {
                // The padded image ends as far behind the image as it begins before it.
                const padded = at * slide.stride + tap * slide.dilation;
                const counts = if (job.problem.counts_padding) padded < slide.image + 2 * slide.padding else slide.place(at, tap) != null;
                count += @intFromBool(counts);
            }
            return count;
        }

        /// Sums to averages; the average over nothing is NaN forward and cannot come back.
        fn divide(job: *const Self, result: [*]T) void {
            const rows = &job.problem.windows.rows;
            const columns = &job.problem.windows.columns;
            for (0..rows.result) |row| {
                const row_taps = job.tapCount(rows, row);
                for (0..columns.result) |column| {
                    const count: T = @floatFromInt(row_taps * job.tapCount(columns, column));
                    result[row * columns.result + column] /= count;
                }
            }
        }

        /// The gradient of each result goes to the first of the largest values of its window; a NaN is larger than any number.
        fn giveToLargest(job: *const Self, image: [*]const T, result: [*]const T, gradient: [*]T) void {
            const rows = &job.problem.windows.rows;
            const columns = &job.problem.windows.columns;
            for (0..rows.result) |row| for (0..columns.result) |column| {
                var best: ?usize = null;
                for (0..rows.window) |i| {
                    const image_row = rows.place(row, i) orelse continue;
                    for (0..columns.window) |j| {
                        const image_column = columns.place(column, j) orelse continue;
                        const at = image_row * columns.image + image_column;
                        const holder = best orelse {
                            best = at;
                            continue;
                        };
                        const is_nan = image[at] != image[at];
                        const holds_nan = image[holder] != image[holder];
                        if (!holds_nan and (is_nan or image[at] > image[holder])) best = at;
                    }
                }
                if (best) |at| gradient[at] += result[row * columns.result + column];
            };
        }

        /// The gradient of each result goes to every value of its window.
        fn spread(job: *const Self, result: [*]const T, gradient: [*]T) void {
            const rows = &job.problem.windows.rows;
            const columns = &job.problem.windows.columns;
            for (0..rows.result) |row| for (0..rows.window) |i| {
                const image_row = rows.place(row, i) orelse continue;
                for (0..columns.window) |j| {
                    const inside = columns.inside(j, 0, columns.result);
                    if (inside.first == inside.last) continue;
                    const target = gradient + image_row * columns.image + columns.place(inside.first, j).?;
                    const values = result + row * columns.result;
                    for (values[inside.first..inside.last], 0..) |value, at| target[at * columns.stride] += value;
                }
            };
        }
    };
}

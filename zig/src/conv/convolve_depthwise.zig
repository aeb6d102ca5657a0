//! Convolution where each group reads one channel, and its gradient by the image: k is too small for a matmul. Usually vectors
//! run over channels (windowed.zig); where there are few channels, rows of results are summed tap by tap.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const convolve_problem = @import("convolve_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const taps_of = @import("taps.zig");
const windowed = @import("windowed.zig");
const windows_of = @import("windows.zig");
const workspace = @import("../memory/workspace.zig");

/// Results that are summed together.
const tile_len = 256;

/// Fewer channels leave most of a vector empty.
const few_channels = 8;

pub fn run(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    if (problem.groups >= few_channels) return runChannels(T, table, problem, .forward, executor);
    const job: Planes(T) = .{ .table = table, .problem = problem };
    try parallel.run(executor, problem.result.shape[0] * problem.result.shape[1], Planes(T), &job);
}

/// Whether vectors run over channels. Many outputs of one channel are a matmul after all.
pub fn hasChannels(problem: *const convolve_problem.Problem) bool {
    return problem.groupInputs() == 1 and problem.groupOutputs() <= 2 and problem.groups >= few_channels;
}

/// Whether the gradient by the image can be computed so: sums of several outputs pass through it, and must not be rounded on the way.
pub fn fitsImage(comptime T: type, problem: *const convolve_problem.Problem) bool {
    return hasChannels(problem) and (problem.groupOutputs() == 1 or problem.image.storage.is(T));
}

pub fn byImage(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const convolve_problem.Problem, executor: ?*const abi.Executor) convolve_problem.Error!void {
    try runChannels(T, table, problem, .backward, executor);
}

/// One output of each group: a view of as many channels as there are groups.
pub fn outputView(problem: *const convolve_problem.Problem, output: usize) strided.View {
    var view = problem.result;
    view.address = strided.addressAt(&view, view.strides[1] * @as(isize, @intCast(output)));
    view.shape[1] = problem.groups;
    view.strides[1] *= @intCast(problem.groupOutputs());
    return view;
}

/// The outputs of a group are computed, or summed, one after the other, each for all groups.
fn runChannels(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const convolve_problem.Problem,
    direction: taps_of.Direction,
    executor: ?*const abi.Executor,
) convolve_problem.Error!void {
    const outputs = problem.groupOutputs();
    const columns = problem.weight.shape[3];
    const taps = problem.weight.shape[2] * columns;
    const pitch = std.mem.alignForward(usize, problem.groups, windowed.block_channels);
    const bytes = convolve_problem.productOf(&.{ taps + 1, pitch, @sizeOf(T) }) orelse return error.OutOfMemory;
    const buffer = try workspace.acquire(bytes);
    defer workspace.release(buffer);
    const weights = buffer.slice(T, 0, taps * pitch);
    const addend = buffer.slice(T, taps * pitch * @sizeOf(T), pitch);
    @memset(weights, 0);
    @memset(addend, 0);
    const row_axis: taps_of.Axis = .of(problem.windows.rows, direction);
    const column_axis: taps_of.Axis = .of(problem.windows.columns, direction);
    for (0..outputs) |output| {
        for (0..taps) |tap| table.load(&.{
            .storage = problem.weight.storage,
            .address = strided.addressAt(&problem.weight, windows_of.offset(&problem.weight, output, 0, tap / columns, tap % columns)),
            .step = problem.weight.strides[0] * @as(isize, @intCast(outputs)),
            .len = problem.groups,
            .target = weights[windowed.weightPlace(&row_axis, &column_axis, tap / columns, tap % columns) * pitch ..].ptr,
        });
        if (problem.bias) |*bias| table.load(&.{
            .storage = bias.storage,
            .address = strided.addressAt(bias, bias.strides[0] * @as(isize, @intCast(output))),
            .step = bias.strides[0] * @as(isize, @intCast(outputs)),
            .len = problem.groups,
            .target = addend.ptr,
        });
        const result = outputView(problem, output);
        try windowed.run(T, table, &.{
            .image = if (direction == .forward) problem.image else result,
            .result = if (direction == .forward) result else problem.image,
            .windows = problem.windows,
            .direction = direction,
            .fold = .weighted,
            .accumulates = direction == .backward and output > 0,
            .weights = weights.ptr,
            .weights_pitch = pitch,
            .addend = addend.ptr,
        }, executor);
    }
}

/// Each item is one channel of one image of the result.
fn Planes(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const convolve_problem.Problem,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const it = job.problem;
            const outputs = it.result.shape[1];
            for (begin..end) |item| {
                for (0..it.result.shape[2]) |row| {
                    var column: usize = 0;
                    while (column < it.result.shape[3]) : (column += tile_len) {
                        job.tile(item / outputs, item % outputs, row, column, @min(tile_len, it.result.shape[3] - column));
                    }
                }
            }
        }

        fn valueAt(job: *const Self, view: *const strided.View, elements: isize) T {
            var value: [1]T = undefined;
            job.table.load(&.{ .storage = view.storage, .address = strided.addressAt(view, elements), .step = 1, .len = 1, .target = &value });
            return value[0];
        }

        fn tile(job: *const Self, batch: usize, output: usize, row: usize, column: usize, len: usize) void {
            const it = job.problem;
            const columns = &it.windows.columns;
            var sums: [tile_len]T align(64) = undefined;
            var taps: [tile_len]T align(64) = undefined;
            const start: T = if (it.bias) |*bias| job.valueAt(bias, @as(isize, @intCast(output)) * bias.strides[0]) else 0;
            @memset(sums[0..len], start);
            for (0..it.windows.rows.window) |i| {
                const image_row = it.windows.rows.place(row, i) orelse continue;
                for (0..columns.window) |j| {
                    const inside = columns.inside(j, column, column + len);
                    if (inside.first == inside.last) continue;
                    const count = inside.last - inside.first;
                    const channel = output / it.groupOutputs();
                    const from = windows_of.offset(&it.image, batch, channel, image_row, columns.place(inside.first, j).?);
                    const address = strided.addressAt(&it.image, from);
                    const step = it.image.strides[3] * @as(isize, @intCast(columns.stride));
                    var source: [*]const T = &taps;
                    if (step == 1 and it.image.storage.is(T)) {
                        source = @ptrFromInt(address);
                    } else {
                        job.table.load(&.{ .storage = it.image.storage, .address = address, .step = step, .len = count, .target = &taps });
                    }
                    const weight = job.valueAt(&it.weight, windows_of.offset(&it.weight, output, 0, i, j));
                    job.addScaled(sums[inside.first - column ..].ptr, source, weight, count);
                }
            }
            job.table.store(&.{
                .storage = it.result.storage,
                .address = strided.addressAt(&it.result, windows_of.offset(&it.result, batch, output, row, column)),
                .step = it.result.strides[3],
                .len = len,
                .source = &sums,
            });
        }

        /// sums += source * weight, with two roundings: (source - 0) * weight + sums.
        fn addScaled(job: *const Self, sums: [*]T, source: [*]const T, weight: T, len: usize) void {
            const all = std.math.maxInt(usize);
            const zeros: generic.elementwise_kernel.Splat(T) align(64) = @splat(0);
            const weights: generic.elementwise_kernel.Splat(T) align(64) = @splat(weight);
            job.table.elementwise(&.{
                .operation = .standardize,
                .inputs = .{
                    .{ .ptr = source, .mask = all },
                    .{ .ptr = &zeros, .mask = 0 },
                    .{ .ptr = &weights, .mask = 0 },
                    .{ .ptr = sums, .mask = all },
                },
                .out = @ptrCast(sums),
                .len = len,
                .alpha = 0,
            });
        }
    };
}

//! Softmax, log-softmax, layer norm and root-mean-square norm over the last `row_axes` axes of tensors with any strides.
//!
//! Inputs are x and, for the norms, as many of scale and shift as there are, of the shape of a row. They were validated in Rust; `out` may be
//! the very view of x, else it shares no memory with any input.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const normalize_columns = @import("normalize_columns.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");

const row_kernel = generic.row_kernel;
const View = strided.View;
const Space = strided.Space(2);

/// Shorter rows are mostly head and tail of what can bypass the caches.
const streamed_row_bytes = 1024;

/// Rows that are read and written together where neighbours in memory belong to different rows: two cache lines of float32 for each page
/// that is looked up.
const block_rows = 32;

comptime {
    for (std.meta.fieldNames(row_kernel.Operation)) |name| {
        std.debug.assert(@backingInt(@field(row_kernel.Operation, name)) == @field(abi, "normalize_" ++ name));
    }
}

/// What one call normalises.
pub const Problem = struct {
    operation: row_kernel.Operation,
    x: View,
    out: View,
    scale: ?View = null,
    shift: ?View = null,
    row_axes: usize,
    epsilon: f64 = 0,
    /// Where the statistics of the rows of a matrix go.
    means: ?*anyopaque = null,
    inverse_deviations: ?*anyopaque = null,
};

pub const Error = error{OutOfMemory} || parallel.Error;

pub fn normalize(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.NormalizeOptions) abi.Status {
    const given = options.?;
    std.debug.assert(input_count >= 1 and input_count <= 3);
    const problem: Problem = .{
        .operation = std.enums.fromInt(row_kernel.Operation, given.operation).?,
        .x = .of(&inputs.?[0]),
        .out = .of(out.?),
        .scale = if (input_count > 1) .of(&inputs.?[1]) else null,
        .shift = if (input_count > 2) .of(&inputs.?[2]) else null,
        .row_axes = given.row_axes,
        .epsilon = given.epsilon,
        .means = given.means,
        .inverse_deviations = given.inverse_deviations,
    };
    const outcome = if (given.compute.bits == 32) run(f32, &problem, given.executor) else run(f64, &problem, given.executor);
    outcome catch |failure| return report(failure);
    return abi.ok;
}

pub fn report(failure: Error) abi.Status {
    return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the rows of a normalisation", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the rows of a normalisation", .{}),
    };
}

fn run(comptime T: type, problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    return runWith(T, tensor_kernels.table(T), problem, executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(comptime T: type, table: *const generic.tensor_table.Table(T), problem: *const Problem, executor: ?*const abi.Executor) Error!void {
    if (problem.x.len() == 0) return;
    const outer_rank = problem.x.rank - problem.row_axes;
    const row_parts = [2]View{ problem.out.axes(outer_rank, problem.row_axes), problem.x.axes(outer_rank, problem.row_axes) };
    const outer_parts = [2]View{ problem.out.axes(0, outer_rank), problem.x.axes(0, outer_rank) };
    var job: Job(T) = .{
        .table = table,
        .problem = problem,
        .rows = .of(.{ &outer_parts[0], &outer_parts[1] }),
        .row = .of(.{ &row_parts[0], &row_parts[1] }),
        .row_count = outer_parts[0].len(),
        .row_len = row_parts[0].len(),
    };
    job.rows.sort();
    job.rows.coalesce();
    job.row.coalesce();
    // Rows are numbered as they are walked.
    std.debug.assert(problem.means == null or outer_rank <= 1);
    for (0..2) |k| job.is_ready[k] = job.row.isDense(k) and row_parts[k].storage.is(T);

    // Scale, shift, and a row for each piece where `out` cannot hold it.
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(job.row_count, 4 * threads);
    // Rows of a block start in different sets of the cache; parameters have room to begin anywhere in a cache line.
    const padded_len = std.mem.alignForward(usize, job.row_len, 64) + block_rows;
    job.is_blocked = !job.is_ready[0] and job.row.rank == 1 and job.rows.rank > 0 and
        @abs(job.rows.innerStride(0)) < @abs(job.row.innerStride(0));
    const is_softmax = problem.operation == .softmax or problem.operation == .log_softmax;
    if (job.is_blocked and is_softmax and job.rows.innerStride(0) == 1 and job.rows.innerStride(1) == 1 and
        problem.x.storage.is(T) and problem.out.storage.is(T))
    {
        const columns: normalize_columns.Job(T) = .{
            .table = table,
            .is_logarithmic = problem.operation == .log_softmax,
            .out = &problem.out,
            .x = &problem.x,
            .lines = &job.rows,
            .row = &job.row,
        };
        return columns.start(executor);
    }
    const rows_each: usize = if (job.is_blocked) block_rows else 1;
    const buffer_count = 2 + if (job.is_ready[0]) 0 else pieces * rows_each;
    const needs_buffer = problem.scale != null or !job.is_ready[0];
    const buffer: ?workspace.Buffer = if (needs_buffer) try workspace.acquire(buffer_count * padded_len * @sizeOf(T)) else null;
    defer if (buffer) |held| workspace.release(held);
    if (buffer) |held| {
        const values = held.slice(T, 0, buffer_count * padded_len);
        // Whole vectors of a row are written where cache lines begin, and so are parameters to lie that they are multiplied by.
        const lead = if (job.is_ready[0]) problem.out.address / @sizeOf(T) % (64 / @sizeOf(T)) else 0;
        if (problem.scale) |*scale| job.scale = job.readParameter(scale, values[lead..][0..job.row_len]);
        if (problem.shift) |*shift| job.shift = job.readParameter(shift, values[padded_len + lead ..][0..job.row_len]);
        job.row_buffers = values[2 * padded_len ..];
        job.buffer_len = padded_len;
    }
    job.pieces = pieces;
    const out_bytes = job.row_count * job.row_len * @sizeOf(T);
    job.streams = job.is_ready[0] and job.row_len * @sizeOf(T) >= streamed_row_bytes and out_bytes >= kernels.info().caches.streamedBytes();
    job.is_far = job.is_ready[0] and 2 * out_bytes > kernels.info().caches.level2_bytes;
    try parallel.run(executor, pieces, Job(T), &job);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const Problem,
        /// View 0 is `out`, view 1 is x.
        rows: Space,
        row: Space,
        row_count: usize,
        row_len: usize,
        /// Whether the rows of a view consist of adjacent values of type T.
        is_ready: [2]bool = .{ false, false },
        scale: ?[*]const T = null,
        shift: ?[*]const T = null,
        row_buffers: []T = &.{},
        buffer_len: usize = 0,
        pieces: usize = 1,
        /// Whether several rows pass through the buffer together.
        is_blocked: bool = false,
        /// Whether results are more than the caches keep and bypass them.
        streams: bool = false,
        /// Whether rows and results are more than the second cache keeps.
        is_far: bool = false,

        const Self = @This();

        fn readParameter(job: *const Self, view: *const View, target: []T) [*]const T {
            const space = strided.Space(1).of(.{view});
            var walk = space.walk(0, 0);
            strided.readElements(T, job.table, view, &walk, target.len, target.ptr);
            return target.ptr;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const first = piece * job.row_count / job.pieces;
                const last = (piece + 1) * job.row_count / job.pieces;
                if (job.is_blocked) {
                    job.normalizeBlocks(piece, first, last);
                    continue;
                }
                var row = first;
                while (row < last) row += job.normalizeRows(piece, row, last);
            }
            if (job.streams) generic.stream_store.finish();
        }

        /// The place of a row among those of a statistic.
        fn statistic(all: ?*anyopaque, row: usize) ?[*]T {
            const values: [*]T = @ptrCast(@alignCast(all orelse return null));
            return values + row;
        }

        /// As many rows from `first` on as need no buffer and are equally far apart, or one through its buffer. Returns their number.
        fn normalizeRows(job: *const Self, piece: usize, first: usize, last: usize) usize {
            const out = &job.problem.out;
            const x = &job.problem.x;
            const needs_no_buffer = job.is_ready[0] and job.is_ready[1];
            const inner = job.rows.innerLen();
            const count = if (needs_no_buffer) @min(last - first, inner - first % inner) else 1;
            const target: [*]T = if (job.is_ready[0])
                @ptrFromInt(strided.addressAt(out, job.rows.offset(0, first)))
            else
                job.row_buffers[piece * job.buffer_len ..].ptr;
            var source: [*]const T = target;
            if (job.is_ready[1]) {
                source = @ptrFromInt(strided.addressAt(x, job.rows.offset(1, first)));
            } else {
                var walk = job.row.walk(1, 0);
                walk.start += job.rows.offset(1, first);
                strided.readElements(T, job.table, x, &walk, job.row_len, target);
            }
            job.table.row(&.{
                .operation = job.problem.operation,
                .count = count,
                .x = source,
                .out = target,
                .x_step = job.rows.innerStride(1),
                .out_step = job.rows.innerStride(0),
                .len = job.row_len,
                .scale = job.scale,
                .shift = job.shift,
                .epsilon = job.problem.epsilon,
                .means = statistic(job.problem.means, first),
                .inverse_deviations = statistic(job.problem.inverse_deviations, first),
                .streams = job.streams,
                .is_far = job.is_far,
            });
            if (!job.is_ready[0]) {
                var walk = job.row.walk(0, 0);
                walk.start += job.rows.offset(0, first);
                strided.writeElements(T, job.table, out, &walk, job.row_len, target);
            }
            return count;
        }

        fn normalizeBlocks(job: *const Self, piece: usize, first: usize, last: usize) void {
            const inner = job.rows.innerLen();
            const buffer = job.row_buffers.ptr + piece * block_rows * job.buffer_len;
            var row = first;
            while (row < last) {
                const count = @min(block_rows, last - row, inner - row % inner);
                job.readBlock(row, count, buffer);
                for (0..count) |i| {
                    const values = buffer + i * job.buffer_len;
                    job.table.row(&.{
                        .operation = job.problem.operation,
                        .x = values,
                        .out = values,
                        .len = job.row_len,
                        .scale = job.scale,
                        .shift = job.shift,
                        .epsilon = job.problem.epsilon,
                        .means = statistic(job.problem.means, row + i),
                        .inverse_deviations = statistic(job.problem.inverse_deviations, row + i),
                    });
                }
                job.writeBlock(row, count, buffer);
                row += count;
            }
        }

        fn readBlock(job: *const Self, row: usize, count: usize, buffer: [*]T) void {
            const x = &job.problem.x;
            const base = job.rows.offset(1, row);
            var line: [block_rows]T = undefined;
            for (0..job.row_len) |place| {
                job.table.load(&.{
                    .storage = x.storage,
                    .address = strided.addressAt(x, base + @as(isize, @intCast(place)) * job.row.innerStride(1)),
                    .step = job.rows.innerStride(1),
                    .len = count,
                    .target = &line,
                });
                for (0..count) |i| buffer[i * job.buffer_len + place] = line[i];
            }
        }

        fn writeBlock(job: *const Self, row: usize, count: usize, buffer: [*]const T) void {
            const out = &job.problem.out;
            const base = job.rows.offset(0, row);
            var line: [block_rows]T = undefined;
            for (0..job.row_len) |place| {
                for (0..count) |i| line[i] = buffer[i * job.buffer_len + place];
                job.table.store(&.{
                    .storage = out.storage,
                    .address = strided.addressAt(out, base + @as(isize, @intCast(place)) * job.row.innerStride(0)),
                    .step = job.rows.innerStride(0),
                    .len = count,
                    .source = &line,
                });
            }
        }
    };
}

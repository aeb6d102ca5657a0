//! Softmax and log-softmax where neighbours in memory belong to different rows: blocks of a few positions of many neighbouring rows are read as
//! they lie (see normalize.zig). Each block has maxima and sums of powers of its own; what they come to is known before the values are computed
//! once more and written. Blocks do not depend on the number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");

const Operation = generic.elementwise_kernel.Operation;
const Fold = generic.reduce_kernel.Fold;

/// Largest number of neighbours in a block: a page of float32, so that memory is read in streams.
const block_columns = 1024;
/// Number of positions in a block: it stays in the second cache between its maximum and its sum.
const block_places = 32;
/// Neighbours that are joined by one piece of work.
const joined_columns = 256;

pub const Error = error{OutOfMemory} || parallel.Error;

/// What is normalised: `lines` are the rows of the tensor, `row` is one of them; view 0 is `out`, view 1 is x. Elements are of type T, and
/// neighbouring lines adjacent in both views.
pub fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        is_logarithmic: bool,
        out: *const strided.View,
        x: *const strided.View,
        lines: *const strided.Space(2),
        row: *const strided.Space(2),
        /// For each block of positions and each line: the largest value and the sum of powers. Those of the first block end up as what holds for the
        /// whole line: the largest value, and the factor or the logarithm of the sum.
        largest: []T = &.{},
        sums: []T = &.{},

        const Self = @This();

        pub fn start(job: *const Self, executor: ?*const abi.Executor) Error!void {
            const count = job.blocksDown() * job.lines.len();
            const buffer = try workspace.acquire(2 * count * @sizeOf(T));
            defer workspace.release(buffer);
            var started = job.*;
            started.largest = buffer.slice(T, 0, count);
            started.sums = buffer.slice(T, count * @sizeOf(T), count);
            const blocks = job.lines.len() / job.lines.innerLen() * pieces(job.lines.innerLen(), block_columns) * job.blocksDown();
            const summing: Summing(T) = .{ .job = &started };
            try parallel.run(executor, blocks, Summing(T), &summing);
            const joining: Joining(T) = .{ .job = &started };
            try parallel.run(executor, pieces(job.lines.len(), joined_columns), Joining(T), &joining);
            const out_bytes = job.lines.len() * job.row.innerLen() * @sizeOf(T);
            const finishing: Finishing(T) = .{ .job = &started, .streams = out_bytes >= kernels.info().caches.streamedBytes() };
            try parallel.run(executor, blocks, Finishing(T), &finishing);
        }

        fn blocksDown(job: *const Self) usize {
            return pieces(job.row.innerLen(), block_places);
        }

        fn pieces(len: usize, each: usize) usize {
            return (len + each - 1) / each;
        }

        const Block = struct { line: usize, width: usize, down: usize, place: usize, places: usize };

        /// Blocks that lie one behind the other in memory are neighbours: first along the lines, then down the positions.
        fn blockOf(job: *const Self, item: usize) Block {
            const width = job.lines.innerLen();
            const across = pieces(width, block_columns);
            const down = item / across % job.blocksDown();
            const column = item % across * block_columns;
            const place = down * block_places;
            return .{
                .line = item / across / job.blocksDown() * width + column,
                .width = @min(block_columns, width - column),
                .down = down,
                .place = place,
                .places = @min(block_places, job.row.innerLen() - place),
            };
        }

        fn at(job: *const Self, comptime k: usize, block: Block) [*]T {
            const view = if (k == 0) job.out else job.x;
            return @ptrFromInt(strided.addressAt(view, job.lines.offset(k, block.line) + @as(isize, @intCast(block.place)) * job.row.innerStride(k)));
        }

        fn fold(job: *const Self, kind: Fold, ptr: [*]const T, step: isize, rows: usize, width: usize, target: [*]T) void {
            job.table.fold_rows(&.{
                .fold = kind,
                .ptr = ptr,
                .step = step,
                .rows = rows,
                .width = width,
                .target = target,
                .continues = false,
            });
        }

        /// out = operation(a, b), of which functions read only the first.
        fn apply(job: *const Self, operation: Operation, a: [*]const T, b: [*]const T, out: [*]T, width: usize) void {
            const all = std.math.maxInt(usize);
            const none: generic.elementwise_kernel.Input(T) = .{ .ptr = b, .mask = 0 };
            job.table.elementwise(&.{
                .operation = operation,
                .inputs = .{ .{ .ptr = a, .mask = all }, .{ .ptr = b, .mask = all }, none, none },
                .out = @ptrCast(out),
                .len = width,
                .alpha = 0,
            });
        }
    };
}

/// Each item is a block: the largest value and the sum of powers of its part of every line.
fn Summing(comptime T: type) type {
    return struct {
        job: *const Job(T),

        pub fn run(self: *const @This(), begin: usize, end: usize) void {
            const job = self.job;
            for (begin..end) |item| {
                const block = job.blockOf(item);
                const slot = block.down * job.lines.len() + block.line;
                const next: ?Job(T).Block = if (item + 1 < end) job.blockOf(item + 1) else null;
                job.table.columns(&.{
                    .step = .sum,
                    .x = job.at(1, block),
                    .x_step = job.row.innerStride(1),
                    .rows = block.places,
                    .width = block.width,
                    .shift = job.largest[slot..].ptr,
                    .factor = job.sums[slot..].ptr,
                    .next = if (next) |following| (if (following.places == block.places and following.width == block.width) job.at(1, following) else null) else null,
                });
            }
        }
    };
}

/// Each item joins the blocks of some neighbouring lines, in their order.
fn Joining(comptime T: type) type {
    return struct {
        job: *const Job(T),

        pub fn run(self: *const @This(), begin: usize, end: usize) void {
            for (begin..end) |item| {
                const first = item * joined_columns;
                self.join(first, @min(joined_columns, self.job.lines.len() - first));
            }
        }

        fn join(self: *const @This(), first: usize, width: usize) void {
            const job = self.job;
            const lines = job.lines.len();
            const blocks = job.blocksDown();
            var largest: [joined_columns]T align(64) = undefined;
            job.fold(.maximum, job.largest[first..].ptr, @intCast(lines), blocks, width, &largest);
            for (0..blocks) |block| {
                const own = job.largest[block * lines + first ..].ptr;
                const sums = job.sums[block * lines + first ..].ptr;
                job.apply(.subtract, own, &largest, own, width);
                job.apply(.exp, own, own, own, width);
                job.apply(.multiply, sums, own, sums, width);
            }
            // Sums are joined in pairs, then pairs of pairs, so that the error grows with the logarithm of the number of blocks.
            var distance: usize = 1;
            while (distance < blocks) : (distance *= 2) {
                var block: usize = 0;
                while (block + distance < blocks) : (block += 2 * distance) {
                    const target = job.sums[block * lines + first ..].ptr;
                    job.apply(.add, target, job.sums[(block + distance) * lines + first ..].ptr, target, width);
                }
            }
            const total = job.sums[first..].ptr;
            job.apply(if (job.is_logarithmic) .log else .reciprocal, total, total, total, width);
            @memcpy(job.largest[first..][0..width], largest[0..width]);
        }
    };
}

/// Each item writes a block.
fn Finishing(comptime T: type) type {
    return struct {
        job: *const Job(T),
        /// Whether results are more than the caches keep and bypass them.
        streams: bool,

        pub fn run(self: *const @This(), begin: usize, end: usize) void {
            const job = self.job;
            for (begin..end) |item| {
                const block = job.blockOf(item);
                job.table.columns(&.{
                    .step = if (job.is_logarithmic) .log_softmax else .softmax,
                    .x = job.at(1, block),
                    .x_step = job.row.innerStride(1),
                    .rows = block.places,
                    .width = block.width,
                    .shift = job.largest[block.line..].ptr,
                    .factor = job.sums[block.line..].ptr,
                    .out = job.at(0, block),
                    .out_step = job.row.innerStride(0),
                    .streams = self.streams,
                });
            }
            if (self.streams) generic.stream_store.finish();
        }
    };
}

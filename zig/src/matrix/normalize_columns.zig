//! Softmax and log-softmax where neighbours in memory belong to different rows: tiles of neighbours are normalised together, one place of their
//! rows after the other, so that memory is read as it lies (see normalize.zig).

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const reduce_rows = @import("reduce_rows.zig");
const strided = @import("strided.zig");

const Operation = generic.elementwise_kernel.Operation;

/// Neighbours of a tile at most: a leaf stays in the second cache, and rows of a page of memory are read whole.
const tile_columns = 1024;
/// Neighbours of a tile at least, where there are several threads: long enough that calls do not count.
const least_columns = 256;
/// Places whose powers are summed one after another; the sums are joined pairwise.
const leaf_rows = 32;

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
        /// Neighbours of a tile; results do not depend on it.
        tile_width: usize = tile_columns,

        const Self = @This();
        const Tile = [tile_columns]T;

        pub fn start(job: *const Self, executor: ?*const abi.Executor) parallel.Error!void {
            var started = job.*;
            const threads = parallel.threadCount(executor);
            const shared = std.mem.alignForward(usize, (job.lines.innerLen() + threads - 1) / threads, 64);
            started.tile_width = std.math.clamp(shared, least_columns, tile_columns);
            try parallel.run(executor, started.lines.len() / started.lines.innerLen() * started.tilesAcross(), Self, &started);
        }

        fn tilesAcross(job: *const Self) usize {
            return (job.lines.innerLen() + job.tile_width - 1) / job.tile_width;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const width = job.lines.innerLen();
            const across = job.tilesAcross();
            var cascade: reduce_rows.Cascade(T) = .{ .table = job.table, .fold = .sum, .width = 0 };
            for (begin..end) |item| {
                const column = item % across * job.tile_width;
                job.normalizeTile(&cascade, item / across * width + column, @min(job.tile_width, width - column));
            }
        }

        fn at(job: *const Self, comptime k: usize, base: isize, place: usize) [*]T {
            const view = if (k == 0) job.out else job.x;
            return @ptrFromInt(strided.addressAt(view, base + @as(isize, @intCast(place)) * job.row.innerStride(k)));
        }

        fn normalizeTile(job: *const Self, cascade: *reduce_rows.Cascade(T), first: usize, width: usize) void {
            const places = job.row.innerLen();
            const x = job.lines.offset(1, first);
            const out = job.lines.offset(0, first);
            var largest: Tile align(64) = undefined;
            job.fold(.maximum, job.at(1, x, 0), job.row.innerStride(1), places, width, &largest);
            var powers: [leaf_rows]Tile align(64) = undefined;
            cascade.width = width;
            cascade.count = 0;
            var place: usize = 0;
            while (place < places) {
                const rows = @min(leaf_rows, places - place);
                for (0..rows) |i| {
                    const target = job.at(0, out, place + i);
                    job.apply(.subtract, job.at(1, x, place + i), &largest, target, width);
                    job.apply(.exp, target, target, if (job.is_logarithmic) &powers[i] else target, width);
                }
                if (job.is_logarithmic) {
                    job.fold(.sum, &powers[0], tile_columns, rows, width, cascade.next());
                } else {
                    job.fold(.sum, job.at(0, out, place), job.row.innerStride(0), rows, width, cascade.next());
                }
                cascade.push();
                place += rows;
            }
            const total = cascade.total();
            job.apply(if (job.is_logarithmic) .log else .reciprocal, total, total, total, width);
            for (0..places) |i| {
                const target = job.at(0, out, i);
                job.apply(if (job.is_logarithmic) .subtract else .multiply, target, total, target, width);
            }
        }

        fn fold(job: *const Self, kind: generic.reduce_kernel.Fold, ptr: [*]const T, step: isize, rows: usize, width: usize, target: [*]T) void {
            job.table.fold_rows(&.{
                .fold = kind,
                .ptr = ptr,
                .step = step,
                .rows = rows,
                .width = width,
                .shift = target,
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

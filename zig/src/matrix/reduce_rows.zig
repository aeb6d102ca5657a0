//! Reductions where neighbouring results are neighbours in memory: tiles of columns are folded row by row (see reduce.zig).

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const reduce = @import("reduce.zig");
const strided = @import("strided.zig");
const workspace = @import("workspace.zig");

const kernel = generic.reduce_kernel;

/// Columns of a tile: a page of float32, so that rows are read as streams; the results of a leaf stay in the first cache.
const tile_columns = 1024;
/// Rows that are folded one after another; their results are joined pairwise.
const leaf_rows = 32;
/// Rows of a segment, the piece of work along the reduced axes.
const segment_rows = 64 * leaf_rows;
/// Levels of joining within a segment, and over as many segments as memory can hold.
const levels = 24;
/// Rows that pass through the buffer together, where they are not adjacent values of the type that is computed in.
const buffered_rows = 4;

pub fn run(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const reduce.Problem,
    kept: *const reduce.Kept,
    reduced: *const reduce.Reduced,
    executor: ?*const abi.Executor,
) reduce.Error!void {
    const rows = reduced.len();
    const segments = @max(1, (rows + segment_rows - 1) / segment_rows);
    const width = kept.innerLen();
    const buffer: ?workspace.Buffer = if (segments == 1) null else try workspace.acquire(segments * kept.len() * @sizeOf(T));
    defer if (buffer) |held| workspace.release(held);
    const tiles = (width + tile_columns - 1) / tile_columns * (kept.len() / width);
    const job: Tiles(T) = .{
        .table = table,
        .problem = problem,
        .kept = kept,
        .reduced = reduced,
        .rows = rows,
        .segments = segments,
        .width = width,
        .is_ready = kept.innerStride(0) == 1 and problem.x.storage.is(T),
        .partials = if (buffer) |held| held.slice(T, 0, segments * kept.len()).ptr else null,
    };
    try parallel.run(executor, tiles * segments, Tiles(T), &job);
    if (segments == 1) return;
    const joining: Joining(T) = .{ .tiles = &job };
    try parallel.run(executor, tiles, Joining(T), &joining);
}

/// The rows of results of `count` leaves, joined as the digits of a binary counter carry.
fn Cascade(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        fold: kernel.Fold,
        width: usize,
        count: usize = 0,
        partials: [levels][tile_columns]T align(64) = undefined,

        const Self = @This();

        /// Where the next leaf is to be written.
        pub fn next(self: *Self) [*]T {
            return &self.partials[@ctz(~self.count)];
        }

        /// The leaf at `next` is complete.
        pub fn push(self: *Self) void {
            const level: usize = @ctz(~self.count);
            for (0..level) |lower| self.join(&self.partials[lower], &self.partials[level]);
            self.count += 1;
        }

        /// target = join(earlier, target)
        fn join(self: *const Self, earlier: [*]const T, target: [*]T) void {
            const none: generic.elementwise_kernel.Input(T) = .{ .ptr = target, .mask = 0 };
            const all = std.math.maxInt(usize);
            self.table.elementwise(&.{
                .operation = self.fold.joint(),
                .inputs = .{ .{ .ptr = earlier, .mask = all }, .{ .ptr = target, .mask = all }, none, none },
                .out = @ptrCast(target),
                .len = self.width,
                .alpha = 0,
            });
        }

        pub fn total(self: *Self) [*]T {
            if (self.count == 0) {
                for (self.partials[0][0..self.width]) |*value| value.* = kernel.identity(T, self.fold);
                return &self.partials[0];
            }
            const lowest: usize = @ctz(self.count);
            for (lowest + 1..levels) |level| {
                if (self.count >> @intCast(level) & 1 == 1) self.join(&self.partials[level], &self.partials[lowest]);
            }
            return &self.partials[lowest];
        }
    };
}

/// Each item folds one segment of the rows for one tile of columns.
fn Tiles(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const reduce.Problem,
        kept: *const reduce.Kept,
        reduced: *const reduce.Reduced,
        rows: usize,
        segments: usize,
        width: usize,
        /// Whether the values of a row are adjacent and of type T.
        is_ready: bool,
        /// Results of each segment, in the order of the kept space.
        partials: ?[*]T,

        const Self = @This();

        /// First flat index in the kept space, and columns.
        const Span = struct { first: usize, len: usize };

        fn spanOf(job: *const Self, tile: usize) Span {
            const tiles_across = (job.width + tile_columns - 1) / tile_columns;
            const column = tile % tiles_across * tile_columns;
            return .{ .first = tile / tiles_across * job.width + column, .len = @min(tile_columns, job.width - column) };
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            var cascade: Cascade(T) = .{ .table = job.table, .fold = job.problem.fold, .width = 0 };
            for (begin..end) |item| {
                const span = job.spanOf(item / job.segments);
                const segment = item % job.segments;
                cascade.width = span.len;
                cascade.count = 0;
                job.foldSegment(&cascade, span, segment);
                const total = cascade.total();
                if (job.partials) |partials| {
                    @memcpy(partials[segment * job.kept.len() + span.first ..][0..span.len], total[0..span.len]);
                } else {
                    job.write(span, total);
                }
            }
        }

        fn foldSegment(job: *const Self, cascade: *Cascade(T), span: Span, segment: usize) void {
            const first = segment * segment_rows;
            const last = @min(first + segment_rows, job.rows);
            const base = job.kept.offset(0, span.first);
            var shifts: [tile_columns]T align(64) = undefined;
            if (job.problem.shift) |*shift| {
                var walk = job.kept.walk(2, span.first);
                strided.readElements(T, job.table, shift, &walk, span.len, &shifts);
            }
            var row = first;
            var walk = job.reduced.walk(0, @min(first, job.rows));
            while (row < last) {
                const leaf_end = @min(row + leaf_rows, last);
                var continues = false;
                while (row < leaf_end) {
                    const count = @min(walk.runLen(), leaf_end - row);
                    job.foldRows(base + walk.start, count, span.len, &shifts, cascade.next(), continues);
                    walk.pass(count);
                    row += count;
                    continues = true;
                }
                cascade.push();
            }
        }

        fn foldRows(job: *const Self, offset: isize, rows: usize, width: usize, shifts: [*]const T, target: [*]T, continues: bool) void {
            const x = &job.problem.x;
            const step = job.reduced.innerStride(0);
            var part: kernel.Rows(T) = .{
                .fold = job.problem.fold,
                .ptr = undefined,
                .step = step,
                .rows = rows,
                .width = width,
                .shift = shifts,
                .target = target,
                .continues = continues,
            };
            if (job.is_ready) {
                part.ptr = @ptrFromInt(strided.addressAt(x, offset));
                return job.table.fold_rows(&part);
            }
            var buffer: [buffered_rows][tile_columns]T align(64) = undefined;
            part.ptr = &buffer[0];
            part.step = tile_columns;
            var row: usize = 0;
            while (row < rows) : (row += part.rows) {
                part.rows = @min(buffered_rows, rows - row);
                for (0..part.rows) |i| {
                    job.table.load(&.{
                        .storage = x.storage,
                        .address = strided.addressAt(x, offset + step * @as(isize, @intCast(row + i))),
                        .step = job.kept.innerStride(0),
                        .len = width,
                        .target = &buffer[i],
                    });
                }
                job.table.fold_rows(&part);
                part.continues = true;
            }
        }

        fn write(job: *const Self, span: Span, values: [*]T) void {
            for (values[0..span.len]) |*value| value.* = job.problem.finish(T, value.*);
            var walk = job.kept.walk(1, span.first);
            strided.writeElements(T, job.table, &job.problem.out, &walk, span.len, values);
        }
    };
}

/// Joins the segments of each tile.
fn Joining(comptime T: type) type {
    return struct {
        tiles: *const Tiles(T),

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const tiles = job.tiles;
            var cascade: Cascade(T) = .{ .table = tiles.table, .fold = tiles.problem.fold, .width = 0 };
            for (begin..end) |tile| {
                const span = tiles.spanOf(tile);
                cascade.width = span.len;
                cascade.count = 0;
                for (0..tiles.segments) |segment| {
                    const partial = tiles.partials.?[segment * tiles.kept.len() + span.first ..];
                    @memcpy(cascade.next()[0..span.len], partial[0..span.len]);
                    cascade.push();
                }
                tiles.write(span, cascade.total());
            }
        }
    };
}

//! Reductions where neighbouring results are neighbours in memory: tiles of columns are folded row by row (see reduce.zig).

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const reduce_problem = @import("reduce_problem.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");

const kernel = generic.reduce_kernel;

/// Columns of a tile: a page of float32, so that rows are read as streams; the results of a leaf stay in the first cache.
const tile_columns = 1024;
/// Rows that are folded one after another; their results are joined pairwise.
const least_leaf_rows = 32;
/// Leaves of a segment, the piece of work along the reduced axes.
const segment_leaves = 32;
/// Levels of joining within a segment.
const segment_levels = std.math.log2_int(usize, segment_leaves) + 1;
/// Over as many segments as memory can hold; so few columns at a time that all levels take 98 KiB of a stack at most: the caller's may be small.
const joining_levels = 24;
const joining_columns = 256;
/// Rows that pass through the buffer together, where they are not adjacent values of the type that is computed in.
const buffered_rows = 8;

/// `Partial` is what the problem's partial results are: values, or moments.
pub fn run(
    comptime T: type,
    comptime Partial: type,
    table: *const generic.tensor_table.Table(T),
    problem: *const reduce_problem.Problem,
    kept: *const reduce_problem.Kept,
    reduced: *const reduce_problem.Reduced,
    executor: ?*const abi.Executor,
) reduce_problem.Error!void {
    const rows = reduced.len();
    const width = kept.innerLen();
    const is_ready = kept.innerStride(0) == 1 and problem.x.storage.is(T);
    const leaf_rows = if (Partial == T and is_ready) leafRows(width, reduced.innerStride(0)) else least_leaf_rows;
    const segment_rows = segment_leaves * leaf_rows;
    const segments = @max(1, (rows + segment_rows - 1) / segment_rows);
    const buffer: ?workspace.Buffer = if (segments == 1) null else try workspace.acquire(planesOf(T, Partial) * segments * kept.len() * @sizeOf(T));
    defer if (buffer) |held| workspace.release(held);
    const tiles = (width + tile_columns - 1) / tile_columns * (kept.len() / width);
    const job: Tiles(T, Partial) = .{
        .table = table,
        .problem = problem,
        .kept = kept,
        .reduced = reduced,
        .rows = rows,
        .leaf_rows = leaf_rows,
        .segments = segments,
        .width = width,
        .is_ready = is_ready,
        .partials = if (buffer) |held| held.slice(T, 0, planesOf(T, Partial) * segments * kept.len()).ptr else null,
    };
    try parallel.run(executor, tiles * segments, Tiles(T, Partial), &job);
    if (segments == 1) return;
    const joining: Joining(T, Partial) = .{ .tiles = &job };
    try parallel.run(executor, tiles, Joining(T, Partial), &joining);
}

/// Rows that share vectors are folded in as many lanes as a run is.
fn leafRows(width: usize, step: isize) usize {
    inline for (kernel.packed_widths) |known| {
        if (width == known and step == known) return kernel.leaf_len / known;
    }
    return least_leaf_rows;
}

/// Rows of numbers that partial results are: values, or means and sums of squares.
fn planesOf(comptime T: type, comptime Partial: type) usize {
    return if (Partial == T) 1 else 2;
}

/// A row of partial results, and how many rows of x it is of.
fn Row(comptime T: type, comptime Partial: type, comptime columns: usize) type {
    return struct { planes: [planesOf(T, Partial)][columns]T align(64), count: usize };
}

/// The rows of results of `count` leaves, joined as the digits of a binary counter carry.
fn Cascade(comptime T: type, comptime Partial: type, comptime levels: usize, comptime columns: usize) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        fold: kernel.Fold,
        width: usize,
        count: usize = 0,
        partials: [levels]Joined = undefined,

        const Self = @This();
        const Joined = Row(T, Partial, columns);

        /// Where the next leaf is to be written.
        pub fn next(self: *Self) *Joined {
            return &self.partials[@ctz(~self.count)];
        }

        /// The leaf at `next` is complete.
        pub fn push(self: *Self) void {
            const level: usize = @ctz(~self.count);
            for (0..level) |lower| self.join(&self.partials[lower], &self.partials[level]);
            self.count += 1;
        }

        /// target = join(earlier, target)
        fn join(self: *const Self, earlier: *const Joined, target: *Joined) void {
            if (Partial == T) {
                const none: generic.elementwise_kernel.Input(T) = .{ .ptr = &target.planes[0], .mask = 0 };
                const all = std.math.maxInt(usize);
                self.table.elementwise(&.{
                    .operation = self.fold.joint(),
                    .inputs = .{ .{ .ptr = &earlier.planes[0], .mask = all }, .{ .ptr = &target.planes[0], .mask = all }, none, none },
                    .out = @ptrCast(&target.planes[0]),
                    .len = self.width,
                    .alpha = 0,
                });
            } else {
                self.table.join_moments(&.{
                    .earlier_mean = &earlier.planes[0],
                    .earlier_squares = &earlier.planes[1],
                    .earlier_count = earlier.count,
                    .mean = &target.planes[0],
                    .squares = &target.planes[1],
                    .count = target.count,
                    .width = self.width,
                });
            }
            target.count += earlier.count;
        }

        pub fn total(self: *Self) *Joined {
            std.debug.assert(self.count > 0);
            const lowest: usize = @ctz(self.count);
            for (lowest + 1..levels) |level| {
                if (self.count >> @intCast(level) & 1 == 1) self.join(&self.partials[level], &self.partials[lowest]);
            }
            return &self.partials[lowest];
        }
    };
}

/// Each item folds one segment of the rows for one tile of columns.
fn Tiles(comptime T: type, comptime Partial: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        problem: *const reduce_problem.Problem,
        kept: *const reduce_problem.Kept,
        reduced: *const reduce_problem.Reduced,
        rows: usize,
        leaf_rows: usize,
        segments: usize,
        width: usize,
        /// Whether the values of a row are adjacent and of type T.
        is_ready: bool,
        /// Results of each segment, in the order of the kept space.
        partials: ?[*]T,

        const Self = @This();

        const Leaves = Cascade(T, Partial, segment_levels, tile_columns);
        const Leaf = Row(T, Partial, tile_columns);

        /// First flat index in the kept space, and columns.
        const Span = struct { first: usize, len: usize };

        fn spanOf(job: *const Self, tile: usize) Span {
            const tiles_across = (job.width + tile_columns - 1) / tile_columns;
            const column = tile % tiles_across * tile_columns;
            return .{ .first = tile / tiles_across * job.width + column, .len = @min(tile_columns, job.width - column) };
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            var cascade: Leaves = .{ .table = job.table, .fold = job.problem.fold, .width = 0 };
            for (begin..end) |item| {
                const span = job.spanOf(item / job.segments);
                const segment = item % job.segments;
                cascade.width = span.len;
                cascade.count = 0;
                job.foldSegment(&cascade, span, segment);
                const total = cascade.total();
                if (job.partials == null) {
                    job.write(span, &total.planes[total.planes.len - 1]);
                } else for (&total.planes, 0..) |*plane, k| @memcpy(job.partialOf(k, segment, span), plane[0..span.len]);
            }
        }

        fn partialOf(job: *const Self, plane: usize, segment: usize, span: Span) []T {
            return job.partials.?[(plane * job.segments + segment) * job.kept.len() + span.first ..][0..span.len];
        }

        fn segmentRows(job: *const Self) usize {
            return segment_leaves * job.leaf_rows;
        }

        fn rowsOf(job: *const Self, segment: usize) usize {
            return @min(job.segmentRows(), job.rows - segment * job.segmentRows());
        }

        fn foldSegment(job: *const Self, cascade: *Leaves, span: Span, segment: usize) void {
            const base = job.kept.offset(0, span.first);
            var shifts: [if (Partial == T) 0 else tile_columns]T align(64) = undefined;
            if (Partial != T) {
                job.load(base + job.reduced.walk(0, 0).start, span.len, &shifts);
                for (shifts[0..span.len]) |*shift| shift.* = generic.moments_kernel.shiftOf(T, shift.*);
            }
            var row = segment * job.segmentRows();
            const last = row + job.rowsOf(segment);
            var walk = job.reduced.walk(0, row);
            while (row < last) {
                const leaf_end = @min(row + job.leaf_rows, last);
                const target = cascade.next();
                target.count = 0;
                while (row < leaf_end) {
                    const count = @min(walk.runLen(), leaf_end - row);
                    job.foldRows(base + walk.start, count, span.len, &shifts, target);
                    walk.pass(count);
                    row += count;
                }
                cascade.push();
            }
        }

        fn foldRows(job: *const Self, offset: isize, rows: usize, width: usize, shifts: [*]const T, target: *Leaf) void {
            const step = job.reduced.innerStride(0);
            if (job.is_ready) return job.foldReady(@ptrFromInt(strided.addressAt(&job.problem.x, offset)), step, rows, width, shifts, target);
            var buffer: [buffered_rows][tile_columns]T align(64) = undefined;
            var row: usize = 0;
            while (row < rows) : (row += buffered_rows) {
                const count = @min(buffered_rows, rows - row);
                for (0..count) |i| job.load(offset + step * @as(isize, @intCast(row + i)), width, &buffer[i]);
                job.foldReady(&buffer[0], tile_columns, count, width, shifts, target);
            }
        }

        /// Adds rows of adjacent values of type T to what `target` is of.
        fn foldReady(job: *const Self, ptr: [*]const T, step: isize, rows: usize, width: usize, shifts: [*]const T, target: *Leaf) void {
            if (Partial == T) {
                job.table.fold_rows(&.{
                    .fold = job.problem.fold,
                    .ptr = ptr,
                    .step = step,
                    .rows = rows,
                    .width = width,
                    .target = &target.planes[0],
                    .continues = target.count > 0,
                });
            } else {
                job.table.moments_rows(&.{
                    .ptr = ptr,
                    .step = step,
                    .rows = rows,
                    .width = width,
                    .shift = shifts,
                    .mean = &target.planes[0],
                    .squares = &target.planes[1],
                    .count = target.count,
                });
            }
            target.count += rows;
        }

        /// Part of a row of x.
        fn load(job: *const Self, offset: isize, width: usize, target: [*]T) void {
            job.table.load(&.{
                .storage = job.problem.x.storage,
                .address = strided.addressAt(&job.problem.x, offset),
                .step = job.kept.innerStride(0),
                .len = width,
                .target = target,
            });
        }

        /// The last plane of a row of results: values, or sums of squares.
        fn write(job: *const Self, span: Span, plane: [*]T) void {
            const values = plane[0..span.len];
            for (values) |*value| {
                value.* = job.problem.finish(T, value.*);
                job.problem.watch(T, value.*);
            }
            var walk = job.kept.walk(1, span.first);
            strided.writeElements(T, job.table, &job.problem.out, &walk, span.len, values.ptr);
        }
    };
}

/// Joins the segments of each tile.
fn Joining(comptime T: type, comptime Partial: type) type {
    return struct {
        tiles: *const Tiles(T, Partial),

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const tiles = job.tiles;
            var cascade: Cascade(T, Partial, joining_levels, joining_columns) = .{ .table = tiles.table, .fold = tiles.problem.fold, .width = 0 };
            for (begin..end) |tile| {
                const all = tiles.spanOf(tile);
                var column: usize = 0;
                while (column < all.len) : (column += joining_columns) {
                    const span: @TypeOf(all) = .{ .first = all.first + column, .len = @min(joining_columns, all.len - column) };
                    cascade.width = span.len;
                    cascade.count = 0;
                    for (0..tiles.segments) |segment| {
                        const row = cascade.next();
                        for (&row.planes, 0..) |*plane, k| @memcpy(plane[0..span.len], tiles.partialOf(k, segment, span));
                        row.count = tiles.rowsOf(segment);
                        cascade.push();
                    }
                    const total = cascade.total();
                    tiles.write(span, &total.planes[total.planes.len - 1]);
                }
            }
        }
    };
}

//! The first index of the largest or smallest value over the last axes of tensors with any strides: by runs where those hold the adjacent
//! elements, else by neighbouring columns. Arguments were validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const reduce_problem = @import("reduce_problem.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");

const kernel = generic.reduce_kernel;
const View = strided.View;

/// Columns that are searched together: values and indices stay in the first cache.
const tile_columns = 1024;
/// Rows of a piece of work: the first rows of each hold most of the values that are better than all before them, and cost the most.
const segment_rows = 1024;
/// Rows that pass through the buffer together, where they are not adjacent values of the type that is computed in.
const buffered_rows = 8;

/// out = first index of the largest or smallest value, counted over the reduced axes in their order.
pub fn find(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    x: View,
    out: View,
    is_largest: bool,
    executor: ?*const abi.Executor,
) reduce_problem.Error!void {
    if (out.len() == 0) return;
    const x_kept = x.axes(0, out.rank);
    const x_reduced = x.axes(out.rank, x.rank - out.rank);
    var job: Finding(T) = .{
        .table = table,
        .x = &x,
        .out = &out,
        .kept = .of(.{ &x_kept, &out }),
        .reduced = .of(.{&x_reduced}),
        .reduced_len = x_reduced.len(),
        .is_largest = is_largest,
        .segments = undefined,
    };
    job.kept.sort();
    job.kept.coalesce();
    job.reduced.coalesce();
    const is_columns = job.kept.rank > 0 and job.reduced.rank == 1 and @abs(job.kept.innerStride(0)) < @abs(job.reduced.innerStride(0));
    if (is_columns and job.reduced_len <= std.math.maxInt(kernel.Index(T))) {
        return findInColumns(T, &job, executor);
    }
    job.segments = (job.reduced_len + reduce_problem.segment_len - 1) / reduce_problem.segment_len;
    job.is_ready = job.reduced.isDense(0) and x.storage.is(T);
    const count = job.kept.len() * job.segments;
    const buffer: ?workspace.Buffer = if (job.segments == 1) null else try workspace.acquire(count * @sizeOf(kernel.Best(T)));
    defer if (buffer) |held| workspace.release(held);
    job.partials = if (buffer) |held| held.slice(kernel.Best(T), 0, count).ptr else null;
    try parallel.run(executor, count, Finding(T), &job);
    const partials = job.partials orelse return;
    for (0..job.kept.len()) |kept_index| {
        var best = partials[kept_index * job.segments];
        for (partials[kept_index * job.segments ..][1..job.segments]) |other| best = job.better(best, other);
        job.write(kept_index, best.index);
    }
}

fn Finding(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        x: *const View,
        out: *const View,
        /// View 0 is x, view 1 `out`.
        kept: strided.Space(2),
        reduced: strided.Space(1),
        reduced_len: usize,
        is_largest: bool,
        segments: usize,
        is_ready: bool = false,
        partials: ?[*]kernel.Best(T) = null,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const partials = job.partials orelse {
                for (begin..end) |item| job.write(item, job.segmentOf(item, 0).index);
                return;
            };
            for (begin..end) |item| partials[item] = job.segmentOf(item / job.segments, item % job.segments);
        }

        fn segmentOf(job: *const Self, kept_index: usize, segment: usize) kernel.Best(T) {
            const first = segment * reduce_problem.segment_len;
            const len = @min(reduce_problem.segment_len, job.reduced_len - first);
            const base = job.kept.offset(0, kept_index);
            var best: kernel.Best(T) = undefined;
            if (job.is_ready) {
                const address = strided.addressAt(job.x, base + @as(isize, @intCast(first)));
                job.table.search(&.{ .is_largest = job.is_largest, .ptr = @ptrFromInt(address), .len = len, .found = &best });
                best.index += first;
                return best;
            }
            var buffer: [kernel.leaf_len]T align(64) = undefined;
            var walk = job.reduced.walk(0, first);
            walk.start += base;
            var done: usize = 0;
            while (done < len) : (done += kernel.leaf_len) {
                const count = @min(kernel.leaf_len, len - done);
                strided.readElements(T, job.table, job.x, &walk, count, &buffer);
                var found: kernel.Best(T) = undefined;
                job.table.search(&.{ .is_largest = job.is_largest, .ptr = &buffer, .len = count, .found = &found });
                found.index += first + done;
                best = if (done == 0) found else job.better(best, found);
            }
            return best;
        }

        /// The better of two; `first` stands before `second`.
        fn better(job: *const Self, first: kernel.Best(T), second: kernel.Best(T)) kernel.Best(T) {
            const is_better = if (job.is_largest)
                kernel.isBetter(T, 1, true, .{second.value}, .{first.value})[0]
            else
                kernel.isBetter(T, 1, false, .{second.value}, .{first.value})[0];
            return if (is_better) second else first;
        }

        fn write(job: *const Self, kept_index: usize, index: usize) void {
            const target: *i64 = @ptrFromInt(strided.addressAt(job.out, job.kept.offset(1, kept_index)));
            target.* = @intCast(index);
        }
    };
}

fn findInColumns(comptime T: type, job: *const Finding(T), executor: ?*const abi.Executor) reduce_problem.Error!void {
    const tiles = (job.kept.innerLen() + tile_columns - 1) / tile_columns;
    const count = job.kept.len() / job.kept.innerLen() * tiles;
    const segments = (job.reduced_len + segment_rows - 1) / segment_rows;
    const of_each = @sizeOf(T) + @sizeOf(kernel.Index(T));
    const buffer: ?workspace.Buffer = if (segments == 1) null else try workspace.acquire(segments * job.kept.len() * of_each);
    defer if (buffer) |held| workspace.release(held);
    var columns: Columns(T) = .{ .finding = job, .tiles = tiles, .segments = segments };
    if (buffer) |held| {
        const total = segments * job.kept.len();
        columns.best = held.slice(T, 0, total).ptr;
        columns.indices = held.slice(kernel.Index(T), total * @sizeOf(T), total).ptr;
    }
    try parallel.run(executor, count * segments, Columns(T), &columns);
    if (segments == 1) return;
    const joining: Joining(T) = .{ .columns = &columns };
    try parallel.run(executor, count, Joining(T), &joining);
}

/// Each item searches a segment of the rows of a tile of neighbouring columns.
fn Columns(comptime T: type) type {
    const Index = kernel.Index(T);
    return struct {
        finding: *const Finding(T),
        /// Along the innermost kept axis.
        tiles: usize,
        segments: usize,
        /// Of each segment, in the order of the kept space, where there are several; indices count from the segment's first row.
        best: [*]T = undefined,
        indices: [*]Index = undefined,

        const Self = @This();

        /// First flat index in the kept space, and columns.
        const Span = struct { first: usize, len: usize };

        fn spanOf(job: *const Self, tile: usize) Span {
            const width = job.finding.kept.innerLen();
            const column = tile % job.tiles * tile_columns;
            return .{ .first = tile / job.tiles * width + column, .len = @min(tile_columns, width - column) };
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| {
                const span = job.spanOf(item / job.segments);
                const segment = item % job.segments;
                var best: [tile_columns]T align(64) = undefined;
                var indices: [tile_columns]Index align(64) = undefined;
                job.search(span, segment, &best, &indices);
                if (job.segments == 1) {
                    for (indices[0..span.len], span.first..) |index, kept_index| job.finding.write(kept_index, @intCast(index));
                } else {
                    const slot = segment * job.finding.kept.len() + span.first;
                    @memcpy(job.best[slot..][0..span.len], best[0..span.len]);
                    @memcpy(job.indices[slot..][0..span.len], indices[0..span.len]);
                }
            }
        }

        fn search(job: *const Self, span: Span, segment: usize, best: [*]T, indices: [*]Index) void {
            const it = job.finding;
            const first = segment * segment_rows;
            const count = @min(segment_rows, it.reduced_len - first);
            const step = it.reduced.innerStride(0);
            const base = it.kept.offset(0, span.first) + step * @as(isize, @intCast(first));
            var rows: kernel.SearchRows(T) = .{
                .is_largest = it.is_largest,
                .ptr = undefined,
                .step = step,
                .rows = count,
                .width = span.len,
                .first = 0,
                .best = best,
                .indices = indices,
            };
            if (it.kept.innerStride(0) == 1 and it.x.storage.is(T)) {
                rows.ptr = @ptrFromInt(strided.addressAt(it.x, base));
                return it.table.search_rows(&rows);
            }
            var buffer: [buffered_rows][tile_columns]T align(64) = undefined;
            rows.ptr = &buffer[0];
            rows.step = tile_columns;
            while (rows.first < count) : (rows.first += rows.rows) {
                rows.rows = @min(buffered_rows, count - rows.first);
                for (buffer[0..rows.rows], rows.first..) |*line, row| {
                    const address = strided.addressAt(it.x, base + step * @as(isize, @intCast(row)));
                    it.table.load(&.{ .storage = it.x.storage, .address = address, .step = it.kept.innerStride(0), .len = span.len, .target = line });
                }
                it.table.search_rows(&rows);
            }
        }
    };
}

/// Each item joins the segments of a tile: which segment holds the best value is a search of its own.
fn Joining(comptime T: type) type {
    return struct {
        columns: *const Columns(T),

        pub fn run(job: *const @This(), begin: usize, end: usize) void {
            const columns = job.columns;
            const it = columns.finding;
            const kept_len = it.kept.len();
            for (begin..end) |tile| {
                const span = columns.spanOf(tile);
                var best: [tile_columns]T align(64) = undefined;
                var segments: [tile_columns]kernel.Index(T) align(64) = undefined;
                it.table.search_rows(&.{
                    .is_largest = it.is_largest,
                    .ptr = columns.best + span.first,
                    .step = @intCast(kept_len),
                    .rows = columns.segments,
                    .width = span.len,
                    .first = 0,
                    .best = &best,
                    .indices = &segments,
                });
                for (segments[0..span.len], span.first..) |index, kept_index| {
                    const segment: usize = @intCast(index);
                    const row: usize = @intCast(columns.indices[segment * kept_len + kept_index]);
                    it.write(kept_index, segment * segment_rows + row);
                }
            }
        }
    };
}

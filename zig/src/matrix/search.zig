//! The first place of the largest or smallest value over the last axes of tensors with any strides: by runs where those hold the adjacent
//! elements, else by neighbouring columns. Validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const reduce = @import("reduce.zig");
const strided = @import("strided.zig");
const workspace = @import("workspace.zig");

const kernel = generic.reduce_kernel;
const View = strided.View;

/// Columns that are searched together: values and places stay in the first cache.
const tile_columns = 1024;

/// out = first place of the largest or smallest value, counted over the reduced axes in their order.
pub fn find(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    x: View,
    out: View,
    is_largest: bool,
    executor: ?*const abi.Executor,
) reduce.Error!void {
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
    if (is_columns and job.reduced_len <= std.math.maxInt(kernel.Place(T))) {
        const tiles = (job.kept.innerLen() + tile_columns - 1) / tile_columns;
        const columns: Columns(T) = .{ .finding = &job, .tiles = tiles };
        return parallel.run(executor, job.kept.len() / job.kept.innerLen() * tiles, Columns(T), &columns);
    }
    job.segments = (job.reduced_len + reduce.segment_len - 1) / reduce.segment_len;
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
            const first = segment * reduce.segment_len;
            const len = @min(reduce.segment_len, job.reduced_len - first);
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

/// Each item searches a tile of neighbouring columns, row by row.
fn Columns(comptime T: type) type {
    return struct {
        finding: *const Finding(T),
        /// Tiles along the innermost kept axis.
        tiles: usize,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const kept = &job.finding.kept;
            for (begin..end) |item| {
                const column = item % job.tiles * tile_columns;
                const first = item / job.tiles * kept.innerLen() + column;
                job.tile(first, @min(tile_columns, kept.innerLen() - column));
            }
        }

        fn tile(job: *const Self, first: usize, width: usize) void {
            const it = job.finding;
            var best: [tile_columns]T align(64) = undefined;
            var places: [tile_columns]kernel.Place(T) align(64) = undefined;
            var line: [tile_columns]T align(64) = undefined;
            const base = it.kept.offset(0, first);
            const step = it.reduced.innerStride(0);
            const is_ready = it.kept.innerStride(0) == 1 and it.x.storage.is(T);
            var rows: kernel.SearchRows(T) = .{
                .is_largest = it.is_largest,
                .ptr = &line,
                .step = step,
                .rows = if (is_ready) it.reduced_len else 1,
                .width = width,
                .first = 0,
                .best = &best,
                .places = &places,
            };
            while (rows.first < it.reduced_len) : (rows.first += rows.rows) {
                const address = strided.addressAt(it.x, base + step * @as(isize, @intCast(rows.first)));
                if (is_ready) {
                    rows.ptr = @ptrFromInt(address);
                } else {
                    it.table.load(&.{ .storage = it.x.storage, .address = address, .step = it.kept.innerStride(0), .len = width, .target = &line });
                }
                it.table.search_rows(&rows);
            }
            for (places[0..width], first..) |place, kept_index| it.write(kept_index, @intCast(place));
        }
    };
}

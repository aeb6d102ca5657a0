//! Which values belong to which segment: values are counted for each segment and listed segment by segment, in their order.
//!
//! Threads own ranges of segments and read all rows, so that what they write does not depend on how many there are. Where rows rise from value to
//! value the values are in their order already, and none is listed.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const View = strided.View;
const Space = strided.Space(1);

/// Rows in a buffer.
const tile_len = 1024;
/// Rows of one piece of the check.
const piece_len = 16 << 10;
/// Parts of the segments at most: each reads all rows.
const most_parts = 16;

pub const SegmentOrder = struct {
    /// Where the values of each segment begin in the order, and behind the last where they end.
    starts: []usize,
    /// The values segment by segment; null where they are in order already.
    order: ?[]const usize,

    pub inline fn value(self: *const SegmentOrder, place: usize) usize {
        return if (self.order) |order| order[place] else place;
    }
};

/// What was found among the rows.
const Found = struct {
    first_bad: std.atomic.Value(u64) = .init(none),
    is_unsorted: std.atomic.Value(bool) = .init(false),

    const none = std.math.maxInt(u64);
};

pub const Rows = struct {
    view: *const View,
    space: *const Space,
    segments: usize,
    options: *const abi.SegmentsOptions,

    /// Reads rows [first, first + len), negative ones counted from the end.
    inline fn read(rows: *const Rows, walk: *Space.Walk, len: usize, buffer: *[tile_len]i64) []i64 {
        strided.readElements(i64, tensor_kernels.table(i64), rows.view, walk, len, buffer);
        const own = buffer[0..len];
        if (rows.options.wraps != 0) {
            const extent: i64 = @intCast(rows.segments);
            for (own) |*row| row.* = if (row.* < 0) row.* +% extent else row.*;
        }
        return own;
    }

    inline fn isGood(rows: *const Rows, row: i64) bool {
        return @as(u64, @bitCast(row)) < rows.segments or (row == rows.options.skipped and row >= 0);
    }
};

/// Fills `starts` and, where rows do not rise, `order`. Nothing may be written to the result before this has succeeded.
pub fn make(rows: *const Rows, starts: []usize, order: []usize) parallel.Error!union(enum) { made: SegmentOrder, bad_place: usize } {
    var found: Found = .{};
    const count = rows.space.len();
    if (count == 0) {
        @memset(starts, 0);
        return .{ .made = .{ .starts = starts, .order = null } };
    }
    const executor = rows.options.executor;
    const check: Check = .{ .rows = rows, .found = &found };
    try parallel.run(executor, (count + piece_len - 1) / piece_len, Check, &check);
    const bad = found.first_bad.load(.monotonic);
    if (bad != Found.none) return .{ .bad_place = bad };
    const is_listed = found.is_unsorted.load(.monotonic);
    var counter: Counter = .{
        .rows = rows,
        .parts = @min(most_parts, parallel.threadCount(executor), @max(1, rows.segments)),
        .counts = starts[1..],
        .order = null,
    };
    @memset(starts, 0);
    try parallel.run(executor, counter.parts, Counter, &counter);
    var sum: usize = 0;
    // What stands before a segment goes where its count was, so that listing its values leaves its end there.
    for (starts[1..]) |*one| {
        const own = one.*;
        one.* = sum;
        sum += own;
    }
    if (!is_listed) {
        std.mem.copyForwards(usize, starts[0..rows.segments], starts[1..]);
        starts[rows.segments] = sum;
        return .{ .made = .{ .starts = starts, .order = null } };
    }
    counter.order = order;
    try parallel.run(executor, counter.parts, Counter, &counter);
    return .{ .made = .{ .starts = starts, .order = order } };
}

const Check = struct {
    rows: *const Rows,
    found: *Found,

    pub fn run(job: *const Check, begin: usize, end: usize) void {
        const rows = job.rows;
        const last = @min(end * piece_len, rows.space.len());
        // The row before the first one, too: a piece does not begin a new order.
        var done = (begin * piece_len) -| 1;
        var walk = rows.space.walk(0, done);
        var before: i64 = std.math.minInt(i64);
        var buffer: [tile_len]i64 align(64) = undefined;
        while (done < last) {
            const own = rows.read(&walk, @min(tile_len, last - done), &buffer);
            var are_good = true;
            var rises = true;
            for (own) |row| {
                are_good = are_good and rows.isGood(row) and row != rows.options.skipped;
                rises = rises and row >= before;
                before = row;
            }
            if (!rises) job.found.is_unsorted.store(true, .monotonic);
            if (!are_good) job.look(own, done);
            done += own.len;
        }
    }

    /// Skipped rows are listed nowhere, so that the others are not in order; rows that there are not are noted.
    fn look(job: *const Check, own: []const i64, first: usize) void {
        for (own, first..) |row, place| {
            if (row >= 0 and row == job.rows.options.skipped) {
                job.found.is_unsorted.store(true, .monotonic);
            } else if (!job.rows.isGood(row)) {
                _ = job.found.first_bad.fetchMin(place, .monotonic);
                return;
            }
        }
    }
};

/// Counts the values of segments, or lists them where there is an order to fill.
const Counter = struct {
    rows: *const Rows,
    parts: usize,
    counts: []usize,
    order: ?[]usize,

    pub fn run(job: *const Counter, begin: usize, end: usize) void {
        const rows = job.rows;
        const first = begin * rows.segments / job.parts;
        const len = end * rows.segments / job.parts - first;
        const counts = job.counts[first..][0..len];
        // A row that is skipped is none of the part's.
        const skipped: u64 = if (rows.options.skipped < 0) std.math.maxInt(u64) else @intCast(rows.options.skipped);
        var buffer: [tile_len]i64 align(64) = undefined;
        var walk = rows.space.walk(0, 0);
        var done: usize = 0;
        while (done < rows.space.len()) {
            const own = rows.read(&walk, @min(tile_len, rows.space.len() - done), &buffer);
            for (own, done..) |row, place| {
                const at = @as(u64, @bitCast(row)) -% first;
                if (at >= len or @as(u64, @bitCast(row)) == skipped) continue;
                if (job.order) |order| order[counts[at]] = place;
                counts[at] += 1;
            }
            done += own.len;
        }
    }
};

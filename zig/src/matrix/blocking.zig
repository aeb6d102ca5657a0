//! How a product is laid out and cut: which dimension is the rows, and the sizes of the blocks of loops 5, 4 and 3.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("kernels.zig");
const product = @import("product.zig");
const thin = @import("thin.zig");

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;

/// A product, turned, and the way it is computed.
pub fn Plan(comptime numbers: Numbers) type {
    return struct { turned: product.Problem(numbers), route: Route };
}

/// Turns the product so that it is computed with the least work. Usually the rows become the dimension whose elements of `out` are
/// adjacent; where those are so few that most of a vector would be idle, the other one.
pub fn plan(comptime numbers: Numbers, table: *const Table(numbers), problem: *const product.Problem(numbers)) Plan(numbers) {
    // A dimension of one element has no step; give it the one that fits.
    const columns_adjacent = problem.out_column == 1 and problem.columns > 1;
    const rows_adjacent = problem.out_row == 1 and problem.rows > 1;
    const is_usually_turned = columns_adjacent or (problem.rows == 1 and !rows_adjacent);
    var usual = if (is_usually_turned) problem.transposed() else problem.*;
    if (usual.rows == 1) usual.out_row = 1;
    const way = route(numbers, table, &usual);
    // More rows than dot products take: the other way round only panels are left, which are stored element by element.
    const is_direct = way == .direct and usual.rows > generic.dots.max_columns;
    if (way != .small and !is_direct and usual.rows < 4 * table.tile_rows) {
        const other = usual.transposed();
        const other_way = route(numbers, table, &other);
        if (estimate(numbers, table, &other, other_way) < estimate(numbers, table, &usual, way)) return .{ .turned = other, .route = other_way };
    }
    return .{ .turned = usual, .route = way };
}

/// Cycles a lane, very roughly: enough to tell a good layout from a bad one. Copying an element costs about half a cycle and storing one by
/// itself two, measured on Zen 4 with 16 lanes.
fn estimate(comptime numbers: Numbers, table: *const Table(numbers), problem: *const product.Problem(numbers), way: Route) f64 {
    const rows: f64 = @floatFromInt(problem.rows);
    const columns: f64 = @floatFromInt(problem.columns);
    const depth: f64 = @floatFromInt(problem.depth);
    const lanes: f64 = @floatFromInt(table.lanes);
    const copied: f64 = switch (way) {
        .dots => @floatFromInt(thin.dotsCopied(problem)),
        .copied_left => rows * depth,
        .panels => 0.5 * depth * (rows + columns),
        .small, .direct, .combine, .scalar => 0,
    };
    const vectors = switch (way) {
        .dots, .combine => return rows * columns * depth / lanes + copied,
        .direct, .copied_left => rows / lanes + 0.25,
        .small, .panels, .scalar => @ceil(rows / lanes),
    };
    const storing: f64 = if (problem.out_row == 1) 0 else 2 * rows * columns;
    return vectors * columns * depth + copied + storing;
}

/// How a product is computed; all but `panels` read operands where they lie, or copies of small ones.
pub const Route = enum { small, direct, copied_left, scalar, dots, combine, panels };

pub fn route(comptime numbers: Numbers, table: *const Table(numbers), problem: *const product.Problem(numbers)) Route {
    if (comptime !numbers.isPlain()) return .panels;
    if (smallFits(numbers, problem)) return .small;
    const combine_fits = thin.combineFits(table, problem);
    const left_bytes = problem.rows *| problem.depth *| @sizeOf(numbers.Word());
    if (combine_fits and left_bytes > kernels.info().caches.level2_bytes / 2) return .combine;
    if (directFits(numbers, table, problem)) return .direct;
    if (isTiny(numbers, problem)) return .scalar;
    if (thin.dotsFit(problem)) return .dots;
    if (combine_fits) return .combine;
    return if (thin.copiedLeftFits(numbers, table, problem)) .copied_left else .panels;
}

/// Columns and depth of a small product at most: beyond, a register tile loads less for each multiply-add.
const small_extent = 16;

/// Whether a column of `out` is one vector.
fn smallFits(comptime numbers: Numbers, problem: *const product.Problem(numbers)) bool {
    if (!numbers.isPlain()) return false;
    return problem.rows <= generic.small.max_rows and problem.columns <= small_extent and problem.depth <= small_extent and
        problem.out_row == 1 and problem.beta == 0 and (problem.left_row == 1 or problem.rows == 1);
}

/// Packing alone takes longer than this many scalar multiply-adds (about 150 ns on Zen 4).
const tiny_multiply_adds = 256;

pub fn isTiny(comptime numbers: Numbers, problem: *const product.Problem(numbers)) bool {
    return problem.rows *| problem.columns *| problem.depth <= tiny_multiply_adds;
}

/// Whether operands are read where they lie: `left` must come from a cache all the time, because nothing arranges it for the prefetcher.
pub fn directFits(comptime numbers: Numbers, table: *const Table(numbers), problem: *const product.Problem(numbers)) bool {
    if (!numbers.isPlain()) return false;
    if (problem.left_row != 1 or problem.out_row != 1 or problem.beta != 0 or problem.rows < table.half_lanes) return false;
    const left_bytes = problem.rows *| problem.depth *| @sizeOf(numbers.Word());
    const caches = kernels.info().caches;
    // Few columns use each element of `left` once or twice: a copy gains nothing until `left` leaves L3. (Measured on Zen 4: reading in
    // place is up to twice as fast up to half of L3 and slower beyond.)
    if (problem.columns <= 3) return true;
    if (problem.columns <= 2 * table.tile_columns) return left_bytes <= caches.level3_bytes / 2;
    if (isAliased(numbers, problem.left_depth) and problem.depth > 64) return false;
    // Steps that far apart fall into few sets of L1, and no prefetcher follows them from page to page: every tile waits for L2, which shows where
    // tiles are fast. (Measured on two cores of Granite Rapids, float32, GFLOP/s packed and in place: 512 cubed 190 and 162 with one thread, 364
    // and 298 with two, 784 x 512 x 128 184 and 166, 401 and 351; with steps of 512 bytes, 784 x 128 x 1152, 174 and 193 with one.)
    const step_bytes = @abs(problem.left_depth) * @sizeOf(numbers.Word());
    if (hasFastTiles(numbers) and step_bytes >= 1024 and left_bytes > 4 * caches.level1_bytes) return false;
    return left_bytes <= caches.level2_bytes;
}

/// Steps of whole pages put all steps into the same few sets of L1, where they evict each other.
fn isAliased(comptime numbers: Numbers, stride: isize) bool {
    return @abs(stride) * @sizeOf(numbers.Word()) % 4096 == 0;
}

/// Whether a tile takes so few cycles a step that it waits for what is not in L1. Of words of several numbers nothing is known.
fn hasFastTiles(comptime numbers: Numbers) bool {
    return numbers.group == 1 and kernels.info().has_two_wide_units;
}

/// How loops 5, 4 and 3 cut the product.
pub const Blocking = struct {
    depth: usize,
    rows: usize,
    columns: usize,

    pub fn choose(comptime numbers: Numbers, table: *const Table(numbers), problem: *const product.Problem(numbers)) Blocking {
        const caches = kernels.info().caches;
        // The packed operands stream through L1: a tile prefetches what it reads next, so that long panels, which load and store `out` seldom,
        // gain more than a right panel that stays in L1. A left block takes three eighths of L2, the right block a part of L3. (Measured on
        // Zen 4: right panels of 24 and 48 KiB beside an L1 of 32.)
        const word_bytes = @sizeOf(numbers.Word());
        // Fast tiles take the right panel from L1. (Granite Rapids, GFLOP/s with at most 384 and 512 steps: float64 512 cubed with two threads 188
        // and 162, 49 x 2048 x 512 with one 75 and 63, in float32 156 and 137.)
        const step_bytes = table.tile_columns * word_bytes;
        const words_limit = if (hasFastTiles(numbers))
            std.math.clamp(caches.level1_bytes * 3 / 4 / step_bytes, 128, 384)
        else
            std.math.clamp(caches.level1_bytes * 3 / 2 / step_bytes, 128, 512);
        const depth = balanced(problem.depth, numbers.group * words_limit, @max(4 * numbers.group, numbers.stepMultiple()));
        const line_bytes = numbers.words(depth) * word_bytes;
        const rows_limit = @max(table.tile_rows, caches.level2_bytes * 3 / 8 / line_bytes);
        const columns_limit = @max(table.tile_columns, @min(caches.level3_bytes / 4, packed_bytes_limit) / line_bytes);
        return .{
            .depth = depth,
            .rows = balanced(problem.rows, rows_limit, table.tile_rows),
            .columns = balanced(problem.columns, columns_limit, table.tile_columns),
        };
    }

    fn lineBytes(blocking: Blocking, comptime numbers: Numbers) usize {
        return numbers.words(blocking.depth) * @sizeOf(numbers.Word());
    }

    /// Rows that one thread packs for itself, into its L2; null where there are too few for all threads.
    pub fn ownRows(blocking: Blocking, comptime numbers: Numbers, table: *const Table(numbers), rows: usize, thread_count: usize) ?usize {
        const room = packed_bytes_limit / thread_count / blocking.lineBytes(numbers);
        if (thread_count == 1) return blocking.rows;
        const own_limits = ownLimits(numbers);
        // As many items for every thread.
        const items = @min(own_limits.most_items, rows / (own_limits.least_panels * table.tile_rows) / thread_count) * thread_count;
        if (items == 0) return null;
        const wanted = @max(items, divideUp(rows, blocking.rows));
        const own = roundUp(divideUp(rows, wanted), table.tile_rows);
        return if (own > room) null else own;
    }

    /// Columns that one thread packs for itself, null where rows are the better cut. The rows, all of them, stay in the L2 of every thread, and each
    /// thread writes whole columns of `out`, where runs of rows touch every page of it again and again. (Measured on two cores of Zen 4, float64,
    /// 512 rows and 784 columns: 97 instead of 91 GFLOP/s.)
    pub fn ownColumns(
        blocking: Blocking,
        comptime numbers: Numbers,
        table: *const Table(numbers),
        problem: *const product.Problem(numbers),
        thread_count: usize,
    ) ?usize {
        if (thread_count == 1 or problem.columns < problem.rows) return null;
        const rows = roundUp(problem.rows, table.tile_rows);
        if (rows * blocking.lineBytes(numbers) > kernels.info().caches.level2_bytes * 5 / 8) return null;
        const panels = divideUp(problem.columns, table.tile_columns);
        const items = @min(2 * own_lines.most_items, panels / thread_count) * thread_count;
        if (items == 0) return null;
        // Beside the rows. Small items cost nothing: the rows stream past every panel anyway.
        const room = @min(packed_bytes_limit / thread_count, kernels.info().caches.level2_bytes / 8);
        const own = @min(divideUp(panels, items), room / (table.tile_columns * blocking.lineBytes(numbers)));
        return if (own == 0) null else own * table.tile_columns;
    }

    /// Rows packed at once, over several blocks of loop 3.
    pub fn slabRows(blocking: Blocking, comptime numbers: Numbers, table: *const Table(numbers), rows: usize) usize {
        const limit = packed_bytes_limit / blocking.lineBytes(numbers);
        return @min(roundUp(rows, table.tile_rows), @max(1, limit / blocking.rows) * blocking.rows);
    }
};

/// Every item reads the whole right block: a few panels at least share each of its panels. Several items a thread even out what else runs on the
/// machine.
const OwnLines = struct { least_panels: usize, most_items: usize };
const own_lines: OwnLines = .{ .least_panels = 2, .most_items = 8 };
/// (Measured on two cores of Granite Rapids, GFLOP/s beside eight items: float32 1024 cubed 372 and 358, 2048 cubed 386 and 378; without AMX bytes
/// 2048 cubed 1601 and 1484, bfloat16 2048 cubed 234 and 229.)
const own_lines_of_fast_tiles: OwnLines = .{ .least_panels = 4, .most_items = 4 };

/// An instruction that multiplies whole groups takes the shared panels as much faster.
fn ownLimits(comptime numbers: Numbers) OwnLines {
    return if (numbers.group > 1 or hasFastTiles(numbers)) own_lines_of_fast_tiles else own_lines;
}

/// Bytes of each of the two packed operands: together they stay below the memory that the workspace keeps.
pub const packed_bytes_limit = 4 << 20;

/// Cuts `total` into equal pieces of at most about `limit`, rounded up to `multiple`.
fn balanced(total: usize, limit: usize, multiple: usize) usize {
    const pieces = divideUp(total, @max(multiple, limit / multiple * multiple));
    return roundUp(divideUp(total, pieces), multiple);
}

pub fn divideUp(value: usize, by: usize) usize {
    return (value + by - 1) / by;
}

pub fn roundUp(value: usize, multiple: usize) usize {
    return divideUp(value, multiple) * multiple;
}

test "pieces are even and within the limit" {
    try std.testing.expectEqual(256, balanced(1024, 256, 4));
    try std.testing.expectEqual(344, balanced(1030, 400, 4));
    try std.testing.expectEqual(12, balanced(7, 100, 12));
}

test "threads that pack their own rows find as many items each, within the workspace" {
    const numbers: Numbers = .plain(f32);
    const table = kernels.table(f32);
    const blocks: Blocking = .{ .depth = 512, .rows = 192, .columns = 2048 };
    for ([_]usize{ 1, 2, 3, 16, 200 }) |thread_count| {
        for ([_]usize{ 1, 100, 128, 1000, 5000, 100_000 }) |rows| {
            const own = blocks.ownRows(numbers, table, rows, thread_count) orelse {
                try std.testing.expect(thread_count > 1);
                continue;
            };
            try std.testing.expect(own % table.tile_rows == 0);
            if (thread_count > 1) {
                try std.testing.expect(divideUp(rows, own) >= thread_count);
                try std.testing.expect(thread_count * own * blocks.lineBytes(numbers) <= packed_bytes_limit);
            }
        }
    }
    // All rows fit into L2, there are at least as many columns, and each thread finds a panel.
    var problem: product.Problem(numbers) = undefined;
    for ([_]usize{ 2, 3, 16, 200 }) |thread_count| {
        for ([_][2]usize{ .{ 64, 63 }, .{ 64, 64 }, .{ 100, 784 }, .{ 64, 100_000 }, .{ 1 << 20, 2 << 20 } }) |extents| {
            problem.rows, problem.columns = extents;
            const own = blocks.ownColumns(numbers, table, &problem, thread_count) orelse {
                const has_panels = divideUp(problem.columns, table.tile_columns) >= thread_count;
                const has_room = thread_count * table.tile_columns * blocks.lineBytes(numbers) <= packed_bytes_limit;
                try std.testing.expect(problem.columns < problem.rows or problem.rows > 100_000 or !has_panels or !has_room);
                continue;
            };
            try std.testing.expect(own % table.tile_columns == 0);
            try std.testing.expect(thread_count * own * blocks.lineBytes(numbers) <= packed_bytes_limit);
        }
    }
    problem.rows, problem.columns = .{ 64, 784 };
    try std.testing.expectEqual(null, blocks.ownColumns(numbers, table, &problem, 1));
    const least_rows = ownLimits(numbers).least_panels * table.tile_rows;
    try std.testing.expectEqual(null, blocks.ownRows(numbers, table, 2 * least_rows - table.tile_rows, 2));
    try std.testing.expectEqual(least_rows, blocks.ownRows(numbers, table, 2 * least_rows, 2));
}

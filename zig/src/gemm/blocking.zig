//! How a matmul is laid out and cut: which dimension is the rows, and the sizes of the blocks of loops 5, 4 and 3.

const std = @import("std");
const generic = @import("generic");
const kernels = @import("gemm_kernels.zig");
const gemm_problem = @import("gemm_problem.zig");
const skinny = @import("skinny.zig");
const roundUp = @import("../tensor/rounding.zig").roundUp;
const divideUp = @import("../tensor/rounding.zig").divideUp;

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;

/// An oriented matmul and the route that computes it.
pub fn Plan(comptime numbers: Numbers) type {
    return struct { oriented: gemm_problem.Problem(numbers), route: Route };
}

/// Transposes the problem (C^T = B^T A^T) when that is cheaper. Usually the rows become the dimension along which elements of `out`
/// are adjacent; where that dimension is so short that most of a vector would be idle, the other one is taken.
pub fn plan(comptime numbers: Numbers, table: *const Table(numbers), problem: *const gemm_problem.Problem(numbers)) Plan(numbers) {
    // The stride of a dimension of one element means nothing, so it is set to the one that fits.
    const columns_adjacent = problem.out_column == 1 and problem.n > 1;
    const rows_adjacent = problem.out_row == 1 and problem.m > 1;
    const is_usually_transposed = columns_adjacent or (problem.m == 1 and !rows_adjacent);
    var usual = if (is_usually_transposed) problem.transposed() else problem.*;
    if (usual.m == 1) usual.out_row = 1;
    const usual_route = route(numbers, table, &usual);
    // There are more rows than dot products take: transposed, only packed panels would be left, and they are stored element by element.
    const is_direct = usual_route == .direct and usual.m > generic.dots.max_columns;
    if (usual_route != .small and !is_direct and usual.m < 4 * table.tile_rows) {
        const other = usual.transposed();
        const other_route = route(numbers, table, &other);
        if (estimate(numbers, table, &other, other_route) < estimate(numbers, table, &usual, usual_route)) return .{ .oriented = other, .route = other_route };
    }
    return .{ .oriented = usual, .route = usual_route };
}

/// A rough estimate in cycles per lane, good enough to tell a good layout from a bad one. Copying an element costs about half a cycle and
/// storing a single one costs two, measured on Zen 4 with 16 lanes.
fn estimate(comptime numbers: Numbers, table: *const Table(numbers), problem: *const gemm_problem.Problem(numbers), usual_route: Route) f64 {
    const rows: f64 = @floatFromInt(problem.m);
    const columns: f64 = @floatFromInt(problem.n);
    const k: f64 = @floatFromInt(problem.k);
    const lanes: f64 = @floatFromInt(table.lanes);
    const copied: f64 = switch (usual_route) {
        .dots => @floatFromInt(skinny.dotsCopied(problem)),
        .copied_a => rows * k,
        .panels => 0.5 * k * (rows + columns),
        .small, .direct, .combine, .scalar => 0,
    };
    const vectors = switch (usual_route) {
        .dots, .combine => return rows * columns * k / lanes + copied,
        .direct, .copied_a => rows / lanes + 0.25,
        .small, .panels, .scalar => @ceil(rows / lanes),
    };
    const storing: f64 = if (problem.out_row == 1) 0 else 2 * rows * columns;
    return vectors * columns * k + copied + storing;
}

/// How a matmul is computed. Every route but `panels` reads the operands in place, or reads copies of small ones.
pub const Route = enum { small, direct, copied_a, scalar, dots, combine, panels };

pub fn route(comptime numbers: Numbers, table: *const Table(numbers), problem: *const gemm_problem.Problem(numbers)) Route {
    if (comptime !numbers.isPlain()) return .panels;
    if (smallFits(numbers, problem)) return .small;
    const combine_fits = skinny.combineFits(table, problem);
    const a_bytes = problem.m *| problem.k *| @sizeOf(numbers.Word());
    if (combine_fits and a_bytes > kernels.info().caches.level2_bytes / 2) return .combine;
    if (directFits(numbers, table, problem)) return .direct;
    if (isTiny(numbers, problem)) return .scalar;
    if (skinny.dotsFit(problem)) return .dots;
    if (combine_fits) return .combine;
    return if (skinny.copiedAFits(numbers, table, problem)) .copied_a else .panels;
}

/// Largest n and k of a small matmul. Beyond it a register tile needs fewer loads for each multiply-add.
const small_extent = 16;

/// Whether a column of `out` is one vector.
fn smallFits(comptime numbers: Numbers, problem: *const gemm_problem.Problem(numbers)) bool {
    if (!numbers.isPlain()) return false;
    return problem.m <= generic.small.max_rows and problem.n <= small_extent and problem.k <= small_extent and
        problem.out_row == 1 and problem.beta == 0 and (problem.a_row == 1 or problem.m == 1);
}

/// So many scalar multiply-adds take less time than packing alone does (about 150 ns on Zen 4).
const tiny_multiply_adds = 256;

pub fn isTiny(comptime numbers: Numbers, problem: *const gemm_problem.Problem(numbers)) bool {
    return problem.m *| problem.n *| problem.k <= tiny_multiply_adds;
}

/// Whether operands are read in place. `a` must then stay in a cache, because its order in memory does not suit the prefetcher.
pub fn directFits(comptime numbers: Numbers, table: *const Table(numbers), problem: *const gemm_problem.Problem(numbers)) bool {
    if (!numbers.isPlain()) return false;
    if (problem.a_row != 1 or problem.out_row != 1 or problem.beta != 0 or problem.m < table.half_lanes) return false;
    const a_bytes = problem.m *| problem.k *| @sizeOf(numbers.Word());
    const caches = kernels.info().caches;
    // Few columns use each element of `a` once or twice: a copy gains nothing until `a` leaves L3. (Measured on Zen 4: reading in
    // place is up to twice as fast up to half of L3 and slower beyond.)
    if (problem.n <= 3) return true;
    if (problem.n <= 2 * table.tile_columns) return a_bytes <= caches.level3_bytes / 2;
    if (isAliased(numbers, problem.a_k) and problem.k > 64) return false;
    // Steps that far apart fall into few sets of L1, and no prefetcher follows them from page to page: every tile waits for L2, which shows where
    // tiles are fast. (Measured on two cores of Granite Rapids, float32, GFLOP/s packed and in place: 512 cubed 190 and 162 with one thread, 364
    // and 298 with two, 784 x 512 x 128 184 and 166, 401 and 351; with steps of 512 bytes, 784 x 128 x 1152, 174 and 193 with one.)
    const step_bytes = @abs(problem.a_k) * @sizeOf(numbers.Word());
    if (hasFastTiles(numbers) and step_bytes >= 1024 and a_bytes > 4 * caches.level1_bytes) return false;
    return a_bytes <= caches.level2_bytes;
}

/// Steps of whole pages put all steps into the same few sets of L1, where they evict each other.
fn isAliased(comptime numbers: Numbers, stride: isize) bool {
    return @abs(stride) * @sizeOf(numbers.Word()) % 4096 == 0;
}

/// Whether a tile takes so few cycles per step that it waits for data outside L1. This was not measured for words of several numbers.
fn hasFastTiles(comptime numbers: Numbers) bool {
    return numbers.group == 1 and kernels.info().has_two_wide_units;
}

/// How loops 5, 4 and 3 cut the matmul.
pub const Blocking = struct {
    k: usize,
    m: usize,
    n: usize,

    pub fn choose(comptime numbers: Numbers, table: *const Table(numbers), problem: *const gemm_problem.Problem(numbers)) Blocking {
        const caches = kernels.info().caches;
        // The packed operands stream through L1: a tile prefetches what it reads next, so that long panels, which load and store `out` seldom,
        // gain more than a panel of `b` that stays in L1. A block of `a` takes three eighths of L2, the block of `b` a part of L3. (Measured on
        // Zen 4: panels of `b` of 24 and 48 KiB beside an L1 of 32.)
        const word_bytes = @sizeOf(numbers.Word());
        // Fast tiles take the panel of `b` from L1. (Granite Rapids, GFLOP/s with at most 384 and 512 steps: float64 512 cubed with two threads 188
        // and 162, 49 x 2048 x 512 with one 75 and 63, in float32 156 and 137.)
        const step_bytes = table.tile_columns * word_bytes;
        const words_limit = if (hasFastTiles(numbers))
            std.math.clamp(caches.level1_bytes * 3 / 4 / step_bytes, 128, 384)
        else
            std.math.clamp(caches.level1_bytes * 3 / 2 / step_bytes, 128, 512);
        const k = balanced(problem.k, numbers.group * words_limit, @max(4 * numbers.group, numbers.stepMultiple()));
        const line_bytes = numbers.words(k) * word_bytes;
        const rows_limit = @max(table.tile_rows, caches.level2_bytes * 3 / 8 / line_bytes);
        const columns_limit = @max(table.tile_columns, @min(caches.level3_bytes / 4, packed_bytes_limit) / line_bytes);
        return .{
            .k = k,
            .m = balanced(problem.m, rows_limit, table.tile_rows),
            .n = balanced(problem.n, columns_limit, table.tile_columns),
        };
    }

    fn lineBytes(blocking: Blocking, comptime numbers: Numbers) usize {
        return numbers.words(blocking.k) * @sizeOf(numbers.Word());
    }

    /// How many rows each thread packs for itself into its L2; null where there are too few rows for all threads.
    pub fn ownRows(blocking: Blocking, comptime numbers: Numbers, table: *const Table(numbers), rows: usize, thread_count: usize) ?usize {
        const room = packed_bytes_limit / thread_count / blocking.lineBytes(numbers);
        if (thread_count == 1) return blocking.m;
        const own_limits = ownLimits(numbers);
        // Every thread gets the same number of items.
        const items = @min(own_limits.most_items, rows / (own_limits.least_panels * table.tile_rows) / thread_count) * thread_count;
        if (items == 0) return null;
        const wanted = @max(items, divideUp(rows, blocking.m));
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
        problem: *const gemm_problem.Problem(numbers),
        thread_count: usize,
    ) ?usize {
        if (thread_count == 1 or problem.n < problem.m) return null;
        const rows = roundUp(problem.m, table.tile_rows);
        if (rows * blocking.lineBytes(numbers) > kernels.info().caches.level2_bytes * 5 / 8) return null;
        const panels = divideUp(problem.n, table.tile_columns);
        const items = @min(2 * own_lines.most_items, panels / thread_count) * thread_count;
        if (items == 0) return null;
        // Beside the rows. Small items cost nothing: the rows stream past every panel anyway.
        const room = @min(packed_bytes_limit / thread_count, kernels.info().caches.level2_bytes / 8);
        const own = @min(divideUp(panels, items), room / (table.tile_columns * blocking.lineBytes(numbers)));
        return if (own == 0) null else own * table.tile_columns;
    }

    /// How many rows are packed at once; loop 3 cuts them into several blocks.
    pub fn slabRows(blocking: Blocking, comptime numbers: Numbers, table: *const Table(numbers), rows: usize) usize {
        const limit = packed_bytes_limit / blocking.lineBytes(numbers);
        return @min(roundUp(rows, table.tile_rows), @max(1, limit / blocking.m) * blocking.m);
    }
};

/// Every item reads the whole block of `b`: a few panels at least share each of its panels. Several items a thread even out what else runs on the
/// machine.
const OwnLines = struct { least_panels: usize, most_items: usize };
const own_lines: OwnLines = .{ .least_panels = 2, .most_items = 8 };
/// (Measured on two cores of Granite Rapids, GFLOP/s beside eight items: float32 1024 cubed 372 and 358, 2048 cubed 386 and 378; without AMX bytes
/// 2048 cubed 1601 and 1484, bfloat16 2048 cubed 234 and 229.)
const own_lines_of_fast_tiles: OwnLines = .{ .least_panels = 4, .most_items = 4 };

/// An instruction that multiplies whole groups reads the shared panels faster by the size of a group.
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

test "pieces are even and within the limit" {
    try std.testing.expectEqual(256, balanced(1024, 256, 4));
    try std.testing.expectEqual(344, balanced(1030, 400, 4));
    try std.testing.expectEqual(12, balanced(7, 100, 12));
}

test "threads that pack their own rows get the same number of items each, within the workspace" {
    const numbers: Numbers = .plain(f32);
    const table = kernels.table(f32);
    const blocks: Blocking = .{ .k = 512, .m = 192, .n = 2048 };
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
    var problem: gemm_problem.Problem(numbers) = undefined;
    for ([_]usize{ 2, 3, 16, 200 }) |thread_count| {
        for ([_][2]usize{ .{ 64, 63 }, .{ 64, 64 }, .{ 100, 784 }, .{ 64, 100_000 }, .{ 1 << 20, 2 << 20 } }) |extents| {
            problem.m, problem.n = extents;
            const own = blocks.ownColumns(numbers, table, &problem, thread_count) orelse {
                const has_panels = divideUp(problem.n, table.tile_columns) >= thread_count;
                const has_room = thread_count * table.tile_columns * blocks.lineBytes(numbers) <= packed_bytes_limit;
                try std.testing.expect(problem.n < problem.m or problem.m > 100_000 or !has_panels or !has_room);
                continue;
            };
            try std.testing.expect(own % table.tile_columns == 0);
            try std.testing.expect(thread_count * own * blocks.lineBytes(numbers) <= packed_bytes_limit);
        }
    }
    problem.m, problem.n = .{ 64, 784 };
    try std.testing.expectEqual(null, blocks.ownColumns(numbers, table, &problem, 1));
    const least_rows = ownLimits(numbers).least_panels * table.tile_rows;
    try std.testing.expectEqual(null, blocks.ownRows(numbers, table, 2 * least_rows - table.tile_rows, 2));
    try std.testing.expectEqual(least_rows, blocks.ownRows(numbers, table, 2 * least_rows, 2));
}

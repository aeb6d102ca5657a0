//! Products of packed panels: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! Where every thread finds enough rows or columns, each packs those that it takes by itself (packed_lines.zig); else all pack the rows of a
//! slab together and then share its tiles.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const parallel = @import("parallel.zig");
const packed_lines = @import("packed_lines.zig");
const product = @import("product.zig");
const workspace = @import("workspace.zig");

const Error = product.Error;
const Numbers = generic.numbers.Numbers;
const Problem = product.Problem;
const Table = generic.table.Table;
const atConst = product.atConst;
const divideUp = blocking.divideUp;
const finish = product.finish;

pub fn multiply(
    comptime numbers: Numbers,
    problem: *const Problem(numbers),
    table: *const Table(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    const thread_count = parallel.threadCount(executor);
    const blocks: blocking.Blocking = .choose(numbers, table, problem);
    if (blocks.ownColumns(numbers, table, problem, thread_count)) |columns| {
        return packed_lines.multiply(numbers, .right, problem, table, .{ .depth = blocks.depth, .rows = problem.rows, .columns = columns }, executor);
    }
    if (blocks.ownRows(numbers, table, problem.rows, thread_count)) |rows| {
        return packed_lines.multiply(numbers, .left, problem, table, .{ .depth = blocks.depth, .rows = rows, .columns = blocks.columns }, executor);
    }
    const Word = numbers.Word();
    var slab: Slab(numbers) = .of(problem, table, &blocks);
    const slab_rows = blocks.slabRows(numbers, table, problem.rows);
    const left_len = slab.left_panel * divideUp(slab_rows, table.tile_rows);
    const right_len = slab.right_panel * divideUp(@min(blocks.columns, problem.columns), table.tile_columns);
    const buffer = try workspace.acquire((left_len + right_len) * @sizeOf(Word));
    defer workspace.release(buffer);
    slab.left = buffer.slice(Word, 0, left_len).ptr;
    slab.right = buffer.slice(Word, left_len * @sizeOf(Word), right_len).ptr;
    // Loop 5: columns, so that the packed right block stays in L3.
    while (slab.column < problem.columns) : (slab.column += blocks.columns) {
        slab.columns = @min(blocks.columns, problem.columns - slab.column);
        slab.step = 0;
        // Loop 4: depth.
        while (slab.step < problem.depth) : (slab.step += blocks.depth) {
            slab.depth = @min(blocks.depth, problem.depth - slab.step);
            slab.row = 0;
            while (slab.row < problem.rows) : (slab.row += slab_rows) {
                slab.rows = @min(slab_rows, problem.rows - slab.row);
                try slab.run(executor);
            }
        }
    }
}

/// Panels that one thread packs side by side, and the steps of the depth it takes of each in turn. Measured on Zen 4 with a left operand that
/// comes from memory.
pub const panels_together = 8;
const steps_together = 16;

/// One trip through loops 5 and 4: packs, then computes its tiles.
pub fn Slab(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        left_panel: usize,
        right_panel: usize,
        left: [*]numbers.Word() = undefined,
        right: [*]numbers.Word() = undefined,
        block_rows: usize,
        row: usize = 0,
        rows: usize = 0,
        column: usize = 0,
        columns: usize = 0,
        step: usize = 0,
        depth: usize = 0,
        /// Of `left`: what the thread at work packs next.
        ahead: ?generic.table.Ahead(numbers) = null,

        const Self = @This();

        pub fn of(problem: *const Problem(numbers), table: *const Table(numbers), blocks: *const blocking.Blocking) Self {
            return .{
                .problem = problem,
                .table = table,
                .left_panel = generic.pack.panelWords(numbers, table.tile_rows, blocks.depth, table.lanes),
                .right_panel = generic.pack.panelWords(numbers, table.tile_columns, blocks.depth, table.lanes),
                .block_rows = blocks.rows,
            };
        }

        /// Whether nothing of the depth comes after it.
        fn isLast(slab: *const Self) bool {
            return slab.step + slab.depth == slab.problem.depth;
        }

        fn run(slab: *const Self, executor: ?*const abi.Executor) Error!void {
            // The right block is packed with the first rows.
            const packing: Packing = .of(slab, true, slab.row == 0);
            try parallel.run(executor, packing.left_panels + packing.right_panels, Packing, &packing);

            const tiles: Tiles = .choose(slab, parallel.threadCount(executor));
            try parallel.run(executor, tiles.row_blocks * tiles.column_groups, Tiles, &tiles);
        }

        pub const Packing = struct {
            slab: *const Self,
            left_panels: usize,
            right_panels: usize,

            pub fn of(slab: *const Self, has_left: bool, has_right: bool) Packing {
                return .{
                    .slab = slab,
                    .left_panels = if (has_left) divideUp(slab.rows, slab.table.tile_rows) else 0,
                    .right_panels = if (has_right) divideUp(slab.columns, slab.table.tile_columns) else 0,
                };
            }

            pub fn run(packing: *const Packing, begin: usize, end: usize) void {
                var item = begin;
                while (item < end) {
                    const is_left = item < packing.left_panels;
                    const last = if (is_left) @min(end, packing.left_panels) else end;
                    const count = @min(last - item, panels_together);
                    if (is_left) packing.pack(.left, item, count) else packing.pack(.right, item - packing.left_panels, count);
                    item += count;
                }
            }

            fn pack(packing: *const Packing, comptime side: generic.numbers.Side, first_panel: usize, count: usize) void {
                const slab = packing.slab;
                const it = slab.problem;
                const is_left = side == .left;
                const across, const along = if (is_left) .{ it.left_row, it.left_depth } else .{ it.right_column, it.right_depth };
                const lines = if (is_left) slab.table.tile_rows else slab.table.tile_columns;
                const first_line, const all_lines = if (is_left) .{ slab.row, slab.rows } else .{ slab.column, slab.columns };
                const has_sums = comptime numbers.hasLineSums() and side == .right;
                // Neighbouring panels together make longer runs of memory out of adjacent lines: the prefetcher follows a few steps at a time.
                const steps = if (across == 1 and !has_sums) comptime blocking.roundUp(steps_together, numbers.stepMultiple()) else slab.depth;
                var step: usize = 0;
                while (step < slab.depth) : (step += steps) {
                    for (first_panel..first_panel + count) |panel| {
                        const line = panel * lines;
                        const target = if (is_left) slab.left + panel * slab.left_panel else slab.right + panel * slab.right_panel;
                        const routine = if (is_left) slab.table.pack_left else slab.table.pack_right;
                        routine(&.{
                            .source = .{
                                .ptr = atConst(numbers.Source, if (is_left) it.left else it.right, first_line + line, across, slab.step + step, along),
                                .across = across,
                                .along = along,
                            },
                            .width = @min(lines, all_lines - line),
                            .depth = @min(steps, slab.depth - step),
                            .target = target + numbers.words(step) * lines,
                        });
                    }
                }
            }
        };

        pub const Tiles = struct {
            slab: *const Self,
            row_blocks: usize,
            column_groups: usize,
            columns_per_group: usize,

            pub fn choose(slab: *const Self, thread_count: usize) Tiles {
                const row_blocks = divideUp(slab.rows, slab.block_rows);
                const panels = divideUp(slab.columns, slab.table.tile_columns);
                // Eight pieces a thread keep the wait for the last one short.
                const wanted = if (thread_count == 1) 1 else divideUp(8 * thread_count, row_blocks);
                // Finished sums are taken up again while they are in L1.
                const column_bytes = @min(slab.block_rows, slab.rows) * slab.table.tile_columns * @sizeOf(numbers.Sum);
                const most = if (slab.isLast() and slab.problem.finish != null) @max(1, kernels.info().caches.level1_bytes / 2 / column_bytes) else panels;
                const panels_per_group = @min(divideUp(panels, @min(wanted, panels)), most);
                return .{
                    .slab = slab,
                    .row_blocks = row_blocks,
                    .column_groups = divideUp(panels, panels_per_group),
                    .columns_per_group = panels_per_group * slab.table.tile_columns,
                };
            }

            /// Loop 3: blocks of rows whose packed panels stay in L2.
            pub fn run(tiles: *const Tiles, begin: usize, end: usize) void {
                for (begin..end) |item| tiles.compute(item / tiles.column_groups, item % tiles.column_groups);
            }

            /// The share of a group of columns in what is packed next.
            fn aheadOf(tiles: *const Tiles, row_block: usize, group: usize) ?generic.table.Ahead(numbers) {
                const ahead = tiles.slab.ahead orelse return null;
                if (row_block > 0) return null;
                const share = divideUp(ahead.depth, tiles.column_groups);
                const first = @min(ahead.depth, group * share);
                return .{
                    .ptr = generic.micro_kernel.offsetConst(numbers.Source, ahead.ptr, @as(isize, @intCast(first)) * ahead.along),
                    .lines = ahead.lines,
                    .along = ahead.along,
                    .depth = @min(share, ahead.depth - first),
                };
            }

            fn compute(tiles: *const Tiles, row_block: usize, group: usize) void {
                const slab = tiles.slab;
                const it = slab.problem;
                const row = row_block * slab.block_rows;
                const rows = @min(slab.block_rows, slab.rows - row);
                const column = group * tiles.columns_per_group;
                const columns = @min(tiles.columns_per_group, slab.columns - column);
                slab.table.block(&.{
                    .depth = numbers.words(slab.depth),
                    .rows = rows,
                    .columns = columns,
                    .left = slab.left + row / slab.table.tile_rows * slab.left_panel,
                    .left_panel = slab.left_panel,
                    .right = slab.right + column / slab.table.tile_columns * slab.right_panel,
                    .right_panel = slab.right_panel,
                    .out = it.outAt(slab.row + row, slab.column + column),
                    .out_row = it.out_row,
                    .out_column = it.out_column,
                    .alpha = it.alpha,
                    .beta = if (slab.step == 0) it.beta else 1,
                    .ahead = tiles.aheadOf(row_block, group),
                });
                if (slab.isLast()) {
                    finish(numbers, it, .{ .row = slab.row + row, .rows = rows, .column = slab.column + column, .columns = columns });
                }
            }
        };
    };
}

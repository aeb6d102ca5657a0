//! A slab of a matrix multiplication: the part of `out` and of k that one round of packing serves, as threads share it.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const gemm_problem = @import("gemm_problem.zig");
const kernels = @import("gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const rounding = @import("../tensor/rounding.zig");

const Error = gemm_problem.Error;
const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;
const Table = generic.table.Table;
const atConst = gemm_problem.atConst;
const divideUp = rounding.divideUp;
const finish = gemm_problem.finish;

/// Panels that one thread packs side by side, and the steps along k it takes of each in turn. Measured on Zen 4 with an operand `a` that
/// comes from memory.
pub const panels_together = 8;

const steps_together = 16;

/// One iteration of loops 5 and 4: its panels are packed, then its tiles are computed.
pub fn Slab(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        a_panel: usize,
        b_panel: usize,
        a: [*]numbers.Word() = undefined,
        b: [*]numbers.Word() = undefined,
        block_rows: usize,
        row: usize = 0,
        m: usize = 0,
        column: usize = 0,
        n: usize = 0,
        step: usize = 0,
        k: usize = 0,
        /// The part of `a` that the current thread packs next; memory is asked for it ahead of time.
        ahead: ?generic.table.Ahead(numbers) = null,

        const Self = @This();

        pub fn of(problem: *const Problem(numbers), table: *const Table(numbers), blocks: *const blocking.Blocking) Self {
            return .{
                .problem = problem,
                .table = table,
                .a_panel = generic.pack.panelWords(numbers, table.tile_rows, blocks.k, table.lanes),
                .b_panel = generic.pack.panelWords(numbers, table.tile_columns, blocks.k, table.lanes),
                .block_rows = blocks.m,
            };
        }

        /// Whether this slab ends k, so that its sums are complete.
        fn isLast(slab: *const Self) bool {
            return slab.step + slab.k == slab.problem.k;
        }

        pub fn run(slab: *const Self, executor: ?*const abi.Executor) Error!void {
            // The block of `b` is packed together with the first rows.
            const packing: Packing = .of(slab, true, slab.row == 0);
            try parallel.run(executor, packing.a_panels + packing.b_panels, Packing, &packing);

            const tiles: Tiles = .choose(slab, parallel.threadCount(executor));
            try parallel.run(executor, tiles.row_blocks * tiles.column_groups, Tiles, &tiles);
        }

        pub const Packing = struct {
            slab: *const Self,
            a_panels: usize,
            b_panels: usize,

            pub fn of(slab: *const Self, has_a: bool, has_b: bool) Packing {
                return .{
                    .slab = slab,
                    .a_panels = if (has_a) divideUp(slab.m, slab.table.tile_rows) else 0,
                    .b_panels = if (has_b) divideUp(slab.n, slab.table.tile_columns) else 0,
                };
            }

            pub fn run(packing: *const Packing, begin: usize, end: usize) void {
                var item = begin;
                while (item < end) {
                    const is_a = item < packing.a_panels;
                    const last = if (is_a) @min(end, packing.a_panels) else end;
                    const count = @min(last - item, panels_together);
                    if (is_a) packing.pack(.a, item, count) else packing.pack(.b, item - packing.a_panels, count);
                    item += count;
                }
            }

            fn pack(packing: *const Packing, comptime side: generic.numbers.Side, first_panel: usize, count: usize) void {
                const slab = packing.slab;
                const it = slab.problem;
                const is_a = side == .a;
                const across, const along = if (is_a) .{ it.a_row, it.a_k } else .{ it.b_column, it.b_k };
                const lines = if (is_a) slab.table.tile_rows else slab.table.tile_columns;
                const first_line, const all_lines = if (is_a) .{ slab.row, slab.m } else .{ slab.column, slab.n };
                const has_sums = comptime numbers.hasLineSums() and side == .b;
                // Neighbouring panels together make longer runs of memory out of adjacent lines: the prefetcher follows a few steps at a time.
                const steps = if (across == 1 and !has_sums) comptime rounding.roundUp(steps_together, numbers.stepMultiple()) else slab.k;
                var step: usize = 0;
                while (step < slab.k) : (step += steps) {
                    for (first_panel..first_panel + count) |panel| {
                        const line = panel * lines;
                        const target = if (is_a) slab.a + panel * slab.a_panel else slab.b + panel * slab.b_panel;
                        const routine = if (is_a) slab.table.pack_a else slab.table.pack_b;
                        routine(&.{
                            .source = .{
                                .ptr = atConst(numbers.Source, if (is_a) it.a else it.b, first_line + line, across, slab.step + step, along),
                                .across = across,
                                .along = along,
                            },
                            .width = @min(lines, all_lines - line),
                            .k = @min(steps, slab.k - step),
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
                const row_blocks = divideUp(slab.m, slab.block_rows);
                const panels = divideUp(slab.n, slab.table.tile_columns);
                // Eight pieces for each thread keep the wait for the last one short.
                const wanted = if (thread_count == 1) 1 else divideUp(8 * thread_count, row_blocks);
                // `finish` reads the finished sums while they are still in L1.
                const column_bytes = @min(slab.block_rows, slab.m) * slab.table.tile_columns * @sizeOf(numbers.Sum);
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

            /// The part of the next packing for which this group of columns asks memory ahead of time.
            fn aheadOf(tiles: *const Tiles, row_block: usize, group: usize) ?generic.table.Ahead(numbers) {
                const ahead = tiles.slab.ahead orelse return null;
                if (row_block > 0) return null;
                const share = divideUp(ahead.k, tiles.column_groups);
                const first = @min(ahead.k, group * share);
                return .{
                    .ptr = generic.pointers.offsetConst(numbers.Source, ahead.ptr, @as(isize, @intCast(first)) * ahead.along),
                    .lines = ahead.lines,
                    .along = ahead.along,
                    .k = @min(share, ahead.k - first),
                };
            }

            fn compute(tiles: *const Tiles, row_block: usize, group: usize) void {
                const slab = tiles.slab;
                const it = slab.problem;
                const row = row_block * slab.block_rows;
                const rows = @min(slab.block_rows, slab.m - row);
                const column = group * tiles.columns_per_group;
                const columns = @min(tiles.columns_per_group, slab.n - column);
                slab.table.block(&.{
                    .k = numbers.words(slab.k),
                    .m = rows,
                    .n = columns,
                    .a = slab.a + row / slab.table.tile_rows * slab.a_panel,
                    .a_panel = slab.a_panel,
                    .b = slab.b + column / slab.table.tile_columns * slab.b_panel,
                    .b_panel = slab.b_panel,
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

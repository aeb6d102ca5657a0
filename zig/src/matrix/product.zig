//! The driver: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! Works on addresses and strides that were checked before (matmul.zig, dense.zig). Threads share packed panels and write disjoint
//! tiles of `out`; the depth is never split among threads, so any number of threads gives the same bits.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const workspace = @import("workspace.zig");
const parallel = @import("parallel.zig");
const thin = @import("thin.zig");

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;
const divideUp = blocking.divideUp;
const roundUp = blocking.roundUp;

pub fn Problem(comptime numbers: Numbers) type {
    return struct {
        rows: usize,
        columns: usize,
        depth: usize,
        left: [*]const numbers.Source,
        left_row: isize,
        left_depth: isize,
        right: [*]const numbers.Source,
        right_depth: isize,
        right_column: isize,
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Whether rows and columns were exchanged an odd number of times.
        is_transposed: bool = false,
        /// Runs once over each finished part of `out`.
        finish: ?Finish = null,

        pub const Finish = struct {
            context: *const anyopaque,
            run: *const fn (context: *const anyopaque, problem: *const Self, region: Region) void,
        };

        const Self = @This();

        /// The same product with rows and columns exchanged: out^T = right^T left^T.
        pub fn transposed(self: Self) Self {
            return .{
                .rows = self.columns,
                .columns = self.rows,
                .depth = self.depth,
                .left = self.right,
                .left_row = self.right_column,
                .left_depth = self.right_depth,
                .right = self.left,
                .right_depth = self.left_depth,
                .right_column = self.left_row,
                .out = self.out,
                .out_row = self.out_column,
                .out_column = self.out_row,
                .alpha = self.alpha,
                .beta = self.beta,
                .is_transposed = !self.is_transposed,
                .finish = self.finish,
            };
        }

        pub fn leftAt(self: *const Self, row: usize, step: usize) [*]const numbers.Source {
            return atConst(numbers.Source, self.left, row, self.left_row, step, self.left_depth);
        }

        pub fn outAt(self: *const Self, row: usize, column: usize) [*]numbers.Sum {
            return at(numbers.Sum, self.out, row, self.out_row, column, self.out_column);
        }
    };
}

pub const Error = error{OutOfMemory} || parallel.Error;

/// A rectangle of `out`.
pub const Region = struct { row: usize, rows: usize, column: usize, columns: usize };

fn at(comptime T: type, ptr: [*]T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]T {
    return generic.micro_kernel.offset(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

fn atConst(comptime T: type, ptr: [*]const T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]const T {
    return generic.micro_kernel.offsetConst(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

/// Operands and result in the type they are computed in.
pub fn multiply(comptime T: type, problem: *const Problem(.plain(T)), executor: ?*const abi.Executor) Error!void {
    return multiplyWith(.plain(T), kernels.table(T), problem, executor);
}

/// With the routines of a given instruction set, which this CPU must have.
pub fn multiplyWith(
    comptime numbers: Numbers,
    table: *const Table(numbers),
    problem: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    if (problem.rows == 0 or problem.columns == 0) return;
    const turned = blocking.orient(numbers, table, problem);
    if (turned.depth == 0) return scale(numbers, &turned);
    if (comptime numbers.isPlain()) {
        switch (blocking.route(numbers, table, &turned)) {
            .direct => return multiplyDirect(numbers, &turned, table, executor),
            .copied_left => return thin.multiplyCopiedLeft(numbers, &turned, table, executor),
            .scalar => return multiplyScalar(numbers, &turned),
            .dots => return thin.multiplyDots(numbers, &turned, table, executor),
            .combine => return thin.multiplyCombine(numbers, &turned, table, executor),
            .panels => {},
        }
    }
    return multiplyPacked(numbers, &turned, table, executor);
}

/// No depth: out = beta * out.
fn scale(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.columns) |column| {
        for (0..problem.rows) |row| {
            const target = problem.outAt(row, column);
            target[0] = if (problem.beta == 0) 0 else generic.micro_kernel.multiply(numbers.Sum, problem.beta, target[0]);
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.rows, .column = 0, .columns = problem.columns });
}

pub fn finish(comptime numbers: Numbers, problem: *const Problem(numbers), region: Region) void {
    if (problem.finish) |step| step.run(step.context, problem, region);
}

/// Plain loops: where a panel would hold mostly padding.
fn multiplyScalar(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.columns) |column| {
        for (0..problem.rows) |row| {
            var sum: numbers.Sum = 0;
            for (0..problem.depth) |step| {
                sum += atConst(numbers.Source, problem.left, row, problem.left_row, step, problem.left_depth)[0] *
                    atConst(numbers.Source, problem.right, step, problem.right_depth, column, problem.right_column)[0];
            }
            const target = problem.outAt(row, column);
            target[0] = problem.alpha * sum + if (problem.beta == 0) 0 else problem.beta * target[0];
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.rows, .column = 0, .columns = problem.columns });
}

pub fn multiplyDirect(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) Error!void {
    const grid: DirectGrid(numbers) = .choose(problem, table, parallel.threadCount(executor));
    try parallel.run(executor, grid.row_items * grid.column_items, DirectGrid(numbers), &grid);
}

/// A product read in place, cut into rectangles of `out`.
fn DirectGrid(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        item_rows: usize,
        item_columns: usize,
        row_items: usize,
        column_items: usize,

        const Self = @This();

        fn choose(problem: *const Problem(numbers), table: *const Table(numbers), thread_count: usize) Self {
            // Four pieces a thread even out what else runs on the machine.
            const wanted = if (thread_count == 1) 1 else 4 * thread_count;
            const row_pieces = std.math.clamp(problem.rows / table.tile_rows, 1, wanted);
            const item_rows = roundUp(divideUp(problem.rows, row_pieces), table.tile_rows);
            const column_pieces = std.math.clamp(problem.columns / table.tile_columns, 1, divideUp(wanted, row_pieces));
            const item_columns = roundUp(divideUp(problem.columns, column_pieces), table.tile_columns);
            const row_items = divideUp(problem.rows, item_rows);
            // `direct` asks for half a vector of rows: fewer at the end go with the item before.
            const rest = problem.rows - (row_items - 1) * item_rows;
            return .{
                .problem = problem,
                .table = table,
                .item_rows = item_rows,
                .item_columns = item_columns,
                .row_items = if (row_items > 1 and rest < table.half_lanes) row_items - 1 else row_items,
                .column_items = divideUp(problem.columns, item_columns),
            };
        }

        pub fn run(grid: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| grid.compute(item / grid.column_items, item % grid.column_items);
        }

        fn compute(grid: *const Self, row_item: usize, column_item: usize) void {
            const it = grid.problem;
            const row = row_item * grid.item_rows;
            const rows = if (row_item + 1 == grid.row_items) it.rows - row else grid.item_rows;
            const column = column_item * grid.item_columns;
            const columns = @min(grid.item_columns, it.columns - column);
            grid.table.direct(&.{
                .depth = it.depth,
                .rows = rows,
                .columns = columns,
                .left = it.left + row,
                .left_step = it.left_depth,
                .right = atConst(numbers.Source, it.right, 0, it.right_depth, column, it.right_column),
                .right_step = it.right_depth,
                .right_column = it.right_column,
                .out = it.outAt(row, column),
                .out_column = it.out_column,
                .alpha = it.alpha,
            });
            finish(numbers, it, .{ .row = row, .rows = rows, .column = column, .columns = columns });
        }
    };
}

fn multiplyPacked(
    comptime numbers: Numbers,
    problem: *const Problem(numbers),
    table: *const Table(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    const blocks: blocking.Blocking = .choose(numbers, table, problem);
    const left_panel = generic.pack.panelWords(numbers, table.tile_rows, blocks.depth, table.lanes);
    const right_panel = generic.pack.panelWords(numbers, table.tile_columns, blocks.depth, table.lanes);
    const slab_rows = blocks.slabRows(numbers, table, problem.rows);
    const left_len = left_panel * divideUp(slab_rows, table.tile_rows);
    const right_len = right_panel * divideUp(@min(blocks.columns, problem.columns), table.tile_columns);
    const buffer = try workspace.acquire((left_len + right_len) * @sizeOf(numbers.Word()));
    defer workspace.release(buffer);

    var slab: Slab(numbers) = .{
        .problem = problem,
        .table = table,
        .left_panel = left_panel,
        .right_panel = right_panel,
        .left = buffer.slice(numbers.Word(), 0, left_len).ptr,
        .right = buffer.slice(numbers.Word(), left_len * @sizeOf(numbers.Word()), right_len).ptr,
        .block_rows = blocks.rows,
    };
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
const panels_together = 8;
const steps_together = 16;

/// One trip through loops 5 and 4: packs, then computes its tiles.
fn Slab(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        left_panel: usize,
        right_panel: usize,
        left: [*]numbers.Word(),
        right: [*]numbers.Word(),
        block_rows: usize,
        row: usize = 0,
        rows: usize = 0,
        column: usize = 0,
        columns: usize = 0,
        step: usize = 0,
        depth: usize = 0,

        const Self = @This();

        fn run(slab: *const Self, executor: ?*const abi.Executor) Error!void {
            const packing: Packing = .{
                .slab = slab,
                .left_panels = divideUp(slab.rows, slab.table.tile_rows),
                // The right block was packed with the first rows.
                .right_panels = if (slab.row == 0) divideUp(slab.columns, slab.table.tile_columns) else 0,
            };
            try parallel.run(executor, packing.left_panels + packing.right_panels, Packing, &packing);

            const tiles: Tiles = .choose(slab, parallel.threadCount(executor));
            try parallel.run(executor, tiles.row_blocks * tiles.column_groups, Tiles, &tiles);
        }

        const Packing = struct {
            slab: *const Self,
            left_panels: usize,
            right_panels: usize,

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
                const steps = if (across == 1 and !has_sums) steps_together else slab.depth;
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

        const Tiles = struct {
            slab: *const Self,
            row_blocks: usize,
            column_groups: usize,
            columns_per_group: usize,

            fn choose(slab: *const Self, thread_count: usize) Tiles {
                const row_blocks = divideUp(slab.rows, slab.block_rows);
                const panels = divideUp(slab.columns, slab.table.tile_columns);
                // Eight pieces a thread keep the wait for the last one short.
                const wanted = if (thread_count == 1) 1 else divideUp(8 * thread_count, row_blocks);
                const panels_per_group = divideUp(panels, @min(wanted, panels));
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
                });
                if (slab.step + slab.depth == it.depth) {
                    finish(numbers, it, .{ .row = slab.row + row, .rows = rows, .column = slab.column + column, .columns = columns });
                }
            }
        };
    };
}

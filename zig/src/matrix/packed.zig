//! Products of packed panels: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! The right block is packed by all threads together. Where every thread finds enough rows, each packs those that it takes by itself, into
//! its own L2; else all pack the rows of a slab together and then share its tiles.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const parallel = @import("parallel.zig");
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
    const Word = numbers.Word();
    const thread_count = parallel.threadCount(executor);
    const blocks: blocking.Blocking = .choose(numbers, table, problem);
    const own_rows = blocks.ownRows(numbers, table, problem.rows, thread_count);
    const left_panel = generic.pack.panelWords(numbers, table.tile_rows, blocks.depth, table.lanes);
    const right_panel = generic.pack.panelWords(numbers, table.tile_columns, blocks.depth, table.lanes);
    const slab_rows = own_rows orelse blocks.slabRows(numbers, table, problem.rows);
    const left_len = left_panel * divideUp(slab_rows, table.tile_rows);
    const left_count = if (own_rows == null) 1 else thread_count;
    const right_len = right_panel * divideUp(@min(blocks.columns, problem.columns), table.tile_columns);
    const buffer = try workspace.acquire((left_count * left_len + right_len) * @sizeOf(Word));
    defer workspace.release(buffer);

    var slab: Slab(numbers) = .{
        .problem = problem,
        .table = table,
        .left_panel = left_panel,
        .right_panel = right_panel,
        .left = buffer.slice(Word, 0, left_count * left_len).ptr,
        .right = buffer.slice(Word, left_count * left_len * @sizeOf(Word), right_len).ptr,
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
            if (own_rows) |item_rows| {
                slab.rows = problem.rows;
                var shared: OwnShared = .{ .places = .{ .count = thread_count } };
                const job: Slab(numbers).OwnRows = .choose(&slab, item_rows, left_len, thread_count, &shared);
                try parallel.run(executor, divideUp(problem.rows, item_rows), Slab(numbers).OwnRows, &job);
                continue;
            }
            while (slab.row < problem.rows) : (slab.row += slab_rows) {
                slab.rows = @min(slab_rows, problem.rows - slab.row);
                try slab.run(executor);
            }
        }
    }
}

/// What threads that pack their own rows share.
const OwnShared = struct {
    places: Places,
    /// Pieces of the right block that somebody packs, and those that are packed.
    taken: std.atomic.Value(usize) = .init(0),
    packed_pieces: std.atomic.Value(usize) = .init(0),
};

/// Places in the workspace, one for each thread that can be at work.
const Places = struct {
    count: usize,
    taken: [limit / 64]std.atomic.Value(u64) = @splat(.init(0)),

    /// Threads of an executor at most.
    const limit = 1024;

    fn take(places: *Places) usize {
        while (true) {
            for (&places.taken, 0..) |*group, index| {
                if (index * 64 >= places.count) break;
                var seen = group.load(.monotonic);
                while (~seen != 0) {
                    const bit: u6 = @intCast(@ctz(~seen));
                    const place = index * 64 + bit;
                    if (place >= places.count) break;
                    seen = group.cmpxchgWeak(seen, seen | @as(u64, 1) << bit, .acquire, .monotonic) orelse return place;
                }
            }
            std.atomic.spinLoopHint();
        }
    }

    fn give(places: *Places, place: usize) void {
        _ = places.taken[place / 64].fetchAnd(~(@as(u64, 1) << @intCast(place % 64)), .release);
    }
};

/// Panels that one thread packs side by side, and the steps of the depth it takes of each in turn. Measured on Zen 4 with a left operand that
/// comes from memory.
const panels_together = 8;
const steps_together = 16;

/// Looks at a counter, about 10 us, before a thread that waits for another lets others run: packing a piece takes less.
const spins_before_yield = 300;

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

        /// Items are runs of rows. Whoever comes first packs the right block, and others help: nobody waits for a thread that has not come.
        const OwnRows = struct {
            slab: *const Self,
            item_rows: usize,
            left_len: usize,
            right_panels: usize,
            panels_per_piece: usize,
            shared: *OwnShared,

            fn choose(slab: *const Self, item_rows: usize, left_len: usize, thread_count: usize, shared: *OwnShared) OwnRows {
                const panels = divideUp(slab.columns, slab.table.tile_columns);
                return .{
                    .slab = slab,
                    .item_rows = item_rows,
                    .left_len = left_len,
                    .right_panels = panels,
                    .panels_per_piece = if (thread_count == 1) panels else @min(panels_together, divideUp(panels, 4 * thread_count)),
                    .shared = shared,
                };
            }

            pub fn run(job: *const OwnRows, begin: usize, end: usize) void {
                job.packRight();
                const place = job.shared.places.take();
                defer job.shared.places.give(place);
                for (begin..end) |item| {
                    var part = job.slab.*;
                    part.row = item * job.item_rows;
                    part.rows = @min(job.item_rows, part.problem.rows - part.row);
                    part.block_rows = part.rows;
                    part.left += place * job.left_len;
                    const packing: Packing = .{ .slab = &part, .left_panels = divideUp(part.rows, part.table.tile_rows), .right_panels = 0 };
                    packing.run(0, packing.left_panels);
                    const tiles: Tiles = .choose(&part, 1);
                    tiles.compute(0, 0);
                }
            }

            /// Returns when all of it is packed.
            fn packRight(job: *const OwnRows) void {
                const pieces = divideUp(job.right_panels, job.panels_per_piece);
                const packing: Packing = .{ .slab = job.slab, .left_panels = 0, .right_panels = job.right_panels };
                while (job.shared.taken.load(.monotonic) < pieces) {
                    const piece = job.shared.taken.fetchAdd(1, .monotonic);
                    if (piece >= pieces) break;
                    const first = piece * job.panels_per_piece;
                    packing.run(first, @min(first + job.panels_per_piece, job.right_panels));
                    _ = job.shared.packed_pieces.fetchAdd(1, .release);
                }
                // The rest is in the hands of threads at work.
                var waits: usize = 0;
                while (job.shared.packed_pieces.load(.acquire) < pieces) : (waits += 1) {
                    if (waits < spins_before_yield) std.atomic.spinLoopHint() else std.Thread.yield() catch {};
                }
            }
        };

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

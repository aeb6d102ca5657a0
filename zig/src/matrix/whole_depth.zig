//! Products by tile registers, whose sums take the whole depth at once.
//!
//! An item is a rectangle of `out`. Its thread packs the rows of it over the whole depth into its own L2, and the columns panel by panel, when they
//! are met: copying lines that are adjacent along the depth takes less time than fetching a packed panel from beyond L2. Threads share nothing
//! but the operands. What a narrower `out` gets is rounded while its sums are near.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const @"packed" = @import("packed.zig");
const packed_lines = @import("packed_lines.zig");
const parallel = @import("parallel.zig");
const product = @import("product.zig");
const workspace = @import("workspace.zig");

const Numbers = generic.numbers.Numbers;
const Problem = product.Problem;
const Table = generic.table.Table;
const divideUp = blocking.divideUp;
const roundUp = blocking.roundUp;

/// Rows of an item at least, where there are so many: each panel of columns is copied for all of them.
const least_rows = 64;

/// Bytes of a panel of columns that is multiplied at once: it stays in L1 while rows stream past it. (Granite Rapids, 48 KiB of L1, bfloat16, 512 rows:
/// 1024 cubed 1.83 Tops with 16 KiB, 1.71 with 32, 1.56 with 64, in a loop of C.)
fn panelBytes() usize {
    return kernels.info().caches.level1_bytes / 3;
}

/// Asks for the depth and the layout alone: the order of additions is the same for any number of threads. Numbers that are converted on the way take
/// longer to copy than each item gains.
pub fn fits(comptime numbers: Numbers, problem: *const Problem(numbers)) bool {
    const is_copied = numbers.conversion == .none and problem.right_depth == 1 and problem.depth > 0;
    return is_copied and least_rows * lineBytes(numbers, problem.depth) <= blockBytes();
}

fn lineBytes(comptime numbers: Numbers, depth: usize) usize {
    return numbers.words(depth) * @sizeOf(numbers.Word());
}

/// Packed rows, within the L2 that they share with a panel of columns and its sums.
fn blockBytes() usize {
    return kernels.info().caches.level2_bytes / 2;
}

pub fn multiply(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) product.Error!void {
    const thread_count = parallel.threadCount(executor);
    const cut: Cut = .choose(.{ problem.rows, problem.columns }, .{ table.tile_rows, table.tile_columns }, lineBytes(numbers, problem.depth), thread_count);
    const blocks: blocking.Blocking = .{ .depth = problem.depth, .rows = cut.rows, .columns = table.tile_columns };
    const slab: @"packed".Slab(numbers) = .of(problem, table, &blocks);
    const left_len = slab.left_panel * divideUp(cut.rows, table.tile_rows);
    const depth_pieces = divideUp(lineBytes(numbers, problem.depth) * table.tile_columns, panelBytes());
    const piece_depth = roundUp(divideUp(problem.depth, depth_pieces), numbers.stepMultiple());
    const right_len = 2 * numbers.words(piece_depth) * table.tile_columns;
    // A place for sums between blocks of the depth, and one for sums to be rounded.
    const part_len = roundUp(cut.rows, table.tile_rows) * table.tile_columns;
    const between_len = if (piece_depth >= problem.depth) 0 else part_len;
    // Rows that are adjacent in `out` go there from the tile registers.
    const rounded = if (problem.is_transposed) problem.rounded else null;
    const sums_len = if (problem.has_place or rounded != null) 0 else part_len;
    const place_bytes = roundUp((left_len + right_len) * @sizeOf(numbers.Word()) + (between_len + sums_len) * @sizeOf(numbers.Sum), 4096);
    const row_items = divideUp(problem.rows, cut.rows);
    const column_items = divideUp(problem.columns, cut.columns);
    const buffer = try workspace.acquire(@min(thread_count, row_items * column_items) * place_bytes);
    defer workspace.release(buffer);
    var places: packed_lines.Places = .{ .count = buffer.bytes.len / place_bytes };
    const items: Items(numbers) = .{
        .slab = &slab,
        .cut = cut,
        .column_items = column_items,
        .piece_depth = piece_depth,
        .left_len = left_len,
        .right_len = right_len,
        .between_len = between_len,
        .sums_len = sums_len,
        .rounded = rounded,
        .buffer = buffer,
        .place_bytes = place_bytes,
        .places = &places,
    };
    try parallel.run(executor, row_items * column_items, Items(numbers), &items);
}

/// Rows and columns of an item.
const Cut = struct {
    rows: usize,
    columns: usize,

    fn choose(extents: [2]usize, tile: [2]usize, line_bytes: usize, thread_count: usize) Cut {
        const rows_limit = @max(1, blockBytes() / line_bytes / tile[0]) * tile[0];
        var pieces: [2]usize = .{ divideUp(extents[0], rows_limit), 1 };
        // Rows are packed once for each piece of the columns, and the other way round: items near to squares need the least of both.
        while (pieces[0] * pieces[1] < thread_count) {
            const lengths = [2]usize{ extents[0] / pieces[0], extents[1] / pieces[1] };
            // Rows are adjacent in `out`: where items of neighbouring rows meet, every column has a cache line that two threads write to. (Granite
            // Rapids, two threads, 256 cubed in bytes: 37 us with half of the rows each, 21 us alone.)
            const side: usize = if (lengths[0] >= 2 * lengths[1]) 0 else 1;
            if (lengths[side] <= tile[side]) break;
            pieces[side] += 1;
        }
        return .{
            .rows = roundUp(divideUp(extents[0], pieces[0]), tile[0]),
            .columns = roundUp(divideUp(extents[1], pieces[1]), tile[1]),
        };
    }
};

fn Items(comptime numbers: Numbers) type {
    return struct {
        slab: *const Slab,
        cut: Cut,
        column_items: usize,
        piece_depth: usize,
        left_len: usize,
        right_len: usize,
        between_len: usize,
        sums_len: usize,
        rounded: ?generic.table.Rounded,
        buffer: workspace.Buffer,
        place_bytes: usize,
        places: *packed_lines.Places,

        const Self = @This();
        const Slab = @"packed".Slab(numbers);
        const Word = numbers.Word();

        pub fn run(items: *const Self, begin: usize, end: usize) void {
            const place = items.places.take();
            defer items.places.give(place);
            for (begin..end) |item| items.compute(item / items.column_items, item % items.column_items, place);
        }

        fn compute(items: *const Self, row_item: usize, column_item: usize, place: usize) void {
            const it = items.slab.problem;
            const table = items.slab.table;
            const first_byte = place * items.place_bytes;
            var part = items.slab.*;
            part.depth = it.depth;
            part.row = row_item * items.cut.rows;
            part.rows = @min(items.cut.rows, it.rows - part.row);
            part.left = items.buffer.slice(Word, first_byte, items.left_len).ptr;
            const right_byte = first_byte + items.left_len * @sizeOf(Word);
            part.right = items.buffer.slice(Word, right_byte, items.right_len).ptr;
            const between_byte = right_byte + items.right_len * @sizeOf(Word);
            const between = items.buffer.slice(numbers.Sum, between_byte, items.between_len).ptr;
            const packing: Slab.Packing = .of(&part, true, false);
            packing.run(0, packing.left_panels);

            var target = it.*;
            if (items.sums_len > 0) {
                target.has_place = true;
                target.out = items.buffer.slice(numbers.Sum, between_byte + items.between_len * @sizeOf(numbers.Sum), items.sums_len).ptr;
                // Sums that are adjacent in `out` stay so.
                if (it.out_row == 1) target.out_column = @intCast(roundUp(part.rows, table.tile_rows)) else target.out_row = @intCast(table.tile_columns);
            }
            part.column = column_item * items.cut.columns;
            const end = items.endOf(part.column);
            var turn: Turn = .{};
            while (part.column < end) : (part.column += table.tile_columns) {
                part.columns = @min(table.tile_columns, end - part.column);
                if (items.sums_len > 0) target.out_origin = .{ part.row, part.column };
                items.computePanel(&part, between, &target, &turn);
            }
        }

        fn computePanel(items: *const Self, whole: *const Slab, between: [*]numbers.Sum, target: *const Problem(numbers), turn: *Turn) void {
            var part = whole.*;
            const panel = part.right;
            const slot_len = numbers.words(items.piece_depth) * part.table.tile_columns;
            while (part.step < whole.depth) : (part.step += items.piece_depth) {
                part.depth = @min(items.piece_depth, whole.depth - part.step);
                part.right = panel + turn.slot * slot_len;
                if (!turn.is_packed) {
                    const packing: Slab.Packing = .of(&part, false, true);
                    packing.run(0, packing.right_panels);
                }
                const next = items.nextOf(whole, &part, panel + (1 - turn.slot) * slot_len);
                turn.* = .{ .slot = 1 - turn.slot, .is_packed = next != null };
                items.slab.table.block(&.{
                    .depth = numbers.words(part.depth),
                    .rows = part.rows,
                    .columns = part.columns,
                    .left = part.left + numbers.words(part.step) * part.table.tile_rows,
                    .left_panel = part.left_panel,
                    .right = part.right,
                    .right_panel = part.right_panel,
                    .out = if (items.rounded != null) between else target.outAt(part.row, part.column),
                    .out_row = target.out_row,
                    .out_column = target.out_column,
                    .alpha = target.alpha,
                    .beta = target.beta,
                    .between = .{ .sums = between, .is_first = part.step == 0, .is_last = part.step + part.depth == whole.depth },
                    .rounded = if (items.rounded) |out| .{
                        .ptr = generic.micro_kernel.offset(u16, out.ptr, @as(isize, @intCast(part.row)) + @as(isize, @intCast(part.column)) * out.column),
                        .column = out.column,
                    } else null,
                    .next = next,
                });
            }
            if (items.rounded != null) return;
            product.finish(numbers, target, .{ .row = part.row, .rows = part.rows, .column = part.column, .columns = part.columns });
        }

        /// The piece of columns after `part`, where it is copied as it is and is as long.
        fn nextOf(items: *const Self, whole: *const Slab, part: *const Slab, target: [*]Word) ?generic.table.Next(numbers) {
            const it = whole.problem;
            const lines = whole.table.tile_columns;
            const is_last = part.step + part.depth == whole.depth;
            const column = if (is_last) part.column + lines else part.column;
            const step = if (is_last) 0 else part.step + part.depth;
            const depth = @min(items.piece_depth, whole.depth - step);
            if (depth != part.depth or depth % numbers.stepMultiple() != 0 or column + lines > items.endOf(part.column)) return null;
            return .{ .source = product.atConst(numbers.Source, it.right, column, it.right_column, step, 1), .across = it.right_column, .target = target };
        }

        /// Columns end here for the item that has `column`.
        fn endOf(items: *const Self, column: usize) usize {
            return @min(items.slab.problem.columns, (column / items.cut.columns + 1) * items.cut.columns);
        }
    };
}

/// Pieces of columns stand in two places in turns: one is packed while the other is multiplied.
const Turn = struct { slot: usize = 0, is_packed: bool = false };

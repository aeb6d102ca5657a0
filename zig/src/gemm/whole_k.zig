//! Matmuls by tile registers, whose sums take all of k at once.
//!
//! An item is a rectangle of `out`. Its thread packs the rows of it over all of k into its own L2, and the columns panel by panel, when they
//! are met: copying lines that are adjacent along k takes less time than fetching a packed panel from beyond L2. Threads share nothing
//! but the operands. What a narrower `out` gets is rounded while its sums are near.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("gemm_kernels.zig");
const slab_of = @import("slab.zig");
const packed_lines = @import("packed_lines.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm_problem = @import("gemm_problem.zig");
const workspace = @import("../memory/workspace.zig");
const rounding = @import("../tensor/rounding.zig");

const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;
const Table = generic.table.Table;
const divideUp = rounding.divideUp;
const roundUp = rounding.roundUp;

/// Smallest number of rows of an item, where there are so many. Each panel of columns is copied once for all rows of the item.
const least_rows = 64;

/// Bytes of a panel of columns that is multiplied at once: it stays in L1 while rows stream past it. (Granite Rapids, 48 KiB of L1, bfloat16, 512 rows:
/// 1024 cubed 1.83 Tops with 16 KiB, 1.71 with 32, 1.56 with 64, in a loop of C.)
fn panelBytes() usize {
    return kernels.info().caches.level1_bytes / 3;
}

/// Asks for k and the layout alone: the order of additions is the same for any number of threads. Numbers that are converted on the way take
/// longer to copy than each item gains.
pub fn fits(comptime numbers: Numbers, problem: *const Problem(numbers)) bool {
    const is_copied = numbers.conversion == .none and problem.b_k == 1 and problem.k > 0;
    return is_copied and least_rows * lineBytes(numbers, problem.k) <= blockBytes();
}

fn lineBytes(comptime numbers: Numbers, k: usize) usize {
    return numbers.words(k) * @sizeOf(numbers.Word());
}

/// Largest size of the packed rows: they share L2 with a panel of columns and its sums.
fn blockBytes() usize {
    return kernels.info().caches.level2_bytes / 2;
}

pub fn multiply(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) gemm_problem.Error!void {
    const thread_count = parallel.threadCount(executor);
    const cut: Cut = .choose(.{ problem.m, problem.n }, .{ table.tile_rows, table.tile_columns }, lineBytes(numbers, problem.k), thread_count);
    const blocks: blocking.Blocking = .{ .k = problem.k, .m = cut.m, .n = table.tile_columns };
    const slab: slab_of.Slab(numbers) = .of(problem, table, &blocks);
    const a_len = slab.a_panel * divideUp(cut.m, table.tile_rows);
    const k_pieces = divideUp(lineBytes(numbers, problem.k) * table.tile_columns, panelBytes());
    const piece_k = roundUp(divideUp(problem.k, k_pieces), numbers.stepMultiple());
    const b_len = 2 * numbers.words(piece_k) * table.tile_columns;
    // One buffer holds sums between blocks of k, and one holds sums that are still to be rounded.
    const part_len = roundUp(cut.m, table.tile_rows) * table.tile_columns;
    const between_len = if (piece_k >= problem.k) 0 else part_len;
    // Rows that are adjacent in `out` are written there directly from the tile registers.
    const rounded = if (problem.is_transposed) problem.rounded else null;
    const sums_len = if (problem.has_out or rounded != null) 0 else part_len;
    const slot_bytes = roundUp((a_len + b_len) * @sizeOf(numbers.Word()) + (between_len + sums_len) * @sizeOf(numbers.Sum), 4096);
    const row_items = divideUp(problem.m, cut.m);
    const column_items = divideUp(problem.n, cut.n);
    const buffer = try workspace.acquire(@min(thread_count, row_items * column_items) * slot_bytes);
    defer workspace.release(buffer);
    var slots: packed_lines.Slots = .{ .count = buffer.bytes.len / slot_bytes };
    const items: Items(numbers) = .{
        .slab = &slab,
        .cut = cut,
        .column_items = column_items,
        .piece_k = piece_k,
        .a_len = a_len,
        .b_len = b_len,
        .between_len = between_len,
        .sums_len = sums_len,
        .rounded = rounded,
        .buffer = buffer,
        .slot_bytes = slot_bytes,
        .slots = &slots,
    };
    try parallel.run(executor, row_items * column_items, Items(numbers), &items);
}

/// How many rows and columns an item has.
const Cut = struct {
    m: usize,
    n: usize,

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
            .m = roundUp(divideUp(extents[0], pieces[0]), tile[0]),
            .n = roundUp(divideUp(extents[1], pieces[1]), tile[1]),
        };
    }
};

fn Items(comptime numbers: Numbers) type {
    return struct {
        slab: *const Slab,
        cut: Cut,
        column_items: usize,
        piece_k: usize,
        a_len: usize,
        b_len: usize,
        between_len: usize,
        sums_len: usize,
        rounded: ?generic.table.Rounded,
        buffer: workspace.Buffer,
        slot_bytes: usize,
        slots: *packed_lines.Slots,

        const Self = @This();
        const Slab = slab_of.Slab(numbers);
        const Word = numbers.Word();

        pub fn run(items: *const Self, begin: usize, end: usize) void {
            const slot = items.slots.take();
            defer items.slots.give(slot);
            for (begin..end) |item| items.compute(item / items.column_items, item % items.column_items, slot);
        }

        fn compute(items: *const Self, row_item: usize, column_item: usize, slot: usize) void {
            const it = items.slab.problem;
            const table = items.slab.table;
            const first_byte = slot * items.slot_bytes;
            var part = items.slab.*;
            part.k = it.k;
            part.row = row_item * items.cut.m;
            part.m = @min(items.cut.m, it.m - part.row);
            part.a = items.buffer.slice(Word, first_byte, items.a_len).ptr;
            const b_byte = first_byte + items.a_len * @sizeOf(Word);
            part.b = items.buffer.slice(Word, b_byte, items.b_len).ptr;
            const between_byte = b_byte + items.b_len * @sizeOf(Word);
            const between = items.buffer.slice(numbers.Sum, between_byte, items.between_len).ptr;
            const packing: Slab.Packing = .of(&part, true, false);
            packing.run(0, packing.a_panels);

            var target = it.*;
            if (items.sums_len > 0) {
                target.has_out = true;
                target.out = items.buffer.slice(numbers.Sum, between_byte + items.between_len * @sizeOf(numbers.Sum), items.sums_len).ptr;
                // Sums that are adjacent in `out` are kept adjacent in the buffer.
                if (it.out_row == 1) target.out_column = @intCast(roundUp(part.m, table.tile_rows)) else target.out_row = @intCast(table.tile_columns);
            }
            part.column = column_item * items.cut.n;
            const end = items.endOf(part.column);
            var iteration: Iteration = .{};
            while (part.column < end) : (part.column += table.tile_columns) {
                part.n = @min(table.tile_columns, end - part.column);
                if (items.sums_len > 0) target.out_origin = .{ part.row, part.column };
                items.computePanel(&part, between, &target, &iteration);
            }
        }

        fn computePanel(items: *const Self, whole: *const Slab, between: [*]numbers.Sum, target: *const Problem(numbers), iteration: *Iteration) void {
            var part = whole.*;
            const panel = part.b;
            const slot_len = numbers.words(items.piece_k) * part.table.tile_columns;
            while (part.step < whole.k) : (part.step += items.piece_k) {
                part.k = @min(items.piece_k, whole.k - part.step);
                part.b = panel + iteration.slot * slot_len;
                if (!iteration.is_packed) {
                    const packing: Slab.Packing = .of(&part, false, true);
                    packing.run(0, packing.b_panels);
                }
                const next = items.nextOf(whole, &part, panel + (1 - iteration.slot) * slot_len);
                iteration.* = .{ .slot = 1 - iteration.slot, .is_packed = next != null };
                items.slab.table.block(&.{
                    .k = numbers.words(part.k),
                    .m = part.m,
                    .n = part.n,
                    .a = part.a + numbers.words(part.step) * part.table.tile_rows,
                    .a_panel = part.a_panel,
                    .b = part.b,
                    .b_panel = part.b_panel,
                    .out = if (items.rounded != null) between else target.outAt(part.row, part.column),
                    .out_row = target.out_row,
                    .out_column = target.out_column,
                    .alpha = target.alpha,
                    .beta = target.beta,
                    .between = .{ .sums = between, .is_first = part.step == 0, .is_last = part.step + part.k == whole.k },
                    .rounded = if (items.rounded) |out| .{
                        .ptr = generic.pointers.offset(u16, out.ptr, @as(isize, @intCast(part.row)) + @as(isize, @intCast(part.column)) * out.column),
                        .column = out.column,
                    } else null,
                    .next = next,
                });
            }
            if (items.rounded != null) return;
            gemm_problem.finish(numbers, target, .{ .row = part.row, .rows = part.m, .column = part.column, .columns = part.n });
        }

        /// The piece of columns after `part`, if it can be copied without conversion and has the same length.
        fn nextOf(items: *const Self, whole: *const Slab, part: *const Slab, target: [*]Word) ?generic.table.Next(numbers) {
            const it = whole.problem;
            const lines = whole.table.tile_columns;
            const is_last = part.step + part.k == whole.k;
            const column = if (is_last) part.column + lines else part.column;
            const step = if (is_last) 0 else part.step + part.k;
            const k = @min(items.piece_k, whole.k - step);
            if (k != part.k or k % numbers.stepMultiple() != 0 or column + lines > items.endOf(part.column)) return null;
            return .{ .source = gemm_problem.atConst(numbers.Source, it.b, column, it.b_column, step, 1), .across = it.b_column, .target = target };
        }

        /// The column at which the item that holds `column` ends.
        fn endOf(items: *const Self, column: usize) usize {
            return @min(items.slab.problem.n, (column / items.cut.n + 1) * items.cut.n);
        }
    };
}

/// Pieces of columns use two slots alternately: one is packed while the other is multiplied.
const Iteration = struct { slot: usize = 0, is_packed: bool = false };

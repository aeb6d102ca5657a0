//! Packed matmuls in which each thread packs the lines (rows or columns) that it works on into its own L2. The other side is shared: all threads
//! pack it together. Where the other side is small, each thread packs all of it for itself, because that takes less time than moving cache lines
//! from the L2 of one core to that of another.
//!
//! Work is taken from one queue: for each block of k first the pieces of the shared side, then the items. A free thread takes the next entry and
//! waits only for entries that were taken before it. So no thread waits for one that has not started, and no block of k ends with a wait for the
//! last thread.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("gemm_kernels.zig");
const slab_of = @import("slab.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm_problem = @import("gemm_problem.zig");
const workspace = @import("../memory/workspace.zig");
const rounding = @import("../tensor/rounding.zig");

const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;
const Side = generic.numbers.Side;
const Slab = slab_of.Slab;
const Table = generic.table.Table;
const divideUp = rounding.divideUp;

/// `own` is the side whose lines are items; `blocks` says how many of them make one, and how many lines of the other side are packed at once.
pub fn multiply(
    comptime numbers: Numbers,
    comptime own: Side,
    problem: *const Problem(numbers),
    table: *const Table(numbers),
    blocks: blocking.Blocking,
    executor: ?*const abi.Executor,
) gemm_problem.Error!void {
    const Word = numbers.Word();
    const is_a = own == .a;
    const thread_count = parallel.threadCount(executor);
    var slab: Slab(numbers) = .of(problem, table, &blocks);
    const a_len = slab.a_panel * divideUp(blocks.m, table.tile_rows);
    const b_len = slab.b_panel * divideUp(@min(blocks.n, problem.n), table.tile_columns);
    const own_len, const shared_len = if (is_a) .{ a_len, b_len } else .{ b_len, a_len };
    const items = divideUp(if (is_a) problem.m else problem.n, if (is_a) blocks.m else blocks.n);
    const k_blocks = divideUp(problem.k, blocks.k);
    const copies_limit = @min(kernels.info().caches.level2_bytes, blocking.packed_bytes_limit / thread_count);
    const has_copies = thread_count > 1 and shared_len * @sizeOf(Word) <= copies_limit and
        (if (is_a) problem.m else problem.n) / thread_count >= least_lines_of_copy;
    const slot_len = own_len + if (has_copies) shared_len else 0;
    // A single thread waits for nobody, and profits from a shared side that is still in its caches.
    const together = if (thread_count == 1) 1 else @min(k_blocks, most_blocks, @max(1, blocking.packed_bytes_limit / @sizeOf(Word) / shared_len));
    const common_len = if (has_copies) 0 else together * shared_len;
    const progress_at = (thread_count * slot_len + common_len) * @sizeOf(Word);
    const buffer = try workspace.acquire(progress_at + items * @sizeOf(Counter));
    defer workspace.release(buffer);
    const common = buffer.slice(Word, thread_count * slot_len * @sizeOf(Word), common_len).ptr;
    if (is_a) slab.b = common else slab.a = common;

    // Loop 5: columns, so that the packed block of `b` stays in L3.
    const slab_columns = if (is_a) blocks.n else problem.n;
    slab.m = problem.m;
    while (slab.column < problem.n) : (slab.column += slab_columns) {
        slab.n = @min(slab_columns, problem.n - slab.column);
        slab.step = 0;
        // Loop 4: k.
        while (slab.step < problem.k) : (slab.step += together * blocks.k) {
            const part = @min(together, divideUp(problem.k - slab.step, blocks.k));
            for (buffer.slice(Counter, progress_at, items)) |*done| done.* = .init(0);
            var shared_state: Shared = .{ .slots = .{ .count = thread_count } };
            const queue: Queue(numbers, own) = .init(&slab, &blocks, part, .{
                .own = buffer.slice(Word, 0, thread_count * slot_len),
                .own_len = own_len,
                .slot_len = slot_len,
                .shared_len = shared_len,
                .progress = buffer.slice(Counter, progress_at, items),
                .thread_count = thread_count,
            }, &shared_state);
            try parallel.run(executor, @min(thread_count, items), Queue(numbers, own), &queue);
        }
    }
}

/// Lines of a thread that pay for a copy of the other side. (Measured on two cores of Zen 4, GFLOP/s with copies and without: bfloat16 512 cubed 393 and
/// 333; float64, m x n x k, 256 x 196 x 2304 91 and 69, 768 x 128 x 3072 88 and 81.)
const least_lines_of_copy = 64;

const Counter = std.atomic.Value(u32);

/// Blocks of k in one queue at most.
const most_blocks = 32;

/// The state that the threads of a queue share and write.
const Shared = struct {
    slots: Slots,
    /// Number of entries of the queue that were taken.
    taken: std.atomic.Value(usize) = .init(0),
    /// Pieces of the shared side that are packed, for each block of k.
    packed_pieces: [most_blocks]Counter = @splat(.init(0)),
};

fn Queue(comptime numbers: Numbers, comptime own: Side) type {
    return struct {
        slab: *const Slab(numbers),
        blocks: usize,
        block_k: usize,
        item_lines: usize,
        /// Pieces of the shared side in a block of k, and panels in each.
        pieces: usize,
        panels_per_piece: usize,
        /// Whether `a` is too large for L2.
        is_far: bool,
        room: Room,
        shared: *Shared,

        const Self = @This();
        const Packing = Slab(numbers).Packing;
        const is_a = own == .a;

        const Room = struct {
            /// Packed lines of an item, for each thread, and its copy of the shared side behind them.
            own: []numbers.Word(),
            own_len: usize,
            slot_len: usize,
            /// Words of the shared side in a block of k.
            shared_len: usize,
            /// Blocks of k that each item has behind it: all of them add to the same part of `out`.
            progress: []Counter,
            thread_count: usize,

            fn hasCopies(room: *const Room) bool {
                return room.slot_len > room.own_len;
            }
        };

        fn init(slab: *const Slab(numbers), blocks: *const blocking.Blocking, count: usize, room: Room, shared: *Shared) Self {
            const packing: Packing = .of(slab, !is_a, is_a);
            const panels = packing.a_panels + packing.b_panels;
            const is_alone = room.thread_count == 1;
            const panels_per_piece = if (is_alone) panels else @min(slab_of.panels_together, divideUp(panels, 4 * room.thread_count));
            return .{
                .slab = slab,
                .blocks = count,
                .block_k = blocks.k,
                .item_lines = if (is_a) blocks.m else blocks.n,
                .pieces = if (room.hasCopies()) 0 else divideUp(panels, panels_per_piece),
                .panels_per_piece = panels_per_piece,
                .is_far = slab.problem.m *| slab.problem.k *| @sizeOf(numbers.Source) > kernels.info().caches.level2_bytes,
                .room = room,
                .shared = shared,
            };
        }

        /// The executor calls this once for each thread that takes part; the range itself does not matter.
        pub fn run(queue: *const Self, _: usize, _: usize) void {
            const slot = queue.shared.slots.take();
            defer queue.shared.slots.give(slot);
            // The block of k that the copy of the shared side is of.
            var copied: ?usize = null;
            const entries = queue.pieces + queue.room.progress.len;
            while (true) {
                const entry = queue.shared.taken.fetchAdd(1, .monotonic);
                const block = entry / entries;
                if (block >= queue.blocks) return;
                const number = entry % entries;
                if (number < queue.pieces) {
                    queue.packShared(block, number);
                    continue;
                }
                if (queue.room.hasCopies() and copied != block) queue.packCopy(block, slot);
                copied = block;
                queue.compute(block, number - queue.pieces, slot);
            }
        }

        /// Describes one block of k as a slab.
        fn blockOf(queue: *const Self, block: usize, slot: usize) Slab(numbers) {
            const room = &queue.room;
            var part = queue.slab.*;
            part.step += block * queue.block_k;
            part.k = @min(queue.block_k, part.problem.k - part.step);
            const side = if (is_a) &part.b else &part.a;
            side.* = if (room.hasCopies()) room.own.ptr + slot * room.slot_len + room.own_len else side.* + block * room.shared_len;
            return part;
        }

        fn packCopy(queue: *const Self, block: usize, slot: usize) void {
            const part = queue.blockOf(block, slot);
            const packing: Packing = .of(&part, !is_a, is_a);
            packing.run(0, packing.a_panels + packing.b_panels);
        }

        fn packShared(queue: *const Self, block: usize, piece: usize) void {
            const part = queue.blockOf(block, 0);
            const packing: Packing = .of(&part, !is_a, is_a);
            const first = piece * queue.panels_per_piece;
            packing.run(first, @min(first + queue.panels_per_piece, packing.a_panels + packing.b_panels));
            _ = queue.shared.packed_pieces[block].fetchAdd(1, .release);
        }

        /// What the thread that computes an item will probably work on next, as threads alternate. Null where it is in a near cache anyway.
        fn aheadOf(queue: *const Self, block: usize, item: usize) ?generic.table.Ahead(numbers) {
            const it = queue.slab.problem;
            if (!is_a or it.a_row != 1 or !queue.is_far) return null;
            const items = queue.room.progress.len;
            const next = item + queue.room.thread_count;
            const line = next % items * queue.item_lines;
            const step = queue.slab.step + (block + next / items) * queue.block_k;
            if (step >= it.k) return null;
            return .{
                .ptr = it.aAt(line, step),
                .lines = @min(queue.item_lines, it.m - line),
                .along = it.a_k,
                .k = @min(queue.block_k, it.k - step),
            };
        }

        fn compute(queue: *const Self, block: usize, item: usize, slot: usize) void {
            var part = queue.blockOf(block, slot);
            const line = item * queue.item_lines;
            const room = queue.room.own.ptr + slot * queue.room.slot_len;
            if (is_a) {
                part.row = line;
                part.m = @min(queue.item_lines, part.m - line);
                part.a = room;
            } else {
                part.column = line;
                part.n = @min(queue.item_lines, part.n - line);
                part.b = room;
            }
            part.block_rows = part.m;
            const packing: Packing = .of(&part, is_a, !is_a);
            packing.run(0, packing.a_panels + packing.b_panels);
            waitFor(&queue.shared.packed_pieces[block], queue.pieces);
            waitFor(&queue.room.progress[item], block);
            part.ahead = queue.aheadOf(block, item);
            const tiles: Slab(numbers).Tiles = .choose(&part, 1);
            tiles.run(0, tiles.row_blocks * tiles.column_groups);
            queue.room.progress[item].store(@intCast(block + 1), .release);
        }
    };
}

/// Waits until the counter has reached `value`. Threads that are already running will raise it.
fn waitFor(counter: *const Counter, value: usize) void {
    var waits: usize = 0;
    while (counter.load(.acquire) < value) : (waits += 1) {
        if (waits < spins_before_yield) std.atomic.spinLoopHint() else std.Thread.yield() catch {};
    }
}

/// How often a waiting thread reads a counter (about 10 us in all) before it yields the processor; packing a piece takes less time.
const spins_before_yield = 300;

/// Slots in the workspace, one for each thread that can work at the same time.
pub const Slots = struct {
    count: usize,
    taken: [limit / 64]std.atomic.Value(u64) = @splat(.init(0)),

    /// Largest number of threads of an executor.
    const limit = 1024;

    pub fn take(slots: *Slots) usize {
        while (true) {
            for (&slots.taken, 0..) |*group, index| {
                if (index * 64 >= slots.count) break;
                var seen = group.load(.monotonic);
                while (~seen != 0) {
                    const bit: u6 = @intCast(@ctz(~seen));
                    const slot = index * 64 + bit;
                    if (slot >= slots.count) break;
                    seen = group.cmpxchgWeak(seen, seen | @as(u64, 1) << bit, .acquire, .monotonic) orelse return slot;
                }
            }
            std.atomic.spinLoopHint();
        }
    }

    pub fn give(slots: *Slots, slot: usize) void {
        _ = slots.taken[slot / 64].fetchAnd(~(@as(u64, 1) << @intCast(slot % 64)), .release);
    }
};

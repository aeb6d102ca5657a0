//! Packed products whose threads pack for themselves the lines that they take, rows or columns, into their own L2. What lies on the other side
//! is shared: all threads pack it together. Where it is small, each packs all of it for itself: that takes less time than lines on their way
//! from the L2 of one core to that of another.
//!
//! Work stands in one queue: for each block of the depth the pieces of the shared side, then the items. Whoever is free takes the next; it waits
//! only for what was taken before it, so nobody waits for a thread that has not come, and no block of the depth ends with a wait for the last
//! thread.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const @"packed" = @import("packed.zig");
const parallel = @import("parallel.zig");
const product = @import("product.zig");
const workspace = @import("workspace.zig");

const Numbers = generic.numbers.Numbers;
const Problem = product.Problem;
const Side = generic.numbers.Side;
const Slab = @"packed".Slab;
const Table = generic.table.Table;
const divideUp = blocking.divideUp;

/// `own` is the side whose lines are items; `blocks` says how many of them make one, and how many lines of the other side are packed at once.
pub fn multiply(
    comptime numbers: Numbers,
    comptime own: Side,
    problem: *const Problem(numbers),
    table: *const Table(numbers),
    blocks: blocking.Blocking,
    executor: ?*const abi.Executor,
) product.Error!void {
    const Word = numbers.Word();
    const is_left = own == .left;
    const thread_count = parallel.threadCount(executor);
    var slab: Slab(numbers) = .of(problem, table, &blocks);
    const left_len = slab.left_panel * divideUp(blocks.rows, table.tile_rows);
    const right_len = slab.right_panel * divideUp(@min(blocks.columns, problem.columns), table.tile_columns);
    const own_len, const shared_len = if (is_left) .{ left_len, right_len } else .{ right_len, left_len };
    const items = divideUp(if (is_left) problem.rows else problem.columns, if (is_left) blocks.rows else blocks.columns);
    const depth_blocks = divideUp(problem.depth, blocks.depth);
    const copies_limit = @min(kernels.info().caches.level2_bytes, blocking.packed_bytes_limit / thread_count);
    const has_copies = thread_count > 1 and shared_len * @sizeOf(Word) <= copies_limit and
        (if (is_left) problem.rows else problem.columns) / thread_count >= least_lines_of_copy;
    const place_len = own_len + if (has_copies) shared_len else 0;
    // One thread waits for nobody, and gains from a shared side that is still in its caches.
    const together = if (thread_count == 1) 1 else @min(depth_blocks, most_blocks, @max(1, blocking.packed_bytes_limit / @sizeOf(Word) / shared_len));
    const common_len = if (has_copies) 0 else together * shared_len;
    const progress_at = (thread_count * place_len + common_len) * @sizeOf(Word);
    const buffer = try workspace.acquire(progress_at + items * @sizeOf(Counter));
    defer workspace.release(buffer);
    const common = buffer.slice(Word, thread_count * place_len * @sizeOf(Word), common_len).ptr;
    if (is_left) slab.right = common else slab.left = common;

    // Loop 5: columns, so that the packed right block stays in L3.
    const slab_columns = if (is_left) blocks.columns else problem.columns;
    slab.rows = problem.rows;
    while (slab.column < problem.columns) : (slab.column += slab_columns) {
        slab.columns = @min(slab_columns, problem.columns - slab.column);
        slab.step = 0;
        // Loop 4: depth.
        while (slab.step < problem.depth) : (slab.step += together * blocks.depth) {
            const part = @min(together, divideUp(problem.depth - slab.step, blocks.depth));
            for (buffer.slice(Counter, progress_at, items)) |*done| done.* = .init(0);
            var shared_state: Shared = .{ .places = .{ .count = thread_count } };
            const queue: Queue(numbers, own) = .init(&slab, &blocks, part, .{
                .own = buffer.slice(Word, 0, thread_count * place_len),
                .own_len = own_len,
                .place_len = place_len,
                .shared_len = shared_len,
                .progress = buffer.slice(Counter, progress_at, items),
                .thread_count = thread_count,
            }, &shared_state);
            try parallel.run(executor, @min(thread_count, items), Queue(numbers, own), &queue);
        }
    }
}

/// Lines of a thread that pay for a copy of the other side. (Measured on two cores of Zen 4, GFLOP/s with copies and without: bfloat16 512 cubed 393 and
/// 333; float64, rows x columns x depth, 256 x 196 x 2304 91 and 69, 768 x 128 x 3072 88 and 81.)
const least_lines_of_copy = 64;

const Counter = std.atomic.Value(u32);

/// Blocks of the depth in one queue at most.
const most_blocks = 32;

/// What the threads of a queue write.
const Shared = struct {
    places: Places,
    /// Entries of the queue that somebody took.
    taken: std.atomic.Value(usize) = .init(0),
    /// Pieces of the shared side that are packed, for each block of the depth.
    packed_pieces: [most_blocks]Counter = @splat(.init(0)),
};

fn Queue(comptime numbers: Numbers, comptime own: Side) type {
    return struct {
        slab: *const Slab(numbers),
        blocks: usize,
        block_depth: usize,
        item_lines: usize,
        /// Pieces of the shared side in a block of the depth, and panels in each.
        pieces: usize,
        panels_per_piece: usize,
        /// Whether `left` comes from beyond L2.
        is_far: bool,
        room: Room,
        shared: *Shared,

        const Self = @This();
        const Packing = Slab(numbers).Packing;
        const is_left = own == .left;

        const Room = struct {
            /// Packed lines of an item, for each thread, and its copy of the shared side behind them.
            own: []numbers.Word(),
            own_len: usize,
            place_len: usize,
            /// Words of the shared side in a block of the depth.
            shared_len: usize,
            /// Blocks of the depth that each item has behind it: all of them add to the same part of `out`.
            progress: []Counter,
            thread_count: usize,

            fn hasCopies(room: *const Room) bool {
                return room.place_len > room.own_len;
            }
        };

        fn init(slab: *const Slab(numbers), blocks: *const blocking.Blocking, count: usize, room: Room, shared: *Shared) Self {
            const packing: Packing = .of(slab, !is_left, is_left);
            const panels = packing.left_panels + packing.right_panels;
            const is_alone = room.thread_count == 1;
            const panels_per_piece = if (is_alone) panels else @min(@"packed".panels_together, divideUp(panels, 4 * room.thread_count));
            return .{
                .slab = slab,
                .blocks = count,
                .block_depth = blocks.depth,
                .item_lines = if (is_left) blocks.rows else blocks.columns,
                .pieces = if (room.hasCopies()) 0 else divideUp(panels, panels_per_piece),
                .panels_per_piece = panels_per_piece,
                .is_far = slab.problem.rows *| slab.problem.depth *| @sizeOf(numbers.Source) > kernels.info().caches.level2_bytes,
                .room = room,
                .shared = shared,
            };
        }

        /// Called once for each thread that comes, whatever the range.
        pub fn run(queue: *const Self, _: usize, _: usize) void {
            const place = queue.shared.places.take();
            defer queue.shared.places.give(place);
            // The block of the depth that the copy of the shared side is of.
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
                if (queue.room.hasCopies() and copied != block) queue.packCopy(block, place);
                copied = block;
                queue.compute(block, number - queue.pieces, place);
            }
        }

        /// What a block of the depth is to the slab.
        fn blockOf(queue: *const Self, block: usize, place: usize) Slab(numbers) {
            const room = &queue.room;
            var part = queue.slab.*;
            part.step += block * queue.block_depth;
            part.depth = @min(queue.block_depth, part.problem.depth - part.step);
            const side = if (is_left) &part.right else &part.left;
            side.* = if (room.hasCopies()) room.own.ptr + place * room.place_len + room.own_len else side.* + block * room.shared_len;
            return part;
        }

        fn packCopy(queue: *const Self, block: usize, place: usize) void {
            const part = queue.blockOf(block, place);
            const packing: Packing = .of(&part, !is_left, is_left);
            packing.run(0, packing.left_panels + packing.right_panels);
        }

        fn packShared(queue: *const Self, block: usize, piece: usize) void {
            const part = queue.blockOf(block, 0);
            const packing: Packing = .of(&part, !is_left, is_left);
            const first = piece * queue.panels_per_piece;
            packing.run(first, @min(first + queue.panels_per_piece, packing.left_panels + packing.right_panels));
            _ = queue.shared.packed_pieces[block].fetchAdd(1, .release);
        }

        /// What the thread that computes an item probably takes next: the threads take turns. Null where it is near anyway.
        fn aheadOf(queue: *const Self, block: usize, item: usize) ?generic.table.Ahead(numbers) {
            const it = queue.slab.problem;
            if (!is_left or it.left_row != 1 or !queue.is_far) return null;
            const items = queue.room.progress.len;
            const next = item + queue.room.thread_count;
            const line = next % items * queue.item_lines;
            const step = queue.slab.step + (block + next / items) * queue.block_depth;
            if (step >= it.depth) return null;
            return .{
                .ptr = it.leftAt(line, step),
                .lines = @min(queue.item_lines, it.rows - line),
                .along = it.left_depth,
                .depth = @min(queue.block_depth, it.depth - step),
            };
        }

        fn compute(queue: *const Self, block: usize, item: usize, place: usize) void {
            var part = queue.blockOf(block, place);
            const line = item * queue.item_lines;
            const room = queue.room.own.ptr + place * queue.room.place_len;
            if (is_left) {
                part.row = line;
                part.rows = @min(queue.item_lines, part.rows - line);
                part.left = room;
            } else {
                part.column = line;
                part.columns = @min(queue.item_lines, part.columns - line);
                part.right = room;
            }
            part.block_rows = part.rows;
            const packing: Packing = .of(&part, is_left, !is_left);
            packing.run(0, packing.left_panels + packing.right_panels);
            waitFor(&queue.shared.packed_pieces[block], queue.pieces);
            waitFor(&queue.room.progress[item], block);
            part.ahead = queue.aheadOf(block, item);
            const tiles: Slab(numbers).Tiles = .choose(&part, 1);
            tiles.run(0, tiles.row_blocks * tiles.column_groups);
            queue.room.progress[item].store(@intCast(block + 1), .release);
        }
    };
}

/// What is waited for is in the hands of threads at work.
fn waitFor(counter: *const Counter, value: usize) void {
    var waits: usize = 0;
    while (counter.load(.acquire) < value) : (waits += 1) {
        if (waits < spins_before_yield) std.atomic.spinLoopHint() else std.Thread.yield() catch {};
    }
}

/// Looks at a counter, about 10 us, before a thread that waits for another lets others run: packing a piece takes less.
const spins_before_yield = 300;

/// Places in the workspace, one for each thread that can be at work.
pub const Places = struct {
    count: usize,
    taken: [limit / 64]std.atomic.Value(u64) = @splat(.init(0)),

    /// Threads of an executor at most.
    const limit = 1024;

    pub fn take(places: *Places) usize {
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

    pub fn give(places: *Places, place: usize) void {
        _ = places.taken[place / 64].fetchAnd(~(@as(u64, 1) << @intCast(place % 64)), .release);
    }
};

//! Buddy system (Knowlton 1965): blocks of `min_block * 2^order`, each aligned to its size; freed blocks merge with their buddy.
//!
//! Free and live blocks of each order are sets of block numbers, so that both operations are O(log n) and nothing is allocated after
//! creation. A capacity that is no power of two is cut into the powers of two that it is made of; their sizes differ, so no merge
//! crosses from one to another.

const std = @import("std");
const BitTree = @import("bit_tree.zig").BitTree;
const strategy = @import("strategy.zig");

pub const Buddy = struct {
    min_block_bytes: u64,
    blocks: usize,
    order_count: usize,
    free_blocks: [max_orders]BitTree,
    live_blocks: [max_orders]BitTree,
    words: []u64,

    /// Orders up to 2^47 smallest blocks: the address space of a process.
    const max_orders = 48;

    pub fn init(capacity_bytes: u64, min_block_bytes: u64) strategy.CreateError!Buddy {
        const blocks: usize = @intCast(capacity_bytes / min_block_bytes);
        var buddy: Buddy = .{
            .min_block_bytes = min_block_bytes,
            .blocks = blocks,
            .order_count = std.math.log2_int(usize, blocks) + 1,
            .free_blocks = undefined,
            .live_blocks = undefined,
            .words = &.{},
        };
        if (buddy.order_count > max_orders) return error.TooManyBlocks;
        var total: usize = 0;
        for (0..buddy.order_count) |order| total += 2 * BitTree.wordCount(blocks >> @intCast(order));
        buddy.words = try strategy.allocateZeroed(total);
        var rest = buddy.words;
        for (0..buddy.order_count) |order| {
            const len = blocks >> @intCast(order);
            const count = BitTree.wordCount(len);
            buddy.free_blocks[order] = .init(rest[0..count], len);
            buddy.live_blocks[order] = .init(rest[count..][0..count], len);
            rest = rest[2 * count ..];
        }
        buddy.insertRoots();
        return buddy;
    }

    pub fn deinit(buddy: *Buddy) void {
        strategy.freeZeroed(buddy.words);
    }

    fn insertRoots(buddy: *Buddy) void {
        var first: usize = 0;
        while (first < buddy.blocks) {
            const order = std.math.log2_int(usize, buddy.blocks - first);
            buddy.free_blocks[order].insert(first >> order);
            first += @as(usize, 1) << order;
        }
    }

    pub fn allocate(buddy: *Buddy, bytes: u64, align_bytes: u64) strategy.AllocateError!strategy.Grant {
        const order = buddy.orderFor(bytes, align_bytes) orelse return error.NoFit;
        var from = order;
        while (from < buddy.order_count and buddy.free_blocks[from].isEmpty()) from += 1;
        if (from == buddy.order_count) return error.NoFit;
        var number = buddy.free_blocks[from].lowest().?;
        buddy.free_blocks[from].remove(number);
        // Split: keep the lower half, give back the upper one.
        while (from > order) {
            from -= 1;
            number *= 2;
            buddy.free_blocks[from].insert(number + 1);
        }
        buddy.live_blocks[order].insert(number);
        const block_bytes = buddy.min_block_bytes << @intCast(order);
        return .{ .offset = number * block_bytes, .bytes = block_bytes };
    }

    fn orderFor(buddy: *const Buddy, bytes: u64, align_bytes: u64) ?usize {
        const needed = @max(bytes, align_bytes);
        const units = std.math.divCeil(u64, needed, buddy.min_block_bytes) catch return null;
        const order = std.math.log2_int_ceil(u64, units);
        return if (order < buddy.order_count) order else null;
    }

    /// Returns the number of bytes that were freed.
    pub fn free(buddy: *Buddy, offset: u64) strategy.FreeError!u64 {
        if (offset % buddy.min_block_bytes != 0) return error.NotLive;
        const first = offset / buddy.min_block_bytes;
        var order = buddy.liveOrder(first) orelse return error.NotLive;
        const freed_bytes = buddy.min_block_bytes << @intCast(order);
        var number = first >> @intCast(order);
        buddy.live_blocks[order].remove(number);
        while (order + 1 < buddy.order_count and buddy.free_blocks[order].contains(number ^ 1)) {
            buddy.free_blocks[order].remove(number ^ 1);
            number /= 2;
            order += 1;
        }
        buddy.free_blocks[order].insert(number);
        return freed_bytes;
    }

    fn liveOrder(buddy: *const Buddy, first: u64) ?usize {
        for (0..buddy.order_count) |order| {
            const number = first >> @intCast(order);
            if (number << @intCast(order) != first) return null;
            if (buddy.live_blocks[order].contains(number)) return order;
        }
        return null;
    }

    pub fn reset(buddy: *Buddy) void {
        @memset(buddy.words, 0);
        buddy.insertRoots();
    }

    pub fn largestFreeBytes(buddy: *const Buddy) u64 {
        var order = buddy.order_count;
        while (order > 0) {
            order -= 1;
            if (!buddy.free_blocks[order].isEmpty()) return buddy.min_block_bytes << @intCast(order);
        }
        return 0;
    }
};

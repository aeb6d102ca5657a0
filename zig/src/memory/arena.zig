//! Arena: blocks one after another. Space comes back from the end: a freed block is reused once everything after it was freed too.
//! Allocation is O(1), freeing O(log n) to find the block.

const std = @import("std");
const strategy = @import("strategy.zig");

pub const Arena = struct {
    capacity_bytes: u64,
    granularity_bytes: u64,
    /// Live blocks in the order of their offsets.
    blocks: std.ArrayList(Block) = .empty,

    const Block = struct { offset: u64, bytes: u64, is_live: bool };

    pub fn init(capacity_bytes: u64, granularity_bytes: u64) Arena {
        return .{ .capacity_bytes = capacity_bytes, .granularity_bytes = granularity_bytes };
    }

    pub fn deinit(arena: *Arena) void {
        arena.blocks.deinit(strategy.metadata_allocator);
    }

    fn end(arena: *const Arena) u64 {
        const last = arena.blocks.last() orelse return 0;
        return last.offset + last.bytes;
    }

    pub fn allocate(arena: *Arena, bytes: u64, align_bytes: u64) strategy.AllocateError!strategy.Grant {
        const rounded = roundUp(bytes, arena.granularity_bytes) orelse return error.NoFit;
        const offset = roundUp(arena.end(), align_bytes) orelse return error.NoFit;
        if (offset > arena.capacity_bytes or rounded > arena.capacity_bytes - offset) return error.NoFit;
        arena.blocks.append(strategy.metadata_allocator, .{ .offset = offset, .bytes = rounded, .is_live = true }) catch
            return error.NoMetadata;
        return .{ .offset = offset, .bytes = rounded };
    }

    fn roundUp(value: u64, multiple: u64) ?u64 {
        const over = value % multiple;
        return if (over == 0) value else std.math.add(u64, value, multiple - over) catch null;
    }

    /// Returns the number of bytes that were freed.
    pub fn free(arena: *Arena, offset: u64) strategy.FreeError!u64 {
        const index = std.sort.binarySearch(Block, arena.blocks.items, offset, compareOffset) orelse return error.NotLive;
        const block = &arena.blocks.items[index];
        if (!block.is_live) return error.NotLive;
        block.is_live = false;
        const freed_bytes = block.bytes;
        while (arena.blocks.last()) |last| {
            if (last.is_live) break;
            _ = arena.blocks.pop();
        }
        return freed_bytes;
    }

    fn compareOffset(offset: u64, block: Block) std.math.Order {
        return std.math.order(offset, block.offset);
    }

    pub fn reset(arena: *Arena) void {
        arena.blocks.clearRetainingCapacity();
    }

    pub fn largestFreeBytes(arena: *const Arena) u64 {
        return (arena.capacity_bytes - arena.end()) / arena.granularity_bytes * arena.granularity_bytes;
    }
};

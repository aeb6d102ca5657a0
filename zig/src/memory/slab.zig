//! Slab: slots of one size, lowest free slot first. O(log64 n) for both operations; nothing is allocated after creation.

const std = @import("std");
const BitTree = @import("bit_tree.zig").BitTree;
const strategy = @import("strategy.zig");

pub const Slab = struct {
    slot_bytes: u64,
    slots: usize,
    free_slots: BitTree,

    pub fn init(capacity_bytes: u64, slot_bytes: u64) strategy.CreateError!Slab {
        const slots: usize = @intCast(capacity_bytes / slot_bytes);
        const words = try strategy.allocateZeroed(BitTree.wordCount(slots));
        const slab: Slab = .{ .slot_bytes = slot_bytes, .slots = slots, .free_slots = .init(words, slots) };
        slab.free_slots.fill();
        return slab;
    }

    pub fn deinit(slab: *Slab) void {
        strategy.freeZeroed(slab.free_slots.words);
    }

    pub fn allocate(slab: *Slab, bytes: u64, align_bytes: u64) strategy.AllocateError!strategy.Grant {
        // Every slot has the alignment of the slot size and no more.
        if (bytes > slab.slot_bytes or slab.slot_bytes % align_bytes != 0) return error.NoFit;
        const slot = slab.free_slots.lowest() orelse return error.NoFit;
        slab.free_slots.remove(slot);
        return .{ .offset = slot * slab.slot_bytes, .bytes = slab.slot_bytes };
    }

    /// Returns the number of bytes that were freed.
    pub fn free(slab: *Slab, offset: u64) strategy.FreeError!u64 {
        if (offset % slab.slot_bytes != 0) return error.NotLive;
        const slot = offset / slab.slot_bytes;
        if (slot >= slab.slots or slab.free_slots.contains(slot)) return error.NotLive;
        slab.free_slots.insert(slot);
        return slab.slot_bytes;
    }

    pub fn reset(slab: *Slab) void {
        slab.free_slots.fill();
    }

    pub fn largestFreeBytes(slab: *const Slab) u64 {
        return if (slab.free_slots.isEmpty()) 0 else slab.slot_bytes;
    }
};

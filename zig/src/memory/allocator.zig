//! The allocators of the ABI: one strategy behind a lock, with statistics. Offsets only; the managed range itself is never touched.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const Lock = @import("lock.zig").Lock;
const strategy = @import("strategy.zig");
const Slab = @import("slab.zig").Slab;
const Buddy = @import("buddy.zig").Buddy;
const Arena = @import("arena.zig").Arena;

const Strategy = union(enum) {
    slab: Slab,
    buddy: Buddy,
    arena: Arena,
};

const Allocator = struct {
    /// Tells a live allocator from other memory, as far as that can be told.
    tag: u64 = live_tag,
    lock: Lock = .{},
    strategy: Strategy,
    capacity_bytes: u64,
    used_bytes: u64 = 0,
    peak_used_bytes: u64 = 0,
    live_blocks: u64 = 0,
    allocations_total: u64 = 0,
    frees_total: u64 = 0,
    failures_total: u64 = 0,

    const live_tag: u64 = 0x6167_7075_616c_6c6f;
};

/// Largest range: offsets stay far from overflow when sizes and alignments are added.
const max_capacity_bytes = 1 << 60;

pub fn create(options: ?*const abi.AllocatorOptions, out: ?*abi.Allocator) abi.Status {
    const given = options orelse return status.fail(abi.errors.invalid_argument, "options is null", .{});
    const target = out orelse return status.fail(abi.errors.invalid_argument, "out is null", .{});
    if (given.size_bytes < @sizeOf(abi.AllocatorOptions)) {
        return status.fail(abi.errors.invalid_argument, "options.size_bytes is {d}; at least {d} is expected", .{
            given.size_bytes, @sizeOf(abi.AllocatorOptions),
        });
    }
    if (given.min_block_bytes == 0 or given.capacity_bytes < given.min_block_bytes or given.capacity_bytes > max_capacity_bytes) {
        return status.fail(abi.errors.invalid_argument, "capacity is {d} bytes with blocks of {d}; " ++
            "expected 1 <= block <= capacity <= {d}", .{
            given.capacity_bytes, given.min_block_bytes, @as(u64, max_capacity_bytes),
        });
    }
    const chosen = createStrategy(given) catch |failure| return switch (failure) {
        error.UnknownKind => status.fail(abi.errors.invalid_argument, "allocator kind {d} is unknown; " ++
            "slab is {d}, buddy {d}, arena {d}", .{
            given.kind, abi.allocator_slab, abi.allocator_buddy, abi.allocator_arena,
        }),
        error.BlockNotPowerOfTwo => status.fail(abi.errors.invalid_argument, "a buddy allocator needs a power of two " ++
            "as smallest block, not {d}", .{
            given.min_block_bytes,
        }),
        error.TooManyBlocks => status.fail(abi.errors.invalid_argument, "{d} bytes in blocks of {d} are too many blocks; " ++
            "raise min_block_bytes", .{
            given.capacity_bytes, given.min_block_bytes,
        }),
        error.OutOfMemory => noMetadata(),
    };
    var allocator: Allocator = .{ .strategy = chosen, .capacity_bytes = given.capacity_bytes };
    const kept = strategy.metadata_allocator.create(Allocator) catch {
        switch (allocator.strategy) {
            inline else => |*which| which.deinit(),
        }
        return noMetadata();
    };
    kept.* = allocator;
    target.* = kept;
    return abi.ok;
}

fn noMetadata() abi.Status {
    return status.fail(abi.errors.out_of_memory, "no host memory for the bookkeeping of an allocator", .{});
}

fn createStrategy(options: *const abi.AllocatorOptions) (strategy.CreateError || error{ UnknownKind, BlockNotPowerOfTwo })!Strategy {
    switch (options.kind) {
        abi.allocator_slab => return .{ .slab = try .init(options.capacity_bytes, options.min_block_bytes) },
        abi.allocator_buddy => {
            if (!std.math.isPowerOfTwo(options.min_block_bytes)) return error.BlockNotPowerOfTwo;
            return .{ .buddy = try .init(options.capacity_bytes, options.min_block_bytes) };
        },
        abi.allocator_arena => return .{ .arena = .init(options.capacity_bytes, options.min_block_bytes) },
        else => return error.UnknownKind,
    }
}

fn open(handle: abi.Allocator) ?*Allocator {
    const address = handle orelse return null;
    if (@intFromPtr(address) % @alignOf(Allocator) != 0) return null;
    const allocator: *Allocator = @ptrCast(@alignCast(address));
    return if (allocator.tag == Allocator.live_tag) allocator else null;
}

fn notAnAllocator() abi.Status {
    return status.fail(abi.errors.invalid_argument, "the handle is null or no allocator", .{});
}

pub fn allocate(handle: abi.Allocator, bytes: u64, align_bytes: u64, out_offset: ?*u64) abi.Status {
    const allocator = open(handle) orelse return notAnAllocator();
    const target = out_offset orelse return status.fail(abi.errors.invalid_argument, "out_offset is null", .{});
    if (bytes == 0) return status.fail(abi.errors.invalid_argument, "bytes is 0; a block has at least one byte", .{});
    if (!std.math.isPowerOfTwo(align_bytes)) {
        return status.fail(abi.errors.invalid_argument, "align_bytes is {d}; a power of two is expected", .{align_bytes});
    }
    allocator.lock.acquire();
    defer allocator.lock.release();
    const attempt = switch (allocator.strategy) {
        inline else => |*which| which.allocate(bytes, align_bytes),
    };
    const grant = attempt catch |failure| {
        allocator.failures_total += 1;
        return switch (failure) {
            error.NoFit => status.fail(abi.errors.out_of_memory, "no {t} block of {d} bytes aligned to {d}: " ++
                "{d} of {d} bytes are in use, the largest free block has {d}", .{
                allocator.strategy,       bytes,                  align_bytes, allocator.used_bytes,
                allocator.capacity_bytes, largestFree(allocator),
            }),
            error.NoMetadata => noMetadata(),
        };
    };
    allocator.used_bytes += grant.bytes;
    allocator.peak_used_bytes = @max(allocator.peak_used_bytes, allocator.used_bytes);
    allocator.live_blocks += 1;
    allocator.allocations_total += 1;
    target.* = grant.offset;
    return abi.ok;
}

fn largestFree(allocator: *const Allocator) u64 {
    return switch (allocator.strategy) {
        inline else => |*which| which.largestFreeBytes(),
    };
}

pub fn free(handle: abi.Allocator, offset: u64) abi.Status {
    const allocator = open(handle) orelse return notAnAllocator();
    allocator.lock.acquire();
    defer allocator.lock.release();
    const attempt = switch (allocator.strategy) {
        inline else => |*which| which.free(offset),
    };
    const freed_bytes = attempt catch {
        return status.fail(abi.errors.use_after_free, "no live block starts at offset {d}: " ++
            "it was freed before or never given out", .{offset});
    };
    allocator.used_bytes -= freed_bytes;
    allocator.live_blocks -= 1;
    allocator.frees_total += 1;
    return abi.ok;
}

pub fn reset(handle: abi.Allocator) abi.Status {
    const allocator = open(handle) orelse return notAnAllocator();
    allocator.lock.acquire();
    defer allocator.lock.release();
    switch (allocator.strategy) {
        inline else => |*which| which.reset(),
    }
    allocator.frees_total += allocator.live_blocks;
    allocator.used_bytes = 0;
    allocator.live_blocks = 0;
    return abi.ok;
}

pub fn getStats(handle: abi.Allocator, out: ?*abi.AllocatorStats) abi.Status {
    const allocator = open(handle) orelse return notAnAllocator();
    const target = out orelse return status.fail(abi.errors.invalid_argument, "out is null", .{});
    if (target.size_bytes < @sizeOf(abi.AllocatorStats)) {
        return status.fail(abi.errors.invalid_argument, "out.size_bytes is {d}; at least {d} is expected", .{
            target.size_bytes, @sizeOf(abi.AllocatorStats),
        });
    }
    allocator.lock.acquire();
    defer allocator.lock.release();
    target.* = .{
        .size_bytes = target.size_bytes,
        .capacity_bytes = allocator.capacity_bytes,
        .used_bytes = allocator.used_bytes,
        .peak_used_bytes = allocator.peak_used_bytes,
        .largest_free_bytes = largestFree(allocator),
        .live_blocks = allocator.live_blocks,
        .allocations_total = allocator.allocations_total,
        .frees_total = allocator.frees_total,
        .failures_total = allocator.failures_total,
    };
    return abi.ok;
}

pub fn destroy(handle: abi.Allocator) abi.Status {
    const allocator = open(handle) orelse return notAnAllocator();
    allocator.tag = 0;
    switch (allocator.strategy) {
        inline else => |*which| which.deinit(),
    }
    strategy.metadata_allocator.destroy(allocator);
    return abi.ok;
}

test {
    _ = @import("bit_tree.zig");
}

//! Host memory in huge pages where the system has them: from its pool, else by asking for them, else plain pages. Counted by kind.
//!
//! Pages of the pool are there for good; those that were asked for come when memory is touched and the system finds some. A process forked while
//! pages of the pool are held may be ended by the system when it touches them, so only memory that a caller asks for by name comes from there.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const Lock = @import("lock.zig").Lock;
const strategy = @import("strategy.zig");

pub const Kind = enum(u32) { plain = abi.host_memory_plain, advised = abi.host_memory_advised, pool = abi.host_memory_pool };

/// A huge page of x86-64, and of aarch64 with pages of 4 KiB.
pub const huge_page_bytes = 2 << 20;
const alignment = std.mem.Alignment.fromByteUnits(huge_page_bytes);

pub const Block = struct { bytes: []align(huge_page_bytes) u8, kind: Kind };

var live_bytes: [std.meta.fieldNames(Kind).len]std.atomic.Value(u64) = @splat(.init(0));
var allocations: std.atomic.Value(u64) = .init(0);
var frees: std.atomic.Value(u64) = .init(0);
var failures: std.atomic.Value(u64) = .init(0);

/// Whole huge pages of at least that many bytes, zero. With `may_use_pool`, from the system's pool when it has enough.
pub fn map(bytes: usize, may_use_pool: bool) error{OutOfMemory}!Block {
    const block = mapBytes(bytes, may_use_pool) catch |failure| {
        _ = failures.fetchAdd(1, .monotonic);
        return failure;
    };
    _ = allocations.fetchAdd(1, .monotonic);
    _ = live_bytes[@backingInt(block.kind)].fetchAdd(block.bytes.len, .monotonic);
    return block;
}

fn mapBytes(bytes: usize, may_use_pool: bool) error{OutOfMemory}!Block {
    if (bytes > std.math.maxInt(isize) - huge_page_bytes) return error.OutOfMemory;
    const rounded = std.mem.alignForward(usize, bytes, huge_page_bytes);
    if (builtin.os.tag == .linux and may_use_pool) if (fromPool(rounded)) |pages| return .{ .bytes = pages, .kind = .pool };
    const ptr = std.heap.page_allocator.rawAlloc(rounded, alignment, @returnAddress()) orelse return error.OutOfMemory;
    const aligned: [*]align(huge_page_bytes) u8 = @alignCast(ptr);
    const is_advised = builtin.os.tag == .linux and
        std.os.linux.errno(std.os.linux.madvise(ptr, rounded, std.os.linux.MADV.HUGEPAGE)) == .SUCCESS;
    return .{ .bytes = aligned[0..rounded], .kind = if (is_advised) .advised else .plain };
}

fn fromPool(bytes: usize) ?[]align(huge_page_bytes) u8 {
    const linux = std.os.linux;
    const flags: linux.MAP = .{ .TYPE = .PRIVATE, .ANONYMOUS = true, .HUGETLB = true };
    // The size of the pages stands in the upper bits, as its logarithm.
    const sized: linux.MAP = @bitCast(@as(u32, @bitCast(flags)) | @as(u32, std.math.log2_int(u32, huge_page_bytes)) << linux.HUGETLB_FLAG_ENCODE_SHIFT);
    const address = linux.mmap(null, bytes, .{ .READ = true, .WRITE = true }, sized, -1, 0);
    if (linux.errno(address) != .SUCCESS) return null;
    const ptr: [*]align(huge_page_bytes) u8 = @ptrFromInt(address);
    return ptr[0..bytes];
}

pub fn unmap(block: Block) void {
    _ = frees.fetchAdd(1, .monotonic);
    _ = live_bytes[@backingInt(block.kind)].fetchSub(block.bytes.len, .monotonic);
    switch (block.kind) {
        .pool => _ = std.os.linux.munmap(block.bytes.ptr, block.bytes.len),
        .plain, .advised => std.heap.page_allocator.rawFree(block.bytes, alignment, @returnAddress()),
    }
}

/// Blocks that were given out through the ABI.
var lock: Lock = .{};
var given_out: std.ArrayList(Block) = .empty;

pub fn allocate(bytes: u64, out: ?*abi.HostMemory) abi.Status {
    const target = out orelse return status.fail(abi.errors.invalid_argument, "out is null", .{});
    if (target.size_bytes < @sizeOf(abi.HostMemory)) {
        return status.fail(abi.errors.invalid_argument, "out.size_bytes is {d}; at least {d} is expected", .{
            target.size_bytes, @sizeOf(abi.HostMemory),
        });
    }
    if (bytes == 0) return status.fail(abi.errors.invalid_argument, "bytes is 0; a block has at least one byte", .{});
    const block = map(@intCast(bytes), true) catch return noMemory(bytes);
    lock.acquire();
    defer lock.release();
    given_out.append(strategy.metadata_allocator, block) catch {
        unmap(block);
        return noMemory(bytes);
    };
    target.* = .{
        .size_bytes = target.size_bytes,
        .data = block.bytes.ptr,
        .bytes = block.bytes.len,
        .kind = @backingInt(block.kind),
        .reserved = 0,
    };
    return abi.ok;
}

fn noMemory(bytes: u64) abi.Status {
    return status.fail(abi.errors.out_of_memory, "the host has no memory for {d} bytes", .{bytes});
}

pub fn free(data: ?*anyopaque) abi.Status {
    const block = take(data) orelse return status.fail(abi.errors.use_after_free, "no live block of host memory starts at {x}: " ++
        "it was freed before or never given out", .{@intFromPtr(data)});
    unmap(block);
    return abi.ok;
}

fn take(data: ?*anyopaque) ?Block {
    lock.acquire();
    defer lock.release();
    for (given_out.items, 0..) |block, index| {
        if (@intFromPtr(block.bytes.ptr) == @intFromPtr(data)) return given_out.swapRemove(index);
    }
    return null;
}

pub fn getStats(out: ?*abi.HostMemoryStats) abi.Status {
    const target = out orelse return status.fail(abi.errors.invalid_argument, "out is null", .{});
    if (target.size_bytes < @sizeOf(abi.HostMemoryStats)) {
        return status.fail(abi.errors.invalid_argument, "out.size_bytes is {d}; at least {d} is expected", .{
            target.size_bytes, @sizeOf(abi.HostMemoryStats),
        });
    }
    target.* = .{
        .size_bytes = target.size_bytes,
        .plain_bytes = live_bytes[@backingInt(Kind.plain)].load(.monotonic),
        .advised_bytes = live_bytes[@backingInt(Kind.advised)].load(.monotonic),
        .pool_bytes = live_bytes[@backingInt(Kind.pool)].load(.monotonic),
        .allocations_total = allocations.load(.monotonic),
        .frees_total = frees.load(.monotonic),
        .failures_total = failures.load(.monotonic),
    };
    return abi.ok;
}

fn statsNow() !abi.HostMemoryStats {
    var out: abi.HostMemoryStats = undefined;
    out.size_bytes = @sizeOf(abi.HostMemoryStats);
    try std.testing.expectEqual(abi.ok, getStats(&out));
    return out;
}

fn bytesOf(stats: abi.HostMemoryStats) u64 {
    return stats.plain_bytes + stats.advised_bytes + stats.pool_bytes;
}

fn newBlock() abi.HostMemory {
    var block: abi.HostMemory = undefined;
    block.size_bytes = @sizeOf(abi.HostMemory);
    return block;
}

test "blocks are zero, aligned, writable and counted until they are freed" {
    const before = try statsNow();
    var blocks: [5]abi.HostMemory = @splat(newBlock());
    var total: u64 = 0;
    for (&blocks, [_]u64{ 1, 4096, huge_page_bytes, huge_page_bytes + 1, 9 << 20 }) |*block, bytes| {
        try std.testing.expectEqual(abi.ok, allocate(bytes, block));
        try std.testing.expect(block.bytes >= bytes and block.bytes % huge_page_bytes == 0);
        try std.testing.expectEqual(0, @intFromPtr(block.data.?) % huge_page_bytes);
        const memory: [*]u8 = @ptrCast(block.data.?);
        try std.testing.expectEqual(0, memory[0]);
        try std.testing.expectEqual(0, memory[block.bytes - 1]);
        memory[block.bytes - 1] = 1;
        total += block.bytes;
    }
    const held = try statsNow();
    try std.testing.expectEqual(total, bytesOf(held) - bytesOf(before));
    try std.testing.expectEqual(5, held.allocations_total - before.allocations_total);
    for (blocks) |block| try std.testing.expectEqual(abi.ok, free(block.data));
    const after = try statsNow();
    try std.testing.expectEqual(bytesOf(before), bytesOf(after));
    try std.testing.expectEqual(5, after.frees_total - before.frees_total);
    try std.testing.expectEqual(abi.errors.use_after_free, free(blocks[0].data));
    try std.testing.expectEqual(abi.errors.use_after_free, free(null));
}

test "nonsense is refused and more than there is counts as a failure" {
    var block = newBlock();
    try std.testing.expectEqual(abi.errors.invalid_argument, allocate(0, &block));
    try std.testing.expectEqual(abi.errors.invalid_argument, allocate(1, null));
    block.size_bytes = 8;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocate(1, &block));
    block = newBlock();
    const before = try statsNow();
    try std.testing.expectEqual(abi.errors.out_of_memory, allocate(1 << 62, &block));
    try std.testing.expectEqual(abi.errors.out_of_memory, allocate(std.math.maxInt(u64), &block));
    const after = try statsNow();
    try std.testing.expectEqual(2, after.failures_total - before.failures_total);
    try std.testing.expectEqual(bytesOf(before), bytesOf(after));
    try std.testing.expectEqual(abi.errors.invalid_argument, getStats(null));
}

test "threads that allocate and free leave nothing behind" {
    const Worker = struct {
        fn work(failed: *std.atomic.Value(bool)) void {
            for (0..50) |round| {
                var block = newBlock();
                if (allocate(1 + round * 100_000, &block) != abi.ok) return failed.store(true, .release);
                const memory: [*]u8 = @ptrCast(block.data.?);
                memory[0] = 1;
                if (free(block.data) != abi.ok) return failed.store(true, .release);
            }
        }
    };
    const before = try statsNow();
    var failed: std.atomic.Value(bool) = .init(false);
    var threads: [4]std.Thread = undefined;
    for (&threads) |*thread| thread.* = try std.Thread.spawn(.{}, Worker.work, .{&failed});
    for (threads) |thread| thread.join();
    try std.testing.expect(!failed.load(.acquire));
    const after = try statsNow();
    try std.testing.expectEqual(bytesOf(before), bytesOf(after));
    try std.testing.expectEqual(200, after.frees_total - before.frees_total);
}

//! Every strategy against a model that keeps a plain list of live blocks.

const std = @import("std");
const abi = @import("../abi.zig");
const allocator = @import("allocator.zig");

const Block = struct { offset: u64, bytes: u64 };

const Fixture = struct {
    handle: abi.Allocator = null,
    kind: u32,
    capacity_bytes: u64,
    min_block_bytes: u64,
    live: std.ArrayList(Block) = .empty,
    allocations: u64 = 0,
    frees: u64 = 0,
    failures: u64 = 0,
    used_bytes: u64 = 0,
    peak_used_bytes: u64 = 0,

    fn init(kind: u32, capacity_bytes: u64, min_block_bytes: u64) !Fixture {
        var fixture: Fixture = .{ .kind = kind, .capacity_bytes = capacity_bytes, .min_block_bytes = min_block_bytes };
        const options: abi.AllocatorOptions = .{
            .size_bytes = @sizeOf(abi.AllocatorOptions),
            .kind = kind,
            .reserved = 0,
            .capacity_bytes = capacity_bytes,
            .min_block_bytes = min_block_bytes,
        };
        try std.testing.expectEqual(abi.ok, allocator.create(&options, &fixture.handle));
        return fixture;
    }

    fn deinit(fixture: *Fixture) void {
        fixture.live.deinit(std.testing.allocator);
        std.testing.expectEqual(abi.ok, allocator.destroy(fixture.handle)) catch unreachable;
    }

    fn stats(fixture: *const Fixture) !abi.AllocatorStats {
        var out: abi.AllocatorStats = undefined;
        out.size_bytes = @sizeOf(abi.AllocatorStats);
        try std.testing.expectEqual(abi.ok, allocator.getStats(fixture.handle, &out));
        return out;
    }

    /// Bytes that a request occupies.
    fn occupied(fixture: *const Fixture, bytes: u64, align_bytes: u64) u64 {
        return switch (fixture.kind) {
            abi.allocator_slab => fixture.min_block_bytes,
            abi.allocator_buddy => std.math.ceilPowerOfTwoAssert(u64, @max(bytes, align_bytes, fixture.min_block_bytes)),
            else => std.mem.alignForward(u64, bytes, fixture.min_block_bytes),
        };
    }

    fn allocate(fixture: *Fixture, bytes: u64, align_bytes: u64) !void {
        const before = try fixture.stats();
        var offset: u64 = undefined;
        const status = allocator.allocate(fixture.handle, bytes, align_bytes, &offset);
        if (status != abi.ok) {
            try std.testing.expectEqual(abi.errors.out_of_memory, status);
            fixture.failures += 1;
            // Refusing is right only when the largest free block is too small, or cannot be aligned.
            const fits = fixture.occupied(bytes, align_bytes) <= before.largest_free_bytes;
            const aligns = switch (fixture.kind) {
                abi.allocator_slab => bytes <= fixture.min_block_bytes and fixture.min_block_bytes % align_bytes == 0,
                abi.allocator_arena => fixture.occupied(bytes, align_bytes) + align_bytes <= before.largest_free_bytes,
                else => true,
            };
            return std.testing.expect(!(fits and aligns));
        }
        fixture.allocations += 1;
        const block: Block = .{ .offset = offset, .bytes = fixture.occupied(bytes, align_bytes) };
        try std.testing.expectEqual(0, offset % align_bytes);
        try std.testing.expect(offset + block.bytes <= fixture.capacity_bytes);
        for (fixture.live.items) |other| {
            try std.testing.expect(other.offset + other.bytes <= offset or offset + block.bytes <= other.offset);
        }
        try fixture.live.append(std.testing.allocator, block);
        fixture.used_bytes += block.bytes;
        fixture.peak_used_bytes = @max(fixture.peak_used_bytes, fixture.used_bytes);
    }

    fn freeAt(fixture: *Fixture, index: usize) !void {
        const block = fixture.live.swapRemove(index);
        try std.testing.expectEqual(abi.ok, allocator.free(fixture.handle, block.offset));
        try std.testing.expectEqual(abi.errors.use_after_free, allocator.free(fixture.handle, block.offset));
        fixture.frees += 1;
        fixture.used_bytes -= block.bytes;
    }

    fn reset(fixture: *Fixture) !void {
        try std.testing.expectEqual(abi.ok, allocator.reset(fixture.handle));
        fixture.frees += fixture.live.items.len;
        fixture.used_bytes = 0;
        fixture.live.clearRetainingCapacity();
    }

    fn verify(fixture: *const Fixture) !void {
        const out = try fixture.stats();
        var used: u64 = 0;
        for (fixture.live.items) |block| used += block.bytes;
        try std.testing.expectEqual(used, out.used_bytes);
        try std.testing.expectEqual(fixture.live.items.len, out.live_blocks);
        try std.testing.expectEqual(fixture.allocations, out.allocations_total);
        try std.testing.expectEqual(fixture.frees, out.frees_total);
        try std.testing.expectEqual(fixture.failures, out.failures_total);
        try std.testing.expectEqual(fixture.peak_used_bytes, out.peak_used_bytes);
        try std.testing.expect(out.largest_free_bytes <= fixture.capacity_bytes - used);
    }
};

const kinds = [_]u32{ abi.allocator_slab, abi.allocator_buddy, abi.allocator_arena };

test "random operations agree with a list of live blocks" {
    var random: std.Random.DefaultPrng = .init(42);
    const rng = random.random();
    for (kinds) |kind| {
        for ([_]u64{ 64, 64 * 100, 64 * 1024, 64 * 1023 + 17 }) |capacity_bytes| {
            var fixture: Fixture = try .init(kind, capacity_bytes, 64);
            defer fixture.deinit();
            for (0..20_000) |_| {
                if (fixture.live.items.len > 0 and rng.uintLessThan(u8, 100) < 48) {
                    try fixture.freeAt(rng.uintLessThan(usize, fixture.live.items.len));
                } else {
                    const largest: u64 = if (kind == abi.allocator_slab) 70 else @max(2, capacity_bytes / 8);
                    try fixture.allocate(rng.intRangeAtMost(u64, 1, largest), @as(u64, 1) << rng.intRangeAtMost(u6, 0, 9));
                }
                if (rng.uintLessThan(u16, 2000) == 0) try fixture.reset();
                if (rng.uintLessThan(u8, 16) == 0) try fixture.verify();
            }
            try std.testing.expect(fixture.failures > 0 and fixture.allocations > 100);
            while (fixture.live.items.len > 0) try fixture.freeAt(0);
            try fixture.verify();
        }
    }
}

test "a buddy allocator merges everything back" {
    var fixture: Fixture = try .init(abi.allocator_buddy, 1 << 20, 256);
    defer fixture.deinit();
    for (0..4096) |_| try fixture.allocate(256, 256);
    try std.testing.expectEqual(0, (try fixture.stats()).largest_free_bytes);
    while (fixture.live.items.len > 0) try fixture.freeAt(fixture.live.items.len / 2);
    try std.testing.expectEqual(1 << 20, (try fixture.stats()).largest_free_bytes);
}

test "reset forgets every block and keeps the allocator usable" {
    for (kinds) |kind| {
        var fixture: Fixture = try .init(kind, 4096, 64);
        defer fixture.deinit();
        for (0..10) |_| try fixture.allocate(60, 1);
        const stale = fixture.live.items[3].offset;
        try fixture.reset();
        try fixture.verify();
        try std.testing.expectEqual(abi.errors.use_after_free, allocator.free(fixture.handle, stale));
        try fixture.allocate(64, 1);
        try fixture.verify();
    }
}

test "nonsense options are refused" {
    var handle: abi.Allocator = null;
    const good: abi.AllocatorOptions = .{
        .size_bytes = @sizeOf(abi.AllocatorOptions),
        .kind = abi.allocator_buddy,
        .reserved = 0,
        .capacity_bytes = 4096,
        .min_block_bytes = 64,
    };
    var options = good;
    options.kind = 3;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(&options, &handle));
    options = good;
    options.min_block_bytes = 48;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(&options, &handle));
    options = good;
    options.min_block_bytes = 0;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(&options, &handle));
    options = good;
    options.capacity_bytes = 63;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(&options, &handle));
    options = good;
    options.size_bytes = 8;
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(&options, &handle));
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.create(null, &handle));
    try std.testing.expectEqual(abi.errors.invalid_argument, allocator.free(null, 0));
}

test "a huge range costs little until it is used" {
    var fixture: Fixture = try .init(abi.allocator_buddy, 192 << 30, 512);
    defer fixture.deinit();
    try fixture.allocate(100 << 30, 1 << 21);
    try fixture.allocate(3 << 20, 512);
    try fixture.verify();
}

test "threads never hold the same block" {
    const Worker = struct {
        fn run(handle: abi.Allocator, owners: []std.atomic.Value(u32), id: u32, failed: *std.atomic.Value(bool)) void {
            for (0..20_000) |_| {
                var offset: u64 = undefined;
                if (allocator.allocate(handle, 64, 64, &offset) != abi.ok) continue;
                if (owners[offset / 64].swap(id, .acq_rel) != 0) failed.store(true, .release);
                owners[offset / 64].store(0, .release);
                if (allocator.free(handle, offset) != abi.ok) failed.store(true, .release);
            }
        }
    };
    for (kinds) |kind| {
        var fixture: Fixture = try .init(kind, 64 * 16, 64);
        defer fixture.deinit();
        var owners: [16]std.atomic.Value(u32) = @splat(.init(0));
        var failed: std.atomic.Value(bool) = .init(false);
        var threads: [4]std.Thread = undefined;
        for (&threads, 1..) |*thread, id| {
            thread.* = try std.Thread.spawn(.{}, Worker.run, .{ fixture.handle, &owners, @as(u32, @intCast(id)), &failed });
        }
        for (threads) |thread| thread.join();
        try std.testing.expect(!failed.load(.acquire));
        try std.testing.expectEqual(0, (try fixture.stats()).live_blocks);
    }
}

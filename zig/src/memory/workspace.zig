//! Memory for packed panels, kept between calls: fresh pages cost more than packing does.
//!
//! A call takes a buffer for itself and gives it back. Idle ones are kept within `kept_bytes_limit`, so that many threads calling at once
//! do not hold memory for ever. The cache is skipped, not waited for, while another thread is in it, so that a process forked at that
//! moment still computes.

const std = @import("std");
const host_memory = @import("host_memory.zig");
const Lock = @import("lock.zig").Lock;

const kept_buffers = 4;
/// Idle memory in total: within the 10 MB that the framework may cost a device, and one buffer of the largest size that gemm.zig asks
/// for fits.
const kept_bytes_limit = 9 << 20;

pub const Buffer = struct {
    bytes: []align(host_memory.huge_page_bytes) u8,
    kind: host_memory.Kind,

    pub fn slice(buffer: Buffer, comptime T: type, first_byte: usize, len: usize) []T {
        const bytes = buffer.bytes[first_byte..][0 .. len * @sizeOf(T)];
        return @alignCast(std.mem.bytesAsSlice(T, bytes));
    }
};

var lock: Lock = .{};
var idle: [kept_buffers]Buffer = undefined;
var idle_count: usize = 0;

pub fn acquire(bytes: usize) error{OutOfMemory}!Buffer {
    if (takeIdle(bytes)) |buffer| return buffer;
    // Huge pages spare most of the address translation. Not from the pool: a child of fork() uses buffers that its parent left.
    const block = try host_memory.map(@max(1, bytes), false);
    return .{ .bytes = block.bytes, .kind = block.kind };
}

/// Takes the smallest buffer that is large enough; of equal ones the last released, which is still in the caches.
fn takeIdle(bytes: usize) ?Buffer {
    if (!lock.tryAcquire()) return null;
    defer lock.release();
    var best: ?usize = null;
    for (idle[0..idle_count], 0..) |buffer, index| {
        if (buffer.bytes.len < bytes) continue;
        if (best == null or buffer.bytes.len <= idle[best.?].bytes.len) best = index;
    }
    const taken = best orelse return null;
    const buffer = idle[taken];
    idle_count -= 1;
    std.mem.copyForwards(Buffer, idle[taken..idle_count], idle[taken + 1 .. idle_count + 1]);
    return buffer;
}

pub fn release(buffer: Buffer) void {
    if (!keepIdle(buffer)) host_memory.unmap(.{ .bytes = buffer.bytes, .kind = buffer.kind });
}

/// Whether the buffer was kept. Smaller idle buffers are freed to make room, because they cost less to allocate again.
fn keepIdle(buffer: Buffer) bool {
    if (buffer.bytes.len > kept_bytes_limit or !lock.tryAcquire()) return false;
    defer lock.release();
    while (true) {
        var kept_bytes = buffer.bytes.len;
        var smallest: ?usize = null;
        for (idle[0..idle_count], 0..) |kept, index| {
            kept_bytes += kept.bytes.len;
            if (smallest == null or kept.bytes.len < idle[smallest.?].bytes.len) smallest = index;
        }
        if (idle_count < kept_buffers and kept_bytes <= kept_bytes_limit) break;
        const leaving = smallest orelse return false;
        if (idle[leaving].bytes.len >= buffer.bytes.len) return false;
        host_memory.unmap(.{ .bytes = idle[leaving].bytes, .kind = idle[leaving].kind });
        idle_count -= 1;
        idle[leaving] = idle[idle_count];
    }
    idle[idle_count] = buffer;
    idle_count += 1;
    return true;
}

test "a released buffer is used again" {
    const first = try acquire(1000);
    const address = first.bytes.ptr;
    release(first);
    const second = try acquire(2000);
    defer release(second);
    try std.testing.expectEqual(address, second.bytes.ptr);
}

test "a large released buffer takes the place of small ones" {
    var small: [kept_buffers]Buffer = undefined;
    for (&small) |*buffer| buffer.* = try acquire(1000);
    for (small) |buffer| release(buffer);
    const large = try acquire(kept_bytes_limit - host_memory.huge_page_bytes);
    const address = large.bytes.ptr;
    release(large);
    const again = try acquire(kept_bytes_limit - host_memory.huge_page_bytes);
    defer release(again);
    try std.testing.expectEqual(address, again.bytes.ptr);
}

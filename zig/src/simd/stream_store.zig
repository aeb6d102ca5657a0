//! Copies whose stores bypass the caches: what is written is not read before, and what the caches hold stays there.

const builtin = @import("builtin");

/// `finish` must follow.
pub inline fn copy(comptime vector_bytes: comptime_int, target: [*]u8, source: [*]const u8, bytes: usize) void {
    if (builtin.cpu.arch != .x86_64) {
        @memcpy(target[0..bytes], source[0..bytes]);
        return;
    }
    const misaligned = @intFromPtr(target) % vector_bytes;
    const head = if (misaligned == 0) 0 else @min(bytes, vector_bytes - misaligned);
    @memcpy(target[0..head], source[0..head]);
    var at = head;
    while (at + vector_bytes <= bytes) : (at += vector_bytes) {
        const vector: @Vector(vector_bytes, u8) = source[at..][0..vector_bytes].*;
        store(vector_bytes, target + at, vector);
    }
    @memcpy(target[at..bytes], source[at..bytes]);
}

/// Orders the copies before everything that follows, for every thread.
pub inline fn finish() void {
    if (builtin.cpu.arch == .x86_64) asm volatile ("sfence" ::: .{ .memory = true });
}

/// The address must be aligned; `finish` must follow.
pub inline fn store(comptime vector_bytes: comptime_int, target: [*]u8, vector: @Vector(vector_bytes, u8)) void {
    if (builtin.cpu.arch != .x86_64) {
        target[0..vector_bytes].* = vector;
        return;
    }
    const instruction = if (vector_bytes == 16) "movntps %[vector], (%[target])" else "vmovntps %[vector], (%[target])";
    asm volatile (instruction
        :
        : [vector] "v" (vector),
          [target] "r" (target),
        : .{ .memory = true });
}

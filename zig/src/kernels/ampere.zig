//! Instructions of sm_80: copies that run beside the threads, loads of fragments, mma.sync. Source: PTX ISA 7.8, "cp.async", "ldmatrix",
//! "Warp Level Matrix Instructions".

const device = @import("device.zig");
const variant = @import("variant");

/// Copies 16 bytes to shared memory, past the first-level cache; of `bytes` fewer than 16 the rest becomes zero.
pub inline fn copy16(target: u32, source: anytype, bytes: u32) void {
    asm volatile ("cp.async.cg.shared.global [%[target]], [%[source]], 16, %[bytes];"
        :
        : [target] "r" (target),
          [source] "l" (source),
          [bytes] "r" (bytes),
        : .{ .memory = true });
}

/// Copies 8 bytes through the first-level cache; of `bytes` fewer than 8 the rest becomes zero.
pub inline fn copy8(target: u32, source: anytype, bytes: u32) void {
    asm volatile ("cp.async.ca.shared.global [%[target]], [%[source]], 8, %[bytes];"
        :
        : [target] "r" (target),
          [source] "l" (source),
          [bytes] "r" (bytes),
        : .{ .memory = true });
}

pub inline fn commitCopies() void {
    asm volatile ("cp.async.commit_group;" ::: .{ .memory = true });
}

/// Waits until at most `pending` groups of copies run.
pub inline fn waitForCopies(comptime pending: u32) void {
    asm volatile ("cp.async.wait_group " ++ [_]u8{'0' + pending} ++ ";" ::: .{ .memory = true });
}

/// Four 8 x 8 matrices of 16-bit numbers; each thread gives the address of one of the 32 rows.
pub inline fn loadMatrices(comptime is_transposed: bool, row: u32) [4]u32 {
    var r0: u32 = undefined;
    var r1: u32 = undefined;
    var r2: u32 = undefined;
    var r3: u32 = undefined;
    asm volatile ("ldmatrix.sync.aligned.m8n8.x4" ++ (if (is_transposed) ".trans" else "") ++ ".shared.b16 {%[r0], %[r1], %[r2], %[r3]}, [%[row]];"
        : [r0] "=r" (r0),
          [r1] "=r" (r1),
          [r2] "=r" (r2),
          [r3] "=r" (r3),
        : [row] "r" (row),
        : .{ .memory = true });
    return .{ r0, r1, r2, r3 };
}

/// The number of k of one instruction.
pub fn depthOf(comptime number: variant.Number) u32 {
    return switch (number) {
        .f16, .bf16 => 16,
        .tf32 => 8,
        .i8 => 32,
        else => @compileError("mma.sync does not take it"),
    };
}

/// accumulators += a b for 16 x 8 results; all three as the instruction spreads them over a warp.
pub inline fn multiply(comptime number: variant.Number, accumulators: [4]number.Sum(), a: [4]u32, b: [2]u32) [4]number.Sum() {
    const shape = switch (number) {
        .f16 => "m16n8k16.row.col.f32.f16.f16.f32",
        .bf16 => "m16n8k16.row.col.f32.bf16.bf16.f32",
        .tf32 => "m16n8k8.row.col.f32.tf32.tf32.f32",
        .i8 => "m16n8k32.row.col.s32.s8.s8.s32",
        else => comptime unreachable,
    };
    const text = "mma.sync.aligned." ++ shape ++ " {%[d0], %[d1], %[d2], %[d3]}, {%[a0], %[a1], %[a2], %[a3]}, {%[b0], %[b1]}, {%[c0], %[c1], %[c2], %[c3]};";
    // Registers are 32 bits for asm whatever they hold.
    const c: [4]u32 = @bitCast(accumulators);
    var d0: u32 = undefined;
    var d1: u32 = undefined;
    var d2: u32 = undefined;
    var d3: u32 = undefined;
    asm volatile (text
        : [d0] "=r" (d0),
          [d1] "=r" (d1),
          [d2] "=r" (d2),
          [d3] "=r" (d3),
        : [a0] "r" (a[0]),
          [a1] "r" (a[1]),
          [a2] "r" (a[2]),
          [a3] "r" (a[3]),
          [b0] "r" (b[0]),
          [b1] "r" (b[1]),
          [c0] "r" (c[0]),
          [c1] "r" (c[1]),
          [c2] "r" (c[2]),
          [c3] "r" (c[3]),
    );
    return @bitCast([4]u32{ d0, d1, d2, d3 });
}

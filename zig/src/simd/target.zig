//! The parameters of the routines of an instruction set, derived from the CPU that their module is compiled for (zig/compile.py).

const std = @import("std");
const fma = @import("fma.zig");

pub const Target = struct {
    name: []const u8,
    /// Bytes of a SIMD register.
    vector_bytes: usize,
    arithmetic: fma.Arithmetic,
    /// Columns of the register tiles of matmuls and of sweeps. Tiles are two vectors high, so that accumulators, operands and a factor fit the registers.
    tile_columns: usize,
    sweep_columns: usize,
};

/// 32 registers of 64 bytes with AVX-512, 16 of 32 bytes with AVX2 and FMA (x86-64-v3), else of 16 bytes: 16 and no fused
/// multiply-adds with SSE2, 32 and fused ones with NEON.
pub fn of(comptime cpu: std.Target.Cpu) Target {
    if (cpu.arch == .aarch64) return .{ .name = "generic", .vector_bytes = 16, .arithmetic = .fused, .tile_columns = 12, .sweep_columns = 12 };
    if (cpu.arch != .x86_64) @compileError("no routines for " ++ @tagName(cpu.arch));
    if (cpu.has(.x86, .avx512bf16) and cpu.has(.x86, .avx512vnni)) {
        return .{ .name = "avx512_dot", .vector_bytes = 64, .arithmetic = .dotted, .tile_columns = 12, .sweep_columns = 14 };
    }
    if (cpu.has(.x86, .avx512f)) return .{ .name = "avx512", .vector_bytes = 64, .arithmetic = .fused, .tile_columns = 12, .sweep_columns = 14 };
    if (cpu.has(.x86, .avx2)) return .{ .name = "avx2", .vector_bytes = 32, .arithmetic = .fused, .tile_columns = 6, .sweep_columns = 6 };
    return .{ .name = "generic", .vector_bytes = 16, .arithmetic = .separate, .tile_columns = 6, .sweep_columns = 6 };
}

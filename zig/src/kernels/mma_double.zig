//! Matmuls of float64 by mma.sync: the instructions, how tiles of operands lie in shared memory, and what a lane reads of them.
//!
//! A tile has 16 of k. Its rows in shared memory have 128 bytes: all of k for one of the outer dimension where k is contiguous, else 16 of the
//! outer dimension for one k, and the next 16 of the outer dimension behind the last k. The number of a chunk of 16 bytes is combined with the
//! row's.
//!
//! Which k, which row and which column stand for one of the instruction's is free as long as both operands and the result agree. So a lane reads
//! 16 bytes at a time, two numbers of adjacent k or of adjacent positions along the outer dimension, and lanes that are served together read from
//! all banks. Rows of an instruction are registers that are adjacent along the outer dimension: where only k is contiguous, lanes read 8 bytes
//! at a time, which need not be moved. Source: PTX ISA 7.8, "Matrix Fragments for mma.m16n8k8 with floating point type" (.f64).

const std = @import("std");
const builtin = @import("builtin");

const chunk_bytes = 16;
pub const row_bytes = 128;
pub const tile_k = 16;
/// Of k that a lane's two reads of a fragment cover.
pub const group_k = 8;
/// Numbers of the outer dimension that a fragment covers.
pub const side = 16;
/// From one 16 of the outer dimension to the next, where k is not contiguous.
const block_bytes = tile_k * row_bytes;

/// sm_80 has one instruction, of 8 x 8 results; sm_90 has those of 16 x 8 and several sizes of k.
const has_large_instructions = !std.mem.startsWith(u8, builtin.cpu.model.name, "sm_8");

/// What a lane has of 16 x 8 (outer x k), by the lower or higher slots of four of k and of eight of the outer dimension.
pub const Fragment = [2][2]f64;

/// Of a chunk of a tile. Lines and chunks are those of global memory: along k the chunks of a line of the outer dimension, or the other way
/// round.
pub inline fn address(line: u32, chunk: u32) u32 {
    return chunk / 8 * block_bytes + line * row_bytes + ((chunk % 8 ^ line % 8) * chunk_bytes);
}

/// How lanes read: two numbers, or one, and then of both operands.
pub const Reads = enum { wide, narrow };

pub fn Layout(comptime is_k_contiguous: bool, comptime reads: Reads) type {
    return struct {
        comptime {
            if (reads == .narrow and !is_k_contiguous) @compileError("single numbers are read where k is contiguous");
        }

        /// Which of 16 along the outer dimension stands at a position (0 to 7) of the lower or higher half of the instruction's. Positions of the
        /// higher half are those of the lower and one.
        pub inline fn outer(half: u32, position: u32) u32 {
            if (!is_k_contiguous) return position * 2 + half;
            // Lanes that are served together, of two positions or of four, need rows whose chunks are swizzled to different banks: rows that
            // differ in bit 2, or in bits 1 and 2.
            if (reads == .narrow) return half + position % 4 * 2 + position / 4 * 8;
            return half + (position / 2 % 2) * 2 + (position % 2) * 4 + position / 4 * 8;
        }

        /// The part of the tile from `first` (a multiple of 16) and the group-th 8 of k that a lane gives to instructions.
        pub inline fn fragment(tile: u32, first: u32, comptime group: u32, lane: u32) Fragment {
            const position = lane / 4;
            const quad = lane % 4;
            var result: Fragment = undefined;
            inline for (0..2) |i| {
                if (reads == .narrow) {
                    inline for (0..2) |j| {
                        const at = address(first + outer(i, position), group * (group_k / 2) + @as(u32, j) * 2 + quad / 2) + quad % 2 * 8;
                        const number: *addrspace(.shared) const f64 = @ptrFromInt(tile + at);
                        result[j][i] = number.*;
                    }
                } else {
                    const pair = group * (group_k / 2) + quad;
                    const at = if (is_k_contiguous) address(first + outer(i, position), pair) else address(pair * 2 + @as(u32, i), first / 2 + position);
                    const chunk: *align(chunk_bytes) addrspace(.shared) const @Vector(2, f64) = @ptrFromInt(tile + at);
                    const values = chunk.*;
                    inline for (0..2) |j| {
                        if (is_k_contiguous) result[j][i] = values[j] else result[i][j] = values[j];
                    }
                }
            }
            return result;
        }
    };
}

/// accumulators += a b for 16 x 8 results; `half` says which eight columns of b's 16.
pub inline fn multiply(comptime depth: u32, comptime half: u32, accumulators: [4]f64, a: Fragment, b: Fragment) [4]f64 {
    if (has_large_instructions and depth == 8) {
        return deep(accumulators, .{ a[0][0], a[0][1], a[1][0], a[1][1] }, .{ b[0][half], b[1][half] });
    }
    var result = accumulators;
    inline for (0..2) |i| {
        if (has_large_instructions) {
            result = flat(result, a[i], b[i][half]);
        } else {
            inline for (0..2) |rows| result[rows * 2 ..][0..2].* = small(result[rows * 2 ..][0..2].*, a[i][rows], b[i][half]);
        }
    }
    return result;
}

inline fn small(accumulators: [2]f64, a: f64, b: f64) [2]f64 {
    var d0: f64 = undefined;
    var d1: f64 = undefined;
    asm volatile ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%[d0], %[d1]}, {%[a]}, {%[b]}, {%[c0], %[c1]};"
        : [d0] "=d" (d0),
          [d1] "=d" (d1),
        : [a] "d" (a),
          [b] "d" (b),
          [c0] "d" (accumulators[0]),
          [c1] "d" (accumulators[1]),
    );
    return .{ d0, d1 };
}

inline fn flat(accumulators: [4]f64, a: [2]f64, b: f64) [4]f64 {
    var d0: f64 = undefined;
    var d1: f64 = undefined;
    var d2: f64 = undefined;
    var d3: f64 = undefined;
    asm volatile ("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%[d0], %[d1], %[d2], %[d3]}, {%[a0], %[a1]}, {%[b0]}, {%[c0], %[c1], %[c2], %[c3]};"
        : [d0] "=d" (d0),
          [d1] "=d" (d1),
          [d2] "=d" (d2),
          [d3] "=d" (d3),
        : [a0] "d" (a[0]),
          [a1] "d" (a[1]),
          [b0] "d" (b),
          [c0] "d" (accumulators[0]),
          [c1] "d" (accumulators[1]),
          [c2] "d" (accumulators[2]),
          [c3] "d" (accumulators[3]),
    );
    return .{ d0, d1, d2, d3 };
}

inline fn deep(accumulators: [4]f64, a: [4]f64, b: [2]f64) [4]f64 {
    var d0: f64 = undefined;
    var d1: f64 = undefined;
    var d2: f64 = undefined;
    var d3: f64 = undefined;
    asm volatile ("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%[d0], %[d1], %[d2], %[d3]}, {%[a0], %[a1], %[a2], %[a3]}, {%[b0], %[b1]}, {%[c0], %[c1], %[c2], %[c3]};"
        : [d0] "=d" (d0),
          [d1] "=d" (d1),
          [d2] "=d" (d2),
          [d3] "=d" (d3),
        : [a0] "d" (a[0]),
          [a1] "d" (a[1]),
          [a2] "d" (a[2]),
          [a3] "d" (a[3]),
          [b0] "d" (b[0]),
          [b1] "d" (b[1]),
          [c0] "d" (accumulators[0]),
          [c1] "d" (accumulators[1]),
          [c2] "d" (accumulators[2]),
          [c3] "d" (accumulators[3]),
    );
    return .{ d0, d1, d2, d3 };
}

//! Matmul by mma.sync of sm_80: float16, bfloat16, tf32 and int8.
//!
//! A block computes tile_m x tile_n, its warps part_m x part_n each. Tiles of k lie in a ring of `stages` in shared memory. Where rows are
//! aligned and ldmatrix can bring them into the order of the instruction, they are copied past the threads' registers, stages - 1 ahead;
//! otherwise they pass through registers, one ahead, and are transposed or filled up on the way.
//!
//! A row of shared memory is 128 bytes of k (or all of the outer dimension, for operands that are contiguous along it), in chunks of 16 bytes
//! whose number is combined with the row's, so that the eight rows of a matrix lie in different banks.

const std = @import("std");
const ampere = @import("ampere.zig");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const Result = @import("epilogue.zig").Result;
const source = @import("source.zig");
const variant = @import("variant");

const chunk_bytes = source.chunk_bytes;
const row_bytes = 128;

pub fn Generator(comptime v: variant.Matmul) type {
    return struct {
        const Stored = v.operand.Stored();
        const Sum = v.operand.Sum();
        const Output = v.output.Stored();
        const width = chunk_bytes / @sizeOf(Stored);
        const is_narrow = @sizeOf(Stored) == 2;
        const is_copied = v.is_aligned and (is_narrow or (!v.transpose_a and v.transpose_b));
        const A = Operand(v.tile_m, !v.transpose_a);
        const B = Operand(v.tile_n, v.transpose_b);
        const stage_bytes = A.bytes + B.bytes;
        const warps_n = v.tile_n / v.part_n;
        /// Instructions of a warp.
        const count_m = v.part_m / 16;
        const count_n = v.part_n / 8;

        comptime {
            if (v.tile_k * @sizeOf(Stored) != row_bytes) @compileError("tile_k is not 128 bytes");
            if (v.tile_m / v.part_m * warps_n * 32 != v.threads) @compileError("warps do not cover the tile");
        }

        /// One tile of the matmul of two sources.
        pub inline fn run(source_a: anytype, source_b: anytype, result: *const Result(v), first_m: u32, first_n: u32, k: u32) void {
            @setEvalBranchQuota(10_000_000);
            const thread = @workItemId(0);
            const base = (device.sharedAddress(hopper.shared) + row_bytes - 1) & ~@as(u32, row_bytes - 1);

            const warp = thread / 32;
            const row = warp / warps_n * v.part_m;
            const column = warp % warps_n * v.part_n;
            var accumulators: [count_m][count_n][4]Sum = @splat(@splat(@splat(0)));
            var done: u32 = 0;
            var slot: u32 = 0;
            if (is_copied) {
                inline for (0..v.stages - 1) |stage| {
                    const target = base + @as(u32, stage) * stage_bytes;
                    A.copy(source_a, first_m, target, stage * v.tile_k, thread);
                    B.copy(source_b, first_n, target + A.bytes, stage * v.tile_k, thread);
                    ampere.commitCopies();
                }
                while (done < k) : (done += v.tile_k) {
                    ampere.waitForCopies(v.stages - 2);
                    device.barrier();
                    const ahead = base + (if (slot == 0) v.stages - 1 else slot - 1) * stage_bytes;
                    A.copy(source_a, first_m, ahead, done + (v.stages - 1) * v.tile_k, thread);
                    B.copy(source_b, first_n, ahead + A.bytes, done + (v.stages - 1) * v.tile_k, thread);
                    ampere.commitCopies();
                    multiply(&accumulators, base + slot * stage_bytes, row, column, thread % 32);
                    slot = if (slot == v.stages - 1) 0 else slot + 1;
                }
            } else {
                var held_a: A.Held = undefined;
                var held_b: B.Held = undefined;
                A.load(source_a, first_m, &held_a, 0, thread);
                B.load(source_b, first_n, &held_b, 0, thread);
                while (done < k) {
                    A.store(&held_a, base + slot * stage_bytes, thread);
                    B.store(&held_b, base + slot * stage_bytes + A.bytes, thread);
                    device.barrier();
                    done += v.tile_k;
                    A.load(source_a, first_m, &held_a, done, thread);
                    B.load(source_b, first_n, &held_b, done, thread);
                    multiply(&accumulators, base + slot * stage_bytes, row, column, thread % 32);
                    slot ^= 1;
                }
            }

            // A thread has two adjacent columns of an instruction's eight, in two rows.
            const own_row = first_m + row + thread % 32 / 4;
            const own_column = first_n + column + thread % 4 * 2;
            inline for (0..count_m) |x| {
                inline for (0..count_n) |y| {
                    inline for (0..2) |half| {
                        const at_row = own_row + @as(u32, x) * 16 + @as(u32, half) * 8;
                        result.store(2, at_row, own_column + @as(u32, y) * 8, accumulators[x][y][half * 2 ..][0..2].*);
                    }
                }
            }
        }

        inline fn multiply(accumulators: *[count_m][count_n][4]Sum, stage: u32, row: u32, column: u32, lane: u32) void {
            inline for (0..row_bytes / (2 * chunk_bytes)) |step| {
                var parts_a: [count_m][4]u32 = undefined;
                inline for (0..count_m) |x| parts_a[x] = A.matrices(stage, row + @as(u32, x) * 16, step, .rows_first, lane);
                inline for (0..count_n / 2) |y| {
                    const both = B.matrices(stage + A.bytes, column + @as(u32, y) * 16, step, .k_first, lane);
                    inline for (0..2) |half| {
                        inline for (0..count_m) |x| {
                            const sum = &accumulators[x][y * 2 + half];
                            sum.* = ampere.multiply(v.operand, sum.*, parts_a[x], both[half * 2 ..][0..2].*);
                        }
                    }
                }
            }
        }

        /// In which order the four matrices of 8 x 16 bytes come out of a block of 16 rows and 32 bytes of k.
        const Order = enum { rows_first, k_first };

        fn Operand(comptime outer: u32, comptime is_k_contiguous: bool) type {
            return struct {
                /// As it lies in shared memory: rows of k unless copied as it is.
                const has_k_rows = is_k_contiguous or !is_copied;
                const line_bytes = if (has_k_rows) row_bytes else outer * @sizeOf(Stored);
                const bytes = outer * row_bytes;
                const chunks = bytes / chunk_bytes / v.threads;
                const lines_chunks = line_bytes / chunk_bytes;
                /// Chunks of a row in global memory.
                const row_chunks = if (is_k_contiguous) v.tile_k / width else outer / width;
                const Held = [chunks]source.Vector(Stored);

                comptime {
                    if (chunks * chunk_bytes * v.threads != bytes) @compileError("threads do not divide the tile");
                }

                inline fn address(line: u32, chunk: u32) u32 {
                    return line * line_bytes + ((chunk ^ (line & 7)) * chunk_bytes);
                }

                inline fn copy(from: anytype, first: u32, target: u32, k: u32, thread: u32) void {
                    inline for (0..chunks) |i| {
                        const index = thread + @as(u32, i) * v.threads;
                        const line = index / row_chunks;
                        const along = index % row_chunks * width;
                        const position = if (is_k_contiguous) from.find(first + line, k + along) else from.find(first + along, k + line);
                        // Where nothing is read the address still has to be one.
                        const ptr = if (position.inside != 0) position.ptr else from.start;
                        ampere.copy16(target + address(index / lines_chunks, index % lines_chunks), ptr, if (position.inside != 0) chunk_bytes else 0);
                    }
                }

                inline fn load(from: anytype, first: u32, held: *Held, k: u32, thread: u32) void {
                    inline for (0..chunks) |i| {
                        const index = thread + @as(u32, i) * v.threads;
                        const line = index / row_chunks;
                        const along = index % row_chunks * width;
                        held[i] = if (is_k_contiguous)
                            source.fetch(v.is_aligned, from, first + line, k + along)
                        else
                            source.fetch(v.is_aligned, from, first + along, k + line);
                    }
                }

                inline fn store(held: *const Held, target: u32, thread: u32) void {
                    inline for (0..chunks) |i| {
                        const index = thread + @as(u32, i) * v.threads;
                        const line = index / row_chunks;
                        const chunk = index % row_chunks;
                        if (is_k_contiguous) {
                            const position: *align(chunk_bytes) addrspace(.shared) @Vector(width, Stored) = @ptrFromInt(target + address(line, chunk));
                            position.* = held[i];
                        } else {
                            inline for (0..width) |j| {
                                const position: *addrspace(.shared) Stored = @ptrFromInt(target + address(chunk * width + @as(u32, j), line / width) + line % width * @sizeOf(Stored));
                                position.* = held[i][j];
                            }
                        }
                    }
                }

                /// Fragments of a block of 16 outer by two chunks of k.
                inline fn matrices(tile: u32, first: u32, comptime step: u32, comptime order: Order, lane: u32) [4]u32 {
                    const matrix = lane / 8;
                    // Which of the two halves along each dimension the lane's matrix is.
                    const half_outer = if (order == .rows_first) matrix % 2 else matrix / 2;
                    const half_k = if (order == .rows_first) matrix / 2 else matrix % 2;
                    if (has_k_rows) {
                        return ampere.loadMatrices(false, tile + address(first + half_outer * 8 + lane % 8, step * 2 + half_k));
                    }
                    return ampere.loadMatrices(true, tile + address(step * 16 + half_k * 8 + lane % 8, first / width + half_outer));
                }
            };
        }
    };
}

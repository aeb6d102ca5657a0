//! Matmul by the matrix instructions of AMD: MFMA of CDNA, WMMA of RDNA 3 and 4.
//!
//! A block computes tile_m x tile_n, its waves part_m x part_n each. Tiles of k go through registers into one of two buffers in shared memory
//! while the other is multiplied. Both lie there in rows of k, 16 bytes longer than their numbers, so that the lanes of a wave read from
//! different banks; operands that are contiguous along the outer dimension are transposed on the way.

const device = @import("device.zig");
const Result = @import("epilogue.zig").Result;
const source = @import("source.zig");
const variant = @import("variant");
const wave = @import("wave_instruction.zig");

const chunk_bytes = source.chunk_bytes;

pub fn Generator(comptime v: variant.Matmul) type {
    return struct {
        const Stored = v.operand.Stored();
        const width = chunk_bytes / @sizeOf(Stored);
        const Instruction = wave.Instruction(v.operand);
        const stride = v.tile_k + width;
        const A = Operand(v.tile_m, !v.transpose_a);
        const B = Operand(v.tile_n, v.transpose_b);
        const waves_n = v.tile_n / v.part_n;
        /// Instructions of a wave along both sides.
        const count_m = v.part_m / Instruction.side;
        const count_n = v.part_n / Instruction.side;
        /// Numbers that a lane reads at a time, for one or more instructions.
        const read = @max(width, Instruction.per_lane);
        const step = read * Instruction.k_groups;

        comptime {
            if (v.tile_m / v.part_m * waves_n * wave.wave_size != v.threads) @compileError("waves do not cover the tile");
            if (v.tile_k % step != 0) @compileError("tile_k is no multiple of what the instructions take");
        }

        var tiles_a: [2][v.tile_m * stride]Stored align(16) addrspace(.shared) = undefined;
        var tiles_b: [2][v.tile_n * stride]Stored align(16) addrspace(.shared) = undefined;

        /// One tile of the matmul of two sources.
        pub inline fn run(source_a: anytype, source_b: anytype, result: *const Result(v), first_m: u32, first_n: u32, k: u32) void {
            @setEvalBranchQuota(10_000_000);
            const thread = @workItemId(0);
            const lane = thread % wave.wave_size;
            const number = device.uniform(thread / wave.wave_size);
            const row = number / waves_n * v.part_m;
            const column = number % waves_n * v.part_n;

            var accumulators: [count_m][count_n]Instruction.Accumulators = @splat(@splat(@splat(0)));
            var held_a = A.load(source_a, first_m, 0, thread);
            var held_b = B.load(source_b, first_n, 0, thread);
            A.store(&held_a, &tiles_a[0], thread);
            B.store(&held_b, &tiles_b[0], thread);
            device.barrier();
            var next: u32 = 0;
            var buffer: u32 = 0;
            while (next < k) {
                next += v.tile_k;
                // Behind the last tile this loads nothing and stores zeros; see matmul_simt.zig.
                held_a = A.load(source_a, first_m, next, thread);
                held_b = B.load(source_b, first_n, next, thread);
                multiply(&accumulators, &tiles_a[buffer], &tiles_b[buffer], row, column, lane);
                buffer ^= 1;
                A.store(&held_a, &tiles_a[buffer], thread);
                B.store(&held_b, &tiles_b[buffer], thread);
                device.barrier();
            }

            inline for (0..count_m) |x| {
                inline for (0..count_n) |y| {
                    inline for (0..Instruction.per_result) |i| {
                        const at_row = first_m + row + @as(u32, x) * Instruction.side + Instruction.rowOf(i, lane);
                        const at_column = first_n + column + @as(u32, y) * Instruction.side + lane % Instruction.side;
                        result.store(1, at_row, at_column, .{accumulators[x][y][i]});
                    }
                }
            }
        }

        inline fn multiply(
            accumulators: *[count_m][count_n]Instruction.Accumulators,
            tile_a: *align(16) addrspace(.shared) const [v.tile_m * stride]Stored,
            tile_b: *align(16) addrspace(.shared) const [v.tile_n * stride]Stored,
            row: u32,
            column: u32,
            lane: u32,
        ) void {
            const inside = lane % Instruction.side * stride + (if (Instruction.k_groups == 1) 0 else lane / Instruction.side * read);
            inline for (0..v.tile_k / step) |i| {
                var parts_a: [count_m][read]Stored = undefined;
                var parts_b: [count_n][read]Stored = undefined;
                inline for (0..count_m) |x| parts_a[x] = fragment(tile_a, (row + @as(u32, x) * Instruction.side) * stride + inside + i * step);
                inline for (0..count_n) |y| parts_b[y] = fragment(tile_b, (column + @as(u32, y) * Instruction.side) * stride + inside + i * step);
                inline for (0..read / Instruction.per_lane) |part| {
                    inline for (0..count_m) |x| {
                        inline for (0..count_n) |y| {
                            const of_a: Instruction.Operand = parts_a[x][part * Instruction.per_lane ..][0..Instruction.per_lane].*;
                            const of_b: Instruction.Operand = parts_b[y][part * Instruction.per_lane ..][0..Instruction.per_lane].*;
                            accumulators[x][y] = Instruction.multiply(of_a, of_b, accumulators[x][y]);
                        }
                    }
                }
                device.pinSchedule();
            }
        }

        inline fn fragment(tile: anytype, at: usize) [read]Stored {
            var result: [read]Stored = undefined;
            inline for (0..read / width) |i| {
                const whole: *align(chunk_bytes) addrspace(.shared) const @Vector(width, Stored) = @ptrCast(@alignCast(&tile[at + i * width]));
                const values: [width]Stored = whole.*;
                result[i * width ..][0..width].* = values;
            }
            return result;
        }

        fn Operand(comptime outer: u32, comptime is_k_contiguous: bool) type {
            return struct {
                const chunks = outer * v.tile_k / width / v.threads;
                const row_chunks = if (is_k_contiguous) v.tile_k / width else outer / width;
                const Vector = source.Vector(Stored);
                const Held = [chunks]Vector;

                comptime {
                    if (chunks * v.threads * width != outer * v.tile_k) @compileError("threads do not divide the tile");
                }

                inline fn load(from: anytype, first: u32, k: u32, thread: u32) Held {
                    var held: Held = undefined;
                    inline for (0..chunks) |i| {
                        const index = thread + @as(u32, i) * v.threads;
                        const line = index / row_chunks;
                        const along = index % row_chunks * width;
                        held[i] = if (is_k_contiguous)
                            source.fetch(v.is_aligned, from, first + line, k + along)
                        else
                            source.fetch(v.is_aligned, from, first + along, k + line);
                    }
                    return held;
                }

                inline fn store(held: *const Held, tile: *align(16) addrspace(.shared) [outer * stride]Stored, thread: u32) void {
                    inline for (0..chunks) |i| {
                        const index = thread + @as(u32, i) * v.threads;
                        const line = index / row_chunks;
                        const position = index % row_chunks * width;
                        if (is_k_contiguous) {
                            const target: *align(chunk_bytes) addrspace(.shared) Vector = @ptrCast(@alignCast(&tile[line * stride + position]));
                            target.* = held[i];
                        } else {
                            inline for (0..width) |j| tile[(position + @as(u32, j)) * stride + line] = held[i][j];
                        }
                    }
                }
            };
        }
    };
}

//! Matmul by wgmma of sm_90a for numbers of 32 bits (tf32) whose second operand is contiguous along n.
//!
//! wgmma reads operands of 32 bits from shared memory only where they lie in rows of k; the other one may come from registers. So the matmul is
//! computed as its transpose: the second operand gives the rows of the instruction, from registers that each lane fills number by number from
//! the tile as TMA left it, and the first one, in rows of k, gives the columns. Everything else is that of matmul_wgmma.zig: one
//! warp group copies, the others multiply 64 columns of the result each, blocks stay for tile after tile.
//!
//! Results come out transposed as well. They go through shared memory, from where they are written line by line.

const device = @import("device.zig");
const hopper = @import("hopper.zig");
const Result = @import("epilogue.zig").Result;
const tile_order = @import("tile_order.zig");
const variant = @import("variant");

const group_threads = 128;
/// Rows of an instruction: columns of the result.
const rows = 64;
const map_bytes = 128;
/// Number of k in a tile, and numbers in TMA's rows.
const width = 32;
/// Number of k in one instruction.
const depth_k = 8;
/// `width` along n and all of a tile's k.
const block_bytes = width * hopper.swizzle_bytes;

pub fn Kernel(comptime v: variant.Matmul) type {
    return struct {
        const multipliers = v.threads / group_threads - 1;
        const Accumulators = hopper.Accumulators(v.operand, 1, v.tile_m);
        const bytes_a = v.tile_m * hopper.swizzle_bytes;
        const bytes_b = v.tile_n * hopper.swizzle_bytes;
        /// Rows of the result that are gathered at a time, and bytes of their part in one of the two buffers of a warp group.
        const slice = 32;
        const line_bytes = rows * 4;
        const gather_bytes = slice * line_bytes;
        /// Registers of a thread that copies and of one that multiplies; together as many as three warp groups have at the start.
        const few_registers = 40;
        const many_registers = 232;

        comptime {
            if (v.operand != .tf32 or v.transpose_a or v.transpose_b) @compileError("only tf32 operands as they are come this way");
            if (v.tile_k != width or v.tile_n != rows * multipliers or v.tile_m % slice != 0) @compileError("warp groups do not cover the tile");
        }

        pub fn kernel(
            a: device.Input(f32),
            b: device.Input(f32),
            c: device.Output(f32),
            bias: device.Input(f32),
            m: u32,
            n: u32,
            k: u32,
            lda: u32,
            ldb: u32,
            ldc: u32,
            alpha: f64,
            beta: f64,
            stride_a: u64,
            stride_b: u64,
            stride_c: u64,
            batch: u32,
            maps: device.Input(u8),
        ) callconv(device.convention) void {
            @setEvalBranchQuota(10_000_000);
            // The descriptors hold what these say; all matmuls take the same arguments.
            _ = .{ a, b, lda, ldb, stride_a, stride_b };
            Accumulators.declare();
            const thread = @workItemId(0);
            const base = (device.sharedAddress(hopper.shared) + 1023) & ~@as(u32, 1023);
            var position: Position = .{ .base = base };
            if (thread == 0) {
                for (0..v.stages) |_| {
                    hopper.initBarrier(position.full(), 1);
                    hopper.initBarrier(position.empty(), multipliers * group_threads / 32);
                    position.advance();
                }
                hopper.publishBarriers();
            }
            device.barrier();

            position = .{ .base = base };
            const count_m = (m - 1) / v.tile_m + 1;
            const count_n = (n - 1) / v.tile_n + 1;
            const tiles = count_m * count_n * batch;
            var index = @workGroupId(0);
            if (thread < group_threads) {
                if (multipliers > 1) hopper.releaseRegisters(few_registers);
                if (thread != 0) return;
                hopper.acquireMap(maps);
                hopper.acquireMap(maps + map_bytes);
                while (index < tiles) : (index += hopper.gridBlocks()) {
                    const tile = tile_order.tileOf(v.strip, index % (count_m * count_n), count_m, count_n);
                    const matrix = index / (count_m * count_n);
                    var done: u32 = 0;
                    while (done < k) : (done += width) {
                        hopper.wait(position.empty(), position.parity ^ 1);
                        hopper.expectBytes(position.full(), bytes_a + bytes_b);
                        hopper.copyBox(position.a(), maps, done, tile.m * v.tile_m, matrix, position.full());
                        inline for (0..v.tile_n / width) |i| {
                            const part: u32 = i;
                            hopper.copyBox(position.b() + part * block_bytes, maps + map_bytes, tile.n * v.tile_n + part * width, done, matrix, position.full());
                        }
                        position.advance();
                    }
                }
                return;
            }
            if (multipliers > 1) hopper.takeRegisters(many_registers);
            const group = thread / group_threads - 1;
            const own = thread % group_threads;
            while (index < tiles) : (index += hopper.gridBlocks()) {
                const tile = tile_order.tileOf(v.strip, index % (count_m * count_n), count_m, count_n);
                const matrix: u64 = index / (count_m * count_n);
                var done: u32 = 0;
                while (done < k) : (done += width) {
                    hopper.wait(position.full(), position.parity);
                    multiply(&position, group, own, @intFromBool(done != 0));
                    if (own % 32 == 0) hopper.arrive(position.empty());
                    position.advance();
                }
                const result: Result(v) = .init(c + matrix * stride_c, bias, m, n, ldc, alpha, beta);
                const first_m = tile.m * v.tile_m;
                const first_n = tile.n * v.tile_n + group * rows;
                if (result.beta == 0) {
                    storeThroughMemory(&result, base, group, own, first_m, first_n);
                } else {
                    store(&result, own, first_m, first_n);
                }
            }
        }

        /// Where the pipeline stands: a stage, the parity of its barriers' phase, and what lies where: tiles of both operands for each stage,
        /// the buffers for results, two barriers for each stage.
        const Position = struct {
            base: u32,
            stage: u32 = 0,
            parity: u32 = 0,

            inline fn a(self: *const Position) u32 {
                return self.base + self.stage * bytes_a;
            }

            inline fn b(self: *const Position) u32 {
                return self.base + v.stages * bytes_a + self.stage * bytes_b;
            }

            inline fn full(self: *const Position) u32 {
                return self.base + v.stages * (bytes_a + bytes_b) + multipliers * 2 * gather_bytes + self.stage * 8;
            }

            inline fn empty(self: *const Position) u32 {
                return self.full() + v.stages * 8;
            }

            inline fn advance(self: *Position) void {
                self.stage += 1;
                if (self.stage == v.stages) {
                    self.stage = 0;
                    self.parity ^= 1;
                }
            }
        };

        /// Which of a group's 64 columns of the result a lane has in the lower or higher eight rows of its warp's part of an instruction. Lanes
        /// that read together read all banks: four adjacent numbers each from two chunks, which the swizzle spreads for the four k's of a read.
        inline fn columnOf(thread: u32, comptime half: u32) u32 {
            const warp = thread / 32;
            const position = thread % 32 / 4;
            return warp / 2 * width + position / 4 * 16 + warp % 2 * 8 + half * 4 + position % 4;
        }

        /// While a group fills its registers the other one multiplies.
        inline fn multiply(position: *const Position, group: u32, thread: u32, keep: u32) void {
            var parts: [width / depth_k][4]u32 = undefined;
            const quad = thread % 4;
            inline for (0..2) |half| {
                const column = columnOf(thread, half);
                const block = position.b() + (group * (rows / width) + column / width) * block_bytes;
                inline for (0..2) |upper| {
                    const line = quad + upper * 4;
                    const at = block + line * hopper.swizzle_bytes + (column % width / 4 ^ line) * 16 + column % 4 * 4;
                    inline for (0..width / depth_k) |step| {
                        const from: *addrspace(.shared) const u32 = @ptrFromInt(at + step * depth_k * hopper.swizzle_bytes);
                        parts[step][upper * 2 + half] = from.*;
                    }
                }
            }
            const columns = hopper.describe(.k, 0, position.a());
            Accumulators.fence();
            inline for (0..width / depth_k) |step| {
                Accumulators.multiplyRegisters(0, .k, parts[step], columns + step * hopper.kStep(.k), if (step == 0) keep else 1);
            }
            Accumulators.commit();
            Accumulators.waitFor(0);
        }

        /// A thread has two adjacent rows of the result of every eight, in two columns.
        inline fn store(result: *const Result(v), thread: u32, first_m: u32, first_n: u32) void {
            inline for (0..v.tile_m / 8) |i| {
                inline for (0..2) |half| {
                    inline for (0..2) |j| {
                        const row = first_m + @as(u32, i) * 8 + thread % 4 * 2 + @as(u32, j);
                        result.storeOne(row, first_n + columnOf(thread, half), Accumulators.get(0, i * 4 + half * 2 + j));
                    }
                }
            }
        }

        /// Slices of 32 rows of the result go into one of two buffers and out of it line by line. The group meets once for each slice: who
        /// writes to a buffer again has met the others after they read it.
        inline fn storeThroughMemory(result: *const Result(v), base: u32, group: u32, thread: u32, first_m: u32, first_n: u32) void {
            const Chunk = @Vector(4, f32);
            inline for (0..v.tile_m / slice) |part_index| {
                const part: u32 = part_index;
                const buffer = base + v.stages * (bytes_a + bytes_b) + (group * 2 + part % 2) * gather_bytes;
                inline for (0..slice / 8) |i| {
                    inline for (0..2) |half| {
                        const column = columnOf(thread, half);
                        inline for (0..2) |j| {
                            const line = @as(u32, i) * 8 + thread % 4 * 2 + @as(u32, j);
                            const target: *addrspace(.shared) f32 = @ptrFromInt(buffer + line * line_bytes + (column / 4 ^ thread % 4) * 16 + column % 4 * 4);
                            target.* = result.finishOne(first_n + column, Accumulators.get(0, (part_index * (slice / 8) + i) * 4 + half * 2 + j));
                        }
                    }
                }
                hopper.groupSync(1 + group);
                inline for (0..slice * rows / 4 / group_threads) |i| {
                    const number = thread + @as(u32, i) * group_threads;
                    const line = number / (rows / 4);
                    const chunk = number % (rows / 4);
                    const from: *align(16) addrspace(.shared) const Chunk = @ptrFromInt(buffer + line * line_bytes + (chunk ^ line / 2 % 4) * 16);
                    result.storeWhole(4, first_m + part * slice + line, first_n + chunk * 4, from.*);
                }
            }
        }
    };
}

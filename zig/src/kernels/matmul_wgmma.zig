//! Matmul by wgmma of sm_90a.
//!
//! A block computes tiles of tile_m x tile_n, one after the other, as many blocks as the GPU has units. Its first warp group copies: one
//! thread asks TMA (the tensor memory accelerator) for tile after tile, up to `stages` ahead. The other warp groups multiply part_m rows each; the
//! engine's barriers tell them what has arrived, and they tell it what may be overwritten. Blocks of a cluster compute tiles below each
//! other and share the second operand: each fetches a part of it for all.
//!
//! Rows of shared memory have 128 bytes and are swizzled, so tile_k is 128 bytes of numbers. What lies outside the matrices arrives as zeros.

const std = @import("std");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const Result = @import("epilogue.zig").Result;
const tile_order = @import("tile_order.zig");
const variant = @import("variant");

const group_threads = 128;
/// Number of rows of one instruction.
const rows = 64;
const map_bytes = 128;

pub fn Kernel(comptime v: variant.Matmul) type {
    return struct {
        const Stored = v.operand.Stored();
        const Output = v.output.Stored();
        const width = hopper.swizzle_bytes / @sizeOf(Stored);
        const multipliers = v.threads / group_threads - 1;
        const repeats = v.part_m / rows;
        const majors: [2]hopper.Major = .{
            if (v.transpose_a) .outer else .k,
            if (v.transpose_b) .k else .outer,
        };
        const Accumulators = hopper.Accumulators(v.operand, repeats, v.tile_n);
        const bytes_a = v.tile_m * hopper.swizzle_bytes;
        const bytes_b = v.tile_n * hopper.swizzle_bytes;
        /// Of `width` numbers along the outer dimension and all of k, for operands that are contiguous along the outer dimension.
        const block_bytes = v.tile_k * hopper.swizzle_bytes;
        /// Of a slice of results: the rows of an instruction, 128 bytes each.
        const gather_bytes = rows * hopper.swizzle_bytes;
        /// Registers of a thread that copies and of one that multiplies; together as many as three warp groups have at the start. With two
        /// each has enough.
        const few_registers = 40;
        const many_registers = 232;

        comptime {
            if (v.tile_k != width) @compileError("tile_k is not 128 bytes");
            if (v.tile_m != v.part_m * multipliers or v.part_n != v.tile_n) @compileError("warp groups do not cover the tile");
            if (@sizeOf(Stored) != 2 and (majors[0] != .k or majors[1] != .k)) @compileError("only 16-bit numbers may be contiguous along m or n");
        }

        pub fn kernel(
            a: device.Input(Stored),
            b: device.Input(Stored),
            c: device.Output(Output),
            bias: device.Input(Output),
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
            const block = if (v.cluster > 1) hopper.blockInCluster() else 0;
            const memory: Memory = .init();
            if (thread == 0) {
                for (0..v.stages) |stage| {
                    hopper.initBarrier(memory.full(@intCast(stage)), 1);
                    hopper.initBarrier(memory.empty(@intCast(stage)), multipliers * v.cluster);
                }
                hopper.publishBarriers();
            }
            sync();

            const count_m = (m - 1) / (v.tile_m * v.cluster) + 1;
            const count_n = (n - 1) / v.tile_n + 1;
            const tiles = count_m * count_n * batch;
            // An empty sum (k = 0) takes one tile of zeros.
            const k_steps = if (k == 0) 1 else (k - 1) / v.tile_k + 1;
            var index = @workGroupId(0) / v.cluster;
            const step = hopper.gridBlocks() / v.cluster;
            var position: Position = .{};
            if (thread < group_threads) {
                if (multipliers > 1) hopper.releaseRegisters(few_registers);
                if (thread == 0) {
                    hopper.acquireMap(maps);
                    hopper.acquireMap(maps + map_bytes);
                    while (index < tiles) : (index += step) {
                        const tile = tile_order.tileOf(v.strip, index % (count_m * count_n), count_m, count_n);
                        const first_m = (tile.m * v.cluster + block) * v.tile_m;
                        for (0..k_steps) |i| {
                            const at: u32 = @intCast(i);
                            hopper.wait(memory.empty(position.stage), position.parity ^ 1);
                            hopper.expectBytes(memory.full(position.stage), bytes_a + bytes_b);
                            copy(&memory, maps, position.stage, block, first_m, tile.n * v.tile_n, at * v.tile_k, index / (count_m * count_n));
                            position.advance();
                        }
                    }
                }
            } else {
                if (multipliers > 1) hopper.takeRegisters(many_registers);
                const group = thread / group_threads - 1;
                if (v.stores == .engine) hopper.acquireMap(maps + 2 * map_bytes);
                while (index < tiles) : (index += step) {
                    const tile = tile_order.tileOf(v.strip, index % (count_m * count_n), count_m, count_n);
                    const first_m = (tile.m * v.cluster + block) * v.tile_m + group * v.part_m;
                    const source: u64 = index / (count_m * count_n);
                    multiply(&memory, &position, group, k_steps);
                    const result: Result(v) = .init(c + source * stride_c, bias, m, n, ldc, alpha, beta);
                    if (v.stores != .direct and result.beta == 0) {
                        const out = maps + 2 * map_bytes;
                        storeThroughMemory(&result, &memory, out, group, thread % group_threads, first_m, tile.n * v.tile_n, @intCast(source));
                    } else {
                        store(&result, thread % group_threads, first_m, tile.n * v.tile_n);
                    }
                }
            }
            // TMA reads shared memory until it has stored the last results.
            if (v.stores == .engine) hopper.waitForStores(0);
            // A block that other blocks still write to or signal must not end.
            if (v.cluster > 1) hopper.clusterSync();
        }

        inline fn sync() void {
            if (v.cluster > 1) hopper.clusterSync() else device.barrier();
        }

        /// Where the pipeline stands: which stage, and the parity of its barriers' phase.
        const Position = struct {
            stage: u32 = 0,
            parity: u32 = 0,

            inline fn advance(self: *Position) void {
                self.stage += 1;
                if (self.stage == v.stages) {
                    self.stage = 0;
                    self.parity ^= 1;
                }
            }
        };

        /// Addresses in shared memory: tiles of both operands for each stage, then two barriers for each stage.
        const Memory = struct {
            base: u32,

            inline fn init() Memory {
                // Swizzle patterns begin at multiples of their size; launches ask for as much more.
                return .{ .base = (device.sharedAddress(hopper.shared) + 1023) & ~@as(u32, 1023) };
            }

            inline fn a(self: *const Memory, stage: u32) u32 {
                return self.base + stage * bytes_a;
            }

            inline fn b(self: *const Memory, stage: u32) u32 {
                return self.base + v.stages * bytes_a + stage * bytes_b;
            }

            /// Two buffers for each warp group that multiplies, where results are gathered.
            inline fn results(self: *const Memory, group: u32, buffer: u32) u32 {
                return self.base + v.stages * (bytes_a + bytes_b) + (group * 2 + buffer) * gather_bytes;
            }

            inline fn full(self: *const Memory, stage: u32) u32 {
                return self.base + v.stages * (bytes_a + bytes_b) + (if (v.stores != .direct) multipliers * 2 * gather_bytes else 0) + stage * 8;
            }

            inline fn empty(self: *const Memory, stage: u32) u32 {
                return self.full(stage) + v.stages * 8;
            }
        };

        /// Asks for the tiles of one step; `first_k` is where it begins.
        inline fn copy(memory: *const Memory, maps: device.Input(u8), stage: u32, block: u32, first_m: u32, first_n: u32, first_k: u32, batch: u32) void {
            const full = memory.full(stage);
            if (majors[0] == .k) {
                hopper.copyBox(memory.a(stage), maps, first_k, first_m, batch, full);
            } else {
                inline for (0..v.tile_m / width) |i| {
                    const part: u32 = i;
                    hopper.copyBox(memory.a(stage) + part * block_bytes, maps, first_m + part * width, first_k, batch, full);
                }
            }
            const map = maps + map_bytes;
            const share = v.tile_n / v.cluster;
            if (majors[1] == .k) {
                copyShared(memory.b(stage) + block * share * hopper.swizzle_bytes, map, first_k, first_n + block * share, batch, full);
            } else {
                inline for (0..share / width) |i| {
                    const part = block * (share / width) + @as(u32, i);
                    copyShared(memory.b(stage) + part * block_bytes, map, first_n + part * width, first_k, batch, full);
                }
            }
        }

        inline fn copyShared(target: u32, map: device.Input(u8), x: u32, y: u32, z: u32, barrier: u32) void {
            if (v.cluster > 1) {
                hopper.copyBoxToCluster(target, map, x, y, z, barrier, (1 << v.cluster) - 1);
            } else {
                hopper.copyBox(target, map, x, y, z, barrier);
            }
        }

        inline fn multiply(memory: *const Memory, position: *Position, group: u32, k_steps: u32) void {
            var previous: u32 = 0;
            var i: u32 = 0;
            while (i < k_steps) : (i += 1) {
                hopper.wait(memory.full(position.stage), position.parity);
                const a = hopper.describe(majors[0], block_bytes, memory.a(position.stage) + group * v.part_m * hopper.swizzle_bytes);
                const b = hopper.describe(majors[1], block_bytes, memory.b(position.stage));
                Accumulators.fence();
                inline for (0..4) |step| {
                    inline for (0..repeats) |repeat| {
                        const offset = repeat * (rows * hopper.swizzle_bytes >> 4);
                        const keep: u32 = if (step == 0) @intFromBool(i != 0) else 1;
                        Accumulators.multiply(repeat, majors, a + offset + step * hopper.kStep(majors[0]), b + step * hopper.kStep(majors[1]), keep);
                    }
                }
                Accumulators.commit();
                // The step before this one has ended; what it read may be overwritten.
                Accumulators.waitFor(1);
                if (i > 0) release(memory, previous);
                previous = position.stage;
                position.advance();
            }
            Accumulators.waitFor(0);
            release(memory, previous);
        }

        inline fn release(memory: *const Memory, stage: u32) void {
            const thread = @workItemId(0) % group_threads;
            if (v.cluster > 1) {
                if (thread < v.cluster) hopper.arriveAt(memory.empty(stage), thread);
            } else if (thread == 0) {
                hopper.arrive(memory.empty(stage));
            }
        }

        /// A thread has two adjacent columns of every eight, in two rows (PTX ISA, "Register Fragments for wgmma").
        inline fn store(result: *const Result(v), thread: u32, first_m: u32, first_n: u32) void {
            const row = first_m + thread / 32 * 16 + thread % 32 / 4;
            const column = first_n + thread % 4 * 2;
            inline for (0..repeats) |repeat| {
                inline for (0..v.tile_n / 8) |i| {
                    inline for (0..2) |half| {
                        const accumulators = .{ Accumulators.get(repeat, i * 4 + half * 2), Accumulators.get(repeat, i * 4 + half * 2 + 1) };
                        result.store(2, row + @as(u32, repeat) * rows + @as(u32, half) * 8, column + @as(u32, i) * 8, accumulators);
                    }
                }
            }
        }

        /// Writes slices of 128 bytes of each row to shared memory, from where they go out line by line. Chunks of 16 bytes are swizzled as
        /// operands are. A slice has one of two buffers. Where threads read it, the group meets once for each slice: who writes to a buffer
        /// again has met the others after they read it. Where TMA does, one thread first waits until it has.
        inline fn storeThroughMemory(
            result: *const Result(v),
            memory: *const Memory,
            map: device.Input(u8),
            group: u32,
            thread: u32,
            first_m: u32,
            first_n: u32,
            batch: u32,
        ) void {
            const chunk = 16 / @sizeOf(Output);
            const slice = hopper.swizzle_bytes / @sizeOf(Output);
            const Chunk = @Vector(chunk, Output);
            const Pair = @Vector(2, Output);
            const row = thread / 32 * 16 + thread % 32 / 4;
            const column = thread % 4 * 2;
            inline for (0..repeats) |repeat_index| {
                const repeat: u32 = repeat_index;
                inline for (0..v.tile_n / slice) |part_index| {
                    const part: u32 = part_index;
                    const buffer = memory.results(group, (repeat * (v.tile_n / slice) + part) % 2);
                    if (v.stores == .engine) {
                        if (thread == 0) hopper.waitForStores(1);
                        hopper.groupSync(1 + group);
                    }
                    inline for (0..slice / 8) |index| {
                        const i: u32 = index;
                        inline for (0..2) |half_index| {
                            const half: u32 = half_index;
                            const register = (part * (slice / 8) + i) * 4 + half * 2;
                            const from = first_n + part * slice + i * 8 + column;
                            const pair: Pair = result.finishPair(from, .{ Accumulators.get(repeat, register), Accumulators.get(repeat, register + 1) });
                            const line = row + half * 8;
                            const position = i * 8 + column;
                            const at = buffer + line * hopper.swizzle_bytes + ((position / chunk) ^ (line & 7)) * 16 + position % chunk * @sizeOf(Output);
                            const target: *align(@sizeOf(Pair)) addrspace(.shared) Pair = @ptrFromInt(at);
                            target.* = pair;
                        }
                    }
                    if (v.stores == .engine) hopper.publishMemory();
                    hopper.groupSync(1 + group);
                    if (v.stores == .engine) {
                        if (thread == 0) hopper.storeBox(map, first_n + part * slice, first_m + repeat * rows, batch, buffer);
                        continue;
                    }
                    inline for (0..rows * 8 / group_threads) |i| {
                        const line = thread / 8 + @as(u32, i) * (group_threads / 8);
                        const number = thread % 8;
                        const at_row = first_m + repeat * rows + line;
                        const at_column = first_n + part * slice + number * chunk;
                        const from: *align(16) addrspace(.shared) const Chunk = @ptrFromInt(buffer + line * hopper.swizzle_bytes + (number ^ (line & 7)) * 16);
                        result.storeWhole(chunk, at_row, at_column, from.*);
                    }
                }
            }
        }
    };
}

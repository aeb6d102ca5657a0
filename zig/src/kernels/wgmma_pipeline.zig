//! Tiles of products by wgmma of sm_90a, for whatever TMA (the tensor memory accelerator) can copy: matrices, and the patches of images.
//!
//! A block computes tiles of tile_m x tile_n, one after the other, as many blocks as the GPU has units. Its first warp group copies: one
//! thread asks TMA for tile after tile, up to `stages` ahead. The other warp groups multiply part_m rows each; the
//! engine's barriers tell them what has arrived, and they tell it what may be overwritten. Blocks of a cluster compute tiles below each
//! other and share the second operand: each fetches a part of it for all.
//!
//! Rows of shared memory have 128 bytes and are swizzled, so tile_k is 128 bytes of numbers. What lies outside the operands arrives as zeros.

const std = @import("std");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const Result = @import("epilogue.zig").Result;
const tile_order = @import("tile_order.zig");
const variant = @import("variant");

const group_threads = 128;
/// Number of rows of one instruction.
const rows = 64;
pub const map_bytes = 128;

pub fn Pipeline(comptime v: variant.Matmul) type {
    return struct {
        const Stored = v.operand.Stored();
        const Output = v.output.Stored();
        /// Numbers of a row of shared memory.
        pub const width = hopper.swizzle_bytes / @sizeOf(Stored);
        const multipliers = v.threads / group_threads - 1;
        const repeats = v.part_m / rows;
        pub const majors: [2]hopper.Major = .{
            if (v.transpose_a) .outer else .k,
            if (v.transpose_b) .k else .outer,
        };
        const Accumulators = hopper.Accumulators(v.operand, repeats, v.tile_n);
        const bytes_a = v.tile_m * hopper.swizzle_bytes;
        const bytes_b = v.tile_n * hopper.swizzle_bytes;
        /// Of `width` numbers along the outer dimension and all of k, for operands that are contiguous along the outer dimension.
        pub const block_bytes = v.tile_k * hopper.swizzle_bytes;
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

        /// Computes every tile that is this block's. `work` says how many tiles and steps of k there are (count_m, count_n, batch, k_steps), where
        /// the engine's descriptors lie (maps), how a tile is copied (reader) and where its results go (result).
        pub inline fn run(work: anytype) void {
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

            const tiles_of_one = work.count_m * work.count_n;
            const tiles = tiles_of_one * work.batch;
            var index = @workGroupId(0) / v.cluster;
            const step = hopper.gridBlocks() / v.cluster;
            var position: Position = .{};
            if (thread < group_threads) {
                if (multipliers > 1) hopper.releaseRegisters(few_registers);
                if (thread == 0) {
                    hopper.acquireMap(work.maps);
                    hopper.acquireMap(work.maps + map_bytes);
                    while (index < tiles) : (index += step) {
                        const tile = tile_order.tileOf(v.strip, index % tiles_of_one, work.count_m, work.count_n);
                        const first_m = (tile.m * v.cluster + block) * v.tile_m;
                        const reader = work.reader(block, first_m, tile.n * v.tile_n, index / tiles_of_one);
                        for (0..work.k_steps) |i| {
                            hopper.wait(memory.empty(position.stage), position.parity ^ 1);
                            hopper.expectBytes(memory.full(position.stage), bytes_a + bytes_b);
                            reader.copy(&memory, position.stage, @intCast(i));
                            position.advance();
                        }
                    }
                }
            } else {
                if (multipliers > 1) hopper.takeRegisters(many_registers);
                const group = thread / group_threads - 1;
                if (v.stores == .engine) hopper.acquireMap(work.maps + 2 * map_bytes);
                while (index < tiles) : (index += step) {
                    const tile = tile_order.tileOf(v.strip, index % tiles_of_one, work.count_m, work.count_n);
                    const first_m = (tile.m * v.cluster + block) * v.tile_m + group * v.part_m;
                    const source = index / tiles_of_one;
                    multiply(&memory, &position, group, work.k_steps);
                    const result: Result(v) = work.result(source);
                    if (v.stores != .direct and result.beta == 0) {
                        const out = work.maps + 2 * map_bytes;
                        storeThroughMemory(&result, &memory, out, group, thread % group_threads, first_m, tile.n * v.tile_n, source);
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
        pub const Memory = struct {
            base: u32,

            inline fn init() Memory {
                // Swizzle patterns begin at multiples of their size; launches ask for as much more.
                return .{ .base = (device.sharedAddress(hopper.shared) + 1023) & ~@as(u32, 1023) };
            }

            pub inline fn a(self: *const Memory, stage: u32) u32 {
                return self.base + stage * bytes_a;
            }

            pub inline fn b(self: *const Memory, stage: u32) u32 {
                return self.base + v.stages * bytes_a + stage * bytes_b;
            }

            /// Two buffers for each warp group that multiplies, where results are gathered.
            inline fn results(self: *const Memory, group: u32, buffer: u32) u32 {
                return self.base + v.stages * (bytes_a + bytes_b) + (group * 2 + buffer) * gather_bytes;
            }

            pub inline fn full(self: *const Memory, stage: u32) u32 {
                return self.base + v.stages * (bytes_a + bytes_b) + (if (v.stores != .direct) multipliers * 2 * gather_bytes else 0) + stage * 8;
            }

            inline fn empty(self: *const Memory, stage: u32) u32 {
                return self.full(stage) + v.stages * 8;
            }
        };

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

//! The gradients of attention by keys and values, (p (v g^T - level)) q scale and p g, where p = 2^(scores - logarithm) has a row for each key, by wgmma,
//! without scores in memory.
//!
//! A block computes 128 keys of a head, 64 in each of two warp groups; the queries that see them come in steps, with their gradients, logarithms
//! and levels, of one head of queries after the other. The order is that of the shape, so results are the same in every run.

const std = @import("std");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const shared = @import("attention_tiles.zig");
const variant = @import("variant");

const Position = shared.Position;
const Source = shared.Source;

pub fn Kernel(comptime v: variant.Attention) type {
    return struct {
        const Tiles = shared.Tiles(v);
        const Stored = Tiles.Stored;
        const Scores = hopper.Named("score", v.number, 1, v.tile);
        const Slopes = hopper.Named("slope", v.number, 1, v.tile);
        const ByKeys = hopper.Named("key_sum", v.number, 1, v.size);
        const ByValues = hopper.Named("value_sum", v.number, 1, v.size);
        const tile_bytes = Tiles.bytes(v.tile);
        const line_bytes = v.tile * @sizeOf(f32);

        pub fn kernel(
            by_keys: device.Output(Stored),
            by_values: device.Output(Stored),
            gradient: device.Input(Stored),
            logarithms: device.Output(f32),
            levels: device.Output(f32),
            queries: u32,
            keys: u32,
            group_heads: u32,
            size: u32,
            heads: u32,
            following: u32,
            is_causal: u32,
            scale: f64,
            maps: device.Input(u8),
        ) callconv(device.convention) void {
            @setEvalBranchQuota(10_000_000);
            // All kernels of attention take the same arguments.
            _ = gradient;
            Scores.declare();
            Slopes.declare();
            ByKeys.declare();
            ByValues.declare();
            const thread = @workItemId(0);
            const memory: Memory = .{ .base = shared.sharedBase() };
            if (thread == 0) memory.initBarriers();
            device.barrier();

            const tiles = (keys - 1) / Tiles.own_rows + 1;
            const head = @workGroupId(0) / tiles;
            // The longest come first: later keys are seen by fewer queries.
            const first = @workGroupId(0) % tiles * Tiles.own_rows;
            const first_step = if (is_causal != 0) first / v.tile else 0;
            const all_steps = (queries - 1) / v.tile + 1;
            const work: Work = .{
                .logarithms = logarithms,
                .levels = levels,
                .following = following,
                .first = first,
                .head = head,
                .group_heads = group_heads,
                .heads = heads,
                .first_step = first_step,
                .steps = if (all_steps > first_step) all_steps - first_step else 0,
                .is_causal = is_causal != 0,
                .scale = @as(f32, @floatCast(scale)) * std.math.log2e,
            };
            if (thread < shared.group_threads) {
                hopper.releaseRegisters(shared.few_registers);
                if (thread == 0) copyAll(&memory, maps, &work);
                return;
            }
            hopper.takeRegisters(shared.many_registers);
            const group = thread / shared.group_threads - 1;
            sum(&memory, &work, group, thread % shared.group_threads);
            const factor: f32 = @floatCast(scale);
            const start = @as(u64, head) * keys * size;
            Tiles.store(ByKeys, memory.keys(), group, by_keys + start, first, keys, size, .{ factor, factor });
            Tiles.store(ByValues, memory.values(), group, by_values + start, first, keys, size, .{ 1, 1 });
        }

        const Work = struct {
            logarithms: device.Output(f32),
            levels: device.Output(f32),
            following: u32,
            /// Of the block's keys.
            first: u32,
            head: u32,
            group_heads: u32,
            /// Of queries in a batch.
            heads: u32,
            /// Of queries that see a key of the block.
            first_step: u32,
            steps: u32,
            is_causal: bool,
            scale: f32,
        };

        inline fn copyAll(memory: *const Memory, maps: device.Input(u8), work: *const Work) void {
            inline for (.{ Source.queries, Source.keys, Source.values, Source.gradient }) |source| hopper.acquireMap(source.map(maps));
            hopper.expectBytes(memory.ownFull(), 2 * Tiles.bytes(Tiles.own_rows));
            const key_head: shared.Head = .of(work.head, work.heads / work.group_heads);
            Tiles.copy(Tiles.own_rows, memory.keys(), Source.keys.map(maps), work.first, key_head, memory.ownFull());
            Tiles.copy(Tiles.own_rows, memory.values(), Source.values.map(maps), work.first, key_head, memory.ownFull());
            var position: Position = .{};
            for (0..work.group_heads) |member| {
                const head = work.head * work.group_heads + @as(u32, @intCast(member));
                const own_head: shared.Head = .of(head, work.heads);
                for (0..work.steps) |step| {
                    const query = (work.first_step + @as(u32, @intCast(step))) * v.tile;
                    const stage = position.stage;
                    const place = @as(u64, head) * work.following + query;
                    hopper.wait(memory.empty(stage), position.parity ^ 1);
                    hopper.expectBytes(memory.full(0, stage), tile_bytes + line_bytes);
                    Tiles.copy(v.tile, memory.tile(0, stage), Source.queries.map(maps), query, own_head, memory.full(0, stage));
                    hopper.copyLine(memory.line(0, stage), work.logarithms + place, line_bytes, memory.full(0, stage));
                    hopper.expectBytes(memory.full(1, stage), tile_bytes + line_bytes);
                    Tiles.copy(v.tile, memory.tile(1, stage), Source.gradient.map(maps), query, own_head, memory.full(1, stage));
                    hopper.copyLine(memory.line(1, stage), work.levels + place, line_bytes, memory.full(1, stage));
                    position = position.after(v.stages);
                }
            }
        }

        inline fn sum(memory: *const Memory, work: *const Work, group: u32, thread: u32) void {
            var position: Position = .{};
            ByKeys.clear();
            ByValues.clear();
            hopper.wait(memory.ownFull(), 0);
            for (0..work.group_heads) |_| {
                for (0..work.steps) |step| {
                    const query = (work.first_step + @as(u32, @intCast(step))) * v.tile;
                    add(memory, work, group, thread, query, position);
                    position = position.after(v.stages);
                }
            }
        }

        /// What the queries of a step add.
        inline fn add(memory: *const Memory, work: *const Work, group: u32, thread: u32, query: u32, position: Position) void {
            const stage = position.stage;
            hopper.wait(memory.full(0, stage), position.parity);
            Scores.fence();
            Tiles.multiply(Scores, Tiles.ofGroup(memory.keys(), group), memory.tile(0, stage));
            hopper.wait(memory.full(1, stage), position.parity);
            Tiles.multiply(Slopes, Tiles.ofGroup(memory.values(), group), memory.tile(1, stage));
            Scores.waitFor(1);
            var found = Tiles.values(Scores);
            const key = work.first + group * shared.rows;
            if (work.is_causal and query < key + shared.rows - 1) {
                var limits: [2]i32 = undefined;
                const row = key + thread / 32 * 16 + thread % 32 / 4;
                inline for (0..2) |half| limits[half] = @as(i32, @intCast(row + half * 8)) - @as(i32, @intCast(query));
                Tiles.hide(&found, .before, thread, limits);
            }
            inline for (0..v.tile / 8) |i| {
                const logarithms = memory.pair(0, stage, i, thread);
                inline for (0..4) |j| {
                    const value = &found[i * 4 + j];
                    value.* = shared.power(@mulAdd(f32, value.*, work.scale, -logarithms[j % 2]));
                }
            }
            const shares = Tiles.pack(&found);
            Scores.fence();
            Tiles.accumulate(ByValues, &shares, memory.tile(1, stage));
            Scores.waitFor(1);
            inline for (0..v.tile / 8) |i| {
                const levels = memory.pair(1, stage, i, thread);
                inline for (0..4) |j| found[i * 4 + j] *= Slopes.get(0, i * 4 + j) - levels[j % 2];
            }
            const parts = Tiles.pack(&found);
            Scores.fence();
            Tiles.accumulate(ByKeys, &parts, memory.tile(0, stage));
            Scores.waitFor(0);
            // Each warp reads logarithms and levels by itself.
            hopper.arriveFirst(memory.empty(stage), thread % 32);
        }

        /// Addresses in shared memory: keys, values, stages of queries and of their gradients, of logarithms and levels, barriers.
        const Memory = struct {
            base: u32,
            const own_bytes = Tiles.bytes(Tiles.own_rows);
            const lines_begin = 2 * own_bytes + 2 * v.stages * tile_bytes;
            const barriers_begin = lines_begin + 2 * v.stages * line_bytes;

            inline fn keys(self: *const Memory) u32 {
                return self.base;
            }

            inline fn values(self: *const Memory) u32 {
                return self.base + own_bytes;
            }

            /// Of queries (side 0) or their gradients (side 1).
            inline fn tile(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.base + 2 * own_bytes + (side * v.stages + stage) * tile_bytes;
            }

            /// Logarithms (side 0) or levels (side 1).
            inline fn line(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.base + lines_begin + (side * v.stages + stage) * line_bytes;
            }

            /// Those of a thread's two columns of eight.
            inline fn pair(self: *const Memory, comptime side: u32, stage: u32, comptime i: u32, thread: u32) [2]f32 {
                const from: *align(8) addrspace(.shared) const volatile @Vector(2, f32) = @ptrFromInt(self.line(side, stage) + i * 32 + thread % 4 * 8);
                return from.*;
            }

            inline fn full(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.base + barriers_begin + (side * v.stages + stage) * 8;
            }

            inline fn empty(self: *const Memory, stage: u32) u32 {
                return self.full(2, stage);
            }

            inline fn ownFull(self: *const Memory) u32 {
                return self.full(3, 0);
            }

            inline fn initBarriers(self: *const Memory) void {
                for (0..v.stages) |stage| {
                    inline for (0..2) |side| hopper.initBarrier(self.full(side, @intCast(stage)), 1);
                    hopper.initBarrier(self.empty(@intCast(stage)), Tiles.multipliers * shared.group_threads / 32);
                }
                hopper.initBarrier(self.ownFull(), 1);
                hopper.publishBarriers();
            }
        };
    };
}

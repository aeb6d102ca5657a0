//! The gradient of attention by queries: by = (p (g v^T - level)) k scale, where p = 2^(scores - logarithm), by wgmma, without scores in memory.
//!
//! A block computes 128 queries of a head, 64 in each of two warp groups; keys and values come in steps. What a step's keys are added up by is
//! multiplied before the scores of the next one.

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
        const Sums = hopper.Named("sum", v.number, 1, v.size);
        const tile_bytes = Tiles.bytes(v.tile);

        pub fn kernel(
            result: device.Output(Stored),
            second: device.Output(Stored),
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
            _ = .{ second, gradient };
            Scores.declare();
            Slopes.declare();
            Sums.declare();
            const thread = @workItemId(0);
            const memory: Memory = .{ .base = shared.sharedBase() };
            if (thread == 0) memory.initBarriers();
            device.barrier();

            const tiles = (queries - 1) / Tiles.own_rows + 1;
            const head = @workGroupId(0) / tiles;
            // The longest come first, where later queries see more keys.
            const first = (tiles - 1 - @workGroupId(0) % tiles) * Tiles.own_rows;
            const end = if (is_causal != 0) @min(keys, first + Tiles.own_rows) else keys;
            const steps = (end - 1) / v.tile + 1;
            if (thread < shared.group_threads) {
                hopper.releaseRegisters(shared.few_registers);
                if (thread == 0) copyAll(&memory, maps, first, .of(head, heads), .of(head / group_heads, heads / group_heads), steps);
                return;
            }
            hopper.takeRegisters(shared.many_registers);
            const group = thread / shared.group_threads - 1;
            const own = thread % shared.group_threads;
            const row = first + group * shared.rows + own / 32 * 16 + own % 32 / 4;
            const place = @as(u64, head) * following + row;
            const factor: f32 = @floatCast(scale);
            const rows: Rows = .{
                .thread = own,
                .row = row,
                .keys = keys,
                .is_causal = is_causal != 0,
                .scale = factor * std.math.log2e,
                .logarithms = .{ logarithms[place], logarithms[place + 8] },
                .levels = .{ levels[place], levels[place + 8] },
            };
            sum(&memory, &rows, group, steps);
            Tiles.store(Sums, memory.queries(), group, result + @as(u64, head) * queries * size, first, queries, size, .{ factor, factor });
        }

        inline fn copyAll(memory: *const Memory, maps: device.Input(u8), first: u32, head: shared.Head, key_head: shared.Head, steps: u32) void {
            inline for (.{ Source.queries, Source.keys, Source.values, Source.gradient }) |source| hopper.acquireMap(source.map(maps));
            hopper.expectBytes(memory.ownFull(), 2 * Tiles.bytes(Tiles.own_rows));
            Tiles.copy(Tiles.own_rows, memory.queries(), Source.queries.map(maps), first, head, memory.ownFull());
            Tiles.copy(Tiles.own_rows, memory.gradient(), Source.gradient.map(maps), first, head, memory.ownFull());
            var position: Position = .{};
            for (0..steps) |step| {
                const key = @as(u32, @intCast(step)) * v.tile;
                inline for (.{ Source.keys, Source.values }, 0..) |source, side| {
                    hopper.wait(memory.empty(side, position.stage), position.parity ^ 1);
                    hopper.expectBytes(memory.full(side, position.stage), tile_bytes);
                    Tiles.copy(v.tile, memory.tile(side, position.stage), source.map(maps), key, key_head, memory.full(side, position.stage));
                }
                position = position.after(v.stages);
            }
        }

        /// Scores and slopes, g v^T, of a step.
        inline fn multiply(memory: *const Memory, group: u32, stage: u32) void {
            Tiles.multiply(Scores, Tiles.ofGroup(memory.queries(), group), memory.tile(0, stage));
            Tiles.multiply(Slopes, Tiles.ofGroup(memory.gradient(), group), memory.tile(1, stage));
        }

        /// Sums of keys of all steps.
        inline fn sum(memory: *const Memory, rows: *const Rows, group: u32, steps: u32) void {
            const order: shared.Order = .{ .group = group };
            var position: Position = .{};
            if (v.alternates) order.open();
            Sums.clear();
            hopper.wait(memory.ownFull(), 0);
            hopper.wait(memory.full(0, 0), 0);
            hopper.wait(memory.full(1, 0), 0);
            Scores.fence();
            multiply(memory, group, 0);
            Scores.waitFor(0);
            memory.release(1, 0);
            var step: u32 = 1;
            while (step < steps) : (step += 1) {
                const parts = rows.parts((step - 1) * v.tile);
                const next = position.after(v.stages);
                hopper.wait(memory.full(0, next.stage), next.parity);
                hopper.wait(memory.full(1, next.stage), next.parity);
                if (v.alternates) order.wait();
                Scores.fence();
                Tiles.accumulate(Sums, &parts, memory.tile(0, position.stage));
                multiply(memory, group, next.stage);
                if (v.alternates) order.pass(step + 1 == steps);
                Scores.waitFor(2);
                memory.release(0, position.stage);
                Scores.waitFor(0);
                memory.release(1, next.stage);
                position = next;
            }
            const parts = rows.parts((steps - 1) * v.tile);
            Scores.fence();
            Tiles.accumulate(Sums, &parts, memory.tile(0, position.stage));
            Scores.waitFor(0);
        }

        /// What is known of a thread's two rows.
        const Rows = struct {
            thread: u32,
            row: u32,
            keys: u32,
            is_causal: bool,
            scale: f32,
            logarithms: [2]f32,
            levels: [2]f32,

            /// The gradients by a step's scores.
            inline fn parts(self: *const Rows, first_key: u32) Tiles.Parts {
                var found = Tiles.values(Scores);
                const sees = if (self.is_causal) @min(self.keys, self.row / shared.rows * shared.rows + 1) else self.keys;
                if (first_key + v.tile > sees) {
                    var limits: [2]i32 = undefined;
                    inline for (0..2) |half| {
                        const visible = if (self.is_causal) @min(self.keys, self.row + half * 8 + 1) else self.keys;
                        limits[half] = @as(i32, @intCast(visible)) - @as(i32, @intCast(first_key));
                    }
                    Tiles.hide(&found, .behind, self.thread, limits);
                }
                inline for (0..v.tile / 8) |i| {
                    inline for (0..4) |j| {
                        const value = &found[i * 4 + j];
                        const power = shared.power(@mulAdd(f32, value.*, self.scale, -self.logarithms[j / 2]));
                        value.* = power * (Slopes.get(0, i * 4 + j) - self.levels[j / 2]);
                    }
                }
                return Tiles.pack(&found);
            }
        };

        /// Addresses in shared memory: queries, their gradients, stages of keys and of values, barriers.
        const Memory = struct {
            base: u32,
            const own_bytes = Tiles.bytes(Tiles.own_rows);
            const barriers_begin = 2 * own_bytes + 2 * v.stages * tile_bytes;

            inline fn queries(self: *const Memory) u32 {
                return self.base;
            }

            inline fn gradient(self: *const Memory) u32 {
                return self.base + own_bytes;
            }

            /// Of keys (side 0) or values (side 1).
            inline fn tile(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.base + 2 * own_bytes + (side * v.stages + stage) * tile_bytes;
            }

            inline fn full(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.base + barriers_begin + (side * v.stages + stage) * 8;
            }

            inline fn empty(self: *const Memory, comptime side: u32, stage: u32) u32 {
                return self.full(2 + side, stage);
            }

            inline fn ownFull(self: *const Memory) u32 {
                return self.full(4, 0);
            }

            inline fn initBarriers(self: *const Memory) void {
                inline for (0..2) |side| {
                    for (0..v.stages) |stage| {
                        hopper.initBarrier(self.full(side, @intCast(stage)), 1);
                        hopper.initBarrier(self.empty(side, @intCast(stage)), Tiles.multipliers);
                    }
                }
                hopper.initBarrier(self.ownFull(), 1);
                hopper.publishBarriers();
            }

            inline fn release(self: *const Memory, comptime side: u32, stage: u32) void {
                hopper.arriveFirst(self.empty(side, stage), @workItemId(0) % shared.group_threads);
            }
        };
    };
}

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
        const Memory = shared.Memory(v, 2);

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
            Tiles.store(Sums, memory.own(0), group, result + @as(u64, head) * queries * size, first, queries, size, .{ factor, factor });
        }

        inline fn copyAll(memory: *const Memory, maps: device.Input(u8), first: u32, head: shared.Head, key_head: shared.Head, steps: u32) void {
            inline for (.{ Source.queries, Source.keys, Source.values, Source.gradient }) |source| hopper.acquireMap(source.map(maps));
            hopper.expectBytes(memory.ownFull(), 2 * Tiles.bytes(Tiles.own_rows));
            Tiles.copy(Tiles.own_rows, memory.own(0), Source.queries.map(maps), first, head, memory.ownFull());
            Tiles.copy(Tiles.own_rows, memory.own(1), Source.gradient.map(maps), first, head, memory.ownFull());
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
            Tiles.multiply(Scores, Tiles.ofGroup(memory.own(0), group), memory.tile(0, stage));
            Tiles.multiply(Slopes, Tiles.ofGroup(memory.own(1), group), memory.tile(1, stage));
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
    };
}

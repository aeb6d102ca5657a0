//! softmax(q k^T scale) v by wgmma, without scores in memory (Dao et al. 2022, Shah et al. 2024), and what gradients need of it: of each query the
//! logarithm of the sum of its powers, to the base 2, and its level, the sum of the result's elements times their gradients.
//!
//! A block computes 128 queries of a head, 64 in each of two warp groups; keys and values come in steps. While a group computes powers the other
//! one multiplies. A step's scores are multiplied behind the values of the step before.

const std = @import("std");
const device = @import("device.zig");
const hopper = @import("hopper.zig");
const number = @import("number.zig");
const shared = @import("attention_tiles.zig");
const variant = @import("variant");

const Position = shared.Position;
const Source = shared.Source;

/// What is written: the result, that with a mask, or logarithms and levels.
pub const Purpose = enum { result, masked, levels };

/// What is added to scores, or truth values that hide keys where they are false.
const Mask = struct {
    start: device.Input(u8),
    format: enum(u32) { number, truth },
    queries: u32,
    keys: u32,
    /// From one query and from one key to the next, in elements.
    stride_query: u32,
    stride_key: u32,

    /// The addend of a score, to the base 2.
    inline fn at(self: *const Mask, comptime number_format: variant.Number, comptime format: anytype, row: u32, key: u32) f32 {
        // What lies outside is not used, but has to be read somewhere.
        const place = @as(u64, @min(row, self.queries - 1)) * self.stride_query + @as(u64, @min(key, self.keys - 1)) * self.stride_key;
        return switch (format) {
            .truth => if (self.start[place] != 0) 0 else -std.math.inf(f32),
            .number => std.math.log2e * number.toSum(number_format, @as(device.Input(number_format.Stored()), @ptrCast(@alignCast(self.start)))[place]),
        };
    }
};

pub fn Kernel(comptime v: variant.Attention, comptime purpose: Purpose) type {
    return struct {
        const Tiles = shared.Tiles(v);
        const Stored = Tiles.Stored;
        const Scores = hopper.Named("score", v.number, 1, v.tile);
        const Sums = hopper.Named("sum", v.number, 1, v.size);
        const tile_bytes = Tiles.bytes(v.tile);
        const Memory = shared.Memory(v, 1);

        pub const kernel = if (purpose == .masked) withMask else withoutMask;

        /// Of queries, keys and values; `following` rows of logarithms and levels lie between heads.
        fn withoutMask(
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
            // All kernels of attention take the same arguments.
            _ = second;
            const call: Call = .{
                .result = result,
                .gradient = gradient,
                .logarithms = logarithms,
                .levels = levels,
                .queries = queries,
                .keys = keys,
                .group_heads = group_heads,
                .size = size,
                .heads = heads,
                .following = following,
                .is_causal = is_causal != 0,
                .scale = @as(f32, @floatCast(scale)) * std.math.log2e,
                .maps = maps,
            };
            run(&call, {});
        }

        /// With a mask of (batches, heads of a batch, queries, keys), whose strides are 0 along what it does not have.
        fn withMask(
            result: device.Output(Stored),
            queries: u32,
            keys: u32,
            group_heads: u32,
            size: u32,
            heads: u32,
            is_causal: u32,
            scale: f64,
            maps: device.Input(u8),
            mask: device.Input(u8),
            mask_format: u32,
            stride_batch: u64,
            stride_head: u64,
            stride_query: u32,
            stride_key: u32,
        ) callconv(device.convention) void {
            const call: Call = .{
                .result = result,
                .queries = queries,
                .keys = keys,
                .group_heads = group_heads,
                .size = size,
                .heads = heads,
                .is_causal = is_causal != 0,
                .scale = @as(f32, @floatCast(scale)) * std.math.log2e,
                .maps = maps,
            };
            const head = call.head();
            const item_bytes: u64 = if (mask_format == 0) @sizeOf(Stored) else 1;
            const own: Mask = .{
                .start = mask + (head / heads * stride_batch + head % heads * stride_head) * item_bytes,
                .format = @fromBackingInt(@intCast(mask_format)),
                .queries = queries,
                .keys = keys,
                .stride_query = stride_query,
                .stride_key = stride_key,
            };
            run(&call, &own);
        }

        const Call = struct {
            result: device.Output(Stored),
            gradient: device.Input(Stored) = undefined,
            logarithms: device.Output(f32) = undefined,
            levels: device.Output(f32) = undefined,
            queries: u32,
            keys: u32,
            group_heads: u32,
            size: u32,
            /// Of a batch.
            heads: u32,
            following: u32 = 0,
            is_causal: bool,
            /// Factor of the scores, to the base 2.
            scale: f32,
            maps: device.Input(u8),

            inline fn tiles(self: *const Call) u32 {
                return (self.queries - 1) / Tiles.own_rows + 1;
            }

            inline fn head(self: *const Call) u32 {
                return @workGroupId(0) / self.tiles();
            }
        };

        inline fn run(call: *const Call, mask: anytype) void {
            @setEvalBranchQuota(10_000_000);
            Scores.declare();
            Sums.declare();
            const thread = @workItemId(0);
            const memory: Memory = .{ .base = shared.sharedBase() };
            if (thread == 0) memory.initBarriers();
            device.barrier();

            const head = call.head();
            // The longest come first, where later queries see more keys.
            const first = (call.tiles() - 1 - @workGroupId(0) % call.tiles()) * Tiles.own_rows;
            const end = if (call.is_causal) @min(call.keys, first + Tiles.own_rows) else call.keys;
            const steps = (end - 1) / v.tile + 1;
            if (thread < shared.group_threads) {
                hopper.releaseRegisters(shared.few_registers);
                if (thread == 0) copyAll(&memory, call, first, head, steps);
                return;
            }
            hopper.takeRegisters(shared.many_registers);
            const group = thread / shared.group_threads - 1;
            const own = thread % shared.group_threads;
            const row = first + group * shared.rows + own / 32 * 16 + own % 32 / 4;
            // exp(x) = 2^(x log2(e)); a mask has to be added to scores with their factor.
            const rows: Rows(@TypeOf(mask)) = .{ .thread = own, .row = row, .keys = call.keys, .is_causal = call.is_causal, .given = call.scale, .mask = mask };
            const softmax = sum(&memory, &rows, group, steps);
            finish(call, &memory, &softmax, .{ .head = head, .first = first, .group = group, .row = row, .rest = if (purpose == .masked) 1 else call.scale });
        }

        const Place = struct { head: u32, first: u32, group: u32, row: u32, rest: f32 };

        inline fn finish(call: *const Call, memory: *const Memory, softmax: *const Softmax, place: Place) void {
            const totals: [2]f32 = .{ shared.sumOfRow(softmax.totals[0]), shared.sumOfRow(softmax.totals[1]) };
            // Who sees no key gets zeros.
            const inverses: [2]f32 = .{ if (totals[0] == 0) 0 else 1 / totals[0], if (totals[1] == 0) 0 else 1 / totals[1] };
            const start = @as(u64, place.head) * call.queries * call.size;
            if (purpose != .levels) {
                Tiles.store(Sums, memory.own(0), place.group, call.result + start, place.first, call.queries, call.size, inverses);
                return;
            }
            inline for (0..2) |half| {
                const at: u32 = place.row + @as(u32, half) * 8;
                const level = shared.sumOfRow(levelOf(call.gradient + start, at, call.queries, call.size, half)) * inverses[half];
                if (@workItemId(0) % 4 == 0) {
                    const target = @as(u64, place.head) * call.following + at;
                    // Of rows that are not there all powers are 0.
                    const is_there = at < call.queries and totals[half] != 0;
                    call.logarithms[target] = if (is_there) baseOf(softmax.largest[half], place.rest) + shared.logarithm(totals[half]) else std.math.inf(f32);
                    call.levels[target] = if (is_there) level else 0;
                }
            }
        }

        /// A thread's share of the sum of a row's elements times their gradients.
        inline fn levelOf(gradient: device.Input(Stored), row: u32, queries: u32, size: u32, comptime half: u32) f32 {
            var level: f32 = 0;
            if (row >= queries) return level;
            const thread = @workItemId(0);
            inline for (0..v.size / 8) |i| {
                const column = i * 8 + thread % 4 * 2;
                if (column < size) {
                    const from = gradient + @as(u64, row) * size + column;
                    inline for (0..2) |j| level += number.toSum(v.number, from[j]) * Sums.get(0, i * 4 + half * 2 + j);
                }
            }
            return level;
        }

        inline fn copyAll(memory: *const Memory, call: *const Call, first: u32, head: u32, steps: u32) void {
            const maps = call.maps;
            const own_head: shared.Head = .of(head, call.heads);
            const key_head: shared.Head = .of(head / call.group_heads, call.heads / call.group_heads);
            inline for (.{ Source.queries, Source.keys, Source.values }) |source| hopper.acquireMap(source.map(maps));
            hopper.expectBytes(memory.ownFull(), Tiles.bytes(Tiles.own_rows));
            Tiles.copy(Tiles.own_rows, memory.own(0), Source.queries.map(maps), first, own_head, memory.ownFull());
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

        /// Sums of values of all steps.
        inline fn sum(memory: *const Memory, rows: anytype, group: u32, steps: u32) Softmax {
            const order: shared.Order = .{ .group = group };
            const queries = Tiles.ofGroup(memory.own(0), group);
            var position: Position = .{};
            if (v.alternates) order.open();
            Sums.clear();
            hopper.wait(memory.ownFull(), 0);
            hopper.wait(memory.full(0, 0), 0);
            Scores.fence();
            Tiles.multiply(Scores, queries, memory.tile(0, 0));
            Scores.waitFor(0);
            memory.release(0, 0);
            var softmax: Softmax = .{};
            var step: u32 = 1;
            while (step < steps) : (step += 1) {
                const parts = rows.shares(&softmax, (step - 1) * v.tile);
                const next = position.after(v.stages);
                hopper.wait(memory.full(1, position.stage), position.parity);
                hopper.wait(memory.full(0, next.stage), next.parity);
                if (v.alternates) order.wait();
                Scores.fence();
                Tiles.accumulate(Sums, &parts, memory.tile(1, position.stage));
                Tiles.multiply(Scores, queries, memory.tile(0, next.stage));
                if (v.alternates) order.pass(step + 1 == steps);
                Scores.waitFor(1);
                memory.release(1, position.stage);
                Scores.waitFor(0);
                memory.release(0, next.stage);
                position = next;
            }
            const parts = rows.shares(&softmax, (steps - 1) * v.tile);
            hopper.wait(memory.full(1, position.stage), position.parity);
            Scores.fence();
            Tiles.accumulate(Sums, &parts, memory.tile(1, position.stage));
            Scores.waitFor(0);
            return softmax;
        }

        /// The largest score of each of a thread's two rows so far, and its part of the sum of powers.
        const Softmax = struct {
            largest: [2]f32 = @splat(-std.math.inf(f32)),
            totals: [2]f32 = @splat(0),
        };

        inline fn baseOf(largest: f32, scale: f32) f32 {
            return if (largest == -std.math.inf(f32)) 0 else largest * scale;
        }

        /// What is known of a thread's two rows.
        fn Rows(comptime MaskOfRows: type) type {
            return struct {
                const Self = @This();
                thread: u32,
                row: u32,
                keys: u32,
                is_causal: bool,
                /// Factor of the scores, to the base 2.
                given: f32,
                mask: MaskOfRows,

                inline fn masked(self: *const Self, found: *Tiles.Values, first_key: u32) void {
                    const own = self.mask;
                    switch (own.format) {
                        inline else => |format| inline for (0..v.tile / 8) |i| {
                            inline for (0..4) |j| {
                                const key: u32 = first_key + self.thread % 4 * 2 + @as(u32, i * 8 + j % 2);
                                const value = &found[i * 4 + j];
                                value.* = @mulAdd(f32, value.*, self.given, own.at(v.number, format, self.row + @as(u32, j / 2 * 8), key));
                            }
                        },
                    }
                }

                /// The powers of a step's scores; what was summed is brought to the same base.
                inline fn shares(self: *const Self, softmax: *Softmax, first_key: u32) Tiles.Parts {
                    var found = Tiles.values(Scores);
                    if (purpose == .masked) self.masked(&found, first_key);
                    const scale = if (purpose == .masked) 1 else self.given;
                    // The first row of a group sees the fewest keys.
                    const sees = if (self.is_causal) @min(self.keys, self.row / shared.rows * shared.rows + 1) else self.keys;
                    if (first_key + v.tile > sees) {
                        var limits: [2]i32 = undefined;
                        inline for (0..2) |half| {
                            const visible = if (self.is_causal) @min(self.keys, self.row + half * 8 + 1) else self.keys;
                            limits[half] = @as(i32, @intCast(visible)) - @as(i32, @intCast(first_key));
                        }
                        Tiles.hide(&found, .behind, self.thread, limits);
                    }
                    inline for (0..2) |half| {
                        const before = softmax.largest[half];
                        var most = before;
                        inline for (0..v.tile / 8) |i| most = @max(most, @max(found[i * 4 + half * 2], found[i * 4 + half * 2 + 1]));
                        const largest = shared.largestOfRow(most);
                        softmax.largest[half] = largest;
                        const own_base = baseOf(largest, scale);
                        const factor = shared.power(before * scale - own_base);
                        var total: f32 = 0;
                        inline for (0..v.tile / 8) |i| {
                            inline for (0..2) |j| {
                                const value = &found[i * 4 + half * 2 + j];
                                value.* = shared.power(@mulAdd(f32, value.*, scale, -own_base));
                                total += value.*;
                            }
                        }
                        softmax.totals[half] = softmax.totals[half] * factor + total;
                        inline for (0..v.size / 8) |i| {
                            inline for (0..2) |j| Sums.scale(0, i * 4 + half * 2 + j, factor);
                        }
                    }
                    return Tiles.pack(&found);
                }
            };
        }
    };
}

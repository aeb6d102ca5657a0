//! What attention and its gradients share: tiles of queries, keys, values and gradients in shared memory, and their products by wgmma.
//!
//! A tile has all elements of its rows, in blocks of 64 that are swizzled rows of 128 bytes, one block behind the other. TMA (the tensor memory
//! accelerator) copies them in boxes of 64 rows of a block, and fills up with zeros what lies outside the array. Such a tile is read as rows of k,
//! for products of queries and keys, and with its rows along k, for sums of values.
//!
//! The first warp group of a block copies, each of the others computes 64 rows.

const device = @import("device.zig");
const hopper = @import("hopper.zig");
const variant = @import("variant");

pub const group_threads = 128;
/// Of an instruction and of a box.
pub const rows = 64;
/// Numbers of a row of a box.
pub const width = 64;
const line_bytes = hopper.swizzle_bytes;
const map_bytes = 128;
/// Registers of a thread that copies and of one that multiplies; together as many as three warp groups have at the start.
pub const few_registers = 24;
pub const many_registers = 240;

/// Arrays, in the order of their descriptors.
pub const Source = enum(u32) {
    queries,
    keys,
    values,
    gradient,

    pub inline fn map(comptime source: Source, maps: device.Input(u8)) device.Input(u8) {
        return maps + @backingInt(source) * map_bytes;
    }
};

/// Where a head lies.
pub const Head = struct {
    of_batch: u32,
    batch: u32,

    pub inline fn of(head: u32, heads: u32) Head {
        return .{ .of_batch = head % heads, .batch = head / heads };
    }
};

/// Where the pipeline stands: which stage, and the parity of its barriers' phase.
pub const Position = struct {
    stage: u32 = 0,
    parity: u32 = 0,

    pub inline fn after(self: Position, comptime stages: u32) Position {
        const is_last = self.stage + 1 == stages;
        const stage = if (is_last) 0 else self.stage + 1;
        return .{ .stage = stage, .parity = self.parity ^ @intFromBool(is_last) };
    }
};

/// Shared memory begins at a multiple of a swizzle pattern; launches ask for as much more.
pub inline fn sharedBase() u32 {
    return (device.sharedAddress(hopper.shared) + 1023) & ~@as(u32, 1023);
}

/// 2^x
pub inline fn power(x: f32) f32 {
    return asm ("ex2.approx.ftz.f32 %[result], %[x];"
        : [result] "=f" (-> f32),
        : [x] "f" (x),
    );
}

pub inline fn logarithm(x: f32) f32 {
    return asm ("lg2.approx.f32 %[result], %[x];"
        : [result] "=f" (-> f32),
        : [x] "f" (x),
    );
}

/// The value of the lane whose number differs in one bit.
inline fn neighbour(x: f32, comptime distance: u32) f32 {
    const bits = asm volatile ("shfl.sync.bfly.b32 %[result], %[x], %[distance], 31, 0xffffffff;"
        : [result] "=r" (-> u32),
        : [x] "r" (@as(u32, @bitCast(x))),
          [distance] "n" (distance),
    );
    return @bitCast(bits);
}

/// Over the four lanes that have a row of an instruction's results.
pub inline fn largestOfRow(x: f32) f32 {
    const pair = @max(x, neighbour(x, 1));
    return @max(pair, neighbour(pair, 2));
}

pub inline fn sumOfRow(x: f32) f32 {
    const pair = x + neighbour(x, 1);
    return pair + neighbour(pair, 2);
}

/// Groups that take turns meet at barriers of their own.
pub const Order = struct {
    group: u32,

    /// What lets the first group begin.
    pub inline fn open(self: Order) void {
        if (self.group == 1) hopper.groupPass(3);
    }

    pub inline fn wait(self: Order) void {
        hopper.groupWait(3 + self.group);
    }

    /// Lets the other group multiply. After its last step the second group has nobody to let.
    pub inline fn pass(self: Order, is_last: bool) void {
        if (self.group == 0) {
            hopper.groupPass(4);
        } else if (!is_last) {
            hopper.groupPass(3);
        }
    }
};

pub fn Tiles(comptime v: variant.Attention) type {
    return struct {
        pub const Stored = v.number.Stored();
        pub const multipliers = v.threads / group_threads - 1;
        /// Rows that a block computes.
        pub const own_rows = rows * multipliers;
        pub const blocks = v.size / width;

        comptime {
            if (v.size % width != 0 or v.tile % rows != 0) @compileError("tiles are copied in boxes of 64 x 64");
            if (v.threads != 3 * group_threads) @compileError("registers and barriers are for two groups that multiply");
        }

        pub fn bytes(comptime lines: u32) u32 {
            return lines * v.size * @sizeOf(Stored);
        }

        /// Asks for the tile of `lines` rows from one on.
        pub inline fn copy(comptime lines: u32, target: u32, map: device.Input(u8), first: u32, head: Head, barrier: u32) void {
            inline for (0..blocks) |block_index| {
                const block: u32 = block_index;
                inline for (0..lines / rows) |part_index| {
                    const part: u32 = part_index;
                    hopper.copyBoxOf(target + (block * lines + part * rows) * line_bytes, map, block * width, first + part * rows, head.of_batch, head.batch, barrier);
                }
            }
        }

        /// Where the 64 rows of a group begin in a tile.
        pub inline fn ofGroup(tile: u32, group: u32) u32 {
            return tile + group * rows * line_bytes;
        }

        /// sums = a b^T, of 64 rows of a tile of `own_rows` and all rows of a tile of `v.tile`.
        pub inline fn multiply(comptime Sums: type, a: u32, b: u32) void {
            inline for (0..blocks) |block_index| {
                const block: u32 = block_index;
                const left = hopper.describe(.k, 0, a + block * own_rows * line_bytes);
                const right = hopper.describe(.k, 0, b + block * v.tile * line_bytes);
                inline for (0..width / 16) |step| {
                    Sums.multiply(0, .{ .k, .k }, left + step * hopper.kStep(.k), right + step * hopper.kStep(.k), if (block_index + step == 0) 0 else 1);
                }
            }
            Sums.commit();
        }

        /// Scores of 64 rows, as operands of `accumulate`.
        pub const Parts = [v.tile / 16][4]u32;

        /// sums += parts b, where a row of `b` belongs to each column of the parts.
        pub inline fn accumulate(comptime Sums: type, parts: *const Parts, b: u32) void {
            const right = hopper.describe(.outer, v.tile * line_bytes, b);
            inline for (0..v.tile / 16) |step| {
                Sums.multiplyRegisters(0, .outer, parts[step], right + step * hopper.kStep(.outer), 1);
            }
            Sums.commit();
        }

        /// What a thread has of 64 rows of scores: of every eight columns two adjacent ones, in two rows (PTX ISA, "Register Fragments for wgmma").
        pub const Values = [v.tile / 2]f32;

        pub inline fn values(comptime Sums: type) Values {
            var found: Values = undefined;
            inline for (0..v.tile / 2) |i| found[i] = Sums.get(0, i);
            return found;
        }

        /// Columns of a step that are hidden from a row: those from `limit` on, or those before it.
        pub inline fn hide(found: *Values, comptime side: enum { behind, before }, thread: u32, limits: [2]i32) void {
            const first: i32 = @intCast(thread % 4 * 2);
            inline for (0..v.tile / 8) |i| {
                inline for (0..2) |half| {
                    inline for (0..2) |j| {
                        const column = first + @as(i32, i * 8 + j);
                        const is_hidden = if (side == .behind) column >= limits[half] else column < limits[half];
                        const value = &found[i * 4 + half * 2 + j];
                        value.* = if (is_hidden) -@import("std").math.inf(f32) else value.*;
                    }
                }
            }
        }

        /// Rounded, in the order in which the instruction takes its first operand: the same in which it leaves results.
        pub inline fn pack(found: *const Values) Parts {
            var parts: Parts = undefined;
            inline for (0..v.tile / 16) |step| {
                inline for (0..4) |i| parts[step][i] = packPair(found[step * 8 + i * 2], found[step * 8 + i * 2 + 1]);
            }
            return parts;
        }

        pub inline fn packPair(low: f32, high: f32) u32 {
            const kind = if (v.number == .bf16) "bf16x2" else "f16x2";
            return asm ("cvt.rn." ++ kind ++ ".f32 %[result], %[high], %[low];"
                : [result] "=r" (-> u32),
                : [high] "f" (high),
                  [low] "f" (low),
            );
        }

        /// Writes 64 rows of `sums` times a factor for each row, through the memory of a tile that nobody reads any more, so that whole lines go out.
        pub inline fn store(comptime Sums: type, tile: u32, group: u32, out: device.Output(Stored), first: u32, length: u32, size: u32, factors: [2]f32) void {
            const thread = @workItemId(0) % group_threads;
            const memory = ofGroup(tile, group);
            const line = thread / 32 * 16 + thread % 32 / 4;
            hopper.groupSync(1 + group);
            inline for (0..v.size / 8) |index| {
                const i: u32 = index;
                inline for (0..2) |half| {
                    const own: u32 = line + @as(u32, half) * 8;
                    const packed_pair = packPair(Sums.get(0, i * 4 + half * 2) * factors[half], Sums.get(0, i * 4 + half * 2 + 1) * factors[half]);
                    const at = memory + (i / 8 * own_rows + own) * line_bytes + (i % 8 ^ own & 7) * 16 + thread % 4 * 4;
                    const target: *addrspace(.shared) u32 = @ptrFromInt(at);
                    target.* = packed_pair;
                }
            }
            hopper.groupSync(1 + group);
            const Chunk = @Vector(8, Stored);
            inline for (0..rows * v.size / 8 / group_threads) |index| {
                const number = thread + @as(u32, index) * group_threads;
                const own = number / (v.size / 8);
                const chunk = number % (v.size / 8);
                const row = first + group * rows + own;
                if (row < length and chunk * 8 < size) {
                    const from: *align(16) addrspace(.shared) const Chunk = @ptrFromInt(memory + (chunk / 8 * own_rows + own) * line_bytes + (chunk % 8 ^ own & 7) * 16);
                    const to: *align(16) addrspace(.global) Chunk = @ptrCast(@alignCast(out + @as(u64, row) * size + chunk * 8));
                    to.* = from.*;
                }
            }
        }
    };
}

/// Addresses in shared memory: tiles of a block's own rows (queries, then their gradients), stages of keys and of values, barriers.
pub fn Memory(comptime v: variant.Attention, comptime own_tiles: u32) type {
    return struct {
        base: u32,
        const Self = @This();
        const tile_bytes = Tiles(v).bytes(v.tile);
        const own_bytes = Tiles(v).bytes(Tiles(v).own_rows);
        const stages_begin = own_tiles * own_bytes;
        const barriers_begin = stages_begin + 2 * v.stages * tile_bytes;

        pub inline fn own(self: *const Self, comptime place: u32) u32 {
            return self.base + place * own_bytes;
        }

        /// Of keys (side 0) or values (side 1).
        pub inline fn tile(self: *const Self, comptime side: u32, stage: u32) u32 {
            return self.base + stages_begin + (side * v.stages + stage) * tile_bytes;
        }

        pub inline fn full(self: *const Self, comptime side: u32, stage: u32) u32 {
            return self.base + barriers_begin + (side * v.stages + stage) * 8;
        }

        pub inline fn empty(self: *const Self, comptime side: u32, stage: u32) u32 {
            return self.full(2 + side, stage);
        }

        pub inline fn ownFull(self: *const Self) u32 {
            return self.full(4, 0);
        }

        pub inline fn initBarriers(self: *const Self) void {
            inline for (0..2) |side| {
                for (0..v.stages) |stage| {
                    hopper.initBarrier(self.full(side, @intCast(stage)), 1);
                    hopper.initBarrier(self.empty(side, @intCast(stage)), Tiles(v).multipliers);
                }
            }
            hopper.initBarrier(self.ownFull(), 1);
            hopper.publishBarriers();
        }

        pub inline fn release(self: *const Self, comptime side: u32, stage: u32) void {
            hopper.arriveFirst(self.empty(side, stage), @workItemId(0) % group_threads);
        }
    };
}

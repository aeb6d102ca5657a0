//! One operand on its way from global memory through registers to shared memory, tile by tile.
//!
//! In shared memory a tile is [k / pack][outer + pad] of lanes. A lane is what the multiplier takes at a time: one number, or `pack` of them
//! that are adjacent in k.

const number = @import("number.zig");
const source = @import("source.zig");
const variant = @import("variant");

pub const Shape = struct {
    number: variant.Number,
    /// Numbers of a lane.
    pack: u32,
    outer: u32,
    k: u32,
    is_k_contiguous: bool,
    is_aligned: bool,
    threads: u32,
    /// Lanes between rows of a tile beyond `outer`.
    pad: u32,
};

pub fn Lane(comptime kind: variant.Number, comptime pack: u32) type {
    return if (pack == 1) kind.Sum() else u32;
}

pub fn Stage(comptime shape: Shape) type {
    return struct {
        const Self = @This();
        const Stored = shape.number.Stored();
        pub const L = Lane(shape.number, shape.pack);
        pub const stride = shape.outer + shape.pad;
        pub const lanes = stride * shape.k / shape.pack;
        /// How many numbers are loaded at a time.
        const width = 16 / @sizeOf(Stored);
        const Vector = @Vector(width, Stored);
        /// Vectors that one thread combines: those of adjacent k where lanes join numbers of several rows in memory.
        const joined = if (shape.is_k_contiguous) 1 else shape.pack;
        const vectors = shape.outer * shape.k / width;
        const whole_units = vectors / joined;
        const units = (whole_units + shape.threads - 1) / shape.threads;
        /// Threads are as many as divide the tile, or some have nothing to do.
        const is_exact = units * shape.threads == whole_units;

        comptime {
            if (whole_units * joined * width != shape.outer * shape.k) @compileError("vectors do not divide the tile");
        }

        values: [units][joined]Vector,

        /// `from` is a source whose contiguous dimension is that of the shape.
        pub inline fn load(self: *Self, from: anytype, outer: u32, k: u32, thread: u32) void {
            inline for (0..units) |unit| {
                const index = thread + @as(u32, unit) * shape.threads;
                inline for (0..joined) |part| {
                    if (!is_exact and index >= whole_units) {
                        self.values[unit][part] = @splat(0);
                    } else if (shape.is_k_contiguous) {
                        const along = index % (shape.k / width) * width;
                        self.values[unit][part] = source.fetch(shape.is_aligned, from, outer + index / (shape.k / width), k + along);
                    } else {
                        const line = index / (shape.outer / width) * joined + @as(u32, part);
                        const along = index % (shape.outer / width) * width;
                        self.values[unit][part] = source.fetch(shape.is_aligned, from, outer + along, k + line);
                    }
                }
            }
        }

        pub inline fn store(self: *const Self, tile: *align(16) addrspace(.shared) [lanes]L, thread: u32) void {
            inline for (0..units) |unit| {
                const index = thread + @as(u32, unit) * shape.threads;
                if (!is_exact and index >= whole_units) {
                    // There is nothing to store.
                } else if (shape.is_k_contiguous) {
                    const row = index / (shape.k / width);
                    const first = index % (shape.k / width) * (width / shape.pack);
                    const values: [width]Stored = self.values[unit][0];
                    inline for (0..width / shape.pack) |i| {
                        tile[(first + i) * stride + row] = lane(values[i * shape.pack ..][0..shape.pack].*);
                    }
                } else {
                    const row = index / (shape.outer / width);
                    const column = index % (shape.outer / width) * width;
                    var joint: [width]L = undefined;
                    inline for (0..width) |i| {
                        var numbers: [shape.pack]Stored = undefined;
                        inline for (0..shape.pack) |part| numbers[part] = self.values[unit][part][i];
                        joint[i] = lane(numbers);
                    }
                    const chunk = 16 / @sizeOf(L);
                    inline for (0..width / chunk) |i| {
                        const target: *align(16) addrspace(.shared) @Vector(chunk, L) = @ptrCast(@alignCast(&tile[row * stride + column + i * chunk]));
                        target.* = joint[i * chunk ..][0..chunk].*;
                    }
                }
            }
        }

        inline fn lane(numbers: [shape.pack]Stored) L {
            return if (shape.pack == 1) number.toSum(shape.number, numbers[0]) else @bitCast(numbers);
        }
    };
}

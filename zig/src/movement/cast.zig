//! Values in another dtype, with any strides. Descriptions were validated in Rust; the two share no memory, or are the same view.
//!
//! Values pass through buffers of a type to compute in: the routines of this machine's instruction set load and store them, so that only the
//! conversions between floats and integers are made here.

const std = @import("std");
const abi = @import("../abi.zig");
const generic = @import("generic");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const transpose = @import("transpose.zig");

const View = strided.View;
const Storage = strided.Storage;
const Space = strided.Space(2);

/// Elements of one piece of work.
const piece_len = 16 << 10;
/// Elements of a buffer: both stay in the first cache.
const tile_len = 1024;

pub fn cast(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.CastOptions) abi.Status {
    std.debug.assert(input_count == 1);
    const x: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    run(&x, &target, options.?.executor) catch return status.fail(abi.errors.internal, "the executor could not run the pieces of a cast", .{});
    return abi.ok;
}

pub fn run(x: *const View, out: *const View, executor: ?*const abi.Executor) parallel.Error!void {
    if (out.len() == 0) return;
    if (isCopy(x.storage, out.storage)) return switch (out.storage.bytes()) {
        1 => transpose.run(u8, x, out, executor),
        2 => transpose.run(u16, x, out, executor),
        4 => transpose.run(u32, x, out, executor),
        8 => transpose.run(u64, x, out, executor),
        else => unreachable,
    };
    var space: Space = .of(.{ out, x });
    space.sort();
    space.coalesce();
    var job: Job = .{ .x = x.*, .out = out.*, .space = &space, .route = .of(x.storage, out.storage) };
    if (!isFloat(x.storage)) {
        // Integers without a sign that are as wide as the type that they pass through have the same bits there.
        if (job.route == .i32 and x.storage == .u32) job.x.storage = .i32;
        if (job.route == .i64 and x.storage == .u64) job.x.storage = .i64;
    }
    if (out.storage == .u64) job.out.storage = .i64;
    try parallel.run(executor, (space.len() + piece_len - 1) / piece_len, Job, &job);
}

fn isFloat(storage: Storage) bool {
    return switch (storage) {
        .f16, .bf16, .f32, .f64 => true,
        else => false,
    };
}

/// Whether elements keep their bits.
fn isCopy(from: Storage, to: Storage) bool {
    if (from == to) return true;
    return !isFloat(from) and !isFloat(to) and to != .bool and from.bytes() == to.bytes();
}

/// The types that values pass through: the one that they are loaded in, and after an underscore the one that they are stored from.
const Route = enum {
    f32,
    f64,
    i32,
    i64,
    f64_f32,
    f32_i32,
    f64_i32,
    f32_i64,
    f64_i64,
    f32_u64,
    f64_u64,

    fn of(from: Storage, to: Storage) Route {
        if (!isFloat(from)) return switch (to) {
            .f64 => .f64,
            .f16, .bf16, .f32 => .f32,
            else => if (from.bytes() <= 4 and to.bytes() <= 4) .i32 else .i64,
        };
        const is_wide = from == .f64;
        return switch (to) {
            .bool, .f32, .bf16 => if (is_wide) .f64 else .f32,
            .f64 => .f64,
            // float32 has room for a bit that tells what was cut off, so that the value is rounded once.
            .f16 => if (is_wide) .f64_f32 else .f32,
            .u8, .u16, .i8, .i16, .i32 => if (is_wide) .f64_i32 else .f32_i32,
            .u32, .i64 => if (is_wide) .f64_i64 else .f32_i64,
            .u64 => if (is_wide) .f64_u64 else .f32_u64,
        };
    }
};

const Job = struct {
    x: View,
    out: View,
    space: *const Space,
    route: Route,

    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const first = begin * piece_len;
        const last = @min(end * piece_len, job.space.len());
        switch (job.route) {
            .f32 => job.pass(f32, f32, same(f32), first, last),
            .f64 => job.pass(f64, f64, same(f64), first, last),
            .i32 => job.pass(i32, i32, same(i32), first, last),
            .i64 => job.pass(i64, i64, same(i64), first, last),
            .f64_f32 => job.pass(f64, f32, roundToOdd, first, last),
            .f32_i32 => job.pass(f32, i32, truncate(f32, i32), first, last),
            .f64_i32 => job.pass(f64, i32, truncate(f64, i32), first, last),
            .f32_i64 => job.pass(f32, i64, truncate(f32, i64), first, last),
            .f64_i64 => job.pass(f64, i64, truncate(f64, i64), first, last),
            .f32_u64 => job.pass(f32, i64, truncateUnsigned(f32), first, last),
            .f64_u64 => job.pass(f64, i64, truncateUnsigned(f64), first, last),
        }
    }

    fn pass(job: *const Job, comptime T: type, comptime D: type, comptime convert: fn (T) callconv(.@"inline") D, first: usize, last: usize) void {
        const loader = tensor_kernels.table(T);
        const storer = tensor_kernels.table(D);
        const space = job.space;
        var loaded: [tile_len]T align(64) = undefined;
        var converted: [if (T == D) 1 else tile_len]D align(64) = undefined;
        var from = space.walk(1, first);
        var to = space.walk(0, first);
        const is_line = space.rank <= 1 and T == D;
        var done = first;
        while (done < last) {
            const len = @min(tile_len, last - done);
            done += len;
            if (is_line) {
                // One of the buffers is spared where the memory itself has the type.
                if (job.x.storage.is(T) and space.innerStride(1) == 1) {
                    const source: [*]const T = @ptrFromInt(strided.addressAt(&job.x, from.start));
                    strided.writeElements(D, storer, &job.out, &to, len, source);
                    from.pass(len);
                    continue;
                }
                if (job.out.storage.is(T) and space.innerStride(0) == 1) {
                    strided.readElements(T, loader, &job.x, &from, len, @ptrFromInt(strided.addressAt(&job.out, to.start)));
                    to.pass(len);
                    continue;
                }
            }
            strided.readElements(T, loader, &job.x, &from, len, &loaded);
            if (T == D) {
                strided.writeElements(D, storer, &job.out, &to, len, &loaded);
            } else {
                for (loaded[0..len], converted[0..len]) |value, *result| result.* = convert(value);
                strided.writeElements(D, storer, &job.out, &to, len, &converted);
            }
        }
    }
};

fn same(comptime T: type) fn (T) callconv(.@"inline") T {
    return struct {
        inline fn convert(value: T) T {
            return value;
        }
    }.convert;
}

/// Towards zero; the smallest integer for NaN and for what does not fit, as processors answer.
fn truncate(comptime T: type, comptime I: type) fn (T) callconv(.@"inline") I {
    return struct {
        inline fn convert(value: T) I {
            const bound: T = -@as(T, @floatFromInt(std.math.minInt(I)));
            // Of a float64 there are values below the smallest int32 that are cut to it.
            const fits = value < bound and (value >= -bound or (T == f64 and I == i32 and value > -bound - 1));
            return if (fits) @intFromFloat(value) else std.math.minInt(I);
        }
    }.convert;
}

/// The bits of an integer without a sign; negative values wrap.
fn truncateUnsigned(comptime T: type) fn (T) callconv(.@"inline") i64 {
    return struct {
        inline fn convert(value: T) i64 {
            const half: T = 9_223_372_036_854_775_808;
            if (value >= half and value < 2 * half) return truncate(T, i64)(value - half) ^ std.math.minInt(i64);
            return truncate(T, i64)(value);
        }
    }.convert;
}

/// A float32 whose last bit says whether the value was exact: rounded to float16 it gives what the float64 does (Boldo and Melquiond 2008).
inline fn roundToOdd(value: f64) f32 {
    const near: f32 = @floatCast(value);
    const back: f64 = near;
    if (back == value or value != value) return near;
    const bits: u32 = @bitCast(near);
    // The neighbour towards zero has its last bit set, or is exact in none.
    const is_larger = @abs(back) > @abs(value);
    const towards_zero = if (is_larger) bits - 1 else bits;
    return @bitCast(towards_zero | 1);
}

test "every float64 between two float16 is rounded once" {
    const tie = 1.0 + 0x1p-11;
    const Case = struct { f64, f16 };
    for ([_]Case{
        .{ tie, 1.0 },
        .{ tie + 0x1p-50, 1.0 + 0x1p-10 },
        .{ tie - 0x1p-50, 1.0 },
        .{ 65519.999999999, 65504.0 },
        .{ 65520.0, std.math.inf(f16) },
        .{ 1e300, std.math.inf(f16) },
        .{ 0x1p-25, 0.0 },
        .{ 0x1p-25 + 0x1p-60, 0x1p-24 },
        .{ 1e-300, 0.0 },
    }) |case| {
        const value, const expected = case;
        try std.testing.expectEqual(expected, @as(f16, @floatCast(roundToOdd(value))));
        try std.testing.expectEqual(-expected, @as(f16, @floatCast(roundToOdd(-value))));
    }
}

test "floats are cut towards zero and what does not fit becomes the smallest integer" {
    try std.testing.expectEqual(@as(i32, -2), truncate(f32, i32)(-2.9));
    try std.testing.expectEqual(@as(i32, std.math.minInt(i32)), truncate(f64, i32)(2147483648.0));
    try std.testing.expectEqual(@as(i32, std.math.maxInt(i32)), truncate(f64, i32)(2147483647.9));
    try std.testing.expectEqual(@as(i32, std.math.minInt(i32)), truncate(f64, i32)(-2147483648.9));
    try std.testing.expectEqual(@as(i64, std.math.minInt(i64)), truncate(f64, i64)(std.math.nan(f64)));
    try std.testing.expectEqual(@as(u64, 1 << 63), @as(u64, @bitCast(truncateUnsigned(f64)(9_223_372_036_854_775_808.0))));
    try std.testing.expectEqual(@as(u64, std.math.maxInt(u64)), @as(u64, @bitCast(truncateUnsigned(f64)(-1.0))));
}

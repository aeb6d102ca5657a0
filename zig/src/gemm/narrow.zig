//! Rounding sums of single precision to a narrower `out`.

const numbers_of = @import("numbers.zig");

pub const Target = union(enum) {
    f16: [*]f16,
    /// bfloat16, as its bits.
    bf16: [*]u16,
};

/// target[i] = round(sums[i] + beta * target[i]), to nearest, ties to even; with `beta` zero the target is not read.
pub const Run = struct {
    sums: [*]const f32,
    target: Target,
    len: usize,
    beta: f32,
};

pub inline fn round(comptime lanes: comptime_int, run: *const Run) void {
    switch (run.target) {
        .f16 => |target| roundTo(.f16, f16, lanes, run, target),
        .bf16 => |target| roundTo(.bf16, u16, lanes, run, target),
    }
}

inline fn roundTo(comptime format: numbers_of.Format, comptime T: type, comptime lanes: comptime_int, run: *const Run, target: [*]T) void {
    var i: usize = 0;
    while (i + lanes <= run.len) : (i += lanes) step(format, T, lanes, run, target, i);
    while (i < run.len) : (i += 1) step(format, T, 1, run, target, i);
}

inline fn step(
    comptime format: numbers_of.Format,
    comptime T: type,
    comptime len: comptime_int,
    run: *const Run,
    target: [*]T,
    index: usize,
) void {
    const V = @Vector(len, f32);
    var sum: V = (run.sums + index)[0..len].*;
    const values = (target + index)[0..len];
    if (run.beta != 0) {
        const before: V = numbers_of.convert(comptime numbers_of.simple(format), .a, len, values.*);
        sum += @as(V, @splat(run.beta)) * before;
    }
    values.* = switch (format) {
        .f16 => @as(@Vector(len, f16), @floatCast(sum)),
        .bf16 => numbers_of.convert(comptime numbers_of.dotted(.f32_as_bf16), .a, len, sum),
        else => comptime unreachable,
    };
}

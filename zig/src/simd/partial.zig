//! Loads and stores of parts of vectors, where memory ends before the rest. Going through a buffer would be slow: a load of the vector would
//! wait until all its parts are written there, because processors forward to a load what one store wrote, not what several did.

const std = @import("std");
const builtin = @import("builtin");

/// The first `count` values of a group of vectors, and `rest` behind them.
pub inline fn load(comptime T: type, comptime lanes: comptime_int, comptime vectors: comptime_int, from: [*]const T, count: usize, rest: T) [vectors]@Vector(lanes, T) {
    var group: [vectors]@Vector(lanes, T) = @splat(@splat(rest));
    inline for (&group, 0..) |*value, part| {
        const begin = part * lanes;
        if (begin + lanes <= count) {
            value.* = from[begin..][0..lanes].*;
        } else if (begin < count) value.* = loadFirst(T, lanes, from + begin, count - begin, rest);
    }
    return group;
}

/// Writes the first `count` values of a group of vectors.
pub inline fn save(comptime T: type, comptime lanes: comptime_int, comptime vectors: comptime_int, to: [*]T, count: usize, group: [vectors]@Vector(lanes, T)) void {
    inline for (group, 0..) |value, part| {
        const begin = part * lanes;
        if (begin + lanes <= count) {
            to[begin..][0..lanes].* = value;
        } else if (begin < count) saveFirst(T, lanes, to + begin, count - begin, value);
    }
}

/// Writes the first `count` values, fewer than `lanes`.
pub inline fn saveFirst(comptime T: type, comptime lanes: comptime_int, to: [*]T, count: usize, values: @Vector(lanes, T)) void {
    const line: [lanes]T = values;
    copyShort(T, lanes, to, &line, count);
}

/// Writes the last `count` values, fewer than `lanes`.
pub inline fn saveLast(comptime T: type, comptime lanes: comptime_int, to: [*]T, count: usize, values: @Vector(lanes, T)) void {
    const line: [lanes]T = values;
    copyShort(T, lanes, to, line[lanes - count ..].ptr, count);
}

/// Fewer than `lanes` values, and none beside them: what passed the caches by is not to be written again.
inline fn copyShort(comptime T: type, comptime lanes: comptime_int, target: [*]T, source: [*]const T, len: usize) void {
    var at: usize = 0;
    comptime var width = lanes / 2;
    inline while (width > 0) : (width /= 2) {
        if (len & width != 0) {
            target[at..][0..width].* = source[at..][0..width].*;
            at += width;
        }
    }
}

/// from[0..count] and `rest` behind it; 0 < count < lanes. Nothing beyond is read. Vectors of 32 and 64 bytes are those of modules for AVX2 and
/// AVX-512.
inline fn loadFirst(comptime T: type, comptime lanes: comptime_int, from: [*]const T, count: usize, rest: T) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const vector_bytes = lanes * @sizeOf(T);
    if (builtin.cpu.arch != .x86_64 or vector_bytes < 32) {
        var line: [lanes]T = @splat(rest);
        for (line[0..count], from) |*to, value| to.* = value;
        return line;
    }
    const Index = @Int(.signed, @bitSizeOf(T));
    const inside = std.simd.iota(Index, lanes) < @as(@Vector(lanes, Index), @splat(@intCast(count)));
    const values: V = if (vector_bytes == 64) asm ((if (T == f32) "vmovups" else "vmovupd") ++ " (%[from]), %[values]{%[mask]}{z}"
        : [values] "=v" (-> V),
        : [mask] "^Yk" ((@as(@Int(.unsigned, lanes), 1) << @intCast(count)) - 1),
          [from] "r" (from),
        : .{ .memory = true }) else asm ((if (T == f32) "vmaskmovps" else "vmaskmovpd") ++ " (%[from]), %[mask], %[values]"
        : [values] "=x" (-> V),
        : [mask] "x" (@select(Index, inside, @as(@Vector(lanes, Index), @splat(-1)), @as(@Vector(lanes, Index), @splat(0)))),
          [from] "r" (from),
        : .{ .memory = true });
    return @select(T, inside, values, @as(V, @splat(rest)));
}

//! Normalisations of rows of adjacent values: softmax, log-softmax, layer norm, root-mean-square norm. In place or not. Two short rows are taken
//! in step, so that what waits for the sum of one has the other to do; a row has the same bits alone.
//!
//! Sums are taken in blocks: within a block lane by lane, block sums in float64, so that long rows lose nothing.

const std = @import("std");
const elementary = @import("elementary.zig");
const exp_table = @import("exp_table.zig");
const micro_kernel = @import("micro_kernel.zig");
const stream_store = @import("stream_store.zig");
const vector_math = @import("vector_math.zig");

const Arithmetic = micro_kernel.Arithmetic;

/// Numbered as in agpu.h; normalize.zig asserts that.
pub const Operation = enum(u32) { softmax = 0, log_softmax = 1, layer_norm = 2, rms_norm = 3 };

/// Rows in step at most.
pub const most_rows = 2;

pub fn Row(comptime T: type) type {
    return struct {
        operation: Operation,
        /// 1 or 2; two only of up to `pair_row` values.
        count: usize = 1,
        x: [most_rows][*]const T,
        out: [most_rows][*]T,
        len: usize,
        /// Factor and addend of each value, of layer_norm and rms_norm.
        scale: ?[*]const T,
        shift: ?[*]const T,
        epsilon: f64,
        /// As many rows that come next, if their values are to be asked for meanwhile.
        next: ?[most_rows][*]const T = null,
        /// Whether stores pass the caches by; to be followed by `stream_store.finish`.
        streams: bool = false,
    };
}

/// Values of a block: its sum in single precision keeps all but the last three bits.
const block_len = 4096;
/// Rows up to this long are asked for ahead and kept until they are written: they stay in L1.
pub const short_row = 2048;
/// Two rows of this length take as much as one of `short_row`.
pub const pair_row = short_row / 2;

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, row: *const Row(T)) void {
    // Everything below is one function.
    @setEvalBranchQuota(20_000);
    if (row.len == 0) return;
    if (row.count == 1) normalize(T, lanes, arithmetic, 1, row) else normalize(T, lanes, arithmetic, 2, row);
}

inline fn normalize(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime count: comptime_int, row: *const Row(T)) void {
    switch (row.operation) {
        .softmax => softmax(T, lanes, arithmetic, count, row),
        .log_softmax => logSoftmax(T, lanes, arithmetic, count, row),
        .layer_norm => standardize(T, lanes, arithmetic, count, row, true),
        .rms_norm => standardize(T, lanes, arithmetic, count, row, false),
    }
}

/// What is done with each vector of a row on its way into a sum.
const Step = union(enum) {
    /// x
    plain,
    /// x, written to `out`.
    plain_written,
    /// x - shift, of which squares are summed.
    square_deviation,
    /// e^(x - shift), written to `out`.
    exp_written,
    /// e^(x - shift)
    exp,
};

/// Vectors whose additions do not wait for each other.
pub fn Group(comptime T: type, comptime lanes: comptime_int) type {
    return [chains]@Vector(lanes, T);
}

inline fn mapped(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime step: Step, group: Group(T, lanes), shift: T) Group(T, lanes) {
    const shifts: @Vector(lanes, T) = @splat(shift);
    var values: Group(T, lanes) = undefined;
    inline for (&values, group) |*value, x| value.* = if (step == .plain or step == .plain_written) x else x - shifts;
    return if (step == .exp or step == .exp_written) powers(T, lanes, arithmetic, values) else values;
}

/// e^x of values that are not positive. A value has the same bits whatever stands beside it.
pub inline fn powers(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, group: Group(T, lanes)) Group(T, lanes) {
    const V = @Vector(lanes, T);
    var values = group;
    if (comptime exp_table.isFor(T, lanes, arithmetic)) {
        const table = exp_table.ExpTable(lanes);
        if (table.areOrdinary(chains, values)) {
            inline for (&values) |*value| value.* = table.ordinary(value.*);
        } else {
            inline for (&values) |*value| value.* = table.anywhere(value.*);
        }
        return values;
    }
    if (T == f32) {
        // One question for all vectors.
        var is_ordinary: @Vector(lanes, bool) = @splat(true);
        inline for (values) |value| is_ordinary = is_ordinary & (@abs(value) <= @as(V, @splat(vector_math.ordinary_exponent)));
        if (@reduce(.And, is_ordinary)) {
            inline for (&values) |*value| value.* = vector_math.expOrdinary(arithmetic, V, value.*);
        } else {
            inline for (&values) |*value| value.* = vector_math.expAnywhere(arithmetic, V, value.*);
        }
        return values;
    }
    inline for (&values) |*value| value.* = elementary.exp(V, value.*);
    return values;
}

inline fn added(comptime V: type, comptime arithmetic: Arithmetic, comptime step: Step, total: V, value: V) V {
    return if (step == .square_deviation) micro_kernel.multiplyAdd(arithmetic, V, value, value, total) else total + value;
}

/// Asks for lines [from, from + lines) of a group of row k of the next, as far as the second cache: the first has no place for them.
inline fn ask(comptime T: type, comptime lanes: comptime_int, row: *const Row(T), comptime k: usize, place: usize, comptime from: usize, comptime lines: usize) void {
    const next = row.next orelse return;
    const line_len = 64 / @sizeOf(T);
    inline for (from..from + lines) |line| {
        if (line * line_len < chains * lanes) @prefetch(next[k] + place + line * line_len, .{ .locality = 2 });
    }
}

/// Additions of different chains do not wait for each other: more than an addition takes cycles, with two of them begun in each.
pub const chains = 4;

/// The sum of the lanes, halves upon halves: a chain of four additions instead of sixteen.
pub fn laneSum(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    const indices = std.simd.iota(i32, lanes);
    const low = @shuffle(T, values, undefined, std.simd.extract(indices, 0, half));
    const high = @shuffle(T, values, undefined, std.simd.extract(indices, half, half));
    return laneSum(T, half, low + high);
}

/// Sums of each of `sources`, after `step`; row k is written to out[k] where the step says so.
inline fn sum(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime count: comptime_int,
    comptime step: Step,
    row: *const Row(T),
    sources: [count][*]const T,
    out: [count][*]T,
    shifts: [count]T,
    comptime from: usize,
    comptime lines: usize,
) [count]f64 {
    const V = @Vector(lanes, T);
    var totals: [count]f64 = @splat(0);
    var begin: usize = 0;
    while (begin < row.len) {
        const end = @min(row.len, begin + block_len);
        var sums: [count]Group(T, lanes) = @splat(@splat(@splat(0)));
        var i = begin;
        while (i + chains * lanes <= end) : (i += chains * lanes) {
            inline for (0..count) |k| {
                ask(T, lanes, row, k, i, from, lines);
                var group: Group(T, lanes) = undefined;
                inline for (0..chains) |part| group[part] = sources[k][i + part * lanes ..][0..lanes].*;
                const values = mapped(T, lanes, arithmetic, step, group, shifts[k]);
                inline for (0..chains) |part| {
                    if (step == .exp_written or step == .plain_written) out[k][i + part * lanes ..][0..lanes].* = values[part];
                    sums[k][part] = added(V, arithmetic, step, sums[k][part], values[part]);
                }
            }
        }
        if (i < end) inline for (0..count) |k| {
            var padded: [chains * lanes]T = @splat(shifts[k]);
            for (padded[0 .. end - i], sources[k][i..end]) |*to, from_x| to.* = from_x;
            var group: Group(T, lanes) = undefined;
            inline for (0..chains) |part| group[part] = padded[part * lanes ..][0..lanes].*;
            const values = mapped(T, lanes, arithmetic, step, group, shifts[k]);
            inline for (0..chains) |part| padded[part * lanes ..][0..lanes].* = values[part];
            if (step == .exp_written or step == .plain_written) @memcpy(out[k][i..end], padded[0 .. end - i]);
            @memset(padded[end - i ..], 0);
            inline for (0..chains) |part| sums[k][part] = added(V, arithmetic, step, sums[k][part], padded[part * lanes ..][0..lanes].*);
        };
        inline for (0..count) |k| totals[k] += laneSum(T, lanes, (sums[k][0] + sums[k][1]) + (sums[k][2] + sums[k][3]));
        begin = end;
    }
    return totals;
}

inline fn largestOf(comptime T: type, comptime lanes: comptime_int, comptime count: comptime_int, row: *const Row(T)) [count]T {
    const V = @Vector(lanes, T);
    var parts: [count][chains]V = undefined;
    inline for (0..count) |k| parts[k] = @splat(@splat(row.x[k][0]));
    var i: usize = 0;
    while (i + chains * lanes <= row.len) : (i += chains * lanes) {
        inline for (0..count) |k| {
            inline for (&parts[k], 0..) |*part, at| part.* = larger(V, row.x[k][i + at * lanes ..][0..lanes].*, part.*);
        }
    }
    while (i + lanes <= row.len) : (i += lanes) {
        inline for (0..count) |k| parts[k][0] = larger(V, row.x[k][i..][0..lanes].*, parts[k][0]);
    }
    var largest: [count]T = undefined;
    inline for (0..count) |k| {
        largest[k] = laneLargest(T, lanes, larger(V, larger(V, parts[k][0], parts[k][1]), larger(V, parts[k][2], parts[k][3])));
        for (i..row.len) |rest| largest[k] = larger(@Vector(1, T), .{row.x[k][rest]}, .{largest[k]})[0];
    }
    return largest;
}

inline fn laneLargest(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    return laneLargest(T, half, larger(@Vector(half, T), std.simd.extract(values, 0, half), std.simd.extract(values, half, half)));
}

/// One instruction, unlike @max; with a NaN among them either may come out, and the row is NaN throughout anyway.
inline fn larger(comptime V: type, a: V, b: V) V {
    return @select(@typeInfo(V).vector.child, a > b, a, b);
}

/// e^(x - max) / sum; a NaN or an infinity of the wrong sign in the row makes it NaN throughout.
inline fn softmax(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime count: comptime_int, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, count, row);
    var kept: [count][short_row / count]T align(64) = undefined;
    const is_kept = row.streams and row.len <= short_row / count;
    var targets: [count][*]T = undefined;
    inline for (0..count) |k| targets[k] = if (is_kept) &kept[k] else row.out[k];
    const totals = sum(T, lanes, arithmetic, count, .exp_written, row, row.x[0..count].*, targets, largest, 0, chains);
    var factors: [count]T = undefined;
    var sources: [count][*]const T = undefined;
    inline for (0..count) |k| {
        factors[k] = @floatCast(1.0 / totals[k]);
        sources[k] = targets[k];
    }
    finish(T, lanes, arithmetic, count, row, is_kept, sources, @splat(0), factors, .{});
}

/// (x - max) - log(sum)
inline fn logSoftmax(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime count: comptime_int, row: *const Row(T)) void {
    const largest = largestOf(T, lanes, count, row);
    const totals = sum(T, lanes, arithmetic, count, .exp, row, row.x[0..count].*, undefined, largest, 0, chains);
    const logarithms: [count]f64 = elementary.log(@Vector(count, f64), totals);
    var addends: [count]T = undefined;
    inline for (0..count) |k| addends[k] = @floatCast(-logarithms[k]);
    finish(T, lanes, arithmetic, count, row, row.streams, row.x[0..count].*, largest, @splat(1), .{ .shift_all = addends });
}

/// (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) * scale + shift; the mean is zero for the root-mean-square norm.
inline fn standardize(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime count: comptime_int,
    row: *const Row(T),
    comptime is_centered: bool,
) void {
    const len: f64 = @floatFromInt(row.len);
    var means: [count]T = @splat(0);
    var sources = row.x[0..count].*;
    // Rows seldom begin with a cache line, and two lines for each vector cost twice: short ones are copied to where they do.
    var kept: [count][short_row / count]T align(64) = undefined;
    if (is_centered) {
        const totals = if (row.len <= short_row / count) copied: {
            var targets: [count][*]T = undefined;
            inline for (0..count) |k| targets[k] = &kept[k];
            const sums = sum(T, lanes, arithmetic, count, .plain_written, row, sources, targets, @splat(0), 0, 2);
            sources = targets;
            break :copied sums;
        } else sum(T, lanes, arithmetic, count, .plain, row, sources, undefined, @splat(0), 0, 2);
        inline for (0..count) |k| means[k] = @floatCast(totals[k] / len);
    }
    const from = if (is_centered) 2 else 0;
    const squares = sum(T, lanes, arithmetic, count, .square_deviation, row, sources, undefined, means, from, chains - from);
    var factors: [count]T = undefined;
    inline for (0..count) |k| factors[k] = @floatCast(1.0 / @sqrt(squares[k] / len + row.epsilon));
    if (row.scale) |scale| {
        if (row.shift) |shift| return finish(T, lanes, arithmetic, count, row, row.streams, sources, means, factors, .{ .scale = scale, .shift = shift });
        return finish(T, lanes, arithmetic, count, row, row.streams, sources, means, factors, .{ .scale = scale });
    }
    if (row.shift) |shift| return finish(T, lanes, arithmetic, count, row, row.streams, sources, means, factors, .{ .shift = shift });
    finish(T, lanes, arithmetic, count, row, row.streams, sources, means, factors, .{});
}

/// (source - mean) * factor, times scale and plus shift where there are any.
inline fn finish(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime count: comptime_int,
    row: *const Row(T),
    streams: bool,
    sources: [count][*]const T,
    means: [count]T,
    factors: [count]T,
    parameters: anytype,
) void {
    const V = @Vector(lanes, T);
    const misaligned = @intFromPtr(row.out[0]) / @sizeOf(T) % lanes;
    const is_in_step = count == 1 or @intFromPtr(row.out[count - 1]) / @sizeOf(T) % lanes == misaligned;
    if (row.len < lanes or !is_in_step) return finishRange(T, lanes, arithmetic, count, row, false, 0, row.len, sources, means, factors, parameters);
    // Stores begin with a cache line. What lies before and behind is computed before anything is written, which may be where it is read.
    const tail = row.len - lanes;
    var ends: [count][2]V = undefined;
    inline for (0..count) |k| {
        ends[k][0] = finished(T, lanes, arithmetic, count, k, sources, 0, means, factors, parameters);
        ends[k][1] = finished(T, lanes, arithmetic, count, k, sources, tail, means, factors, parameters);
    }
    const begin = (lanes - misaligned) % lanes;
    const end = begin + (row.len - begin) / lanes * lanes;
    if (streams) {
        finishRange(T, lanes, arithmetic, count, row, true, begin, end, sources, means, factors, parameters);
    } else {
        finishRange(T, lanes, arithmetic, count, row, false, begin, end, sources, means, factors, parameters);
    }
    inline for (0..count) |k| {
        const head: [lanes]T = ends[k][0];
        const rest: [lanes]T = ends[k][1];
        copyShort(T, lanes, row.out[k], &head, begin);
        copyShort(T, lanes, row.out[k] + end, rest[lanes - (row.len - end) ..].ptr, row.len - end);
    }
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

/// Values [begin, end); those that pass the caches by are whole vectors at aligned places.
inline fn finishRange(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime count: comptime_int,
    row: *const Row(T),
    comptime streams: bool,
    begin: usize,
    end: usize,
    sources: [count][*]const T,
    means: [count]T,
    factors: [count]T,
    parameters: anytype,
) void {
    const out = row.out[0..count].*;
    const together = if (streams) 1 else chains / count;
    var at = begin;
    while (at + together * lanes <= end) : (at += together * lanes) {
        var values: [together * count]@Vector(lanes, T) = undefined;
        inline for (0..together * count) |i| {
            const place = at + i / count * lanes;
            values[i] = finished(T, lanes, arithmetic, count, i % count, sources, place, means, factors, parameters);
        }
        inline for (0..together * count) |i| {
            const target = out[i % count] + at + i / count * lanes;
            if (streams) stream_store.store(lanes * @sizeOf(T), @ptrCast(target), @bitCast(values[i])) else target[0..lanes].* = values[i];
        }
    }
    while (at + lanes <= end) : (at += lanes) {
        inline for (0..count) |k| out[k][at..][0..lanes].* = finished(T, lanes, arithmetic, count, k, sources, at, means, factors, parameters);
    }
    while (at < end) : (at += 1) {
        inline for (0..count) |k| out[k][at] = finished(T, 1, arithmetic, count, k, sources, at, means, factors, parameters)[0];
    }
}

inline fn finished(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime count: comptime_int,
    comptime k: usize,
    sources: [count][*]const T,
    at: usize,
    means: [count]T,
    factors: [count]T,
    parameters: anytype,
) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    var value = (@as(V, sources[k][at..][0..lanes].*) - @as(V, @splat(means[k]))) * @as(V, @splat(factors[k]));
    if (@hasField(@TypeOf(parameters), "shift_all")) value += @as(V, @splat(parameters.shift_all[k]));
    const has_shift = @hasField(@TypeOf(parameters), "shift");
    if (@hasField(@TypeOf(parameters), "scale")) {
        const scale: V = parameters.scale[at..][0..lanes].*;
        return if (has_shift) micro_kernel.multiplyAdd(arithmetic, V, value, scale, parameters.shift[at..][0..lanes].*) else value * scale;
    }
    return if (has_shift) value + @as(V, parameters.shift[at..][0..lanes].*) else value;
}

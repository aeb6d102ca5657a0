//! Softmax and log-softmax down neighbouring columns: sums of powers of a few rows, and the finished values (see normalize_columns.zig).

const std = @import("std");
const micro_kernel = @import("micro_kernel.zig");
const row_kernel = @import("row_kernel.zig");
const stream_store = @import("stream_store.zig");

pub const Step = enum {
    /// factor[c] = sum over rows of e^(x - shift). A column of nothing but -infinity sums to zero.
    sum,
    /// out = e^(x - shift) factor
    softmax,
    /// out = (x - shift) - factor
    log_softmax,
};

pub fn Columns(comptime T: type) type {
    return struct {
        step: Step,
        x: [*]const T,
        /// Elements from row to row.
        x_step: isize,
        rows: usize,
        width: usize,
        /// Of each column; no value of it is larger.
        shift: [*]const T,
        factor: [*]T,
        out: [*]T = undefined,
        out_step: isize = 0,
        /// Whether stores pass the caches by; to be followed by `stream_store.finish`.
        streams: bool = false,

        inline fn rowOf(comptime P: type, first: P, step: isize, row: usize) P {
            return first + @as(usize, @bitCast(step *% @as(isize, @intCast(row))));
        }
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: micro_kernel.Arithmetic, job: *const Columns(T)) void {
    // Everything below is one function.
    @setEvalBranchQuota(20_000);
    switch (job.step) {
        inline else => |step| for (0..job.rows) |row| rowOf(T, lanes, arithmetic, step, job, row),
    }
}

inline fn rowOf(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: micro_kernel.Arithmetic, comptime step: Step, job: *const Columns(T), row: usize) void {
    const chains = row_kernel.chains;
    const x = Columns(T).rowOf([*]const T, job.x, job.x_step, row);
    const out = if (step == .sum) undefined else Columns(T).rowOf([*]T, job.out, job.out_step, row);
    var at: usize = 0;
    // Whole vectors begin where those that pass the caches by have to.
    if (step != .sum and job.streams) {
        const misaligned = @intFromPtr(out) / @sizeOf(T) % lanes;
        const head = @min(job.width, (lanes - misaligned) % lanes);
        if (head > 0) part(T, lanes, arithmetic, step, job, row, x, out, 0, head);
        at = head;
        while (at + chains * lanes <= job.width) : (at += chains * lanes) {
            const values = computed(T, lanes, arithmetic, step, job, x, at);
            inline for (values, 0..) |value, i| stream_store.store(lanes * @sizeOf(T), @ptrCast(out + at + i * lanes), @bitCast(value));
        }
    }
    while (at + chains * lanes <= job.width) : (at += chains * lanes) {
        const values = computed(T, lanes, arithmetic, step, job, x, at);
        inline for (values, 0..) |value, i| {
            const target = (if (step == .sum) job.factor else out) + at + i * lanes;
            if (step == .sum and row > 0) target[0..lanes].* = @as(@Vector(lanes, T), target[0..lanes].*) + value else target[0..lanes].* = value;
        }
    }
    if (at < job.width) part(T, lanes, arithmetic, step, job, row, x, out, at, job.width - at);
}

/// Fewer columns than a group has, by way of a group of its own.
inline fn part(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime step: Step,
    job: *const Columns(T),
    row: usize,
    x: [*]const T,
    out: [*]T,
    first: usize,
    count: usize,
) void {
    const len = row_kernel.chains * lanes;
    var line: [3][len]T align(64) = @splat(@splat(0));
    @memcpy(line[0][0..count], x[first..][0..count]);
    @memcpy(line[1][0..count], job.shift[first..][0..count]);
    if (step != .sum) @memcpy(line[2][0..count], job.factor[first..][0..count]);
    var padded = job.*;
    padded.shift = &line[1];
    padded.factor = &line[2];
    const values = computed(T, lanes, arithmetic, step, &padded, &line[0], 0);
    inline for (values, 0..) |value, i| line[0][i * lanes ..][0..lanes].* = value;
    if (step != .sum) {
        @memcpy(out[first..][0..count], line[0][0..count]);
    } else for (job.factor[first..][0..count], line[0][0..count]) |*sum, value| {
        sum.* = if (row > 0) sum.* + value else value;
    }
}

inline fn computed(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime step: Step,
    job: *const Columns(T),
    x: [*]const T,
    at: usize,
) row_kernel.Group(T, lanes) {
    const V = @Vector(lanes, T);
    const lowest: V = @splat(-std.math.floatMax(T));
    var values: row_kernel.Group(T, lanes) = undefined;
    inline for (&values, 0..) |*value, i| {
        const place = at + i * lanes;
        var shift: V = job.shift[place..][0..lanes].*;
        // The distance from -infinity would not be a number.
        if (step == .sum) shift = @select(T, shift < lowest, lowest, shift);
        value.* = @as(V, x[place..][0..lanes].*) - shift;
    }
    if (step != .log_softmax) values = row_kernel.powers(T, lanes, arithmetic, values);
    if (step != .sum) inline for (&values, 0..) |*value, i| {
        const factor: V = job.factor[at + i * lanes ..][0..lanes].*;
        value.* = if (step == .softmax) value.* * factor else value.* - factor;
    };
    return values;
}

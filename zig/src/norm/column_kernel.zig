//! Softmax and log-softmax down neighbouring columns: maxima and sums of powers of a few rows, and the finished values (see
//! normalize_columns.zig).

const std = @import("std");
const fma = @import("../simd/fma.zig");
const partial = @import("../simd/partial.zig");
const row_kernel = @import("row_kernel.zig");
const stream_store = @import("../simd/stream_store.zig");

const chains = row_kernel.chains;
const Group = row_kernel.Group;

pub const Step = enum {
    /// shift[c] = the largest value of the rows, factor[c] = sum over rows of e^(x - shift). A column of nothing but -infinity sums to zero.
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
        /// Distance from row to row, in elements.
        x_step: isize,
        rows: usize,
        width: usize,
        /// One for each column; no value of the column is larger.
        shift: [*]T,
        factor: [*]T,
        out: [*]T = undefined,
        out_step: isize = 0,
        /// Whether stores bypass the caches. `stream_store.finish` must follow then.
        streams: bool = false,
        /// The rows that are summed next, which are prefetched meanwhile.
        next: ?[*]const T = null,

        inline fn rowOf(comptime P: type, first: P, step: isize, row: usize) P {
            return first + @as(usize, @bitCast(step *% @as(isize, @intCast(row))));
        }
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, job: *const Columns(T)) void {
    // Everything below is inlined into one function.
    @setEvalBranchQuota(20_000);
    switch (job.step) {
        .sum => {
            const group_len = chains * lanes;
            var at: usize = 0;
            while (at + group_len <= job.width) : (at += group_len) sumOf(T, lanes, arithmetic, true, job, at);
            if (at < job.width) sumOf(T, lanes, arithmetic, false, job, at);
        },
        inline .softmax, .log_softmax => |step| for (0..job.rows) |row| finishRow(T, lanes, arithmetic, step, job, row),
    }
}

/// The group of columns from `at` on, or as many as there are: its maxima and sums stay in registers.
inline fn sumOf(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, comptime is_whole: bool, job: *const Columns(T), at: usize) void {
    const V = @Vector(lanes, T);
    var largest = load(T, lanes, is_whole, job, job.x, at);
    for (1..job.rows) |row| {
        const values = load(T, lanes, is_whole, job, Columns(T).rowOf([*]const T, job.x, job.x_step, row), at);
        inline for (&largest, values) |*known, value| known.* = row_kernel.larger(V, value, known.*);
    }
    // The distance from -infinity would not be a number.
    const lowest: V = @splat(-std.math.floatMax(T));
    var shifts = largest;
    inline for (&shifts) |*shift| shift.* = @select(T, shift.* < lowest, lowest, shift.*);
    var sums: Group(T, lanes) = @splat(@splat(0));
    for (0..job.rows) |row| {
        if (job.next) |next| if (is_whole) row_kernel.ask(T, lanes, Columns(T).rowOf([*]const T, next, job.x_step, row) + at);
        var values = load(T, lanes, is_whole, job, Columns(T).rowOf([*]const T, job.x, job.x_step, row), at);
        inline for (&values, shifts) |*value, shift| value.* -= shift;
        inline for (&sums, row_kernel.powers(T, lanes, arithmetic, values)) |*sum, power| sum.* += power;
    }
    const count = if (is_whole) chains * lanes else job.width - at;
    partial.save(T, lanes, chains, job.shift + at, count, largest);
    partial.save(T, lanes, chains, job.factor + at, count, sums);
}

inline fn load(comptime T: type, comptime lanes: comptime_int, comptime is_whole: bool, job: *const Columns(T), from: [*]const T, at: usize) Group(T, lanes) {
    return partial.load(T, lanes, chains, from + at, if (is_whole) chains * lanes else job.width - at, 0);
}

inline fn finishRow(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic, comptime step: Step, job: *const Columns(T), row: usize) void {
    const group_len = chains * lanes;
    const x = Columns(T).rowOf([*]const T, job.x, job.x_step, row);
    const out = Columns(T).rowOf([*]T, job.out, job.out_step, row);
    var at: usize = 0;
    // Whole vectors begin where those that bypass the caches have to.
    if (job.streams) {
        const misaligned = @intFromPtr(out) / @sizeOf(T) % lanes;
        at = @min(job.width, (lanes - misaligned) % lanes);
        if (at > 0) partial.save(T, lanes, chains, out, at, computed(T, lanes, arithmetic, step, job, x, 0, at));
    }
    while (at + group_len <= job.width) : (at += group_len) {
        const values = computed(T, lanes, arithmetic, step, job, x, at, group_len);
        const target = out + at;
        if (job.streams) {
            inline for (values, 0..) |value, i| stream_store.store(lanes * @sizeOf(T), @ptrCast(target + i * lanes), @bitCast(value));
        } else inline for (values, 0..) |value, i| {
            target[i * lanes ..][0..lanes].* = value;
        }
    }
    const rest = job.width - at;
    if (rest > 0) partial.save(T, lanes, chains, out + at, rest, computed(T, lanes, arithmetic, step, job, x, at, rest));
}

/// Columns [at, at + count).
inline fn computed(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: fma.Arithmetic,
    comptime step: Step,
    job: *const Columns(T),
    x: [*]const T,
    at: usize,
    count: usize,
) Group(T, lanes) {
    var values = partial.load(T, lanes, chains, x + at, count, 0);
    inline for (&values, partial.load(T, lanes, chains, job.shift + at, count, 0)) |*value, shift| value.* -= shift;
    if (step == .softmax) values = row_kernel.powers(T, lanes, arithmetic, values);
    inline for (&values, partial.load(T, lanes, chains, job.factor + at, count, 0)) |*value, factor| {
        value.* = if (step == .softmax) value.* * factor else value.* - factor;
    }
    return values;
}

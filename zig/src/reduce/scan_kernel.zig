//! Prefix sums, products and bests: every value is the one before it and its own element joined, in order.
//!
//! A value only waits for the value before it, so many lines that are scanned side by side keep a CPU busy. No bit depends on how many lines
//! there are.

const std = @import("std");
const pack = @import("../gemm/pack.zig");
const storage = @import("../simd/storage.zig");
const stream_store = @import("../simd/stream_store.zig");

/// The numbers are those of agpu.h; scan.zig asserts that.
pub const Operation = enum(u32) { sum = 0, product = 1, maximum = 2, minimum = 3 };

pub fn identity(comptime T: type, operation: Operation) T {
    const is_integer = comptime storage.isInteger(T);
    return switch (operation) {
        .sum => 0,
        .product => 1,
        .maximum => if (is_integer) std.math.minInt(T) else -std.math.inf(T),
        .minimum => if (is_integer) std.math.maxInt(T) else std.math.inf(T),
    };
}

/// `a` and `b` are vectors, or both scalars.
inline fn join(comptime V: type, comptime is_integer: bool, comptime operation: Operation, a: V, b: V) V {
    return switch (operation) {
        .sum => if (is_integer) a +% b else a + b,
        .product => if (is_integer) a *% b else a * b,
        .maximum => better(V, is_integer, a > b, a, b),
        .minimum => better(V, is_integer, a < b, a, b),
    };
}

/// `a` where it is better, or NaN: that stays.
inline fn better(comptime V: type, comptime is_integer: bool, a_is_better: anytype, a: V, b: V) V {
    if (@typeInfo(V) != .vector) return if (a_is_better or (!is_integer and a != a)) a else b;
    const Element = @typeInfo(V).vector.child;
    const best = @select(Element, a_is_better, a, b);
    return if (is_integer) best else @select(Element, a != a, a, best);
}

/// The scalar twin of both routines, element by element.
pub inline fn next(comptime T: type, operation: Operation, before: T, element: T) T {
    const is_integer = comptime storage.isInteger(T);
    return switch (operation) {
        inline else => |known| join(T, is_integer, known, before, element),
    };
}

/// Rows of adjacent elements, each joined to the one before it.
pub fn Rows(comptime T: type) type {
    return struct {
        operation: Operation,
        rows: usize,
        width: usize,
        source: [*]const T,
        source_row: isize,
        target: [*]T,
        target_row: isize,
        /// The row before the first; afterwards it holds the last row.
        values: [*]T,
        /// Whether stores bypass the caches. `stream_store.finish` must follow then.
        streams: bool,
    };
}

pub inline fn scanRows(comptime T: type, comptime lanes: comptime_int, job: *const Rows(T)) void {
    @setEvalBranchQuota(10_000);
    switch (job.operation) {
        inline else => |operation| rowsOf(T, lanes, operation, job),
    }
}

/// Rows that pass between two uses of the values so far: these are loaded and stored once for all.
const rows_together = 4;

inline fn rowsOf(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation, job: *const Rows(T)) void {
    var row: usize = 0;
    while (row + rows_together <= job.rows) : (row += rows_together) rowsAt(T, lanes, operation, rows_together, job, row);
    while (row < job.rows) : (row += 1) rowsAt(T, lanes, operation, 1, job, row);
}

/// Vectors of a row that are loaded before any is stored: where loads and stores of memory alternate one by one, an Intel Xeon takes a quarter
/// longer. As many as there are registers for, with their sums.
inline fn vectorsTogether(comptime T: type, comptime lanes: comptime_int) comptime_int {
    return if (lanes * @sizeOf(T) == 64) 4 else 2;
}

inline fn rowsAt(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    comptime count: comptime_int,
    job: *const Rows(T),
    row: usize,
) void {
    var sources: [count][*]const T = undefined;
    var targets: [count][*]T = undefined;
    inline for (0..count) |i| {
        const index: isize = @intCast(row + i);
        sources[i] = job.source + @as(usize, @bitCast(index * job.source_row));
        targets[i] = job.target + @as(usize, @bitCast(index * job.target_row));
    }
    const is_aligned = @intFromPtr(targets[0]) % (lanes * @sizeOf(T)) == 0 and @mod(job.target_row, lanes) == 0;
    const vectors = comptime vectorsTogether(T, lanes);
    var column: usize = 0;
    if (job.streams and is_aligned) {
        while (column + lanes <= job.width) : (column += lanes) columnsAt(T, lanes, 1, operation, count, true, job, &sources, &targets, column);
    }
    while (column + vectors * lanes <= job.width) : (column += vectors * lanes) columnsAt(T, lanes, vectors, operation, count, false, job, &sources, &targets, column);
    while (column + lanes <= job.width) : (column += lanes) columnsAt(T, lanes, 1, operation, count, false, job, &sources, &targets, column);
    while (column < job.width) : (column += 1) columnsAt(T, 1, 1, operation, count, false, job, &sources, &targets, column);
}

inline fn columnsAt(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime vectors: comptime_int,
    comptime operation: Operation,
    comptime count: comptime_int,
    comptime streams: bool,
    job: *const Rows(T),
    sources: *const [count][*]const T,
    targets: *const [count][*]T,
    column: usize,
) void {
    const V = @Vector(lanes, T);
    var elements: [count][vectors]V = undefined;
    inline for (&elements, sources) |*row, source| {
        inline for (row, 0..) |*element, i| element.* = source[column + i * lanes ..][0..lanes].*;
    }
    var values: [vectors]V = undefined;
    inline for (&values, 0..) |*value, i| value.* = job.values[column + i * lanes ..][0..lanes].*;
    inline for (elements, targets) |row, target| {
        inline for (&values, row, 0..) |*value, element, i| {
            value.* = join(V, comptime storage.isInteger(T), operation, value.*, element);
            const index = target + column + i * lanes;
            if (streams) stream_store.store(lanes * @sizeOf(T), @ptrCast(index), @bitCast(value.*)) else index[0..lanes].* = value.*;
        }
    }
    inline for (values, 0..) |value, i| job.values[column + i * lanes ..][0..lanes].* = value;
}

/// Lines of adjacent elements, as many as a vector has lanes or fewer, in place.
pub fn Lines(comptime T: type) type {
    return struct {
        operation: Operation,
        lines: usize,
        len: usize,
        /// Room for a whole vector of lines.
        ptr: [*]T,
        line: usize,
        /// The value before each line; afterwards it holds the last value of the line.
        values: [*]T,
    };
}

/// Lines beside one another from which on vectors pay: a square of vectors is transposed twice.
const least_lines = 3;

pub inline fn scanLines(comptime T: type, comptime lanes: comptime_int, job: *const Lines(T)) void {
    @setEvalBranchQuota(10_000);
    switch (job.operation) {
        inline else => |operation| linesOf(T, lanes, operation, job),
    }
}

inline fn linesOf(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation, job: *const Lines(T)) void {
    // Two squares of half a vector each keep a CPU busier than one square of whole vectors: neither waits for the other's sums, and vectors of 32
    // bytes are transposed twice as fast where the widest have 64.
    const edge = comptime @min(lanes, 32 / @sizeOf(T));
    const squares = lanes / edge;
    const V = @Vector(edge, T);
    const is_integer = comptime storage.isInteger(T);
    var done: usize = 0;
    if (job.lines >= least_lines) {
        var values: [squares]V = undefined;
        inline for (&values, 0..) |*value, square| value.* = job.values[square * edge ..][0..edge].*;
        while (done + edge <= job.len) : (done += edge) {
            var blocks: [squares][edge]V = undefined;
            inline for (&blocks, 0..) |*block, square| {
                inline for (block, square * edge..) |*row, i| row.* = job.ptr[i * job.line + done ..][0..edge].*;
                pack.transpose(T, edge, block);
            }
            inline for (0..edge) |i| {
                inline for (&blocks, &values) |*block, *value| {
                    value.* = join(V, is_integer, operation, value.*, block[i]);
                    block[i] = value.*;
                }
            }
            inline for (&blocks, 0..) |*block, square| {
                pack.transpose(T, edge, block);
                inline for (block, square * edge..) |row, i| job.ptr[i * job.line + done ..][0..edge].* = row;
            }
        }
        inline for (values, 0..) |value, square| job.values[square * edge ..][0..edge].* = value;
    }
    for (0..job.lines) |i| {
        var value = job.values[i];
        for (job.ptr[i * job.line + done .. i * job.line + job.len]) |*element| {
            value = join(T, is_integer, operation, value, element.*);
            element.* = value;
        }
        job.values[i] = value;
    }
}

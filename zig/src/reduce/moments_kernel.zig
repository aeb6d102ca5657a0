//! Means and sums of squared distances from them, in one pass over memory: what the first cache or the registers hold has moments of its own,
//! and moments are joined pairwise (Chan, Golub, LeVeque, Algorithms for Computing the Sample Variance, 1983, equations 1.5).
//!
//! Means count from a shift, a value near them that all parts of a result share: their rounding is relative to the spread then, however far
//! from zero the values are.

const std = @import("std");
const fetch = @import("../simd/fetch.zig");
const fma = @import("../simd/fma.zig");
const reduce_kernel = @import("reduce_kernel.zig");
const moments = @import("moments.zig");

pub const Moments = moments.Moments;
const Vectors = moments.Vectors;
const joined = moments.joined;

const Arithmetic = fma.Arithmetic;

/// The shift from which the mean of values that begin with `first` counts. No difference from it overflows, and none is NaN unless a value is.
pub fn shiftOf(comptime T: type, first: T) T {
    return if (@abs(first) < @sqrt(std.math.floatMax(T))) first else 0;
}

/// Adjacent values.
pub fn Run(comptime T: type) type {
    return struct { ptr: [*]const T, len: usize, shift: T };
}

/// Number of values that are still in the first cache when they are read again.
const leaf_len = reduce_kernel.leaf_len;
const line_bytes = 64;

pub inline fn ofRun(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, run: *const Run(T)) Moments {
    var cascade: reduce_kernel.Cascade(T, .squares) = .{};
    var begin: usize = 0;
    while (begin < run.len) : (begin += leaf_len) {
        cascade.push(ofLeaf(T, lanes, arithmetic, run.ptr + begin, @min(leaf_len, run.len - begin), run.shift));
    }
    return cascade.total();
}

const chain_count = 4;

inline fn ofLeaf(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, ptr: [*]const T, len: usize, shift: T) Moments {
    const V = @Vector(lanes, T);
    const shifts: V = @splat(shift);
    var accumulators: [chain_count]V = @splat(@splat(0));
    var i: usize = 0;
    while (i + chain_count * lanes <= len) : (i += chain_count * lanes) {
        fetch.ahead(chain_count * lanes * @sizeOf(T), ptr + i, .read);
        inline for (0..chain_count) |chain| accumulators[chain] += @as(V, ptr[i + chain * lanes ..][0..lanes].*) - shifts;
    }
    while (i + lanes <= len) : (i += lanes) accumulators[0] += @as(V, ptr[i..][0..lanes].*) - shifts;
    var sum = reduce_kernel.across(T, lanes, .sum, total(V, chain_count, accumulators));
    while (i < len) : (i += 1) sum += ptr[i] - shift;
    const count: f64 = @floatFromInt(len);
    const mean = @as(f64, sum) / count;
    const center: T = @floatCast(shift + mean);
    const squares: f64 = squaresOf(T, lanes, arithmetic, ptr, len, center);
    // What the center's rounding adds; not known of infinite ones.
    const distance = (@as(f64, center) - shift) - mean;
    const excess = count * distance * distance;
    return .{ .count = count, .mean = mean, .squares = if (excess < squares) squares - excess else if (excess >= squares) 0 else squares };
}

/// Meanwhile the next leaf is prefetched, because memory would be idle.
inline fn squaresOf(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, ptr: [*]const T, len: usize, center: T) T {
    const V = @Vector(lanes, T);
    const centers: V = @splat(center);
    var accumulators: [chain_count]V = @splat(@splat(0));
    var i: usize = 0;
    while (i + chain_count * lanes <= len) : (i += chain_count * lanes) {
        inline for (0..chain_count * lanes * @sizeOf(T) / line_bytes) |line| {
            @prefetch(ptr + i + leaf_len + line * line_bytes / @sizeOf(T), .{});
        }
        inline for (0..chain_count) |chain| {
            const distance = @as(V, ptr[i + chain * lanes ..][0..lanes].*) - centers;
            accumulators[chain] = fma.multiplyAdd(arithmetic, V, distance, distance, accumulators[chain]);
        }
    }
    while (i + lanes <= len) : (i += lanes) {
        const distance = @as(V, ptr[i..][0..lanes].*) - centers;
        accumulators[0] = fma.multiplyAdd(arithmetic, V, distance, distance, accumulators[0]);
    }
    var sum = reduce_kernel.across(T, lanes, .sum, total(V, chain_count, accumulators));
    while (i < len) : (i += 1) sum += (ptr[i] - center) * (ptr[i] - center);
    return sum;
}

/// Adds in pairs, then pairs of pairs.
inline fn total(comptime V: type, comptime count: comptime_int, parts: [count]V) V {
    if (count == 1) return parts[0];
    const half = count / 2;
    return total(V, half, parts[0..half].*) + total(V, count - half, parts[half..].*);
}

/// The moments of each column, led on from those of `count` rows in `mean` and `squares`.
pub fn Rows(comptime T: type) type {
    return struct {
        ptr: [*]const T,
        /// Distance from row to row, in elements.
        step: isize,
        rows: usize,
        width: usize,
        /// One for each column.
        shift: [*]const T,
        mean: [*]T,
        squares: [*]T,
        count: usize,
    };
}

/// Rows whose values are read once, into registers; as many lines of the same set as a first cache of 32 KiB holds.
const row_group = 8;

pub inline fn ofRows(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Rows(T)) void {
    var row: usize = 0;
    while (row + row_group <= job.rows) : (row += row_group) ofGroup(T, lanes, arithmetic, row_group, job, row);
    while (row < job.rows) : (row += 1) ofGroup(T, lanes, arithmetic, 1, job, row);
}

inline fn ofGroup(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime rows: comptime_int, job: *const Rows(T), row: usize) void {
    const first = job.ptr + @as(usize, @bitCast(@as(isize, @intCast(row)) * job.step));
    var column: usize = 0;
    while (column + lanes <= job.width) : (column += lanes) ofColumns(T, lanes, arithmetic, rows, job, first, job.count + row, column);
    while (column < job.width) : (column += 1) ofColumns(T, 1, arithmetic, rows, job, first, job.count + row, column);
}

inline fn ofColumns(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    comptime rows: comptime_int,
    job: *const Rows(T),
    first: [*]const T,
    count: usize,
    column: usize,
) void {
    const V = @Vector(lanes, T);
    const shifts: V = job.shift[column..][0..lanes].*;
    var values: [rows]V = undefined;
    inline for (0..rows) |i| {
        const line = first + @as(usize, @bitCast(@as(isize, i) * job.step)) + column;
        // The next group, to the second cache: lines of a column may share one set of the first.
        if (rows > 1 and lanes > 1) @prefetch(line + @as(usize, @bitCast(@as(isize, rows) * job.step)), .{ .locality = 2 });
        values[i] = @as(V, line[0..lanes].*) - shifts;
    }
    const mean = total(V, rows, values) * @as(V, @splat(1.0 / @as(T, rows)));
    const chains = @min(rows, chain_count);
    var accumulators: [chains]V = @splat(@splat(0));
    inline for (values, 0..) |value, i| accumulators[i % chains] = fma.multiplyAdd(arithmetic, V, value - mean, value - mean, accumulators[i % chains]);
    const own: Vectors(T, lanes) = .{ .mean = mean, .squares = total(V, chains, accumulators) };
    const share = @as(T, rows) / @as(T, @floatFromInt(count + rows));
    write(T, lanes, job.mean[column..], job.squares[column..], if (count == 0) own else joined(
        T,
        lanes,
        arithmetic,
        .{ .mean = job.mean[column..][0..lanes].*, .squares = job.squares[column..][0..lanes].* },
        own,
        share,
        share * @as(T, @floatFromInt(count)),
    ));
}

inline fn write(comptime T: type, comptime lanes: comptime_int, mean: [*]T, squares: [*]T, both: Vectors(T, lanes)) void {
    mean[0..lanes].* = both.mean;
    squares[0..lanes].* = both.squares;
}

/// Moments of columns, led on from those of earlier rows.
pub fn Joint(comptime T: type) type {
    return struct {
        earlier_mean: [*]const T,
        earlier_squares: [*]const T,
        earlier_count: usize,
        mean: [*]T,
        squares: [*]T,
        count: usize,
        width: usize,
    };
}

pub inline fn join(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Joint(T)) void {
    const share = @as(T, @floatFromInt(job.count)) / @as(T, @floatFromInt(job.earlier_count + job.count));
    const weight = share * @as(T, @floatFromInt(job.earlier_count));
    var column: usize = 0;
    while (column + lanes <= job.width) : (column += lanes) joinColumns(T, lanes, arithmetic, job, column, share, weight);
    while (column < job.width) : (column += 1) joinColumns(T, 1, arithmetic, job, column, share, weight);
}

inline fn joinColumns(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Joint(T), column: usize, share: T, weight: T) void {
    write(T, lanes, job.mean[column..], job.squares[column..], joined(
        T,
        lanes,
        arithmetic,
        .{ .mean = job.earlier_mean[column..][0..lanes].*, .squares = job.earlier_squares[column..][0..lanes].* },
        .{ .mean = job.mean[column..][0..lanes].*, .squares = job.squares[column..][0..lanes].* },
        share,
        weight,
    ));
}

//! What attention computes of blocks: products of small matrices, and the powers of blocks of scores whose rows are joined one after the other.
//!
//! A row of scores is never whole in memory: the largest score and the sum of the powers so far stand beside it, and what was summed is
//! multiplied again when a larger score appears (Milakov and Gimelshein 2018; Dao et al. 2022).

const std = @import("std");
const generic = @import("generic");

const Arithmetic = generic.fma.Arithmetic;

/// The types that attention is computed in.
pub const computed = [_]type{ f32, f64 };

/// Queries, and keys, of a block: a multiple of `tile_rows` and of whole register tiles. A block of keys of 64 float32 stays in L1.
pub const block_len = 128;
/// Rows of the register tile of `multiply`.
pub const tile_rows = 4;

pub fn Table(comptime T: type) type {
    return struct {
        /// Elements of a vector.
        lanes: usize,
        multiply: *const fn (*const Product(T)) void,
        join: *const fn (*const Join(T)) void,
        slope: *const fn (*const Slope(T)) void,
    };
}

/// c = a b, or with `adds` added to c. `rows` is a multiple of `tile_rows`, `columns` of the elements of a vector; rows of b and c are adjacent
/// elements.
pub fn Product(comptime T: type) type {
    return struct {
        rows: usize,
        columns: usize,
        depth: usize,
        a: [*]const T,
        /// From row to row of a, and along a row.
        a_row: usize,
        a_step: usize,
        b: [*]const T,
        b_row: usize,
        c: [*]T,
        c_row: usize,
        adds: bool,
    };
}

/// Which scores of a block count.
pub fn Visible(comptime T: type) type {
    return struct {
        /// Keys of the block, and those that the first row sees where each row sees one more than the one before it.
        columns: usize,
        first: ?isize,
        /// Rows of a mask: truth values as 0 and others, or addends.
        mask: ?[*]const T,
        is_truth: bool,

        inline fn count(visible: *const @This(), row: usize) usize {
            const first = visible.first orelse return visible.columns;
            return @intCast(std.math.clamp(first + @as(isize, @intCast(row)), 0, @as(isize, @intCast(visible.columns))));
        }

        /// Masks a row of scores, which is `padded` elements long.
        inline fn apply(visible: *const @This(), comptime lanes: comptime_int, row: usize, scores: [*]T, padded: usize) void {
            const V = @Vector(lanes, T);
            const hidden: V = @splat(-std.math.inf(T));
            if (visible.mask) |mask| {
                const own = mask + row * block_len;
                var j: usize = 0;
                while (j < padded) : (j += lanes) {
                    const value: V = own[j..][0..lanes].*;
                    const score: V = scores[j..][0..lanes].*;
                    scores[j..][0..lanes].* = if (visible.is_truth) @select(T, value != @as(V, @splat(0)), score, hidden) else score + value;
                }
            }
            for (visible.count(row)..padded) |j| scores[j] = -std.math.inf(T);
        }
    };
}

/// Joins a block of scores to what the rows have summed so far: scores become powers, `out` is multiplied by what the largest score has risen.
pub fn Join(comptime T: type) type {
    return struct {
        rows: usize,
        /// Columns up to a whole vector.
        padded: usize,
        scores: [*]T,
        visible: Visible(T),
        largest: [*]T,
        sums: [*]T,
        out: [*]T,
        out_row: usize,
    };
}

/// Scores become shares, `gradient` (by the shares) the gradient by the scores.
pub fn Slope(comptime T: type) type {
    return struct {
        rows: usize,
        padded: usize,
        scores: [*]T,
        gradient: [*]T,
        visible: Visible(T),
        /// Logarithms of the sums of powers; infinite where a row sees no key.
        logarithms: [*]const T,
        /// Sums of shares times their gradients.
        level: [*]const T,
    };
}

pub inline fn multiply(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime width: comptime_int, job: *const Product(T)) void {
    var column: usize = 0;
    while (column + width * lanes <= job.columns) : (column += width * lanes) strip(T, lanes, arithmetic, width, job, column);
    if (width > 2) while (column + 2 * lanes <= job.columns) : (column += 2 * lanes) strip(T, lanes, arithmetic, 2, job, column);
    if (column < job.columns) strip(T, lanes, arithmetic, 1, job, column);
}

/// The columns of some vectors: those of b stay in L1 for all rows.
inline fn strip(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, comptime width: comptime_int, job: *const Product(T), column: usize) void {
    const V = @Vector(lanes, T);
    var row: usize = 0;
    while (row < job.rows) : (row += tile_rows) {
        var sums: [tile_rows][width]V = @splat(@splat(@splat(0)));
        const c = job.c + row * job.c_row + column;
        if (job.adds) inline for (&sums, 0..) |*line, i| inline for (line, 0..) |*sum, v| {
            sum.* = c[i * job.c_row + v * lanes ..][0..lanes].*;
        };
        const a = job.a + row * job.a_row;
        var b = job.b + column;
        for (0..job.depth) |k| {
            var factors: [width]V = undefined;
            inline for (&factors, 0..) |*factor, v| factor.* = b[v * lanes ..][0..lanes].*;
            inline for (&sums, 0..) |*line, i| {
                const value: V = @splat(a[i * job.a_row + k * job.a_step]);
                inline for (line, factors) |*sum, factor| sum.* = generic.fma.multiplyAdd(arithmetic, V, value, factor, sum.*);
            }
            b += job.b_row;
        }
        inline for (sums, 0..) |line, i| inline for (line, 0..) |sum, v| {
            c[i * job.c_row + v * lanes ..][0..lanes].* = sum;
        };
    }
}

pub inline fn join(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Join(T)) void {
    const V = @Vector(lanes, T);
    for (0..job.rows) |row| {
        const scores = job.scores + row * block_len;
        job.visible.apply(lanes, row, scores, job.padded);
        var most: V = @splat(job.largest[row]);
        var j: usize = 0;
        while (j < job.padded) : (j += lanes) {
            const score: V = scores[j..][0..lanes].*;
            // A NaN is larger than any number.
            most = @select(T, score <= most, most, score);
        }
        const largest = largestOf(T, lanes, most);
        if (largest == -std.math.inf(T)) {
            @memset(scores[0..job.padded], 0);
            continue;
        }
        const before = job.largest[row];
        if (largest != before) {
            const factor: T = if (before == -std.math.inf(T)) 0 else power(T, lanes, arithmetic, @splat(before - largest))[0];
            job.sums[row] *= factor;
            const out = job.out + row * job.out_row;
            j = 0;
            while (j < job.out_row) : (j += lanes) {
                const value: V = out[j..][0..lanes].*;
                out[j..][0..lanes].* = value * @as(V, @splat(factor));
            }
            job.largest[row] = largest;
        }
        job.sums[row] += raise(T, lanes, arithmetic, scores, job.padded, largest);
    }
}

/// Scores become powers of what they are less than the largest; returns their sum.
inline fn raise(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, scores: [*]T, padded: usize, largest: T) T {
    const V = @Vector(lanes, T);
    const chains = generic.row_kernel.chains;
    const shift: V = @splat(largest);
    var sums: [chains]V = @splat(@splat(0));
    var j: usize = 0;
    while (j + chains * lanes <= padded) : (j += chains * lanes) {
        var group: generic.row_kernel.Group(T, lanes) = undefined;
        inline for (&group, 0..) |*value, v| value.* = @as(V, scores[j + v * lanes ..][0..lanes].*) - shift;
        group = generic.row_kernel.powers(T, lanes, arithmetic, group);
        inline for (&sums, group, 0..) |*sum, value, v| {
            sum.* += value;
            scores[j + v * lanes ..][0..lanes].* = value;
        }
    }
    while (j < padded) : (j += lanes) {
        const value = power(T, lanes, arithmetic, @as(V, scores[j..][0..lanes].*) - shift);
        sums[0] += value;
        scores[j..][0..lanes].* = value;
    }
    inline for (1..chains) |v| sums[0] += sums[v];
    return @reduce(.Add, sums[0]);
}

inline fn largestOf(comptime T: type, comptime lanes: comptime_int, values: @Vector(lanes, T)) T {
    if (@reduce(.Or, values != values)) return std.math.nan(T);
    return @reduce(.Max, values);
}

pub inline fn slope(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, job: *const Slope(T)) void {
    const V = @Vector(lanes, T);
    const zero: V = @splat(0);
    for (0..job.rows) |row| {
        const scores = job.scores + row * block_len;
        const gradient = job.gradient + row * block_len;
        job.visible.apply(lanes, row, scores, job.padded);
        const shift: V = @splat(job.logarithms[row]);
        const level: V = @splat(job.level[row]);
        var j: usize = 0;
        while (j < job.padded) : (j += lanes) {
            const score: V = scores[j..][0..lanes].*;
            const given: V = gradient[j..][0..lanes].*;
            const share = power(T, lanes, arithmetic, score - shift);
            scores[j..][0..lanes].* = share;
            // What counts for nothing passes nothing on, whatever its gradient is.
            gradient[j..][0..lanes].* = @select(T, share == zero, zero, share * (given - level));
        }
    }
}

/// e^x of values that are not positive, but for rounding.
inline fn power(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: Arithmetic, x: @Vector(lanes, T)) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    if (T == f32) {
        if (@reduce(.And, @abs(x) <= @as(V, @splat(generic.vector_math.ordinary_exponent)))) return generic.vector_math.expOrdinary(arithmetic, V, x);
        return generic.vector_math.expAnywhere(arithmetic, V, x);
    }
    return generic.elementary.exp(V, x);
}

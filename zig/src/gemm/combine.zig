//! Matmuls with few columns whose operand `a` has adjacent rows, such as a row vector times a row-major matrix: each column of `out` is
//! a combination of the columns of `a`. Reads `a` once, in long runs.
//!
//! Each sum is accumulated step by step along k, as in the register tile, so the bits are the same.

const table = @import("gemm_table.zig");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Largest number of columns; `skinny.zig` asks for no more.
pub const max_columns = 4;
/// Longest vector. Rows of many matrices begin at multiples of 32 bytes, and a load that crosses two cache lines counts twice.
const max_vector_bytes = 32;
/// Number of steps along k that are taken together: their runs are read side by side, and each sum is loaded and stored once for all.
fn stepCount(comptime columns: usize) usize {
    return if (columns == 1) 8 else 4;
}

/// Size of the buffer that holds the sums until all of k is added: half of the smallest L1.
const accumulators_bytes = 16 << 10;

pub inline fn run(comptime numbers: Numbers, comptime most_lanes: usize, comptime arithmetic: fma.Arithmetic, job: *const table.Combine(numbers)) void {
    const lanes = comptime @min(most_lanes, max_vector_bytes / @sizeOf(numbers.Sum));
    switch (job.n) {
        inline 1...max_columns => |columns| {
            const chunk_rows = comptime accumulators_bytes / @sizeOf(numbers.Sum) / columns / lanes * lanes;
            var row: usize = 0;
            while (row < job.m) : (row += chunk_rows) {
                chunk(numbers, lanes, arithmetic, columns, chunk_rows, row, @min(chunk_rows, job.m - row), job);
            }
        },
        else => unreachable,
    }
}

inline fn chunk(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: fma.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    first_row: usize,
    rows: usize,
    job: *const table.Combine(numbers),
) void {
    const T = numbers.Sum;
    const steps = comptime stepCount(columns);
    var accumulators: [columns][chunk_rows]T align(64) = undefined;
    for (&accumulators) |*column| @memset(column[0..rows], 0);
    var step: usize = 0;
    while (step + steps <= job.k) : (step += steps) add(numbers, lanes, arithmetic, columns, chunk_rows, steps, &accumulators, first_row, rows, step, job);
    while (step < job.k) : (step += 1) add(numbers, lanes, arithmetic, columns, chunk_rows, 1, &accumulators, first_row, rows, step, job);
    inline for (0..columns) |j| {
        const out = pointers.offset(T, job.out, @as(isize, j) * job.out_column);
        for (0..rows) |i| {
            const target = pointers.offset(T, out, @as(isize, @intCast(first_row + i)) * job.out_row);
            const sum = job.alpha * accumulators[j][i];
            target[0] = if (job.beta == 0) sum else sum + job.beta * target[0];
        }
    }
}

inline fn add(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: fma.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    comptime count: usize,
    accumulators: *[columns][chunk_rows]numbers.Sum,
    first_row: usize,
    rows: usize,
    first_step: usize,
    job: *const table.Combine(numbers),
) void {
    @setEvalBranchQuota(10_000);
    const T = numbers.Sum;
    var a: [count][*]const T = undefined;
    var b: [count][columns]T = undefined;
    inline for (0..count) |s| {
        const step: isize = @intCast(first_step + s);
        a[s] = pointers.offsetConst(T, job.a, step * job.a_step) + first_row;
        inline for (0..columns) |j| {
            b[s][j] = pointers.offsetConst(T, job.b, step * job.b_step + @as(isize, j) * job.b_column)[0];
        }
    }
    // The next runs begin on other pages, which the hardware prefetcher does not reach.
    const ahead = @as(isize, count) * job.a_step;
    var row: usize = 0;
    while (row + lanes <= rows) : (row += lanes) {
        if (job.is_far) inline for (0..count) |s| @prefetch(pointers.offsetConst(T, a[s] + row, ahead), .{ .locality = 2 });
        addAt(T, lanes, arithmetic, columns, chunk_rows, count, accumulators, &a, &b, row);
    }
    while (row < rows) : (row += 1) addAt(T, 1, arithmetic, columns, chunk_rows, count, accumulators, &a, &b, row);
}

inline fn addAt(
    comptime T: type,
    comptime len: usize,
    comptime arithmetic: fma.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    comptime count: usize,
    accumulators: *[columns][chunk_rows]T,
    a: *const [count][*]const T,
    b: *const [count][columns]T,
    row: usize,
) void {
    const V = @Vector(len, T);
    inline for (0..columns) |j| {
        var sum: V = accumulators[j][row..][0..len].*;
        inline for (0..count) |s| {
            sum = fma.multiplyAdd(arithmetic, V, a[s][row..][0..len].*, @as(V, @splat(b[s][j])), sum);
        }
        accumulators[j][row..][0..len].* = sum;
    }
}

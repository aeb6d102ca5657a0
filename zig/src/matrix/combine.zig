//! Products with few columns whose left operand has adjacent rows, such as a row vector times a row-major matrix: each column of `out` is
//! a combination of the columns of `left`. Reads `left` once, in long runs.
//!
//! Sums grow step by step along the depth, as in the register tile: the same bits.

const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Most columns taken; `thin.zig` asks for no more.
pub const max_columns = 4;
/// Longest vector: rows of many matrices begin at multiples of 32 bytes, and a load across two cache lines counts twice.
const max_vector_bytes = 32;
/// Steps of the depth taken together: their runs are read side by side, and a sum is loaded and stored once for all.
fn stepCount(comptime columns: usize) usize {
    return if (columns == 1) 8 else 4;
}

/// Sums that stand aside while the depth passes: half of the smallest L1.
const sums_bytes = 16 << 10;

pub inline fn run(comptime numbers: Numbers, comptime most_lanes: usize, comptime arithmetic: micro_kernel.Arithmetic, job: *const table.Combine(numbers)) void {
    const lanes = comptime @min(most_lanes, max_vector_bytes / @sizeOf(numbers.Sum));
    switch (job.columns) {
        inline 1...max_columns => |columns| {
            const chunk_rows = comptime sums_bytes / @sizeOf(numbers.Sum) / columns / lanes * lanes;
            var row: usize = 0;
            while (row < job.rows) : (row += chunk_rows) {
                chunk(numbers, lanes, arithmetic, columns, chunk_rows, row, @min(chunk_rows, job.rows - row), job);
            }
        },
        else => unreachable,
    }
}

inline fn chunk(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    first_row: usize,
    rows: usize,
    job: *const table.Combine(numbers),
) void {
    const T = numbers.Sum;
    const steps = comptime stepCount(columns);
    var sums: [columns][chunk_rows]T align(64) = undefined;
    for (&sums) |*column| @memset(column[0..rows], 0);
    var step: usize = 0;
    while (step + steps <= job.depth) : (step += steps) add(numbers, lanes, arithmetic, columns, chunk_rows, steps, &sums, first_row, rows, step, job);
    while (step < job.depth) : (step += 1) add(numbers, lanes, arithmetic, columns, chunk_rows, 1, &sums, first_row, rows, step, job);
    inline for (0..columns) |j| {
        const out = micro_kernel.offset(T, job.out, @as(isize, j) * job.out_column);
        for (0..rows) |i| {
            const target = micro_kernel.offset(T, out, @as(isize, @intCast(first_row + i)) * job.out_row);
            const sum = job.alpha * sums[j][i];
            target[0] = if (job.beta == 0) sum else sum + job.beta * target[0];
        }
    }
}

inline fn add(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    comptime count: usize,
    sums: *[columns][chunk_rows]numbers.Sum,
    first_row: usize,
    rows: usize,
    first_step: usize,
    job: *const table.Combine(numbers),
) void {
    @setEvalBranchQuota(10_000);
    const T = numbers.Sum;
    var left: [count][*]const T = undefined;
    var right: [count][columns]T = undefined;
    inline for (0..count) |s| {
        const step: isize = @intCast(first_step + s);
        left[s] = micro_kernel.offsetConst(T, job.left, step * job.left_step) + first_row;
        inline for (0..columns) |j| {
            right[s][j] = micro_kernel.offsetConst(T, job.right, step * job.right_step + @as(isize, j) * job.right_column)[0];
        }
    }
    // The next runs begin on other pages, where no prefetcher looks.
    const ahead = @as(isize, count) * job.left_step;
    var row: usize = 0;
    while (row + lanes <= rows) : (row += lanes) {
        if (job.is_far) inline for (0..count) |s| @prefetch(micro_kernel.offsetConst(T, left[s] + row, ahead), .{ .locality = 2 });
        addAt(T, lanes, arithmetic, columns, chunk_rows, count, sums, &left, &right, row);
    }
    while (row < rows) : (row += 1) addAt(T, 1, arithmetic, columns, chunk_rows, count, sums, &left, &right, row);
}

inline fn addAt(
    comptime T: type,
    comptime len: usize,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime columns: usize,
    comptime chunk_rows: usize,
    comptime count: usize,
    sums: *[columns][chunk_rows]T,
    left: *const [count][*]const T,
    right: *const [count][columns]T,
    row: usize,
) void {
    const V = @Vector(len, T);
    inline for (0..columns) |j| {
        var sum: V = sums[j][row..][0..len].*;
        inline for (0..count) |s| {
            sum = micro_kernel.multiplyAdd(arithmetic, V, left[s][row..][0..len].*, @as(V, @splat(right[s][j])), sum);
        }
        sums[j][row..][0..len].* = sum;
    }
}

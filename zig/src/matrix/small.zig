//! Products of matrices so small that a column of `out` is one vector of just its length, many of them one after the other.
//!
//! Sums grow step by step along the depth, as in the register tile: the same bits.

const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Most rows taken, each number of them by code of its own; blocking.zig asks for no more.
pub const max_rows = 16;
/// Columns taken together: their sums hide the latency of the multiply-adds from each other.
const group_columns = 4;

pub inline fn run(comptime numbers: Numbers, comptime arithmetic: micro_kernel.Arithmetic, job: *const table.Small(numbers)) void {
    switch (job.rows) {
        inline 1...max_rows => |rows| {
            var left = job.left;
            var right = job.right;
            var out = job.out;
            for (0..job.count) |_| {
                var column: usize = 0;
                while (column + group_columns <= job.columns) : (column += group_columns) {
                    group(numbers, arithmetic, rows, group_columns, job, left, right, out, column);
                }
                while (column < job.columns) : (column += 1) group(numbers, arithmetic, rows, 1, job, left, right, out, column);
                left = micro_kernel.offsetConst(numbers.Source, left, job.left_next);
                right = micro_kernel.offsetConst(numbers.Source, right, job.right_next);
                out = micro_kernel.offset(numbers.Sum, out, job.out_next);
            }
        },
        else => unreachable,
    }
}

inline fn group(
    comptime numbers: Numbers,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime rows: usize,
    comptime columns: usize,
    job: *const table.Small(numbers),
    first_left: [*]const numbers.Source,
    first_right: [*]const numbers.Source,
    first_out: [*]numbers.Sum,
    column: usize,
) void {
    const T = numbers.Sum;
    const V = @Vector(rows, T);
    const first: isize = @intCast(column);
    var sums: [columns]V = @splat(@splat(0));
    var left = first_left;
    var right = micro_kernel.offsetConst(T, first_right, first * job.right_column);
    for (0..job.depth) |_| {
        const line: V = left[0..rows].*;
        inline for (0..columns) |j| {
            const factor: V = @splat(micro_kernel.offsetConst(T, right, @as(isize, j) * job.right_column)[0]);
            sums[j] = micro_kernel.multiplyAdd(arithmetic, V, line, factor, sums[j]);
        }
        left = micro_kernel.offsetConst(T, left, job.left_step);
        right = micro_kernel.offsetConst(T, right, job.right_step);
    }
    const alpha: V = @splat(job.alpha);
    const out = micro_kernel.offset(T, first_out, first * job.out_column);
    inline for (0..columns) |j| micro_kernel.offset(T, out, @as(isize, j) * job.out_column)[0..rows].* = alpha * sums[j];
}

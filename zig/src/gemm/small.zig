//! Many matmuls, one after the other, that are so small that each column of `out` is one vector of exactly that length.
//!
//! Each sum is accumulated step by step along k, as in the register tile, so the bits are the same.

const table = @import("gemm_table.zig");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Largest number of rows; each number of rows has code of its own. blocking.zig asks for no more.
pub const max_rows = 16;
/// Number of columns that are computed together, so that their independent sums hide the latency of the multiply-adds.
const group_columns = 4;

pub inline fn run(comptime numbers: Numbers, comptime arithmetic: fma.Arithmetic, job: *const table.Small(numbers)) void {
    switch (job.m) {
        inline 1...max_rows => |rows| {
            var a = job.a;
            var b = job.b;
            var out = job.out;
            for (0..job.count) |_| {
                var column: usize = 0;
                while (column + group_columns <= job.n) : (column += group_columns) {
                    group(numbers, arithmetic, rows, group_columns, job, a, b, out, column);
                }
                while (column < job.n) : (column += 1) group(numbers, arithmetic, rows, 1, job, a, b, out, column);
                a = pointers.offsetConst(numbers.Source, a, job.a_next);
                b = pointers.offsetConst(numbers.Source, b, job.b_next);
                out = pointers.offset(numbers.Sum, out, job.out_next);
            }
        },
        else => unreachable,
    }
}

inline fn group(
    comptime numbers: Numbers,
    comptime arithmetic: fma.Arithmetic,
    comptime rows: usize,
    comptime columns: usize,
    job: *const table.Small(numbers),
    first_a: [*]const numbers.Source,
    first_b: [*]const numbers.Source,
    first_out: [*]numbers.Sum,
    column: usize,
) void {
    const T = numbers.Sum;
    const V = @Vector(rows, T);
    const first: isize = @intCast(column);
    var accumulators: [columns]V = @splat(@splat(0));
    var a = first_a;
    var b = pointers.offsetConst(T, first_b, first * job.b_column);
    for (0..job.k) |_| {
        const line: V = a[0..rows].*;
        inline for (0..columns) |j| {
            const factor: V = @splat(pointers.offsetConst(T, b, @as(isize, j) * job.b_column)[0]);
            accumulators[j] = fma.multiplyAdd(arithmetic, V, line, factor, accumulators[j]);
        }
        a = pointers.offsetConst(T, a, job.a_step);
        b = pointers.offsetConst(T, b, job.b_step);
    }
    const alpha: V = @splat(job.alpha);
    const out = pointers.offset(T, first_out, first * job.out_column);
    inline for (0..columns) |j| pointers.offset(T, out, @as(isize, j) * job.out_column)[0..rows].* = alpha * accumulators[j];
}

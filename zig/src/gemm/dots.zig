//! Matmuls with few columns, such as a matrix times a vector, as dot products along k. Reads `a` once, in order.

const std = @import("std");
const builtin = @import("builtin");
const table = @import("gemm_table.zig");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Largest number of columns; `skinny.zig` asks for no more.
pub const max_columns = 8;

/// Number of independent sums for neighbouring vectors: they hide the latency of the multiply-adds.
fn chainCount(comptime columns: usize) usize {
    return @max(1, 4 / columns);
}

/// Number of rows that share each load of `b`: as many as there are registers for their sums. A CPU has 32 registers of 64 bytes, or 16 of
/// the other widths of x86-64.
fn groupRows(comptime T: type, comptime lanes: usize, comptime columns: usize) usize {
    const has_many = lanes * @sizeOf(T) == 64 or builtin.cpu.arch == .aarch64;
    const registers = if (has_many) 32 else 16;
    // One register is for an element of `a`, and one for each column of `b`.
    return std.math.clamp((registers - 1 - columns) / (columns * chainCount(columns)), 1, 4);
}

pub inline fn run(comptime numbers: Numbers, comptime lanes: usize, comptime arithmetic: fma.Arithmetic, job: *const table.Dots(numbers)) void {
    @setEvalBranchQuota(10_000);
    switch (job.n) {
        inline 1...max_columns => |columns| {
            const group_rows = comptime groupRows(numbers.Sum, lanes, columns);
            var row: usize = 0;
            while (row + group_rows <= job.m) : (row += group_rows) group(numbers, lanes, arithmetic, group_rows, columns, row, job);
            while (row < job.m) : (row += 1) group(numbers, lanes, arithmetic, 1, columns, row, job);
        },
        else => unreachable,
    }
}

inline fn group(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: fma.Arithmetic,
    comptime rows: usize,
    comptime columns: usize,
    first_row: usize,
    job: *const table.Dots(numbers),
) void {
    @setEvalBranchQuota(10_000);
    const T = numbers.Sum;
    const V = @Vector(lanes, T);
    // The number is the same for every `rows`, so that the bits of a row do not depend on its group.
    const chains = comptime chainCount(columns);
    var accumulators: [rows][columns][chains]V = @splat(@splat(@splat(@splat(0))));
    var a_rows: [rows][*]const T = undefined;
    inline for (0..rows) |i| {
        a_rows[i] = pointers.offsetConst(T, job.a, @as(isize, @intCast(first_row + i)) * job.a_row);
    }
    var b_columns: [columns][*]const T = undefined;
    inline for (0..columns) |j| b_columns[j] = pointers.offsetConst(T, job.b, @as(isize, j) * job.b_column);

    var step: usize = 0;
    while (step + chains * lanes <= job.k) : (step += chains * lanes) {
        inline for (0..chains) |chain| {
            inline for (0..columns) |j| {
                const b: V = (b_columns[j] + step + chain * lanes)[0..lanes].*;
                inline for (0..rows) |i| {
                    const a: V = (a_rows[i] + step + chain * lanes)[0..lanes].*;
                    accumulators[i][j][chain] = fma.multiplyAdd(arithmetic, V, a, b, accumulators[i][j][chain]);
                }
            }
        }
    }
    inline for (0..rows) |i| {
        inline for (0..columns) |j| {
            var total = accumulators[i][j][0];
            inline for (1..chains) |chain| total += accumulators[i][j][chain];
            var sum = @reduce(.Add, total);
            for (step..job.k) |rest| sum = fma.multiplyAdd(arithmetic, T, a_rows[i][rest], b_columns[j][rest], sum);
            const target = pointers.offset(T, job.out, @as(isize, @intCast(first_row + i)) * job.out_row +
                @as(isize, j) * job.out_column);
            target[0] = if (job.beta == 0) job.alpha * sum else job.alpha * sum + job.beta * target[0];
        }
    }
}

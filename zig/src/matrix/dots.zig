//! Products with few columns, such as a matrix times a vector, as dot products along the depth. Reads `left` once, in order.

const std = @import("std");
const builtin = @import("builtin");
const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");
const Numbers = @import("numbers.zig").Numbers;

/// Most columns taken; `thin.zig` asks for no more.
pub const max_columns = 8;

/// Sums of their own for neighbouring vectors hide the latency of the multiply-adds.
fn chainCount(comptime columns: usize) usize {
    return @max(1, 4 / columns);
}

/// Rows at a time: they share each load of `right`, as many as registers hold the sums of. Registers of 64 bytes come in 32, others of x86-64
/// in 16.
fn groupRows(comptime T: type, comptime lanes: usize, comptime columns: usize) usize {
    const has_many = lanes * @sizeOf(T) == 64 or builtin.cpu.arch == .aarch64;
    const registers = if (has_many) 32 else 16;
    // One for an element of `left`, one for each column of `right`.
    return std.math.clamp((registers - 1 - columns) / (columns * chainCount(columns)), 1, 4);
}

pub inline fn run(comptime numbers: Numbers, comptime lanes: usize, comptime arithmetic: micro_kernel.Arithmetic, job: *const table.Dots(numbers)) void {
    @setEvalBranchQuota(10_000);
    switch (job.columns) {
        inline 1...max_columns => |columns| {
            const group_rows = comptime groupRows(numbers.Sum, lanes, columns);
            var row: usize = 0;
            while (row + group_rows <= job.rows) : (row += group_rows) group(numbers, lanes, arithmetic, group_rows, columns, row, job);
            while (row < job.rows) : (row += 1) group(numbers, lanes, arithmetic, 1, columns, row, job);
        },
        else => unreachable,
    }
}

inline fn group(
    comptime numbers: Numbers,
    comptime lanes: usize,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime rows: usize,
    comptime columns: usize,
    first_row: usize,
    job: *const table.Dots(numbers),
) void {
    @setEvalBranchQuota(10_000);
    const T = numbers.Sum;
    const V = @Vector(lanes, T);
    // The same for every `rows`, so that a row's bits do not depend on its group.
    const chains = comptime chainCount(columns);
    var sums: [rows][columns][chains]V = @splat(@splat(@splat(@splat(0))));
    var left: [rows][*]const T = undefined;
    inline for (0..rows) |i| {
        left[i] = micro_kernel.offsetConst(T, job.left, @as(isize, @intCast(first_row + i)) * job.left_row);
    }
    var right: [columns][*]const T = undefined;
    inline for (0..columns) |j| right[j] = micro_kernel.offsetConst(T, job.right, @as(isize, j) * job.right_column);

    var step: usize = 0;
    while (step + chains * lanes <= job.depth) : (step += chains * lanes) {
        inline for (0..chains) |chain| {
            inline for (0..columns) |j| {
                const b: V = (right[j] + step + chain * lanes)[0..lanes].*;
                inline for (0..rows) |i| {
                    const a: V = (left[i] + step + chain * lanes)[0..lanes].*;
                    sums[i][j][chain] = micro_kernel.multiplyAdd(arithmetic, V, a, b, sums[i][j][chain]);
                }
            }
        }
    }
    inline for (0..rows) |i| {
        inline for (0..columns) |j| {
            var total = sums[i][j][0];
            inline for (1..chains) |chain| total += sums[i][j][chain];
            var sum = @reduce(.Add, total);
            for (step..job.depth) |rest| sum = micro_kernel.multiplyAdd(arithmetic, T, left[i][rest], right[j][rest], sum);
            const target = micro_kernel.offset(T, job.out, @as(isize, @intCast(first_row + i)) * job.out_row +
                @as(isize, j) * job.out_column);
            target[0] = if (job.beta == 0) job.alpha * sum else job.alpha * sum + job.beta * target[0];
        }
    }
}

//! Matrix multiplications whose operands are read in place, without packing.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const gemm_problem = @import("gemm_problem.zig");
const parallel = @import("../tensor/parallel.zig");
const rounding = @import("../tensor/rounding.zig");

const Error = gemm_problem.Error;
const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;
const Table = generic.table.Table;
const atConst = gemm_problem.atConst;
const divideUp = rounding.divideUp;
const finish = gemm_problem.finish;
const roundUp = rounding.roundUp;

pub fn multiplyDirect(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) Error!void {
    const grid: DirectGrid(numbers) = .choose(problem, table, parallel.threadCount(executor));
    try parallel.run(executor, grid.row_items * grid.column_items, DirectGrid(numbers), &grid);
}

/// A matmul whose operands are read in place; its `out` is cut into rectangles, one for each item of work.
fn DirectGrid(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        item_rows: usize,
        item_columns: usize,
        row_items: usize,
        column_items: usize,

        const Self = @This();

        fn choose(problem: *const Problem(numbers), table: *const Table(numbers), thread_count: usize) Self {
            // Four pieces for each thread balance the load when something else runs on the machine.
            const wanted = if (thread_count == 1) 1 else 4 * thread_count;
            // Whole columns where there are enough: runs of rows touch every page of `out` again and again, and where they meet two threads write to
            // one cache line of each column. (Measured on two cores of Zen 4, m x n x k, GFLOP/s: 256 x 3136 x 64 216 instead of 178 in
            // float32, 105 instead of 93 in float64; float32 512 x 784 x 128 193 instead of 160, 384 x 384 x 64 181 instead of 103.)
            const is_wide = problem.n >= @max(problem.m, wanted * table.tile_columns);
            const row_pieces = if (is_wide) 1 else std.math.clamp(problem.m / table.tile_rows, 1, wanted);
            const item_rows = roundUp(divideUp(problem.m, row_pieces), table.tile_rows);
            const column_pieces = std.math.clamp(problem.n / table.tile_columns, 1, divideUp(wanted, row_pieces));
            const item_columns = roundUp(divideUp(problem.n, column_pieces), table.tile_columns);
            const row_items = divideUp(problem.m, item_rows);
            // `direct` needs at least half a vector of rows, so fewer rows at the end join the item before them.
            const rest = problem.m - (row_items - 1) * item_rows;
            return .{
                .problem = problem,
                .table = table,
                .item_rows = item_rows,
                .item_columns = item_columns,
                .row_items = if (row_items > 1 and rest < table.half_lanes) row_items - 1 else row_items,
                .column_items = divideUp(problem.n, item_columns),
            };
        }

        pub fn run(grid: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| grid.compute(item / grid.column_items, item % grid.column_items);
        }

        fn compute(grid: *const Self, row_item: usize, column_item: usize) void {
            const it = grid.problem;
            const row = row_item * grid.item_rows;
            const rows = if (row_item + 1 == grid.row_items) it.m - row else grid.item_rows;
            const column = column_item * grid.item_columns;
            const columns = @min(grid.item_columns, it.n - column);
            grid.table.direct(&.{
                .k = it.k,
                .m = rows,
                .n = columns,
                .a = it.a + row,
                .a_step = it.a_k,
                .b = atConst(numbers.Source, it.b, 0, it.b_k, column, it.b_column),
                .b_step = it.b_k,
                .b_column = it.b_column,
                .out = it.outAt(row, column),
                .out_column = it.out_column,
                .alpha = it.alpha,
            });
            finish(numbers, it, .{ .row = row, .rows = rows, .column = column, .columns = columns });
        }
    };
}

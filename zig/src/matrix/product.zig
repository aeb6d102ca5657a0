//! The driver: loops 5 to 3 of Goto & van de Geijn (2008), packing, and the split among threads.
//!
//! Works on addresses and strides that were checked before (matmul.zig, dense.zig). Threads share packed panels and write disjoint
//! tiles of `out`; the depth is never split among threads, so any number of threads gives the same bits.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const parallel = @import("parallel.zig");
const @"packed" = @import("packed.zig");
const thin = @import("thin.zig");
const whole_depth = @import("whole_depth.zig");
const workspace = @import("workspace.zig");

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;
const divideUp = blocking.divideUp;
const roundUp = blocking.roundUp;

pub fn Problem(comptime numbers: Numbers) type {
    return struct {
        rows: usize,
        columns: usize,
        depth: usize,
        left: [*]const numbers.Source,
        left_row: isize,
        left_depth: isize,
        right: [*]const numbers.Source,
        right_depth: isize,
        right_column: isize,
        /// Undefined where `has_place` says so.
        out: [*]numbers.Sum,
        out_row: isize,
        out_column: isize,
        /// Row and column of what `out` points to: not the first where it holds a part alone.
        out_origin: [2]usize = .{ 0, 0 },
        /// Whether sums have memory of their own; else they stand aside until `finish` has taken them.
        has_place: bool = true,
        /// Where sums go rounded as they are, if `finish` does nothing else with them.
        rounded: ?generic.table.Rounded = null,
        alpha: numbers.Sum,
        beta: numbers.Sum,
        /// Whether rows and columns were exchanged an odd number of times.
        is_transposed: bool = false,
        /// Runs once over each finished part of `out`.
        finish: ?Finish = null,

        pub const Finish = struct {
            context: *const anyopaque,
            run: *const fn (context: *const anyopaque, problem: *const Self, region: Region) void,
        };

        const Self = @This();

        /// The same product with rows and columns exchanged: out^T = right^T left^T.
        pub fn transposed(self: Self) Self {
            return .{
                .rows = self.columns,
                .columns = self.rows,
                .depth = self.depth,
                .left = self.right,
                .left_row = self.right_column,
                .left_depth = self.right_depth,
                .right = self.left,
                .right_depth = self.left_depth,
                .right_column = self.left_row,
                .out = self.out,
                .out_row = self.out_column,
                .out_column = self.out_row,
                .out_origin = .{ self.out_origin[1], self.out_origin[0] },
                .has_place = self.has_place,
                .rounded = self.rounded,
                .alpha = self.alpha,
                .beta = self.beta,
                .is_transposed = !self.is_transposed,
                .finish = self.finish,
            };
        }

        pub fn leftAt(self: *const Self, row: usize, step: usize) [*]const numbers.Source {
            return atConst(numbers.Source, self.left, row, self.left_row, step, self.left_depth);
        }

        pub fn outAt(self: *const Self, row: usize, column: usize) [*]numbers.Sum {
            return at(numbers.Sum, self.out, row - self.out_origin[0], self.out_row, column - self.out_origin[1], self.out_column);
        }
    };
}

pub const Error = error{OutOfMemory} || parallel.Error;

/// A rectangle of `out`.
pub const Region = struct { row: usize, rows: usize, column: usize, columns: usize };

fn at(comptime T: type, ptr: [*]T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]T {
    return generic.micro_kernel.offset(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

pub fn atConst(comptime T: type, ptr: [*]const T, i: usize, i_stride: isize, j: usize, j_stride: isize) [*]const T {
    return generic.micro_kernel.offsetConst(T, ptr, @as(isize, @intCast(i)) * i_stride + @as(isize, @intCast(j)) * j_stride);
}

/// Operands and result in the type they are computed in.
pub fn multiply(comptime T: type, problem: *const Problem(.plain(T)), executor: ?*const abi.Executor) Error!void {
    return multiplyWith(.plain(T), kernels.table(T), problem, executor);
}

/// With the routines of a given instruction set, which this CPU must have.
pub fn multiplyWith(
    comptime numbers: Numbers,
    table: *const Table(numbers),
    problem: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    if (problem.rows == 0 or problem.columns == 0) return;
    const plan = blocking.plan(numbers, table, problem);
    return multiplyTurned(numbers, plan.route, table, &plan.turned, executor);
}

/// A product that was oriented, by its route.
pub fn multiplyTurned(
    comptime numbers: Numbers,
    route: blocking.Route,
    table: *const Table(numbers),
    turned: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    if (comptime numbers.word_multiple > 1) {
        if (whole_depth.fits(numbers, turned)) return whole_depth.multiply(numbers, turned, table, executor);
    }
    if (!turned.has_place) return multiplyAside(numbers, route, table, turned, executor);
    if (turned.depth == 0) return scale(numbers, turned);
    if (comptime numbers.isPlain()) {
        switch (route) {
            .small => return multiplySmall(numbers, turned, table),
            .direct => return multiplyDirect(numbers, turned, table, executor),
            .copied_left => return thin.multiplyCopiedLeft(numbers, turned, table, executor),
            .scalar => return multiplyScalar(numbers, turned),
            .dots => return thin.multiplyDots(numbers, turned, table, executor),
            .combine => return thin.multiplyCombine(numbers, turned, table, executor),
            .panels => {},
        }
    }
    return @"packed".multiply(numbers, turned, table, executor);
}

/// With memory for all sums.
fn multiplyAside(
    comptime numbers: Numbers,
    route: blocking.Route,
    table: *const Table(numbers),
    turned: *const Problem(numbers),
    executor: ?*const abi.Executor,
) Error!void {
    const len = turned.rows * turned.columns;
    const buffer = try workspace.acquire(len * @sizeOf(numbers.Sum));
    defer workspace.release(buffer);
    var placed = turned.*;
    placed.out = buffer.slice(numbers.Sum, 0, len).ptr;
    placed.has_place = true;
    return multiplyTurned(numbers, route, table, &placed, executor);
}

/// What a small product is to its routine.
pub fn smallOf(comptime numbers: Numbers, turned: *const Problem(numbers)) generic.table.Small(numbers) {
    return .{
        .count = 1,
        .depth = turned.depth,
        .rows = turned.rows,
        .columns = turned.columns,
        .left = turned.left,
        .left_step = turned.left_depth,
        .right = turned.right,
        .right_step = turned.right_depth,
        .right_column = turned.right_column,
        .out = turned.out,
        .out_column = turned.out_column,
        .alpha = turned.alpha,
    };
}

fn multiplySmall(comptime numbers: Numbers, turned: *const Problem(numbers), table: *const Table(numbers)) void {
    table.small(&smallOf(numbers, turned));
    finish(numbers, turned, .{ .row = 0, .rows = turned.rows, .column = 0, .columns = turned.columns });
}

/// No depth: out = beta * out.
fn scale(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.columns) |column| {
        for (0..problem.rows) |row| {
            const target = problem.outAt(row, column);
            target[0] = if (problem.beta == 0) 0 else generic.micro_kernel.multiply(numbers.Sum, problem.beta, target[0]);
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.rows, .column = 0, .columns = problem.columns });
}

pub fn finish(comptime numbers: Numbers, problem: *const Problem(numbers), region: Region) void {
    if (problem.finish) |step| step.run(step.context, problem, region);
}

/// Plain loops: where a panel would hold mostly padding.
fn multiplyScalar(comptime numbers: Numbers, problem: *const Problem(numbers)) void {
    for (0..problem.columns) |column| {
        for (0..problem.rows) |row| {
            var sum: numbers.Sum = 0;
            for (0..problem.depth) |step| {
                sum += atConst(numbers.Source, problem.left, row, problem.left_row, step, problem.left_depth)[0] *
                    atConst(numbers.Source, problem.right, step, problem.right_depth, column, problem.right_column)[0];
            }
            const target = problem.outAt(row, column);
            target[0] = problem.alpha * sum + if (problem.beta == 0) 0 else problem.beta * target[0];
        }
    }
    finish(numbers, problem, .{ .row = 0, .rows = problem.rows, .column = 0, .columns = problem.columns });
}

pub fn multiplyDirect(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) Error!void {
    const grid: DirectGrid(numbers) = .choose(problem, table, parallel.threadCount(executor));
    try parallel.run(executor, grid.row_items * grid.column_items, DirectGrid(numbers), &grid);
}

/// A product read in place, cut into rectangles of `out`.
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
            // Four pieces a thread even out what else runs on the machine.
            const wanted = if (thread_count == 1) 1 else 4 * thread_count;
            // Whole columns where there are enough: runs of rows touch every page of `out` again and again, and where they meet two threads write to
            // one cache line of each column. (Measured on two cores of Zen 4, rows x columns x depth, GFLOP/s: 256 x 3136 x 64 216 instead of 178 in
            // float32, 105 instead of 93 in float64; float32 512 x 784 x 128 193 instead of 160, 384 x 384 x 64 181 instead of 103.)
            const is_wide = problem.columns >= @max(problem.rows, wanted * table.tile_columns);
            const row_pieces = if (is_wide) 1 else std.math.clamp(problem.rows / table.tile_rows, 1, wanted);
            const item_rows = roundUp(divideUp(problem.rows, row_pieces), table.tile_rows);
            const column_pieces = std.math.clamp(problem.columns / table.tile_columns, 1, divideUp(wanted, row_pieces));
            const item_columns = roundUp(divideUp(problem.columns, column_pieces), table.tile_columns);
            const row_items = divideUp(problem.rows, item_rows);
            // `direct` asks for half a vector of rows: fewer at the end go with the item before.
            const rest = problem.rows - (row_items - 1) * item_rows;
            return .{
                .problem = problem,
                .table = table,
                .item_rows = item_rows,
                .item_columns = item_columns,
                .row_items = if (row_items > 1 and rest < table.half_lanes) row_items - 1 else row_items,
                .column_items = divideUp(problem.columns, item_columns),
            };
        }

        pub fn run(grid: *const Self, begin: usize, end: usize) void {
            for (begin..end) |item| grid.compute(item / grid.column_items, item % grid.column_items);
        }

        fn compute(grid: *const Self, row_item: usize, column_item: usize) void {
            const it = grid.problem;
            const row = row_item * grid.item_rows;
            const rows = if (row_item + 1 == grid.row_items) it.rows - row else grid.item_rows;
            const column = column_item * grid.item_columns;
            const columns = @min(grid.item_columns, it.columns - column);
            grid.table.direct(&.{
                .depth = it.depth,
                .rows = rows,
                .columns = columns,
                .left = it.left + row,
                .left_step = it.left_depth,
                .right = atConst(numbers.Source, it.right, 0, it.right_depth, column, it.right_column),
                .right_step = it.right_depth,
                .right_column = it.right_column,
                .out = it.outAt(row, column),
                .out_column = it.out_column,
                .alpha = it.alpha,
            });
            finish(numbers, it, .{ .row = row, .rows = rows, .column = column, .columns = columns });
        }
    };
}

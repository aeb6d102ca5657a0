//! Products with one small extent, at the speed of memory: dot products along the depth, combinations of columns, and small operands that
//! are first copied into the order in which they are read.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const blocking = @import("blocking.zig");
const kernels = @import("kernels.zig");
const parallel = @import("parallel.zig");
const product = @import("product.zig");
const workspace = @import("workspace.zig");

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;
const Problem = product.Problem;

/// Whether dot products are the way: few columns, and rows that are not adjacent to each other but adjacent along the depth, or few enough
/// to be copied.
pub fn dotsFit(problem: anytype) bool {
    if (problem.columns > generic.dots.max_columns) return false;
    if (problem.left_depth == 1) return problem.left_row != 1 or problem.rows == 1;
    return problem.rows <= generic.dots.max_columns;
}

/// Elements to copy before the dot products.
pub fn dotsCopied(problem: anytype) usize {
    const right = if (problem.right_depth == 1) 0 else problem.columns *| problem.depth;
    const left = if (problem.left_depth == 1) 0 else problem.rows *| problem.depth;
    return left +| right;
}

/// Whether columns of `left` are combined: few columns of `out`, adjacent rows, and enough of them to fill a vector.
pub fn combineFits(table: anytype, problem: anytype) bool {
    return problem.columns <= generic.combine.max_columns and problem.left_row == 1 and problem.rows >= table.lanes;
}

/// Whether a copy of `left` with adjacent rows lets everything else be read in place: it is small beside `right`.
pub fn copiedLeftFits(comptime numbers: Numbers, table: *const Table(numbers), problem: *const Problem(numbers)) bool {
    if (problem.left_row == 1 or problem.out_row != 1 or problem.beta != 0) return false;
    if (problem.rows < table.half_lanes or problem.rows > 2 * table.tile_rows or problem.rows > problem.columns / 4) return false;
    return problem.rows *| problem.depth *| @sizeOf(numbers.Source) <= kernels.info().caches.level2_bytes / 2;
}

/// out = alpha * (left @ right) + beta * out, each element a dot product.
pub fn multiplyDots(comptime numbers: Numbers, given: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) product.Error!void {
    var problem = given.*;
    const copied = dotsCopied(given);
    const buffer: ?workspace.Buffer = if (copied == 0) null else try workspace.acquire(copied * @sizeOf(numbers.Source));
    defer if (buffer) |held| workspace.release(held);
    if (buffer) |held| {
        const room = held.slice(numbers.Source, 0, copied);
        var used: usize = 0;
        if (problem.left_depth != 1) {
            used = problem.rows * problem.depth;
            copyLines(numbers.Source, room.ptr, given.left, given.left_row, given.left_depth, given.rows, given.depth);
            problem.left = room.ptr;
            problem.left_row = @intCast(problem.depth);
            problem.left_depth = 1;
        }
        if (problem.right_depth != 1) {
            copyLines(numbers.Source, room.ptr + used, given.right, given.right_column, given.right_depth, given.columns, given.depth);
            problem.right = room.ptr + used;
            problem.right_column = @intCast(problem.depth);
            problem.right_depth = 1;
        }
    }
    const job: RowItems(numbers) = .{ .problem = &problem, .table = table, .item_rows = dots_item_rows };
    try parallel.run(executor, blocking.divideUp(problem.rows, dots_item_rows), RowItems(numbers), &job);
}

/// Rows of an item of dot products: a multiple of the rows that the routine takes together.
const dots_item_rows = 48;

/// out = alpha * (left @ right) + beta * out, by combining columns of `left`.
pub fn multiplyCombine(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) product.Error!void {
    const thread_count = parallel.threadCount(executor);
    // Long runs are what makes it fast: no more pieces than threads.
    const item_rows = blocking.roundUp(blocking.divideUp(problem.rows, thread_count), 4 * table.lanes);
    const job: RowItems(numbers) = .{ .problem = problem, .table = table, .item_rows = item_rows, .is_combined = true };
    try parallel.run(executor, blocking.divideUp(problem.rows, item_rows), RowItems(numbers), &job);
}

/// With `left` copied so that its rows are adjacent.
pub fn multiplyCopiedLeft(comptime numbers: Numbers, given: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) product.Error!void {
    var problem = given.*;
    const buffer = try workspace.acquire(given.rows * given.depth * @sizeOf(numbers.Source));
    defer workspace.release(buffer);
    const copy = buffer.slice(numbers.Source, 0, given.rows * given.depth);
    copyLines(numbers.Source, copy.ptr, given.left, given.left_depth, given.left_row, given.depth, given.rows);
    problem.left = copy.ptr;
    problem.left_row = 1;
    problem.left_depth = @intCast(given.rows);
    try product.multiplyDirect(numbers, &problem, table, executor);
}

/// `count` lines of `len` elements, one after the other.
fn copyLines(comptime T: type, target: [*]T, source: [*]const T, line_stride: isize, stride: isize, count: usize, len: usize) void {
    // Lines that lie side by side are turned in squares: one by one every line reads all of memory.
    const side = 4;
    const lines = if (line_stride == 1) count / side * side else 0;
    const steps = len / side * side;
    var step: usize = 0;
    while (step < steps) : (step += side) {
        var line: usize = 0;
        while (line < lines) : (line += side) {
            var square: [side]@Vector(side, T) = undefined;
            inline for (&square, 0..) |*vector, i| {
                vector.* = generic.micro_kernel.offsetConst(T, source + line, @as(isize, @intCast(step + i)) * stride)[0..side].*;
            }
            generic.pack.transpose(T, side, &square);
            inline for (square, 0..) |vector, i| target[(line + i) * len + step ..][0..side].* = vector;
        }
    }
    for (0..count) |line| {
        const first = generic.micro_kernel.offsetConst(T, source, @as(isize, @intCast(line)) * line_stride);
        for ((if (line < lines) steps else 0)..len) |i| target[line * len + i] = generic.micro_kernel.offsetConst(T, first, @as(isize, @intCast(i)) * stride)[0];
    }
}

/// Rows of `out`, cut into items.
fn RowItems(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        item_rows: usize,
        is_combined: bool = false,

        pub fn run(items: *const @This(), begin: usize, end: usize) void {
            const it = items.problem;
            const row = begin * items.item_rows;
            const rows = @min(it.rows, end * items.item_rows) - row;
            if (items.is_combined) {
                items.table.combine(&.{
                    .depth = it.depth,
                    .rows = rows,
                    .columns = it.columns,
                    .left = it.left + row,
                    .left_step = it.left_depth,
                    .right = it.right,
                    .right_step = it.right_depth,
                    .right_column = it.right_column,
                    .out = it.outAt(row, 0),
                    .out_row = it.out_row,
                    .out_column = it.out_column,
                    .alpha = it.alpha,
                    .beta = it.beta,
                    .is_far = it.rows *| it.depth *| @sizeOf(numbers.Source) > kernels.info().caches.level3_bytes / 2,
                });
            } else {
                items.table.dots(&.{
                    .depth = it.depth,
                    .rows = rows,
                    .columns = it.columns,
                    .left = it.leftAt(row, 0),
                    .left_row = it.left_row,
                    .right = it.right,
                    .right_column = it.right_column,
                    .out = it.outAt(row, 0),
                    .out_row = it.out_row,
                    .out_column = it.out_column,
                    .alpha = it.alpha,
                    .beta = it.beta,
                });
            }
            product.finish(numbers, it, .{ .row = row, .rows = rows, .column = 0, .columns = it.columns });
        }
    };
}

test "copied lines hold what lay in them, side by side or apart" {
    const most_lines = 9;
    const len = 11;
    var source: [most_lines * len]f64 = undefined;
    for (&source, 0..) |*element, index| element.* = @floatFromInt(index);
    for (1..most_lines + 1) |count| {
        for ([_][2]isize{ .{ 1, most_lines }, .{ len, 1 } }) |strides| {
            var target: [most_lines * len]f64 = undefined;
            copyLines(f64, &target, &source, strides[0], strides[1], count, len);
            for (0..count) |line| for (0..len) |i| {
                const index = line * @as(usize, @intCast(strides[0])) + i * @as(usize, @intCast(strides[1]));
                try std.testing.expectEqual(source[index], target[line * len + i]);
            };
        }
    }
}

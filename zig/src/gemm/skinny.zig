//! Matmuls with one small extent, at the speed of memory: dot products along k, combinations of columns, and small operands that
//! are first copied into the order in which they are read.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const kernels = @import("gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm_problem = @import("gemm_problem.zig");
const workspace = @import("../memory/workspace.zig");
const rounding = @import("../tensor/rounding.zig");
const direct = @import("direct.zig");

const Table = generic.table.Table;
const Numbers = generic.numbers.Numbers;
const Problem = gemm_problem.Problem;

/// Whether to compute dot products: there are few columns, and elements are adjacent along k and not from row to row, or so few that
/// they can be copied.
pub fn dotsFit(problem: anytype) bool {
    if (problem.n > generic.dots.max_columns) return false;
    if (problem.a_k == 1) return problem.a_row != 1 or problem.m == 1;
    return problem.m <= generic.dots.max_columns;
}

/// How many elements must be copied before the dot products.
pub fn dotsCopied(problem: anytype) usize {
    const b = if (problem.b_k == 1) 0 else problem.n *| problem.k;
    const a = if (problem.a_k == 1) 0 else problem.m *| problem.k;
    return a +| b;
}

/// Whether columns of `a` are combined: few columns of `out`, adjacent rows, and enough of them to fill a vector.
pub fn combineFits(table: anytype, problem: anytype) bool {
    return problem.n <= generic.combine.max_columns and problem.a_row == 1 and problem.m >= table.lanes;
}

/// Whether a copy of `a` with adjacent rows lets everything else be read in place: it is small beside `b`.
pub fn copiedAFits(comptime numbers: Numbers, table: *const Table(numbers), problem: *const Problem(numbers)) bool {
    if (problem.a_row == 1 or problem.out_row != 1 or problem.beta != 0) return false;
    if (problem.m < table.half_lanes or problem.m > 2 * table.tile_rows or problem.m > problem.n / 4) return false;
    return problem.m *| problem.k *| @sizeOf(numbers.Source) <= kernels.info().caches.level2_bytes / 2;
}

/// out = alpha * (a @ b) + beta * out, each element a dot product.
pub fn multiplyDots(comptime numbers: Numbers, given: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) gemm_problem.Error!void {
    var problem = given.*;
    const copied = dotsCopied(given);
    const buffer: ?workspace.Buffer = if (copied == 0) null else try workspace.acquire(copied * @sizeOf(numbers.Source));
    defer if (buffer) |held| workspace.release(held);
    if (buffer) |held| {
        const room = held.slice(numbers.Source, 0, copied);
        var used: usize = 0;
        if (problem.a_k != 1) {
            used = problem.m * problem.k;
            copyLines(numbers.Source, room.ptr, given.a, given.a_row, given.a_k, given.m, given.k);
            problem.a = room.ptr;
            problem.a_row = @intCast(problem.k);
            problem.a_k = 1;
        }
        if (problem.b_k != 1) {
            copyLines(numbers.Source, room.ptr + used, given.b, given.b_column, given.b_k, given.n, given.k);
            problem.b = room.ptr + used;
            problem.b_column = @intCast(problem.k);
            problem.b_k = 1;
        }
    }
    const job: RowItems(numbers) = .{ .problem = &problem, .table = table, .item_rows = dots_item_rows };
    try parallel.run(executor, rounding.divideUp(problem.m, dots_item_rows), RowItems(numbers), &job);
}

/// Rows of an item of dot products: a multiple of the rows that the routine takes together.
const dots_item_rows = 48;

/// out = alpha * (a @ b) + beta * out, by combining columns of `a`.
pub fn multiplyCombine(comptime numbers: Numbers, problem: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) gemm_problem.Error!void {
    const thread_count = parallel.threadCount(executor);
    // Long runs make this fast, so there are no more pieces than threads.
    const item_rows = rounding.roundUp(rounding.divideUp(problem.m, thread_count), 4 * table.lanes);
    const job: RowItems(numbers) = .{ .problem = problem, .table = table, .item_rows = item_rows, .is_combined = true };
    try parallel.run(executor, rounding.divideUp(problem.m, item_rows), RowItems(numbers), &job);
}

/// Copies `a` so that its rows are adjacent, then reads everything else in place.
pub fn multiplyCopiedA(comptime numbers: Numbers, given: *const Problem(numbers), table: *const Table(numbers), executor: ?*const abi.Executor) gemm_problem.Error!void {
    var problem = given.*;
    const buffer = try workspace.acquire(given.m * given.k * @sizeOf(numbers.Source));
    defer workspace.release(buffer);
    const copy = buffer.slice(numbers.Source, 0, given.m * given.k);
    copyLines(numbers.Source, copy.ptr, given.a, given.a_k, given.a_row, given.k, given.m);
    problem.a = copy.ptr;
    problem.a_row = 1;
    problem.a_k = @intCast(given.m);
    try direct.multiplyDirect(numbers, &problem, table, executor);
}

/// Copies `count` lines of `len` elements so that they lie one after the other.
fn copyLines(comptime T: type, target: [*]T, source: [*]const T, line_stride: isize, stride: isize, count: usize, len: usize) void {
    // Lines that lie side by side are transposed in squares. Copied one by one, each line would read all of the memory.
    const side = 4;
    const lines = if (line_stride == 1) count / side * side else 0;
    const steps = len / side * side;
    var step: usize = 0;
    while (step < steps) : (step += side) {
        var line: usize = 0;
        while (line < lines) : (line += side) {
            var square: [side]@Vector(side, T) = undefined;
            inline for (&square, 0..) |*vector, i| {
                vector.* = generic.pointers.offsetConst(T, source + line, @as(isize, @intCast(step + i)) * stride)[0..side].*;
            }
            generic.pack.transpose(T, side, &square);
            inline for (square, 0..) |vector, i| target[(line + i) * len + step ..][0..side].* = vector;
        }
    }
    for (0..count) |line| {
        const first = generic.pointers.offsetConst(T, source, @as(isize, @intCast(line)) * line_stride);
        for ((if (line < lines) steps else 0)..len) |i| target[line * len + i] = generic.pointers.offsetConst(T, first, @as(isize, @intCast(i)) * stride)[0];
    }
}

/// The rows of `out`, cut into items of work.
fn RowItems(comptime numbers: Numbers) type {
    return struct {
        problem: *const Problem(numbers),
        table: *const Table(numbers),
        item_rows: usize,
        is_combined: bool = false,

        pub fn run(items: *const @This(), begin: usize, end: usize) void {
            const it = items.problem;
            const row = begin * items.item_rows;
            const rows = @min(it.m, end * items.item_rows) - row;
            if (items.is_combined) {
                items.table.combine(&.{
                    .k = it.k,
                    .m = rows,
                    .n = it.n,
                    .a = it.a + row,
                    .a_step = it.a_k,
                    .b = it.b,
                    .b_step = it.b_k,
                    .b_column = it.b_column,
                    .out = it.outAt(row, 0),
                    .out_row = it.out_row,
                    .out_column = it.out_column,
                    .alpha = it.alpha,
                    .beta = it.beta,
                    .is_far = it.m *| it.k *| @sizeOf(numbers.Source) > kernels.info().caches.level3_bytes / 2,
                });
            } else {
                items.table.dots(&.{
                    .k = it.k,
                    .m = rows,
                    .n = it.n,
                    .a = it.aAt(row, 0),
                    .a_row = it.a_row,
                    .b = it.b,
                    .b_column = it.b_column,
                    .out = it.outAt(row, 0),
                    .out_row = it.out_row,
                    .out_column = it.out_column,
                    .alpha = it.alpha,
                    .beta = it.beta,
                });
            }
            gemm_problem.finish(numbers, it, .{ .row = row, .rows = rows, .column = 0, .columns = it.n });
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

//! What is done to finished sums while they are in cache: bias and residual are added, then an activation is applied.
//!
//! It uses the routines of the tensor operations, so a matmul with an epilogue gives the same bits as the matmul followed by those operations.

const std = @import("std");
const generic = @import("generic");
const gemm = @import("gemm.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const Operation = generic.elementwise_kernel.Operation;
const offset = generic.pointers.offset;
const offsetConst = generic.pointers.offsetConst;

/// Number of values that pass through a buffer at a time where memory is not adjacent.
const gathered_values = 256;

/// The operation of an activation; null where it takes more than one value or has parameters of its own.
pub const operationOf = generic.operations.operationOf;

pub fn Epilogue(comptime Sum: type) type {
    return struct {
        operation: Operation = .identity,
        /// Slope of leaky_relu, scale of elu.
        alpha: Sum = 0,
        /// One value for each column of `out`, adjacent.
        bias: ?[*]const Sum = null,
        residual: ?[*]const Sum = null,
        residual_row: isize = 0,
        residual_column: isize = 0,

        const Self = @This();

        pub fn isNothing(epilogue: *const Self) bool {
            return epilogue.operation == .identity and epilogue.bias == null and epilogue.residual == null;
        }

        /// Describes the epilogue as the last step of a matmul.
        pub fn finish(epilogue: *const Self, comptime numbers: generic.numbers.Numbers) ?gemm.Problem(numbers).Finish {
            comptime std.debug.assert(numbers.Sum == Sum);
            if (epilogue.isNothing()) return null;
            return .{ .context = epilogue, .run = Regions(numbers).run };
        }

        fn Regions(comptime numbers: generic.numbers.Numbers) type {
            return struct {
                fn run(context: *const anyopaque, problem: *const gemm.Problem(numbers), region: gemm.Region) void {
                    const epilogue: *const Self = @ptrCast(@alignCast(context));
                    const end = region.row + region.rows;
                    for (region.column..region.column + region.columns) |column| {
                        var row = region.row;
                        while (row < end) {
                            const is_adjacent = problem.out_row == 1;
                            const len = if (is_adjacent) end - row else @min(gathered_values, end - row);
                            var gathered: [gathered_values]Sum = undefined;
                            if (!is_adjacent) {
                                for (0..len) |i| gathered[i] = problem.outAt(row + i, column)[0];
                            }
                            const values = if (is_adjacent) problem.outAt(row, column) else &gathered;
                            if (problem.is_transposed) epilogue.alongRow(values, len, column, row) else epilogue.alongColumn(values, len, row, column);
                            if (!is_adjacent) {
                                for (0..len) |i| problem.outAt(row + i, column)[0] = gathered[i];
                            }
                            row += len;
                        }
                    }
                }
            };
        }

        /// Elements (row, column), (row, column + 1), ... of `out`.
        pub fn alongRow(epilogue: *const Self, values: [*]Sum, len: usize, row: usize, column: usize) void {
            if (epilogue.bias) |bias| combine(.add, values, len, .{ .ptr = bias + column, .mask = std.math.maxInt(usize) }, 0);
            epilogue.addResidual(values, len, row, column, epilogue.residual_column);
            epilogue.activate(values, len);
        }

        /// Elements (row, column), (row + 1, column), ... of `out`.
        fn alongColumn(epilogue: *const Self, values: [*]Sum, len: usize, row: usize, column: usize) void {
            if (epilogue.bias) |bias| {
                const everywhere: generic.elementwise_kernel.Splat(Sum) align(64) = @splat(bias[column]);
                combine(.add, values, len, .{ .ptr = &everywhere, .mask = 0 }, 0);
            }
            epilogue.addResidual(values, len, row, column, epilogue.residual_row);
            epilogue.activate(values, len);
        }

        fn addResidual(epilogue: *const Self, values: [*]Sum, len: usize, row: usize, column: usize, step: isize) void {
            const residual = epilogue.residual orelse return;
            const first = offsetConst(Sum, residual, @as(isize, @intCast(row)) * epilogue.residual_row +
                @as(isize, @intCast(column)) * epilogue.residual_column);
            if (step == 1) return combine(.add, values, len, .{ .ptr = first, .mask = std.math.maxInt(usize) }, 0);
            var done: usize = 0;
            while (done < len) {
                var gathered: [gathered_values]Sum = undefined;
                const count = @min(gathered_values, len - done);
                for (0..count) |i| gathered[i] = offsetConst(Sum, first, @as(isize, @intCast(done + i)) * step)[0];
                combine(.add, values + done, count, .{ .ptr = &gathered, .mask = std.math.maxInt(usize) }, 0);
                done += count;
            }
        }

        fn activate(epilogue: *const Self, values: [*]Sum, len: usize) void {
            if (epilogue.operation == .identity) return;
            combine(epilogue.operation, values, len, .{ .ptr = values, .mask = 0 }, epilogue.alpha);
        }

        /// values[i] = operation(values[i], other[i])
        fn combine(operation: Operation, values: [*]Sum, len: usize, other: generic.elementwise_kernel.Input(Sum), alpha: Sum) void {
            const run: generic.elementwise_kernel.Run(Sum) = .{
                .operation = operation,
                .inputs = .{ .{ .ptr = values, .mask = std.math.maxInt(usize) }, other, undefined, undefined },
                .out = @ptrCast(values),
                .len = len,
                .alpha = alpha,
            };
            tensor_kernels.table(Sum).elementwise(&run);
        }
    };
}

//! Operations on complex numbers on every instruction set of this machine, against functions of one number.

const std = @import("std");
const abi = @import("../abi.zig");
const complex_elementwise = @import("complex_elementwise.zig");
const kernel = @import("complex_kernel.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const Operand = complex_elementwise.Operand;
const Number = std.math.Complex(f64);

/// Complex numbers in a slice of their parts, or real ones; bytes are truth values.
fn operandOf(comptime T: type, values: []T, is_complex: bool, shape: []const usize, strides: []const isize) Operand {
    var operand: Operand = .{
        .view = .{ .storage = if (T == u8) .bool else .of(T), .address = @intFromPtr(values.ptr), .rank = shape.len, .shape = @splat(1), .strides = @splat(0) },
        .is_complex = is_complex,
    };
    for (shape, strides, 0..) |extent, stride, axis| {
        operand.view.shape[axis] = extent;
        operand.view.strides[axis] = if (is_complex) 2 * stride else stride;
    }
    return operand;
}

/// The scalar twin; null where the language has no such function.
fn scalar(operation: kernel.Operation, x: Number, y: Number) ?Number {
    const complex = std.math.complex;
    return switch (operation) {
        .identity => x,
        .negative => x.neg(),
        .conj => x.conjugate(),
        .square => x.mul(x),
        .reciprocal => x.reciprocal(),
        .add => x.add(y),
        .subtract => x.sub(y),
        .multiply => x.mul(y),
        .divide => x.div(y),
        .absolute => .init(complex.abs(x), 0),
        .angle => .init(complex.arg(x), 0),
        .sqrt => complex.sqrt(x),
        .exp => complex.exp(x),
        .log => complex.log(x),
        .sinh => complex.sinh(x),
        .cosh => complex.cosh(x),
        .tanh => complex.tanh(x),
        .sin => complex.sin(x),
        .cos => complex.cos(x),
        .acos => complex.acos(x),
        .asin => complex.asin(x),
        .atan => complex.atan(x),
        .power => complex.pow(x, y),
        .isnan, .isinf, .logical_not => .init(0, 0),
        .isfinite => .init(1, 0),
        .not_equal => .init(1, 0),
        .equal => .init(0, 0),
        else => null,
    };
}

fn testOperations(comptime T: type, comptime Stored: type) !void {
    const allocator = std.testing.allocator;
    const rows = 5;
    const columns = 67;
    const count = rows * columns;
    var random: std.Random.DefaultPrng = .init(7);
    const rng = random.random();
    const x = try allocator.alloc(Stored, 4 * count);
    defer allocator.free(x);
    const y = try allocator.alloc(Stored, 2 * columns);
    defer allocator.free(y);
    for (x) |*value| value.* = rng.floatNorm(Stored);
    for (y) |*value| value.* = rng.floatNorm(Stored);
    const precision: f64 = 64 * std.math.floatEps(Stored);
    var results: [2][]Stored = undefined;
    for (&results) |*result| result.* = try allocator.alloc(Stored, 2 * count);
    defer for (results) |result| allocator.free(result);
    inline for (comptime std.enums.values(kernel.Operation)) |operation| {
        if (comptime operation == .where or !kernel.appliesTo(T, operation)) continue;
        for (kernels.available(), 0..) |set, which| {
            const result = results[@min(which, 1)];
            @memset(result, 0);
            const is_complex = kernel.result(operation) == .complex;
            // x has gaps, y is one row for all, the result is written by columns.
            const bytes: []u8 = std.mem.sliceAsBytes(result);
            const shape = [_]usize{ rows, columns };
            const operands = [_]Operand{
                if (kernel.result(operation) == .bool)
                    operandOf(u8, bytes, false, &shape, &.{ 1, rows })
                else
                    operandOf(Stored, result, is_complex, &shape, &.{ 1, rows }),
                operandOf(Stored, x, true, &shape, &.{ 2 * columns, 2 }),
                operandOf(Stored, y, true, &shape, &.{ 0, 1 }),
                operandOf(Stored, y, true, &shape, &.{ 0, 1 }),
            };
            const executor = test_support.executor(3);
            const table = complex_elementwise.tableOf(T, set);
            try complex_elementwise.runWith(T, table, tensor_kernels.tableOf(T, set), operation, &operands, &executor);
            for (0..rows) |i| for (0..columns) |j| {
                const at = 4 * (i * columns + j);
                const input: Number = .init(x[at], x[at + 1]);
                const expected = scalar(operation, input, .init(y[2 * j], y[2 * j + 1])) orelse continue;
                const place = j * rows + i;
                const actual: Number = switch (kernel.result(operation)) {
                    .complex => .init(result[2 * place], result[2 * place + 1]),
                    .real => .init(result[place], 0),
                    .bool => .init(@floatFromInt(bytes[place]), 0),
                };
                const tolerance = precision * (1 + expected.magnitude());
                if (actual.sub(expected).magnitude() <= tolerance) continue;
                std.debug.print("{t}({d}, {d}) is {d}, {d}, not {d}, {d}\n", .{ operation, input.re, input.im, actual.re, actual.im, expected.re, expected.im });
                return error.TestUnexpectedResult;
            };
            // Nothing is fused, so every instruction set gives the same bits.
            if (which > 0) try std.testing.expectEqualSlices(u8, std.mem.sliceAsBytes(results[0]), bytes);
        }
    }
}

test "operations agree with functions of one number and between instruction sets" {
    try testOperations(f32, f32);
    try testOperations(f64, f64);
    try testOperations(f64, f32);
}

test "real operands have no imaginary part, and a condition chooses" {
    var condition = [_]u8{ 1, 0, 3, 0 };
    var a = [_]f32{ 1, 2, 3, 4 };
    var b = [_]f32{ 5, 6, 7, 8, 9, 10, 11, 12 };
    var out: [8]f32 = undefined;
    for (kernels.available()) |set| {
        const operands = [_]Operand{
            operandOf(f32, &out, true, &.{4}, &.{1}),
            operandOf(u8, &condition, false, &.{4}, &.{1}),
            operandOf(f32, &a, false, &.{4}, &.{1}),
            operandOf(f32, &b, true, &.{4}, &.{1}),
        };
        const table = complex_elementwise.tableOf(f32, set);
        try complex_elementwise.runWith(f32, table, tensor_kernels.tableOf(f32, set), .where, &operands, null);
        try std.testing.expectEqualSlices(f32, &.{ 1, 0, 7, 8, 3, 0, 11, 12 }, &out);
        const sums = [_]Operand{ operands[0], operands[2], operands[3], operands[3] };
        try complex_elementwise.runWith(f32, table, tensor_kernels.tableOf(f32, set), .add, &sums, null);
        try std.testing.expectEqualSlices(f32, &.{ 6, 6, 9, 8, 12, 10, 15, 12 }, &out);
    }
}

test "special values are those of Annex G of C" {
    const inf = std.math.inf(f64);
    const nan = std.math.nan(f64);
    const Case = struct { kernel.Operation, f64, f64, f64, f64 };
    for ([_]Case{
        .{ .exp, -inf, inf, 0, 0 },
        .{ .exp, inf, nan, inf, nan },
        .{ .exp, nan, 0, nan, 0 },
        .{ .sqrt, -inf, 1, 0, inf },
        .{ .sqrt, nan, inf, inf, inf },
        .{ .log, 0, 0, -inf, 0 },
        .{ .log, inf, nan, inf, nan },
        .{ .sinh, 0, inf, 0, nan },
        .{ .cosh, inf, inf, inf, nan },
        .{ .tanh, inf, nan, 1, 0 },
        .{ .tanh, nan, 0, nan, 0 },
        .{ .acosh, inf, inf, inf, std.math.pi / 4.0 },
        .{ .asinh, inf, nan, inf, nan },
        .{ .atanh, 1, 0, inf, 0 },
        .{ .atanh, nan, inf, 0, std.math.pi / 2.0 },
        .{ .acos, 0, nan, std.math.pi / 2.0, nan },
    }) |case| {
        const operation, const re, const im, const expected_re, const expected_im = case;
        var x = [_]f64{ re, im };
        var out: [2]f64 = undefined;
        for (kernels.available()) |set| {
            const operands = [_]Operand{
                operandOf(f64, &out, true, &.{1}, &.{1}),
                operandOf(f64, &x, true, &.{1}, &.{1}),
                operandOf(f64, &x, true, &.{1}, &.{1}),
                operandOf(f64, &x, true, &.{1}, &.{1}),
            };
            const table = complex_elementwise.tableOf(f64, set);
            try complex_elementwise.runWith(f64, table, tensor_kernels.tableOf(f64, set), operation, &operands, null);
            for (out, [_]f64{ expected_re, expected_im }) |actual, expected| {
                if (std.math.isNan(expected)) try std.testing.expect(std.math.isNan(actual)) else try std.testing.expectApproxEqAbs(expected, actual, 1e-15);
            }
        }
    }
}

//! Elementwise operations and normalisations on every instruction set of this machine, against scalar functions.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const cpu = @import("../simd/cpu.zig");
const elementwise = @import("elementwise.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const normalize = @import("../norm/normalize.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const test_support = @import("../tensor/test_support.zig");

const kernel = generic.elementwise_kernel;
const View = strided.View;

fn viewOf(comptime T: type, values: []T, shape: []const usize, strides: []const isize) View {
    var view: View = .{ .storage = .of(T), .address = @intFromPtr(values.ptr), .rank = shape.len, .shape = @splat(1), .strides = @splat(0) };
    for (shape, strides, 0..) |extent, stride, axis| {
        view.shape[axis] = extent;
        view.strides[axis] = stride;
    }
    return view;
}

/// The scalar twin, in float64; null where the language has no such function.
fn scalar(operation: kernel.Operation, x: f64, y: f64) ?f64 {
    return switch (operation) {
        .identity => x,
        .negative => -x,
        .absolute => @abs(x),
        .square => x * x,
        .reciprocal => 1 / x,
        .sqrt => @sqrt(x),
        .exp => @exp(x),
        .expm1 => std.math.expm1(x),
        .log => @log(x),
        .log1p => std.math.log1p(x),
        .tanh => std.math.tanh(x),
        .sigmoid => 1 / (1 + @exp(-x)),
        .relu => @max(x, 0),
        .silu => x / (1 + @exp(-x)),
        .floor => @floor(x),
        .ceil => @ceil(x),
        .trunc => @trunc(x),
        .sin => @sin(x),
        .cos => @cos(x),
        .exp2 => @exp2(x),
        .log2 => @log2(x),
        .log10 => @log10(x),
        .tan => @tan(x),
        .asin => std.math.asin(x),
        .acos => std.math.acos(x),
        .atan => std.math.atan(x),
        .atan2 => std.math.atan2(x, y),
        .sinh => std.math.sinh(x),
        .cosh => std.math.cosh(x),
        .asinh => std.math.asinh(x),
        .acosh => std.math.acosh(x),
        .atanh => std.math.atanh(x),
        .hypot => std.math.hypot(x, y),
        .copysign => std.math.copysign(x, y),
        .power => std.math.pow(f64, x, y),
        .relu_gradient => if (x > 0) y else 0,
        .leaky_relu_gradient => if (x > 0) y else 0.5 * y,
        .softplus_gradient => y / (1 + @exp(-x)),
        .add => x + y,
        .subtract => x - y,
        .multiply => x * y,
        .divide => x / y,
        .maximum => @max(x, y),
        .minimum => @min(x, y),
        .squared_error => (x - y) * (x - y),
        // Beside a target of 1 there is one logarithm; of others digits cancel.
        .bce => if (y == 1) -@max(@log(x), -100) else null,
        .bce_with_logits => if (y == 1) @max(-x, 0) + std.math.log1p(@exp(-@abs(x))) else null,
        else => null,
    };
}

fn expectClose(comptime T: type, operation: kernel.Operation, expected: f64, actual: T, x: T) !void {
    if (std.math.isNan(expected) and std.math.isNan(actual)) return;
    const tolerance = 8 * std.math.floatEps(T) * (@abs(expected) + std.math.floatMin(T));
    if (@abs(expected - actual) <= tolerance) return;
    std.debug.print("{t}({d}) is {d}, not {d}\n", .{ operation, x, actual, expected });
    return error.TestUnexpectedResult;
}

fn testOperations(comptime T: type) !void {
    const allocator = std.testing.allocator;
    const rows = 7;
    const columns = 131;
    const count = rows * columns;
    var random: std.Random.DefaultPrng = .init(11);
    const rng = random.random();
    const x = try allocator.alloc(T, 2 * count);
    defer allocator.free(x);
    const y = try allocator.alloc(T, columns);
    defer allocator.free(y);
    for (x) |*value| value.* = rng.floatNorm(T) * 3;
    for (y) |*value| value.* = rng.floatNorm(T) * 3;
    y[0] = 1;
    var results: [std.enums.values(cpu.InstructionSet).len][]T = undefined;
    for (&results) |*result| result.* = try allocator.alloc(T, count);
    defer for (results) |result| allocator.free(result);

    @setEvalBranchQuota(100_000);
    inline for (comptime std.enums.values(kernel.Operation)) |operation| {
        if (comptime kernel.isPredicate(operation) or kernel.arity(operation) > 2 or !kernel.appliesTo(T, operation)) continue;
        for (kernels.available(), 0..) |set, which| {
            const result = results[which];
            // x has gaps, y is one row for all, the result is written by columns.
            const views = [_]View{
                viewOf(T, result, &.{ rows, columns }, &.{ 1, rows }),
                viewOf(T, x, &.{ rows, columns }, &.{ 2 * columns, 2 }),
                viewOf(T, y, &.{ rows, columns }, &.{ 0, 1 }),
                viewOf(T, y, &.{ rows, columns }, &.{ 0, 1 }),
                viewOf(T, y, &.{ rows, columns }, &.{ 0, 1 }),
            };
            const executor = test_support.executor(3);
            try elementwise.runWith(T, tensor_kernels.tableOf(T, set), operation, &views, 0.5, &executor);
            for (0..rows) |i| for (0..columns) |j| {
                const input = x[(i * columns + j) * 2];
                const expected = scalar(operation, input, y[j]) orelse continue;
                try expectClose(T, operation, expected, result[j * rows + i], input);
            };
            // Nothing is fused, so every instruction set gives the same bits.
            try std.testing.expectEqualSlices(u8, std.mem.sliceAsBytes(results[0]), std.mem.sliceAsBytes(result));
        }
    }
}

test "elementwise operations agree with scalar functions and between instruction sets" {
    try testOperations(f32);
    try testOperations(f64);
}

/// Of results that begin anywhere in a cache line, in rows with gaps, or over an operand.
fn testStreams(comptime T: type) !void {
    const rows = 3;
    const columns = 1100;
    const width = columns + 3;
    const shape = [_]usize{ rows, columns };
    const strides = [_]isize{ width, 1 };
    var x: [rows * width]T = undefined;
    for (&x, 0..) |*value, i| {
        const number: u8 = @intCast(i % 91);
        value.* = if (@typeInfo(T) == .float) @floatFromInt(number) else number;
    }
    var results: [2][rows * width + 16]T align(64) = undefined;
    const operations = [_]kernel.Operation{ .identity, .add, .clip, .relu };
    for (kernels.available()) |set| for (operations) |operation| for ([_]usize{ 0, 1, 5, 15 }) |first| for ([_]bool{ false, true }) |in_place| {
        for (&results, [_]bool{ false, true }) |*result, streams| {
            @memset(result, 7);
            if (in_place) @memcpy(result[first..][0..x.len], &x);
            const out = viewOf(T, result[first..], &shape, &strides);
            const views = [_]View{
                out,
                if (in_place) out else viewOf(T, &x, &shape, &strides),
                viewOf(T, x[20..], &shape, &.{ 1, 0 }),
                viewOf(T, x[40..], &shape, &.{ 0, 1 }),
                out,
            };
            var job: elementwise.Job(T) = .of(tensor_kernels.tableOf(T, set), operation, &views, 0);
            job.streams = streams;
            for (0..job.pieces()) |piece| job.run(piece, piece + 1);
        }
        try std.testing.expectEqualSlices(T, &results[0], &results[1]);
    };
}

test "results that pass the caches by are those that do not" {
    try testStreams(f32);
    try testStreams(f64);
    try testStreams(i32);
}

/// The scalar twin of what exists for integers only, or is another operation for them.
fn integerScalar(comptime T: type, operation: kernel.Operation, x: T, y: T) ?T {
    const is_by_zero = y == 0;
    const wraps = @typeInfo(T).int.signedness == .signed and y == -1;
    return switch (operation) {
        .bitwise_and => x & y,
        .bitwise_or => x | y,
        .bitwise_xor => x ^ y,
        .invert => ~x,
        .remainder => if (is_by_zero or wraps) 0 else x -% y *% @divFloor(x, y),
        .fmod => if (is_by_zero or wraps) 0 else x -% y *% @divTrunc(x, y),
        .floor_divide => if (is_by_zero) 0 else if (wraps) 0 -% x else @divFloor(x, y),
        .left_shift => if (y >= 0 and y < @bitSizeOf(T)) x << @intCast(y) else 0,
        .right_shift => if (y >= 0 and y < @bitSizeOf(T)) x >> @intCast(y) else if (x < 0) 0 -% @as(T, 1) else 0,
        .power => blk: {
            var product: T = 1;
            for (0..@intCast(y)) |_| product *%= x;
            break :blk product;
        },
        else => null,
    };
}

fn testIntegers(comptime T: type) !void {
    const rows = 3;
    const columns = 67;
    var random: std.Random.DefaultPrng = .init(13);
    const rng = random.random();
    var x: [rows * columns]T = undefined;
    var y: [columns]T = undefined;
    var exponents: [columns]T = undefined;
    var result: [rows * columns]T = undefined;
    for (&x) |*value| value.* = rng.int(T);
    for (&y, &exponents, 0..) |*divisor, *power, i| {
        divisor.* = if (i == 0) 0 else if (i == 1 and @typeInfo(T).int.signedness == .signed) -1 else rng.int(T) >> rng.int(u3);
        power.* = rng.uintLessThan(u8, 70);
    }
    @setEvalBranchQuota(100_000);
    inline for (comptime std.enums.values(kernel.Operation)) |operation| {
        if (comptime kernel.isPredicate(operation) or !kernel.appliesTo(T, operation)) continue;
        const right = switch (operation) {
            .power, .left_shift, .right_shift => &exponents,
            else => &y,
        };
        for (kernels.available()) |set| {
            const other = viewOf(T, right, &.{ rows, columns }, &.{ 0, 1 });
            const views = [_]View{
                viewOf(T, &result, &.{ rows, columns }, &.{ 1, rows }),
                viewOf(T, &x, &.{ rows, columns }, &.{ columns, 1 }),
                other,
                other,
                other,
            };
            try elementwise.runWith(T, tensor_kernels.tableOf(T, set), operation, &views, 0, null);
            for (0..rows) |i| for (0..columns) |j| {
                const expected = integerScalar(T, operation, x[i * columns + j], right[j]) orelse continue;
                try std.testing.expectEqual(expected, result[j * rows + i]);
            };
        }
    }
}

test "operations on integers agree with scalar ones on every instruction set" {
    try testIntegers(i32);
    try testIntegers(i64);
    try testIntegers(u64);
}

/// Of formats of 16 bits whose bits are the upper ones of float32, or are converted by `widen`.
fn testNeighbours(comptime T: type, comptime operation: kernel.Operation, comptime Bits: type, comptime widen: fn (Bits) T) !void {
    const count = 1 << 12;
    var random: std.Random.DefaultPrng = .init(14);
    const rng = random.random();
    var x: [count]T = undefined;
    var y: [count]T = undefined;
    var expected: [count]T = undefined;
    var result: [count]T = undefined;
    const sign: Bits = 1 << (@bitSizeOf(Bits) - 1);
    for (&x, &y, &expected) |*from, *towards, *next| {
        const bits = rng.int(Bits);
        const is_up = rng.boolean();
        from.* = widen(bits);
        towards.* = if (is_up) std.math.inf(T) else -std.math.inf(T);
        // Sizes are ordered as their bits are.
        const grows = is_up == (bits & sign == 0);
        const from_zero = if (is_up) @as(Bits, 1) else sign | 1;
        const moved = if (bits & ~sign == 0) from_zero else if (grows) bits +% 1 else bits -% 1;
        next.* = if (std.math.isNan(from.*) or from.* == towards.*) from.* else widen(moved);
    }
    for (kernels.available()) |set| {
        var views: [5]View = @splat(viewOf(T, &result, &.{count}, &.{1}));
        views[1] = viewOf(T, &x, &.{count}, &.{1});
        views[2] = viewOf(T, &y, &.{count}, &.{1});
        try elementwise.runWith(T, tensor_kernels.tableOf(T, set), operation, &views, 0, null);
        for (x, expected, result) |from, wanted, actual| {
            if (std.math.isNan(from)) try std.testing.expect(std.math.isNan(actual)) else try std.testing.expectEqual(wanted, actual);
        }
    }
}

fn ofSingle(bits: u32) f32 {
    return @bitCast(bits);
}

fn ofDouble(bits: u64) f64 {
    return @bitCast(bits);
}

fn ofHalf(bits: u16) f32 {
    return @as(f16, @bitCast(bits));
}

fn ofBfloat(bits: u16) f32 {
    return @bitCast(@as(u32, bits) << 16);
}

test "neighbours are those of the format" {
    try testNeighbours(f32, .nextafter, u32, ofSingle);
    try testNeighbours(f64, .nextafter, u64, ofDouble);
    try testNeighbours(f32, .nextafter_half, u16, ofHalf);
    try testNeighbours(f32, .nextafter_bfloat, u16, ofBfloat);
}

fn testRows(comptime T: type) !void {
    const allocator = std.testing.allocator;
    const rows = 5;
    const columns = 203;
    var random: std.Random.DefaultPrng = .init(12);
    const rng = random.random();
    const x = try allocator.alloc(T, rows * columns);
    defer allocator.free(x);
    const out = try allocator.alloc(T, rows * columns);
    defer allocator.free(out);
    for (x) |*value| value.* = rng.floatNorm(T) * 3;
    for (kernels.available()) |set| {
        for ([_]generic.row_kernel.Operation{ .softmax, .log_softmax, .layer_norm, .rms_norm }) |operation| {
            for ([_][2]isize{ .{ columns, 1 }, .{ 1, rows } }) |strides| {
                const problem: normalize.Problem = .{
                    .operation = operation,
                    .x = viewOf(T, x, &.{ rows, columns }, &strides),
                    .out = viewOf(T, out, &.{ rows, columns }, &strides),
                    .row_axes = 1,
                    .epsilon = 1e-3,
                };
                try normalize.runWith(T, tensor_kernels.tableOf(T, set), &problem, null);
                for (0..rows) |row| try checkRow(T, operation, &problem, row);
            }
        }
    }
}

fn checkRow(comptime T: type, operation: generic.row_kernel.Operation, problem: *const normalize.Problem, row: usize) !void {
    const columns = problem.x.shape[1];
    var largest: f64 = -std.math.inf(f64);
    var sum: f64 = 0;
    var squares: f64 = 0;
    for (0..columns) |j| {
        const value: f64 = at(T, &problem.x, row, j);
        largest = @max(largest, value);
        sum += value;
        squares += value * value;
    }
    const count: f64 = @floatFromInt(columns);
    const mean = sum / count;
    var powers: f64 = 0;
    var deviations: f64 = 0;
    for (0..columns) |j| {
        const value: f64 = at(T, &problem.x, row, j);
        powers += @exp(value - largest);
        deviations += (value - mean) * (value - mean);
    }
    for (0..columns) |j| {
        const value: f64 = at(T, &problem.x, row, j);
        const expected = switch (operation) {
            .softmax => @exp(value - largest) / powers,
            .log_softmax => value - largest - @log(powers),
            .layer_norm => (value - mean) / @sqrt(deviations / count + 1e-3),
            .rms_norm => value / @sqrt(squares / count + 1e-3),
        };
        try std.testing.expectApproxEqAbs(expected, at(T, &problem.out, row, j), 40 * std.math.floatEps(T) * (1 + @abs(expected)));
    }
}

fn at(comptime T: type, view: *const View, row: usize, column: usize) T {
    const offset = @as(isize, @intCast(row)) * view.strides[0] + @as(isize, @intCast(column)) * view.strides[1];
    const ptr: *const T = @ptrFromInt(strided.addressAt(view, offset));
    return ptr.*;
}

test "normalisations agree with their definitions on every instruction set and layout" {
    try testRows(f32);
    try testRows(f64);
}

test "a refusing executor is reported" {
    var x: [100_000]f32 = @splat(1);
    const view = viewOf(f32, &x, &.{x.len}, &.{1});
    const views: [5]View = @splat(view);
    const table = tensor_kernels.table(f32);
    try std.testing.expectError(error.ExecutorFailed, elementwise.runWith(f32, table, .negative, &views, 0, &test_support.broken_executor));
}

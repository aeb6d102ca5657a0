//! Products of half precision, bfloat16 and bytes: every instruction set this CPU has against the scalar twin.

const std = @import("std");
const generic = @import("generic");
const converted = @import("converted.zig");
const kernels = @import("gemm_kernels.zig");
const support = @import("../tensor/test_support.zig");
const tensors = @import("matrix.zig");

const Format = generic.numbers.Format;

pub fn SourceOf(comptime format: Format) type {
    return generic.numbers.simple(format).Source;
}

/// The value that a matmul of this format works with.
fn valueOf(comptime format: Format, source: SourceOf(format)) f64 {
    return switch (format) {
        .bf16 => converted.widenBfloat(source),
        .f32_as_bf16 => converted.widenBfloat(converted.roundBfloat(source)),
        .f32_as_f16 => @as(f16, @floatCast(source)),
        .i8 => @floatFromInt(source),
        else => source,
    };
}

pub fn fill(comptime format: Format, rng: std.Random, values: []SourceOf(format)) void {
    for (values) |*value| {
        const number = rng.float(f32) * 2 - 1;
        value.* = switch (format) {
            .bf16 => converted.roundBfloat(number),
            .f16 => @floatCast(number),
            .i8 => rng.int(i8),
            else => number,
        };
    }
}

pub const View = struct { rows: usize, columns: usize, row_stride: isize, column_stride: isize, len: usize };

/// Row-major, column-major or spaced out.
pub fn view(rng: std.Random, rows: usize, columns: usize) View {
    const r: isize = @intCast(rows);
    const c: isize = @intCast(columns);
    const strides: [2]isize = switch (rng.uintLessThan(u8, 3)) {
        0 => .{ c, 1 },
        1 => .{ 1, r },
        else => .{ 2 * c + 3, 2 },
    };
    const len = @max(1, @as(usize, @intCast(@max(0, r - 1) * strides[0] + @max(0, c - 1) * strides[1])) + 1);
    return .{ .rows = rows, .columns = columns, .row_stride = strides[0], .column_stride = strides[1], .len = len };
}

pub fn matrix(comptime T: type, element: tensors.Element, values: []T, shape: View) tensors.Matrix {
    return .{
        .name = "matrix",
        .element = element,
        .address = @intFromPtr(values.ptr),
        .shape = .{ shape.rows, shape.columns },
        .strides = .{ shape.row_stride, shape.column_stride },
    };
}

fn at(shape: View, row: usize, column: usize) usize {
    return @intCast(@as(isize, @intCast(row)) * shape.row_stride + @as(isize, @intCast(column)) * shape.column_stride);
}

pub fn elementOf(comptime format: Format) tensors.Element {
    return switch (format) {
        .bf16 => .bf16,
        .f16 => .f16,
        .i8 => .i8,
        else => .f32,
    };
}

fn expectMatmul(comptime format: Format, rng: std.Random, rows: usize, columns: usize, k: usize) !void {
    const Source = SourceOf(format);
    const Sum = generic.numbers.simple(format).Sum;
    const allocator = std.testing.allocator;
    const a_view = view(rng, rows, k);
    const b_view = view(rng, k, columns);
    const out_view = view(rng, rows, columns);
    const a = try allocator.alloc(Source, a_view.len);
    defer allocator.free(a);
    const b = try allocator.alloc(Source, b_view.len);
    defer allocator.free(b);
    fill(format, rng, a);
    fill(format, rng, b);
    const before: Sum = 3;
    const alpha: f64 = if (rng.boolean()) 1 else -2;
    const beta: f64 = if (rng.boolean()) 0 else 2;
    for (kernels.available()) |set| {
        const out = try allocator.alloc(Sum, out_view.len);
        defer allocator.free(out);
        @memset(out, before);
        try converted.multiplyWith(format, set, &.{
            .a = matrix(Source, elementOf(format), a, a_view),
            .b = matrix(Source, elementOf(format), b, b_view),
            .out = matrix(Sum, if (Sum == i32) .i32 else .f32, out, out_view),
            .alpha = alpha,
            .beta = beta,
            .executor = null,
        });
        for (0..rows) |row| for (0..columns) |column| {
            var sum: f64 = 0;
            for (0..k) |step| sum += valueOf(format, a[at(a_view, row, step)]) * valueOf(format, b[at(b_view, step, column)]);
            const expected = alpha * sum + beta * @as(f64, before);
            const got = out[at(out_view, row, column)];
            if (Sum == i32) {
                try std.testing.expectEqual(@as(i32, @intFromFloat(expected)), got);
            } else {
                // An ulp of the sum a step (Higham, "Accuracy and Stability of Numerical Algorithms", 3.1), and some room.
                const tolerance = @as(f64, @floatFromInt(k + 8)) * std.math.floatEps(f32) * @max(1, @abs(expected));
                std.testing.expectApproxEqAbs(expected, @as(f64, got), tolerance) catch |failure| {
                    std.debug.print("{t} {t} {d} x {d} x {d} at {d}, {d}\n", .{ format, set, rows, columns, k, row, column });
                    return failure;
                };
            }
        };
    }
}

test "matmuls of converted operands agree with the scalar twin" {
    var random: std.Random.DefaultPrng = .init(31);
    const rng = random.random();
    inline for (.{ .bf16, .f16, .f32_as_bf16, .f32_as_f16, .i8 }) |format| {
        for (0..40) |_| {
            try expectMatmul(format, rng, rng.uintLessThan(usize, 70), rng.uintLessThan(usize, 70), rng.uintLessThan(usize, 70));
        }
        // More than one block of k, rows that fill panels exactly, one row, one column.
        try expectMatmul(format, rng, 65, 25, 1100);
        try expectMatmul(format, rng, 64, 24, 64);
        try expectMatmul(format, rng, 1, 40, 129);
        try expectMatmul(format, rng, 40, 1, 129);
    }
}

test "extreme bytes are exact" {
    var a: [70]i8 = @splat(-128);
    var b: [70]i8 = @splat(-128);
    const line: View = .{ .rows = 1, .columns = 70, .row_stride = 70, .column_stride = 1, .len = 70 };
    const column: View = .{ .rows = 70, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 70 };
    const one: View = .{ .rows = 1, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 1 };
    for ([_]i8{ -128, 127 }) |value| {
        @memset(&a, value);
        for (kernels.available()) |set| {
            var out: [1]i32 = .{0};
            try converted.multiplyWith(.i8, set, &.{
                .a = matrix(i8, .i8, &a, line),
                .b = matrix(i8, .i8, &b, column),
                .out = matrix(i32, .i32, &out, one),
                .alpha = 1,
                .beta = 0,
                .executor = null,
            });
            try std.testing.expectEqual(70 * -128 * @as(i32, value), out[0]);
        }
    }
}

test "narrow results are rounded once, to nearest even, after the whole of k" {
    // 600 products of 1, then 2^-1: 600.5 lies between 600 and 604 of bfloat16, and 600.5 is a half-precision number.
    var ones: [601]u16 = @splat(comptime converted.roundBfloat(1));
    var last: [601]u16 = @splat(comptime converted.roundBfloat(1));
    last[600] = comptime converted.roundBfloat(0.5);
    const line: View = .{ .rows = 1, .columns = 601, .row_stride = 601, .column_stride = 1, .len = 601 };
    const column: View = .{ .rows = 601, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 601 };
    const one: View = .{ .rows = 1, .columns = 1, .row_stride = 1, .column_stride = 1, .len = 1 };
    for (kernels.available()) |set| {
        var out: [1]u16 = .{0};
        try converted.multiplyWith(.bf16, set, &.{
            .a = matrix(u16, .bf16, &ones, line),
            .b = matrix(u16, .bf16, &last, column),
            .out = matrix(u16, .bf16, &out, one),
            .alpha = 1,
            .beta = 0,
            .executor = null,
        });
        try std.testing.expectEqual(600, converted.widenBfloat(out[0]));
    }
}

test "any number of threads gives the same bits" {
    var random: std.Random.DefaultPrng = .init(32);
    const rng = random.random();
    const allocator = std.testing.allocator;
    // One block of k and three of them; threads that share a side and such that have copies of it.
    for ([_][3]usize{ .{ 200, 200, 200 }, .{ 200, 100, 2500 }, .{ 100, 200, 2500 }, .{ 300, 700, 1100 } }) |extents| {
        const rows, const columns, const k = extents;
        const a_view = rowMajor(rows, k);
        const b_view = rowMajor(k, columns);
        const out_view = rowMajor(rows, columns);
        const a = try allocator.alloc(u16, a_view.len);
        defer allocator.free(a);
        const b = try allocator.alloc(u16, b_view.len);
        defer allocator.free(b);
        fill(.bf16, rng, a);
        fill(.bf16, rng, b);
        var first: ?[]u16 = null;
        defer if (first) |out| allocator.free(out);
        for ([_]u32{ 1, 2, 3, 7 }) |threads| {
            const executor = support.executor(threads);
            const out = try allocator.alloc(u16, out_view.len);
            try converted.multiply(.bf16, &.{
                .a = matrix(u16, .bf16, a, a_view),
                .b = matrix(u16, .bf16, b, b_view),
                .out = matrix(u16, .bf16, out, out_view),
                .alpha = 1,
                .beta = 0,
                .executor = &executor,
            });
            if (first) |expected| {
                defer allocator.free(out);
                try std.testing.expectEqualSlices(u16, expected, out);
            } else first = out;
        }
    }
}

fn rowMajor(rows: usize, columns: usize) View {
    return .{ .rows = rows, .columns = columns, .row_stride = @intCast(columns), .column_stride = 1, .len = rows * columns };
}

//! Matmuls whose operands are converted when they are packed: half precision, bfloat16, bytes.
//!
//! Sums are float32 or int32. Where `out` is narrower, they are kept in a buffer and rounded once, after all of k.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const cpu = @import("../simd/cpu.zig");
const kernels = @import("gemm_kernels.zig");
const gemm = @import("gemm.zig");
const tensors = @import("matrix.zig");

const Epilogue = @import("epilogue.zig").Epilogue;
const Format = generic.numbers.Format;

/// A matmul of checked operands.
pub const Job = struct {
    a: tensors.Matrix,
    b: tensors.Matrix,
    out: tensors.Matrix,
    alpha: f64,
    beta: f64,
    /// What follows the sums, in their type.
    epilogue: union(enum) { none, f32: *const Epilogue(f32), i32: *const Epilogue(i32) } = .none,
    executor: ?*const abi.Executor,
};

pub fn multiply(format: Format, job: *const Job) gemm.Error!void {
    return multiplyWith(format, kernels.packedSet(job.a.shape[0], job.b.shape[1], job.a.shape[1]), job);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn multiplyWith(format: Format, set: cpu.InstructionSet, job: *const Job) gemm.Error!void {
    switch (format) {
        .f32, .f64 => unreachable,
        inline else => |known| switch (kernels.packedTable(known, set)) {
            .simple => |table| return run(generic.numbers.simple(known), table, job),
            .dotted => |table| return run(generic.numbers.dotted(known), table, job),
            .tiled => |table| return run(generic.numbers.tiled(known), table, job),
        },
    }
}

fn run(comptime numbers: generic.numbers.Numbers, table: *const generic.table.Table(numbers), job: *const Job) gemm.Error!void {
    if (job.out.isEmpty()) return;
    const Sum = numbers.Sum;
    const alpha: Sum = if (Sum == i32) @intFromFloat(job.alpha) else @floatCast(job.alpha);
    const beta: Sum = if (Sum == i32) @intFromFloat(job.beta) else @floatCast(job.beta);
    var problem: gemm.Problem(numbers) = .{
        .m = job.a.shape[0],
        .n = job.b.shape[1],
        .k = job.a.shape[1],
        .a = job.a.ptr(numbers.Source),
        .a_row = job.a.strides[0],
        .a_k = job.a.strides[1],
        .b = job.b.ptr(numbers.Source),
        .b_k = job.b.strides[0],
        .b_column = job.b.strides[1],
        .out = undefined,
        .out_row = job.out.strides[0],
        .out_column = job.out.strides[1],
        .alpha = alpha,
        .beta = beta,
    };
    const epilogue: ?*const Epilogue(Sum) = switch (job.epilogue) {
        .none => null,
        .f32 => |last| if (Sum == f32) last else unreachable,
        .i32 => |last| if (Sum == i32) last else unreachable,
    };
    if (job.out.elementBytes() == @sizeOf(Sum)) {
        problem.out = job.out.ptr(Sum);
        if (epilogue) |last| problem.finish = last.finish(numbers);
        return gemm.multiplyWith(numbers, table, &problem, job.executor);
    }
    if (Sum == i32) unreachable;
    const columns = job.out.shape[1];
    const rounding: Rounding = .{
        .out = job.out,
        .beta = @floatCast(job.beta),
        .epilogue = if (epilogue) |last| (if (last.isNothing()) null else last) else null,
        .run = table.narrow,
    };
    // Row-major, as large as `out`.
    problem.has_out = false;
    if (job.out.element == .bf16 and job.out.strides[1] == 1 and alpha == 1 and beta == 0 and rounding.epilogue == null) {
        problem.rounded = .{ .ptr = job.out.ptr(u16), .column = job.out.strides[0] };
    }
    problem.out_row = @intCast(columns);
    problem.out_column = 1;
    problem.beta = 0;
    problem.finish = .{ .context = &rounding, .run = Finish(numbers).region };
    return gemm.multiplyWith(numbers, table, &problem, job.executor);
}

/// How finished sums are written to a narrower `out`.
const Rounding = struct {
    out: tensors.Matrix,
    beta: f32,
    epilogue: ?*const Epilogue(f32),
    run: *const fn (*const generic.narrow.Run) void,

    /// Elements from (row, column) on, along the row, of adjacent sums.
    fn line(rounding: *const Rounding, sums: [*]f32, row: usize, first_column: usize, columns: usize) void {
        switch (rounding.out.element) {
            .f16 => rounding.lineOf(f16, "f16", sums, row, first_column, columns),
            .bf16 => rounding.lineOf(u16, "bf16", sums, row, first_column, columns),
            else => unreachable,
        }
    }

    fn lineOf(rounding: *const Rounding, comptime T: type, comptime field: []const u8, sums: [*]f32, row: usize, first_column: usize, columns: usize) void {
        const step = rounding.out.strides[1];
        const target = generic.pointers.offset(T, rounding.out.ptr(T), @as(isize, @intCast(row)) * rounding.out.strides[0] +
            @as(isize, @intCast(first_column)) * step);
        var beta = rounding.beta;
        if (rounding.epilogue) |last| {
            if (beta != 0) {
                // What `out` held counts before the activation.
                for (0..columns) |column| {
                    const held = generic.pointers.offset(T, target, @as(isize, @intCast(column)) * step)[0];
                    sums[column] += beta * if (T == u16) widenBfloat(held) else @as(f32, held);
                }
                beta = 0;
            }
            last.alongRow(sums, columns, row, first_column);
        }
        if (step == 1) {
            return rounding.run(&.{ .sums = sums, .target = @unionInit(generic.narrow.Target, field, target), .len = columns, .beta = beta });
        }
        for (0..columns) |column| {
            const element = generic.pointers.offset(T, target, @as(isize, @intCast(column)) * step);
            rounding.run(&.{ .sums = sums + column, .target = @unionInit(generic.narrow.Target, field, element), .len = 1, .beta = beta });
        }
    }
};

fn Finish(comptime numbers: generic.numbers.Numbers) type {
    return struct {
        fn region(context: *const anyopaque, problem: *const gemm.Problem(numbers), part: gemm.Region) void {
            const rounding: *const Rounding = @ptrCast(@alignCast(context));
            if (problem.is_transposed) {
                for (part.column..part.column + part.columns) |row| rounding.line(problem.outAt(part.row, row), row, part.row, part.rows);
            } else {
                for (part.row..part.row + part.rows) |row| rounding.line(problem.outAt(row, part.column), row, part.column, part.columns);
            }
        }
    };
}

pub fn widenBfloat(value: u16) f32 {
    return generic.numbers.convert(comptime generic.numbers.simple(.bf16), .a, 1, .{value})[0];
}

pub fn roundBfloat(value: f32) u16 {
    return generic.numbers.convert(comptime generic.numbers.dotted(.f32_as_bf16), .a, 1, .{value})[0];
}

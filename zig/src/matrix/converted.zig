//! Products whose operands are converted when they are packed: half precision, bfloat16, bytes.
//!
//! Sums are float32 or int32. A narrower `out` gets them rounded once, after the whole depth: meanwhile they stand aside.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const cpu = @import("cpu.zig");
const kernels = @import("kernels.zig");
const product = @import("product.zig");
const tensors = @import("tensor.zig");
const workspace = @import("workspace.zig");

const Format = generic.numbers.Format;

/// A product of checked operands.
pub const Job = struct {
    a: tensors.Matrix,
    b: tensors.Matrix,
    out: tensors.Matrix,
    alpha: f64,
    beta: f64,
    executor: ?*const abi.Executor,
};

pub fn multiply(format: Format, job: *const Job) product.Error!void {
    return multiplyWith(format, kernels.info().instruction_set, job);
}

/// With the routines of a given instruction set, which this CPU must have.
pub fn multiplyWith(format: Format, set: cpu.InstructionSet, job: *const Job) product.Error!void {
    switch (format) {
        .f32, .f64 => unreachable,
        inline else => |known| switch (kernels.packedTable(known, set)) {
            .simple => |table| return run(generic.numbers.simple(known), table, job),
            .dotted => |table| return run(generic.numbers.dotted(known), table, job),
        },
    }
}

fn run(comptime numbers: generic.numbers.Numbers, table: *const generic.table.Table(numbers), job: *const Job) product.Error!void {
    if (job.out.isEmpty()) return;
    const Sum = numbers.Sum;
    const alpha: Sum = if (Sum == i32) @intFromFloat(job.alpha) else @floatCast(job.alpha);
    const beta: Sum = if (Sum == i32) @intFromFloat(job.beta) else @floatCast(job.beta);
    var problem: product.Problem(numbers) = .{
        .rows = job.a.shape[0],
        .columns = job.b.shape[1],
        .depth = job.a.shape[1],
        .left = job.a.ptr(numbers.Source),
        .left_row = job.a.strides[0],
        .left_depth = job.a.strides[1],
        .right = job.b.ptr(numbers.Source),
        .right_depth = job.b.strides[0],
        .right_column = job.b.strides[1],
        .out = undefined,
        .out_row = job.out.strides[0],
        .out_column = job.out.strides[1],
        .alpha = alpha,
        .beta = beta,
    };
    if (job.out.elementBytes() == @sizeOf(Sum)) {
        problem.out = job.out.ptr(Sum);
        return product.multiplyWith(numbers, table, &problem, job.executor);
    }
    if (Sum == i32) unreachable;
    const columns = job.out.shape[1];
    const buffer = try workspace.acquire(job.out.shape[0] * columns * @sizeOf(f32));
    defer workspace.release(buffer);
    const narrowing: Narrowing = .{
        .sums = buffer.slice(f32, 0, job.out.shape[0] * columns),
        .out = job.out,
        .beta = @floatCast(job.beta),
    };
    problem.out = narrowing.sums.ptr;
    problem.out_row = @intCast(columns);
    problem.out_column = 1;
    problem.beta = 0;
    problem.finish = .{ .context = &narrowing, .run = Finish(numbers).region };
    return product.multiplyWith(numbers, table, &problem, job.executor);
}

const Narrowing = struct {
    /// Row-major, as large as `out`.
    sums: []f32,
    out: tensors.Matrix,
    beta: f32,

    fn element(narrowing: *const Narrowing, comptime T: type, comptime read: fn (T) f32, comptime round: fn (f32) T, row: usize, column: usize) void {
        const target = generic.micro_kernel.offset(T, narrowing.out.ptr(T), @as(isize, @intCast(row)) * narrowing.out.strides[0] +
            @as(isize, @intCast(column)) * narrowing.out.strides[1]);
        const sum = narrowing.sums[row * narrowing.out.shape[1] + column];
        target[0] = round(if (narrowing.beta == 0) sum else sum + narrowing.beta * read(target[0]));
    }
};

fn Finish(comptime numbers: generic.numbers.Numbers) type {
    return struct {
        fn region(context: *const anyopaque, problem: *const product.Problem(numbers), part: product.Region) void {
            const narrowing: *const Narrowing = @ptrCast(@alignCast(context));
            switch (narrowing.out.element) {
                .f16 => each(f16, widenHalf, roundHalf, narrowing, problem, part),
                .bf16 => each(u16, widenBfloat, roundBfloat, narrowing, problem, part),
                else => unreachable,
            }
        }

        fn each(
            comptime T: type,
            comptime read: fn (T) f32,
            comptime round: fn (f32) T,
            narrowing: *const Narrowing,
            problem: *const product.Problem(numbers),
            part: product.Region,
        ) void {
            for (part.column..part.column + part.columns) |column| {
                for (part.row..part.row + part.rows) |row| {
                    if (problem.is_transposed) {
                        narrowing.element(T, read, round, column, row);
                    } else {
                        narrowing.element(T, read, round, row, column);
                    }
                }
            }
        }
    };
}

fn widenHalf(value: f16) f32 {
    return value;
}

fn roundHalf(value: f32) f16 {
    return @floatCast(value);
}

pub fn widenBfloat(value: u16) f32 {
    return @bitCast(@as(u32, value) << 16);
}

pub fn roundBfloat(value: f32) u16 {
    const numbers: generic.numbers.Numbers = comptime generic.numbers.dotted(.f32_as_bf16);
    return generic.numbers.convert(numbers, .left, 1, .{value})[0];
}

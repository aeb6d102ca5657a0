//! out = alpha * (a @ b) + beta * out for matrices with any strides. Checks, then hands over to product.zig, or to converted.zig where
//! operands are not what is computed in.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const tensors = @import("tensor.zig");
const overlap = @import("overlap.zig");
const product = @import("product.zig");
const converted = @import("converted.zig");
const generic = @import("generic");

pub fn matmul(
    a: ?*const abi.Tensor,
    b: ?*const abi.Tensor,
    out: ?*abi.Tensor,
    options: ?*const abi.MatmulOptions,
) abi.Status {
    const given = options orelse return status.fail(abi.errors.invalid_argument, "options is null", .{});
    if (given.size_bytes < @sizeOf(abi.MatmulOptions)) {
        return status.fail(abi.errors.invalid_argument, "options.size_bytes is {d}; at least {d} is expected", .{
            given.size_bytes, @sizeOf(abi.MatmulOptions),
        });
    }
    const operands = checkOperands(a, b, out, .{ "a", "b" }) catch return tensors.refusalCode();
    const format = formatOf(operands, given) catch return tensors.refusalCode();
    switch (format) {
        .f32 => return run(f32, operands, given),
        .f64 => return run(f64, operands, given),
        else => {},
    }
    converted.multiply(format, &.{
        .a = operands.a,
        .b = operands.b,
        .out = operands.out,
        .alpha = given.alpha,
        .beta = given.beta,
        .executor = given.executor,
    }) catch |failure| return report(failure);
    return abi.ok;
}

/// What is computed: decided by the operands and, for float32, by the options.
fn formatOf(operands: Operands, options: *const abi.MatmulOptions) tensors.Refusal!generic.numbers.Format {
    const element = operands.a.element;
    const format: generic.numbers.Format = switch (element) {
        .f64 => .f64,
        .f16 => .f16,
        .bf16 => .bf16,
        .i8 => .i8,
        .f32 => switch (options.precision) {
            abi.precision_operands => .f32,
            abi.precision_bf16 => .f32_as_bf16,
            abi.precision_f16 => .f32_as_f16,
            else => return refuse(abi.errors.invalid_argument, "precision {d} is unknown; 0 to {d} are known", .{
                options.precision, abi.precision_f16,
            }),
        },
        .i32 => return refuse(abi.errors.unsupported_dtype, "products of {t} matrices are not computed", .{element}),
    };
    if (element != .f32 and options.precision != abi.precision_operands) {
        return refuse(abi.errors.invalid_argument, "only float32 operands are rounded to another precision; a is {t}", .{element});
    }
    const fits = switch (element) {
        .f16, .bf16 => operands.out.element == element or operands.out.element == .f32,
        .i8 => operands.out.element == .i32,
        else => operands.out.element == element,
    };
    if (!fits) {
        return refuse(abi.errors.unsupported_dtype, "a product of {t} matrices cannot be written to {t}", .{ element, operands.out.element });
    }
    if (format == .i8 and !(isSmallInteger(options.alpha) and isSmallInteger(options.beta))) {
        return refuse(abi.errors.invalid_argument, "alpha and beta of an integer product must be integers of 32 bits; they are {d} and {d}", .{
            options.alpha, options.beta,
        });
    }
    return format;
}

fn isSmallInteger(value: f64) bool {
    return @abs(value) <= std.math.maxInt(i32) and @trunc(value) == value;
}

fn refuse(code: abi.Status, comptime format: []const u8, args: anytype) tensors.Refusal {
    _ = status.fail(code, format, args);
    return error.Refused;
}

pub const Operands = struct { a: tensors.Matrix, b: tensors.Matrix, out: tensors.Matrix };

pub fn checkOperands(
    a_tensor: ?*const abi.Tensor,
    b_tensor: ?*const abi.Tensor,
    out_tensor: ?*const abi.Tensor,
    names: [2][]const u8,
) tensors.Refusal!Operands {
    const a = try tensors.readMatrix(names[0], a_tensor);
    const b = try tensors.readMatrix(names[1], b_tensor);
    const out = try tensors.readMatrix("out", out_tensor);
    try tensors.requireSameElement(a, b);
    if (a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0] or out.shape[1] != b.shape[1]) {
        _ = status.fail(abi.errors.shape_mismatch, "shapes do not fit: {s} is ({d}, {d}), {s} is ({d}, {d}), out is ({d}, {d})", .{
            a.name, a.shape[0], a.shape[1], b.name, b.shape[0], b.shape[1], out.shape[0], out.shape[1],
        });
        return error.Refused;
    }
    if (overlap.sharesWithItself(out)) {
        _ = status.fail(abi.errors.invalid_argument, "out has elements that share memory: shape ({d}, {d}), strides ({d}, {d})", .{
            out.shape[0], out.shape[1], out.strides[0], out.strides[1],
        });
        return error.Refused;
    }
    for ([_]tensors.Matrix{ a, b }) |input| try requireApart(input, out);
    return .{ .a = a, .b = b, .out = out };
}

pub fn requireApart(input: tensors.Matrix, out: tensors.Matrix) tensors.Refusal!void {
    if (!overlap.shareMemory(input, out)) return;
    _ = status.fail(abi.errors.invalid_argument, "out shares memory with {s}; the product cannot be computed in place", .{input.name});
    return error.Refused;
}

pub fn problemOf(comptime T: type, operands: Operands, alpha: T, beta: T) product.Problem(.plain(T)) {
    return .{
        .rows = operands.a.shape[0],
        .columns = operands.b.shape[1],
        .depth = operands.a.shape[1],
        .left = operands.a.ptr(T),
        .left_row = operands.a.strides[0],
        .left_depth = operands.a.strides[1],
        .right = operands.b.ptr(T),
        .right_depth = operands.b.strides[0],
        .right_column = operands.b.strides[1],
        .out = operands.out.ptr(T),
        .out_row = operands.out.strides[0],
        .out_column = operands.out.strides[1],
        .alpha = alpha,
        .beta = beta,
    };
}

fn run(comptime T: type, operands: Operands, options: *const abi.MatmulOptions) abi.Status {
    const problem = problemOf(T, operands, @floatCast(options.alpha), @floatCast(options.beta));
    product.multiply(T, &problem, options.executor) catch |failure| return report(failure);
    return abi.ok;
}

pub fn report(failure: product.Error) abi.Status {
    return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the packed panels of a matrix product", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the pieces of a matrix product", .{}),
    };
}

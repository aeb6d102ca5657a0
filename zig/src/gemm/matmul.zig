//! out = activation(alpha * (a @ b) + beta * out + bias + residual) for matrices, and batches of them, with any strides. Checks, then hands over to
//! gemm.zig, or to converted.zig where operands are not what is computed in.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const tensors = @import("matrix.zig");
const overlap = @import("overlap.zig");
const epilogues = @import("epilogue.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm = @import("gemm.zig");
const batch = @import("batch.zig");
const batched_gemm = @import("batched_gemm.zig");
const workspace = @import("../memory/workspace.zig");
const converted = @import("converted.zig");
const generic = @import("generic");

const Epilogue = epilogues.Epilogue;

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
    if (isPlain(a) and isPlain(b) and isPlain(out) and given.bias == null and given.residual == null and given.activation == null) {
        const operands = checkOperands(a, b, out, .{ "a", "b" }) catch return tensors.refusalCode();
        const format = formatOf(operands, given) catch return tensors.refusalCode();
        const item: Item = .{ .format = format, .operands = operands, .options = given };
        item.compute(given.executor) catch |failure| return report(failure);
        return abi.ok;
    }
    var call = readCall(a, b, out, given) catch return tensors.refusalCode();
    call.run() catch |failure| return report(failure);
    return abi.ok;
}

/// A matrix argument; null is refused later, with the name of the argument.
fn isPlain(tensor: ?*const abi.Tensor) bool {
    return if (tensor) |present| present.ndim == 2 else true;
}

/// One matmul of a call.
const Item = struct {
    format: generic.numbers.Format,
    operands: Operands,
    residual: ?tensors.Matrix = null,
    extras: ?*const Extras = null,
    options: *const abi.MatmulOptions,

    fn compute(item: *const Item, executor: ?*const abi.Executor) gemm.Error!void {
        switch (item.format) {
            .f32 => return item.computePlain(f32, executor),
            .f64 => return item.computePlain(f64, executor),
            .i8 => return item.computeConverted(i32, executor),
            else => return item.computeConverted(f32, executor),
        }
    }

    fn computePlain(item: *const Item, comptime T: type, executor: ?*const abi.Executor) gemm.Error!void {
        var problem = problemOf(T, item.operands, @floatCast(item.options.alpha), @floatCast(item.options.beta));
        const last = item.epilogue(T);
        problem.finish = last.finish(.plain(T));
        return gemm.multiply(T, &problem, executor);
    }

    fn computeConverted(item: *const Item, comptime Sum: type, executor: ?*const abi.Executor) gemm.Error!void {
        const last = item.epilogue(Sum);
        return converted.multiply(item.format, &.{
            .a = item.operands.a,
            .b = item.operands.b,
            .out = item.operands.out,
            .alpha = item.options.alpha,
            .beta = item.options.beta,
            .epilogue = if (Sum == f32) .{ .f32 = &last } else .{ .i32 = &last },
            .executor = executor,
        });
    }

    fn epilogue(item: *const Item, comptime Sum: type) Epilogue(Sum) {
        const extras = item.extras orelse return .{};
        return .{
            .operation = extras.operation,
            .alpha = if (Sum == i32) 0 else extras.alpha,
            .bias = if (extras.bias) |bias| bias.ptr(Sum) else null,
            .residual = if (item.residual) |residual| residual.ptr(Sum) else null,
            .residual_row = if (item.residual) |residual| residual.strides[0] else 0,
            .residual_column = if (item.residual) |residual| residual.strides[1] else 0,
        };
    }
};

/// What is done to the sums afterwards.
const Extras = struct {
    operation: generic.elementwise_kernel.Operation = .identity,
    alpha: f32 = 0,
    bias: ?tensors.Matrix = null,
};

/// A checked call that is more than one plain matmul.
const Call = struct {
    format: generic.numbers.Format,
    batches: batch.Operands,
    extras: Extras,
    options: *const abi.MatmulOptions,

    /// Multiply-adds of a matmul that all threads work on together; batches of smaller ones are handed out, each to one thread. (On two Zen 4
    /// cores sharing a matmul of 256 cubed loses nothing, sharing one of 64 cubed a third.)
    const shared_multiply_adds = 256 * 256 * 256;

    fn run(call: *Call) gemm.Error!void {
        const count = call.batches.out.count();
        if (count == 0 or call.batches.out.first.isEmpty()) return;
        const copy = try call.gatherBias();
        defer if (copy) |buffer| workspace.release(buffer);
        const executor = call.options.executor;
        const first = call.batches.a.first.shape;
        const multiply_adds = first[0] *| first[1] *| call.batches.b.first.shape[1];
        if (count == 1 or multiply_adds >= shared_multiply_adds) {
            for (0..count) |index| try call.item(index).compute(executor);
            return;
        }
        if (call.extras.operation == .identity and call.extras.bias == null and call.batches.residual == null) {
            switch (call.format) {
                .f32 => return call.runPlain(f32),
                .f64 => return call.runPlain(f64),
                else => {},
            }
        }
        var failure: std.atomic.Value(u8) = .init(0);
        const items: Items = .{ .call = call, .failure = &failure };
        try parallel.run(executor, count, Items, &items);
        if (failure.load(.monotonic) != 0) return error.OutOfMemory;
    }

    fn runPlain(call: *const Call, comptime T: type) gemm.Error!void {
        const batches = &call.batches;
        const operands: Operands = .{ .a = batches.a.first, .b = batches.b.first, .out = batches.out.first };
        const first = problemOf(T, operands, @floatCast(call.options.alpha), @floatCast(call.options.beta));
        return batched_gemm.multiply(T, batches, &first, call.options.executor);
    }

    const Items = struct {
        call: *const Call,
        failure: *std.atomic.Value(u8),

        pub fn run(items: *const Items, begin: usize, end: usize) void {
            for (begin..end) |index| {
                // A matmul that one thread computes alone has no executor that could fail.
                items.call.item(index).compute(null) catch return items.failure.store(1, .monotonic);
            }
        }
    };

    fn item(call: *const Call, index: usize) Item {
        return .{
            .format = call.format,
            .operands = .{ .a = call.batches.a.at(index), .b = call.batches.b.at(index), .out = call.batches.out.at(index) },
            .residual = if (call.batches.residual) |residual| residual.at(index) else null,
            .extras = &call.extras,
            .options = call.options,
        };
    }

    /// A bias whose values are not adjacent is copied.
    fn gatherBias(call: *Call) gemm.Error!?workspace.Buffer {
        const bias = if (call.extras.bias) |*bias| bias else return null;
        const len = bias.shape[1];
        if (bias.strides[1] == 1 or len <= 1) return null;
        const bytes = bias.elementBytes();
        const buffer = try workspace.acquire(len * bytes);
        for (0..len) |i| {
            const from = bias.address +% @as(usize, @bitCast(@as(isize, @intCast(i)) * bias.strides[1])) *% bytes;
            @memcpy(buffer.bytes[i * bytes ..][0..bytes], @as([*]const u8, @ptrFromInt(from))[0..bytes]);
        }
        bias.address = @intFromPtr(buffer.bytes.ptr);
        bias.strides[1] = 1;
        return buffer;
    }
};

fn readCall(a: ?*const abi.Tensor, b: ?*const abi.Tensor, out: ?*const abi.Tensor, options: *const abi.MatmulOptions) tensors.Refusal!Call {
    var batches: batch.Operands = .{ .a = try .read("a", a), .b = try .read("b", b), .out = try .read("out", out) };
    const operands: Operands = .{ .a = batches.a.first, .b = batches.b.first, .out = batches.out.first };
    try checkExtents(operands);
    const format = try formatOf(operands, options);
    const sum: tensors.Element = switch (format) {
        .f64 => .f64,
        .i8 => .i32,
        else => .f32,
    };
    if (options.residual) |tensor| {
        batches.residual = try .read("residual", tensor);
        const residual = batches.residual.?.first;
        try requireSum(residual, sum);
        if (!std.meta.eql(residual.shape, operands.out.shape)) {
            return refuse(abi.errors.shape_mismatch, "shapes do not fit: residual is ({d}, {d}), out is ({d}, {d})", .{
                residual.shape[0], residual.shape[1], operands.out.shape[0], operands.out.shape[1],
            });
        }
    }
    try batches.broadcast();
    if (batch.sharesWithItself(&batches.out)) return refuse(abi.errors.invalid_argument, "out has elements that share memory", .{});
    for ([_]?*const batch.Batch{ &batches.a, &batches.b, if (batches.residual) |*residual| residual else null }) |maybe| {
        const operand = maybe orelse continue;
        if (batch.shareMemory(operand, &batches.out)) return shared(operand.first.name);
    }
    var extras = try readExtras(format, options);
    if (options.bias) |tensor| {
        const bias = try tensors.readVector("bias", tensor);
        try requireSum(bias, sum);
        if (bias.shape[1] != operands.out.shape[1]) {
            return refuse(abi.errors.shape_mismatch, "shapes do not fit: bias is ({d}), out is (..., {d}, {d})", .{
                bias.shape[1], operands.out.shape[0], operands.out.shape[1],
            });
        }
        if (batch.shareMemory(&.{ .first = bias }, &batches.out)) return shared("bias");
        extras.bias = bias;
    }
    if (batches.out.count() != 0) batches.fold();
    return .{ .format = format, .batches = batches, .extras = extras, .options = options };
}

fn readExtras(format: generic.numbers.Format, options: *const abi.MatmulOptions) tensors.Refusal!Extras {
    const given = options.activation orelse return .{};
    const kind = std.enums.fromInt(generic.activation.Kind, given.kind) orelse {
        return refuse(abi.errors.invalid_argument, "activation kind {d} is unknown; 0 to {d} are known", .{
            given.kind, @backingInt(generic.activation.Kind.neuromorphic),
        });
    };
    const operation = epilogues.operationOf(kind) orelse {
        return refuse(abi.errors.invalid_argument, "{t} is no activation of a matmul: it takes more than one value or parameter", .{kind});
    };
    if (format == .i8 and operation != .identity and operation != .relu) {
        return refuse(abi.errors.unsupported_dtype, "{t} is not computed for integers; relu is", .{kind});
    }
    return .{ .operation = operation, .alpha = given.alpha };
}

fn requireSum(operand: tensors.Matrix, sum: tensors.Element) tensors.Refusal!void {
    if (operand.element == sum) return;
    return refuse(abi.errors.unsupported_dtype, "{s} is {t} and the matmul accumulates in {t}; both must be the same", .{
        operand.name, operand.element, sum,
    });
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
        .i32 => return refuse(abi.errors.unsupported_dtype, "matmuls of {t} matrices are not supported", .{element}),
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
        return refuse(abi.errors.unsupported_dtype, "a matmul of {t} matrices cannot be written to {t}", .{ element, operands.out.element });
    }
    if (format == .i8 and !(isSmallInteger(options.alpha) and isSmallInteger(options.beta))) {
        return refuse(abi.errors.invalid_argument, "alpha and beta of an integer matmul must be integers of 32 bits; they are {d} and {d}", .{
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
    const operands: Operands = .{ .a = a, .b = b, .out = out };
    try checkExtents(operands);
    if (overlap.sharesWithItself(out)) {
        _ = status.fail(abi.errors.invalid_argument, "out has elements that share memory: shape ({d}, {d}), strides ({d}, {d})", .{
            out.shape[0], out.shape[1], out.strides[0], out.strides[1],
        });
        return error.Refused;
    }
    for ([_]tensors.Matrix{ a, b }) |input| try requireApart(input, out);
    return operands;
}

fn checkExtents(operands: Operands) tensors.Refusal!void {
    const a, const b, const out = .{ operands.a, operands.b, operands.out };
    try tensors.requireSameElement(a, b);
    if (a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0] or out.shape[1] != b.shape[1]) {
        return refuse(abi.errors.shape_mismatch, "shapes do not fit: {s} is ({d}, {d}), {s} is ({d}, {d}), out is ({d}, {d})", .{
            a.name, a.shape[0], a.shape[1], b.name, b.shape[0], b.shape[1], out.shape[0], out.shape[1],
        });
    }
}

pub fn requireApart(input: tensors.Matrix, out: tensors.Matrix) tensors.Refusal!void {
    if (overlap.shareMemory(input, out)) return shared(input.name);
}

fn shared(name: []const u8) tensors.Refusal {
    return refuse(abi.errors.invalid_argument, "out shares memory with {s}; a matmul cannot be computed in place", .{name});
}

pub fn problemOf(comptime T: type, operands: Operands, alpha: T, beta: T) gemm.Problem(.plain(T)) {
    return .{
        .m = operands.a.shape[0],
        .n = operands.b.shape[1],
        .k = operands.a.shape[1],
        .a = operands.a.ptr(T),
        .a_row = operands.a.strides[0],
        .a_k = operands.a.strides[1],
        .b = operands.b.ptr(T),
        .b_k = operands.b.strides[0],
        .b_column = operands.b.strides[1],
        .out = operands.out.ptr(T),
        .out_row = operands.out.strides[0],
        .out_column = operands.out.strides[1],
        .alpha = alpha,
        .beta = beta,
    };
}

pub fn report(failure: gemm.Error) abi.Status {
    return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the packed panels of a matrix multiplication", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the pieces of a matrix multiplication", .{}),
    };
}

//! One dense layer: out[batch, outputs] = activation(x[batch, inputs] @ weight[inputs, outputs] + bias[outputs]), float32.
//!
//! Bias and activation run over each part of `out` as soon as its sums are complete, while it is in cache. Softmax needs whole rows and
//! follows the matmul.

const std = @import("std");
const generic = @import("generic");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const kernels = @import("gemm_kernels.zig");
const matmul = @import("matmul.zig");
const parallel = @import("../tensor/parallel.zig");
const gemm = @import("gemm.zig");
const tensors = @import("matrix.zig");
const workspace = @import("../memory/workspace.zig");

const activation = generic.activation;
const Problem = gemm.Problem(.plain(f32));

/// Number of values that pass through a buffer at a time where `out` is not adjacent in memory.
const gathered_values = 256;

const Layer = struct {
    kind: activation.Kind,
    alpha: f32,
    beta: f32,
    bias: ?tensors.Matrix,
    /// The bias as adjacent values, which is the bias itself or a copy.
    adjacent_bias: ?[*]const f32 = null,
    outputs: usize,

    fn run(layer: *const Layer, values: [*]f32, len: usize, bias: activation.Run.Bias, kind: activation.Kind) void {
        kernels.table(f32).activate(&.{
            .values = values,
            .len = len,
            .bias = bias,
            .kind = kind,
            .alpha = layer.alpha,
            .beta = layer.beta,
        });
    }

    fn biasFrom(layer: *const Layer, first_output: usize) activation.Run.Bias {
        return if (layer.adjacent_bias) |bias| .{ .each = bias + first_output } else .none;
    }

    fn biasOf(layer: *const Layer, output: usize) activation.Run.Bias {
        return if (layer.adjacent_bias) |bias| .{ .one = bias[output] } else .none;
    }
};

pub fn denseForward(
    x_tensor: ?*const abi.Tensor,
    weight_tensor: ?*const abi.Tensor,
    bias_tensor: ?*const abi.Tensor,
    out_tensor: ?*abi.Tensor,
    activation_given: ?*const abi.Activation,
    executor: ?*const abi.Executor,
) abi.Status {
    const operands = matmul.checkOperands(x_tensor, weight_tensor, out_tensor, .{ "x", "weight" }) catch return tensors.refusalCode();
    if (operands.a.element != .f32) {
        return status.fail(abi.errors.unsupported_dtype, "a dense layer computes in float32; x is {t}", .{operands.a.element});
    }
    tensors.requireSameElement(operands.a, operands.out) catch return tensors.refusalCode();
    const given = activation_given orelse return status.fail(abi.errors.invalid_argument, "activation is null", .{});
    const kind = std.enums.fromInt(activation.Kind, given.kind) orelse {
        return status.fail(abi.errors.invalid_argument, "activation kind {d} is unknown; 0 to {d} are known", .{
            given.kind, @backingInt(activation.Kind.neuromorphic),
        });
    };
    var layer: Layer = .{
        .kind = kind,
        .alpha = given.alpha,
        .beta = given.beta,
        .bias = null,
        .outputs = operands.out.shape[1],
    };
    if (bias_tensor != null) layer.bias = readBias(bias_tensor, operands.out) catch return tensors.refusalCode();
    forward(operands, &layer, executor) catch |failure| return matmul.report(failure);
    return abi.ok;
}

fn readBias(tensor: ?*const abi.Tensor, out: tensors.Matrix) tensors.Refusal!tensors.Matrix {
    const bias = try tensors.readVector("bias", tensor);
    try tensors.requireSameElement(bias, out);
    if (bias.shape[1] != out.shape[1]) {
        _ = status.fail(abi.errors.shape_mismatch, "shapes do not fit: bias is ({d}), out is ({d}, {d})", .{
            bias.shape[1], out.shape[0], out.shape[1],
        });
        return error.Refused;
    }
    try matmul.requireApart(bias, out);
    return bias;
}

fn forward(operands: matmul.Operands, layer: *Layer, executor: ?*const abi.Executor) gemm.Error!void {
    if (operands.out.isEmpty()) return;
    var bias_copy: ?workspace.Buffer = null;
    defer if (bias_copy) |buffer| workspace.release(buffer);
    if (layer.bias) |bias| {
        if (bias.strides[1] == 1 or layer.outputs == 1) {
            layer.adjacent_bias = bias.ptr(f32);
        } else {
            bias_copy = try workspace.acquire(layer.outputs * @sizeOf(f32));
            const copy = bias_copy.?.slice(f32, 0, layer.outputs);
            for (copy, 0..) |*value, i| value.* = strided(bias.ptr(f32), i, bias.strides[1])[0];
            layer.adjacent_bias = copy.ptr;
        }
    }
    var problem = matmul.problemOf(f32, operands, 1, 0);
    if (layer.kind != .softmax) problem.finish = .{ .context = layer, .run = finishRegion };
    try gemm.multiply(f32, &problem, executor);
    if (layer.kind == .softmax) try softmaxRows(operands.out, layer, executor);
}

fn strided(ptr: [*]f32, index: usize, stride: isize) [*]f32 {
    return generic.pointers.offset(f32, ptr, @as(isize, @intCast(index)) * stride);
}

/// Adds the bias to a finished region and applies the activation to it.
fn finishRegion(context: *const anyopaque, problem: *const Problem, region: gemm.Region) void {
    const layer: *const Layer = @ptrCast(@alignCast(context));
    if (layer.kind == .identity and layer.adjacent_bias == null) return;
    for (region.column..region.column + region.columns) |column| {
        var row = region.row;
        const end = region.row + region.rows;
        while (row < end) {
            const adjacent = problem.out_row == 1;
            const len = if (adjacent) end - row else @min(gathered_values, end - row);
            const bias = if (problem.is_transposed) layer.biasFrom(row) else layer.biasOf(column);
            if (adjacent) {
                layer.run(problem.outAt(row, column), len, bias, layer.kind);
            } else {
                var gathered: [gathered_values]f32 = undefined;
                for (0..len) |i| gathered[i] = problem.outAt(row + i, column)[0];
                layer.run(&gathered, len, bias, layer.kind);
                for (0..len) |i| problem.outAt(row + i, column)[0] = gathered[i];
            }
            row += len;
        }
    }
}

fn softmaxRows(out: tensors.Matrix, layer: *const Layer, executor: ?*const abi.Executor) gemm.Error!void {
    const Rows = struct {
        out: tensors.Matrix,
        layer: *const Layer,
        /// A row for each batch item, where rows of `out` are not adjacent.
        gathered: ?[]f32,

        pub fn run(rows: *const @This(), begin: usize, end: usize) void {
            const outputs = rows.layer.outputs;
            for (begin..end) |item| {
                const first = strided(rows.out.ptr(f32), item, rows.out.strides[0]);
                if (rows.gathered) |gathered| {
                    const row = gathered[item * outputs ..][0..outputs];
                    for (row, 0..) |*value, i| value.* = strided(first, i, rows.out.strides[1])[0];
                    rows.layer.run(row.ptr, outputs, rows.layer.biasFrom(0), .softmax);
                    for (row, 0..) |value, i| strided(first, i, rows.out.strides[1])[0] = value;
                } else {
                    rows.layer.run(first, outputs, rows.layer.biasFrom(0), .softmax);
                }
            }
        }
    };
    const is_adjacent = out.strides[1] == 1 or layer.outputs == 1;
    const buffer: ?workspace.Buffer = if (is_adjacent) null else try workspace.acquire(out.shape[0] * layer.outputs * @sizeOf(f32));
    defer if (buffer) |held| workspace.release(held);
    const rows: Rows = .{
        .out = out,
        .layer = layer,
        .gathered = if (buffer) |held| held.slice(f32, 0, out.shape[0] * layer.outputs) else null,
    };
    // Computing a few rows costs less than distributing them.
    const is_small = out.shape[0] * layer.outputs < softmax_parallel_values;
    try parallel.run(if (is_small) null else executor, out.shape[0], Rows, &rows);
}

/// About 20 microseconds of work on one core at 1.5 values a nanosecond, several times what a fork and join of a pool takes.
const softmax_parallel_values = 32 << 10;

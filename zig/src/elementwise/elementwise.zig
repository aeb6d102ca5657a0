//! Elementwise operations on tensors with any strides: out = operation(inputs...), all of the shape of out (an axis that is broadcast has
//! stride 0). Inputs were validated in Rust; `out` may be the very view of an input, else it shares no memory with any.
//!
//! The index space is cut into tiles that stay in the first cache. Operands that are not adjacent there, or not of the type that is computed
//! in, pass through a buffer.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const complex_elementwise = @import("../complex/complex_elementwise.zig");
const elementwise_transposed = @import("elementwise_transposed.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const elementwise_job = @import("elementwise_job.zig");

const kernel = generic.elementwise_kernel;
const View = strided.View;
pub const Job = elementwise_job.Job;
pub const operand_count = elementwise_job.operand_count;
const direct_tile_len = elementwise_job.direct_tile_len;

pub fn elementwise(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ElementwiseOptions) abi.Status {
    const given = options.?;
    if (given.compute.code == abi.dtype_complex) return complex_elementwise.elementwise(inputs.?, input_count, out.?, given);
    // Numbered by Rust: to search for it would take as long as to add a hundred numbers.
    const operation: kernel.Operation = @fromBackingInt(given.operation);
    std.debug.assert(input_count == kernel.arity(operation));
    const is_done = switch (given.compute.code) {
        abi.dtype_float => if (given.compute.bits == 32) runFlat(f32, operation, inputs.?, out.?, given) else runFlat(f64, operation, inputs.?, out.?, given),
        abi.dtype_uint => runFlat(u64, operation, inputs.?, out.?, given),
        else => if (given.compute.bits == 32) runFlat(i32, operation, inputs.?, out.?, given) else runFlat(i64, operation, inputs.?, out.?, given),
    };
    if (is_done) return abi.ok;
    var views: [operand_count]View = @splat(View.of(out.?));
    for (0..input_count) |k| views[1 + k] = View.of(&inputs.?[k]);
    const outcome = switch (given.compute.code) {
        abi.dtype_float => if (given.compute.bits == 32) run(f32, operation, &views, given) else run(f64, operation, &views, given),
        abi.dtype_uint => run(u64, operation, &views, given),
        else => if (given.compute.bits == 32) run(i32, operation, &views, given) else run(i64, operation, &views, given),
    };
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the pieces of an elementwise operation", .{});
    return abi.ok;
}

/// A single run of adjacent elements of type T: the whole call, without describing its space. False where it is anything else.
fn runFlat(
    comptime T: type,
    operation: kernel.Operation,
    inputs: [*]const abi.Tensor,
    out: *const abi.Tensor,
    given: *const abi.ElementwiseOptions,
) bool {
    const result_is_ready = if (kernel.isPredicate(operation)) out.dtype.bits == 8 else strided.isOf(T, out.dtype);
    if (out.ndim != 1 or !result_is_ready) return false;
    const len: usize = @intCast(out.shape.?[0]);
    if (len == 0 or len > direct_tile_len or (out.strides != null and out.strides.?[0] != 1 and len != 1)) return false;
    const table = tensor_kernels.table(T);
    var splats: [kernel.max_inputs]kernel.Splat(T) align(64) = undefined;
    var step: kernel.Run(T) = .{
        .operation = operation,
        .inputs = undefined,
        .out = @ptrFromInt(strided.dataOf(out)),
        .len = len,
        .alpha = if (comptime generic.storage.isInteger(T)) 0 else @floatCast(given.alpha),
    };
    for (0..kernel.arity(operation)) |k| {
        const input = &inputs[k];
        if (!strided.isOf(T, input.dtype)) return false;
        const data: [*]const T = @ptrFromInt(strided.dataOf(input));
        const stride = if (input.strides) |strides| strides[0] else 1;
        if (stride == 0) {
            @memset(splats[k][0 .. kernel.vectors_together * table.lanes], data[0]);
            step.inputs[k] = .{ .ptr = &splats[k], .mask = 0 };
        } else if (stride == 1 or len == 1) {
            step.inputs[k] = .{ .ptr = data, .mask = std.math.maxInt(usize) };
        } else return false;
    }
    table.elementwise(&step);
    return true;
}

fn run(comptime T: type, operation: kernel.Operation, views: *const [operand_count]View, given: *const abi.ElementwiseOptions) parallel.Error!void {
    try runWith(T, tensor_kernels.table(T), operation, views, if (comptime generic.storage.isInteger(T)) 0 else @floatCast(given.alpha), given.executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    operation: kernel.Operation,
    views: *const [operand_count]View,
    alpha: T,
    executor: ?*const abi.Executor,
) parallel.Error!void {
    if (views[0].len() == 0) return;
    var job: Job(T) = .of(table, operation, views, alpha);
    const is_whole = job.writes_out and !kernel.isPredicate(operation);
    job.streams = is_whole and job.total * @sizeOf(T) >= kernels.info().caches.streamedBytes();
    if (elementwise_transposed.transposedAxis(&job.space, job.count)) |axis| {
        const transposed: elementwise_transposed.Job(T) = .of(&job, axis);
        return parallel.run(executor, transposed.tiles(), elementwise_transposed.Job(T), &transposed);
    }
    try parallel.run(executor, job.pieces(), Job(T), &job);
}

//! Elementwise operations on complex tensors with any strides: out = operation(inputs...), all of the shape of out. Inputs of real dtypes have
//! no imaginary part. Inputs were validated in Rust; `out` may be the very view of an input, else it shares no memory with any.
//!
//! A complex tensor is a view of its parts: an address, and strides that count twice. Tiles lie within the innermost axis; operands that are
//! not adjacent there, or not of the type that is computed in, pass through a buffer.

const std = @import("std");
const builtin = @import("builtin");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const cpu = @import("../simd/cpu.zig");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const kernel = @import("complex_kernel.zig");

const View = strided.View;

/// `out`, then the inputs.
const operand_count = 1 + kernel.max_inputs;
const Space = strided.Space(operand_count);

/// Number of elements in a tile: four operands of 16 bytes, and the parts of one, stay within the first cache.
const tile_len = 256;
/// Number of elements in a tile where nothing passes through a buffer.
const direct_tile_len = 16 * tile_len;
/// Number of elements in one piece of work.
const piece_len = direct_tile_len;

pub fn elementwise(inputs: [*]const abi.Tensor, input_count: u64, out: *const abi.Tensor, given: *const abi.ElementwiseOptions) abi.Status {
    const operation: kernel.Operation = @fromBackingInt(given.operation);
    std.debug.assert(input_count == kernel.arity(operation));
    var operands: [operand_count]Operand = @splat(.of(out));
    for (0..input_count) |k| operands[1 + k] = .of(&inputs[k]);
    const outcome = if (given.compute.bits == 64)
        run(f32, operation, &operands, given.executor)
    else
        run(f64, operation, &operands, given.executor);
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the pieces of an operation of complex numbers", .{});
    return abi.ok;
}

/// A tensor of complex or real numbers.
pub const Operand = struct {
    /// Of the real parts.
    view: View,
    is_complex: bool,

    pub fn of(tensor: *const abi.Tensor) Operand {
        if (tensor.dtype.code != abi.dtype_complex) return .{ .view = .of(tensor), .is_complex = false };
        var parts = tensor.*;
        parts.dtype = .{ .code = abi.dtype_float, .bits = tensor.dtype.bits / 2, .lanes = 1 };
        var operand: Operand = .{ .view = .of(&parts), .is_complex = true };
        for (&operand.view.strides) |*stride| stride.* *= 2;
        return operand;
    }
};

fn run(comptime T: type, operation: kernel.Operation, operands: *const [operand_count]Operand, executor: ?*const abi.Executor) parallel.Error!void {
    const set = kernels.info().instruction_set;
    try runWith(T, tableOf(T, set), tensor_kernels.tableOf(T, set), operation, operands, executor);
}

const has_x86 = builtin.cpu.arch == .x86_64;

/// The routines of an instruction set that this CPU has.
pub fn tableOf(comptime T: type, set: cpu.InstructionSet) *const kernel.Table(T) {
    return switch (set) {
        .generic => linked(T, "generic"),
        .avx2 => if (has_x86) linked(T, "avx2") else unreachable,
        .avx512, .avx512_dot, .amx => if (has_x86) linked(T, "avx512") else unreachable,
    };
}

fn linked(comptime T: type, comptime set: []const u8) *const kernel.Table(T) {
    return generic.linked_table.find(kernel.Table(T), "complex", set, @typeName(T));
}

pub fn runWith(
    comptime T: type,
    table: *const kernel.Table(T),
    reals: *const generic.tensor_table.Table(T),
    operation: kernel.Operation,
    operands: *const [operand_count]Operand,
    executor: ?*const abi.Executor,
) parallel.Error!void {
    if (operands[0].view.len() == 0) return;
    const job: Job(T) = .of(table, reals, operation, operands);
    try parallel.run(executor, (job.total + piece_len - 1) / piece_len, Job(T), &job);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const kernel.Table(T),
        reals: *const generic.tensor_table.Table(T),
        operation: kernel.Operation,
        operands: *const [operand_count]Operand,
        space: Space,
        total: usize,
        /// Whether the kernel reads or writes the operand's own memory.
        is_direct: [operand_count]bool = @splat(false),
        tile_limit: usize = direct_tile_len,

        const Self = @This();
        const Buffer = [2 * tile_len]T;

        fn of(
            table: *const kernel.Table(T),
            reals: *const generic.tensor_table.Table(T),
            operation: kernel.Operation,
            operands: *const [operand_count]Operand,
        ) Self {
            const views: [operand_count]*const View = .{ &operands[0].view, &operands[1].view, &operands[2].view, &operands[3].view };
            var job: Self = .{
                .table = table,
                .reals = reals,
                .operation = operation,
                .operands = operands,
                .space = .of(views),
                .total = operands[0].view.len(),
            };
            job.space.sort();
            job.space.coalesce();
            for (0..1 + kernel.arity(operation)) |k| {
                const operand = &operands[k];
                job.is_direct[k] = if (k == 0 and kernel.result(operation) != .complex)
                    job.isAdjacent(0, 1) and (operand.view.storage.is(T) or kernel.result(operation) == .bool)
                else
                    operand.is_complex and operand.view.storage.is(T) and job.isAdjacent(k, 2);
                const is_buffered = !job.is_direct[k] and (k == 0 or job.space.innerStride(k) != 0);
                if (is_buffered) job.tile_limit = tile_len;
            }
            return job;
        }

        /// A row of one element is adjacent whatever its stride.
        fn isAdjacent(job: *const Self, k: usize, step: isize) bool {
            return job.space.innerLen() == 1 or job.space.innerStride(k) == step;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            var buffers: [operand_count]Buffer align(64) = undefined;
            var parts: [2][tile_len]T align(64) = undefined;
            var flat = begin * piece_len;
            const last = @min(end * piece_len, job.total);
            const inner = job.space.innerLen();
            while (flat < last) {
                const len = @min(@min(last - flat, inner - flat % inner), job.tile_limit);
                const starts = job.space.offsets(flat);
                var step: kernel.Run(T) = .{ .operation = job.operation, .inputs = undefined, .out = undefined, .len = len };
                for (0..kernel.arity(job.operation)) |input| {
                    step.inputs[input] = job.read(1 + input, &buffers[1 + input], &parts, starts[1 + input], len);
                }
                const out = &job.operands[0].view;
                step.out = if (job.is_direct[0]) @ptrFromInt(strided.addressAt(out, starts[0])) else @ptrCast(&buffers[0]);
                job.table.elementwise(&step);
                if (!job.is_direct[0]) job.write(&buffers[0], &parts, starts[0], len);
                flat += len;
            }
        }

        fn read(job: *const Self, k: usize, buffer: *Buffer, parts: *[2][tile_len]T, start: isize, len: usize) kernel.Input(T) {
            const operand = &job.operands[k];
            const address = strided.addressAt(&operand.view, start);
            if (job.is_direct[k]) return .{ .ptr = @ptrFromInt(address), .mask = std.math.maxInt(usize) };
            const stride = job.space.innerStride(k);
            if (operand.is_complex and stride == 2) {
                job.reals.load(&.{ .storage = operand.view.storage, .address = address, .step = 1, .len = 2 * len, .target = buffer });
                return .{ .ptr = buffer, .mask = std.math.maxInt(usize) };
            }
            const is_splat = stride == 0 and len > 1;
            const count = if (is_splat) 1 else len;
            job.reals.load(&.{ .storage = operand.view.storage, .address = address, .step = stride, .len = count, .target = &parts[0] });
            if (operand.is_complex) {
                const imaginary = strided.addressAt(&operand.view, start + 1);
                job.reals.load(&.{ .storage = operand.view.storage, .address = imaginary, .step = stride, .len = count, .target = &parts[1] });
            } else @memset(parts[1][0..count], 0);
            if (is_splat) {
                for (0..kernel.vectors_together * job.table.lanes) |lane| buffer[2 * lane ..][0..2].* = .{ parts[0][0], parts[1][0] };
                return .{ .ptr = buffer, .mask = 0 };
            }
            for (0..len) |i| buffer[2 * i ..][0..2].* = .{ parts[0][i], parts[1][i] };
            return .{ .ptr = buffer, .mask = std.math.maxInt(usize) };
        }

        /// What the kernel left in the buffer, to memory with strides or of a narrower type.
        fn write(job: *const Self, buffer: *const Buffer, parts: *[2][tile_len]T, start: isize, len: usize) void {
            const view = &job.operands[0].view;
            const address = strided.addressAt(view, start);
            const stride = job.space.innerStride(0);
            if (kernel.result(job.operation) == .bool) {
                const bytes: [*]const u8 = @ptrCast(buffer);
                for (0..len) |i| parts[0][i] = if (bytes[i] != 0) 1 else 0;
                return job.reals.store(&.{ .storage = view.storage, .address = address, .step = stride, .len = len, .source = &parts[0] });
            }
            if (kernel.result(job.operation) == .real) {
                return job.reals.store(&.{ .storage = view.storage, .address = address, .step = stride, .len = len, .source = buffer });
            }
            if (stride == 2) {
                return job.reals.store(&.{ .storage = view.storage, .address = address, .step = 1, .len = 2 * len, .source = buffer });
            }
            for (0..len) |i| {
                parts[0][i] = buffer[2 * i];
                parts[1][i] = buffer[2 * i + 1];
            }
            const imaginary = strided.addressAt(view, start + 1);
            job.reals.store(&.{ .storage = view.storage, .address = address, .step = stride, .len = len, .source = &parts[0] });
            job.reals.store(&.{ .storage = view.storage, .address = imaginary, .step = stride, .len = len, .source = &parts[1] });
        }
    };
}

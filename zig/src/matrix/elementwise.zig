//! Elementwise operations on tensors with any strides: out = operation(inputs...), all of the shape of out (an axis that is broadcast has
//! stride 0). Inputs were validated in Rust; `out` may be the very view of an input, else it shares no memory with any.
//!
//! The index space is cut into tiles that stay in the first cache. Operands that are not adjacent there, or not of the type that is computed
//! in, pass through a buffer.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const elementwise_turned = @import("elementwise_turned.zig");
const kernels = @import("kernels.zig");
const parallel = @import("parallel.zig");
const strided = @import("strided.zig");
const tensor_kernels = @import("tensor_kernels.zig");

const kernel = generic.elementwise_kernel;
const View = strided.View;

comptime {
    for (std.meta.fieldNames(kernel.Operation)) |name| {
        std.debug.assert(@backingInt(@field(kernel.Operation, name)) == @field(abi, "elementwise_" ++ name));
    }
}

/// `out`, then the inputs.
pub const operand_count = 1 + kernel.max_inputs;
pub const Space = strided.Space(operand_count);

/// Elements of a tile: five operands of eight bytes stay within the first cache.
const tile_len = 512;
/// Elements of a tile where nothing passes through a buffer: the call of a routine does not count any more.
const direct_tile_len = 16 * tile_len;
/// Elements that one piece of work holds: about two microseconds of the cheapest operation.
const piece_len = 16 * tile_len;
const line_bytes = 64;
/// From this many elements on, tiles are cut within the innermost axis, where operands need no buffer.
const long_row = 64;

pub fn elementwise(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ElementwiseOptions) abi.Status {
    const given = options.?;
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

/// With the routines of a given instruction set, which this CPU must have.
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
    if (elementwise_turned.turnedAxis(&job.space, job.count)) |axis| {
        const turned: elementwise_turned.Job(T) = .of(&job, axis);
        return parallel.run(executor, turned.tiles(), elementwise_turned.Job(T), &turned);
    }
    try parallel.run(executor, job.pieces(), Job(T), &job);
}

/// Bytes at the beginning of a buffer become values, the last first.
pub fn widenTruth(comptime T: type, buffer: []T) void {
    const bytes: [*]const u8 = @ptrCast(buffer.ptr);
    var i = buffer.len;
    while (i > 0) {
        i -= 1;
        const truth = bytes[i];
        buffer[i] = if (truth != 0) 1 else 0;
    }
}

pub fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        operation: kernel.Operation,
        count: usize,
        alpha: T,
        views: *const [operand_count]View,
        space: Space,
        total: usize,
        /// Whether a tile lies within one run of the innermost axis.
        cuts_rows: bool = false,
        /// Whether the elements of a tile are adjacent, or all the same element.
        adjacent: [operand_count]bool = @splat(false),
        splat: [operand_count]bool = @splat(false),
        /// Whether results are written where they belong at once.
        writes_out: bool = false,
        /// Whether results are too many for any cache and pass around them: else memory would be read before it is written.
        streams: bool = false,
        tile_limit: usize = tile_len,

        const Self = @This();
        const Buffers = [operand_count][tile_len]T;

        pub fn of(table: *const generic.tensor_table.Table(T), operation: kernel.Operation, views: *const [operand_count]View, alpha: T) Self {
            var job: Self = .{
                .table = table,
                .operation = operation,
                .count = kernel.arity(operation),
                .alpha = alpha,
                .views = views,
                .space = .of(.{ &views[0], &views[1], &views[2], &views[3], &views[4] }),
                .total = views[0].len(),
            };
            job.space.sort();
            job.space.coalesce();
            job.cuts_rows = job.space.innerLen() >= long_row;
            for (0..operand_count) |k| {
                job.adjacent[k] = if (job.cuts_rows) job.space.innerStride(k) == 1 else job.space.isDense(k);
                job.splat[k] = if (job.cuts_rows) job.space.innerStride(k) == 0 else job.space.isSplat(k);
            }
            const out = views[0].storage;
            job.writes_out = job.adjacent[0] and (if (kernel.isPredicate(operation)) out == .bool or out == .u8 else out.is(T));
            var is_direct = job.writes_out;
            for (1..1 + job.count) |k| is_direct = is_direct and (job.splat[k] or (job.adjacent[k] and views[k].storage.is(T)));
            if (is_direct) job.tile_limit = direct_tile_len;
            return job;
        }

        pub fn pieces(job: *const Self) usize {
            return (job.total + piece_len - 1) / piece_len;
        }

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            var buffers: Buffers align(64) = undefined;
            var flat = begin * piece_len;
            const last = @min(end * piece_len, job.total);
            const inner = job.space.innerLen();
            while (flat < last) {
                const rest = last - flat;
                const whole = if (job.cuts_rows) @min(rest, inner - flat % inner) else rest;
                const starts = job.space.offsets(flat);
                const before = if (job.streams) job.beforeLine(starts[0]) else 0;
                const len = @min(whole, if (before > 0) before else job.tile_limit);
                job.tile(&buffers, flat, &starts, len);
                flat += len;
            }
            if (job.streams) generic.stream_store.finish();
        }

        /// Elements of `out` from `start` on before a cache line begins. They are a tile of their own where results stream: only whole lines pass the
        /// caches by.
        fn beforeLine(job: *const Self, start: isize) usize {
            return (0 -% strided.addressAt(&job.views[0], start)) % line_bytes / @sizeOf(T);
        }

        /// `len` elements from flat index `flat` on, where operands have the offsets `starts`.
        fn tile(job: *const Self, buffers: *Buffers, flat: usize, starts: *const [operand_count]isize, len: usize) void {
            var step: kernel.Run(T) = .{
                .operation = job.operation,
                .inputs = undefined,
                .out = undefined,
                .len = len,
                .alpha = job.alpha,
            };
            for (0..job.count) |input| step.inputs[input] = job.read(1 + input, &buffers[1 + input], flat, starts[1 + input], len);
            const out = &job.views[0];
            if (job.writes_out) {
                const address = strided.addressAt(out, starts[0]);
                step.out = @ptrFromInt(address);
                step.streams = job.streams and address % line_bytes == 0;
                return job.table.elementwise(&step);
            }
            step.out = @ptrCast(&buffers[0]);
            job.table.elementwise(&step);
            if (kernel.isPredicate(job.operation)) widenTruth(T, buffers[0][0..len]);
            var walk = job.space.walk(0, flat);
            strided.writeElements(T, job.table, out, &walk, len, &buffers[0]);
        }

        fn read(job: *const Self, k: usize, buffer: *[tile_len]T, flat: usize, start: isize, len: usize) kernel.Input(T) {
            const view = &job.views[k];
            const address = strided.addressAt(view, start);
            if (job.splat[k]) {
                const lanes = kernel.vectors_together * job.table.lanes;
                if (view.storage.is(T)) {
                    @memset(buffer[0..lanes], @as(*const T, @ptrFromInt(address)).*);
                } else job.table.load(&.{ .storage = view.storage, .address = address, .step = 0, .len = lanes, .target = buffer });
                return .{ .ptr = buffer, .mask = 0 };
            }
            if (job.adjacent[k] and view.storage.is(T)) return .{ .ptr = @ptrFromInt(address), .mask = std.math.maxInt(usize) };
            var walk = job.space.walk(k, flat);
            strided.readElements(T, job.table, view, &walk, len, buffer);
            return .{ .ptr = buffer, .mask = std.math.maxInt(usize) };
        }
    };
}

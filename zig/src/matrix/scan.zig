//! Running sums and products along the last axis of tensors with any strides. Every value is the one before it and its own element joined in
//! the type that is computed in, in order, whatever the layout. Validated in Rust; `out` may be the very view of x.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const strided = @import("strided.zig");
const tensor_kernels = @import("tensor_kernels.zig");

const View = strided.View;

pub const Operation = enum(u32) { sum = 0, product = 1 };

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "scan_" ++ name));
    }
}

/// Neighbouring lines that are scanned together, and elements of a line that pass through the buffer together.
const tile_len = 512;

pub fn scan(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.ScanOptions) abi.Status {
    std.debug.assert(input_count == 1);
    const given = options.?;
    const x: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    const operation = std.enums.fromInt(Operation, given.operation).?;
    const outcome = switch (given.compute.code) {
        abi.dtype_uint => run(u64, operation, &x, &target, given.executor),
        abi.dtype_float => if (given.compute.bits == 32) run(f32, operation, &x, &target, given.executor) else run(f64, operation, &x, &target, given.executor),
        else => run(i64, operation, &x, &target, given.executor),
    };
    outcome catch return status.fail(abi.errors.internal, "the executor could not run the lines of a scan", .{});
    return abi.ok;
}

fn run(comptime T: type, operation: Operation, x: *const View, out: *const View, executor: ?*const abi.Executor) parallel.Error!void {
    return runWith(T, tensor_kernels.table(T), operation, x, out, executor);
}

/// With the routines of a given instruction set, which this CPU must have.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    operation: Operation,
    x: *const View,
    out: *const View,
    executor: ?*const abi.Executor,
) parallel.Error!void {
    if (out.len() == 0) return;
    const axis = x.rank - 1;
    const x_lines = x.axes(0, axis);
    const out_lines = out.axes(0, axis);
    var lines: strided.Space(2) = .of(.{ &x_lines, &out_lines });
    lines.sort();
    lines.coalesce();
    const scans_rows = lines.rank > 0 and @abs(lines.innerStride(0)) < @abs(x.strides[axis]);
    const job: Job(T) = .{
        .table = table,
        .operation = operation,
        .x = x,
        .out = out,
        .lines = &lines,
        .line_len = x.shape[axis],
        .x_step = x.strides[axis],
        .out_step = out.strides[axis],
        .tile_width = if (scans_rows) @min(tile_len, lines.innerLen()) else 1,
    };
    const tiles_across = (lines.innerLen() + job.tile_width - 1) / job.tile_width;
    try parallel.run(executor, lines.len() / lines.innerLen() * tiles_across, Job(T), &job);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        operation: Operation,
        x: *const View,
        out: *const View,
        /// Every line that is scanned; view 0 is x, view 1 `out`.
        lines: *const strided.Space(2),
        line_len: usize,
        x_step: isize,
        out_step: isize,
        /// Lines of a tile: neighbours in memory, or one.
        tile_width: usize,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const width = job.lines.innerLen();
            const tiles_across = (width + job.tile_width - 1) / job.tile_width;
            for (begin..end) |tile| {
                const column = tile % tiles_across * job.tile_width;
                const first = tile / tiles_across * width + column;
                if (job.tile_width == 1) job.scanLine(first) else job.scanRows(first, @min(job.tile_width, width - column));
            }
        }

        fn scanLine(job: *const Self, line: usize) void {
            var buffer: [tile_len]T align(64) = undefined;
            var value: T = if (job.operation == .sum) 0 else 1;
            var done: usize = 0;
            while (done < job.line_len) {
                const count = @min(tile_len, job.line_len - done);
                const place: isize = @intCast(done);
                job.table.load(&.{
                    .storage = job.x.storage,
                    .address = strided.addressAt(job.x, job.lines.offset(0, line) + place * job.x_step),
                    .step = job.x_step,
                    .len = count,
                    .target = &buffer,
                });
                for (buffer[0..count]) |*element| {
                    value = job.join(value, element.*);
                    element.* = value;
                }
                job.table.store(&.{
                    .storage = job.out.storage,
                    .address = strided.addressAt(job.out, job.lines.offset(1, line) + place * job.out_step),
                    .step = job.out_step,
                    .len = count,
                    .source = &buffer,
                });
                done += count;
            }
        }

        fn join(job: *const Self, a: T, b: T) T {
            if (comptime generic.storage.isInteger(T)) return if (job.operation == .sum) a +% b else a *% b;
            return if (job.operation == .sum) a + b else a * b;
        }

        /// Neighbouring lines at once: each row is added to the one before it.
        fn scanRows(job: *const Self, first: usize, width: usize) void {
            var values: [tile_len]T align(64) = undefined;
            var elements: [tile_len]T align(64) = undefined;
            const all = std.math.maxInt(usize);
            const none: generic.elementwise_kernel.Input(T) = .{ .ptr = &values, .mask = 0 };
            @memset(values[0..width], if (job.operation == .sum) 0 else 1);
            for (0..job.line_len) |row| {
                const place: isize = @intCast(row);
                job.table.load(&.{
                    .storage = job.x.storage,
                    .address = strided.addressAt(job.x, job.lines.offset(0, first) + place * job.x_step),
                    .step = job.lines.innerStride(0),
                    .len = width,
                    .target = &elements,
                });
                job.table.elementwise(&.{
                    .operation = if (job.operation == .sum) .add else .multiply,
                    .inputs = .{ .{ .ptr = &values, .mask = all }, .{ .ptr = &elements, .mask = all }, none, none },
                    .out = @ptrCast(&values),
                    .len = width,
                    .alpha = 0,
                });
                job.table.store(&.{
                    .storage = job.out.storage,
                    .address = strided.addressAt(job.out, job.lines.offset(1, first) + place * job.out_step),
                    .step = job.lines.innerStride(1),
                    .len = width,
                    .source = &values,
                });
            }
        }
    };
}

//! Prefix sums, products and bests along the last axis of tensors with any strides. Every value is the one before it and its own element joined in
//! the type that is computed in, in order, whatever the layout. Arguments were validated in Rust; `out` may be the very view of x.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const kernels = @import("../gemm/gemm_kernels.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");

const kernel = generic.scan_kernel;
const View = strided.View;

pub const Operation = kernel.Operation;
pub const identity = kernel.identity;

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "scan_" ++ name));
    }
}

/// Neighbouring lines that are scanned together: a page of float32, so that memory is read in streams.
const tile_len = 1024;
/// Bytes of a line that pass through the buffer together: with as many lines as a vector has lanes, they stay in the first cache.
const line_bytes = 512;
/// Lanes of the widest vectors.
const max_lanes = 16;

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
    return runWith(T, tensor_kernels.table(T), operation, x, out, kernels.info().caches.streamedBytes(), executor);
}

/// Uses the routines of a given instruction set, which this CPU must have; results of `streamed_bytes` and more bypass the caches.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    operation: Operation,
    x: *const View,
    out: *const View,
    streamed_bytes: usize,
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
    const inner = lines.innerLen();
    const threads = parallel.threadCount(executor);
    const share = (inner + threads - 1) / threads;
    // A thread has its lines in one piece as long as they are few.
    const in_lines = std.mem.alignForward(usize, share, 64 / @sizeOf(T));
    const job: Job(T) = .{
        .table = table,
        .operation = operation,
        .x = x,
        .out = out,
        .lines = &lines,
        .line_len = x.shape[axis],
        .x_step = x.strides[axis],
        .out_step = out.strides[axis],
        .scans_rows = scans_rows,
        .tile_width = @min(inner, if (scans_rows) @min(tile_len, in_lines) else table.lanes),
        .streams = out.storage.is(T) and scans_rows and lines.innerStride(1) == 1 and out.len() * @sizeOf(T) >= streamed_bytes,
    };
    const tiles_across = (inner + job.tile_width - 1) / job.tile_width;
    try parallel.run(executor, lines.len() / inner * tiles_across, Job(T), &job);
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
        /// Whether neighbouring lines are nearer than the elements of a line.
        scans_rows: bool,
        /// Number of lines in a tile.
        tile_width: usize,
        /// Whether results are too many for the caches and bypass them.
        streams: bool,

        const Self = @This();

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const width = job.lines.innerLen();
            const tiles_across = (width + job.tile_width - 1) / job.tile_width;
            for (begin..end) |tile| {
                const column = tile % tiles_across * job.tile_width;
                const first = tile / tiles_across * width + column;
                const count = @min(job.tile_width, width - column);
                if (job.scans_rows) job.scanRows(first, count) else job.scanLines(first, count);
            }
            if (job.streams) generic.stream_store.finish();
        }

        /// Lines side by side, through a buffer piece by piece.
        fn scanLines(job: *const Self, first: usize, count: usize) void {
            const piece_len = line_bytes / @sizeOf(T);
            // Lines of the buffer begin in different sets of the cache.
            const stride = piece_len + 64 / @sizeOf(T);
            var buffer: [max_lanes * stride]T align(64) = undefined;
            var values: [max_lanes]T = @splat(kernel.identity(T, job.operation));
            // Lines that are not there are scanned with the others: zeros stay zeros, what lies on the stack may be denormal and slow.
            if (count < job.table.lanes) @memset(buffer[count * stride ..], 0);
            var done: usize = 0;
            while (done < job.line_len) {
                const len: usize = @min(piece_len, job.line_len - done);
                const index: isize = @intCast(done);
                for (0..count) |i| {
                    const address = strided.addressAt(job.x, job.lines.offset(0, first + i) + index * job.x_step);
                    if (done + len < job.line_len) {
                        // More lines are read in step than a CPU follows by itself.
                        const next: [*]const u8 = @ptrFromInt(address +% line_bytes);
                        inline for (0..line_bytes / 64) |line| @prefetch(next + line * 64, .{});
                    }
                    job.table.load(&.{ .storage = job.x.storage, .address = address, .step = job.x_step, .len = len, .target = buffer[i * stride ..].ptr });
                }
                job.table.scan_lines(&.{ .operation = job.operation, .lines = count, .len = len, .ptr = &buffer, .line = stride, .values = &values });
                for (0..count) |i| {
                    const address = strided.addressAt(job.out, job.lines.offset(1, first + i) + index * job.out_step);
                    const source = buffer[i * stride ..].ptr;
                    job.table.store(&.{ .storage = job.out.storage, .address = address, .step = job.out_step, .len = len, .source = source });
                }
                done += len;
            }
        }

        /// Neighbouring lines at once: each row is joined to the one before it.
        fn scanRows(job: *const Self, first: usize, width: usize) void {
            var values: [tile_len]T align(64) = undefined;
            @memset(values[0..width], kernel.identity(T, job.operation));
            const source = strided.addressAt(job.x, job.lines.offset(0, first));
            const target = strided.addressAt(job.out, job.lines.offset(1, first));
            var rows: kernel.Rows(T) = .{
                .operation = job.operation,
                .rows = job.line_len,
                .width = width,
                .source = @ptrFromInt(source),
                .source_row = job.x_step,
                .target = @ptrFromInt(target),
                .target_row = job.out_step,
                .values = &values,
                .streams = job.streams,
            };
            const reads = job.x.storage.is(T) and job.lines.innerStride(0) == 1;
            const writes = job.out.storage.is(T) and job.lines.innerStride(1) == 1;
            if (reads and writes) return job.table.scan_rows(&rows);
            // Row by row through a buffer.
            var elements: [tile_len]T align(64) = undefined;
            rows.rows = 1;
            rows.streams = false;
            rows.source = &elements;
            rows.target = &elements;
            for (0..job.line_len) |row| {
                const index: isize = @intCast(row);
                job.table.load(&.{
                    .storage = job.x.storage,
                    .address = source +% offsetBytes(job.x, index * job.x_step),
                    .step = job.lines.innerStride(0),
                    .len = width,
                    .target = &elements,
                });
                job.table.scan_rows(&rows);
                job.table.store(&.{
                    .storage = job.out.storage,
                    .address = target +% offsetBytes(job.out, index * job.out_step),
                    .step = job.lines.innerStride(1),
                    .len = width,
                    .source = &elements,
                });
            }
        }

        fn offsetBytes(view: *const View, elements: isize) usize {
            return strided.addressAt(view, elements) -% view.address;
        }
    };
}

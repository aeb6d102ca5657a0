//! An elementwise operation as it is cut into tiles and pieces of work.

const std = @import("std");
const generic = @import("generic");
const strided = @import("../tensor/strided.zig");

const kernel = generic.elementwise_kernel;
const View = strided.View;

/// `out`, then the inputs.
pub const operand_count = 1 + kernel.max_inputs;

pub const Space = strided.Space(operand_count);

/// Number of elements in a tile: five operands of eight bytes stay within the first cache.
const tile_len = 512;

/// Number of elements in a tile where nothing passes through a buffer, so large that the call of a routine does not matter.
pub const direct_tile_len = 16 * tile_len;

/// Number of elements in one piece of work: about two microseconds of the cheapest operation.
const piece_len = 16 * tile_len;

const line_bytes = 64;

/// From this many elements on, tiles are cut within the innermost axis, where operands need no buffer.
const long_row = 64;

/// Converts the bytes at the beginning of a buffer to values, the last one first.
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
        /// Whether results are written directly to `out`.
        writes_out: bool = false,
        /// Whether results are too many for any cache and bypass them: else memory would be read before it is written.
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

//! out[r, ...] is the sum, product, mean or best of the values that belong to row r. Descriptions were validated in Rust; rows and offsets are
//! checked here before anything is written.
//!
//! Every row joins its values in their order, so that results are the same for any number of threads.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const workspace = @import("../memory/workspace.zig");
const narrow_floats = @import("../movement/narrow_floats.zig");
const segment_order = @import("segment_order.zig");

const View = strided.View;
const Storage = strided.Storage;
const SegmentOrder = segment_order.SegmentOrder;

pub const Operation = enum(u32) { sum = 0, product = 1, mean = 2, maximum = 3, minimum = 4 };
const Start = enum(u32) { fill = abi.segments_fill, keep = abi.segments_keep, include = abi.segments_include };

comptime {
    for (std.meta.fieldNames(Operation)) |name| {
        std.debug.assert(@backingInt(@field(Operation, name)) == @field(abi, "segments_" ++ name));
    }
}

/// Elements of a row that are joined together: their sums stay in the first cache.
const tile_len = 512;
/// Pieces for each thread, so that one that is late holds up little.
const pieces_per_thread = 8;
/// Values ahead whose first bytes are prefetched.
const values_ahead = 4;

pub fn segments(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.SegmentsOptions) abi.Status {
    std.debug.assert(input_count == 2);
    const values: View = .of(&inputs.?[0]);
    const rows: View = .of(&inputs.?[1]);
    const target: View = .of(out.?);
    const count = target.shape[0];
    const has_offsets = options.?.has_offsets != 0;
    const order_len = if (has_offsets) 0 else rows.len();
    const buffer = workspace.acquire((count + 1 + order_len) * @sizeOf(usize)) catch {
        return status.fail(abi.errors.out_of_memory, "no memory to order {d} values of {d} segments", .{ order_len, count });
    };
    defer workspace.release(buffer);
    const starts = buffer.slice(usize, 0, count + 1);
    const order = buffer.slice(usize, (count + 1) * @sizeOf(usize), order_len);
    var ordered: SegmentOrder = .{ .starts = starts, .order = null };
    if (has_offsets) {
        const outcome = readOffsets(&rows, values.shape[0], starts);
        if (outcome != abi.ok) return outcome;
    } else {
        var space: strided.Space(1) = .of(.{&rows});
        space.coalesce();
        const of_values: segment_order.Rows = .{ .view = &rows, .space = &space, .segments = count, .options = options.? };
        const made = segment_order.make(&of_values, starts, order) catch return failed();
        switch (made) {
            .bad_place => |place| return badRow(&rows, place, count),
            .made => |given| ordered = given,
        }
    }
    const rank = if (has_offsets) 1 else rows.rank;
    const joinRows = switch (target.storage) {
        inline else => |storage| switch (@as(Operation, @fromBackingInt(@intCast(options.?.operation)))) {
            inline else => |operation| &Rows(storage, operation).join,
        },
    };
    const outcome = run(joinRows, &values, rank, &target, &ordered, options.?);
    outcome catch return failed();
    return abi.ok;
}

fn failed() abi.Status {
    return status.fail(abi.errors.internal, "the executor could not run the pieces of segments", .{});
}

fn badRow(rows: *const View, place: usize, count: usize) abi.Status {
    const space: strided.Space(1) = .of(.{rows});
    var row: [1]i64 = undefined;
    var walk = space.walk(0, place);
    strided.readElements(i64, tensor_kernels.table(i64), rows, &walk, 1, &row);
    return status.fail(abi.errors.index_out_of_range, "index {d} at place {d} is none of {d} rows", .{ row[0], place, count });
}

/// Offsets rise from 0 to the number of values.
fn readOffsets(view: *const View, values: usize, starts: []usize) abi.Status {
    const space: strided.Space(1) = .of(.{view});
    var walk = space.walk(0, 0);
    const signed: []i64 = @ptrCast(starts);
    strided.readElements(i64, tensor_kernels.table(i64), view, &walk, signed.len, signed.ptr);
    var before: i64 = 0;
    for (signed, 0..) |offset, place| {
        if (offset < before or offset > values) {
            return status.fail(abi.errors.index_out_of_range, "offset {d} at place {d} is not between the one before it ({d}) and the number of values ({d})", .{
                offset, place, before, values,
            });
        }
        before = offset;
    }
    return abi.ok;
}

fn run(
    joinRows: JoinRows,
    values: *const View,
    rows_rank: usize,
    target: *const View,
    ordered: *const SegmentOrder,
    options: *const abi.SegmentsOptions,
) parallel.Error!void {
    if (target.len() == 0) return;
    var places: strided.Space(1) = .of(.{&values.axes(0, rows_rank)});
    places.coalesce();
    var block: strided.Space(2) = .of(.{ &target.axes(1, target.rank - 1), &values.axes(rows_rank, values.rank - rows_rank) });
    block.coalesce();
    const threads = parallel.threadCount(options.executor);
    const job: Job = .{
        .joinRows = joinRows,
        .values = values.address,
        .target = target.address,
        .target_step = target.strides[0],
        .places = &places,
        .block = &block,
        .ordered = ordered,
        .start = @fromBackingInt(@intCast(options.start)),
        .pieces = if (threads == 1) 1 else @min(target.shape[0], pieces_per_thread * threads),
    };
    try parallel.run(options.executor, job.pieces, Job, &job);
}

const JoinRows = *const fn (job: *const Job, first: usize, last: usize) void;

/// What joining is told of values and rows, whatever their type: only `joinRows` is compiled for each type and operation.
const Job = struct {
    joinRows: JoinRows,
    values: usize,
    target: usize,
    target_step: isize,
    /// Of the values, without the elements of each.
    places: *const strided.Space(1),
    /// View 0 is a row of the target, view 1 a value.
    block: *const strided.Space(2),
    ordered: *const SegmentOrder,
    start: Start,
    pieces: usize,

    pub fn run(job: *const Job, begin: usize, end: usize) void {
        const rows = job.ordered.starts.len - 1;
        job.joinRows(job, job.firstRow(begin, rows), job.firstRow(end, rows));
    }

    /// Pieces have as many rows and values together as the others.
    fn firstRow(job: *const Job, piece: usize, rows: usize) usize {
        if (piece == job.pieces) return rows;
        const starts = job.ordered.starts;
        const wanted = piece * (rows + starts[rows] - starts[0]) / job.pieces;
        var first: usize = 0;
        var left = rows;
        while (left > 0) {
            const half = left / 2;
            const row = first + half;
            if (row + starts[row] - starts[0] < wanted) {
                first = row + 1;
                left -= half + 1;
            } else left = half;
        }
        return first;
    }

    inline fn valueOffset(job: *const Job, place: usize) isize {
        const value = job.ordered.value(place);
        if (job.places.rank == 0) return 0;
        if (job.places.rank == 1) return @as(isize, @intCast(value)) * job.places.strides[0][0];
        return job.places.offset(0, value);
    }
};

/// The rows of one element type and operation.
fn Rows(comptime storage: Storage, comptime operation: Operation) type {
    const Raw = storage.Raw();
    const Joining = Joined(storage, operation);
    const State = Joining.State;
    return struct {
        fn join(job: *const Job, first: usize, last: usize) void {
            for (first..last) |row| joinRow(job, row);
        }

        inline fn element(address: usize, elements: isize) *Raw {
            return @ptrFromInt(address +% @as(usize, @bitCast(elements * @sizeOf(Raw))));
        }

        fn joinRow(job: *const Job, row: usize) void {
            const first = job.ordered.starts[row];
            const last = job.ordered.starts[row + 1];
            if (first == last and job.start != .fill) return;
            const target = @as(isize, @intCast(row)) * job.target_step;
            var to = job.block.walk(0, 0);
            var from = job.block.walk(1, 0);
            const len = job.block.len();
            var done: usize = 0;
            while (done < len) {
                const count = @min(tile_len, to.runLen(), len - done);
                joinTile(job, first, last, target + to.start, from.start, count);
                to.pass(count);
                from.pass(count);
                done += count;
            }
        }

        /// Elements that lie one after the other in a row and in the values.
        fn joinTile(job: *const Job, first: usize, last: usize, to: isize, from: isize, count: usize) void {
            var states: [tile_len]State = undefined;
            const own = states[0..count];
            const to_step = job.block.innerStride(0);
            const from_step = job.block.innerStride(1);
            if (job.start == .include) {
                for (own, 0..) |*state, i| state.* = Joining.widened(element(job.target, to + @as(isize, @intCast(i)) * to_step).*);
            } else @memset(own, Joining.identity);
            for (first..last) |place| {
                const offset = job.valueOffset(place) + from;
                if (count == 1) {
                    own[0] = Joining.join(own[0], Joining.widened(element(job.values, offset).*));
                    continue;
                }
                if (place + values_ahead < last) @prefetch(element(job.values, job.valueOffset(place + values_ahead) + from), .{});
                if (from_step == 1) {
                    const elements: [*]const Raw = @ptrCast(element(job.values, offset));
                    for (own, elements[0..count]) |*state, value| state.* = Joining.join(state.*, Joining.widened(value));
                } else for (own, 0..) |*state, i| {
                    state.* = Joining.join(state.*, Joining.widened(element(job.values, offset + @as(isize, @intCast(i)) * from_step).*));
                }
            }
            const joined = last - first + @intFromBool(job.start == .include);
            for (own, 0..) |state, i| element(job.target, to + @as(isize, @intCast(i)) * to_step).* = Joining.result(state, joined);
        }
    };
}

/// How elements of a storage are joined.
fn Joined(comptime storage: Storage, comptime operation: Operation) type {
    const Raw = storage.Raw();
    const is_float = switch (storage) {
        .f16, .bf16, .f32, .f64 => true,
        else => false,
    };
    const is_best = operation == .maximum or operation == .minimum;
    return struct {
        pub const State = switch (storage) {
            .f16, .bf16 => f32,
            .f32 => if (is_best) f32 else f64,
            .f64 => f64,
            .bool, .u8, .u16, .u32, .u64 => u64,
            else => i64,
        };

        pub const identity: State = switch (operation) {
            .sum, .mean => 0,
            .product => 1,
            .maximum => if (is_float) -std.math.inf(State) else if (storage == .bool) 0 else std.math.minInt(Raw),
            .minimum => if (is_float) std.math.inf(State) else if (storage == .bool) 1 else std.math.maxInt(Raw),
        };

        pub inline fn widened(value: Raw) State {
            if (storage == .bf16) return narrow_floats.fromBfloat16(value);
            if (storage == .bool) return @intFromBool(value != 0);
            return value;
        }

        pub inline fn join(old: State, value: State) State {
            if (storage == .bool) return if (operation == .product or operation == .minimum) old & value else old | value;
            return switch (operation) {
                .sum, .mean => if (is_float) old + value else old +% value,
                .product => if (is_float) old * value else old *% value,
                // NaN stays, and wins over any number.
                .maximum => if (old > value or old != old) old else value,
                .minimum => if (old < value or old != old) old else value,
            };
        }

        /// The element of a row that joined so many values.
        pub inline fn result(state: State, count: usize) Raw {
            var own = state;
            if (operation == .mean and count > 1) own = if (is_float) state / @as(State, @floatFromInt(count)) else @divFloor(state, @as(State, @intCast(count)));
            return switch (storage) {
                .bf16 => narrow_floats.toBfloat16(own),
                .f16, .f32 => @floatCast(own),
                .f64 => own,
                else => @truncate(own),
            };
        }
    };
}

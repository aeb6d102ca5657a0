//! The k largest or smallest values of each line along the last axis, best first, with their places. Of equal values the one that stands
//! first is better; NaN counts as larger than any number. Validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("parallel.zig");
const strided = @import("strided.zig");
const tensor_kernels = @import("tensor_kernels.zig");
const workspace = @import("workspace.zig");

const View = strided.View;
const tile_len = 512;

pub const Error = error{OutOfMemory} || parallel.Error;

pub fn topK(
    inputs: ?[*]const abi.Tensor,
    input_count: u64,
    outputs: ?[*]const abi.Tensor,
    output_count: u64,
    options: ?*const abi.TopKOptions,
) abi.Status {
    std.debug.assert(input_count == 1 and output_count == 2);
    const given = options.?;
    const x: View = .of(&inputs.?[0]);
    const values: View = .of(&outputs.?[0]);
    const places: View = .of(&outputs.?[1]);
    const outcome = switch (given.compute.code) {
        abi.dtype_uint => run(u64, &x, &values, &places, given),
        abi.dtype_float => if (given.compute.bits == 32) run(f32, &x, &values, &places, given) else run(f64, &x, &values, &places, given),
        else => if (given.compute.bits == 32) run(i32, &x, &values, &places, given) else run(i64, &x, &values, &places, given),
    };
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the best values of top_k", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the lines of top_k", .{}),
    };
    return abi.ok;
}

fn run(comptime T: type, x: *const View, values: *const View, places: *const View, given: *const abi.TopKOptions) Error!void {
    return runWith(T, tensor_kernels.table(T), x, values, places, given.is_largest != 0, given.executor);
}

/// With the routines of a given instruction set, which this CPU must have.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    x: *const View,
    values: *const View,
    places: *const View,
    is_largest: bool,
    executor: ?*const abi.Executor,
) Error!void {
    if (values.len() == 0) return;
    const axis = x.rank - 1;
    const parts = [3]View{ x.axes(0, axis), values.axes(0, axis), places.axes(0, axis) };
    const lines: strided.Space(3) = .of(.{ &parts[0], &parts[1], &parts[2] });
    const threads = parallel.threadCount(executor);
    const pieces = if (threads == 1) 1 else @min(lines.len(), 4 * threads);
    const k = values.shape[axis];
    const buffer = try workspace.acquire(pieces * k * @sizeOf(Job(T).Entry));
    defer workspace.release(buffer);
    const job: Job(T) = .{
        .table = table,
        .x = x,
        .values = values,
        .places = places,
        .lines = &lines,
        .is_largest = is_largest,
        .pieces = pieces,
        .k = k,
        .heaps = buffer.slice(Job(T).Entry, 0, pieces * k),
    };
    try parallel.run(executor, pieces, Job(T), &job);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        x: *const View,
        values: *const View,
        places: *const View,
        lines: *const strided.Space(3),
        is_largest: bool,
        pieces: usize,
        k: usize,
        /// k entries for each piece: a heap whose root is the worst of the best.
        heaps: []Entry,

        const Self = @This();
        const Entry = struct { value: T, place: usize };

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            for (begin..end) |piece| {
                const heap = job.heaps[piece * job.k ..][0..job.k];
                const count = job.lines.len();
                for (piece * count / job.pieces..(piece + 1) * count / job.pieces) |line| {
                    if (job.is_largest) job.select(true, heap, line) else job.select(false, heap, line);
                }
            }
        }

        inline fn isBetter(comptime is_largest: bool, a: Entry, b: Entry) bool {
            if (!comptime generic.storage.isInteger(T)) {
                const a_is_nan = a.value != a.value;
                const b_is_nan = b.value != b.value;
                if (a_is_nan or b_is_nan) {
                    if (a_is_nan and b_is_nan) return a.place < b.place;
                    return a_is_nan == is_largest;
                }
            }
            if (a.value != b.value) return (a.value > b.value) == is_largest;
            return a.place < b.place;
        }

        fn select(job: *const Self, comptime is_largest: bool, heap: []Entry, line: usize) void {
            const axis = job.x.rank - 1;
            const base = job.lines.offset(0, line);
            var buffer: [tile_len]T align(64) = undefined;
            var held: usize = 0;
            var done: usize = 0;
            const line_len = job.x.shape[axis];
            while (done < line_len) : (done += tile_len) {
                const count = @min(tile_len, line_len - done);
                job.table.load(&.{
                    .storage = job.x.storage,
                    .address = strided.addressAt(job.x, base + @as(isize, @intCast(done)) * job.x.strides[axis]),
                    .step = job.x.strides[axis],
                    .len = count,
                    .target = &buffer,
                });
                if (held == heap.len) {
                    // Most tiles hold nothing better than the worst that is kept.
                    var found: generic.reduce_kernel.Best(T) = undefined;
                    job.table.search(&.{ .is_largest = is_largest, .ptr = &buffer, .len = count, .found = &found });
                    const is_nan = found.value != found.value;
                    if (!is_nan and !isBetter(is_largest, .{ .value = found.value, .place = done + found.index }, heap[0])) continue;
                }
                for (buffer[0..count], done..) |value, place| {
                    const entry: Entry = .{ .value = value, .place = place };
                    if (held < heap.len) {
                        heap[held] = entry;
                        held += 1;
                        if (held == heap.len) {
                            var root = heap.len / 2;
                            while (root > 0) {
                                root -= 1;
                                sink(is_largest, heap, root);
                            }
                        }
                    } else if (isBetter(is_largest, entry, heap[0])) {
                        heap[0] = entry;
                        sink(is_largest, heap, 0);
                    }
                }
            }
            job.write(is_largest, heap, line);
        }

        /// Restores that no entry is better than those below it.
        fn sink(comptime is_largest: bool, heap: []Entry, start: usize) void {
            var root = start;
            while (2 * root + 1 < heap.len) {
                var worst = 2 * root + 1;
                if (worst + 1 < heap.len and isBetter(is_largest, heap[worst], heap[worst + 1])) worst += 1;
                if (!isBetter(is_largest, heap[root], heap[worst])) return;
                std.mem.swap(Entry, &heap[root], &heap[worst]);
                root = worst;
            }
        }

        /// Takes the worst off the heap again and again: they are written from the last place on.
        fn write(job: *const Self, comptime is_largest: bool, heap: []Entry, line: usize) void {
            const axis = job.x.rank - 1;
            var left = heap.len;
            while (left > 0) {
                const entry = heap[0];
                left -= 1;
                heap[0] = heap[left];
                sink(is_largest, heap[0..left], 0);
                const place: isize = @intCast(left);
                const source = [1]T{entry.value};
                job.table.store(&.{
                    .storage = job.values.storage,
                    .address = strided.addressAt(job.values, job.lines.offset(1, line) + place * job.values.strides[axis]),
                    .step = 1,
                    .len = 1,
                    .source = &source,
                });
                const target: *i64 = @ptrFromInt(strided.addressAt(job.places, job.lines.offset(2, line) + place * job.places.strides[axis]));
                target.* = @intCast(entry.place);
            }
        }
    };
}

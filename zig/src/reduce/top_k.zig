//! The k largest or smallest values of each line along the last axis, best first, with their indices. Of equal values the one that stands
//! first is better; NaN counts as larger than any number. Arguments were validated in Rust.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const tensor_kernels = @import("../tensor/tensor_kernels.zig");
const top_k_select = @import("top_k_select.zig");
const workspace = @import("../memory/workspace.zig");

const best_kernel = generic.best_kernel;
const View = strided.View;
const tile_len = best_kernel.tile_len;

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
    const indices: View = .of(&outputs.?[1]);
    const outcome = switch (given.compute.code) {
        abi.dtype_uint => run(u64, &x, &values, &indices, given),
        abi.dtype_float => if (given.compute.bits == 32) run(f32, &x, &values, &indices, given) else run(f64, &x, &values, &indices, given),
        else => if (given.compute.bits == 32) run(i32, &x, &values, &indices, given) else run(i64, &x, &values, &indices, given),
    };
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory for the best values of top_k", .{}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the lines of top_k", .{}),
    };
    return abi.ok;
}

fn run(comptime T: type, x: *const View, values: *const View, indices: *const View, given: *const abi.TopKOptions) Error!void {
    return runWith(T, tensor_kernels.table(T), x, values, indices, given.is_largest != 0, given.executor);
}

/// Uses the routines of a given instruction set, which this CPU must have.
pub fn runWith(
    comptime T: type,
    table: *const generic.tensor_table.Table(T),
    x: *const View,
    values: *const View,
    indices: *const View,
    is_largest: bool,
    executor: ?*const abi.Executor,
) Error!void {
    if (values.len() == 0) return;
    const axis = x.rank - 1;
    const parts = [3]View{ x.axes(0, axis), values.axes(0, axis), indices.axes(0, axis) };
    const lines: strided.Space(3) = .of(.{ &parts[0], &parts[1], &parts[2] });
    const k = values.shape[axis];
    const threads = parallel.threadCount(executor);
    const line_len = x.shape[axis];
    const is_few = k <= best_kernel.most_kept and line_len <= std.math.maxInt(best_kernel.Key(T));
    const is_selected = !is_few and line_len >= top_k_select.least_len and line_len <= std.math.maxInt(u32);
    const pieces = if (threads == 1) 1 else @min(lines.len(), if (is_selected) threads else 4 * threads);
    const heap_len = if (is_few or is_selected) 0 else k;
    const words_len = if (is_selected) top_k_select.wordsOf(line_len) else 0;
    const Word = top_k_select.Word(T);
    const buffer = try workspace.acquire(pieces * (heap_len * @sizeOf(Job(T).Entry) + words_len * @sizeOf(Word)));
    defer workspace.release(buffer);
    const job: Job(T) = .{
        .table = table,
        .x = x,
        .values = values,
        .indices = indices,
        .lines = &lines,
        .is_largest = is_largest,
        .pieces = pieces,
        .k = k,
        .is_few = is_few,
        .heaps = buffer.slice(Job(T).Entry, 0, pieces * heap_len),
        .words = buffer.slice(Word, 0, pieces * words_len),
    };
    try parallel.run(executor, pieces, Job(T), &job);
}

fn Job(comptime T: type) type {
    return struct {
        table: *const generic.tensor_table.Table(T),
        x: *const View,
        values: *const View,
        indices: *const View,
        lines: *const strided.Space(3),
        is_largest: bool,
        pieces: usize,
        k: usize,
        /// Whether k is so small that the best values are kept in order.
        is_few: bool,
        /// Otherwise there are k entries for each piece: a heap whose root is the worst of the best.
        heaps: []Entry,
        /// Of long lines the best are selected, in words for each piece.
        words: []top_k_select.Word(T),

        const Self = @This();
        const Entry = struct { value: T, index: usize };

        pub fn run(job: *const Self, begin: usize, end: usize) void {
            const count = job.lines.len();
            for (begin..end) |piece| {
                const first = piece * count / job.pieces;
                const last = (piece + 1) * count / job.pieces;
                if (job.is_few) {
                    for (first..last) |line| job.selectFew(line);
                    continue;
                }
                if (job.words.len > 0) {
                    const words_len = job.words.len / job.pieces;
                    const words = job.words[piece * words_len ..][0..words_len];
                    for (first..last) |line| if (job.is_largest) job.selectMany(true, words, line) else job.selectMany(false, words, line);
                    continue;
                }
                const heap = job.heaps[piece * job.k ..][0..job.k];
                for (first..last) |line| {
                    if (job.is_largest) job.select(true, heap, line) else job.select(false, heap, line);
                }
            }
        }

        inline fn isBetter(comptime is_largest: bool, a: Entry, b: Entry) bool {
            if (!comptime generic.storage.isInteger(T)) {
                const a_is_nan = a.value != a.value;
                const b_is_nan = b.value != b.value;
                if (a_is_nan or b_is_nan) {
                    if (a_is_nan and b_is_nan) return a.index < b.index;
                    return a_is_nan == is_largest;
                }
            }
            if (a.value != b.value) return (a.value > b.value) == is_largest;
            return a.index < b.index;
        }

        /// Values [done, done + len) of a line: where they are, or through a buffer.
        fn read(job: *const Self, line: usize, done: usize, len: usize, buffer: *[tile_len]T) [*]const T {
            const step = job.x.strides[job.x.rank - 1];
            const address = strided.addressAt(job.x, job.lines.offset(0, line) + @as(isize, @intCast(done)) * step);
            if (step == 1 and job.x.storage.is(T)) return @ptrFromInt(address);
            job.table.load(&.{ .storage = job.x.storage, .address = address, .step = step, .len = len, .target = buffer });
            return buffer;
        }

        fn selectFew(job: *const Self, line: usize) void {
            var buffer: [tile_len]T align(64) = undefined;
            var kept: best_kernel.Kept(T) = undefined;
            kept.reset();
            const line_len = job.x.shape[job.x.rank - 1];
            var done: usize = 0;
            while (done < line_len) : (done += tile_len) {
                const len = @min(tile_len, line_len - done);
                const ptr = job.read(line, done, len, &buffer);
                job.table.best(&.{ .is_largest = job.is_largest, .k = job.k, .ptr = ptr, .len = len, .first = done, .kept = &kept });
            }
            for (kept.indices[1..][0..job.k], 0..) |index, rank| job.write(line, rank, job.read(line, @intCast(index), 1, &buffer)[0], @intCast(index));
        }

        /// The values of a line, for those who go through it.
        const Reader = struct {
            job: *const Self,
            line: usize,

            pub fn value(reader: Reader, index: usize) T {
                var buffer: [tile_len]T align(64) = undefined;
                return reader.job.read(reader.line, index, 1, &buffer)[0];
            }

            pub fn tiles(reader: Reader, len: usize, consumer: anytype) void {
                var buffer: [tile_len]T align(64) = undefined;
                var done: usize = 0;
                while (done < len) : (done += tile_len) {
                    const count = @min(tile_len, len - done);
                    consumer.tile(reader.job.read(reader.line, done, count, &buffer)[0..count], done);
                }
            }
        };

        fn selectMany(job: *const Self, comptime is_largest: bool, words: []top_k_select.Word(T), line: usize) void {
            const Selection = top_k_select.Selection(T, is_largest);
            const reader: Reader = .{ .job = job, .line = line };
            var selection: Selection = .{ .k = job.k, .words = words };
            for (selection.best(reader, job.x.shape[job.x.rank - 1]), 0..) |word, rank| {
                const index = Selection.placeOf(word);
                job.write(line, rank, reader.value(index), index);
            }
        }

        fn select(job: *const Self, comptime is_largest: bool, heap: []Entry, line: usize) void {
            var buffer: [tile_len]T align(64) = undefined;
            var held: usize = 0;
            var done: usize = 0;
            const line_len = job.x.shape[job.x.rank - 1];
            while (done < line_len) : (done += tile_len) {
                const count: usize = @min(tile_len, line_len - done);
                const ptr = job.read(line, done, count, &buffer);
                if (held == heap.len) {
                    // Most tiles hold nothing better than the worst that is kept.
                    var found: generic.reduce_kernel.Best(T) = undefined;
                    job.table.search(&.{ .is_largest = is_largest, .ptr = ptr, .len = count, .found = &found });
                    const is_nan = found.value != found.value;
                    if (!is_nan and !isBetter(is_largest, .{ .value = found.value, .index = done + found.index }, heap[0])) continue;
                }
                for (ptr[0..count], done..) |value, index| {
                    const entry: Entry = .{ .value = value, .index = index };
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
            job.drain(is_largest, heap, line);
        }

        /// Restores the order of the heap: no entry is better than those below it.
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

        /// Takes the worst off the heap again and again: they are written from the last index on.
        fn drain(job: *const Self, comptime is_largest: bool, heap: []Entry, line: usize) void {
            var left = heap.len;
            while (left > 0) {
                const entry = heap[0];
                left -= 1;
                heap[0] = heap[left];
                sink(is_largest, heap[0..left], 0);
                job.write(line, left, entry.value, entry.index);
            }
        }

        fn write(job: *const Self, line: usize, rank: usize, value: T, index: usize) void {
            const axis = job.x.rank - 1;
            const step: isize = @intCast(rank);
            const address = strided.addressAt(job.values, job.lines.offset(1, line) + step * job.values.strides[axis]);
            const target: *i64 = @ptrFromInt(strided.addressAt(job.indices, job.lines.offset(2, line) + step * job.indices.strides[axis]));
            target.* = @intCast(index);
            if (job.values.storage.is(T)) {
                const held: *T = @ptrFromInt(address);
                held.* = value;
                return;
            }
            const source = [1]T{value};
            job.table.store(&.{ .storage = job.values.storage, .address = address, .step = 1, .len = 1, .source = &source });
        }
    };
}

//! Lines along the last axis in order, or the places that their elements come from. Arguments were validated in Rust; `out` shares no memory with x.
//!
//! Elements become unsigned integers that rise with them, for places with the place behind the key, which radix sorts put in order, and vectors where
//! only values are wanted and the CPU has the instructions. Short lines are shared out among threads; a long one is shared out by the first digit
//! that tells its elements apart.

const std = @import("std");
const abi = @import("../abi.zig");
const status = @import("../status.zig");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");
const workspace = @import("../memory/workspace.zig");
const long_line = @import("sort_long.zig");
const sort_line = @import("sort_line.zig");
const radix = @import("radix.zig");
const sort_order = @import("sort_order.zig");
const sort_words = @import("sort_words.zig");

const View = strided.View;
const Storage = strided.Storage;

const Error = long_line.Error;
const Line = sort_line.Line;
const Table = @import("sort_table.zig").Table;

/// Lines from which on threads share one; one thread gains by it, too, as parts fit its caches.
const long_len = 1 << 16;
/// Threads from which on sharing a long line is faster than one thread that sorts it with vectors: sharing out takes passes of its own.
const threads_beside_vectors = 4;
/// Elements in one piece of work, as far as lines are not longer.
const piece_len = 16 << 10;

pub fn sort(inputs: ?[*]const abi.Tensor, input_count: u64, out: ?*const abi.Tensor, options: ?*const abi.SortOptions) abi.Status {
    std.debug.assert(input_count == 1);
    const x: View = .of(&inputs.?[0]);
    const target: View = .of(out.?);
    const outcome = switch (x.storage) {
        inline else => |storage| run(storage, &x, &target, options.?),
    };
    outcome catch |failure| return switch (failure) {
        error.OutOfMemory => status.fail(abi.errors.out_of_memory, "no memory to sort lines of {d} elements in", .{x.shape[x.rank - 1]}),
        error.ExecutorFailed => status.fail(abi.errors.internal, "the executor could not run the lines of a sort", .{}),
    };
    return abi.ok;
}

fn run(comptime storage: Storage, x: *const View, out: *const View, options: *const abi.SortOptions) Error!void {
    if (x.len() == 0) return;
    const len = x.shape[x.rank - 1];
    const is_descending = options.is_descending != 0;
    if (options.gives_places == 0) return Sorter(Values(storage)).run(.{ .order = .of(is_descending) }, x, out, options.executor);
    if (storage.bytes() <= 4 and len <= std.math.maxInt(u32)) {
        return Sorter(Places(storage, u64)).run(.{ .order = .of(is_descending) }, x, out, options.executor);
    }
    if (comptime storage.bytes() == 8) if (len >= long_len and len <= std.math.maxInt(u32)) {
        const Kind = PackedPlaces(storage);
        const kind: Kind = .{ .order = .of(is_descending), .place_bits = @intCast(std.math.log2_int_ceil(usize, len)) };
        const lines = linesOf(x, out);
        for (0..lines.len()) |index| try long_line.sort(Kind, &lineOf(Kind, kind, x, out, &lines, index), options.executor);
        return;
    };
    return Sorter(Places(storage, u128)).run(.{ .order = .of(is_descending) }, x, out, options.executor);
}

/// Words that are the keys of elements, and become elements again.
fn Values(comptime storage: Storage) type {
    return struct {
        order: Order,

        pub const Order = sort_order.Order(storage, false);
        pub const Raw = storage.Raw();
        pub const Result = Raw;
        pub const Word = Order.Key;
        pub const low = 0;
        pub const is_packed = false;

        pub inline fn word(kind: @This(), element: Raw, _: usize) Word {
            return kind.order.key(element);
        }

        pub inline fn result(kind: @This(), of_word: Word) Result {
            return kind.order.value(of_word);
        }
    };
}

/// Words with the place of an element behind its key.
fn Places(comptime storage: Storage, comptime W: type) type {
    return struct {
        order: Order,

        pub const Order = sort_order.Order(storage, true);
        pub const Raw = storage.Raw();
        pub const Result = i64;
        pub const Word = W;
        pub const low = @bitSizeOf(W) / 2;
        pub const is_packed = false;

        pub inline fn word(kind: @This(), element: Raw, place: usize) Word {
            return @as(W, kind.order.key(element)) << low | place;
        }

        pub inline fn result(_: @This(), of_word: Word) Result {
            return @intCast(@as(@Int(.unsigned, low), @truncate(of_word)));
        }
    };
}

/// As many of the bits in which keys of 64 bits differ as find room before the place of an element, from the first on: words of half the length
/// sort in half the time. Elements that agree in those are put in order by the rest (sort_long.zig).
fn PackedPlaces(comptime storage: Storage) type {
    return struct {
        order: Order,
        place_bits: u6,
        /// Bits of keys that find no room.
        dropped: u6 = 0,

        pub const Order = sort_order.Order(storage, true);
        pub const Raw = storage.Raw();
        pub const Result = i64;
        pub const Word = u64;
        pub const low = 0;
        pub const is_packed = true;

        pub inline fn word(kind: @This(), element: Raw, place: usize) Word {
            return kind.order.key(element) >> kind.dropped << kind.place_bits | place;
        }

        pub inline fn result(kind: @This(), of_word: Word) Result {
            return @intCast(kind.placeOf(of_word));
        }

        pub inline fn placeOf(kind: @This(), of_word: Word) usize {
            return of_word & ((@as(Word, 1) << kind.place_bits) - 1);
        }

        /// The same for keys that differ in their last `bits` bits.
        pub fn fitted(kind: @This(), bits: u32) @This() {
            var own = kind;
            own.dropped = @intCast(bits + kind.place_bits -| 64);
            return own;
        }
    };
}

fn linesOf(x: *const View, out: *const View) strided.Space(2) {
    const axis = x.rank - 1;
    return .of(.{ &x.axes(0, axis), &out.axes(0, axis) });
}

fn lineOf(comptime Kind: type, kind: Kind, x: *const View, out: *const View, lines: *const strided.Space(2), index: usize) Line(Kind) {
    const axis = x.rank - 1;
    return .{
        .kind = kind,
        .source = strided.addressAt(x, lines.offset(0, index)),
        .source_step = x.strides[axis],
        .target = strided.addressAt(out, lines.offset(1, index)),
        .target_step = out.strides[axis],
        .len = x.shape[axis],
    };
}

fn Sorter(comptime Kind: type) type {
    const Word = Kind.Word;
    return struct {
        kind: Kind,
        x: *const View,
        out: *const View,
        lines: *const strided.Space(2),
        pieces: usize,
        /// Two lines of words for each piece.
        words: []Word,
        /// Sorts words with vectors; null where there are none, or where places stand behind keys.
        vectors: ?*const Table(Word),

        const Self = @This();
        /// Whether there are so few keys that each is counted and repeated.
        const is_counted = @bitSizeOf(Word) == 8;

        fn run(kind: Kind, x: *const View, out: *const View, executor: ?*const abi.Executor) Error!void {
            const axis = x.rank - 1;
            const lines = linesOf(x, out);
            const len = x.shape[axis];
            const vectors = if (Kind.low == 0) sort_words.routines(Word) else null;
            var job: Self = .{ .kind = kind, .x = x, .out = out, .lines = &lines, .pieces = 0, .words = &.{}, .vectors = vectors };
            const is_in_place = vectors != null and out.strides[axis] == 1;
            const threads = parallel.threadCount(executor);
            if (len >= long_len and !is_counted and (!is_in_place or threads >= threads_beside_vectors)) {
                for (0..lines.len()) |index| try long_line.sort(Kind, &job.line(index), executor);
                return;
            }
            job.pieces = @max(1, @min(4 * threads, lines.len() * len / piece_len, lines.len()));
            if (threads == 1) job.pieces = 1;
            const words_len = if (is_counted or is_in_place) 0 else 2 * job.pieces * len;
            const buffer = try workspace.acquire(words_len * @sizeOf(Word));
            defer workspace.release(buffer);
            job.words = buffer.slice(Word, 0, words_len);
            try parallel.run(executor, job.pieces, Job, &.{ .sorter = &job });
        }

        const Job = struct {
            sorter: *const Self,

            pub fn run(job: *const Job, begin: usize, end: usize) void {
                for (begin..end) |piece| job.sorter.runPiece(piece);
            }
        };

        fn line(self: *const Self, index: usize) Line(Kind) {
            return lineOf(Kind, self.kind, self.x, self.out, self.lines, index);
        }

        fn runPiece(self: *const Self, piece: usize) void {
            const count = self.lines.len();
            const len = self.x.shape[self.x.rank - 1];
            const has_words = self.words.len > 0;
            const words = if (has_words) self.words[2 * piece * len ..][0..len] else self.words;
            const buffer = if (has_words) self.words[(2 * piece + 1) * len ..][0..len] else self.words;
            for (piece * count / self.pieces..(piece + 1) * count / self.pieces) |index| {
                const own = self.line(index);
                if (is_counted) {
                    own.repeatCounted();
                    continue;
                }
                if (Kind.low == 0 and @sizeOf(Word) >= 4 and own.target_step == 1) {
                    if (self.vectors) |vectors| {
                        own.sortByVectors(vectors);
                        continue;
                    }
                }
                own.read(0, words);
                own.write(0, radix.sort(Word, Kind.low, words, buffer, @bitSizeOf(Kind.Order.Key)));
                own.orderZeros();
            }
        }
    };
}

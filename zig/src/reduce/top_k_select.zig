//! The k best values of one long line, where k is too large for a list that is kept in order.
//!
//! A sample of the line gives a value that a little more than k values should be better than; one pass takes those out, and they are sorted by key and
//! place. Which values were sampled decides how long that takes, never what comes out: where too few values or too many are better, the whole
//! line is sorted.

const std = @import("std");
const generic = @import("generic");
const radix = @import("radix.zig");
const sort_words = @import("sort_words.zig");

const storage = generic.storage;

/// Shorter lines are gone through value by value.
pub const least_len = 1 << 12;
/// Values of the sample: as many take a tenth of the time of a pass over a million.
const sample_len = 1 << 12;
const prime = 7919;
/// Values that are compared before any of them is looked at.
const block_len = 64;

/// Words for one line of `len` values: two times as many as are sorted.
pub fn wordsOf(len: usize) usize {
    return 2 * len;
}

/// What sorts values of T: the key, which is smaller for a better value, above the place.
pub fn Word(comptime T: type) type {
    return if (@bitSizeOf(T) == 32) u64 else u128;
}

pub fn Selection(comptime T: type, comptime is_largest: bool) type {
    const W = Word(T);
    const Key = @Int(.unsigned, @bitSizeOf(T));
    const low = @bitSizeOf(W) / 2;
    const is_integer = storage.isInteger(T);
    const sign: Key = 1 << (@bitSizeOf(Key) - 1);
    return struct {
        k: usize,
        /// Two times `len` words.
        words: []W,
        /// How many words are taken.
        count: usize = 0,
        /// Places of values that equal the limit, of which the first are best.
        equal_count: usize = 0,

        const Self = @This();

        /// NaN is larger than any number, and zeros are equal.
        pub fn key(value: T) Key {
            const bits: Key = @bitCast(value);
            const rising: Key = if (is_integer)
                (if (@typeInfo(T).int.signedness == .signed) bits ^ sign else bits)
            else if (value != value)
                std.math.maxInt(Key)
            else if (value == 0)
                sign
            else if (bits & sign != 0) ~bits else bits | sign;
            return if (is_largest) ~rising else rising;
        }

        /// In order; no two words are equal. `buffer` has room for as many.
        fn inOrder(words: []W, buffer: []W) []W {
            if (sort_words.routines(W)) |routines| {
                routines.sort(words.ptr, words.len);
                return words;
            }
            return radix.sort(W, low, words, buffer[0..words.len], @bitSizeOf(Key));
        }

        fn word(value: T, place: usize) W {
            return @as(W, key(value)) << low | place;
        }

        pub fn placeOf(sorted: W) usize {
            return @intCast(@as(@Int(.unsigned, low), @truncate(sorted)));
        }

        /// The words of the best k values of a line, best first; `placeOf` says where they stand.
        pub fn best(selection: *Self, reader: anytype, len: usize) []const W {
            const k = selection.k;
            if (selection.limitOf(reader, len)) |limit| {
                if (selection.take(reader, len, limit)) return selection.joined(limit);
            }
            reader.tiles(len, Whole{ .words = selection.words[0..len] });
            return inOrder(selection.words[0..len], selection.words[len..])[0..k];
        }

        const Whole = struct {
            words: []W,

            pub fn tile(whole: @This(), values: []const T, first: usize) void {
                for (whole.words[first..][0..values.len], values, first..) |*target, value, index| target.* = word(value, index);
            }
        };

        /// A value that somewhat more than k should be better than; null where no sample says so.
        fn limitOf(selection: *Self, reader: anytype, len: usize) ?T {
            const wanted = @as(f64, @floatFromInt(selection.k)) * sample_len / @as(f64, @floatFromInt(len));
            // Four standard deviations of how many of the best are in a sample.
            const rank: usize = @intFromFloat(@ceil(wanted + 4 * @sqrt(wanted) + 4));
            if (selection.k > len / 2 or rank >= sample_len) return null;
            const words = selection.words[0..sample_len];
            // Not at one distance, so that a line with a period is sampled as any other.
            const step = len / sample_len;
            for (words, 0..) |*target, i| {
                const index = i * step + i * prime % step;
                target.* = word(reader.value(index), index);
            }
            const sorted = inOrder(words, selection.words[sample_len..]);
            const limit = reader.value(placeOf(sorted[rank]));
            return if (limit != limit) null else limit;
        }

        /// Takes what is better than the limit; false where that is too little or too much.
        fn take(selection: *Self, reader: anytype, len: usize, limit: T) bool {
            selection.count = 0;
            selection.equal_count = 0;
            var taking: Taking = .{ .selection = selection, .limit = limit, .most = len - selection.k };
            reader.tiles(len, &taking);
            return !taking.is_full and selection.count + selection.equal_count >= selection.k;
        }

        const Taking = struct {
            selection: *Self,
            limit: T,
            /// Words before those of the values that equal the limit.
            most: usize,
            is_full: bool = false,

            pub fn tile(taking: *Taking, values: []const T, first: usize) void {
                var begin: usize = 0;
                while (begin < values.len and !taking.is_full) : (begin += block_len) {
                    const block = values[begin..@min(begin + block_len, values.len)];
                    if (block.len == block_len and !taking.hasAny(block[0..block_len])) continue;
                    for (block, first + begin..) |value, index| taking.consider(value, index);
                }
            }

            /// Whether any of the values is as good as the limit.
            inline fn hasAny(taking: *const Taking, block: *const [block_len]T) bool {
                const V = @Vector(block_len, T);
                const values: V = block.*;
                const limit: V = @splat(taking.limit);
                // A comparison with NaN is false.
                const is_worse = if (is_largest) values < limit else values > limit;
                if (is_integer or is_largest) return !@reduce(.And, is_worse);
                return @reduce(.Or, values <= limit);
            }

            inline fn consider(taking: *Taking, value: T, index: usize) void {
                const selection = taking.selection;
                if (value == taking.limit) {
                    if (selection.equal_count == selection.k) return;
                    selection.words[selection.words.len - 1 - selection.equal_count] = index;
                    selection.equal_count += 1;
                    return;
                }
                const is_better = if (is_largest) !(value < taking.limit) else value < taking.limit;
                if (!is_better) return;
                if (selection.count == taking.most) {
                    taking.is_full = true;
                    return;
                }
                selection.words[selection.count] = word(value, index);
                selection.count += 1;
            }
        };

        /// What is better than the limit in order, then as many of those that equal it as are wanted.
        fn joined(selection: *Self, limit: T) []const W {
            const k = selection.k;
            const taken = selection.words[0..selection.count];
            if (taken.len >= k) {
                return inOrder(taken, selection.words[taken.len..])[0..k];
            }
            // Fewer than k, which is half of the line at most: their buffer ends before the places at the end.
            const sorted = inOrder(taken, selection.words[k..]);
            if (sorted.ptr != taken.ptr) @memcpy(taken, sorted);
            const last = selection.words.len - 1;
            for (selection.words[taken.len..k], 0..) |*target, i| {
                const index: usize = @intCast(selection.words[last - i]);
                target.* = word(limit, index);
            }
            return selection.words[0..k];
        }
    };
}

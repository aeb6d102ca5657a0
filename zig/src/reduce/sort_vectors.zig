//! Quicksort with vectors for CPUs with AVX-512: words are compared with a pivot a vector at a time, and the smaller and the larger ones are packed
//! side by side by one instruction each (Bramas 2017; Blacher, Giesen, Sanders and Wassenberg 2022). Parts that fit the registers are sorted there
//! by a network of minima and maxima (Batcher 1968).
//!
//! The order of equal words is not kept: they are the same. The scalar twin is radix.zig.

const std = @import("std");
const Table = @import("sort_table.zig").Table;

pub fn routines(comptime W: type) Table(W) {
    const Sorter = Vectors(W);
    return .{ .sort = Sorter.sort, .of_floats = Sorter.ofFloats, .to_floats = Sorter.toFloats, .flip = Sorter.flipWords };
}

/// Vectors that are sorted in registers.
const network_vectors = 16;
/// Vectors of each side that are read ahead of what is written: as many are compared one after the other.
const batch = 8;
/// Words from which on a pivot is the median of many words; of fewer, of as many as a vector has lanes.
const many = 4096;
const most_samples = 64;

fn Vectors(comptime W: type) type {
    const lanes = 64 / @sizeOf(W);
    const Vector = @Vector(lanes, W);
    const Mask = @Int(.unsigned, lanes);
    const is_wide = @sizeOf(W) == 8;
    const network_len = network_vectors * lanes;
    const largest: W = std.math.maxInt(W);
    return struct {
        fn sort(words: [*]W, len: usize) void {
            // Halves are expected; a part that is split badly more often than that is sorted without pivots.
            sortPart(words[0..len], 2 * (std.math.log2_int(usize, @max(2, len)) + 1));
        }

        fn sortPart(given: []W, most_splits: u32) void {
            var words = given;
            var splits = most_splits;
            while (words.len > network_len) {
                if (splits == 0) return std.sort.heap(W, words, {}, std.sort.asc(W));
                splits -= 1;
                const pivot = medianOf(words);
                const smaller = partition(false, words, pivot);
                if (smaller == 0) {
                    // The pivot is the smallest word: what equals it is in order.
                    words = words[partition(true, words, pivot)..];
                    continue;
                }
                sortPart(words[0..smaller], splits);
                words = words[smaller..];
            }
            sortFew(words);
        }

        fn medianOf(words: []const W) W {
            return if (words.len < many) sampled(lanes, words) else sampled(most_samples, words);
        }

        /// The median of words that are as far apart as the part is long.
        inline fn sampled(comptime count: comptime_int, words: []const W) W {
            var sample: [count]W align(64) = undefined;
            const step = words.len / count;
            for (&sample, 0..) |*word, i| word.* = words[i * step + step / 2];
            sortVectors(count / lanes, &sample);
            return sample[count / 2];
        }

        /// Words that are smaller than the pivot, or with `takes_equal` as large, in front of the others; their number.
        fn partition(comptime takes_equal: bool, words: []W, pivot: W) usize {
            const pivots: Vector = @splat(pivot);
            const begin = words.ptr;
            var left_read: usize = batch * lanes;
            var right_read: usize = words.len - batch * lanes;
            var left: usize = 0;
            var right: usize = words.len;
            // What lies at both ends is held, so that there is room for what is written.
            var held: [2 * batch]Vector = undefined;
            inline for (0..batch) |i| held[i] = begin[i * lanes ..][0..lanes].*;
            inline for (0..batch) |i| held[batch + i] = begin[right_read + i * lanes ..][0..lanes].*;
            while (right_read - left_read >= batch * lanes) {
                var vectors: [batch]Vector = undefined;
                // The side with less room is read: then both have room for a batch.
                if (left_read - left > right - right_read) {
                    right_read -= batch * lanes;
                    inline for (0..batch) |i| vectors[i] = begin[right_read + i * lanes ..][0..lanes].*;
                } else {
                    inline for (0..batch) |i| vectors[i] = begin[left_read + i * lanes ..][0..lanes].*;
                    left_read += batch * lanes;
                }
                inline for (vectors) |vector| place(takes_equal, begin, &left, &right, vector, pivots);
            }
            while (right_read - left_read >= lanes) {
                var vector: Vector = undefined;
                if (left_read - left > right - right_read) {
                    right_read -= lanes;
                    vector = begin[right_read..][0..lanes].*;
                } else {
                    vector = begin[left_read..][0..lanes].*;
                    left_read += lanes;
                }
                place(takes_equal, begin, &left, &right, vector, pivots);
            }
            const tail_len = right_read - left_read;
            var tail: [lanes]W = undefined;
            for (tail[0..tail_len], begin[left_read..right_read]) |*word, value| word.* = value;
            inline for (held) |vector| place(takes_equal, begin, &left, &right, vector, pivots);
            for (tail[0..tail_len]) |word| {
                if (if (takes_equal) word <= pivot else word < pivot) {
                    begin[left] = word;
                    left += 1;
                } else {
                    right -= 1;
                    begin[right] = word;
                }
            }
            std.debug.assert(left == right);
            return left;
        }

        /// Writes the smaller words of a vector from `left` on and the others up to `right`: between them lies room for a vector at least.
        inline fn place(comptime takes_equal: bool, begin: [*]W, left: *usize, right: *usize, vector: Vector, pivots: Vector) void {
            const mask: Mask = @bitCast(if (takes_equal) vector <= pivots else vector < pivots);
            const smaller = @popCount(mask);
            // A whole vector: what is too much lies in the room, and where that ends it is overwritten by the larger words.
            begin[left.*..][0..lanes].* = compressed(vector, mask);
            left.* += smaller;
            right.* -= lanes - @as(usize, smaller);
            const larger: Mask = @truncate((@as(u32, 1) << @intCast(lanes - @as(usize, smaller))) - 1);
            storeSome(begin + right.*, compressed(vector, ~mask), larger);
        }

        /// The lanes of a mask side by side, zeros behind them.
        inline fn compressed(vector: Vector, mask: Mask) Vector {
            const instruction = if (is_wide) "vpcompressq" else "vpcompressd";
            return asm (instruction ++ " %[vector], %[result]{%[mask]}{z}"
                : [result] "=v" (-> Vector),
                : [vector] "v" (vector),
                  [mask] "^Yk" (@as(u16, mask)),
            );
        }

        inline fn storeSome(target: [*]W, vector: Vector, mask: Mask) void {
            const instruction = if (is_wide) "vmovdqu64" else "vmovdqu32";
            asm volatile (instruction ++ " %[vector], (%[target]){%[mask]}"
                :
                : [vector] "v" (vector),
                  [mask] "^Yk" (@as(u16, mask)),
                  [target] "r" (target),
                : .{ .memory = true });
        }

        fn sortFew(words: []W) void {
            if (words.len < 2) return;
            switch ((words.len + lanes - 1) / lanes) {
                1 => sortPadded(1, words),
                2 => sortPadded(2, words),
                3...4 => sortPadded(4, words),
                5...8 => sortPadded(8, words),
                else => sortPadded(network_vectors, words),
            }
        }

        /// With words that come last in the lanes behind them.
        fn sortPadded(comptime count: comptime_int, words: []W) void {
            var vectors: [count]Vector = undefined;
            inline for (&vectors, 0..) |*vector, i| vector.* = loadSome(words.ptr + i * lanes, firstLanes(words.len -| i * lanes));
            sortRegisters(count, &vectors);
            inline for (vectors, 0..) |vector, i| storeSome(words.ptr + i * lanes, vector, firstLanes(words.len -| i * lanes));
        }

        inline fn firstLanes(count: usize) Mask {
            return @truncate((@as(u32, 1) << @intCast(@min(count, lanes))) - 1);
        }

        inline fn loadSome(source: [*]const W, mask: Mask) Vector {
            const instruction = if (is_wide) "vmovdqu64" else "vmovdqu32";
            return asm (instruction ++ " (%[source]), %[result]{%[mask]}"
                : [result] "=v" (-> Vector),
                : [fill] "0" (@as(Vector, @splat(largest))),
                  [source] "r" (source),
                  [mask] "^Yk" (@as(u16, mask)),
                : .{ .memory = true });
        }

        fn sortVectors(comptime count: comptime_int, buffer: *[count * lanes]W) void {
            var vectors: [count]Vector = undefined;
            inline for (&vectors, 0..) |*vector, i| vector.* = buffer[i * lanes ..][0..lanes].*;
            sortRegisters(count, &vectors);
            inline for (vectors, 0..) |vector, i| buffer[i * lanes ..][0..lanes].* = vector;
        }

        /// Adjacent words are those of the same lane in adjacent registers, so that most of the exchanges are between registers; in the end they are
        /// brought side by side.
        inline fn sortRegisters(comptime count: comptime_int, vectors: *[count]Vector) void {
            @setEvalBranchQuota(100_000);
            comptime var len = 2;
            inline while (len <= count * lanes) : (len *= 2) {
                mirror(count, len, vectors);
                comptime var distance = len / 4;
                inline while (distance > 0) : (distance /= 2) {
                    if (distance >= count) {
                        inline for (vectors) |*vector| vector.* = exchanged(vector.*, vector.*, distance / count, distance / count);
                    } else inline for (0..count) |r| {
                        if (r & distance == 0) exchangeRegisters(&vectors[r], &vectors[r + distance]);
                    }
                }
            }
            comptime var riffles = count;
            inline while (riffles > 1) : (riffles /= 2) {
                const before = vectors.*;
                inline for (0..count / 2) |r| {
                    vectors[2 * r] = @shuffle(W, before[r], before[r + count / 2], zipped(0));
                    vectors[2 * r + 1] = @shuffle(W, before[r], before[r + count / 2], zipped(lanes / 2));
                }
            }
        }

        inline fn exchangeRegisters(a: *Vector, b: *Vector) void {
            const larger = @max(a.*, b.*);
            a.* = @min(a.*, b.*);
            b.* = larger;
        }

        /// Every word of a run of so many meets its mirror image: two runs in ascending order become two of which none of the first is larger than
        /// any of the second.
        inline fn mirror(comptime count: comptime_int, comptime len: comptime_int, vectors: *[count]Vector) void {
            if (len <= count) {
                inline for (0..count) |r| {
                    if (r & (len / 2) == 0) exchangeRegisters(&vectors[r], &vectors[r ^ (len - 1)]);
                }
                return;
            }
            const before = vectors.*;
            inline for (vectors, 0..) |*vector, r| vector.* = exchanged(before[r], before[count - 1 - r], len / count - 1, len / count / 2);
        }

        /// Lanes meet those of `others` whose number differs in the bits of `partner`; lanes whose bit `bit` is clear keep the smaller word.
        inline fn exchanged(vector: Vector, others: Vector, comptime partner: comptime_int, comptime bit: comptime_int) Vector {
            const other = @shuffle(W, others, undefined, indices(partner));
            const is_upper = comptime upper: {
                var lanes_above: [lanes]bool = undefined;
                for (&lanes_above, 0..) |*is_above, lane| is_above.* = lane & bit != 0;
                break :upper @as(@Vector(lanes, bool), lanes_above);
            };
            return @select(W, is_upper, @max(vector, other), @min(vector, other));
        }

        /// Lanes of two vectors in turn, from lane `first` of each.
        fn zipped(comptime first: comptime_int) [lanes]i32 {
            var all: [lanes]i32 = undefined;
            for (&all, 0..) |*index, lane| {
                const own: i32 = first + lane / 2;
                index.* = if (lane % 2 == 0) own else ~own;
            }
            return all;
        }

        fn indices(comptime partner: comptime_int) [lanes]i32 {
            var all: [lanes]i32 = undefined;
            for (&all, 0..) |*index, lane| index.* = @intCast(lane ^ partner);
            return all;
        }

        const sign: W = 1 << (@bitSizeOf(W) - 1);
        const infinity: W = if (is_wide) 0x7ff0_0000_0000_0000 else 0x7f80_0000;
        const Signed = @Int(.signed, @bitSizeOf(W));

        fn ofFloats(source: [*]const W, target: [*]W, len: usize, flip: W) bool {
            const negative_zeros: Vector = @splat(sign);
            var met: @Vector(lanes, bool) = @splat(false);
            var done: usize = 0;
            while (done + lanes <= len) : (done += lanes) {
                const bits: Vector = source[done..][0..lanes].*;
                const is_met = bits == negative_zeros;
                met = @select(bool, is_met, is_met, met);
                target[done..][0..lanes].* = wordsOf(lanes, bits, flip);
            }
            var has_negative_zero = @reduce(.Or, met);
            while (done < len) : (done += 1) {
                has_negative_zero = has_negative_zero or source[done] == sign;
                target[done..][0..1].* = wordsOf(1, source[done..][0..1].*, flip);
            }
            return has_negative_zero;
        }

        inline fn wordsOf(comptime count: comptime_int, bits: @Vector(count, W), flip: W) @Vector(count, W) {
            const V = @Vector(count, W);
            const shift: @Vector(count, std.math.Log2Int(W)) = @splat(@bitSizeOf(W) - 1);
            const negative: V = @bitCast(@as(@Vector(count, Signed), @bitCast(bits)) >> shift);
            const own = bits ^ (negative | @as(V, @splat(sign))) ^ @as(V, @splat(flip));
            const is_nan = bits & @as(V, @splat(~sign)) > @as(V, @splat(infinity));
            return @select(W, is_nan, @as(V, @splat(largest)), own);
        }

        fn toFloats(words: [*]W, len: usize, flip: W) void {
            var done: usize = 0;
            while (done + lanes <= len) : (done += lanes) words[done..][0..lanes].* = floatsOf(lanes, words[done..][0..lanes].*, flip);
            while (done < len) : (done += 1) words[done..][0..1].* = floatsOf(1, words[done..][0..1].*, flip);
        }

        inline fn floatsOf(comptime count: comptime_int, words: @Vector(count, W), flip: W) @Vector(count, W) {
            const V = @Vector(count, W);
            const shift: @Vector(count, std.math.Log2Int(W)) = @splat(@bitSizeOf(W) - 1);
            const own = words ^ @as(V, @splat(flip));
            const positive: V = @bitCast(@as(@Vector(count, Signed), @bitCast(own)) >> shift);
            const quiet: V = @splat(infinity | (infinity >> 1));
            return @select(W, words == @as(V, @splat(largest)), quiet, own ^ (~positive | @as(V, @splat(sign))));
        }

        fn flipWords(source: [*]const W, target: [*]W, len: usize, mask: W) void {
            const masks: Vector = @splat(mask);
            var done: usize = 0;
            while (done + lanes <= len) : (done += lanes) target[done..][0..lanes].* = @as(Vector, source[done..][0..lanes].*) ^ masks;
            while (done < len) : (done += 1) target[done] = source[done] ^ mask;
        }
    };
}

fn testSort(comptime W: type) !void {
    const allocator = std.testing.allocator;
    const table = comptime routines(W);
    var random: std.Random.DefaultPrng = .init(3);
    const rng = random.random();
    for ([_]usize{ 0, 1, 2, 15, 16, 17, 100, 255, 256, 257, 300, 511, 1000, 4097, 70_001 }) |len| {
        for ([_]W{ 0, 1, 3, 255, std.math.maxInt(W) }) |differing| for ([_]bool{ false, true }) |is_sorted| {
            const words = try allocator.alloc(W, len);
            defer allocator.free(words);
            for (words, 0..) |*word, i| word.* = if (is_sorted) @intCast(i & differing) else rng.int(W) & differing;
            const expected = try allocator.dupe(W, words);
            defer allocator.free(expected);
            std.mem.sort(W, expected, {}, std.sort.asc(W));
            table.sort(words.ptr, len);
            try std.testing.expectEqualSlices(W, expected, words);
        };
    }
}

test "words of every length, with few and many different ones, come in order" {
    if (!comptime std.Target.x86.featureSetHas(@import("builtin").cpu.features, .avx512dq)) return error.SkipZigTest;
    try testSort(u32);
    try testSort(u64);
}

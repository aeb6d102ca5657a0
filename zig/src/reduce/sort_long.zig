//! A long line: its chunks are counted by the first bits in which elements differ, shared out to buckets in their order, and the buckets sorted.
//! Where those bits are all that differ, elements go straight to their ranks.

const std = @import("std");
const abi = @import("../abi.zig");
const parallel = @import("../tensor/parallel.zig");
const workspace = @import("../memory/workspace.zig");
const radix = @import("radix.zig");
const sort_line = @import("sort_line.zig");
const sort_words = @import("sort_words.zig");

pub const Error = error{OutOfMemory} || parallel.Error;

/// Bits of a bucket's number at most: of 10 million random elements a bucket has 5 thousand, which fit the first caches.
const bucket_bits = 11;
const buckets = 1 << bucket_bits;
/// Chunks for each thread, so that one that is late holds up little.
const chunks_per_thread = 2;
const most_chunks = 64;
/// Elements of a buffer of words in the first cache.
const tile_len = 1024;
/// Elements that are compared first.
const samples = 64;

pub fn sort(comptime Kind: type, line: *const sort_line.Line(Kind), executor: ?*const abi.Executor) Error!void {
    const Word = Kind.Word;
    const threads = parallel.threadCount(executor);
    const chunks: usize = if (threads == 1) 1 else @min(most_chunks, chunks_per_thread * threads);
    // Wide numbers first, so that all are aligned.
    const numbers_len = (chunks + 1) * buckets;
    const numbers_bytes = numbers_len * @sizeOf(usize);
    const words_bytes = std.mem.alignForward(usize, line.len * @sizeOf(Word), @alignOf(u128));
    const buffer = try workspace.acquire(numbers_bytes + 2 * words_bytes);
    defer workspace.release(buffer);
    const numbers = buffer.slice(usize, 0, numbers_len);
    var job: Job(Kind) = .{
        .line = line.*,
        .chunks = chunks,
        .places = numbers[0 .. chunks * buckets],
        .ends = numbers[chunks * buckets ..],
        .words = buffer.slice(Word, numbers_bytes, line.len),
        .spare = buffer.slice(Word, numbers_bytes + words_bytes, line.len),
    };
    try job.run(executor);
    line.orderZeros();
}

fn Job(comptime Kind: type) type {
    const Word = Kind.Word;
    return struct {
        line: sort_line.Line(Kind),
        chunks: usize,
        /// For each chunk, where its next element of a bucket goes.
        places: []usize,
        /// Where buckets end.
        ends: []usize,
        words: []Word,
        spare: []Word,
        differing: [most_chunks]Word = @splat(0),
        /// Of a bucket's number in a word.
        shift: std.math.Log2Int(Word) = 0,
        mask: usize = 0,
        /// Bits of words behind the bucket's number that are sorted by.
        rest: u32 = 0,

        const Self = @This();

        fn run(job: *Self, executor: ?*const abi.Executor) parallel.Error!void {
            var differing = job.sampled();
            if (@clz(differing) > 0) {
                try parallel.run(executor, job.chunks, Phase(compare), &.{ .job = job });
                for (job.differing[0..job.chunks]) |own| differing |= own;
            }
            const keys = differing >> Kind.low;
            const bits: u32 = @bitSizeOf(Word) - @as(u32, @clz(keys));
            const key_rest = job.fit(bits);
            try parallel.run(executor, job.chunks, Phase(count), &.{ .job = job });
            var sum: usize = 0;
            for (0..buckets) |bucket| {
                for (0..job.chunks) |chunk| {
                    const place = &job.places[chunk * buckets + bucket];
                    const before = sum;
                    sum += place.*;
                    place.* = before;
                }
                job.ends[bucket] = sum;
            }
            if (key_rest == 0) return parallel.run(executor, job.chunks, Phase(placeResults), &.{ .job = job });
            try parallel.run(executor, job.chunks, Phase(placeWords), &.{ .job = job });
            try parallel.run(executor, buckets, Phase(sortBucket), &.{ .job = job });
        }

        /// Chooses the bits of a bucket's number, where the last `bits` of keys differ; the number of bits behind them that keys have in words.
        fn fit(job: *Self, bits: u32) u32 {
            var own_bits = bits;
            var low: u32 = Kind.low;
            if (Kind.is_packed) {
                job.line.kind = job.line.kind.fitted(bits);
                own_bits -= job.line.kind.dropped;
                low = job.line.kind.place_bits;
            }
            const key_rest = own_bits -| bucket_bits;
            job.shift = @intCast(low + key_rest);
            job.mask = (@as(usize, 1) << @intCast(own_bits - key_rest)) - 1;
            job.rest = if (Kind.is_packed) job.shift else key_rest;
            return key_rest;
        }

        /// A function for each chunk or bucket.
        fn Phase(comptime step: fn (*Self, usize) void) type {
            return struct {
                job: *Self,

                pub fn run(phase: *const @This(), begin: usize, end: usize) void {
                    for (begin..end) |index| step(phase.job, index);
                }
            };
        }

        fn chunkStart(job: *const Self, chunk: usize) usize {
            return chunk * job.line.len / job.chunks;
        }

        inline fn bucketOf(job: *const Self, word: Word) usize {
            return @as(usize, @truncate(word >> job.shift)) & job.mask;
        }

        /// The key of an element, as far up in a word as words have it.
        inline fn keyOf(job: *const Self, place: usize) Word {
            const element = job.line.element(place);
            return if (Kind.is_packed) job.line.kind.order.key(element) else job.line.kind.word(element, 0);
        }

        /// Bits in which a few elements differ. Where the first one is among them, which it nearly always is, the others need not be looked at.
        fn sampled(job: *const Self) Word {
            var differing: Word = 0;
            const step = job.line.len / samples;
            for (1..samples) |sample| differing |= job.keyOf(sample * step) ^ job.keyOf(0);
            return differing;
        }

        fn compare(job: *Self, chunk: usize) void {
            var tile: [tile_len]Word = undefined;
            var differing: Word = 0;
            var done = job.chunkStart(chunk);
            const end = job.chunkStart(chunk + 1);
            const first_word = job.keyOf(0);
            if (Kind.is_packed) {
                for (done..end) |place| differing |= job.keyOf(place) ^ first_word;
                job.differing[chunk] = differing;
                return;
            }
            while (done < end) {
                const words = tile[0..@min(tile_len, end - done)];
                job.line.read(done, words);
                for (words) |word| differing |= word ^ first_word;
                done += words.len;
            }
            job.differing[chunk] = differing;
        }

        fn count(job: *Self, chunk: usize) void {
            var tile: [tile_len]Word = undefined;
            const counts = job.places[chunk * buckets ..][0..buckets];
            @memset(counts, 0);
            var done = job.chunkStart(chunk);
            const end = job.chunkStart(chunk + 1);
            while (done < end) {
                const words = tile[0..@min(tile_len, end - done)];
                job.line.read(done, words);
                for (words) |word| counts[job.bucketOf(word)] += 1;
                done += words.len;
            }
        }

        fn placeWords(job: *Self, chunk: usize) void {
            var tile: [tile_len]Word = undefined;
            const places = job.places[chunk * buckets ..][0..buckets];
            var done = job.chunkStart(chunk);
            const end = job.chunkStart(chunk + 1);
            while (done < end) {
                const words = tile[0..@min(tile_len, end - done)];
                job.line.read(done, words);
                for (words) |word| {
                    const place = &places[job.bucketOf(word)];
                    job.words[place.*] = word;
                    place.* += 1;
                }
                done += words.len;
            }
        }

        fn placeResults(job: *Self, chunk: usize) void {
            var tile: [tile_len]Word = undefined;
            const places = job.places[chunk * buckets ..][0..buckets];
            var done = job.chunkStart(chunk);
            const end = job.chunkStart(chunk + 1);
            while (done < end) {
                const words = tile[0..@min(tile_len, end - done)];
                job.line.read(done, words);
                for (words) |word| {
                    const place = &places[job.bucketOf(word)];
                    job.line.result(place.*).* = job.line.kind.result(word);
                    place.* += 1;
                }
                done += words.len;
            }
        }

        fn sortBucket(job: *Self, bucket: usize) void {
            const first = if (bucket == 0) 0 else job.ends[bucket - 1];
            const end = job.ends[bucket];
            if (first == end) return;
            const words = job.words[first..end];
            const spare = job.spare[first..end];
            const sorted = sortWords(words, spare, job.rest);
            if (Kind.is_packed and job.line.kind.dropped > 0) job.orderAlike(sorted, if (sorted.ptr == words.ptr) spare else words);
            job.line.write(first, sorted);
        }

        /// Sorts by the last `bits` bits of keys, in `words` or in `spare`.
        fn sortWords(words: []Word, spare: []Word, bits: u32) []Word {
            if (Kind.low == 0) {
                if (sort_words.routines(Word)) |vectors| {
                    vectors.sort(words.ptr, words.len);
                    return words;
                }
            }
            return radix.sort(Word, Kind.low, words, spare, bits);
        }

        /// Puts elements in order that agree in all bits of their keys but those that found no room: with these in the place of the others.
        fn orderAlike(job: *Self, words: []Word, spare: []Word) void {
            const kind = job.line.kind;
            var first: usize = 0;
            while (first + 1 < words.len) {
                var end = first + 1;
                while (end < words.len and (words[first] ^ words[end]) >> kind.place_bits == 0) end += 1;
                if (end - first > 1) {
                    const alike = words[first..end];
                    for (alike) |*word| {
                        const place = kind.placeOf(word.*);
                        word.* = kind.order.key(job.line.element(place)) << kind.place_bits | place;
                    }
                    const sorted = sortWords(alike, spare[first..end], @as(u32, kind.dropped) + kind.place_bits);
                    if (sorted.ptr != alike.ptr) @memcpy(alike, sorted);
                }
                first = end;
            }
        }
    };
}

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
        .line = line,
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
        line: *const sort_line.Line(Kind),
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
        /// Bits behind the bucket's number that elements differ in.
        rest: u32 = 0,

        const Self = @This();

        fn run(job: *Self, executor: ?*const abi.Executor) parallel.Error!void {
            try parallel.run(executor, job.chunks, Phase(compare), &.{ .job = job });
            var differing: Word = 0;
            for (job.differing[0..job.chunks]) |own| differing |= own;
            const keys = differing >> Kind.low;
            const bits: u32 = @bitSizeOf(Word) - @as(u32, @clz(keys));
            job.rest = bits -| bucket_bits;
            job.shift = @intCast(Kind.low + job.rest);
            job.mask = (@as(usize, 1) << @intCast(bits - job.rest)) - 1;
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
            if (job.rest == 0) return parallel.run(executor, job.chunks, Phase(placeResults), &.{ .job = job });
            try parallel.run(executor, job.chunks, Phase(placeWords), &.{ .job = job });
            try parallel.run(executor, buckets, Phase(sortBucket), &.{ .job = job });
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

        fn compare(job: *Self, chunk: usize) void {
            var tile: [tile_len]Word = undefined;
            const first_word = job.line.kind.word(job.line.element(0), 0);
            var differing: Word = 0;
            var done = job.chunkStart(chunk);
            const end = job.chunkStart(chunk + 1);
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
            if (Kind.low == 0) {
                if (sort_words.routines(Word)) |vectors| {
                    vectors.sort(words.ptr, words.len);
                    return job.line.write(first, words);
                }
            }
            job.line.write(first, radix.sort(Word, Kind.low, words, job.spare[first..end], job.rest));
        }
    };
}

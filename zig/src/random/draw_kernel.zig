//! From random words to numbers, for the distributions that use up a fixed number of words: an element is a function of its own words, so any
//! split of a draw gives the same numbers. Words are readable up to a round of vectors behind those that are used.

const std = @import("std");
const philox = @import("philox.zig");
const math = @import("random_math.zig");

pub const Shape = enum { uniform, normal, exponential };

/// `count` floats into `target`. Words and results of normal numbers begin with a pair.
pub fn Floats(comptime T: type) type {
    return struct {
        shape: Shape,
        words: [*]const u32,
        count: usize,
        target: [*]T,
        /// Lowest value and extent, or mean and standard deviation; of exponentials the scale comes second.
        offset: T,
        scale: T,
        /// Bits that a uniform float32 has: those of the type that is stored.
        bits: u5,
    };
}

pub inline fn floats(comptime T: type, comptime lanes: comptime_int, job: *const Floats(T)) void {
    switch (job.shape) {
        .uniform => eachFloat(T, lanes, .uniform, job),
        .exponential => eachFloat(T, lanes, .exponential, job),
        .normal => normals(T, lanes, job),
    }
}

inline fn eachFloat(comptime T: type, comptime lanes: comptime_int, comptime shape: Shape, job: *const Floats(T)) void {
    const V = @Vector(lanes, T);
    const W = @Vector(lanes, if (T == f32) u32 else u64);
    const offset: V = @splat(job.offset);
    const scale: V = @splat(job.scale);
    const shift: @Vector(lanes, u5) = @splat(@intCast(32 - @as(u6, job.bits)));
    const unit: V = @splat(std.math.ldexp(@as(T, 1), -@as(i32, job.bits)));
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const words: W = load(W, job.words + done * (@sizeOf(T) / 4));
        const value = switch (shape) {
            .exponential => scale * (@as(V, @splat(0)) - if (T == f32) math.log32(V, math.openUnit32(lanes, words)) else math.log64(V, math.openUnit64(lanes, words))),
            else => @mulAdd(V, if (T == f32) narrowUnit(lanes, words, shift, unit) else math.unit64(lanes, words), scale, offset),
        };
        store(T, lanes, job.target + done, value, job.count - done);
    }
}

inline fn narrowUnit(comptime lanes: comptime_int, words: @Vector(lanes, u32), shift: @Vector(lanes, u5), unit: @Vector(lanes, f32)) @Vector(lanes, f32) {
    const signed: @Vector(lanes, i32) = @bitCast(words >> shift);
    return @as(@Vector(lanes, f32), @floatFromInt(signed)) * unit;
}

/// Pairs by Box and Muller 1958: the first word of a pair gives the radius, the second the angle.
inline fn normals(comptime T: type, comptime lanes: comptime_int, job: *const Floats(T)) void {
    const V = @Vector(lanes, T);
    const W = @Vector(2 * lanes, if (T == f32) u32 else u64);
    const offset: V = @splat(job.offset);
    const scale: V = @splat(job.scale);
    var done: usize = 0;
    while (done < job.count) : (done += 2 * lanes) {
        const words: W = load(W, job.words + done * (@sizeOf(T) / 4));
        const first, const second = std.simd.deinterlace(2, words);
        const log = if (T == f32) math.log32(V, math.openUnit32(lanes, first)) else math.log64(V, math.openUnit64(lanes, first));
        const radius = @sqrt(log * @as(V, @splat(-2)));
        const turn = if (T == f32) math.turn32(lanes, second) else math.turn64(lanes, second);
        const cosine = @mulAdd(V, radius * turn.cos, scale, offset);
        const sine = @mulAdd(V, radius * turn.sin, scale, offset);
        store(T, 2 * lanes, job.target + done, std.simd.interlace(.{ cosine, sine }), job.count - done);
    }
}

inline fn load(comptime W: type, words: [*]const u32) W {
    const source: *align(4) const W = @ptrCast(words);
    return source.*;
}

inline fn store(comptime T: type, comptime lanes: comptime_int, target: [*]T, value: @Vector(lanes, T), left: usize) void {
    if (left >= lanes) {
        target[0..lanes].* = value;
        return;
    }
    const values: [lanes]T = value;
    for (target[0..left], values[0..left]) |*place, one| place.* = one;
}

/// `count` integers low + [0, span), without bias (Lemire 2019): a word that would make some values likelier is drawn again from the next
/// attempt of its block. `span` is 0 for 2^64; up to 2^32 an element takes one word, beyond it two.
pub fn Integers(comptime T: type) type {
    return struct {
        words: [*]const u32,
        count: usize,
        target: [*]T,
        low: T,
        span: u64,
        key: u64,
        high: u64,
        /// The block of the first word, and its place there.
        block: u64,
        skip: u64,
    };
}

pub inline fn integers(comptime T: type, comptime lanes: comptime_int, job: *const Integers(T)) void {
    // Narrower types have no more values than a word.
    if (T == u64 and (job.span == 0 or job.span > 1 << 32)) wideIntegers(T, lanes, job) else narrowIntegers(T, lanes, job);
}

inline fn narrowIntegers(comptime T: type, comptime lanes: comptime_int, job: *const Integers(T)) void {
    const V = @Vector(lanes, u64);
    const span: V = @splat(job.span);
    const mask: V = @splat(0xFFFF_FFFF);
    const threshold = ((1 << 32) - job.span) % job.span;
    const limit: V = @splat(threshold);
    const low: @Vector(lanes, T) = @splat(job.low);
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const words: @Vector(lanes, u64) = load(@Vector(lanes, u32), job.words + done);
        var product = (words & mask) *% (span & mask);
        if (job.span == 1 << 32) product = words << @splat(32);
        const is_biased = (product & mask) < limit;
        if (@reduce(.Or, is_biased)) {
            var products: [lanes]u64 = product;
            for (0..@min(lanes, job.count - done)) |lane| {
                if (products[lane] & 0xFFFF_FFFF >= threshold) continue;
                products[lane] = @as(u64, againNarrow(job.key, job.high, job.block, job.skip + done + lane, job.span, threshold)) << 32;
            }
            product = products;
        }
        const value: @Vector(lanes, T) = @truncate(product >> @splat(32));
        store(T, lanes, job.target + done, low +% value, job.count - done);
    }
}

/// Attempts after which a biased word is kept: two are never needed in practice, and every loop has a bound.
const max_attempts = 64;

noinline fn againNarrow(key: u64, high: u64, first: u64, place: u64, span: u64, threshold: u64) u32 {
    var product: u64 = 0;
    for (1..max_attempts) |attempt| {
        const words = philox.block(key, first +% place / philox.block_words, high +% attempt);
        product = @as(u64, words[@intCast(place % philox.block_words)]) * span;
        if (product & 0xFFFF_FFFF >= threshold) break;
    }
    return @intCast(product >> 32);
}

inline fn wideIntegers(comptime T: type, comptime lanes: comptime_int, job: *const Integers(T)) void {
    const threshold = if (job.span == 0) 0 else (0 -% job.span) % job.span;
    const V = @Vector(lanes, u64);
    const low: @Vector(lanes, T) = @splat(job.low);
    var again: [again_len]usize = undefined;
    var again_count: usize = 0;
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const words = load(V, job.words + 2 * done);
        var value = words;
        if (job.span != 0) {
            value = highProduct(lanes, words, job.span);
            const is_biased = words *% @as(V, @splat(job.span)) < @as(V, @splat(threshold));
            const biased: [lanes]bool = is_biased;
            if (@reduce(.Or, is_biased)) for (0..@min(lanes, job.count - done)) |lane| {
                again[again_count] = done + lane;
                again_count += @intFromBool(biased[lane]);
            };
        }
        store(T, lanes, job.target + done, low +% @as(@Vector(lanes, T), @truncate(value)), job.count - done);
        if (again_count > again.len - lanes) {
            drawAgain(T, lanes, job, threshold, again[0..again_count]);
            again_count = 0;
        }
    }
    drawAgain(T, lanes, job, threshold, again[0..again_count]);
}

/// Elements that are drawn again together: of some spans every other word is refused.
const again_len = 512;

/// Draws elements again, those of all lanes at once, until none is left.
fn drawAgain(comptime T: type, comptime lanes: comptime_int, job: *const Integers(T), threshold: u64, elements: []usize) void {
    const V = @Vector(lanes, u64);
    const half: @Vector(lanes, u6) = @splat(32);
    const ones: @Vector(lanes, u6) = @splat(1);
    var left = elements;
    for (1..max_attempts) |attempt| {
        var refused: usize = 0;
        var done: usize = 0;
        while (done < left.len) : (done += lanes) {
            const count = @min(lanes, left.len - done);
            var own: [lanes]u64 = @splat(0);
            for (own[0..count], left[done..][0..count]) |*element, value| element.* = value;
            const places = @as(V, @splat(job.skip)) +% (@as(V, own) << ones);
            const block = @as(V, @splat(job.block)) +% (places >> @splat(comptime std.math.log2_int(u64, philox.block_words)));
            const words = philox.blocks(lanes, job.key, block, @splat(job.high +% attempt));
            const is_second = places & @as(V, @splat(2)) != @as(V, @splat(0));
            const word = @select(u64, is_second, words[2] | words[3] << half, words[0] | words[1] << half);
            const products: [lanes]u64 = highProduct(lanes, word, job.span);
            const biased: [lanes]bool = word *% @as(V, @splat(job.span)) < @as(V, @splat(threshold));
            for (0..count) |lane| {
                const element: usize = @intCast(own[lane]);
                job.target[element] = job.low +% @as(T, @truncate(products[lane]));
                left[refused] = element;
                refused += @intFromBool(biased[lane]);
            }
        }
        left = left[0..refused];
        if (refused == 0) return;
    }
}

/// The high halves of products of 64 bits.
inline fn highProduct(comptime lanes: comptime_int, a: @Vector(lanes, u64), b: u64) @Vector(lanes, u64) {
    const V = @Vector(lanes, u64);
    const half: @Vector(lanes, u6) = @splat(32);
    const mask: V = @splat(0xFFFF_FFFF);
    const b_low: V = @splat(b & 0xFFFF_FFFF);
    const b_high: V = @splat(b >> 32);
    const low = (a & mask) *% b_low;
    const middle = (a >> half) *% b_low +% (low >> half);
    const cross = (a & mask) *% b_high +% (middle & mask);
    return (a >> half) *% b_high +% (middle >> half) +% (cross >> half);
}

/// Ones where a word is below the threshold, a number up to 2^32.
pub const Below = struct { words: [*]const u32, count: usize, target: [*]u8, threshold: u64 };

pub inline fn below(comptime lanes: comptime_int, job: *const Below) void {
    const V = @Vector(lanes, u32);
    const ones: @Vector(lanes, u8) = @splat(1);
    const zeros: @Vector(lanes, u8) = @splat(0);
    // Below 2^32 exactly where not above the number before it.
    const last: V = @splat(@truncate(job.threshold -% 1));
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const is_one = load(V, job.words + done) <= last;
        store(u8, lanes, job.target + done, if (job.threshold == 0) zeros else @select(u8, is_one, ones, zeros), job.count - done);
    }
}

/// `target[i]` is `source[i] * scale` where word i is below the threshold, else zero. Both may be the same memory.
pub fn Dropout(comptime T: type) type {
    return struct { words: [*]const u32, count: usize, source: [*]const T, target: [*]T, scale: T, threshold: u64 };
}

pub inline fn dropout(comptime T: type, comptime lanes: comptime_int, job: *const Dropout(T)) void {
    const V = @Vector(lanes, T);
    const W = @Vector(lanes, u32);
    const zeros: V = @splat(0);
    const scale: V = @splat(job.scale);
    if (job.threshold == 0) return @memset(job.target[0..job.count], 0);
    const last: W = @splat(@truncate(job.threshold - 1));
    var done: usize = 0;
    while (done + lanes <= job.count) : (done += lanes) {
        const x: V = job.source[done..][0..lanes].*;
        job.target[done..][0..lanes].* = @select(T, load(W, job.words + done) <= last, x * scale, zeros);
    }
    while (done < job.count) : (done += 1) job.target[done] = if (job.words[done] < job.threshold) job.source[done] * job.scale else 0;
}

//! Philox4x32-10 (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four random words from a counter of
//! 128 bits and a key of 64. The low half of the counter numbers blocks; the high half tells streams and attempts apart.

const std = @import("std");

pub const block_words = 4;

const rounds = 10;
const multiplier_0 = 0xD2511F53;
const multiplier_1 = 0xCD9E8D57;
/// Weyl sequence of the key: the golden ratio and sqrt(3) - 1.
const weyl_0 = 0x9E3779B9;
const weyl_1 = 0xBB67AE85;
const low_half = 0xFFFF_FFFF;

/// The blocks at the counters (low, high), one for each lane, with word j of all blocks in vector j. Words are in lanes of 64 bits, because
/// that is what vectors multiply.
pub inline fn blocks(comptime lanes: comptime_int, key: u64, low: @Vector(lanes, u64), high: @Vector(lanes, u64)) [block_words]@Vector(lanes, u64) {
    const V = @Vector(lanes, u64);
    const mask: V = @splat(low_half);
    const half: @Vector(lanes, u6) = @splat(32);
    var words = [_]V{ low & mask, low >> half, high & mask, high >> half };
    inline for (0..rounds) |round| {
        const key_0: V = @splat(@as(u32, @truncate(key)) +% @as(u32, @truncate(weyl_0 * round)));
        const key_1: V = @splat(@as(u32, @truncate(key >> 32)) +% @as(u32, @truncate(weyl_1 * round)));
        // The high halves of lanes hold what no product reads.
        const product_0 = (words[0] & mask) *% @as(V, @splat(multiplier_0));
        const product_1 = (words[2] & mask) *% @as(V, @splat(multiplier_1));
        words = .{ (product_1 >> half) ^ words[1] ^ key_0, product_1, (product_0 >> half) ^ words[3] ^ key_1, product_0 };
    }
    inline for (&words) |*word| word.* &= mask;
    return words;
}

/// One block.
pub inline fn block(key: u64, low: u64, high: u64) [block_words]u32 {
    const words = blocks(1, key, .{low}, .{high});
    var result: [block_words]u32 = undefined;
    inline for (&result, words) |*word, vector| word.* = @truncate(vector[0]);
    return result;
}

/// A job that writes the words of `count` blocks from the counter (low, high) on, in order. `target` has room for whole rounds of lanes.
pub const Words = struct { key: u64, low: u64, high: u64, count: usize, target: [*]u32 };

/// Words that a round of the widest vectors writes at most.
pub const max_round_words = 4 * 16;

pub inline fn fill(comptime lanes: comptime_int, job: *const Words) void {
    const V = @Vector(lanes, u64);
    const high: V = @splat(job.high);
    const half: @Vector(lanes, u6) = @splat(32);
    var done: usize = 0;
    while (done < job.count) : (done += lanes) {
        const low = @as(V, @splat(job.low +% done)) +% std.simd.iota(u64, lanes);
        const words = blocks(lanes, job.key, low, high);
        const pairs = std.simd.interlace(.{ words[0] | words[1] << half, words[2] | words[3] << half });
        const target: *align(4) [2 * lanes]u64 = @ptrCast(job.target + done * block_words);
        target.* = pairs;
    }
}

//! Normal numbers in the sequence of TensorFlow (`tsl/lib/random/random_distributions.h`): Box and Muller 1958 with the roundings of its float
//! functions. A group is what a block makes; it has blocks of its own, of which it takes the numbers that are not too large, so that no group
//! depends on how many its neighbours took. All is computed in float64; what TensorFlow rounds to float32 is rounded where it does.

const std = @import("std");
const philox = @import("philox.zig");
const math = @import("random_math.zig");

/// Blocks that a group takes at most: TensorFlow leaves so many free, and every loop has a bound.
const max_attempts = 256;
/// The least number under the logarithm.
const least = 1.0e-7;
const tau = 2.0 * std.math.pi;
/// What float64 leaves of 2 pi.
const tau_rest = 2.4492935982947064e-16;

/// Elements of a group.
pub fn groupLen(comptime T: type) comptime_int {
    return if (T == f32) 4 else 2;
}

/// `count` numbers into `target`, from the beginning of group `group` on.
pub fn Job(comptime T: type) type {
    return struct { count: usize, target: [*]T, key: u64, block: u64, high: u64, group: u64, blocks_each: u64, limit: T };
}

pub inline fn draw(comptime T: type, comptime lanes: comptime_int, job: *const Job(T)) void {
    @setEvalBranchQuota(20_000);
    const len = groupLen(T);
    const groups = (job.count + len - 1) / len;
    var done: usize = 0;
    while (done < groups) : (done += lanes) {
        const count = @min(lanes * len, job.count - done * len);
        group(T, lanes, job, done, job.target[done * len ..][0..count]);
    }
}

/// The groups of lanes from `first` on.
inline fn group(comptime T: type, comptime lanes: comptime_int, job: *const Job(T), first: usize, target: []T) void {
    const V = @Vector(lanes, u64);
    const len = groupLen(T);
    const number = @as(V, @splat(job.group + first)) +% std.simd.iota(u64, lanes);
    const start = number *% @as(V, @splat(job.blocks_each));
    const used = (target.len + len - 1) / len;
    var filled: [lanes]usize = @splat(0);
    for (0..max_attempts) |attempt| {
        const offset = start +% @as(V, @splat(attempt));
        const low = @as(V, @splat(job.block)) +% offset;
        const carry = @select(u64, low < offset, @as(V, @splat(1)), @as(V, @splat(0)));
        const words = philox.blocks(lanes, job.key, low, @as(V, @splat(job.high)) +% carry);
        const candidates: [len][lanes]T = if (T == f32)
            normals32(lanes, words[0], words[1]) ++ normals32(lanes, words[2], words[3])
        else
            normals64(lanes, words);
        var is_open = false;
        for (filled[0..used], 0..) |*place, lane| {
            inline for (candidates) |candidate| {
                const value = candidate[lane];
                if (place.* < len and @abs(value) < job.limit) {
                    if (lane * len + place.* < target.len) target[lane * len + place.*] = value;
                    place.* += 1;
                }
            }
            is_open = is_open or place.* < len;
        }
        if (!is_open) return;
    }
    // Not reached in practice: 256 blocks without enough numbers are less likely than 2^-1000.
    for (filled[0..used], 0..) |place, lane| {
        for (place..len) |i| if (lane * len + i < target.len) {
            target[lane * len + i] = 0;
        };
    }
}

/// Two numbers of two words: radius times sine, radius times cosine.
inline fn normals32(comptime lanes: comptime_int, first: @Vector(lanes, u64), second: @Vector(lanes, u64)) [2][lanes]f32 {
    const V = @Vector(lanes, f64);
    const N = @Vector(lanes, f32);
    const mask: @Vector(lanes, u64) = @splat(0x7F_FFFF);
    const fraction = @max(math.fromInteger(V, first & mask) * @as(V, @splat(0x1p-23)), @as(V, @splat(@as(f32, least))));
    const log: N = @floatCast(math.log64(V, fraction));
    const radius = @sqrt(log * @as(N, @splat(-2)));
    const x = math.fromInteger(V, second & mask) * @as(V, @splat(0x1p-23));
    const angle: N = @floatCast(x * @as(V, @splat(tau)));
    const lost = @mulAdd(V, x, @splat(-tau), @as(V, @floatCast(angle)));
    const turn = math.turn64(lanes, second << @splat(41));
    const sine: N = @floatCast(@mulAdd(V, turn.cos, lost, turn.sin));
    const cosine: N = @floatCast(@mulAdd(V, -turn.sin, lost, turn.cos));
    return .{ sine * radius, cosine * radius };
}

/// The same of the two pairs of a block, whose first words are the upper ones.
inline fn normals64(comptime lanes: comptime_int, words: [philox.block_words]@Vector(lanes, u64)) [2][lanes]f64 {
    const V = @Vector(lanes, f64);
    const half: @Vector(lanes, u6) = @splat(32);
    const mask: @Vector(lanes, u64) = @splat(0xF_FFFF);
    const unit: V = @splat(0x1p-52);
    const first = (words[0] & mask) << half | words[1];
    const second = (words[2] & mask) << half | words[3];
    const fraction = @max(math.fromInteger(V, first) * unit, @as(V, @splat(least)));
    const radius = @sqrt(math.log64(V, fraction) * @as(V, @splat(-2)));
    const x = math.fromInteger(V, second) * unit;
    const angle = x * @as(V, @splat(tau));
    // What rounding took from the angle, so that the functions are those of the rounded one.
    const rest = x * @as(V, @splat(tau_rest));
    const lost = @mulAdd(V, x, @splat(-tau), angle) - rest;
    const turn = math.turn64(lanes, second << @splat(12));
    const sine = @mulAdd(V, turn.cos, lost, turn.sin);
    const cosine = @mulAdd(V, -turn.sin, lost, turn.cos);
    return .{ sine * radius, cosine * radius };
}

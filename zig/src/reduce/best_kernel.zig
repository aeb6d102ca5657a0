//! The few best values of a line with their indices, tile after tile.
//!
//! Values are compared as integers of their size in whose order the best is the largest: NaN above every number, zeros of both signs alike. What
//! cannot be among the best is passed over by vectors: of a tile's values in `group_count` groups, the best of each are kept, and no value that is
//! worse than the k-th of those counts.

const std = @import("std");
const storage = @import("../simd/storage.zig");

/// More than this many are kept in a heap (top_k.zig).
pub const most_kept = 64;
pub const tile_len = 1024;

/// Values of a tile that are compared with one another in the search for what counts; as many as a word has bits.
const group_count = 64;

pub fn Key(comptime T: type) type {
    return @Int(.signed, @bitSizeOf(T));
}

/// The best so far, in order; of equal ones the first stands first.
pub fn Kept(comptime T: type) type {
    return struct {
        /// The largest key stands before the first.
        keys: [1 + padded_kept]Key(T) align(64),
        /// As wide as keys; in the same order.
        indices: [1 + padded_kept]Key(T) align(64),
        count: usize,

        /// A whole number of vectors of any length.
        const padded_kept = most_kept + 64;

        pub fn reset(kept: *@This()) void {
            kept.keys = @splat(std.math.minInt(Key(T)));
            kept.keys[0] = std.math.maxInt(Key(T));
            kept.count = 0;
        }
    };
}

pub fn Tile(comptime T: type) type {
    return struct {
        is_largest: bool,
        /// At most `most_kept`.
        k: usize,
        ptr: [*]const T,
        /// At most `tile_len`.
        len: usize,
        /// Index of the first value.
        first: usize,
        kept: *Kept(T),
    };
}

pub inline fn best(comptime T: type, comptime lanes: comptime_int, tile: *const Tile(T)) void {
    // Everything below is inlined into one function.
    @setEvalBranchQuota(50_000);
    if (tile.is_largest) bestFor(T, lanes, true, tile) else bestFor(T, lanes, false, tile);
}

inline fn keyOf(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, values: @Vector(lanes, T)) @Vector(lanes, Key(T)) {
    const Keys = @Vector(lanes, Key(T));
    const last: @Vector(lanes, std.math.Log2Int(Key(T))) = @splat(@bitSizeOf(T) - 1);
    const most: Keys = @splat(std.math.maxInt(Key(T)));
    const key: Keys = if (comptime storage.isInteger(T))
        @as(Keys, @bitCast(values)) ^ @as(Keys, @splat(if (T == u64) std.math.minInt(Key(T)) else 0))
    else key: {
        // A negative zero and nothing are a positive zero.
        const bits: Keys = @bitCast(values + @as(@Vector(lanes, T), @splat(0)));
        const ordered = bits ^ ((bits >> last) & most);
        break :key @select(Key(T), values != values, most, ordered);
    };
    return if (is_largest) key else ~key;
}

inline fn bestFor(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, tile: *const Tile(T)) void {
    const Keys = @Vector(lanes, Key(T));
    const vectors = group_count / lanes;
    const least: Keys = @splat(std.math.minInt(Key(T)));
    var keys: [tile_len]Key(T) align(64) = undefined;
    var groups: [vectors]Keys = @splat(least);
    var done: usize = 0;
    while (done + group_count <= tile.len) : (done += group_count) {
        inline for (&groups, 0..) |*group, i| {
            const key = keyOf(T, lanes, is_largest, tile.ptr[done + i * lanes ..][0..lanes].*);
            keys[done + i * lanes ..][0..lanes].* = key;
            group.* = @max(group.*, key);
        }
    }
    if (done < tile.len) {
        for (done..tile.len) |i| keys[i] = keyOf(T, 1, is_largest, .{tile.ptr[i]})[0];
        @memset(keys[tile.len .. done + group_count], std.math.minInt(Key(T)));
        inline for (&groups, 0..) |*group, i| group.* = @max(group.*, @as(Keys, keys[done + i * lanes ..][0..lanes].*));
    }
    const kept = tile.kept;
    // Of equal values the later one loses.
    var floor: Key(T) = std.math.minInt(Key(T));
    if (kept.count == tile.k) {
        const worst = kept.keys[tile.k];
        var most = groups[0];
        inline for (groups[1..]) |group| most = @max(most, group);
        if (@reduce(.Max, most) <= worst) return;
        floor = worst + 1;
    }
    floor = @max(floor, floorOf(T, lanes, &groups, tile.k));
    const bound: Keys = @splat(floor);
    var begin: usize = 0;
    while (begin < tile.len) : (begin += group_count) {
        var indices: u64 = 0;
        inline for (0..vectors) |i| {
            const above: @Int(.unsigned, lanes) = @bitCast(@as(Keys, keys[begin + i * lanes ..][0..lanes].*) >= bound);
            indices |= @as(u64, above) << (i * lanes);
        }
        while (indices != 0) : (indices &= indices - 1) {
            const i = begin + @ctz(indices);
            if (i >= tile.len) break;
            insert(T, lanes, kept, tile.k, keys[i], @intCast(tile.first + i));
        }
    }
}

/// The k-th best of the best of groups: k values at least are as good.
inline fn floorOf(comptime T: type, comptime lanes: comptime_int, groups: *const [group_count / lanes]@Vector(lanes, Key(T)), k: usize) Key(T) {
    const Keys = @Vector(lanes, Key(T));
    const vectors = group_count / lanes;
    const zero: Keys = @splat(0);
    const one: Keys = @splat(1);
    const limit: Keys = @splat(@intCast(k));
    const most: Keys = @splat(std.math.maxInt(Key(T)));
    // Half of the groups are enough for few, and cost a quarter.
    const halves = comptime if (vectors > 1) vectors / 2 else 1;
    if (halves < vectors and k <= group_count / 4) {
        var pairs: [halves]Keys = undefined;
        inline for (&pairs, 0..) |*pair, i| pair.* = @max(groups[i], groups[i + halves]);
        return floorAmong(T, lanes, halves, &pairs, limit, zero, one, most);
    }
    return floorAmong(T, lanes, vectors, groups, limit, zero, one, most);
}

inline fn floorAmong(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime vectors: comptime_int,
    candidates: *const [vectors]@Vector(lanes, Key(T)),
    limit: @Vector(lanes, Key(T)),
    zero: @Vector(lanes, Key(T)),
    one: @Vector(lanes, Key(T)),
    most: @Vector(lanes, Key(T)),
) Key(T) {
    const Keys = @Vector(lanes, Key(T));
    const values: [vectors * lanes]Key(T) = @bitCast(candidates.*);
    var better: [vectors]Keys = @splat(zero);
    for (values) |value| {
        inline for (&better, candidates) |*count, candidate| count.* += @select(Key(T), @as(Keys, @splat(value)) > candidate, one, zero);
    }
    var least = most;
    inline for (better, candidates) |count, candidate| least = @min(least, @select(Key(T), count < limit, candidate, most));
    return @reduce(.Min, least);
}

/// After those that are as good; the last falls off where k are held. Each element becomes the larger of itself and the smaller of the one before
/// it and the new: no branch depends on where that belongs.
inline fn insert(comptime T: type, comptime lanes: comptime_int, kept: *Kept(T), k: usize, key: Key(T), index: Key(T)) void {
    const Keys = @Vector(lanes, Key(T));
    if (kept.count == k and key <= kept.keys[k]) return;
    const count = @min(k, kept.count + 1);
    kept.count = count;
    if (key == std.math.minInt(Key(T))) {
        // Elements that nothing fills yet look the same.
        kept.keys[count] = key;
        kept.indices[count] = index;
        return;
    }
    const new: Keys = @splat(key);
    const new_index: Keys = @splat(index);
    var end = (count + lanes - 1) / lanes * lanes;
    while (end > 0) : (end -= lanes) {
        const held: Keys = kept.keys[1 + end - lanes ..][0..lanes].*;
        const before: Keys = kept.keys[end - lanes ..][0..lanes].*;
        const held_indices: Keys = kept.indices[1 + end - lanes ..][0..lanes].*;
        const indices_before: Keys = kept.indices[end - lanes ..][0..lanes].*;
        const stays = held >= new;
        kept.keys[1 + end - lanes ..][0..lanes].* = @max(held, @min(before, new));
        kept.indices[1 + end - lanes ..][0..lanes].* = @select(Key(T), stays, held_indices, @select(Key(T), before >= new, new_index, indices_before));
    }
}

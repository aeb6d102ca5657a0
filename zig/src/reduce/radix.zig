//! Radix sorts of words by some of their bits. They are stable: words that agree in these bits stay in order.
//!
//! What fits the second cache is sorted from the last digit to the first (LSD), each digit once for all words; more words are shared out by their
//! first digit that tells any two apart (MSD), until the parts fit. Digits in which all words agree take no pass.

const std = @import("std");

/// Words that are sorted by insertion: below that, counting digits takes longer.
const few = 24;
/// Bytes of words that LSD passes move: with the buffer half of a second cache of 2 MiB.
const near_bytes = 512 << 10;
const digit_bits = 8;
const digits = 1 << digit_bits;

/// Sorts by bits [low, low + bits); the result is in `words` or in `buffer`, of which the one that holds it is returned.
pub fn sort(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    std.debug.assert(words.len == buffer.len);
    if (words.len <= few) {
        insert(W, low, words, bits);
        return words;
    }
    if (bits == 0) return words;
    if (words.len * @sizeOf(W) <= near_bytes) return sortByLast(W, low, words, buffer, bits);
    return sortByFirst(W, low, words, buffer, bits);
}

/// The bits that are sorted by.
inline fn key(comptime W: type, comptime low: comptime_int, word: W, bits: u32) W {
    const above: std.math.Log2Int(W) = @intCast(@bitSizeOf(W) - low - bits);
    return word << above >> above >> low;
}

fn insert(comptime W: type, comptime low: comptime_int, words: []W, bits: u32) void {
    if (bits == 0) return;
    for (1..words.len) |i| {
        const word = words[i];
        const own = key(W, low, word, bits);
        var at = i;
        while (at > 0 and key(W, low, words[at - 1], bits) > own) : (at -= 1) words[at] = words[at - 1];
        words[at] = word;
    }
}

inline fn digit(comptime W: type, word: W, shift: u32) usize {
    return @as(u8, @truncate(word >> @intCast(shift)));
}

fn sortByLast(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    const most = (@bitSizeOf(W) - low + digit_bits - 1) / digit_bits;
    const passes = (bits + digit_bits - 1) / digit_bits;
    // The last digit that is counted may have bits above those that are sorted by.
    const surplus = passes * digit_bits - bits;
    var counts: [most][digits]u32 = undefined;
    for (counts[0..passes]) |*own| own.* = @splat(0);
    const last_mask: usize = @as(usize, digits - 1) >> @intCast(surplus);
    for (words) |word| {
        inline for (0..most) |pass| {
            if (pass + 1 < passes) {
                counts[pass][digit(W, word, low + pass * digit_bits)] += 1;
            } else if (pass + 1 == passes) {
                counts[pass][digit(W, word, low + pass * digit_bits) & last_mask] += 1;
            }
        }
    }
    var from = words;
    var to = buffer;
    for (0..passes) |pass| {
        const shift: u32 = @intCast(low + pass * digit_bits);
        const mask: usize = if (pass + 1 == passes) last_mask else digits - 1;
        const own = &counts[pass];
        if (own[digit(W, from[0], shift) & mask] == from.len) continue;
        var sum: u32 = 0;
        for (own) |*count| {
            const before = sum;
            sum += count.*;
            count.* = before;
        }
        for (from) |word| {
            const place = &own[digit(W, word, shift) & mask];
            to[place.*] = word;
            place.* += 1;
        }
        std.mem.swap([]W, &from, &to);
    }
    return from;
}

fn sortByFirst(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    // Bits that all words agree in are passed over.
    var differing: W = 0;
    for (words) |word| differing |= word ^ words[0];
    const differing_bits: u32 = @bitSizeOf(W) - @as(u32, @clz(key(W, low, differing, bits)));
    if (differing_bits == 0) return words;
    const rest = differing_bits -| digit_bits;
    const mask: usize = (@as(usize, 1) << @intCast(differing_bits - rest)) - 1;
    const shift: u32 = low + rest;
    var ends: [digits]usize = @splat(0);
    for (words) |word| ends[digit(W, word, shift) & mask] += 1;
    var sum: usize = 0;
    for (&ends) |*count| {
        const before = sum;
        sum += count.*;
        count.* = before;
    }
    for (words) |word| {
        const place = &ends[digit(W, word, shift) & mask];
        buffer[place.*] = word;
        place.* += 1;
    }
    var first: usize = 0;
    for (ends) |end| {
        const part = buffer[first..end];
        const sorted = sort(W, low, part, words[first..end], rest);
        if (sorted.ptr != part.ptr) @memcpy(part, sorted);
        first = end;
    }
    return buffer;
}

fn testSort(comptime W: type, comptime low: comptime_int, bits: u32, len: usize, differing: W) !void {
    const allocator = std.testing.allocator;
    var random: std.Random.DefaultPrng = .init(len + bits);
    const rng = random.random();
    const words = try allocator.alloc(W, len);
    defer allocator.free(words);
    const buffer = try allocator.alloc(W, len);
    defer allocator.free(buffer);
    for (words) |*word| word.* = rng.int(W) & differing;
    const expected = try allocator.dupe(W, words);
    defer allocator.free(expected);
    const Order = struct {
        fn isLess(of_bits: u32, a: W, b: W) bool {
            return key(W, low, a, of_bits) < key(W, low, b, of_bits);
        }
    };
    std.mem.sort(W, expected, bits, Order.isLess);
    try std.testing.expectEqualSlices(W, expected, sort(W, low, words, buffer, bits));
}

test "words are sorted by the bits that are asked for, and stay in order where they agree" {
    for ([_]usize{ 0, 1, 2, 24, 25, 300, 5000, 70_000, 300_000 }) |len| {
        try testSort(u16, 0, 16, len, 0xffff);
        try testSort(u32, 0, 32, len, 0xffff_ffff);
        try testSort(u32, 0, 21, len, 0xffff_ffff);
        try testSort(u32, 0, 32, len, 0x0000_0ff0);
        try testSort(u64, 32, 32, len, 0x00ff_00f0_ffff_ffff);
        try testSort(u64, 32, 8, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 32, 3, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 0, 64, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 0, 64, len, 0);
        try testSort(u128, 64, 64, len, 0x0000_0000_ffff_ffff_ffff_ffff_ffff_ffff);
    }
}

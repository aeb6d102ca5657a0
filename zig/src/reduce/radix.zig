//! Radix sorts of words. They are stable: words that agree in the bits that are sorted by stay in order.
//!
//! Few bits are sorted from the last digit to the first (LSD). By many bits words are shared out by the first digit that tells any two apart
//! (MSD), as wide as leaves a handful for each part, which insertion sorts: most of the bits are never looked at. Bits in which all words agree
//! take no pass.

const std = @import("std");

/// Words that are sorted by insertion.
const few = 24;
/// Words that a part has on average: parts of twice as many are still sorted by insertion.
const words_per_part = 8;
/// Bits that are sorted from the last digit to the first.
const most_last_bits = 16;
const last_digit_bits = 8;
const last_digits = 1 << last_digit_bits;
/// Bits of a first digit at most: the counts of its values fit the first cache.
const most_first_bits = 11;

/// Sorts by bits [low, low + bits); the result is in `words` or in `buffer`, of which the one that holds it is returned.
///
/// Words agree in all bits above, and bits below `low` rise from word to word: they are where a word stands.
pub fn sort(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    std.debug.assert(words.len == buffer.len);
    if (words.len <= few) {
        insert(W, words);
        return words;
    }
    if (bits == 0) return words;
    if (bits <= most_last_bits) return sortByLast(W, low, words, buffer, bits);
    return sortByFirst(W, low, words, buffer, bits);
}

/// As bits above agree and those below rise, whole words are compared.
fn insert(comptime W: type, words: []W) void {
    if (words.len < 2) return;
    for (1..words.len) |i| {
        const word = words[i];
        var at = i;
        while (at > 0 and words[at - 1] > word) : (at -= 1) words[at] = words[at - 1];
        words[at] = word;
    }
}

inline fn digit(comptime W: type, word: W, shift: u32, mask: usize) usize {
    return @as(usize, @truncate(word >> @intCast(shift))) & mask;
}

/// What stands before each value of a digit.
inline fn sumUp(counts: anytype) void {
    var sum: usize = 0;
    for (counts) |*count| {
        const before = sum;
        sum += count.*;
        count.* = before;
    }
}

inline fn shareOut(comptime W: type, from: []const W, to: []W, places: []usize, shift: u32, mask: usize) void {
    for (from) |word| {
        const place = &places[digit(W, word, shift, mask)];
        to[place.*] = word;
        place.* += 1;
    }
}

fn sortByLast(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    var from = words;
    var to = buffer;
    var done: u32 = 0;
    while (done < bits) : (done += last_digit_bits) {
        const shift = low + done;
        const mask = (@as(usize, 1) << @intCast(@min(last_digit_bits, bits - done))) - 1;
        var counts: [last_digits]usize = @splat(0);
        for (from) |word| counts[digit(W, word, shift, mask)] += 1;
        if (counts[digit(W, from[0], shift, mask)] == from.len) continue;
        sumUp(&counts);
        shareOut(W, from, to, &counts, shift, mask);
        std.mem.swap([]W, &from, &to);
    }
    return from;
}

fn sortByFirst(comptime W: type, comptime low: comptime_int, words: []W, buffer: []W, bits: u32) []W {
    var differing: W = 0;
    for (words) |word| differing |= word ^ words[0];
    const differing_bits = @min(bits, @bitSizeOf(W) - @as(u32, @clz(differing >> low)));
    if (differing_bits == 0) return words;
    const wanted: u32 = std.math.log2_int(usize, words.len / words_per_part);
    const first_bits = @min(differing_bits, most_first_bits, @max(1, wanted));
    const rest = differing_bits - first_bits;
    const mask = (@as(usize, 1) << @intCast(first_bits)) - 1;
    var places: [1 << most_first_bits]usize = undefined;
    const ends = places[0 .. mask + 1];
    @memset(ends, 0);
    for (words) |word| ends[digit(W, word, low + rest, mask)] += 1;
    sumUp(ends);
    shareOut(W, words, buffer, ends, low + rest, mask);
    if (rest == 0) return buffer;
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
    const wanted = if (bits == @bitSizeOf(W)) ~@as(W, 0) else ((@as(W, 1) << @intCast(bits)) - 1) << low;
    for (words, 0..) |*word, place| word.* = rng.int(W) & differing & wanted | (if (low > 0) place else 0);
    const expected = try allocator.dupe(W, words);
    defer allocator.free(expected);
    std.mem.sort(W, expected, {}, std.sort.asc(W));
    try std.testing.expectEqualSlices(W, expected, sort(W, low, words, buffer, bits));
}

test "words are sorted by the bits that are asked for, and stay in order where they agree" {
    for ([_]usize{ 0, 1, 2, 24, 25, 300, 5000, 70_000, 300_000 }) |len| {
        try testSort(u8, 0, 8, len, 0xff);
        try testSort(u16, 0, 16, len, 0xffff);
        try testSort(u32, 0, 32, len, 0xffff_ffff);
        try testSort(u32, 0, 21, len, 0xffff_ffff);
        try testSort(u32, 0, 32, len, 0x0000_0ff0);
        try testSort(u64, 32, 32, len, 0x00ff_00f0_ffff_ffff);
        try testSort(u64, 32, 8, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 32, 3, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 0, 64, len, 0xffff_ffff_ffff_ffff);
        try testSort(u64, 0, 64, len, 0xc000_0000_0000_0003);
        try testSort(u64, 0, 64, len, 0);
        try testSort(u128, 64, 64, len, 0x0000_0000_ffff_ffff_ffff_ffff_ffff_ffff);
        try testSort(u128, 64, 64, len, std.math.maxInt(u128));
    }
}

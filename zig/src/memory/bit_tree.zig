//! A set of small integers with "lowest member" in O(log64 n): a bitmap, a bitmap of its non-zero words, and so on up to one word.

const std = @import("std");

pub const BitTree = struct {
    /// Words of all levels, leaves first.
    words: []u64,
    /// Where each level starts in `words`.
    starts: [max_levels]usize,
    level_count: usize,
    len: usize,

    /// 64^7 exceeds any number of blocks that fits memory.
    const max_levels = 7;

    pub fn wordCount(len: usize) usize {
        var total: usize = 0;
        var bits = len;
        while (true) {
            const words = (bits + 63) / 64;
            total += words;
            if (words <= 1) return @max(total, 1);
            bits = words;
        }
    }

    /// An empty set of integers below `len`. `words` holds zeros and is `wordCount(len)` long.
    pub fn init(words: []u64, len: usize) BitTree {
        var tree: BitTree = .{ .words = words, .starts = @splat(0), .level_count = 0, .len = len };
        var start: usize = 0;
        var bits = @max(len, 1);
        while (true) {
            tree.starts[tree.level_count] = start;
            tree.level_count += 1;
            const count = (bits + 63) / 64;
            start += count;
            if (count == 1) return tree;
            bits = count;
        }
    }

    fn word(tree: *const BitTree, level: usize, index: usize) *u64 {
        return &tree.words[tree.starts[level] + index / 64];
    }

    fn bit(index: usize) u64 {
        return @as(u64, 1) << @intCast(index % 64);
    }

    pub fn contains(tree: *const BitTree, index: usize) bool {
        return index < tree.len and tree.word(0, index).* & bit(index) != 0;
    }

    pub fn insert(tree: *const BitTree, index: usize) void {
        var at = index;
        for (0..tree.level_count) |level| {
            const target = tree.word(level, at);
            const was_empty = target.* == 0;
            target.* |= bit(at);
            if (!was_empty) return;
            at /= 64;
        }
    }

    pub fn remove(tree: *const BitTree, index: usize) void {
        var at = index;
        for (0..tree.level_count) |level| {
            const target = tree.word(level, at);
            target.* &= ~bit(at);
            if (target.* != 0) return;
            at /= 64;
        }
    }

    pub fn isEmpty(tree: *const BitTree) bool {
        return tree.words[tree.starts[tree.level_count - 1]] == 0;
    }

    pub fn lowest(tree: *const BitTree) ?usize {
        if (tree.isEmpty()) return null;
        var index: usize = 0;
        var level = tree.level_count;
        while (level > 0) {
            level -= 1;
            index = index * 64 + @ctz(tree.words[tree.starts[level] + index]);
        }
        return index;
    }

    pub fn clear(tree: *const BitTree) void {
        @memset(tree.words, 0);
    }

    /// Every integer below `len`.
    pub fn fill(tree: *const BitTree) void {
        var bits = tree.len;
        for (0..tree.level_count) |level| {
            const count = (@max(bits, 1) + 63) / 64;
            const words = tree.words[tree.starts[level]..][0..count];
            @memset(words, std.math.maxInt(u64));
            if (bits % 64 != 0) words[count - 1] = bit(bits) - 1;
            if (bits == 0) words[0] = 0;
            bits = count;
        }
        if (tree.len == 0) tree.clear();
    }
};

test "the lowest member is found at every size" {
    for ([_]usize{ 1, 63, 64, 65, 4096, 4097, 300_000 }) |len| {
        const words = try std.testing.allocator.alloc(u64, BitTree.wordCount(len));
        defer std.testing.allocator.free(words);
        @memset(words, 0);
        const tree: BitTree = .init(words, len);
        try std.testing.expectEqual(null, tree.lowest());
        tree.insert(len - 1);
        try std.testing.expectEqual(len - 1, tree.lowest());
        tree.insert(len / 2);
        try std.testing.expectEqual(len / 2, tree.lowest());
        tree.remove(len / 2);
        tree.remove(len - 1);
        try std.testing.expect(tree.isEmpty());
        tree.fill();
        for (0..@min(len, 5000)) |index| {
            try std.testing.expectEqual(index, tree.lowest());
            tree.remove(index);
        }
        try std.testing.expectEqual(len <= 5000, tree.isEmpty());
    }
}

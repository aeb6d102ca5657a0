//! A line that is sorted: its elements as words, and sorted words as its result.
//!
//! `Kind` says what words are: the keys of elements, or keys with the places of elements behind them (sort.zig).

const Table = @import("sort_table.zig").Table;

/// A line of x and that of the result; steps are in elements.
pub fn Line(comptime Kind: type) type {
    return struct {
        kind: Kind,
        source: usize,
        source_step: isize,
        target: usize,
        target_step: isize,
        len: usize,

        pub inline fn element(line: *const @This(), place: usize) Kind.Raw {
            return pointer(Kind.Raw, line.source, line.source_step, place).*;
        }

        pub inline fn result(line: *const @This(), rank: usize) *Kind.Result {
            return pointer(Kind.Result, line.target, line.target_step, rank);
        }

        inline fn pointer(comptime T: type, address: usize, step: isize, index: usize) *T {
            return @ptrFromInt(address +% @as(usize, @bitCast(@as(isize, @intCast(index)) * step * @sizeOf(T))));
        }

        /// Words of elements [first, first + words.len).
        pub fn read(line: *const @This(), first: usize, words: []Kind.Word) void {
            if (line.source_step == 1) {
                const source = @as([*]const Kind.Raw, @ptrFromInt(line.source)) + first;
                for (words, source[0..words.len], first..) |*word, value, place| word.* = line.kind.word(value, place);
            } else for (words, first..) |*word, place| word.* = line.kind.word(line.element(place), place);
        }

        /// Sorted words as results from rank `first` on.
        pub fn write(line: *const @This(), first: usize, words: []const Kind.Word) void {
            if (line.target_step == 1) {
                const target = @as([*]Kind.Result, @ptrFromInt(line.target)) + first;
                for (words, target[0..words.len]) |word, *value| value.* = line.kind.result(word);
            } else for (words, first..) |word, rank| line.result(rank).* = line.kind.result(word);
        }

        /// Sorts by vectors, where results are adjacent in their own memory.
        pub fn sortByVectors(line: *const @This(), table: *const Table(Kind.Word)) void {
            const Order = Kind.Order;
            const words = @as([*]Kind.Word, @ptrFromInt(line.target))[0..line.len];
            const flip = line.kind.order.flip;
            const source: [*]const Kind.Word = if (line.source_step == 1) @ptrFromInt(line.source) else words.ptr;
            if (line.source_step != 1) {
                for (words, 0..) |*word, place| word.* = @bitCast(line.element(place));
            }
            if (Order.is_float) {
                const has_negative_zero = table.of_floats(source, words.ptr, line.len, flip);
                table.sort(words.ptr, line.len);
                table.to_floats(words.ptr, line.len, flip);
                if (has_negative_zero) line.orderZeros();
                return;
            }
            const mask = line.kind.order.key(@bitCast(@as(Kind.Word, 0)));
            table.flip(source, words.ptr, line.len, mask);
            table.sort(words.ptr, line.len);
            if (mask != 0) table.flip(words.ptr, words.ptr, line.len, mask);
        }

        /// Sorts elements of one byte, which are all that equal keys differ in.
        pub fn repeatCounted(line: *const @This()) void {
            // Equal neighbours add to different counts, of which the processor keeps more than one under way.
            var counts: [4][256]usize = @splat(@splat(0));
            var tile: [1024]Kind.Word = undefined;
            var done: usize = 0;
            while (done < line.len) {
                const words = tile[0..@min(tile.len, line.len - done)];
                line.read(done, words);
                var i: usize = 0;
                while (i + 4 <= words.len) : (i += 4) inline for (0..4) |k| {
                    counts[k][words[i + k]] += 1;
                };
                for (words[i..]) |word| counts[0][word] += 1;
                done += words.len;
            }
            var rank: usize = 0;
            for (0..256) |word| {
                const value = line.kind.result(@intCast(word));
                const end = rank + counts[0][word] + counts[1][word] + counts[2][word] + counts[3][word];
                if (line.target_step == 1) {
                    @memset(@as([*]Kind.Result, @ptrFromInt(line.target))[rank..end], value);
                } else for (rank..end) |place| {
                    line.result(place).* = value;
                }
                rank = end;
            }
        }

        /// Zeros of both signs are equal: they take the order in which x has them.
        pub fn orderZeros(line: *const @This()) void {
            const Order = Kind.Order;
            if (!Order.is_float or Kind.Result != Kind.Raw) return;
            const negative: Kind.Raw = @bitCast(Order.negative_zero);
            const keys = [2]Order.Key{ line.kind.order.key(negative), line.kind.order.key(@bitCast(@as(Order.Key, 0))) };
            const first = line.lowerBound(@min(keys[0], keys[1]));
            const end = line.lowerBound(@max(keys[0], keys[1]) + 1);
            if (end - first < 2 or line.kind.order.key(line.result(first).*) == line.kind.order.key(line.result(end - 1).*)) return;
            var rank = first;
            for (0..line.len) |place| {
                const bits: Order.Key = @bitCast(line.element(place));
                if (bits != 0 and bits != Order.negative_zero) continue;
                line.result(rank).* = line.element(place);
                rank += 1;
            }
        }

        /// The first result whose key is not smaller.
        fn lowerBound(line: *const @This(), key: Kind.Order.Key) usize {
            var first: usize = 0;
            var count = line.len;
            while (count > 0) {
                const half = count / 2;
                if (line.kind.order.key(line.result(first + half).*) < key) {
                    first += half + 1;
                    count -= half + 1;
                } else count = half;
            }
            return first;
        }
    };
}

//! Reductions of runs and of rows of values in the type that is computed in.
//!
//! Sums are pairwise: leaves of a fixed length are summed lane by lane, and the sums of leaves are joined as the digits of a binary counter
//! carry, so that the error grows with the logarithm of the length (Higham, Accuracy and Stability, section 4.2).

const std = @import("std");
const elementwise_kernel = @import("../elementwise/elementwise_kernel.zig");
const fetch = @import("../simd/fetch.zig");
const Moments = @import("moments.zig").Moments;
const storage = @import("../simd/storage.zig");

pub const Fold = enum {
    sum,
    product,
    maximum,
    minimum,
    /// Whether a value is other than zero.
    any,
    all,
    /// Sum of (x - mean)^2: the partial results are moments (moments_kernel.zig).
    squares,

    /// The elementwise operation that joins two partial results; of moments there is none.
    pub fn joint(fold: Fold) elementwise_kernel.Operation {
        return switch (fold) {
            .sum => .add,
            .product => .multiply,
            .maximum, .any => .maximum,
            .minimum, .all => .minimum,
            .squares => unreachable,
        };
    }
};

/// Type of a partial result.
pub fn Partial(comptime T: type, comptime fold: Fold) type {
    return if (fold == .squares) Moments else T;
}

/// Number of values in a leaf of a run.
pub const leaf_len = 1024;

/// The result of folding no values.
pub fn identity(comptime T: type, fold: Fold) T {
    const is_integer = comptime storage.isInteger(T);
    return switch (fold) {
        .sum, .squares, .any => 0,
        .product, .all => 1,
        .maximum => if (is_integer) std.math.minInt(T) else -std.math.inf(T),
        .minimum => if (is_integer) std.math.maxInt(T) else std.math.inf(T),
    };
}

/// Joins partial results pairwise, in order.
pub fn Cascade(comptime T: type, comptime fold: Fold) type {
    const Value = Partial(T, fold);
    return struct {
        /// One level for each bit of a length in memory.
        partials: [48]Value = undefined,
        count: usize = 0,

        const Self = @This();

        pub inline fn push(self: *Self, next: Value) void {
            var value = next;
            var level: usize = 0;
            while (self.count >> @intCast(level) & 1 == 1) : (level += 1) value = join(T, fold, self.partials[level], value);
            self.partials[level] = value;
            self.count += 1;
        }

        pub inline fn total(self: *const Self) Value {
            if (self.count == 0) return if (fold == .squares) .{} else identity(T, fold);
            var level: usize = @ctz(self.count);
            var value = self.partials[level];
            level += 1;
            while (self.count >> @intCast(level) != 0) : (level += 1) {
                if (self.count >> @intCast(level) & 1 == 1) value = join(T, fold, self.partials[level], value);
            }
            return value;
        }
    };
}

inline fn join(comptime T: type, comptime fold: Fold, a: Partial(T, fold), b: Partial(T, fold)) Partial(T, fold) {
    if (comptime fold == .squares) return a.join(b);
    return joined(T, 1, fold, .{a}, .{b})[0];
}

inline fn joined(comptime T: type, comptime len: comptime_int, comptime fold: Fold, a: @Vector(len, T), b: @Vector(len, T)) @Vector(len, T) {
    const is_integer = comptime storage.isInteger(T);
    return switch (comptime fold.joint()) {
        .add => if (is_integer) a +% b else a + b,
        .multiply => if (is_integer) a *% b else a * b,
        .maximum => if (is_integer) @max(a, b) else elementwise_kernel.maximum(T, len, a, b),
        .minimum => if (is_integer) @min(a, b) else elementwise_kernel.minimum(T, len, a, b),
        else => comptime unreachable,
    };
}

inline fn mapped(comptime T: type, comptime len: comptime_int, comptime fold: Fold, x: @Vector(len, T)) @Vector(len, T) {
    const V = @Vector(len, T);
    const zero: V = @splat(0);
    const one: V = @splat(1);
    return switch (fold) {
        .any, .all => @select(T, x != zero, one, zero),
        else => x,
    };
}

/// A run of adjacent values to fold.
pub fn Run(comptime T: type) type {
    return struct { fold: Fold, ptr: [*]const T, len: usize };
}

pub inline fn foldRun(comptime T: type, comptime lanes: comptime_int, run: *const Run(T)) T {
    switch (run.fold) {
        .squares => unreachable,
        inline else => |fold| {
            var cascade: Cascade(T, fold) = .{};
            var begin: usize = 0;
            while (begin < run.len) : (begin += leaf_len) {
                cascade.push(leaf(T, lanes, fold, run.ptr + begin, @min(leaf_len, run.len - begin)));
            }
            return cascade.total();
        },
    }
}

inline fn leaf(comptime T: type, comptime lanes: comptime_int, comptime fold: Fold, ptr: [*]const T, len: usize) T {
    const V = @Vector(lanes, T);
    const chain_count = 4;
    var accumulators: [chain_count]V = @splat(@splat(identity(T, fold)));
    var nans: @Vector(lanes, bool) = @splat(false);
    var i: usize = 0;
    while (i + chain_count * lanes <= len) : (i += chain_count * lanes) {
        fetch.ahead(chain_count * lanes * @sizeOf(T), ptr + i, .read);
        var values: [chain_count]V = undefined;
        inline for (0..chain_count) |chain| values[chain] = ptr[i + chain * lanes ..][0..lanes].*;
        if (comptime isOrdered(T, fold)) nans = nans | anyNan(V, chain_count, values);
        inline for (0..chain_count) |chain| accumulators[chain] = folded(T, lanes, fold, accumulators[chain], mapped(T, lanes, fold, values[chain]));
    }
    while (i + lanes <= len) : (i += lanes) {
        accumulators[0] = joined(T, lanes, fold, accumulators[0], mapped(T, lanes, fold, ptr[i..][0..lanes].*));
    }
    const half_accumulators = [2]V{ joined(T, lanes, fold, accumulators[0], accumulators[1]), joined(T, lanes, fold, accumulators[2], accumulators[3]) };
    const parts: [lanes]T = joined(T, lanes, fold, half_accumulators[0], half_accumulators[1]);
    var value = across(T, lanes, fold, parts);
    while (i < len) : (i += 1) value = join(T, fold, value, mapped(T, 1, fold, .{ptr[i]})[0]);
    if (comptime isOrdered(T, fold)) {
        if (@reduce(.Or, nans)) return std.math.nan(T);
    }
    return value;
}

/// Whether values are compared, so that those that are no numbers have to be looked for.
fn isOrdered(comptime T: type, comptime fold: Fold) bool {
    return (fold == .maximum or fold == .minimum) and !storage.isInteger(T);
}

/// `joined`, of ordered values by one instruction, which passes over a NaN in `value`.
inline fn folded(comptime T: type, comptime lanes: comptime_int, comptime fold: Fold, best: @Vector(lanes, T), value: @Vector(lanes, T)) @Vector(lanes, T) {
    if (comptime !isOrdered(T, fold)) return joined(T, lanes, fold, best, value);
    return @select(T, if (fold == .maximum) value > best else value < best, value, best);
}

/// Lanes in which any of several vectors holds a NaN: one comparison for each two of them.
inline fn anyNan(comptime V: type, comptime chain_count: comptime_int, values: [chain_count]V) @Vector(@typeInfo(V).vector.len, bool) {
    var found = (values[0] != values[0]) | (values[1] != values[1]);
    inline for (1..chain_count / 2) |pair| {
        found = found | ((values[2 * pair] != values[2 * pair]) | (values[2 * pair + 1] != values[2 * pair + 1]));
    }
    return found;
}

/// Halves the lanes until one is left.
pub inline fn across(comptime T: type, comptime lanes: comptime_int, comptime fold: Fold, parts: [lanes]T) T {
    return acrossTo(T, lanes, 1, fold, parts)[0];
}

/// Halves the lanes until `left` are.
inline fn acrossTo(comptime T: type, comptime lanes: comptime_int, comptime left: comptime_int, comptime fold: Fold, parts: [lanes]T) [left]T {
    if (lanes == left) return parts;
    const half = lanes / 2;
    const low: @Vector(half, T) = parts[0..half].*;
    const high: @Vector(half, T) = parts[half..].*;
    return acrossTo(T, half, left, fold, joined(T, half, fold, low, high));
}

/// target[j] = fold of x[i][j] over rows i, led on from what is in `target` where `continues`.
pub fn Rows(comptime T: type) type {
    return struct {
        fold: Fold,
        ptr: [*]const T,
        /// Distance from row to row, in elements.
        step: isize,
        rows: usize,
        width: usize,
        target: [*]T,
        continues: bool,
    };
}

/// Widths of rows of which several fill a vector: parts of complex numbers, colours with an opacity.
pub const packed_widths = [_]comptime_int{ 2, 4 };

/// Rows that are read together where they are short: their results would wait for those of the row before.
const row_group = 4;
/// Vectors of a short row. Longer ones are read one after another, which is the order that the processor fetches ahead best: 268 us instead of 380
/// for the maximum of 4096 rows of 1024.
const short_row = 8;

pub inline fn foldRows(comptime T: type, comptime lanes: comptime_int, job: *const Rows(T)) void {
    // Everything below is inlined into one function.
    @setEvalBranchQuota(10_000);
    switch (job.fold) {
        .squares => unreachable,
        inline else => |fold| {
            inline for (packed_widths) |width| {
                if (comptime width < lanes) {
                    if (job.width == width and job.step == width) return foldPacked(T, lanes, width, fold, job);
                }
            }
            var row: usize = 0;
            var continues = job.continues;
            const is_short = job.width <= short_row * lanes;
            while (is_short and row + row_group <= job.rows) : (row += row_group) {
                foldGroup(T, lanes, row_group, fold, job, row, continues);
                continues = true;
            }
            while (row < job.rows) : (row += 1) {
                foldGroup(T, lanes, 1, fold, job, row, continues);
                continues = true;
            }
        },
    }
}

/// Adjacent rows that are shorter than a vector: what stands in a column is folded in lanes of its own, which are joined at the end.
inline fn foldPacked(comptime T: type, comptime lanes: comptime_int, comptime width: comptime_int, comptime fold: Fold, job: *const Rows(T)) void {
    const V = @Vector(lanes, T);
    const chain_count = 4;
    const len = job.rows * width;
    var chains: [chain_count]V = @splat(@splat(identity(T, fold)));
    var i: usize = 0;
    while (i + chain_count * lanes <= len) : (i += chain_count * lanes) {
        fetch.ahead(chain_count * lanes * @sizeOf(T), job.ptr + i, .read);
        inline for (&chains, 0..) |*chain, k| chain.* = joined(T, lanes, fold, chain.*, mapped(T, lanes, fold, job.ptr[i + k * lanes ..][0..lanes].*));
    }
    while (i + lanes <= len) : (i += lanes) chains[0] = joined(T, lanes, fold, chains[0], mapped(T, lanes, fold, job.ptr[i..][0..lanes].*));
    const parts: [lanes]T = joined(T, lanes, fold, joined(T, lanes, fold, chains[0], chains[1]), joined(T, lanes, fold, chains[2], chains[3]));
    var row: @Vector(width, T) = acrossTo(T, lanes, width, fold, parts);
    while (i < len) : (i += width) row = joined(T, width, fold, row, mapped(T, width, fold, job.ptr[i..][0..width].*));
    const target = job.target[0..width];
    target.* = if (job.continues) joined(T, width, fold, target.*, row) else row;
}

inline fn foldGroup(comptime T: type, comptime lanes: comptime_int, comptime rows: comptime_int, comptime fold: Fold, job: *const Rows(T), row: usize, continues: bool) void {
    const first = job.ptr + @as(usize, @bitCast(@as(isize, @intCast(row)) * job.step));
    var column: usize = 0;
    while (column + lanes <= job.width) : (column += lanes) foldColumns(T, lanes, rows, fold, job, first, column, continues);
    while (column < job.width) : (column += 1) foldColumns(T, 1, rows, fold, job, first, column, continues);
}

/// Folds in the order of the rows, so that the size of a group does not change a bit.
inline fn foldColumns(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime rows: comptime_int,
    comptime fold: Fold,
    job: *const Rows(T),
    first: [*]const T,
    column: usize,
    continues: bool,
) void {
    const V = @Vector(lanes, T);
    var values: [rows]V = undefined;
    inline for (0..rows) |i| {
        const line = first + @as(usize, @bitCast(@as(isize, i) * job.step));
        values[i] = mapped(T, lanes, fold, line[column..][0..lanes].*);
    }
    const target = job.target[column..][0..lanes];
    var value = if (continues) joined(T, lanes, fold, target.*, values[0]) else values[0];
    inline for (1..rows) |i| value = joined(T, lanes, fold, value, values[i]);
    target.* = value;
}

/// The best value of a run and its first index. The first NaN is better than any number, as in NumPy.
pub fn Best(comptime T: type) type {
    return struct { value: T, index: usize };
}

pub fn Search(comptime T: type) type {
    return struct { is_largest: bool, ptr: [*]const T, len: usize, found: *Best(T) };
}

pub inline fn search(comptime T: type, comptime lanes: comptime_int, job: *const Search(T)) void {
    // Everything below is inlined into one function.
    @setEvalBranchQuota(10_000);
    job.found.* = if (job.is_largest) searchFor(T, lanes, true, job) else searchFor(T, lanes, false, job);
}

/// Whether x replaces `best`, which stands before it.
pub inline fn isBetter(comptime T: type, comptime len: comptime_int, comptime is_largest: bool, x: @Vector(len, T), best: @Vector(len, T)) @Vector(len, bool) {
    const beats = if (is_largest) x > best else x < best;
    if (comptime storage.isInteger(T)) return beats;
    const no: @Vector(len, bool) = @splat(false);
    const yes: @Vector(len, bool) = @splat(true);
    return @select(bool, best != best, no, @select(bool, x != x, yes, beats));
}

/// Blocks are searched one after the other; the first of equal values counts. Of all but the first only those that hold a better value are
/// gone through for its index: among values in no order few do.
inline fn searchFor(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, job: *const Search(T)) Best(T) {
    var found = bestOf(T, lanes, is_largest, job.ptr, @min(leaf_len, job.len));
    var begin: usize = leaf_len;
    while (begin < job.len) : (begin += leaf_len) {
        const block = job.ptr + begin;
        const len = @min(leaf_len, job.len - begin);
        const value = leaf(T, lanes, if (is_largest) .maximum else .minimum, block, len);
        if (!isBetter(T, 1, is_largest, .{value}, .{found.value})[0]) continue;
        found = .{ .value = value, .index = begin + indexOf(T, lanes, block, len, value) };
    }
    return found;
}

/// Values whose comparisons fill a word of bits.
const word_len = 64;
const line_bytes = 64;
const quarters = 4;

/// Quarters of the block in words of values, then the rest.
inline fn bestOf(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, ptr: [*]const T, len: usize) Best(T) {
    const quarter_len = len / quarters / word_len * word_len;
    const whole = quarters * quarter_len;
    if (whole == len) return bestOfQuarters(T, lanes, is_largest, ptr, quarter_len);
    const rest = ptr + whole;
    const value = leaf(T, lanes, if (is_largest) .maximum else .minimum, rest, len - whole);
    if (whole > 0) {
        const best = bestOfQuarters(T, lanes, is_largest, ptr, quarter_len);
        if (!isBetter(T, 1, is_largest, .{value}, .{best.value})[0]) return best;
    }
    return .{ .value = value, .index = whole + indexOf(T, lanes, rest, len - whole, value) };
}

/// Each quarter is folded, and only the first that holds the best value is gone through for its index. Nothing branches on where that is: it
/// cannot be foreseen.
inline fn bestOfQuarters(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, ptr: [*]const T, quarter_len: usize) Best(T) {
    const V = @Vector(lanes, T);
    const chain_count = 4;
    const fold: Fold = if (is_largest) .maximum else .minimum;
    var best: [quarters]V = undefined;
    var nans: @Vector(lanes, bool) = @splat(false);
    inline for (&best, 0..) |*held, quarter| {
        var parts: [chain_count]V = @splat(@splat(identity(T, fold)));
        var i = quarter * quarter_len;
        while (i < (quarter + 1) * quarter_len) : (i += chain_count * lanes) {
            fetch.ahead(chain_count * lanes * @sizeOf(T), ptr + i, .read);
            var values: [chain_count]V = undefined;
            inline for (0..chain_count) |chain| values[chain] = ptr[i + chain * lanes ..][0..lanes].*;
            if (comptime isOrdered(T, fold)) nans = nans | anyNan(V, chain_count, values);
            inline for (0..chain_count) |chain| parts[chain] = folded(T, lanes, fold, parts[chain], values[chain]);
        }
        held.* = folded(T, lanes, fold, folded(T, lanes, fold, parts[0], parts[1]), folded(T, lanes, fold, parts[2], parts[3]));
    }
    if (comptime isOrdered(T, fold)) {
        if (@reduce(.Or, nans)) return .{ .value = std.math.nan(T), .index = indexOf(T, lanes, ptr, quarters * quarter_len, std.math.nan(T)) };
    }
    const halves = [2]V{ folded(T, lanes, fold, best[0], best[1]), folded(T, lanes, fold, best[2], best[3]) };
    const value = acrossOrdered(T, lanes, fold, folded(T, lanes, fold, halves[0], halves[1]));
    var holders: u32 = 0;
    inline for (0..quarters) |quarter| {
        const holds: u32 = @intFromBool(@reduce(.Or, best[quarter] == @as(V, @splat(value))));
        holders |= holds << quarter;
    }
    const first = @ctz(holders) * quarter_len;
    var index: usize = 0;
    var word = quarter_len;
    while (word > 0) {
        word -= word_len;
        // Meanwhile the next block is prefetched, because memory would be idle.
        const next = ptr + quarters * (2 * quarter_len - word - word_len);
        inline for (0..quarters * word_len * @sizeOf(T) / line_bytes) |line| @prefetch(next + line * line_bytes / @sizeOf(T), .{ .locality = 2 });
        var indices: u64 = 0;
        inline for (0..word_len / lanes) |k| indices |= @as(u64, matches(T, lanes, ptr + first + word + k * lanes, value, false)) << (k * lanes);
        index = if (indices != 0) word + @ctz(indices) else index;
    }
    return .{ .value = value, .index = first + index };
}

/// Halves the lanes, none of which is a NaN, until one is left.
inline fn acrossOrdered(comptime T: type, comptime lanes: comptime_int, comptime fold: Fold, values: @Vector(lanes, T)) T {
    if (lanes == 1) return values[0];
    const half = lanes / 2;
    const low = std.simd.extract(values, 0, half);
    const high = std.simd.extract(values, half, half);
    return acrossOrdered(T, half, fold, folded(T, half, fold, low, high));
}

/// The first index of a value that occurs; for a NaN, the first index of any NaN.
inline fn indexOf(comptime T: type, comptime lanes: comptime_int, ptr: [*]const T, len: usize, value: T) usize {
    return if (value != value) indexWhere(T, lanes, ptr, len, value, true) else indexWhere(T, lanes, ptr, len, value, false);
}

inline fn indexWhere(comptime T: type, comptime lanes: comptime_int, ptr: [*]const T, len: usize, value: T, comptime is_nan: bool) usize {
    // One branch for several vectors: which of them ends the search cannot be predicted.
    const chain_count = 4;
    var i: usize = 0;
    while (i + chain_count * lanes <= len) : (i += chain_count * lanes) {
        var indices: u64 = 0;
        inline for (0..chain_count) |chain| indices |= @as(u64, matches(T, lanes, ptr + i + chain * lanes, value, is_nan)) << (chain * lanes);
        if (indices != 0) return i + @ctz(indices);
    }
    while (i < len) : (i += 1) if (matches(T, 1, ptr + i, value, is_nan) != 0) return i;
    unreachable;
}

/// One bit for each lane.
inline fn matches(comptime T: type, comptime lanes: comptime_int, ptr: [*]const T, value: T, comptime is_nan: bool) @Int(.unsigned, lanes) {
    const x: @Vector(lanes, T) = ptr[0..lanes].*;
    return @bitCast(if (is_nan) x != x else x == @as(@Vector(lanes, T), @splat(value)));
}

/// Type of an index within a column, as wide as its values.
pub fn Index(comptime T: type) type {
    return @Int(.signed, @bitSizeOf(T));
}

/// The best value of each column and its first row; rows are numbered from `first` on. Row `first` starts anew where it is 0.
pub fn SearchRows(comptime T: type) type {
    return struct {
        is_largest: bool,
        ptr: [*]const T,
        /// Distance from row to row, in elements.
        step: isize,
        rows: usize,
        width: usize,
        first: usize,
        best: [*]T,
        indices: [*]Index(T),
    };
}

pub inline fn searchRows(comptime T: type, comptime lanes: comptime_int, job: *const SearchRows(T)) void {
    if (job.is_largest) searchRowsFor(T, lanes, true, job) else searchRowsFor(T, lanes, false, job);
}

/// Rows that are folded in registers before the best values are looked at.
const search_group = 8;

inline fn searchRowsFor(comptime T: type, comptime lanes: comptime_int, comptime is_largest: bool, job: *const SearchRows(T)) void {
    var row: usize = 0;
    while (row + search_group <= job.rows) : (row += search_group) searchGroup(T, lanes, search_group, is_largest, job, row);
    while (row < job.rows) : (row += 1) searchGroup(T, lanes, 1, is_largest, job, row);
}

inline fn searchGroup(comptime T: type, comptime lanes: comptime_int, comptime rows: comptime_int, comptime is_largest: bool, job: *const SearchRows(T), row: usize) void {
    const first = job.ptr + @as(usize, @bitCast(@as(isize, @intCast(row)) * job.step));
    const number: Index(T) = @intCast(job.first + row);
    var column: usize = 0;
    while (column + lanes <= job.width) : (column += lanes) searchColumns(T, lanes, rows, is_largest, job, first, number, column);
    while (column < job.width) : (column += 1) searchColumns(T, 1, rows, is_largest, job, first, number, column);
}

inline fn searchColumns(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime rows: comptime_int,
    comptime is_largest: bool,
    job: *const SearchRows(T),
    first: [*]const T,
    number: Index(T),
    column: usize,
) void {
    const V = @Vector(lanes, T);
    const Indices = @Vector(lanes, Index(T));
    var values: [rows]V = undefined;
    inline for (0..rows) |i| {
        const line = first + @as(usize, @bitCast(@as(isize, i) * job.step)) + column;
        // The next group, to the second cache: lines of a column may share one set of the first.
        if (rows > 1 and lanes > 1) @prefetch(line + @as(usize, @bitCast(@as(isize, rows) * job.step)), .{ .locality = 2 });
        values[i] = line[0..lanes].*;
    }
    var best: V = if (number == 0) values[0] else job.best[column..][0..lanes].*;
    var indices: Indices = if (number == 0) @splat(0) else job.indices[column..][0..lanes].*;
    // Once many rows were seen, few hold anything better: which of them is asked only then.
    if (rows > 1 and number > 0 and !@reduce(.Or, mayBeBetter(T, lanes, rows, is_largest, values, best))) return;
    inline for (0..rows) |i| {
        const better = isBetter(T, lanes, is_largest, values[i], best);
        best = @select(T, better, values[i], best);
        indices = @select(Index(T), better, @as(Indices, @splat(number + @as(Index(T), i))), indices);
    }
    job.best[column..][0..lanes].* = best;
    job.indices[column..][0..lanes].* = indices;
}

/// Whether any of several values is better than `best` or no number.
inline fn mayBeBetter(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime rows: comptime_int,
    comptime is_largest: bool,
    values: [rows]@Vector(lanes, T),
    best: @Vector(lanes, T),
) @Vector(lanes, bool) {
    const V = @Vector(lanes, T);
    const fold: Fold = if (is_largest) .maximum else .minimum;
    var most = values[0];
    inline for (values[1..]) |value| most = folded(T, lanes, fold, most, value);
    const beats = if (is_largest) most > best else most < best;
    return if (comptime isOrdered(T, fold)) beats | anyNan(V, rows, values) else beats;
}

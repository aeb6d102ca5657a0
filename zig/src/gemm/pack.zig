//! Packing: copies `width` lines of a matrix into one panel, step by step along k, so that the register tile reads memory in
//! order. Numbers are converted on the way, and neighbours along k are put into one word where an instruction takes them together.
//! Missing lines, and what is missing from the last word, become zeros.
//!
//! A panel of `lines` lines takes `words * lines` words, the sums of its lines where they are wanted, and less than one vector more: the
//! vector that ends a panel may run over.

const std = @import("std");
const table = @import("gemm_table.zig");
const micro_kernel = @import("micro_kernel.zig");
const numbers_of = @import("numbers.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = numbers_of.Numbers;
const Side = numbers_of.Side;

/// Words to reserve for one panel; a multiple of a cache line, so that panels do not share lines between threads.
pub fn panelWords(comptime numbers: Numbers, lines: usize, k: usize, lanes: usize) usize {
    const line = 64 / @sizeOf(numbers.Word());
    const sums = if (comptime numbers.hasLineSums()) lines else 0;
    return (numbers.words(k) * lines + sums + lanes + line - 1) / line * line;
}

pub inline fn pack(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
) void {
    if (panel.source.across == 1 and panel.width == lines) {
        packAdjacent(numbers, side, lines, panel);
    } else if (panel.source.along == 1) {
        packTransposed(numbers, side, lanes, lines, panel);
    } else {
        packScalar(numbers, side, lines, panel, 0);
    }
    if (comptime numbers.hasLineSums() and side == .b) sumLines(numbers, lanes, lines, panel);
}

/// One word of `len` lines out of its elements: neighbours along k, the first in the lowest bits.
pub inline fn join(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime len: comptime_int,
    sources: [numbers.group]@Vector(len, numbers.Source),
) @Vector(len, numbers.Word()) {
    if (numbers.group == 1) return numbers_of.convert(numbers, side, len, sources[0]);
    var elements: [numbers.group]@Vector(len, numbers.Element) = undefined;
    inline for (&elements, sources) |*element, source| element.* = numbers_of.convert(numbers, side, len, source);
    // Little-endian: elements in order are the bytes of their words in order.
    if (comptime len == byte_lines and @sizeOf(numbers.Element) == 1 and numbers.group == 4) return @bitCast(interlaceBytes(@bitCast(elements)));
    return @bitCast(std.simd.interlace(elements));
}

/// Lines of a panel of `a` whose elements are bytes.
const byte_lines = 32;

/// `std.simd.interlace` in 12 shuffles of 32 bytes, where LLVM takes 20 or more.
inline fn interlaceBytes(sources: [4]@Vector(byte_lines, u8)) [4]@Vector(byte_lines, u8) {
    const Bytes = @Vector(byte_lines, u8);
    const Pairs = @Vector(byte_lines / 2, u16);
    var rows: [4]Bytes = undefined;
    inline for (&rows, sources) |*row, source| {
        // Shuffles work in halves: whose results are neighbours stand in either.
        const quads: @Vector(byte_lines / 4, u32) = @bitCast(source);
        const ordered = @shuffle(u32, quads, undefined, [_]i32{ 0, 2, 4, 6, 1, 3, 5, 7 });
        row.* = @bitCast(settled(byte_lines / 4, u32, ordered));
    }
    var words: [4]Bytes = undefined;
    inline for (.{ false, true }, 0..) |is_upper, half| {
        const mask = comptime interlaceMask(byte_lines, is_upper);
        const first: Pairs = @bitCast(@shuffle(u8, rows[0], rows[1], mask));
        const second: Pairs = @bitCast(@shuffle(u8, rows[2], rows[3], mask));
        words[2 * half] = @bitCast(@shuffle(u16, first, second, interlaceMask(byte_lines / 2, false)));
        words[2 * half + 1] = @bitCast(@shuffle(u16, first, second, interlaceMask(byte_lines / 2, true)));
    }
    return words;
}

/// Takes the lower or upper lanes of each half of two vectors alternately.
fn interlaceMask(comptime lanes: usize, comptime is_upper: bool) @Vector(lanes, i32) {
    var mask: [lanes]i32 = undefined;
    const half = lanes / 2;
    for (&mask, 0..) |*index, lane| {
        const from: i32 = @intCast(lane / half * half + lane % half / 2 + if (is_upper) half / 2 else 0);
        index.* = if (lane % 2 == 0) from else ~from;
    }
    return mask;
}

/// Lines are adjacent in memory: each step along k is one copy.
inline fn packAdjacent(comptime numbers: Numbers, comptime side: Side, comptime lines: usize, panel: *const table.Panel(numbers)) void {
    const whole = panel.k / numbers.group;
    for (0..whole) |word| {
        var sources: [numbers.group]@Vector(lines, numbers.Source) = undefined;
        inline for (&sources, 0..) |*source, index| {
            const step: isize = @intCast(word * numbers.group + index);
            source.* = pointers.offsetConst(numbers.Source, panel.source.ptr, step * panel.source.along)[0..lines].*;
        }
        panel.target[word * lines ..][0..lines].* = join(numbers, side, lines, sources);
    }
    packScalar(numbers, side, lines, panel, whole);
}

/// The scalar twin of the two routines beside it; also takes every layout that they do not.
pub inline fn packScalar(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
    first_word: usize,
) void {
    const words = (panel.k + numbers.group - 1) / numbers.group;
    for (first_word..words) |word| {
        const target = panel.target + word * lines;
        const first_step = word * numbers.group;
        const source = pointers.offsetConst(numbers.Source, panel.source.ptr, @as(isize, @intCast(first_step)) * panel.source.along);
        for (0..panel.width) |line| {
            const first = pointers.offsetConst(numbers.Source, source, @as(isize, @intCast(line)) * panel.source.across);
            var sources: [numbers.group]@Vector(1, numbers.Source) = @splat(@splat(0));
            inline for (&sources, 0..) |*element, index| {
                if (first_step + index < panel.k) {
                    element.*[0] = pointers.offsetConst(numbers.Source, first, @as(isize, index) * panel.source.along)[0];
                }
            }
            target[line] = join(numbers, side, 1, sources)[0];
        }
        for (panel.width..lines) |line| target[line] = 0;
    }
    if (numbers.word_multiple > 1) @memset(panel.target[words * lines .. numbers.words(panel.k) * lines], 0);
}

/// Steps along k are adjacent in memory: square blocks are read along k and written across it.
inline fn packTransposed(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
) void {
    const Word = numbers.Word();
    const groups = (lines + lanes - 1) / lanes;
    const whole = panel.k / numbers.group / lanes * lanes;
    var word: usize = 0;
    while (word < whole) : (word += lanes) {
        const target = panel.target + word * lines;
        if (comptime lines % lanes != 0 and hasWholeParts(numbers, lanes, lines)) {
            packParts(numbers, side, lanes, lines, panel, word);
        } else if (lines % lanes == 0) {
            inline for (0..groups) |group| {
                const block = readBlock(numbers, side, lanes, group * lanes, lanes, panel, word);
                inline for (0..lanes) |i| (target + i * lines + group * lanes)[0..lanes].* = block[i];
            }
        } else {
            // Stores go up in memory: each overwrites what the one before it had too much.
            var blocks: [groups][lanes]@Vector(lanes, Word) = undefined;
            inline for (0..groups) |group| {
                blocks[group] = readBlock(numbers, side, lanes, group * lanes, @min(lanes, lines - group * lanes), panel, word);
            }
            inline for (0..lanes) |i| {
                inline for (0..groups) |group| (target + i * lines + group * lanes)[0..lanes].* = blocks[group][i];
            }
        }
    }
    packScalar(numbers, side, lines, panel, whole);
}

/// Vectors consist of parts of 128 bits, which hold the words of as many lines.
fn hasWholeParts(comptime numbers: Numbers, comptime lanes: usize, comptime lines: usize) bool {
    const part = partLanes(numbers);
    return lanes > part and lines % part == 0 and lines % (lanes / part) == 0;
}

fn partLanes(comptime numbers: Numbers) comptime_int {
    return 16 / @sizeOf(numbers.Word());
}

/// `lanes` words of `lines` lines, which need not fill vectors: squares are transposed within parts, then parts are put in order. Takes fewer
/// instructions than whole squares with empty lines, and every store is a vector that belongs to the panel.
inline fn packParts(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
    word: usize,
) void {
    const Word = numbers.Word();
    const part = comptime partLanes(numbers);
    const parts = lanes / part;
    const groups = lines / part;
    var rows = readLines(numbers, side, lanes, 0, lines, panel, word);
    inline for (0..groups) |group| exchange(Word, lanes, part, 1, rows[group * part ..][0..part]);
    inline for (&rows) |*row| row.* = settled(lanes, Word, row.*);
    // Now a row has, in each part, one word of the lines of its group: words that many lanes apart.
    inline for (0..lines / parts) |k| {
        var words: [parts]@Vector(lanes, Word) = undefined;
        inline for (&words, k * parts..) |*some, index| some.* = rows[index % groups * part + index / groups];
        exchange(Word, lanes, parts, part, &words);
        inline for (words, 0..) |some, i| (panel.target + (word + i * part) * lines + k * lanes)[0..lanes].* = some;
    }
}

inline fn readBlock(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime first_line: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
    word: usize,
) [lanes]@Vector(lanes, numbers.Word()) {
    const missing: [lanes - lines]@Vector(lanes, numbers.Word()) = @splat(@splat(0));
    var block = readLines(numbers, side, lanes, first_line, lines, panel, word) ++ missing;
    transpose(numbers.Word(), lanes, &block);
    return block;
}

/// `lanes` words along k of each line; zeros where a line is missing.
inline fn readLines(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime first_line: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
    word: usize,
) [lines]@Vector(lanes, numbers.Word()) {
    const len = lanes * numbers.group;
    var block: [lines]@Vector(lanes, numbers.Word()) = @splat(@splat(0));
    inline for (0..lines) |i| {
        const line = first_line + i;
        if (line < panel.width) {
            const across = @as(isize, @intCast(line)) * panel.source.across;
            const source = pointers.offsetConst(numbers.Source, panel.source.ptr, across) + word * numbers.group;
            // Little-endian: elements in order are the bytes of their words in order.
            block[i] = @bitCast(numbers_of.convert(numbers, side, len, source[0..len].*));
        }
    }
    return block;
}

/// Ends a panel with what the offset of the operand `a` makes too much of a sum, negated: -128 times the sum of each line. Bytes that are missing
/// are zero; lanes that are no lines hold anything, as does what follows the panel.
inline fn sumLines(comptime numbers: Numbers, comptime lanes: usize, comptime lines: usize, panel: *const table.Panel(numbers)) void {
    comptime std.debug.assert(lines <= lanes);
    const ones: @Vector(lanes, u32) = @splat(0x0101_0101);
    // As many as hide the latency of the instruction.
    var sums: [4]@Vector(lanes, i32) = @splat(@splat(0));
    const words = numbers.words(panel.k);
    var word: usize = 0;
    while (word + sums.len <= words) : (word += sums.len) {
        inline for (&sums, 0..) |*sum, i| {
            sum.* = micro_kernel.addByteProducts(lanes, ones, panel.target[(word + i) * lines ..][0..lanes].*, sum.*);
        }
    }
    while (word < words) : (word += 1) {
        sums[0] = micro_kernel.addByteProducts(lanes, ones, panel.target[word * lines ..][0..lanes].*, sums[0]);
    }
    const all = (sums[0] +% sums[1]) +% (sums[2] +% sums[3]);
    const excess: [lanes]u32 = @as(@Vector(lanes, u32), @bitCast(@as(@Vector(lanes, i32), @splat(0)) -% all)) << @splat(7);
    panel.target[words * lines ..][0..lines].* = excess[0..lines].*;
}

/// The same value: LLVM, which sees the shuffles on both sides as one, would take them apart into shuffles of 128 bits.
inline fn settled(comptime lanes: usize, comptime T: type, value: @Vector(lanes, T)) @Vector(lanes, T) {
    return asm (""
        : [same] "=x" (-> @Vector(lanes, T)),
        : [value] "0" (value),
    );
}

/// Transposes in place.
pub inline fn transpose(comptime T: type, comptime lanes: usize, block: *[lanes]@Vector(lanes, T)) void {
    exchange(T, lanes, lanes, 1, block);
}

/// Transposes squares of `count` cells of `cell` lanes, side by side, by swapping ever larger sub-blocks.
inline fn exchange(comptime T: type, comptime lanes: usize, comptime count: usize, comptime cell: usize, block: *[count]@Vector(lanes, T)) void {
    @setEvalBranchQuota(10_000);
    comptime var size = 1;
    inline while (size < count) : (size *= 2) {
        inline for (0..count) |i| {
            if (i & size == 0) {
                const upper = block[i];
                const lower = block[i + size];
                block[i] = @shuffle(T, upper, lower, swapMask(lanes, size * cell, false));
                block[i + size] = @shuffle(T, upper, lower, swapMask(lanes, size * cell, true));
            }
        }
        if (cell > 1) inline for (block) |*row| {
            row.* = settled(lanes, T, row.*);
        };
    }
}

/// Lanes of the first operand count from 0 up, of the second from -1 down.
fn swapMask(comptime lanes: usize, comptime size: usize, comptime second_half: bool) @Vector(lanes, i32) {
    @setEvalBranchQuota(10_000);
    var mask: [lanes]i32 = undefined;
    for (0..lanes) |lane| {
        const low = lane & size == 0;
        const index: i32 = @intCast(lane);
        const shift: i32 = @intCast(size);
        mask[lane] = if (second_half)
            (if (low) index + shift else ~index)
        else
            (if (low) index else ~(index - shift));
    }
    return mask;
}

//! Packing: copies `width` lines of a matrix into one panel, step by step along the depth, so that the register tile reads memory in
//! order. Numbers are converted on the way, and neighbours along the depth are put into one word where an instruction takes them together.
//! Missing lines, and what is missing from the last word, become zeros.
//!
//! A panel of `lines` lines takes `words * lines` words, the sums of its lines where they are wanted, and less than one vector more: the
//! vector that ends a panel may run over.

const std = @import("std");
const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");
const numbers_of = @import("numbers.zig");
const Numbers = numbers_of.Numbers;
const Side = numbers_of.Side;

/// Words to reserve for one panel; a multiple of a cache line, so that panels do not share lines between threads.
pub fn panelWords(comptime numbers: Numbers, lines: usize, depth: usize, lanes: usize) usize {
    const line = 64 / @sizeOf(numbers.Word());
    const sums = if (comptime numbers.hasLineSums()) lines else 0;
    return (numbers.words(depth) * lines + sums + lanes + line - 1) / line * line;
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
    if (comptime numbers.hasLineSums() and side == .right) sumLines(numbers, lines, panel);
}

/// One word of `len` lines out of its elements: neighbours along the depth, the first in the lowest bits.
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
    return @bitCast(std.simd.interlace(elements));
}

/// Lines are adjacent in memory: each step of the depth is one copy.
inline fn packAdjacent(comptime numbers: Numbers, comptime side: Side, comptime lines: usize, panel: *const table.Panel(numbers)) void {
    const whole = panel.depth / numbers.group;
    for (0..whole) |word| {
        var sources: [numbers.group]@Vector(lines, numbers.Source) = undefined;
        inline for (&sources, 0..) |*source, place| {
            const step: isize = @intCast(word * numbers.group + place);
            source.* = micro_kernel.offsetConst(numbers.Source, panel.source.ptr, step * panel.source.along)[0..lines].*;
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
    const words = (panel.depth + numbers.group - 1) / numbers.group;
    for (first_word..words) |word| {
        const target = panel.target + word * lines;
        const first_step = word * numbers.group;
        const source = micro_kernel.offsetConst(numbers.Source, panel.source.ptr, @as(isize, @intCast(first_step)) * panel.source.along);
        for (0..panel.width) |line| {
            const first = micro_kernel.offsetConst(numbers.Source, source, @as(isize, @intCast(line)) * panel.source.across);
            var sources: [numbers.group]@Vector(1, numbers.Source) = @splat(@splat(0));
            inline for (&sources, 0..) |*element, place| {
                if (first_step + place < panel.depth) {
                    element.*[0] = micro_kernel.offsetConst(numbers.Source, first, @as(isize, place) * panel.source.along)[0];
                }
            }
            target[line] = join(numbers, side, 1, sources)[0];
        }
        for (panel.width..lines) |line| target[line] = 0;
    }
    if (numbers.word_multiple > 1) @memset(panel.target[words * lines .. numbers.words(panel.depth) * lines], 0);
}

/// Steps of the depth are adjacent in memory: square blocks are read along the depth and written across it.
inline fn packTransposed(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
) void {
    const Word = numbers.Word();
    const groups = (lines + lanes - 1) / lanes;
    const whole = panel.depth / numbers.group / lanes * lanes;
    var word: usize = 0;
    while (word < whole) : (word += lanes) {
        const target = panel.target + word * lines;
        if (lines % lanes == 0) {
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

inline fn readBlock(
    comptime numbers: Numbers,
    comptime side: Side,
    comptime lanes: usize,
    comptime first_line: usize,
    comptime lines: usize,
    panel: *const table.Panel(numbers),
    word: usize,
) [lanes]@Vector(lanes, numbers.Word()) {
    const len = lanes * numbers.group;
    var block: [lanes]@Vector(lanes, numbers.Word()) = @splat(@splat(0));
    inline for (0..lines) |i| {
        const line = first_line + i;
        if (line < panel.width) {
            const across = @as(isize, @intCast(line)) * panel.source.across;
            const source = micro_kernel.offsetConst(numbers.Source, panel.source.ptr, across) + word * numbers.group;
            // Little-endian: elements in order are the bytes of their words in order.
            block[i] = @bitCast(numbers_of.convert(numbers, side, len, source[0..len].*));
        }
    }
    transpose(numbers.Word(), lanes, &block);
    return block;
}

/// Ends a panel with the sum of each of its lines.
inline fn sumLines(comptime numbers: Numbers, comptime lines: usize, panel: *const table.Panel(numbers)) void {
    const Bytes = @Vector(4 * lines, i8);
    var sums: @Vector(lines, i32) = @splat(0);
    const words = numbers.words(panel.depth);
    for (0..words) |word| {
        const bits: @Vector(lines, u32) = panel.target[word * lines ..][0..lines].*;
        const bytes: Bytes = @bitCast(bits);
        inline for (0..4) |place| sums +%= @as(@Vector(lines, i32), @shuffle(i8, bytes, undefined, everyFourth(lines, place)));
    }
    panel.target[words * lines ..][0..lines].* = @bitCast(sums);
}

fn everyFourth(comptime lines: comptime_int, comptime first: i32) @Vector(lines, i32) {
    return std.simd.iota(i32, lines) * @as(@Vector(lines, i32), @splat(4)) + @as(@Vector(lines, i32), @splat(first));
}

/// Transposes in place by swapping ever larger sub-blocks.
pub inline fn transpose(comptime T: type, comptime lanes: usize, block: *[lanes]@Vector(lanes, T)) void {
    @setEvalBranchQuota(10_000);
    comptime var size = 1;
    inline while (size < lanes) : (size *= 2) {
        inline for (0..lanes) |i| {
            if (i & size == 0) {
                const upper = block[i];
                const lower = block[i + size];
                block[i] = @shuffle(T, upper, lower, swapMask(lanes, size, false));
                block[i + size] = @shuffle(T, upper, lower, swapMask(lanes, size, true));
            }
        }
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

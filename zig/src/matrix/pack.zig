//! Packing: copies `width` lines of a matrix into one panel, step by step along the depth, so that the register tile reads memory in
//! order. Missing lines become zeros.
//!
//! A panel of `lines` lines takes `depth * lines + lanes` elements: the vector that ends a panel may run over by less than one vector.

const table = @import("table.zig");
const micro_kernel = @import("micro_kernel.zig");

/// Elements to reserve for one panel; a multiple of a cache line, so that panels do not share lines between threads.
pub fn panelElements(comptime T: type, lines: usize, depth: usize, lanes: usize) usize {
    const line = 64 / @sizeOf(T);
    return (depth * lines + lanes + line - 1) / line * line;
}

pub inline fn pack(comptime T: type, comptime lanes: usize, comptime lines: usize, panel: *const table.Panel(T)) void {
    if (panel.source.across == 1 and panel.width == lines) return packAdjacent(T, lines, panel);
    if (panel.source.along == 1) return packTransposed(T, lanes, lines, panel);
    packScalar(T, lines, panel, 0);
}

/// Lines are adjacent in memory: each step of the depth is one copy.
inline fn packAdjacent(comptime T: type, comptime lines: usize, panel: *const table.Panel(T)) void {
    var source = panel.source.ptr;
    var target = panel.target;
    for (0..panel.depth) |_| {
        target[0..lines].* = source[0..lines].*;
        source = micro_kernel.offsetConst(T, source, panel.source.along);
        target += lines;
    }
}

/// The scalar twin of the two routines beside it; also takes every layout that they do not.
pub inline fn packScalar(comptime T: type, comptime lines: usize, panel: *const table.Panel(T), first_step: usize) void {
    for (first_step..panel.depth) |step| {
        const target = panel.target + step * lines;
        const source = micro_kernel.offsetConst(T, panel.source.ptr, @as(isize, @intCast(step)) * panel.source.along);
        for (0..panel.width) |line| {
            target[line] = micro_kernel.offsetConst(T, source, @as(isize, @intCast(line)) * panel.source.across)[0];
        }
        for (panel.width..lines) |line| target[line] = 0;
    }
}

/// Steps of the depth are adjacent in memory: square blocks are read along the depth and written across it.
inline fn packTransposed(comptime T: type, comptime lanes: usize, comptime lines: usize, panel: *const table.Panel(T)) void {
    const groups = (lines + lanes - 1) / lanes;
    const whole = panel.depth / lanes * lanes;
    var step: usize = 0;
    while (step < whole) : (step += lanes) {
        const target = panel.target + step * lines;
        if (lines % lanes == 0) {
            inline for (0..groups) |group| {
                const block = readBlock(T, lanes, group * lanes, lanes, panel, step);
                inline for (0..lanes) |i| (target + i * lines + group * lanes)[0..lanes].* = block[i];
            }
        } else {
            // Stores go up in memory: each overwrites what the one before it had too much.
            var blocks: [groups][lanes]@Vector(lanes, T) = undefined;
            inline for (0..groups) |group| {
                blocks[group] = readBlock(T, lanes, group * lanes, @min(lanes, lines - group * lanes), panel, step);
            }
            inline for (0..lanes) |i| {
                inline for (0..groups) |group| (target + i * lines + group * lanes)[0..lanes].* = blocks[group][i];
            }
        }
    }
    packScalar(T, lines, panel, whole);
}

inline fn readBlock(
    comptime T: type,
    comptime lanes: usize,
    comptime first_line: usize,
    comptime lines: usize,
    panel: *const table.Panel(T),
    step: usize,
) [lanes]@Vector(lanes, T) {
    var block: [lanes]@Vector(lanes, T) = @splat(@splat(0));
    inline for (0..lines) |i| {
        const line = first_line + i;
        if (line < panel.width) {
            const source = micro_kernel.offsetConst(T, panel.source.ptr, @as(isize, @intCast(line)) * panel.source.across);
            block[i] = (source + step)[0..lanes].*;
        }
    }
    transpose(T, lanes, &block);
    return block;
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

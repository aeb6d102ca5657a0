//! The register tile: the innermost loop of every product.
//!
//! Each step along the depth loads `vectors` vectors of `left`, broadcasts `columns` words of `right` and does `vectors * columns`
//! multiply-adds (of whole groups, where a word holds several numbers) into accumulators that never leave registers. The order of
//! additions along the depth is the same in every layout and shape, so a result does not depend on how a product was cut.

const std = @import("std");
const table = @import("table.zig");
const Numbers = @import("numbers.zig").Numbers;

pub const Layout = enum {
    /// Both operands come from packed panels: all steps are known when compiling.
    panels,
    /// Operands are read where they lie.
    strided,
};

/// What the instruction set multiplies and adds with.
pub const Arithmetic = enum {
    /// Two instructions: an emulated fused operation would take a call.
    separate,
    fused,
    /// `fused`, and dot products of pairs of bfloat16 and of quadruples of bytes (AVX512_BF16, AVX512_VNNI).
    dotted,
};

pub inline fn multiply(comptime V: type, a: V, b: V) V {
    return if (comptime isFloat(V)) a * b else a *% b;
}

/// a * b + c; integers wrap.
pub inline fn multiplyAdd(comptime arithmetic: Arithmetic, comptime V: type, a: V, b: V, c: V) V {
    if (comptime !isFloat(V)) return a *% b +% c;
    return if (arithmetic == .separate) a * b + c else @mulAdd(V, a, b, c);
}

fn isFloat(comptime V: type) bool {
    return switch (@typeInfo(V)) {
        .vector => |vector| @typeInfo(vector.child) == .float,
        else => @typeInfo(V) == .float,
    };
}

pub const Options = struct {
    /// Of the panels that are read.
    shape: table.Shape,
    /// Of this tile: the shape's, or half of them.
    lanes: comptime_int,
    vectors: comptime_int,
    columns: comptime_int,
    layout: Layout,
    arithmetic: Arithmetic,
};

/// How far ahead of a packed left panel is asked for: two turns of the loop, about 200 cycles. Gains 1 to 3 percent on Zen 4.
const prefetch_steps = 8;

/// Steps of one turn of the loop over packed panels.
pub const steps_per_turn = 4;

/// Cache lines of the rows of a tile, where they lie.
pub fn linesOfStep(comptime numbers: Numbers, comptime shape: table.Shape) comptime_int {
    return @max(1, shape.tileRows() * @sizeOf(numbers.Source) / 64);
}

/// Steps of the depth of `ahead` that a turn asks for: two cache lines or so.
pub fn aheadSteps(comptime numbers: Numbers, comptime shape: table.Shape) comptime_int {
    return @max(1, 2 / linesOfStep(numbers, shape));
}

fn Sums(comptime numbers: Numbers, comptime options: Options) type {
    return [options.columns][options.vectors]@Vector(options.lanes, numbers.Sum);
}

pub inline fn compute(comptime numbers: Numbers, comptime options: Options, tile: *const table.Tile(numbers)) void {
    @setEvalBranchQuota(10_000);
    const lanes = options.lanes;
    const vectors = options.vectors;
    const columns = options.columns;
    const T = numbers.Sum;
    const Word = numbers.Word();
    const V = @Vector(lanes, T);
    var sums: Sums(numbers, options) = @splat(@splat(@splat(0)));
    if (comptime numbers.hasLineSums() and options.layout == .panels) {
        const excess = tile.right + tile.depth * options.shape.columns;
        inline for (0..columns) |j| {
            const taken_off: V = @splat(@bitCast(excess[j]));
            sums[j] = @splat(taken_off);
        }
    }

    var left = tile.left;
    var right = tile.right;
    const out_rows = tile.out;

    // The tile of `out` is needed only after the last step: ask for its lines now.
    inline for (0..columns) |j| {
        const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
        inline for (0..vectors) |i| @prefetch(column + i * lanes, .{ .rw = .write, .locality = 3 });
    }

    switch (options.layout) {
        .panels => {
            const left_step = options.shape.lanes * options.shape.vectors;
            const right_step = options.shape.columns;
            const unroll = steps_per_turn;
            const ahead_lines = comptime linesOfStep(numbers, options.shape);
            const ahead_steps = comptime aheadSteps(numbers, options.shape);
            var ahead = tile.ahead;
            var step: usize = 0;
            while (step + unroll <= tile.depth) : (step += unroll) {
                const words_per_line = 64 / @sizeOf(Word);
                inline for (0..unroll * left_step / words_per_line) |line| {
                    @prefetch(left + prefetch_steps * left_step + line * words_per_line, .{ .locality = 3 });
                }
                inline for (0..ahead_steps) |_| {
                    inline for (0..ahead_lines) |line| @prefetch(ahead + line * 64 / @sizeOf(numbers.Source), .{ .locality = 2 });
                    ahead = offsetConst(numbers.Source, ahead, tile.ahead_step);
                }
                inline for (0..unroll) |u| {
                    accumulate(numbers, options, &sums, left + u * left_step, columns, &.{right + u * right_step}, 1);
                }
                left += unroll * left_step;
                right += unroll * right_step;
            }
            while (step < tile.depth) : (step += 1) {
                accumulate(numbers, options, &sums, left, columns, &.{right}, 1);
                left += left_step;
                right += right_step;
            }
        },
        .strided => {
            var rights: [pointerCount(options, columns_per_pointer)][*]const Word = undefined;
            inline for (&rights, 0..) |*first, group| {
                first.* = unrelated(Word, offsetConst(Word, right, @as(isize, group * columns_per_pointer) * tile.right_column));
            }
            for (0..tile.depth) |_| {
                accumulate(numbers, options, &sums, left, columns_per_pointer, &rights, tile.right_column);
                left = offsetConst(Word, left, tile.left_step);
                inline for (&rights) |*first| first.* = offsetConst(Word, first.*, tile.right_step);
            }
        },
    }

    const alpha: V = @splat(tile.alpha);
    // A product of integers takes longer than a store (Granite Rapids: 10 cycles, two operations).
    if (comptime !isFloat(T)) {
        if (tile.alpha == 1 and tile.beta == 0) {
            inline for (0..columns) |j| {
                const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
                inline for (0..vectors) |i| column[i * lanes ..][0..lanes].* = sums[j][i];
            }
            return;
        }
    }
    if (tile.beta == 0) {
        // What `out` held is not read: it may be anything, NaN included.
        inline for (0..columns) |j| {
            const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| column[i * lanes ..][0..lanes].* = multiply(V, alpha, sums[j][i]);
        }
    } else {
        const beta: V = @splat(tile.beta);
        inline for (0..columns) |j| {
            const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| {
                const before: V = column[i * lanes ..][0..lanes].*;
                column[i * lanes ..][0..lanes].* = multiplyAdd(options.arithmetic, V, alpha, sums[j][i], multiply(V, beta, before));
            }
        }
    }
}

/// Columns of `right`, read in place, that share a pointer: the compiler steps from each to the next by an addition that waits for the one before.
/// A chain of twelve takes as many cycles as the multiply-adds of a step where there are two units.
const columns_per_pointer = 3;

fn pointerCount(comptime options: Options, comptime per_pointer: comptime_int) comptime_int {
    return (options.columns + per_pointer - 1) / per_pointer;
}

/// The same pointer, which the compiler does not know to be at some distance from others.
inline fn unrelated(comptime T: type, ptr: [*]const T) [*]const T {
    return asm (""
        : [same] "=r" (-> [*]const T),
        : [ptr] "0" (ptr),
    );
}

/// One step. Each of `rights` points to the first of `per_pointer` columns, `right_column` apart.
inline fn accumulate(
    comptime numbers: Numbers,
    comptime options: Options,
    sums: *Sums(numbers, options),
    left: [*]const numbers.Word(),
    comptime per_pointer: comptime_int,
    rights: *const [pointerCount(options, per_pointer)][*]const numbers.Word(),
    right_column: isize,
) void {
    const lanes = options.lanes;
    const Word = numbers.Word();
    const W = @Vector(lanes, Word);
    var rows: [options.vectors]W = undefined;
    inline for (0..options.vectors) |i| rows[i] = left[i * lanes ..][0..lanes].*;
    inline for (0..options.columns) |j| {
        const word: W = @splat(offsetConst(Word, rights[j / per_pointer], @as(isize, j % per_pointer) * right_column)[0]);
        inline for (0..options.vectors) |i| {
            sums[j][i] = addProducts(numbers, options, rows[i], word, sums[j][i]);
        }
    }
}

/// sum + the products of a group.
inline fn addProducts(
    comptime numbers: Numbers,
    comptime options: Options,
    left: @Vector(options.lanes, numbers.Word()),
    right: @Vector(options.lanes, numbers.Word()),
    sum: @Vector(options.lanes, numbers.Sum),
) @Vector(options.lanes, numbers.Sum) {
    const V = @Vector(options.lanes, numbers.Sum);
    if (numbers.group == 1) return multiplyAdd(options.arithmetic, V, left, right, sum);
    return switch (numbers.Element) {
        u16 => asm ("vdpbf16ps %[right], %[left], %[sum]"
            : [sum] "=v" (-> V),
            : [before] "0" (sum),
              [left] "v" (left),
              [right] "v" (right),
        ),
        u8 => addByteProducts(options.lanes, left, right, sum),
        i16 => sum +% addPairs(options.lanes, left, right),
        else => comptime unreachable,
    };
}

/// sum + the products of unsigned bytes on the left and signed ones on the right (AVX512_VNNI).
pub inline fn addByteProducts(
    comptime lanes: comptime_int,
    left: @Vector(lanes, u32),
    right: @Vector(lanes, u32),
    sum: @Vector(lanes, i32),
) @Vector(lanes, i32) {
    return asm ("vpdpbusd %[right], %[left], %[sum]"
        : [sum] "=v" (-> @Vector(lanes, i32)),
        : [before] "0" (sum),
          [left] "v" (left),
          [right] "v" (right),
    );
}

/// Products of 16-bit numbers that came from bytes, added in pairs: the compiler knows this shape as one instruction (PMADDWD).
inline fn addPairs(comptime lanes: comptime_int, left: @Vector(lanes, u32), right: @Vector(lanes, u32)) @Vector(lanes, i32) {
    const Wide = @Vector(2 * lanes, i32);
    const Pairs = @Vector(2 * lanes, i16);
    const products = @as(Wide, @as(Pairs, @bitCast(left))) *% @as(Wide, @as(Pairs, @bitCast(right)));
    const even: @Vector(lanes, i32) = @shuffle(i32, products, undefined, everySecond(lanes, 0));
    const odd: @Vector(lanes, i32) = @shuffle(i32, products, undefined, everySecond(lanes, 1));
    return even +% odd;
}

fn everySecond(comptime lanes: comptime_int, comptime first: i32) @Vector(lanes, i32) {
    return std.simd.iota(i32, lanes) * @as(@Vector(lanes, i32), @splat(2)) + @as(@Vector(lanes, i32), @splat(first));
}

pub inline fn offset(comptime T: type, ptr: [*]T, elements: isize) [*]T {
    return ptr + @as(usize, @bitCast(elements));
}

pub inline fn offsetConst(comptime T: type, ptr: [*]const T, elements: isize) [*]const T {
    return ptr + @as(usize, @bitCast(elements));
}

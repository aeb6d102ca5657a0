//! The register tile: the innermost loop of every matmul.
//!
//! Each step along k loads `vectors` vectors of `a`, broadcasts `columns` words of `b` and does `vectors * columns`
//! multiply-adds (of whole groups, where a word holds several numbers) into accumulators that never leave registers. The order of
//! additions along k is the same in every layout and shape, so a result does not depend on how a matmul was cut.

const std = @import("std");
const table = @import("gemm_table.zig");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");
const Numbers = @import("numbers.zig").Numbers;

pub const Layout = enum {
    /// Both operands come from packed panels, so all strides are known at compile time.
    panels,
    /// Both operands are read in place.
    strided,
};

pub const Options = struct {
    /// Shape of the panels that are read.
    shape: table.Shape,
    /// Lanes of this tile: those of the shape, or half of them.
    lanes: comptime_int,
    vectors: comptime_int,
    columns: comptime_int,
    layout: Layout,
    arithmetic: fma.Arithmetic,
};

/// How many steps ahead a packed panel of `a` is prefetched: two iterations of the loop, about 200 cycles. This gains 1 to 3 percent on Zen 4.
const prefetch_steps = 8;

/// Steps of one iteration of the loop over packed panels.
pub const steps_per_iteration = 4;

/// Number of cache lines that the rows of a tile take in place.
pub fn linesOfStep(comptime numbers: Numbers, comptime shape: table.Shape) comptime_int {
    return @max(1, shape.tileRows() * @sizeOf(numbers.Source) / 64);
}

/// Number of steps along k of `ahead` that one iteration prefetches: about two cache lines.
pub fn aheadSteps(comptime numbers: Numbers, comptime shape: table.Shape) comptime_int {
    return @max(1, 2 / linesOfStep(numbers, shape));
}

fn Accumulators(comptime numbers: Numbers, comptime options: Options) type {
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
    var accumulators: Accumulators(numbers, options) = @splat(@splat(@splat(0)));
    if (comptime numbers.hasLineSums() and options.layout == .panels) {
        const excess = tile.b + tile.k * options.shape.columns;
        inline for (0..columns) |j| {
            const taken_off: V = @splat(@bitCast(excess[j]));
            accumulators[j] = @splat(taken_off);
        }
    }

    var a = tile.a;
    var b = tile.b;
    const out_rows = tile.out;

    // The tile of `out` is needed only after the last step, so its lines are prefetched now.
    inline for (0..columns) |j| {
        const column = pointers.offset(T, out_rows, @as(isize, j) * tile.out_column);
        inline for (0..vectors) |i| @prefetch(column + i * lanes, .{ .rw = .write, .locality = 3 });
    }

    switch (options.layout) {
        .panels => {
            const a_step = options.shape.lanes * options.shape.vectors;
            const b_step = options.shape.columns;
            const unroll = steps_per_iteration;
            const ahead_lines = comptime linesOfStep(numbers, options.shape);
            const ahead_steps = comptime aheadSteps(numbers, options.shape);
            var ahead = tile.ahead;
            var step: usize = 0;
            while (step + unroll <= tile.k) : (step += unroll) {
                const words_per_line = 64 / @sizeOf(Word);
                inline for (0..unroll * a_step / words_per_line) |line| {
                    @prefetch(a + prefetch_steps * a_step + line * words_per_line, .{ .locality = 3 });
                }
                inline for (0..ahead_steps) |_| {
                    inline for (0..ahead_lines) |line| @prefetch(ahead + line * 64 / @sizeOf(numbers.Source), .{ .locality = 2 });
                    ahead = pointers.offsetConst(numbers.Source, ahead, tile.ahead_step);
                }
                inline for (0..unroll) |u| {
                    accumulate(numbers, options, &accumulators, a + u * a_step, columns, &.{b + u * b_step}, 1);
                }
                a += unroll * a_step;
                b += unroll * b_step;
            }
            while (step < tile.k) : (step += 1) {
                accumulate(numbers, options, &accumulators, a, columns, &.{b}, 1);
                a += a_step;
                b += b_step;
            }
        },
        .strided => {
            var b_columns: [pointerCount(options, columns_per_pointer)][*]const Word = undefined;
            inline for (&b_columns, 0..) |*first, group| {
                first.* = unrelated(Word, pointers.offsetConst(Word, b, @as(isize, group * columns_per_pointer) * tile.b_column));
            }
            for (0..tile.k) |_| {
                accumulate(numbers, options, &accumulators, a, columns_per_pointer, &b_columns, tile.b_column);
                a = pointers.offsetConst(Word, a, tile.a_step);
                inline for (&b_columns) |*first| first.* = pointers.offsetConst(Word, first.*, tile.b_step);
            }
        },
    }
    const alpha: V = @splat(tile.alpha);
    // A product of integers takes longer than a store (Granite Rapids: 10 cycles, two operations).
    if (comptime !fma.isFloat(T)) {
        if (tile.alpha == 1 and tile.beta == 0) {
            inline for (0..columns) |j| {
                const column = pointers.offset(T, out_rows, @as(isize, j) * tile.out_column);
                inline for (0..vectors) |i| column[i * lanes ..][0..lanes].* = accumulators[j][i];
            }
            return;
        }
    }
    if (tile.beta == 0) {
        // What `out` held is not read: it may be anything, NaN included.
        inline for (0..columns) |j| {
            const column = pointers.offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| column[i * lanes ..][0..lanes].* = fma.multiply(V, alpha, accumulators[j][i]);
        }
    } else {
        const beta: V = @splat(tile.beta);
        inline for (0..columns) |j| {
            const column = pointers.offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| {
                const before: V = column[i * lanes ..][0..lanes].*;
                column[i * lanes ..][0..lanes].* = fma.multiplyAdd(options.arithmetic, V, alpha, accumulators[j][i], fma.multiply(V, beta, before));
            }
        }
    }
}

/// Columns of `b`, read in place, that share a pointer: the compiler steps from each to the next by an addition that waits for the one before.
/// A chain of twelve takes as many cycles as the multiply-adds of a step where there are two units.
const columns_per_pointer = 3;

fn pointerCount(comptime options: Options, comptime per_pointer: comptime_int) comptime_int {
    return (options.columns + per_pointer - 1) / per_pointer;
}

/// Returns the same pointer, but hides from the compiler that it lies at a known distance from others.
inline fn unrelated(comptime T: type, ptr: [*]const T) [*]const T {
    return asm (""
        : [same] "=r" (-> [*]const T),
        : [ptr] "0" (ptr),
    );
}

/// One step. Each of `b_columns` points to the first of `per_pointer` columns, `b_column` apart.
inline fn accumulate(
    comptime numbers: Numbers,
    comptime options: Options,
    accumulators: *Accumulators(numbers, options),
    a: [*]const numbers.Word(),
    comptime per_pointer: comptime_int,
    b_columns: *const [pointerCount(options, per_pointer)][*]const numbers.Word(),
    b_column: isize,
) void {
    const lanes = options.lanes;
    const Word = numbers.Word();
    const W = @Vector(lanes, Word);
    var rows: [options.vectors]W = undefined;
    inline for (0..options.vectors) |i| rows[i] = a[i * lanes ..][0..lanes].*;
    inline for (0..options.columns) |j| {
        const word: W = @splat(pointers.offsetConst(Word, b_columns[j / per_pointer], @as(isize, j % per_pointer) * b_column)[0]);
        inline for (0..options.vectors) |i| {
            accumulators[j][i] = addProducts(numbers, options, rows[i], word, accumulators[j][i]);
        }
    }
}

/// Returns the sum plus the products of a group.
inline fn addProducts(
    comptime numbers: Numbers,
    comptime options: Options,
    a: @Vector(options.lanes, numbers.Word()),
    b: @Vector(options.lanes, numbers.Word()),
    sum: @Vector(options.lanes, numbers.Sum),
) @Vector(options.lanes, numbers.Sum) {
    const V = @Vector(options.lanes, numbers.Sum);
    if (numbers.group == 1) return fma.multiplyAdd(options.arithmetic, V, a, b, sum);
    return switch (numbers.Element) {
        u16 => asm ("vdpbf16ps %[b], %[a], %[sum]"
            : [sum] "=v" (-> V),
            : [before] "0" (sum),
              [a] "v" (a),
              [b] "v" (b),
        ),
        u8 => addByteProducts(options.lanes, a, b, sum),
        i16 => sum +% addPairs(options.lanes, a, b),
        else => comptime unreachable,
    };
}

/// Returns the sum plus the products of unsigned bytes of `a` and signed bytes of `b` (AVX512_VNNI).
pub inline fn addByteProducts(
    comptime lanes: comptime_int,
    a: @Vector(lanes, u32),
    b: @Vector(lanes, u32),
    sum: @Vector(lanes, i32),
) @Vector(lanes, i32) {
    return asm ("vpdpbusd %[b], %[a], %[sum]"
        : [sum] "=v" (-> @Vector(lanes, i32)),
        : [before] "0" (sum),
          [a] "v" (a),
          [b] "v" (b),
    );
}

/// Products of 16-bit numbers that came from bytes, added in pairs: the compiler knows this shape as one instruction (PMADDWD).
inline fn addPairs(comptime lanes: comptime_int, a: @Vector(lanes, u32), b: @Vector(lanes, u32)) @Vector(lanes, i32) {
    const Wide = @Vector(2 * lanes, i32);
    const Pairs = @Vector(2 * lanes, i16);
    const products = @as(Wide, @as(Pairs, @bitCast(a))) *% @as(Wide, @as(Pairs, @bitCast(b)));
    const even: @Vector(lanes, i32) = @shuffle(i32, products, undefined, everySecond(lanes, 0));
    const odd: @Vector(lanes, i32) = @shuffle(i32, products, undefined, everySecond(lanes, 1));
    return even +% odd;
}

fn everySecond(comptime lanes: comptime_int, comptime first: i32) @Vector(lanes, i32) {
    return std.simd.iota(i32, lanes) * @as(@Vector(lanes, i32), @splat(2)) + @as(@Vector(lanes, i32), @splat(first));
}

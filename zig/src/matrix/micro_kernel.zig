//! The register tile: the innermost loop of every product.
//!
//! Each step along the depth loads `vectors` vectors of `left`, broadcasts `columns` elements of `right` and does
//! `vectors * columns` fused multiply-adds into accumulators that never leave registers. The order of additions along the depth
//! is the same in every layout and shape, so a result does not depend on how a product was cut.

const std = @import("std");
const table = @import("table.zig");

pub const Layout = enum {
    /// Both operands come from packed panels: all steps are known when compiling.
    panels,
    /// Operands are read where they lie.
    strided,
};

/// a * b + c: fused where the target fuses, else the two instructions it has, because an emulated fused operation takes a call.
pub inline fn multiplyAdd(comptime fused: bool, comptime V: type, a: V, b: V, c: V) V {
    return if (fused) @mulAdd(V, a, b, c) else a * b + c;
}

pub const Options = struct {
    /// Of the panels that are read.
    shape: table.Shape,
    /// Of this tile: the shape's, or half of them.
    lanes: comptime_int,
    vectors: comptime_int,
    columns: comptime_int,
    layout: Layout,
    fused: bool,
};

pub inline fn compute(comptime T: type, comptime options: Options, tile: *const table.Tile(T)) void {
    const lanes = options.lanes;
    const vectors = options.vectors;
    const columns = options.columns;
    const V = @Vector(lanes, T);
    var sums: [columns][vectors]V = @splat(@splat(@splat(0)));

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
            const unroll = 4;
            var step: usize = 0;
            while (step + unroll <= tile.depth) : (step += unroll) {
                inline for (0..unroll) |u| {
                    accumulate(T, options, &sums, left + u * left_step, right + u * right_step, 1);
                }
                left += unroll * left_step;
                right += unroll * right_step;
            }
            while (step < tile.depth) : (step += 1) {
                accumulate(T, options, &sums, left, right, 1);
                left += left_step;
                right += right_step;
            }
        },
        .strided => {
            for (0..tile.depth) |_| {
                accumulate(T, options, &sums, left, right, tile.right_column);
                left = offsetConst(T, left, tile.left_step);
                right = offsetConst(T, right, tile.right_step);
            }
        },
    }

    const alpha: V = @splat(tile.alpha);
    if (tile.beta == 0) {
        // What `out` held is not read: it may be anything, NaN included.
        inline for (0..columns) |j| {
            const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| column[i * lanes ..][0..lanes].* = alpha * sums[j][i];
        }
    } else {
        const beta: V = @splat(tile.beta);
        inline for (0..columns) |j| {
            const column = offset(T, out_rows, @as(isize, j) * tile.out_column);
            inline for (0..vectors) |i| {
                const before: V = column[i * lanes ..][0..lanes].*;
                column[i * lanes ..][0..lanes].* = multiplyAdd(options.fused, V, alpha, sums[j][i], beta * before);
            }
        }
    }
}

inline fn accumulate(
    comptime T: type,
    comptime options: Options,
    sums: *[options.columns][options.vectors]@Vector(options.lanes, T),
    left: [*]const T,
    right: [*]const T,
    right_column: isize,
) void {
    const lanes = options.lanes;
    const V = @Vector(lanes, T);
    var rows: [options.vectors]V = undefined;
    inline for (0..options.vectors) |i| rows[i] = left[i * lanes ..][0..lanes].*;
    inline for (0..options.columns) |j| {
        const element: V = @splat(offsetConst(T, right, @as(isize, j) * right_column)[0]);
        inline for (0..options.vectors) |i| {
            sums[j][i] = multiplyAdd(options.fused, V, rows[i], element, sums[j][i]);
        }
    }
}

pub inline fn offset(comptime T: type, ptr: [*]T, elements: isize) [*]T {
    return ptr + @as(usize, @bitCast(elements));
}

pub inline fn offsetConst(comptime T: type, ptr: [*]const T, elements: isize) [*]const T {
    return ptr + @as(usize, @bitCast(elements));
}

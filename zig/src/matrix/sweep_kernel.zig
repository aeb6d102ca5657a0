//! The register tile of convolutions: `height` adjacent values of a panel times a few values read where they lie, summed over all steps of
//! all taps before anything is written.
//!
//! Blocks, rows, taps and steps are added in this order in every tile, so a result does not depend on how a convolution was cut.

const micro_kernel = @import("micro_kernel.zig");

pub const Shape = struct {
    lanes: comptime_int,
    /// Vectors of a panel.
    vectors: comptime_int,
    /// Columns at most.
    columns: comptime_int,

    pub fn height(comptime shape: Shape) comptime_int {
        return shape.lanes * shape.vectors;
    }
};

/// What is adjacent in `right`.
pub const Adjacent = enum { steps, columns };

pub fn Sweep(comptime T: type) type {
    return struct {
        adjacent: Adjacent,
        blocks: usize,
        rows: usize,
        taps: usize,
        /// Of each tap; before them come those that the first column takes no part in, after them those that the last takes no part in,
        /// because it reads padding there.
        steps: usize,
        head_steps: usize = 0,
        tail_steps: usize = 0,
        /// Steps of `height` values; the taps of a row lie one after the other.
        left: [*]const T,
        left_row: usize,
        left_block: usize,
        right: [*]const T,
        /// Between columns where steps are adjacent, between steps where columns are.
        right_stride: usize,
        right_tap: usize,
        right_row: usize,
        right_block: usize,
        columns: usize,
        /// Vectors of a panel that are summed, from the first.
        vectors: usize,
        /// `height` values for each column, of which those vectors are written.
        out: [*]T,
        out_column: isize,
        /// Added to the finished sums: `height` values, the same for each column.
        addend: ?[*]const T = null,
        /// Whether the sums are added to `out`.
        accumulates: bool = false,
    };
}

/// `Tiles` belongs to the calling module: its function `sweepTile` is compiled for that module's instruction set, once for each size.
pub inline fn run(comptime T: type, comptime shape: Shape, comptime Tiles: type, job: *const Sweep(T)) void {
    switch (job.adjacent) {
        inline else => |adjacent| switch (job.vectors) {
            inline 1...shape.vectors => |vectors| switch (job.columns) {
                inline 1...shape.columns => |columns| Tiles.sweepTile(adjacent, vectors, columns, job),
                else => unreachable,
            },
            else => unreachable,
        },
    }
}

pub inline fn tile(
    comptime T: type,
    comptime shape: Shape,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    job: *const Sweep(T),
) void {
    @setEvalBranchQuota(10_000);
    const lanes = shape.lanes;
    const V = @Vector(lanes, T);
    var sums: [columns][vectors]V = @splat(@splat(@splat(0)));
    const stride = job.right_stride;
    var left_block = job.left;
    var right_block = job.right;
    for (0..job.blocks) |_| {
        var left_row = left_block;
        var right_row = right_block;
        for (0..job.rows) |_| {
            var left = left_row;
            var right_tap = right_row;
            for (0..job.taps) |_| {
                var at: Place(T) = .{ .left = left, .right = right_tap };
                if (adjacent == .steps and columns > 1) sum(T, shape, arithmetic, adjacent, vectors, columns, 1, columns, job.head_steps, stride, &sums, &at);
                sum(T, shape, arithmetic, adjacent, vectors, columns, 0, columns, job.steps, stride, &sums, &at);
                if (adjacent == .steps and columns > 1) sum(T, shape, arithmetic, adjacent, vectors, columns, 0, columns - 1, job.tail_steps, stride, &sums, &at);
                left = at.left;
                right_tap += job.right_tap;
            }
            left_row += job.left_row;
            right_row += job.right_row;
        }
        left_block += job.left_block;
        right_block += job.right_block;
    }
    if (job.addend) |addend| inline for (0..vectors) |i| {
        const value: V = addend[i * lanes ..][0..lanes].*;
        inline for (0..columns) |j| sums[j][i] += value;
    };
    inline for (0..columns) |j| {
        const out = micro_kernel.offset(T, job.out, @as(isize, j) * job.out_column);
        inline for (0..vectors) |i| {
            if (job.accumulates) sums[j][i] += @as(V, out[i * lanes ..][0..lanes].*);
            out[i * lanes ..][0..lanes].* = sums[j][i];
        }
    }
}

fn Place(comptime T: type) type {
    return struct { left: [*]const T, right: [*]const T };
}

/// Steps in which columns [first, last) take part.
inline fn sum(
    comptime T: type,
    comptime shape: Shape,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    comptime first: comptime_int,
    comptime last: comptime_int,
    steps: usize,
    stride: usize,
    sums: *[columns][vectors]@Vector(shape.lanes, T),
    at: *Place(T),
) void {
    const lanes = shape.lanes;
    const V = @Vector(lanes, T);
    for (0..steps) |_| {
        var rows: [vectors]V = undefined;
        inline for (0..vectors) |i| rows[i] = at.left[i * lanes ..][0..lanes].*;
        inline for (first..last) |j| {
            const value: V = @splat(at.right[if (adjacent == .steps) j * stride else j]);
            inline for (0..vectors) |i| sums[j][i] = micro_kernel.multiplyAdd(arithmetic, V, rows[i], value, sums[j][i]);
        }
        at.left += shape.height();
        at.right += if (adjacent == .steps) 1 else stride;
    }
}

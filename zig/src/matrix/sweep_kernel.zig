//! The register tile of convolutions: `height` adjacent values of a panel times a few values read where they lie, summed over all steps of
//! all taps before anything is written.
//!
//! Blocks, rows, taps and steps are added in this order in every tile, so a result does not depend on how a convolution was cut.

const builtin = @import("builtin");
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

/// Steps of a turn of the inner loop: its count and its jump cost a twentieth otherwise (Granite Rapids, 64 to 1,024 steps of 14 columns: 205
/// to 221 GFLOP/s one by one, 206 to 234 by two, 205 to 220 by four).
const unrolled_steps = 2;

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
    const strides: Strides(columns) = if (adjacent == .steps) .of(stride * @sizeOf(T)) else undefined;
    var left_steps = steps;
    while (left_steps >= unrolled_steps) : (left_steps -= unrolled_steps) {
        inline for (0..unrolled_steps) |i| {
            step(T, shape, arithmetic, adjacent, vectors, columns, first, last, if (adjacent == .steps) i else 0, stride, &strides, sums, at);
            if (i + 1 < unrolled_steps) inline for (first..last) |j| {
                inline for (&sums[j]) |*held| held.* = opaqueIn(@Vector(shape.lanes, T), held.*);
            };
        }
        // The compiler would keep a pointer to each column, more than there are registers, did it know how this one moves.
        if (adjacent == .steps) at.right = opaqueIn([*]const T, at.right + unrolled_steps);
    }
    for (0..left_steps) |_| {
        step(T, shape, arithmetic, adjacent, vectors, columns, first, last, 0, stride, &strides, sums, at);
        if (adjacent == .steps) at.right += 1;
    }
}

/// The value in a register of which the compiler knows nothing; what is read from memory after this is not read before: the registers hold sums.
inline fn opaqueIn(comptime V: type, value: V) V {
    if (@typeInfo(V) != .vector) return asm volatile (""
        : [out] "=r" (-> V),
        : [in] "0" (value),
        : .{ .memory = true });
    return if (builtin.cpu.arch == .x86_64) asm volatile (""
        : [out] "=v" (-> V),
        : [in] "0" (value),
        : .{ .memory = true }) else asm volatile (""
        : [out] "=w" (-> V),
        : [in] "0" (value),
        : .{ .memory = true });
}

/// Odd multiples of a stride in bytes, in registers: the address of a column is one of them times a power of two.
fn Strides(comptime columns: comptime_int) type {
    return struct {
        odd: [columns / 2]usize,

        inline fn of(stride_bytes: usize) @This() {
            var strides: @This() = undefined;
            inline for (&strides.odd, 0..) |*multiple, i| multiple.* = opaqueIn(usize, stride_bytes * (2 * i + 1));
            return strides;
        }

        inline fn at(strides: *const @This(), comptime column: comptime_int) usize {
            if (column == 0) return 0;
            const power = comptime @ctz(@as(u32, column));
            return strides.odd[column >> power >> 1] << power;
        }
    };
}

inline fn step(
    comptime T: type,
    comptime shape: Shape,
    comptime arithmetic: micro_kernel.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    comptime first: comptime_int,
    comptime last: comptime_int,
    comptime ahead: comptime_int,
    stride: usize,
    strides: *const Strides(columns),
    sums: *[columns][vectors]@Vector(shape.lanes, T),
    at: *Place(T),
) void {
    const lanes = shape.lanes;
    const V = @Vector(lanes, T);
    var rows: [vectors]V = undefined;
    inline for (0..vectors) |i| rows[i] = at.left[i * lanes ..][0..lanes].*;
    inline for (first..last) |j| {
        const place: [*]const T = if (adjacent == .steps) @ptrFromInt(@intFromPtr(at.right) +% strides.at(j) + ahead * @sizeOf(T)) else at.right + j;
        const value: V = @splat(place[0]);
        inline for (0..vectors) |i| sums[j][i] = micro_kernel.multiplyAdd(arithmetic, V, rows[i], value, sums[j][i]);
    }
    at.left += shape.height();
    if (adjacent == .columns) at.right += stride;
}

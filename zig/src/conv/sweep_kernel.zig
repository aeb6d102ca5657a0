//! The register tile of convolutions: `height` adjacent values of a panel times a few values read in place, summed over all steps of
//! all taps before anything is written.
//!
//! Blocks, rows, taps and steps are added in this order in every tile, so a result does not depend on how a convolution was cut.

const builtin = @import("builtin");
const fma = @import("../simd/fma.zig");
const pointers = @import("../simd/pointers.zig");

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

/// Steps of one iteration of the inner loop: its count and its jump cost a twentieth otherwise (Granite Rapids, 64 to 1,024 steps of 14 columns: 205
/// to 221 GFLOP/s one by one, 206 to 234 by two, 205 to 220 by four).
const unrolled_steps = 2;

/// What is adjacent in `b`.
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
        a: [*]const T,
        a_row: usize,
        a_block: usize,
        b: [*]const T,
        /// Between columns where steps are adjacent, between steps where columns are.
        b_stride: usize,
        b_tap: usize,
        b_row: usize,
        b_block: usize,
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
    comptime arithmetic: fma.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    job: *const Sweep(T),
) void {
    @setEvalBranchQuota(10_000);
    const lanes = shape.lanes;
    const V = @Vector(lanes, T);
    var accumulators: [columns][vectors]V = @splat(@splat(@splat(0)));
    const stride = job.b_stride;
    var a_block = job.a;
    var b_block = job.b;
    for (0..job.blocks) |_| {
        var a_row = a_block;
        var b_row = b_block;
        for (0..job.rows) |_| {
            var a = a_row;
            var b_tap = b_row;
            for (0..job.taps) |_| {
                var at: Operands(T) = .{ .a = a, .b = b_tap };
                if (adjacent == .steps and columns > 1) sum(T, shape, arithmetic, adjacent, vectors, columns, 1, columns, job.head_steps, stride, &accumulators, &at);
                sum(T, shape, arithmetic, adjacent, vectors, columns, 0, columns, job.steps, stride, &accumulators, &at);
                if (adjacent == .steps and columns > 1) sum(T, shape, arithmetic, adjacent, vectors, columns, 0, columns - 1, job.tail_steps, stride, &accumulators, &at);
                a = at.a;
                b_tap += job.b_tap;
            }
            a_row += job.a_row;
            b_row += job.b_row;
        }
        a_block += job.a_block;
        b_block += job.b_block;
    }
    if (job.addend) |addend| inline for (0..vectors) |i| {
        const value: V = addend[i * lanes ..][0..lanes].*;
        inline for (0..columns) |j| accumulators[j][i] += value;
    };
    inline for (0..columns) |j| {
        const out = pointers.offset(T, job.out, @as(isize, j) * job.out_column);
        inline for (0..vectors) |i| {
            if (job.accumulates) accumulators[j][i] += @as(V, out[i * lanes ..][0..lanes].*);
            out[i * lanes ..][0..lanes].* = accumulators[j][i];
        }
    }
}

fn Operands(comptime T: type) type {
    return struct { a: [*]const T, b: [*]const T };
}

/// Steps in which columns [first, last) take part.
inline fn sum(
    comptime T: type,
    comptime shape: Shape,
    comptime arithmetic: fma.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    comptime first: comptime_int,
    comptime last: comptime_int,
    steps: usize,
    stride: usize,
    accumulators: *[columns][vectors]@Vector(shape.lanes, T),
    at: *Operands(T),
) void {
    const strides: Strides(columns) = if (adjacent == .steps) .of(stride * @sizeOf(T)) else undefined;
    var remaining_steps = steps;
    while (remaining_steps >= unrolled_steps) : (remaining_steps -= unrolled_steps) {
        inline for (0..unrolled_steps) |i| {
            step(T, shape, arithmetic, adjacent, vectors, columns, first, last, if (adjacent == .steps) i else 0, stride, &strides, accumulators, at);
            if (i + 1 < unrolled_steps) inline for (first..last) |j| {
                inline for (&accumulators[j]) |*held| held.* = opaqueIn(@Vector(shape.lanes, T), held.*);
            };
        }
        // The compiler would keep a pointer to each column, more than there are registers, did it know how this one moves.
        if (adjacent == .steps) at.b = opaqueIn([*]const T, at.b + unrolled_steps);
    }
    for (0..remaining_steps) |_| {
        step(T, shape, arithmetic, adjacent, vectors, columns, first, last, 0, stride, &strides, accumulators, at);
        if (adjacent == .steps) at.b += 1;
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
    comptime arithmetic: fma.Arithmetic,
    comptime adjacent: Adjacent,
    comptime vectors: comptime_int,
    comptime columns: comptime_int,
    comptime first: comptime_int,
    comptime last: comptime_int,
    comptime ahead: comptime_int,
    stride: usize,
    strides: *const Strides(columns),
    accumulators: *[columns][vectors]@Vector(shape.lanes, T),
    at: *Operands(T),
) void {
    const lanes = shape.lanes;
    const V = @Vector(lanes, T);
    var rows: [vectors]V = undefined;
    inline for (0..vectors) |i| rows[i] = at.a[i * lanes ..][0..lanes].*;
    inline for (first..last) |j| {
        const b_value: [*]const T = if (adjacent == .steps) @ptrFromInt(@intFromPtr(at.b) +% strides.at(j) + ahead * @sizeOf(T)) else at.b + j;
        const value: V = @splat(b_value[0]);
        inline for (0..vectors) |i| accumulators[j][i] = fma.multiplyAdd(arithmetic, V, rows[i], value, accumulators[j][i]);
    }
    at.a += shape.height();
    if (adjacent == .columns) at.b += stride;
}

//! The mean of some values and the sum of squared distances from it, and how two of them are joined (Chan, Golub, LeVeque, Algorithms for
//! Computing the Sample Variance, 1983, equations 1.5).

const std = @import("std");
const fma = @import("../simd/fma.zig");

const Arithmetic = fma.Arithmetic;

/// The moments of one result, in float64 because there are few of them.
pub const Moments = struct {
    count: f64 = 0,
    /// The mean, counted from the shift.
    mean: f64 = 0,
    /// Sum of (x - mean)^2.
    squares: f64 = 0,

    pub fn join(a: Moments, b: Moments) Moments {
        const share = b.count / (a.count + b.count);
        const both = joined(f64, 1, .separate, .{ .mean = .{a.mean}, .squares = .{a.squares} }, .{ .mean = .{b.mean}, .squares = .{b.squares} }, share, a.count * share);
        return .{ .count = a.count + b.count, .mean = both.mean[0], .squares = both.squares[0] };
    }
};

pub fn Vectors(comptime T: type, comptime lanes: comptime_int) type {
    return struct { mean: @Vector(lanes, T), squares: @Vector(lanes, T) };
}

/// `share` is that of b in the count of both; `weight` is it times the count of a.
pub inline fn joined(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime arithmetic: Arithmetic,
    a: Vectors(T, lanes),
    b: Vectors(T, lanes),
    share: T,
    weight: T,
) Vectors(T, lanes) {
    const V = @Vector(lanes, T);
    // Infinite means are those of sums too large for the type: their squares are infinite, not NaN, and stay so whatever is joined next.
    const distance = @select(T, a.mean == b.mean, @as(V, @splat(0)), b.mean - a.mean);
    const mean = fma.multiplyAdd(arithmetic, V, distance, @splat(share), a.mean);
    return .{
        .mean = @select(T, @abs(distance) == @as(V, @splat(std.math.inf(T))), distance, mean),
        .squares = fma.multiplyAdd(arithmetic, V, distance * @as(V, @splat(weight)), distance, a.squares + b.squares),
    };
}

//! Norms of float32 rows, and their gradients, whose squares or sums leave the range of float32: computed in float64, one value after another.
//! Such rows are rare; bfloat16, which has the range of float32, and values without an epsilon beside them meet them first.

const std = @import("std");

/// Squares of values below 2^-51 lose digits as float32, and those above 2^63 leave no room for their sum.
const least_square = 0x1p-102;
const largest_square = 0x1p126;

/// Whether a row whose mean square float32 found is to be computed here. A mean square that is not a number is not known.
pub fn isNeeded(mean_square: f64, epsilon: f64) bool {
    return !(mean_square < largest_square) or mean_square + epsilon < least_square;
}

const Moments = struct { mean: f64, factor: f64 };

fn momentsOf(x: []const f32, is_centered: bool, epsilon: f64) Moments {
    const count: f64 = @floatFromInt(x.len);
    var sum: f64 = 0;
    if (is_centered) for (x) |value| {
        sum += value;
    };
    const mean = sum / count;
    var squares: f64 = 0;
    for (x) |value| squares += (value - mean) * (value - mean);
    return .{ .mean = mean, .factor = 1.0 / @sqrt(squares / count + epsilon) };
}

/// out = (x - mean) / sqrt(variance + epsilon), which may be in place; the mean of a root-mean-square norm is zero. Returns what it is made with.
pub noinline fn standardize(x: []const f32, out: [*]f32, is_centered: bool, epsilon: f64) Moments {
    const moments = momentsOf(x, is_centered, epsilon);
    for (x, out) |value, *target| target.* = @floatCast((value - moments.mean) * moments.factor);
    return moments;
}

/// The gradient by x of a norm, as row_gradient_kernel.zig defines it; `out` may be x or the gradient.
pub noinline fn standardizeGradient(x: []const f32, gradient: [*]const f32, scale: ?[*]const f32, out: [*]f32, is_centered: bool, epsilon: f64) void {
    const moments = momentsOf(x, is_centered, epsilon);
    var level: f64 = 0;
    var slope: f64 = 0;
    for (x, 0..) |value, i| {
        const given = scaled(gradient, scale, i);
        level += given;
        slope += given * ((value - moments.mean) * moments.factor);
    }
    const count: f64 = @floatFromInt(x.len);
    level = if (is_centered) level / count else 0;
    slope /= count;
    for (x, out, 0..) |value, *target, i| {
        const even = (value - moments.mean) * moments.factor;
        target.* = @floatCast(moments.factor * (scaled(gradient, scale, i) - level - even * slope));
    }
}

/// The gradient of softmax by its argument, from its result; `out` may be either.
pub noinline fn softmaxGradient(y: []const f32, gradient: [*]const f32, out: [*]f32) void {
    var total: f64 = 0;
    for (y, 0..) |value, i| total += @as(f64, value) * gradient[i];
    for (y, out, 0..) |value, *target, i| target.* = @floatCast(value * (gradient[i] - total));
}

/// The gradient of log-softmax by its argument, from its result; `out` may be either.
pub noinline fn logSoftmaxGradient(y: []const f32, gradient: [*]const f32, out: [*]f32) void {
    var total: f64 = 0;
    for (gradient[0..y.len]) |value| total += value;
    for (y, out, 0..) |value, *target, i| target.* = @floatCast(gradient[i] - @exp(@as(f64, value)) * total);
}

fn scaled(gradient: [*]const f32, scale: ?[*]const f32, index: usize) f64 {
    const given: f64 = gradient[index];
    return if (scale) |factors| given * factors[index] else given;
}

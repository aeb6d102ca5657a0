//! The problem that every algorithm of reduction solves.

const std = @import("std");
const generic = @import("generic");
const parallel = @import("../tensor/parallel.zig");
const strided = @import("../tensor/strided.zig");

const kernel = generic.reduce_kernel;
const View = strided.View;

pub const Error = error{OutOfMemory} || parallel.Error;

/// out = the fold of x over its last axes, then divided, then its root taken where asked for.
pub const Problem = struct {
    fold: kernel.Fold,
    /// Axes that are kept come first, then those that are reduced.
    x: View,
    out: View,
    divisor: f64 = 1,
    takes_root: bool = false,
    /// Set where a result may have left the range of float32 on its way, so that float64 is needed.
    has_strayed: ?*std.atomic.Value(bool) = null,

    /// Notes whether a finished value may be wrong because sums or squares overflowed, or squares underflowed.
    pub fn watch(problem: *const Problem, comptime T: type, value: T) void {
        if (T != f32) return;
        const flag = problem.has_strayed orelse return;
        // A result that is stored with more digits than float32 has needs those digits.
        const least: f32 = if (problem.takes_root) @sqrt(least_square) else if (problem.out.storage == .f64) least_square else 0;
        if (!std.math.isFinite(value) or @abs(value) < least) flag.store(true, .monotonic);
    }

    /// A folded value as it is stored.
    pub fn finish(problem: *const Problem, comptime T: type, value: T) T {
        if (comptime generic.storage.isInteger(T)) return value;
        const quotient = if (problem.divisor == 1) value else value / @as(T, @floatCast(problem.divisor));
        return if (problem.takes_root) @sqrt(quotient) else quotient;
    }
};

/// View 0 is x, view 1 `out`.
pub const Kept = strided.Space(2);

pub const Reduced = strided.Space(1);

/// Below it the mean of squares has lost digits of float32 to subnormal numbers: 2^24 times the smallest normal one is 2^-102.
const least_square: f32 = 0x1p-102;

/// Number of values in a segment of a run.
pub const segment_len = 64 * kernel.leaf_len;

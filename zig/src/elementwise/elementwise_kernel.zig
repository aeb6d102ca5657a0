//! Elementwise operations on runs of values in the type that is computed in.
//!
//! A value's result does not depend on where it stands in a run nor on the instruction set: nothing is fused, and the last few values of a
//! run go through the same vector code.

const std = @import("std");
const elementary = @import("../simd/elementary.zig");
const fetch = @import("../simd/fetch.zig");
const gradient = @import("../simd/activation_gradient.zig");
const hyperbolic = @import("../simd/hyperbolic.zig");
const hypot = @import("../simd/hypot.zig");
const inverse_trigonometry = @import("../simd/inverse_trigonometry.zig");
const number_parts = @import("../simd/number_parts.zig");
const operations = @import("../operations.zig");
const power = @import("../simd/power.zig");
const remainder = @import("../simd/remainder.zig");
const storage = @import("../simd/storage.zig");
const stream_store = @import("../simd/stream_store.zig");
const trigonometry = @import("../simd/trigonometry.zig");

pub const Operation = operations.Elementwise;
pub const max_inputs = 4;

comptime {
    for (std.enums.values(Operation)) |operation| std.debug.assert(arity(operation) <= max_inputs);
}

pub const arity = operations.arity;

/// Whether results are truth values, stored as bytes 0 and 1.
pub fn isPredicate(operation: Operation) bool {
    return switch (operations.class(operation)) {
        .predicate, .float_predicate => true,
        .float, .number, .numeric, .signed, .bits, .integer, .rounding => false,
    };
}

/// Chains of dependent instructions so long that a processor sees too few vectors at once: two side by side gain 5 to 10 %. Only where there are
/// 32 registers.
fn isLong(operation: Operation) bool {
    return switch (operation) {
        .exp, .exp2, .expm1, .log, .log2, .log10, .log1p, .tanh, .sigmoid, .silu, .gelu_tanh, .softplus, .sin, .cos, .tan => true,
        .asin, .acos, .atan, .atan2, .sinh, .cosh, .asinh, .acosh, .atanh, .logaddexp => true,
        else => false,
    };
}

/// Operations of an instruction or two.
fn isShort(operation: Operation) bool {
    return switch (operation) {
        .identity, .negative, .absolute, .square, .relu, .sqrt => true,
        .add, .subtract, .multiply, .divide, .maximum, .minimum, .squared_error => true,
        .isnan, .equal, .not_equal, .less, .less_equal, .greater, .greater_equal => true,
        else => false,
    };
}

/// Whether an operation is computed in a type: some exist for floats alone, those on bits for integers alone. What exists and is missing below
/// does not compile.
pub fn appliesTo(comptime T: type, comptime operation: Operation) bool {
    // Those of 16 bits are computed in float32.
    if (operation == .nextafter_half or operation == .nextafter_bfloat) return T == f32;
    return switch (operations.class(operation)) {
        .number, .numeric, .signed, .predicate => true,
        .bits, .integer => storage.isInteger(T),
        .float, .rounding, .float_predicate => !storage.isInteger(T),
    };
}

/// Vectors that an operation computes together at most.
pub const vectors_together = 4;

/// Of short operations so many that memory sees loads of several lines before it sees a store: 16 MiB are copied in 1.1 ms by an Intel Xeon
/// (Granite Rapids), in 2.0 where a load and a store take turns.
fn together(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation) comptime_int {
    if (isShort(operation)) return vectors_together;
    return if (isLong(operation) and lanes * @sizeOf(T) == 64) 2 else 1;
}

/// One operand of a run: element i is at `ptr[i & mask]`. With `mask` zero, one value stands in every lane of `vectors_together` vectors at `ptr`.
pub fn Input(comptime T: type) type {
    return struct { ptr: [*]const T, mask: usize };
}

/// Room for the one value of an operand whose mask is zero, with the widest vectors.
pub fn Splat(comptime T: type) type {
    return [vectors_together * 64 / @sizeOf(T)]T;
}

/// out[i] = operation(inputs[0][i], ...).
pub fn Run(comptime T: type) type {
    return struct {
        operation: Operation,
        inputs: [max_inputs]Input(T),
        /// Values of T, or bytes for predicates.
        out: [*]u8,
        len: usize,
        /// Slope of leaky_relu, scale of elu.
        alpha: T,
        /// Whether stores bypass the caches: `out` begins with a cache line then, and `stream_store.finish` is to follow. Not of predicates.
        streams: bool = false,
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, run: *const Run(T)) void {
    // Every operation is compiled here, each with the series of its functions.
    @setEvalBranchQuota(200_000);
    switch (run.operation) {
        inline else => |operation| if (comptime appliesTo(T, operation)) loop(T, lanes, operation, run) else unreachable,
    }
}

inline fn loop(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation, run: *const Run(T)) void {
    const Result = if (comptime isPredicate(operation)) u8 else T;
    const count = comptime arity(operation);
    const out: [*]Result = @ptrCast(@alignCast(run.out));
    const alpha: @Vector(lanes, T) = @splat(run.alpha);
    // A copy stays in registers; what is written could lie over the original.
    const inputs = run.inputs;
    const len = run.len;
    const streams = if (comptime isPredicate(operation)) false else run.streams;
    var i: usize = 0;
    inline for (comptime if (together(T, lanes, operation) > 1) .{ together(T, lanes, operation), 1 } else .{1}) |vectors| {
        const wide = vectors * lanes;
        while (i + wide <= len) : (i += wide) {
            var values: [count]@Vector(wide, T) = undefined;
            inline for (&values, 0..) |*value, k| {
                const place = inputs[k].ptr + (i & inputs[k].mask);
                fetch.ahead(wide * @sizeOf(T), place, .read);
                value.* = place[0..wide].*;
            }
            const results: [wide]Result = compute(T, wide, operation, values, @splat(run.alpha));
            if (streams) {
                inline for (0..vectors) |vector| {
                    const result: @Vector(lanes, Result) = results[vector * lanes ..][0..lanes].*;
                    stream_store.store(lanes * @sizeOf(Result), @ptrCast(out + i + vector * lanes), @bitCast(result));
                }
            } else {
                fetch.ahead(wide * @sizeOf(Result), out + i, .write);
                out[i..][0..wide].* = results;
            }
        }
    }
    if (comptime isShort(operation)) return inHalves(T, lanes / 2, operation, run, &inputs, i);
    const rest = len - i;
    if (rest == 0) return;
    var values: [count]@Vector(lanes, T) = undefined;
    inline for (0..count) |k| {
        var padded: [lanes]T = @splat(1);
        for (0..rest) |lane| padded[lane] = inputs[k].ptr[(i + lane) & inputs[k].mask];
        values[k] = padded;
    }
    const last: [lanes]Result = compute(T, lanes, operation, values, alpha);
    for (0..rest) |lane| out[i + lane] = last[lane];
}

/// The last values, fewer than twice `lanes`, in vectors of half the length each time: in a small call they take as long as all before them.
inline fn inHalves(
    comptime T: type,
    comptime most_lanes: comptime_int,
    comptime operation: Operation,
    run: *const Run(T),
    inputs: *const [max_inputs]Input(T),
    first: usize,
) void {
    const Result = if (comptime isPredicate(operation)) u8 else T;
    const out: [*]Result = @ptrCast(@alignCast(run.out));
    var i = first;
    comptime var lanes = most_lanes;
    inline while (lanes > 0) : (lanes /= 2) {
        if (i + lanes <= run.len) {
            var values: [arity(operation)]@Vector(lanes, T) = undefined;
            inline for (&values, 0..) |*value, k| value.* = (inputs[k].ptr + (i & inputs[k].mask))[0..lanes].*;
            out[i..][0..lanes].* = compute(T, lanes, operation, values, @splat(run.alpha));
            i += lanes;
        }
    }
}

fn Computed(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation) type {
    return @Vector(lanes, if (isPredicate(operation)) u8 else T);
}

inline fn compute(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
    alpha: @Vector(lanes, T),
) Computed(T, lanes, operation) {
    if (comptime isPredicate(operation)) return @intFromBool(predicate(T, lanes, operation, values));
    if (comptime storage.isInteger(T)) return integer(T, lanes, operation, values);
    const V = @Vector(lanes, T);
    const zero: V = @splat(0);
    const one: V = @splat(1);
    const x = values[0];
    return switch (operation) {
        .identity => x,
        .negative => -x,
        .absolute => @abs(x),
        .sign => @select(T, x > zero, one, @select(T, x < zero, -one, x)),
        .square => x * x,
        .reciprocal => one / x,
        .sqrt => @sqrt(x),
        .exp => elementary.exp(V, x),
        .expm1 => elementary.expm1(V, x),
        .log => elementary.log(V, x),
        .log1p => elementary.log1p(V, x),
        .erf => elementary.erf(V, x),
        .tanh => elementary.tanh(V, x),
        .sigmoid => elementary.sigmoid(V, x),
        .relu => @select(T, x < zero, zero, x),
        .leaky_relu => @select(T, x < zero, alpha * x, x),
        .elu => @select(T, x < zero, alpha * elementary.expm1(V, @min(x, zero)), x),
        .gelu => elementary.gelu(V, x),
        .gelu_tanh => elementary.geluTanh(V, x),
        .silu => x * elementary.sigmoid(V, x),
        .softplus => elementary.softplus(V, x),
        .floor => @floor(x),
        .ceil => @ceil(x),
        .trunc => @trunc(x),
        .rint => roundEven(T, lanes, x),
        .add => x + values[1],
        .subtract => x - values[1],
        .multiply => x * values[1],
        .divide => x / values[1],
        .maximum => maximum(T, lanes, x, values[1]),
        .minimum => minimum(T, lanes, x, values[1]),
        .where => @select(T, x != zero, values[1], values[2]),
        .clip => minimum(T, lanes, maximum(T, lanes, x, values[1]), values[2]),
        .standardize => (x - values[1]) * values[2] + values[3],
        .power => power.pow(V, x, values[1]),
        .remainder => remainder.remainder(V, x, values[1]),
        .fmod => remainder.fmod(V, x, values[1]),
        .floor_divide => remainder.floorDivide(V, x, values[1]),
        .exp2 => elementary.exp2(V, x),
        .log2 => elementary.log2(V, x),
        .log10 => elementary.log10(V, x),
        .logaddexp => elementary.logaddexp(V, x, values[1]),
        .copysign => number_parts.copysign(V, x, values[1]),
        .nextafter => number_parts.nextafter(V, .own, x, values[1]),
        .nextafter_half => number_parts.nextafter(V, .half, x, values[1]),
        .nextafter_bfloat => number_parts.nextafter(V, .bfloat, x, values[1]),
        else => trigonometric(T, lanes, operation, values, alpha),
    };
}

/// Trigonometric and hyperbolic functions and their inverses, and lengths.
inline fn trigonometric(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
    alpha: @Vector(lanes, T),
) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const x = values[0];
    return switch (operation) {
        .sin => trigonometry.sin(V, x),
        .cos => trigonometry.cos(V, x),
        .tan => trigonometry.tan(V, x),
        .asin => inverse_trigonometry.asin(V, x),
        .acos => inverse_trigonometry.acos(V, x),
        .atan => inverse_trigonometry.atan(V, x),
        .atan2 => inverse_trigonometry.atan2(V, x, values[1]),
        .sinh => hyperbolic.sinh(V, x),
        .cosh => hyperbolic.cosh(V, x),
        .asinh => hyperbolic.asinh(V, x),
        .acosh => hyperbolic.acosh(V, x),
        .atanh => hyperbolic.atanh(V, x),
        .hypot => hypot.hypot(V, x, values[1]),
        else => activationGradient(T, lanes, operation, values, alpha),
    };
}

/// Gradients of activations.
inline fn activationGradient(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
    alpha: @Vector(lanes, T),
) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const x = values[0];
    return switch (operation) {
        .relu_gradient => gradient.relu(V, x, values[1]),
        .leaky_relu_gradient => gradient.piecewise(V, x, alpha, values[1]),
        .elu_gradient => gradient.elu(V, x, values[1], alpha),
        .gelu_gradient => gradient.gelu(V, x, values[1]),
        .gelu_tanh_gradient => gradient.geluTanh(V, x, values[1]),
        .silu_gradient => gradient.silu(V, x, values[1]),
        .softplus_gradient => gradient.softplus(V, x, values[1]),
        .sigmoid_gradient => gradient.sigmoid(V, x, values[1]),
        .tanh_gradient => gradient.tanh(V, x, values[1]),
        else => loss(T, lanes, operation, values, alpha),
    };
}

/// What losses sum, and their gradients, times alpha; sums of two matrices.
inline fn loss(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
    alpha: @Vector(lanes, T),
) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const one: V = @splat(1);
    const x = values[0];
    const y = values[1];
    const error_of = x - y;
    return switch (operation) {
        .linear_combination => values[2] * x + values[3] * y,
        .squared_error => error_of * error_of,
        .squared_error_gradient => alpha * (error_of + error_of) * values[2],
        .bce => -(y * logarithm(T, lanes, elementary.log(V, x)) + (one - y) * logarithm(T, lanes, elementary.log1p(V, -x))),
        .bce_gradient => alpha * values[2] * (error_of / maximum(T, lanes, x * (one - x), @splat(least_divisor))),
        .bce_with_logits => (one - y) * x + elementary.softplus(V, -x),
        .bce_with_logits_gradient => alpha * values[2] * (elementary.sigmoid(V, x) - y),
        else => comptime unreachable,
    };
}

/// Divisors of the gradient of `bce` are no less, as PyTorch's.
const least_divisor = 1e-12;

/// A logarithm of at least -100, as PyTorch's `binary_cross_entropy` takes it.
inline fn logarithm(comptime T: type, comptime lanes: comptime_int, value: @Vector(lanes, T)) @Vector(lanes, T) {
    return maximum(T, lanes, value, @splat(-100));
}

/// The larger; NaN when either is, as IEEE 754-2019 `maximum`, but of zeros of both signs the first.
pub inline fn maximum(comptime T: type, comptime lanes: comptime_int, x: @Vector(lanes, T), y: @Vector(lanes, T)) @Vector(lanes, T) {
    if (lanes == 1) return .{maximum(T, least_lanes, @splat(x[0]), @splat(y[0]))[0]};
    // The inner choice is one instruction of x86, which gives x where either is NaN.
    return @select(T, y != y, y, @select(T, y > x, y, x));
}

pub inline fn minimum(comptime T: type, comptime lanes: comptime_int, x: @Vector(lanes, T), y: @Vector(lanes, T)) @Vector(lanes, T) {
    if (lanes == 1) return .{minimum(T, least_lanes, @splat(x[0]), @splat(y[0]))[0]};
    return @select(T, y != y, y, @select(T, y < x, y, x));
}

/// Of a single value the choices are made by branches, which no processor foresees: each that it gets wrong waits for memory.
const least_lanes = 2;

/// To the nearest integer, ties to even: adding 2^mantissa bits leaves no place for a fraction.
inline fn roundEven(comptime T: type, comptime lanes: comptime_int, x: @Vector(lanes, T)) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const limit: V = @splat(1.0 / std.math.floatEps(T));
    const magnitude = @abs(x);
    const rounded = (magnitude + limit) - limit;
    const Bits = @Vector(lanes, @Int(.unsigned, @bitSizeOf(T)));
    const sign: Bits = @splat(1 << (@bitSizeOf(T) - 1));
    const signed: V = @bitCast(@as(Bits, @bitCast(rounded)) | (@as(Bits, @bitCast(x)) & sign));
    return @select(T, magnitude < limit, signed, x);
}

/// Wraps as the machine's integers do.
inline fn integer(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
) @Vector(lanes, T) {
    const V = @Vector(lanes, T);
    const zero: V = @splat(0);
    const one: V = @splat(1);
    const x = values[0];
    return switch (operation) {
        .identity => x,
        .negative => zero -% x,
        .absolute => @select(T, x < zero, zero -% x, x),
        .sign => @select(T, x > zero, one, @select(T, x < zero, zero -% one, zero)),
        .square => x *% x,
        .relu => @max(x, zero),
        .add => x +% values[1],
        .subtract => x -% values[1],
        .multiply => x *% values[1],
        .maximum => @max(x, values[1]),
        .minimum => @min(x, values[1]),
        .where => @select(T, x != zero, values[1], values[2]),
        .clip => @min(@max(x, values[1]), values[2]),
        .power => power.powInteger(V, x, values[1]),
        .remainder => remainder.integer(V, .remainder, x, values[1]),
        .fmod => remainder.integer(V, .fmod, x, values[1]),
        .floor_divide => remainder.integer(V, .quotient, x, values[1]),
        .bitwise_and => x & values[1],
        .bitwise_or => x | values[1],
        .bitwise_xor => x ^ values[1],
        .invert => ~x,
        .left_shift => number_parts.leftShift(V, x, values[1]),
        .right_shift => number_parts.rightShift(V, x, values[1]),
        else => comptime unreachable,
    };
}

inline fn predicate(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    values: [arity(operation)]@Vector(lanes, T),
) @Vector(lanes, bool) {
    const V = @Vector(lanes, T);
    const zero: V = @splat(0);
    const x = values[0];
    return switch (operation) {
        .isnan => x != x,
        .isinf => @abs(x) == @as(V, @splat(std.math.inf(T))),
        .signbit => number_parts.isNegative(V, x),
        .isfinite => @abs(x) < @as(V, @splat(std.math.inf(T))),
        .logical_not => x == zero,
        .equal => x == values[1],
        .not_equal => x != values[1],
        .less => x < values[1],
        .less_equal => x <= values[1],
        .greater => x > values[1],
        .greater_equal => x >= values[1],
        .logical_and => @select(bool, x != zero, values[1] != zero, @as(@Vector(lanes, bool), @splat(false))),
        .logical_or => @select(bool, x != zero, x != zero, values[1] != zero),
        .logical_xor => (x != zero) != (values[1] != zero),
        else => comptime unreachable,
    };
}

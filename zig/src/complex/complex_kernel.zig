//! Elementwise operations on runs of complex numbers, real and imaginary parts in turns, in the type of the parts.
//!
//! A value's result does not depend on where it stands in a run nor on the instruction set: nothing is fused, and the last few values of a
//! run go through the same vector code.

const std = @import("std");
const generic = @import("generic");
const complex_math = @import("complex_math.zig");

const operations = generic.operations;

pub const Operation = operations.Complex;
pub const Result = operations.ComplexResult;
pub const arity = operations.complexArity;
pub const result = operations.complexResult;
pub const max_inputs = 3;

comptime {
    for (std.enums.values(Operation)) |operation| std.debug.assert(arity(operation) <= max_inputs);
}

/// Types of parts that are computed in.
pub const computed = [_]type{ f32, f64 };

/// Whether an operation is computed in parts of this type.
pub fn appliesTo(comptime T: type, operation: Operation) bool {
    return T == f64 or !operations.isWide(operation);
}

/// One operand of a run: element i is at `ptr[2 * i & mask]`. With `mask` zero, one value stands `vectors_together * lanes` times at `ptr`.
pub fn Input(comptime T: type) type {
    return struct { ptr: [*]const T, mask: usize };
}

/// Times `lanes` complex numbers that short operations compute together, so that memory sees loads of several lines before it sees a store.
pub const vectors_together = 2;

/// out[i] = operation(inputs[0][i], ...).
pub fn Run(comptime T: type) type {
    return struct {
        operation: Operation,
        inputs: [max_inputs]Input(T),
        /// Pairs of T, values of T, or bytes, as `result` says.
        out: [*]u8,
        len: usize,
    };
}

/// The routines of an instruction set.
pub fn Table(comptime T: type) type {
    return struct {
        /// Complex numbers that are computed together.
        lanes: usize,
        elementwise: *const fn (*const Run(T)) void,
    };
}

pub inline fn apply(comptime T: type, comptime lanes: comptime_int, run: *const Run(T)) void {
    // Every operation is compiled here, each with the series of its functions.
    @setEvalBranchQuota(200_000);
    switch (run.operation) {
        inline else => |operation| if (comptime appliesTo(T, operation)) loop(T, lanes, operation, run) else unreachable,
    }
}

fn Element(comptime T: type, comptime operation: Operation) type {
    return if (result(operation) == .bool) u8 else T;
}

/// Values of `Element` for one complex number.
fn width(comptime operation: Operation) comptime_int {
    return if (result(operation) == .complex) 2 else 1;
}

inline fn loop(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation, run: *const Run(T)) void {
    const Out = Element(T, operation);
    const count = comptime arity(operation);
    const each = comptime width(operation);
    const out: [*]Out = @ptrCast(@alignCast(run.out));
    // A copy stays in registers; what is written could lie over the original.
    const inputs = run.inputs;
    const len = run.len;
    var i: usize = 0;
    inline for (comptime if (isPairwise(operation)) .{ vectors_together, 1 } else .{1}) |vectors| {
        const wide = vectors * lanes;
        while (i + wide <= len) : (i += wide) {
            var pairs: [count]@Vector(2 * wide, T) = undefined;
            inline for (&pairs, 0..) |*pair, k| {
                const place = inputs[k].ptr + (2 * i & inputs[k].mask);
                generic.fetch.ahead(2 * wide * @sizeOf(T), place, .read);
                pair.* = place[0 .. 2 * wide].*;
            }
            generic.fetch.ahead(each * wide * @sizeOf(Out), out + each * i, .write);
            out[each * i ..][0 .. each * wide].* = compute(T, wide, operation, pairs);
        }
    }
    const rest = len - i;
    if (rest == 0) return;
    var pairs: [count]@Vector(2 * lanes, T) = undefined;
    inline for (0..count) |k| {
        var padded: [2 * lanes]T = @splat(1);
        for (0..2 * rest) |place| padded[place] = inputs[k].ptr[(2 * i & inputs[k].mask) + place];
        pairs[k] = padded;
    }
    const last: [each * lanes]Out = compute(T, lanes, operation, pairs);
    for (0..each * rest) |place| out[each * i + place] = last[place];
}

fn Computed(comptime T: type, comptime lanes: comptime_int, comptime operation: Operation) type {
    return @Vector(lanes * width(operation), Element(T, operation));
}

inline fn compute(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    pairs: [arity(operation)]@Vector(2 * lanes, T),
) Computed(T, lanes, operation) {
    if (comptime isPairwise(operation)) return pairwise(T, lanes, operation, pairs);
    const V = @Vector(lanes, T);
    var values: [arity(operation)]complex_math.Complex(V) = undefined;
    inline for (pairs, &values) |pair, *value| {
        value.re = @shuffle(T, pair, undefined, places(lanes, 0, 2));
        value.im = @shuffle(T, pair, undefined, places(lanes, 1, 2));
    }
    return switch (comptime result(operation)) {
        .bool => @intFromBool(predicate(V, operation, values)),
        .real => if (operation == .absolute) complex_math.absolute(V, values[0]) else complex_math.angle(V, values[0]),
        .complex => joined: {
            const z = if (comptime operations.isWide(operation)) function(V, operation, values) else step(V, operation, values);
            break :joined @shuffle(T, z.re, z.im, woven(lanes));
        },
    };
}

fn places(comptime lanes: comptime_int, comptime first: i32, comptime stride: i32) @Vector(lanes, i32) {
    var mask: [lanes]i32 = undefined;
    for (&mask, 0..) |*place, lane| place.* = first + stride * @as(i32, lane);
    return mask;
}

/// Two vectors in turns; places of the second count from -1 down.
fn woven(comptime lanes: comptime_int) @Vector(2 * lanes, i32) {
    var mask: [2 * lanes]i32 = undefined;
    for (0..lanes) |lane| {
        mask[2 * lane] = lane;
        mask[2 * lane + 1] = -1 - @as(i32, lane);
    }
    return mask;
}

/// Operations of so few steps that parts stay where they are.
fn isPairwise(operation: Operation) bool {
    return switch (operation) {
        .identity, .negative, .conj, .square, .add, .subtract, .multiply => true,
        else => false,
    };
}

inline fn pairwise(
    comptime T: type,
    comptime lanes: comptime_int,
    comptime operation: Operation,
    pairs: [arity(operation)]@Vector(2 * lanes, T),
) @Vector(2 * lanes, T) {
    return switch (operation) {
        .identity => pairs[0],
        .negative => -pairs[0],
        .conj => flipped(T, lanes, pairs[0], 1),
        .square => product(T, lanes, pairs[0], pairs[0]),
        .multiply => product(T, lanes, pairs[0], pairs[1]),
        .add => pairs[0] + pairs[1],
        .subtract => pairs[0] - pairs[1],
        else => comptime unreachable,
    };
}

/// re re' - im im' and re im' + im re'.
inline fn product(comptime T: type, comptime lanes: comptime_int, a: @Vector(2 * lanes, T), b: @Vector(2 * lanes, T)) @Vector(2 * lanes, T) {
    const re = @shuffle(T, a, undefined, repeated(lanes, 0));
    const im = @shuffle(T, a, undefined, repeated(lanes, 1));
    const crossed = im * @shuffle(T, b, undefined, exchanged(lanes));
    return re * b + flipped(T, lanes, crossed, 0);
}

/// Each real part twice, or each imaginary one.
fn repeated(comptime lanes: comptime_int, comptime which: i32) @Vector(2 * lanes, i32) {
    var mask: [2 * lanes]i32 = undefined;
    for (&mask, 0..) |*place, lane| place.* = @as(i32, lane) / 2 * 2 + which;
    return mask;
}

fn exchanged(comptime lanes: comptime_int) @Vector(2 * lanes, i32) {
    var mask: [2 * lanes]i32 = undefined;
    for (&mask, 0..) |*place, lane| place.* = @as(i32, lane) ^ 1;
    return mask;
}

/// With another sign in even places, or in odd ones.
inline fn flipped(comptime T: type, comptime lanes: comptime_int, pairs: @Vector(2 * lanes, T), comptime which: usize) @Vector(2 * lanes, T) {
    const Bits = @Int(.unsigned, @bitSizeOf(T));
    comptime var signs: [2 * lanes]Bits = @splat(0);
    comptime for (&signs, 0..) |*sign, lane| {
        if (lane % 2 == which) sign.* = 1 << (@bitSizeOf(T) - 1);
    };
    return @bitCast(@as(@Vector(2 * lanes, Bits), @bitCast(pairs)) ^ @as(@Vector(2 * lanes, Bits), signs));
}

inline fn step(comptime V: type, comptime operation: Operation, values: [arity(operation)]complex_math.Complex(V)) complex_math.Complex(V) {
    const x = values[0];
    return switch (operation) {
        .where => chosen: {
            const takes = x.re != @as(V, @splat(0));
            const T = @typeInfo(V).vector.child;
            break :chosen .{ .re = @select(T, takes, values[1].re, values[2].re), .im = @select(T, takes, values[1].im, values[2].im) };
        },
        else => comptime unreachable,
    };
}

inline fn function(comptime V: type, comptime operation: Operation, values: [arity(operation)]complex_math.Complex(V)) complex_math.Complex(V) {
    const x = values[0];
    return switch (operation) {
        .sign => complex_math.sign(V, x),
        .reciprocal => complex_math.reciprocal(V, x),
        .sqrt => complex_math.sqrt(V, x),
        .exp => complex_math.exp(V, x),
        .expm1 => complex_math.expm1(V, x),
        .log => complex_math.log(V, x),
        .log1p => complex_math.log1p(V, x),
        .log2 => complex_math.logTo(V, x, std.math.log2e),
        .log10 => complex_math.logTo(V, x, std.math.log10e),
        .sin => complex_math.sin(V, x),
        .cos => complex_math.cos(V, x),
        .tan => complex_math.tan(V, x),
        .sinh => complex_math.sinh(V, x),
        .cosh => complex_math.cosh(V, x),
        .tanh => complex_math.tanh(V, x),
        .asin => complex_math.asin(V, x),
        .acos => complex_math.acos(V, x),
        .atan => complex_math.atan(V, x),
        .asinh => complex_math.asinh(V, x),
        .acosh => complex_math.acosh(V, x),
        .atanh => complex_math.atanh(V, x),
        .divide => complex_math.divide(V, x, values[1]),
        .power => complex_math.pow(V, x, values[1]),
        else => comptime unreachable,
    };
}

inline fn predicate(
    comptime V: type,
    comptime operation: Operation,
    values: [arity(operation)]complex_math.Complex(V),
) @Vector(@typeInfo(V).vector.len, bool) {
    const x = values[0];
    return switch (operation) {
        .isnan => either(x.re != x.re, x.im != x.im),
        .isinf => either(isInfinite(V, x.re), isInfinite(V, x.im)),
        .isfinite => !either(isSpecial(V, x.re), isSpecial(V, x.im)),
        .logical_not => !truth(V, x),
        .equal => !differs(V, x, values[1]),
        .not_equal => differs(V, x, values[1]),
        .logical_and => @select(bool, truth(V, x), truth(V, values[1]), truth(V, x)),
        .logical_or => either(truth(V, x), truth(V, values[1])),
        .logical_xor => truth(V, x) != truth(V, values[1]),
        else => comptime unreachable,
    };
}

inline fn either(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return @select(bool, a, a, b);
}

inline fn isInfinite(comptime V: type, x: V) @Vector(@typeInfo(V).vector.len, bool) {
    return @abs(x) == @as(V, @splat(std.math.inf(@typeInfo(V).vector.child)));
}

inline fn isSpecial(comptime V: type, x: V) @Vector(@typeInfo(V).vector.len, bool) {
    return (x - x) != @as(V, @splat(0));
}

inline fn truth(comptime V: type, x: complex_math.Complex(V)) @Vector(@typeInfo(V).vector.len, bool) {
    const zero: V = @splat(0);
    return either(x.re != zero, x.im != zero);
}

inline fn differs(comptime V: type, x: complex_math.Complex(V), y: complex_math.Complex(V)) @Vector(@typeInfo(V).vector.len, bool) {
    return either(x.re != y.re, x.im != y.im);
}

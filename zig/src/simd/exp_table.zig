//! e^x of float32 by a table of as many powers of two as a vector has lanes (Tang 1989), looked up by one instruction: six multiplications and
//! an addition where the series of vector_math.zig alone takes nine and three. Within 1.5 units in the last place for |x| <= 10, 3 for all x.
//!
//! For modules whose instruction set permutes whole vectors (AVX2, AVX-512); vector_math.zig is the scalar twin and serves the others.

const std = @import("std");
const builtin = @import("builtin");
const fma = @import("fma.zig");

/// Whether there is such a table for these vectors.
pub fn isFor(comptime T: type, comptime lanes: comptime_int, comptime arithmetic: fma.Arithmetic) bool {
    return builtin.cpu.arch == .x86_64 and T == f32 and arithmetic == .fused and (lanes == 8 or lanes == 16);
}

pub fn ExpTable(comptime lanes: comptime_int) type {
    return struct {
        const V = @Vector(lanes, f32);
        const Bits = @Vector(lanes, u32);

        const fraction_bits = std.math.log2_int(u32, lanes);
        /// Adding and subtracting it rounds to a multiple of 1 / lanes, which then stands in the low bits.
        const round_magic: f32 = 1.5 * (1 << (23 - fraction_bits));
        const magic_bits: u32 = @bitCast(round_magic);
        /// Where the first bit of the fraction of the exponent belongs.
        const fraction_shift = 23 - fraction_bits;
        /// 2^(j / lanes), less what adding j at `fraction_shift` adds.
        const entries: Bits = table: {
            @setEvalBranchQuota(10_000);
            var values: [lanes]u32 = undefined;
            for (&values, 0..) |*value, j| {
                const power: f32 = @floatCast(std.math.pow(f64, 2, @as(f64, j) / lanes));
                value.* = @as(u32, @bitCast(power)) -% (j << fraction_shift);
            }
            break :table values;
        };
        /// Largest |r|, and e^r = 1 + r + r^2 (half + sixth r): the terms of degree 4 and 5 of its series, as far as polynomials of degree 2 and 3
        /// that deviate least replace them there (Chebyshev). The rest is below 2e-8 with 8 lanes, 1.2e-9 with 16.
        const reach = std.math.ln2 / (2.0 * lanes);
        const half: f32 = 0.5 + reach * reach / 24.0;
        const sixth: f32 = 1.0 / 6.0 + reach * reach / 96.0;

        /// As far as `ordinary` goes: the bits of -86.
        const ordinary_bits: u32 = @bitCast(@as(f32, -86));

        const Reduced = struct { shifted: V, r: V };

        inline fn all(value: f32) V {
            return @splat(value);
        }

        /// x = (n + j / lanes) ln 2 + r. The distance is rounded once, and ln 2 is within 2.8e-9 of itself.
        inline fn reduce(x: V) Reduced {
            const shifted = @mulAdd(V, x, all(std.math.log2e), all(round_magic));
            const rounded = shifted - all(round_magic);
            return .{ .shifted = shifted, .r = @mulAdd(V, rounded, all(-std.math.ln2), x) };
        }

        /// power * e^r
        inline fn grown(power: V, r: V) V {
            const series = @mulAdd(V, r, all(sixth), all(half));
            return @mulAdd(V, power, @mulAdd(V, r * r, series, r), power);
        }

        inline fn lookUp(index: V) Bits {
            return asm ("vpermd %[table], %[index], %[found]"
                : [found] "=v" (-> Bits),
                : [table] "v" (entries),
                  [index] "v" (index),
            );
        }

        /// Whether `ordinary` serves several vectors of values that are not positive. NaN counts as either.
        pub inline fn areOrdinary(comptime count: comptime_int, values: [count]V) bool {
            var most: Bits = @bitCast(values[0]);
            inline for (1..count) |part| most = @max(most, @as(Bits, @bitCast(values[part])));
            return @reduce(.And, most <= @as(Bits, @splat(ordinary_bits)));
        }

        /// Of -86 <= x <= 0 or NaN: the exponent and its fraction are added to the bits of the power at once.
        pub inline fn ordinary(x: V) V {
            const reduced = reduce(x);
            const scale = @as(Bits, @bitCast(reduced.shifted)) << @splat(fraction_shift);
            return grown(@bitCast(lookUp(reduced.shifted) +% scale), reduced.r);
        }

        /// The same bits, also where the result is zero, subnormal, infinite or NaN.
        pub inline fn anywhere(x: V) V {
            // Outside, the result is 0 or infinity.
            const reduced = reduce(@min(@max(x, all(-104)), all(89)));
            const whole = @as(Bits, @bitCast(reduced.shifted)) -% @as(Bits, @splat(magic_bits));
            const fraction = whole & @as(Bits, @splat(lanes - 1));
            const power = lookUp(reduced.shifted) +% (fraction << @splat(fraction_shift));
            const n: @Vector(lanes, i32) = @as(@Vector(lanes, i32), @bitCast(whole)) >> @splat(fraction_bits);
            // n is in [-151, 128], more than one power of two can express.
            const first = n >> @splat(1);
            const result = grown(@bitCast(power), reduced.r) * powerOfTwo(first) * powerOfTwo(n - first);
            return @select(f32, x != x, x, result);
        }

        inline fn powerOfTwo(n: @Vector(lanes, i32)) V {
            return @bitCast((n + @as(@Vector(lanes, i32), @splat(127))) << @splat(23));
        }
    };
}

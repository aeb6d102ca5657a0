//! Functions of complex numbers on vectors of float64: real parts in one vector, imaginary parts in another. Special values are those of C
//! (ISO C17, Annex G), which the array API standard 2025.12 repeats. The error is a few units in the last place of the size of the result;
//! those of complex64 are computed here and rounded once.
//!
//! Every lane takes the same steps; a choice between two formulas is made at the end, so that the formula left out may give anything.

const std = @import("std");
const generic = @import("generic");

const elementary = generic.elementary;
const trigonometry = generic.trigonometry;
const power = generic.power;

const epsilon = 0x1p-52;
const ln2 = std.math.ln2;
const nan = std.math.nan(f64);
const infinity = std.math.inf(f64);

pub fn Complex(comptime V: type) type {
    return struct { re: V, im: V };
}

inline fn all(comptime V: type, value: f64) V {
    return @splat(value);
}

fn Mask(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, bool);
}

inline fn both(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return @select(bool, a, b, a);
}

inline fn either(a: anytype, b: @TypeOf(a)) @TypeOf(a) {
    return @select(bool, a, a, b);
}

inline fn pick(comptime V: type, mask: Mask(V), a: V, b: V) V {
    return @select(f64, mask, a, b);
}

inline fn isNan(x: anytype) Mask(@TypeOf(x)) {
    return x != x;
}

inline fn isInfinite(x: anytype) Mask(@TypeOf(x)) {
    return @abs(x) == all(@TypeOf(x), infinity);
}

/// Infinite or NaN.
inline fn isSpecial(x: anytype) Mask(@TypeOf(x)) {
    return (x - x) != all(@TypeOf(x), 0);
}

fn Bits(comptime V: type) type {
    return @Vector(@typeInfo(V).vector.len, u64);
}

/// The size of one number with the sign of another.
inline fn withSign(comptime V: type, size: V, signed: V) V {
    const top: Bits(V) = @splat(1 << 63);
    return @bitCast((@as(Bits(V), @bitCast(size)) & ~top) | (@as(Bits(V), @bitCast(signed)) & top));
}

/// Zero with the sign of x y.
inline fn zeroOfSigns(comptime V: type, x: V, y: V) V {
    const top: Bits(V) = @splat(1 << 63);
    return @bitCast((@as(Bits(V), @bitCast(x)) ^ @as(Bits(V), @bitCast(y))) & top);
}

/// The larger and the smaller of two sizes, without a word about NaN.
inline fn largest(comptime V: type, x: V, y: V) V {
    return pick(V, x >= y, x, y);
}

/// An unevaluated sum.
fn Pair(comptime V: type) type {
    return struct { high: V, low: V };
}

/// a + b and what rounding lost (Knuth 1969).
inline fn sumOf(comptime V: type, a: V, b: V) Pair(V) {
    const high = a + b;
    const back = high - a;
    return .{ .high = high, .low = (a - (high - back)) + (b - back) };
}

/// sqrt(x^2 + y^2) without overflow on the way; infinite where either is, even beside NaN.
pub inline fn absolute(comptime V: type, z: Complex(V)) V {
    const x = @abs(z.re);
    const y = @abs(z.im);
    const most = largest(V, x, y);
    const is_large = most > all(V, 0x1p500);
    const is_small = most < all(V, 0x1p-450);
    const scale = pick(V, is_large, all(V, 0x1p-600), pick(V, is_small, all(V, 0x1p600), all(V, 1)));
    const back = pick(V, is_large, all(V, 0x1p600), pick(V, is_small, all(V, 0x1p-600), all(V, 1)));
    const a = x * scale;
    const b = y * scale;
    const size = @sqrt(a * a + b * b) * back;
    return pick(V, either(isInfinite(x), isInfinite(y)), all(V, infinity), size);
}

/// The angle, with signs of zeros as atan2 of C.
pub inline fn angle(comptime V: type, z: Complex(V)) V {
    return arcTangent(V, z.im, z.re);
}

/// atan2(y, x). The fraction of the smaller to the larger is reduced to (t - 1) / (t + 1) above 0.66; a rational function of Cephes
/// (Moshier 1989, atan.c) has the rest, with an error below one unit in the last place.
inline fn arcTangent(comptime V: type, y: V, x: V) V {
    const ax = @abs(x);
    const ay = @abs(y);
    const is_steep = ay > ax;
    const large = pick(V, is_steep, ay, ax);
    const small = pick(V, is_steep, ax, ay);
    const is_equal = large == small;
    const is_high = small > large * all(V, 0.66);
    const above = pick(V, is_high, small - large, small);
    const below = pick(V, is_high, small + large, large);
    // Of two zeros the angle is that of a point on the axis, of two infinities that of the diagonal.
    const at_equal = pick(V, large == all(V, 0), all(V, 0), pick(V, is_high, all(V, 0), all(V, 1)));
    var t = above / below;
    t = pick(V, both(is_equal, either(large == all(V, 0), isInfinite(large))), at_equal, t);
    const z = t * t;
    const numerator = horner(V, z, &.{ -6.485021904942025371773e1, -1.228866684490136173410e2, -7.500855792314704667340e1, -1.615753718733365076637e1, -8.750608600031904122785e-1 });
    const denominator = horner(V, z, &.{ 1.945506571482613964425e2, 4.853903996359136964868e2, 4.328810604912902668951e2, 1.650270098316988542046e2, 2.485846490142306297962e1, 1 });
    const tail = t * (z * (numerator / denominator));
    const is_diagonal = both(is_equal, isInfinite(large));
    const from_diagonal = either(is_high, is_diagonal);
    t = pick(V, is_diagonal, all(V, 0), t);
    const rest = pick(V, is_diagonal, all(V, 0), tail);
    // pi / 4, pi / 2 and pi with what float64 leaves of each.
    const base = pick(V, from_diagonal, all(V, std.math.pi / 4.0), all(V, 0));
    const base_low = pick(V, from_diagonal, all(V, 0.5 * quarter_low), all(V, 0));
    var value = base + (t + (rest + base_low));
    value = pick(V, is_steep, all(V, std.math.pi / 2.0) - (value - all(V, quarter_low)), value);
    const is_left = @as(Bits(V), @bitCast(x)) >= @as(Bits(V), @splat(1 << 63));
    value = pick(V, is_left, all(V, std.math.pi) - (value - all(V, 2 * quarter_low)), value);
    value = pick(V, either(isNan(x), isNan(y)), all(V, nan), value);
    return withSign(V, value, y);
}

/// pi / 2 less its float64.
const quarter_low = 6.123233995736765886130e-17;

inline fn horner(comptime V: type, z: V, comptime coefficients: []const f64) V {
    var sum = all(V, coefficients[coefficients.len - 1]);
    inline for (1..coefficients.len) |i| sum = sum * z + all(V, coefficients[coefficients.len - 1 - i]);
    return sum;
}

/// Smith's quotient (1962), as NumPy divides: by zero the parts are divided by zero.
pub inline fn divide(comptime V: type, a: Complex(V), b: Complex(V)) Complex(V) {
    const is_flat = @abs(b.re) >= @abs(b.im);
    const large = pick(V, is_flat, b.re, b.im);
    const small = pick(V, is_flat, b.im, b.re);
    const ratio = small / large;
    const scale = all(V, 1) / (large + small * ratio);
    const re = pick(V, is_flat, a.re + a.im * ratio, a.re * ratio + a.im) * scale;
    const im = pick(V, is_flat, a.im - a.re * ratio, a.im * ratio - a.re) * scale;
    const is_zero = both(b.re == all(V, 0), b.im == all(V, 0));
    const zero = @abs(b.re);
    return .{ .re = pick(V, is_zero, a.re / zero, re), .im = pick(V, is_zero, a.im / zero, im) };
}

pub inline fn multiply(comptime V: type, a: Complex(V), b: Complex(V)) Complex(V) {
    return .{ .re = a.re * b.re - a.im * b.im, .im = a.re * b.im + a.im * b.re };
}

pub inline fn reciprocal(comptime V: type, z: Complex(V)) Complex(V) {
    return divide(V, .{ .re = all(V, 1), .im = all(V, 0) }, z);
}

/// z / |z|, of zero zero; of infinite numbers the axis that they lie on.
pub inline fn sign(comptime V: type, z: Complex(V)) Complex(V) {
    const size = absolute(V, z);
    const zero = all(V, 0);
    const one = all(V, 1);
    const is_zero = size == zero;
    const divisor = pick(V, is_zero, one, size);
    const is_infinite = isInfinite(size);
    const is_corner = both(isInfinite(z.re), isInfinite(z.im));
    const unknown = either(is_corner, either(isNan(z.re), isNan(z.im)));
    const far_re = pick(V, isInfinite(z.re), withSign(V, one, z.re), zero);
    const far_im = pick(V, isInfinite(z.im), withSign(V, one, z.im), zero);
    const re = pick(V, is_infinite, far_re, z.re / divisor);
    const im = pick(V, is_infinite, far_im, z.im / divisor);
    return .{ .re = pick(V, unknown, all(V, nan), re), .im = pick(V, unknown, all(V, nan), im) };
}

/// The root with a real part that is not negative (as csqrt of FreeBSD's msun).
pub inline fn sqrt(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const most = largest(V, @abs(z.re), @abs(z.im));
    const is_large = most > all(V, 0x1p1020);
    const is_small = most < all(V, 0x1p-900);
    const scale = pick(V, is_large, all(V, 0.0625), pick(V, is_small, all(V, 0x1p108), all(V, 1)));
    const back = pick(V, is_large, all(V, 4), pick(V, is_small, all(V, 0x1p-54), all(V, 1)));
    const x = z.re * scale;
    const y = z.im * scale;
    const long = @sqrt((@abs(x) + absolute(V, .{ .re = x, .im = y })) * all(V, 0.5));
    const short = @abs(y) / (all(V, 2) * long) * back;
    const size = long * back;
    const is_left = z.re < zero;
    var re = pick(V, is_left, short, size);
    var im = withSign(V, pick(V, is_left, size, short), z.im);
    const is_zero = both(z.re == zero, z.im == zero);
    re = pick(V, is_zero, zero, re);
    im = pick(V, is_zero, z.im, im);
    const is_right_end = both(isInfinite(z.re), z.re > zero);
    const is_left_end = both(isInfinite(z.re), is_left);
    const flat = pick(V, isNan(z.im), z.im, withSign(V, zero, z.im));
    re = pick(V, is_right_end, all(V, infinity), pick(V, is_left_end, @abs(flat), re));
    im = pick(V, is_right_end, flat, pick(V, is_left_end, withSign(V, all(V, infinity), z.im), im));
    const is_tall = isInfinite(z.im);
    return .{ .re = pick(V, is_tall, all(V, infinity), re), .im = pick(V, is_tall, z.im, im) };
}

/// e^x as a product, so that it may be infinite while a smaller factor makes it finite.
inline fn scaledExp(comptime V: type, x: V) Pair(V) {
    const is_large = x > all(V, 709);
    const shifted = pick(V, is_large, x - all(V, 512), x);
    return .{ .high = elementary.exp(V, shifted), .low = pick(V, is_large, all(V, 0x1.9476504ba852ep+738), all(V, 1)) };
}

pub inline fn exp(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const size = scaledExp(V, z.re);
    var re = (size.high * trigonometry.cos(V, z.im)) * size.low;
    var im = (size.high * trigonometry.sin(V, z.im)) * size.low;
    const is_real = z.im == zero;
    re = pick(V, is_real, size.high * size.low, re);
    im = pick(V, is_real, z.im, im);
    const is_end = both(isInfinite(z.re), isSpecial(z.im));
    const vanishes = z.re < zero;
    re = pick(V, is_end, pick(V, vanishes, zero, all(V, infinity)), re);
    im = pick(V, is_end, pick(V, vanishes, zero, all(V, nan)), im);
    return .{ .re = re, .im = im };
}

/// e^z - 1, precise near zero.
pub inline fn expm1(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const whole = exp(V, z);
    const half = trigonometry.sin(V, z.im * all(V, 0.5));
    const small = elementary.expm1(V, z.re);
    var re = small * trigonometry.cos(V, z.im) - all(V, 2) * half * half;
    re = pick(V, z.im == zero, small, re);
    re = pick(V, z.re > all(V, 300), whole.re, re);
    const vanishes = both(isInfinite(z.re), z.re < zero);
    re = pick(V, both(vanishes, isSpecial(z.im)), all(V, -1), re);
    return .{ .re = re, .im = whole.im };
}

/// log |z|. Near the unit circle the squares are added exactly: what is left of 1 decides.
inline fn logSize(comptime V: type, re: V, im: V) V {
    const ax = @abs(re);
    const ay = @abs(im);
    const is_flat = ax >= ay;
    const most = pick(V, is_flat, ax, ay);
    const least = pick(V, is_flat, ay, ax);
    const is_large = most > all(V, 0x1p500);
    const is_small = most < all(V, 0x1p-450);
    const scale = pick(V, is_large, all(V, 0x1p-600), pick(V, is_small, all(V, 0x1p600), all(V, 1)));
    const shift = pick(V, is_large, all(V, 600 * ln2), pick(V, is_small, all(V, -600 * ln2), all(V, 0)));
    const a = most * scale;
    const b = least * scale;
    const is_near = both(most > all(V, 0.5), most < all(V, 1.5));
    const near_a = pick(V, is_near, a, all(V, 1));
    const near_b = pick(V, is_near, b, all(V, 0));
    const rest = aboveOne(V, near_a, near_b);
    const near = all(V, 0.5) * elementary.log1p(V, rest);
    const far = all(V, 0.5) * elementary.log(V, a * a + b * b) + shift;
    const value = pick(V, is_near, near, far);
    const unknown = pick(V, either(isNan(re), isNan(im)), all(V, nan), value);
    return pick(V, either(isInfinite(re), isInfinite(im)), all(V, infinity), unknown);
}

/// a^2 + b^2 - 1 for a between 0.5 and 2.
inline fn aboveOne(comptime V: type, a: V, b: V) V {
    const first = power.multiply(V, a, a);
    const second = power.multiply(V, b, b);
    const head = sumOf(V, first.high, all(V, -1));
    const sum = sumOf(V, head.high, second.high);
    return sum.high + (sum.low + (head.low + (first.low + second.low)));
}

pub inline fn log(comptime V: type, z: Complex(V)) Complex(V) {
    return .{ .re = logSize(V, z.re, z.im), .im = angle(V, z) };
}

/// The logarithm to another base, of which `factor` is 1 / log(base).
pub inline fn logTo(comptime V: type, z: Complex(V), factor: f64) Complex(V) {
    const natural = log(V, z);
    return .{ .re = natural.re * all(V, factor), .im = natural.im * all(V, factor) };
}

/// log(1 + z), precise near zero.
pub inline fn log1p(comptime V: type, z: Complex(V)) Complex(V) {
    const x = z.re + all(V, 1);
    const is_near = both(@abs(z.re) < all(V, 0.5), @abs(z.im) < all(V, 0.5));
    const near_x = pick(V, is_near, z.re, all(V, 0));
    const near_y = pick(V, is_near, z.im, all(V, 0));
    const first = power.multiply(V, near_x, near_x);
    const second = power.multiply(V, near_y, near_y);
    const squares = sumOf(V, first.high, second.high);
    const sum = sumOf(V, all(V, 2) * near_x, squares.high);
    const rest = sum.high + (sum.low + (squares.low + (first.low + second.low)));
    // Below, the squares vanish beside the number, and their low parts are no numbers any more.
    const is_tiny = @abs(near_y) < all(V, 0x1p-480);
    const flat = all(V, 2) * near_x + near_x * near_x;
    const near = all(V, 0.5) * elementary.log1p(V, pick(V, is_tiny, flat, rest));
    const is_zero = both(z.re == all(V, 0), z.im == all(V, 0));
    const precise = pick(V, is_zero, z.re, near);
    return .{ .re = pick(V, is_near, precise, logSize(V, x, z.im)), .im = arcTangent(V, z.im, x) };
}

/// sinh and cosh of the same number, both times `factor`.
fn Hyperbolic(comptime V: type) type {
    return struct { sinh: V, cosh: V, factor: V };
}

inline fn hyperbolic(comptime V: type, x: V) Hyperbolic(V) {
    const one = all(V, 1);
    const half = all(V, 0.5);
    const size = @abs(x);
    const is_short = size <= all(V, 22);
    const short = pick(V, is_short, size, all(V, 0));
    const rise = elementary.expm1(V, short);
    const ratio = rise / (rise + one);
    const large = scaledExp(V, size);
    const sinh_size = pick(V, is_short, half * (rise + ratio), half * large.high);
    return .{
        .sinh = withSign(V, sinh_size, x),
        .cosh = pick(V, is_short, one + half * rise * ratio, half * large.high),
        .factor = pick(V, is_short, one, large.low),
    };
}

pub inline fn sinh(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const parts = hyperbolic(V, z.re);
    var re = (parts.sinh * trigonometry.cos(V, z.im)) * parts.factor;
    var im = (parts.cosh * trigonometry.sin(V, z.im)) * parts.factor;
    const is_end = both(isInfinite(z.re), isSpecial(z.im));
    re = pick(V, either(z.re == zero, is_end), z.re, re);
    im = pick(V, z.im == zero, z.im, im);
    return .{ .re = re, .im = im };
}

pub inline fn cosh(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const parts = hyperbolic(V, z.re);
    var re = (parts.cosh * trigonometry.cos(V, z.im)) * parts.factor;
    var im = (parts.sinh * trigonometry.sin(V, z.im)) * parts.factor;
    re = pick(V, both(isInfinite(z.re), isSpecial(z.im)), all(V, infinity), re);
    im = pick(V, either(z.re == zero, z.im == zero), zeroOfSigns(V, z.re, z.im), im);
    return .{ .re = re, .im = im };
}

/// As Kahan (1987).
pub inline fn tanh(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const one = all(V, 1);
    const sine = trigonometry.sin(V, z.im);
    const cosine = trigonometry.cos(V, z.im);
    const t = sine / cosine;
    const beta = one + t * t;
    const is_short = @abs(z.re) <= all(V, 22);
    const s = hyperbolic(V, pick(V, is_short, z.re, zero)).sinh;
    const rho = @sqrt(one + s * s);
    const below = one + beta * s * s;
    const far = all(V, 4) * sine * cosine * elementary.exp(V, all(V, -2) * @abs(z.re));
    var re = pick(V, is_short, beta * rho * s / below, withSign(V, one, z.re));
    var im = pick(V, is_short, t / below, far);
    const is_end = isInfinite(z.re);
    const end_sign = pick(V, isSpecial(z.im), z.im, sine * cosine);
    im = pick(V, is_end, withSign(V, zero, end_sign), im);
    re = pick(V, isSpecial(z.im), pick(V, is_end, re, all(V, nan)), re);
    re = pick(V, isNan(z.re), all(V, nan), re);
    im = pick(V, isNan(z.re), pick(V, z.im == zero, z.im, all(V, nan)), im);
    re = pick(V, z.re == zero, z.re, re);
    return .{ .re = re, .im = im };
}

pub inline fn sin(comptime V: type, z: Complex(V)) Complex(V) {
    return swapped(V, sinh(V, swapped(V, z)));
}

pub inline fn cos(comptime V: type, z: Complex(V)) Complex(V) {
    return cosh(V, .{ .re = -z.im, .im = z.re });
}

pub inline fn tan(comptime V: type, z: Complex(V)) Complex(V) {
    return swapped(V, tanh(V, swapped(V, z)));
}

inline fn swapped(comptime V: type, z: Complex(V)) Complex(V) {
    return .{ .re = z.im, .im = z.re };
}

/// Parts of the inverse functions of Hull, Fairgrieve and Tang (1997), for x and y that are not negative: `log` is log(A + sqrt(A^2 - 1)) and
/// `root` is sqrt(A^2 - y^2) with A = (|z + i| + |z - i|) / 2.
fn Inverse(comptime V: type) type {
    return struct { log: V, root: V };
}

/// Half of sqrt(a^2 + b^2) - b without cancellation; `long` is that root.
inline fn halfExcess(comptime V: type, a: V, b: V, long: V) V {
    const zero = all(V, 0);
    const half = all(V, 0.5);
    const above = half * a * (a / (long + b));
    return pick(V, b < zero, half * (long - b), pick(V, b == zero, half * a, above));
}

inline fn inverse(comptime V: type, x: V, y: V) Inverse(V) {
    const one = all(V, 1);
    const high = y + one;
    const low = y - one;
    const r = absolute(V, .{ .re = x, .im = high });
    const s = absolute(V, .{ .re = x, .im = low });
    const half = all(V, 0.5) * (r + s);
    const a = pick(V, half < one, one, half);
    const gap = @abs(low);
    const is_wide = x >= all(V, epsilon) * gap;
    const is_below = y < one;
    // (1 - y) (1 + y) or (y - 1) (y + 1).
    const product = gap * high;
    const excess = halfExcess(V, x, high, r) + halfExcess(V, x, -low, s);
    const wide = excess + @sqrt(excess * (a + one));
    const narrow = low + @sqrt(product);
    const log_value = elementary.log1p(V, pick(V, is_wide, wide, pick(V, is_below, all(V, 0), narrow)));
    const is_unit = both(y == one, x < all(V, epsilon * epsilon / 128.0));
    const narrow_log = pick(V, is_below, x / @sqrt(product), log_value);
    const gap_excess = halfExcess(V, x, high, r) + halfExcess(V, x, low, s);
    const is_flat = y <= all(V, 0.6417) * a;
    const steep = pick(V, is_wide, @sqrt(gap_excess * (a + y)), pick(V, is_below, @sqrt(product), x * y / @sqrt(product)));
    const is_corner = both(y == one, x < all(V, epsilon / 128.0));
    const corner = @sqrt(x) * @sqrt(all(V, 0.5) * (a + y));
    return .{
        .log = pick(V, is_unit, @sqrt(x), pick(V, is_wide, log_value, narrow_log)),
        .root = pick(V, is_flat, @sqrt((a - y) * (a + y)), pick(V, is_corner, corner, steep)),
    };
}

/// From here on the logarithm of 2 |z| is all that is left of the inverse functions.
const far_away = 0x1p52;

/// Whether a number is so large, or NaN.
inline fn isFar(comptime V: type, x: V, y: V) Mask(V) {
    const is_near = both(x <= all(V, far_away), y <= all(V, far_away));
    return !is_near;
}

pub inline fn asinh(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const x = @abs(z.re);
    const y = @abs(z.im);
    const is_far = isFar(V, x, y);
    const parts = inverse(V, pick(V, is_far, zero, x), pick(V, is_far, zero, y));
    const re = pick(V, is_far, logSize(V, x, y) + all(V, ln2), parts.log);
    const im = arcTangent(V, y, pick(V, is_far, x, parts.root));
    const is_flat = both(isNan(z.re), z.im == zero);
    return .{ .re = withSign(V, re, z.re), .im = pick(V, is_flat, z.im, withSign(V, im, z.im)) };
}

pub inline fn acos(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const x = @abs(z.re);
    const y = @abs(z.im);
    const is_far = isFar(V, x, y);
    const parts = inverse(V, pick(V, is_far, zero, y), pick(V, is_far, zero, x));
    const re = arcTangent(V, pick(V, is_far, y, parts.root), z.re);
    const im = pick(V, is_far, logSize(V, x, y) + all(V, ln2), parts.log);
    const is_upright = both(z.re == zero, isNan(z.im));
    return .{ .re = pick(V, is_upright, all(V, std.math.pi / 2.0), re), .im = withSign(V, im, -z.im) };
}

pub inline fn acosh(comptime V: type, z: Complex(V)) Complex(V) {
    const arc_cosine = acos(V, z);
    return .{ .re = @abs(arc_cosine.im), .im = withSign(V, arc_cosine.re, z.im) };
}

pub inline fn asin(comptime V: type, z: Complex(V)) Complex(V) {
    return swapped(V, asinh(V, swapped(V, z)));
}

pub inline fn atanh(comptime V: type, z: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const one = all(V, 1);
    const half = all(V, 0.5);
    const x = @abs(z.re);
    const y = @abs(z.im);
    const is_far = isFar(V, x, y);
    const gap = x - one;
    const is_thin = y < all(V, epsilon);
    const near_log = all(V, 0.25) * elementary.log1p(V, all(V, 4) * x / (gap * gap + y * y));
    const is_pole = both(x == one, is_thin);
    const pole_log = half * (all(V, ln2) - elementary.log(V, pick(V, is_pole, y, one)));
    // x / (x^2 + y^2) without overflow.
    const most = largest(V, x, y);
    const far_re = half * (x / most) / (half * x * (x / most) + half * y * (y / most));
    var re = pick(V, is_far, far_re, pick(V, is_pole, pole_log, near_log));
    const square = pick(V, is_thin, zero, y * y);
    const level = pick(V, x == one, -y, -gap * (one + x) - square);
    const height = pick(V, x == one, all(V, 2), all(V, 2) * y);
    var im = pick(V, is_far, all(V, std.math.pi / 2.0), half * arcTangent(V, height, level));
    im = pick(V, both(y == zero, x <= one), zero, im);
    const is_tall = isInfinite(y);
    re = pick(V, either(isInfinite(x), is_tall), zero, pick(V, x == zero, zero, re));
    const unknown = either(isNan(x), isNan(y));
    re = pick(V, both(unknown, either(both(isNan(x), !is_tall), both(isNan(y), both(x != zero, !isInfinite(x))))), all(V, nan), re);
    im = pick(V, both(unknown, !is_tall), all(V, nan), im);
    return .{ .re = withSign(V, re, z.re), .im = withSign(V, im, z.im) };
}

pub inline fn atan(comptime V: type, z: Complex(V)) Complex(V) {
    return swapped(V, atanh(V, swapped(V, z)));
}

/// Exponents below this that are whole are computed by squaring, as in NumPy.
const whole_limit = 100;

/// a^b: by squaring for small whole exponents, else e^(b log a). Zero to a number with a real part that is not positive is NaN, to zero 1.
pub inline fn pow(comptime V: type, a: Complex(V), b: Complex(V)) Complex(V) {
    const zero = all(V, 0);
    const one = all(V, 1);
    const is_whole = both(b.im == zero, both(@trunc(b.re) == b.re, @abs(b.re) < all(V, whole_limit)));
    const general = exp(V, multiply(V, b, log(V, a)));
    var result: Complex(V) = general;
    if (@reduce(.Or, is_whole)) {
        const whole = squared(V, a, pick(V, is_whole, b.re, zero));
        result = .{ .re = pick(V, is_whole, whole.re, general.re), .im = pick(V, is_whole, whole.im, general.im) };
    }
    const is_zero = both(a.re == zero, a.im == zero);
    const vanishes = both(b.re > zero, b.im == zero);
    const at_zero = pick(V, vanishes, zero, all(V, nan));
    result = .{ .re = pick(V, is_zero, at_zero, result.re), .im = pick(V, is_zero, at_zero, result.im) };
    const is_one = both(b.re == zero, b.im == zero);
    return .{ .re = pick(V, is_one, one, result.re), .im = pick(V, is_one, zero, result.im) };
}

inline fn squared(comptime V: type, a: Complex(V), exponent: V) Complex(V) {
    const Whole = @Vector(@typeInfo(V).vector.len, i32);
    const one: Whole = @splat(1);
    var rest: Whole = @intFromFloat(@abs(exponent));
    var base = a;
    var result: Complex(V) = .{ .re = all(V, 1), .im = all(V, 0) };
    var is_first: Mask(V) = @splat(true);
    // One round for each bit of numbers below `whole_limit`.
    for (0..7) |_| {
        const takes = (rest & one) == one;
        // Not 1 times the base: a product with an infinite part has NaN in it.
        const product = multiply(V, result, base);
        const re = pick(V, is_first, base.re, product.re);
        const im = pick(V, is_first, base.im, product.im);
        result = .{ .re = pick(V, takes, re, result.re), .im = pick(V, takes, im, result.im) };
        is_first = both(is_first, !takes);
        base = multiply(V, base, base);
        rest = rest >> @splat(1);
    }
    const inverted = reciprocal(V, result);
    const is_negative = exponent < all(V, 0);
    return .{ .re = pick(V, is_negative, inverted.re, result.re), .im = pick(V, is_negative, inverted.im, result.im) };
}

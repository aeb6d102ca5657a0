//! Functions of complex numbers in HIP-C: `zig/src/complex/complex_math.zig` with branches where that chooses lanes. Special values are those of C
//! (ISO C17, Annex G).

/// What every kernel of complex numbers has.
pub const BASIC: &str = r"
struct Z { C re; C im; };
__device__ inline Z z_of(C re, C im) { Z z; z.re = re; z.im = im; return z; }
__device__ inline Z z_multiply(Z a, Z b) {
    // Products have names, so they are not fused with the sums.
    const C rr = a.re * b.re, ii = a.im * b.im, ri = a.re * b.im, ir = a.im * b.re;
    return z_of(rr - ii, ri + ir);
}
__device__ inline bool z_truth(Z z) { return z.re != 0 || z.im != 0; }
";

/// What those have that compute in float64.
pub const WIDE: &str = r"
__device__ inline bool z_is_special(double x) { return x - x != 0; }
__device__ inline bool z_is_infinite(double x) { return fabs(x) == INFINITY; }
__device__ inline double z_abs(Z z) { return hypot(z.re, z.im); }
__device__ inline Z z_swapped(Z z) { return z_of(z.im, z.re); }
__device__ inline Z z_scaled(Z z, double factor) { return z_of(z.re * factor, z.im * factor); }
// Smith's quotient (1962).
__device__ inline Z z_divide(Z a, Z b) {
    if (b.re == 0 && b.im == 0) return z_of(a.re / fabs(b.re), a.im / fabs(b.re));
    if (fabs(b.re) >= fabs(b.im)) {
        const double ratio = b.im / b.re, scale = 1.0 / (b.re + b.im * ratio);
        return z_of((a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale);
    }
    const double ratio = b.re / b.im, scale = 1.0 / (b.im + b.re * ratio);
    return z_of((a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale);
}
__device__ inline Z z_sign(Z z) {
    if (z.re != z.re || z.im != z.im) return z_of(NAN, NAN);
    if (z_is_infinite(z.re) || z_is_infinite(z.im)) {
        if (z_is_infinite(z.re) && z_is_infinite(z.im)) return z_of(NAN, NAN);
        return z_is_infinite(z.re) ? z_of(copysign(1.0, z.re), 0) : z_of(0, copysign(1.0, z.im));
    }
    const double size = z_abs(z);
    return size == 0 ? z : z_of(z.re / size, z.im / size);
}
__device__ inline Z z_sqrt(Z z) {
    if (z.re == 0 && z.im == 0) return z_of(0, z.im);
    if (z_is_infinite(z.im)) return z_of(INFINITY, z.im);
    if (z_is_infinite(z.re)) {
        const double flat = z.im != z.im ? z.im : copysign(0.0, z.im);
        return z.re > 0 ? z_of(z.re, flat) : z_of(fabs(flat), copysign((double)INFINITY, z.im));
    }
    const double most = fmax(fabs(z.re), fabs(z.im));
    double scale = 1, back = 1;
    if (most > 1e307) { scale = 0.0625; back = 4; }
    if (most < 1e-270) { scale = 0x1p108; back = 0x1p-54; }
    const double x = z.re * scale, y = z.im * scale;
    const double length = sqrt((fabs(x) + hypot(x, y)) * 0.5);
    const double narrow = fabs(y) / (2 * length) * back, wide = length * back;
    return z.re < 0 ? z_of(narrow, copysign(wide, z.im)) : z_of(wide, copysign(narrow, z.im));
}
// e^x as a product, so that it may be infinite while a smaller factor makes it finite.
__device__ inline double z_scaled_exp(double x, double* factor) {
    const bool is_large = x > 709;
    *factor = is_large ? 0x1.9476504ba852ep+738 : 1.0;
    return exp(is_large ? x - 512 : x);
}
__device__ inline Z z_exp(Z z) {
    if (z_is_infinite(z.re) && z_is_special(z.im)) return z.re < 0 ? z_of(0, 0) : z_of(INFINITY, NAN);
    double factor;
    const double size = z_scaled_exp(z.re, &factor);
    if (z.im == 0) return z_of(size * factor, z.im);
    return z_of(size * cos(z.im) * factor, size * sin(z.im) * factor);
}
__device__ inline Z z_expm1(Z z) {
    const Z whole = z_exp(z);
    if (z.im == 0) return z_of(expm1(z.re), whole.im);
    if (z.re > 300) return whole;
    if (z_is_infinite(z.re) && z_is_special(z.im)) return z_of(-1, whole.im);
    const double sine = sin(z.im * 0.5), small = expm1(z.re) * cos(z.im), square = 2 * sine * sine;
    return z_of(small - square, whole.im);
}
// log |z|. Near the unit circle the squares are added exactly: what is left of 1 decides.
__device__ inline double z_log_size(double re, double im) {
    if (z_is_infinite(re) || z_is_infinite(im)) return INFINITY;
    if (re != re || im != im) return NAN;
    double a = fmax(fabs(re), fabs(im)), b = fmin(fabs(re), fabs(im));
    if (a > 0.5 && a < 1.5) {
        const double first = a * a, second = b * b;
        const double first_low = fma(a, a, -first), second_low = fma(b, b, -second);
        const double head = first - 1, head_back = head - first;
        const double head_low = (first - (head - head_back)) + (-1 - head_back);
        const double sum = head + second, back = sum - head;
        const double low = (head - (sum - back)) + (second - back);
        return 0.5 * log1p(sum + (low + (head_low + (first_low + second_low))));
    }
    double shift = 0;
    if (a > 0x1p500) { a *= 0x1p-600; b *= 0x1p-600; shift = 600; }
    if (a < 0x1p-450) { a *= 0x1p600; b *= 0x1p600; shift = -600; }
    return 0.5 * log(a * a + b * b) + shift * 0.69314718055994530942;
}
__device__ inline Z z_log(Z z) { return z_of(z_log_size(z.re, z.im), atan2(z.im, z.re)); }
__device__ inline Z z_log1p(Z z) {
    const double x = z.re + 1, angle = atan2(z.im, x);
    if (z.re == 0 && z.im == 0) return z_of(z.re, angle);
    if (!(fabs(z.re) < 0.5 && fabs(z.im) < 0.5)) return z_of(z_log_size(x, z.im), angle);
    if (fabs(z.im) < 0x1p-480) return z_of(0.5 * log1p(2 * z.re + z.re * z.re), angle);
    const double first = z.re * z.re, second = z.im * z.im;
    const double lows = fma(z.re, z.re, -first) + fma(z.im, z.im, -second);
    const double squares = first + second, squares_back = squares - first;
    const double squares_low = (first - (squares - squares_back)) + (second - squares_back);
    const double twice = 2 * z.re, sum = twice + squares, back = sum - twice;
    const double low = (twice - (sum - back)) + (squares - back);
    return z_of(0.5 * log1p(sum + (low + (squares_low + lows))), angle);
}
__device__ inline Z z_sinh(Z z) {
    if (z_is_infinite(z.re) && z_is_special(z.im)) return z_of(z.re, NAN);
    const double size = fabs(z.re);
    double factor = 1, sine, cosine;
    if (size <= 22) {
        sine = sinh(z.re);
        cosine = cosh(z.re);
    } else {
        cosine = 0.5 * z_scaled_exp(size, &factor);
        sine = copysign(cosine, z.re);
    }
    const double re = z.re == 0 ? z.re : sine * cos(z.im) * factor;
    return z_of(re, z.im == 0 ? z.im : cosine * sin(z.im) * factor);
}
__device__ inline Z z_cosh(Z z) {
    const double size = fabs(z.re);
    double factor = 1, sine, cosine;
    if (size <= 22) {
        sine = sinh(z.re);
        cosine = cosh(z.re);
    } else {
        cosine = 0.5 * z_scaled_exp(size, &factor);
        sine = copysign(cosine, z.re);
    }
    const bool is_end = z_is_infinite(z.re) && z_is_special(z.im);
    const double re = is_end ? (double)INFINITY : cosine * cos(z.im) * factor;
    const double zero = copysign(0.0, z.re) * copysign(1.0, z.im);
    return z_of(re, z.re == 0 || z.im == 0 ? zero : sine * sin(z.im) * factor);
}
// As Kahan (1987).
__device__ inline Z z_tanh(Z z) {
    if (z.re != z.re) return z_of(NAN, z.im == 0 ? z.im : (double)NAN);
    const double sine = sin(z.im), cosine = cos(z.im);
    if (z_is_infinite(z.re)) return z_of(copysign(1.0, z.re), copysign(0.0, z_is_special(z.im) ? z.im : sine * cosine));
    if (fabs(z.re) > 22 && z_is_special(z.im)) return z_of(NAN, NAN);
    if (fabs(z.re) > 22) return z_of(copysign(1.0, z.re), 4 * sine * cosine * exp(-2 * fabs(z.re)));
    const double t = sine / cosine, beta = 1 + t * t, s = sinh(z.re);
    const double below = 1 + beta * s * s;
    return z_of(z.re == 0 ? z.re : beta * sqrt(1 + s * s) * s / below, t / below);
}
__device__ inline Z z_sin(Z z) { return z_swapped(z_sinh(z_swapped(z))); }
__device__ inline Z z_cos(Z z) { return z_cosh(z_of(-z.im, z.re)); }
__device__ inline Z z_tan(Z z) { return z_swapped(z_tanh(z_swapped(z))); }
// Half of sqrt(a^2 + b^2) - b without cancellation; `length` is that root.
__device__ inline double z_half_excess(double a, double b, double length) {
    if (b < 0) return 0.5 * (length - b);
    return b == 0 ? 0.5 * a : 0.5 * a * (a / (length + b));
}
// log(A + sqrt(A^2 - 1)) and sqrt(A^2 - y^2) with A = (|z + i| + |z - i|) / 2 (Hull, Fairgrieve and Tang 1997), for parts that are not negative.
__device__ inline double z_inverse(double x, double y, double* root) {
    const double up = y + 1, down = y - 1;
    const double r = hypot(x, up), s = hypot(x, down), a = fmax(0.5 * (r + s), 1.0);
    const double gap = fabs(down), product = gap * up;
    const bool is_wide = x >= 0x1p-52 * gap;
    if (y <= 0.6417 * a) *root = sqrt((a - y) * (a + y));
    else if (y == 1 && x < 0x1p-59) *root = sqrt(x) * sqrt(0.5 * (a + y));
    else if (is_wide) *root = sqrt((z_half_excess(x, up, r) + z_half_excess(x, down, s)) * (a + y));
    else *root = y < 1 ? sqrt(product) : x * y / sqrt(product);
    if (y == 1 && x < 0x1p-111) return sqrt(x);
    if (!is_wide) return y < 1 ? x / sqrt(product) : log1p(down + sqrt(product));
    const double excess = z_half_excess(x, up, r) + z_half_excess(x, -down, s);
    return log1p(excess + sqrt(excess * (a + 1)));
}
__device__ inline bool z_is_far(double x, double y) { return !(x <= 0x1p52 && y <= 0x1p52); }
__device__ inline Z z_asinh(Z z) {
    const double x = fabs(z.re), y = fabs(z.im);
    double root = x, size;
    if (z_is_far(x, y)) size = z_log_size(x, y) + 0.69314718055994530942;
    else size = z_inverse(x, y, &root);
    if (z.re != z.re && z.im == 0) return z_of(z.re, z.im);
    return z_of(copysign(size, z.re), copysign(atan2(y, root), z.im));
}
__device__ inline Z z_acos(Z z) {
    const double x = fabs(z.re), y = fabs(z.im);
    double root = y, size;
    if (z_is_far(x, y)) size = z_log_size(x, y) + 0.69314718055994530942;
    else size = z_inverse(y, x, &root);
    const double angle = z.re == 0 && z.im != z.im ? 1.57079632679489661923 : atan2(root, z.re);
    return z_of(angle, copysign(size, -z.im));
}
__device__ inline Z z_acosh(Z z) {
    const Z angle = z_acos(z);
    return z_of(fabs(angle.im), copysign(angle.re, z.im));
}
__device__ inline Z z_asin(Z z) { return z_swapped(z_asinh(z_swapped(z))); }
__device__ inline Z z_atanh(Z z) {
    const double x = fabs(z.re), y = fabs(z.im), half_pi = 1.57079632679489661923;
    double re, im;
    if (z_is_infinite(x) || z_is_infinite(y)) {
        re = 0;
        im = z_is_infinite(y) ? half_pi : y != y ? (double)NAN : half_pi;
    } else if (x != x || y != y) {
        re = x == 0 ? 0.0 : (double)NAN;
        im = NAN;
    } else if (z_is_far(x, y)) {
        const double most = fmax(x, y);
        re = 0.5 * (x / most) / (0.5 * x * (x / most) + 0.5 * y * (y / most));
        im = half_pi;
    } else {
        const double gap = x - 1;
        const bool is_thin = y < 0x1p-52;
        if (x == 1 && is_thin) re = 0.5 * (0.69314718055994530942 - log(y));
        else re = 0.25 * log1p(4 * x / (gap * gap + y * y));
        if (y == 0 && x <= 1) im = 0;
        else if (x == 1) im = 0.5 * atan2(2.0, -y);
        else im = 0.5 * atan2(2 * y, -gap * (1 + x) - (is_thin ? 0.0 : y * y));
    }
    return z_of(copysign(re, z.re), copysign(im, z.im));
}
__device__ inline Z z_atan(Z z) { return z_swapped(z_atanh(z_swapped(z))); }
__device__ inline Z z_power(Z a, Z b) {
    if (b.re == 0 && b.im == 0) return z_of(1, 0);
    if (a.re == 0 && a.im == 0) return b.re > 0 && b.im == 0 ? z_of(0, 0) : z_of(NAN, NAN);
    if (b.im == 0 && trunc(b.re) == b.re && fabs(b.re) < 100) {
        Z base = a, result = z_of(1, 0);
        bool is_first = true;
        for (int rest = (int)fabs(b.re); rest > 0; rest >>= 1) {
            if (rest & 1) {
                result = is_first ? base : z_multiply(result, base);
                is_first = false;
            }
            base = z_multiply(base, base);
        }
        return b.re < 0 ? z_divide(z_of(1, 0), result) : result;
    }
    return z_exp(z_multiply(b, z_log(a)));
}
";

// Exponentials, logarithms, powers, hyperbolic functions and cube roots in double precision, and helpers that carry a value as two
// doubles. Only + - * / fma square roots and integer operations, so every target gives the same bits. Coefficients:
// tools/fit_polynomials.py. The reductions are the textbook ones (Muller, Elementary Functions; the shape of log1p's last sum is
// that of fdlibm's e_log.c).

// A value that is the sum of two doubles.
struct __agpu_pair { double high, low; };

// Powers of two, for exponents of normal numbers.
__device__ double __agpu_power_of_two(int exponent) { return __builtin_bits_double((long long)(exponent + 1023) << 52); }

// x * 2^k, rounded once; x is normal, k between -2000 and 2000.
__device__ double __agpu_scaled(double x, int k) {
    int half = k >> 1;
    return x * __agpu_power_of_two(half) * __agpu_power_of_two(k - half);
}

// (e^r - 1 - r) / r^2 for -0.3466 < r < 0.3466.
__device__ double __agpu_exp_tail(double r) {
    double p = 0x1.af38a71a18cb9p-26;
    p = __builtin_fma(p, r, 0x1.2891834686c7ep-22);
    p = __builtin_fma(p, r, 0x1.71de0daf7a6ccp-19);
    p = __builtin_fma(p, r, 0x1.a019b90eefe8ep-16);
    p = __builtin_fma(p, r, 0x1.a01a01a7c3d59p-13);
    p = __builtin_fma(p, r, 0x1.6c16c1788b646p-10);
    p = __builtin_fma(p, r, 0x1.11111111109b4p-7);
    p = __builtin_fma(p, r, 0x1.5555555553d64p-5);
    p = __builtin_fma(p, r, 0x1.5555555555556p-3);
    p = __builtin_fma(p, r, 0x1.0000000000001p-1);
    return p;
}

// e^(high + low) * 2^shift, for what does not over- or underflow by far.
__device__ double __agpu_exp_pair(double high, double low, double factor, int shift) {
    double n = __builtin_roundeven(high * 0x1.71547652b82fep+0);
    double r = __builtin_fma(n, -0x1.62e42fefa39efp-1, high);
    // What the product with the low part of log(2) loses is below 2^-100.
    double part = __builtin_fma(n, -0x1.abc9e3b39803fp-56, low);
    double sum = r + part;
    double rest = (r - sum) + part;
    double tail = __builtin_fma(sum * sum, __agpu_exp_tail(sum), __builtin_fma(rest, sum, rest));
    double y = factor * (1.0 + (sum + tail));
    return __agpu_scaled(y, (int)n + shift);
}

__device__ double exp(double x) {
    // Outside of these the result is infinity or 0; NaN passes through.
    double limited = x > 710.0 ? 710.0 : (x < -746.0 ? -746.0 : x);
    return __agpu_exp_pair(limited, 0.0, 1.0, 0);
}

__device__ double exp2(double x) {
    double limited = x > 1025.0 ? 1025.0 : (x < -1080.0 ? -1080.0 : x);
    double n = __builtin_roundeven(limited);
    double f = limited - n;
    double r = f * 0x1.62e42fefa39efp-1;
    double rest = __builtin_fma(f, 0x1.abc9e3b39803fp-56, __builtin_fma(f, 0x1.62e42fefa39efp-1, -r));
    double tail = __builtin_fma(r * r, __agpu_exp_tail(r), rest);
    return __agpu_scaled(1.0 + (r + tail), (int)n);
}

__device__ double exp10(double x) {
    double limited = x > 309.0 ? 309.0 : (x < -325.0 ? -325.0 : x);
    double high = limited * 0x1.26bb1bbb55516p+1;
    double low = __builtin_fma(limited, -0x1.f48ad494ea3e9p-53, __builtin_fma(limited, 0x1.26bb1bbb55516p+1, -high));
    return __agpu_exp_pair(high, low, 1.0, 0);
}

__device__ double expm1(double x) {
    if (__builtin_fabs(x) < 0x1p-54) return x;
    double limited = x > 710.0 ? 710.0 : (x < -40.0 ? -40.0 : x);
    double n = __builtin_roundeven(limited * 0x1.71547652b82fep+0);
    double high = __builtin_fma(n, -0x1.62e42fefa39efp-1, limited);
    double low = n * -0x1.abc9e3b39803fp-56;
    double r = high + low;
    double rest = (high - r) + low;
    // e^r - 1 = r + tail.
    double tail = __builtin_fma(r * r, __agpu_exp_tail(r), __builtin_fma(rest, r, rest));
    int k = (int)n;
    if (k == 0) return r + tail;
    if (k > 60) return __agpu_scaled(1.0 + (r + tail), k);
    double scale = __agpu_power_of_two(k);
    double whole = scale - 1.0;
    double lost = (scale - whole) - 1.0;
    // scale * (1 + r + tail) - 1, the largest parts first.
    double sum = __builtin_fma(scale, r, whole);
    double part = sum - whole;
    double error = __builtin_fma(scale, r, -part);
    return sum + __builtin_fma(scale, tail, error + lost);
}

// x = m * 2^k with m between sqrt(1/2) and sqrt(2), for positive finite x.
__device__ double __agpu_mantissa(double x, int* k) {
    bool is_small = x < 0x1p-1022;
    long long bits = __builtin_bits_long(is_small ? x * 0x1p54 : x);
    long long exponent = (bits - 0x3fe6a09e667f3bcdll) >> 52;
    *k = is_small ? (int)exponent - 54 : (int)exponent;
    return __builtin_bits_double(bits - (exponent << 52));
}

// log((1 + f + c) * 2^k) for 1 + f between sqrt(1/2) and sqrt(2); c is far smaller than f or than 1.
__device__ double __agpu_log_sum(double f, double c, int k) {
    double n = (double)k;
    double s = f / (2.0 + f);
    double z = s * s;
    double p = 0x1.2b5b5fb2eac92p-3;
    p = __builtin_fma(p, z, 0x1.39fe208c33457p-3);
    p = __builtin_fma(p, z, 0x1.7462b69705382p-3);
    p = __builtin_fma(p, z, 0x1.c71c62debf86bp-3);
    p = __builtin_fma(p, z, 0x1.2492492df6947p-2);
    p = __builtin_fma(p, z, 0x1.99999999952b2p-2);
    p = __builtin_fma(p, z, 0x1.5555555555558p-1);
    double square = 0.5 * f * f;
    double tail = s * (square + z * p) + (n * 0x1.a39ef35793c76p-33 + c);
    return n * 0x1.62e42fee00000p-1 + (f - (square - tail));
}

// What logarithms of 0, negative numbers, infinity and NaN are; other numbers never get here.
__device__ double __agpu_log_special(double x) { return x == 0.0 ? -HUGE_VAL : (x < 0.0 ? (double)NAN : x); }

__device__ double log(double x) {
    if (!(x > 0.0) || x == HUGE_VAL) return __agpu_log_special(x);
    int k;
    double m = __agpu_mantissa(x, &k);
    return __agpu_log_sum(m - 1.0, 0.0, k);
}

__device__ double log1p(double x) {
    if (!(x > -1.0) || x == HUGE_VAL) return __agpu_log_special(1.0 + x);
    if (__builtin_fabs(x) < 0x1p-54) return x;
    double sum = 1.0 + x;
    double part = sum - 1.0;
    double lost = (1.0 - (sum - part)) + (x - part);
    int k;
    double m = __agpu_mantissa(sum, &k);
    return __agpu_log_sum(m - 1.0, lost / sum, k);
}

// log of a number between sqrt(1/2) and sqrt(2) with a relative error below 2^-62.
__device__ __agpu_pair __agpu_log_pair(double m) {
    double f = m - 1.0;
    double sum = 2.0 + f;
    double sum_low = f - (sum - 2.0);
    double s = f / sum;
    double s_low = (__builtin_fma(-s, sum, f) - s * sum_low) / sum;
    double z = s * s;
    double z_low = __builtin_fma(s, s, -z) + 2.0 * s * s_low;
    double p = 0x1.e032e4d8436a1p-4;
    p = __builtin_fma(p, z, 0x1.df7c5bc7c7563p-4);
    p = __builtin_fma(p, z, 0x1.1118c9ee5b8a4p-3);
    p = __builtin_fma(p, z, 0x1.3b1395c881220p-3);
    p = __builtin_fma(p, z, 0x1.745d177aad02ap-3);
    p = __builtin_fma(p, z, 0x1.c71c71c6ea871p-3);
    p = __builtin_fma(p, z, 0x1.2492492492522p-2);
    p = __builtin_fma(p, z, 0x1.999999999999ap-2);
    // 2 + 2/3 z + z^2 p.
    double a = 0x1.5555555555555p-1 * z;
    double a_low = __builtin_fma(0x1.5555555555555p-1, z, -a) + (0x1.5555555555555p-55 * z + 0x1.5555555555555p-1 * z_low);
    double b = z * z * p;
    double inner = a + b;
    double inner_low = (a - inner) + b + a_low;
    double t = 2.0 + inner;
    double t_low = (2.0 - t) + inner + inner_low;
    double high = s * t;
    double low = __builtin_fma(s, t, -high) + (s * t_low + s_low * t);
    double result = high + low;
    return __agpu_pair{result, (high - result) + low};
}

// log of any positive finite number as two doubles.
__device__ __agpu_pair __agpu_whole_log(double x) {
    int k;
    double m = __agpu_mantissa(x, &k);
    __agpu_pair part = __agpu_log_pair(m);
    double n = (double)k;
    double whole = n * 0x1.62e42fee00000p-1;
    double high = whole + part.high;
    double low = (whole - high) + part.high + (part.low + n * 0x1.a39ef35793c76p-33);
    double result = high + low;
    return __agpu_pair{result, (high - result) + low};
}

// log(x) * factor + k for x = m * 2^k, where the factor is given as two doubles.
__device__ double __agpu_log_times(double x, double factor, double factor_low, double per_octave, double per_octave_low) {
    int k;
    double m = __agpu_mantissa(x, &k);
    __agpu_pair part = __agpu_log_pair(m);
    double n = (double)k;
    double product = part.high * factor;
    double product_low = __builtin_fma(part.high, factor, -product) + (part.high * factor_low + part.low * factor);
    double whole = n * per_octave;
    double whole_low = __builtin_fma(n, per_octave, -whole) + n * per_octave_low;
    double sum = whole + product;
    double lost = k == 0 ? 0.0 : (whole - sum) + product;
    return sum + (lost + (product_low + whole_low));
}

__device__ double log2(double x) {
    if (!(x > 0.0) || x == HUGE_VAL) return __agpu_log_special(x);
    return __agpu_log_times(x, 0x1.71547652b82fep+0, 0x1.777d0ffda0d24p-56, 1.0, 0.0);
}
__device__ double log10(double x) {
    if (!(x > 0.0) || x == HUGE_VAL) return __agpu_log_special(x);
    return __agpu_log_times(x, 0x1.bcb7b1526e50ep-2, 0x1.95355baaafad3p-57, 0x1.34413509f79ffp-2, -0x1.9dc1da994fd21p-59);
}

__device__ double pow(double x, double y) {
    if (y == 0.0 || x == 1.0) return 1.0;
    if (x != x || y != y) return x + y;
    double size = __builtin_fabs(x);
    double exponent_size = __builtin_fabs(y);
    bool is_whole = exponent_size >= 0x1p53 || __builtin_trunc(y) == y;
    bool is_odd = exponent_size < 0x1p53 && is_whole && ((long long)y & 1) != 0;
    double sign = __builtin_bits_long(x) < 0 && is_odd ? -1.0 : 1.0;
    if (size == 0.0 || size == HUGE_VAL) return sign * ((size == 0.0) == (y < 0.0) ? HUGE_VAL : 0.0);
    if (exponent_size == HUGE_VAL) return size == 1.0 ? 1.0 : ((size > 1.0) == (y > 0.0) ? HUGE_VAL : 0.0);
    if (x < 0.0 && !is_whole) return NAN;
    __agpu_pair power = __agpu_whole_log(size);
    // Larger exponents change nothing: the result is 1, or beyond all numbers already.
    double limited = y > 0x1p75 ? 0x1p75 : (y < -0x1p75 ? -0x1p75 : y);
    double high = limited * power.high;
    double low = __builtin_fma(limited, power.high, -high) + limited * power.low;
    bool is_far = high > 800.0 || high < -800.0;
    high = is_far ? (high > 0.0 ? 800.0 : -800.0) : high;
    low = is_far ? 0.0 : low;
    return __agpu_exp_pair(high, low, sign, 0);
}

__device__ double sinh(double x) {
    double size = __builtin_fabs(x);
    if (size < 0x1p-28) return x;
    double result;
    if (size < 22.0) {
        double e = expm1(size);
        result = 0.5 * (e + e / (e + 1.0));
    } else {
        result = __agpu_exp_pair(size > 712.0 ? 712.0 : size, 0.0, 1.0, -1);
    }
    return __builtin_copysign(x != x ? x : result, x);
}
__device__ double cosh(double x) {
    double size = __builtin_fabs(x);
    if (size < 22.0) {
        double e = exp(size);
        return 0.5 * e + 0.5 / e;
    }
    return x != x ? x : __agpu_exp_pair(size > 712.0 ? 712.0 : size, 0.0, 1.0, -1);
}
__device__ double tanh(double x) {
    double size = __builtin_fabs(x);
    if (size < 0x1p-28 || x != x) return x;
    double e = expm1(2.0 * (size > 22.0 ? 22.0 : size));
    double result = size >= 1.0 ? 1.0 - 2.0 / (e + 2.0) : e / (e + 2.0);
    return __builtin_copysign(result, x);
}
__device__ double asinh(double x) {
    double size = __builtin_fabs(x);
    if (size < 0x1p-28 || !(size < HUGE_VAL)) return x;
    if (size > 0x1p28) return __builtin_copysign(log(size) + 0x1.62e42fefa39efp-1, x);
    double square = size * size;
    return __builtin_copysign(log1p(size + square / (1.0 + __builtin_sqrt(square + 1.0))), x);
}
__device__ double acosh(double x) {
    if (!(x >= 1.0)) return NAN;
    if (x > 0x1p28) return log(x) + 0x1.62e42fefa39efp-1;
    double t = x - 1.0;
    return log1p(t + __builtin_sqrt(2.0 * t + t * t));
}
__device__ double atanh(double x) {
    double size = __builtin_fabs(x);
    if (!(size <= 1.0)) return NAN;
    if (size < 0x1p-28) return x;
    double twice = 2.0 * size;
    double inner = size < 0.5 ? twice + twice * size / (1.0 - size) : twice / (1.0 - size);
    return __builtin_copysign(size == 1.0 ? HUGE_VAL : 0.5 * log1p(inner), x);
}

__device__ double cbrt(double x) {
    double size = __builtin_fabs(x);
    if (size == 0.0 || !(size < HUGE_VAL)) return x;
    bool is_small = size < 0x1p-1022;
    bool is_large = size > 0x1p1000;
    double a = is_small ? size * 0x1p54 : (is_large ? size * 0x1p-54 : size);
    // A third of the exponent with about 5 bits right, then Halley's method twice: 15 bits, 45 bits.
    double t = __builtin_bits_double(__builtin_bits_long(a) / 3 + 0x2a9f7893782da1cell);
    double cube = t * t * t;
    t = t * ((cube + 2.0 * a) / (2.0 * cube + a));
    cube = t * t * t;
    t = t * ((cube + 2.0 * a) / (2.0 * cube + a));
    // The remainder exactly enough for the last bits.
    double square = t * t;
    double square_low = __builtin_fma(t, t, -square);
    cube = square * t;
    double cube_low = __builtin_fma(square, t, -cube) + square_low * t;
    t -= ((cube - a) + cube_low) / (3.0 * square);
    return __builtin_copysign(is_small ? t * 0x1p-18 : (is_large ? t * 0x1p18 : t), x);
}
__device__ double rcbrt(double x) { return 1.0 / cbrt(x); }

// Sine, cosine, tangent and their inverses in double precision, for every argument. Coefficients: tools/fit_polynomials.py. The
// intervals of atan are those of fdlibm's s_atan.c.

// Bits of 2/pi, after 64 zero bits.
__constant__ unsigned long __agpu_two_over_pi_words[21] = {
    0ul,                  0xa2f9836e4e441529ul, 0xfc2757d1f534ddc0ul, 0xdb6295993c439041ul, 0xfe5163abdebbc561ul, 0xb7246e3a424dd2e0ul,
    0x06492eea09d1921cul, 0xfe1deb1cb129a73eul, 0xe88235f52ebb4484ul, 0xe99c7026b45f7e41ul, 0x3991d639835339f4ul, 0x9c845f8bbdf9283bul,
    0x1ff897ffde05980ful, 0xef2f118b5a0a6d1ful, 0x6d367ecf27cb09b7ul, 0x4f463f669e5fea2dul, 0x7527bac7ebe5f17bul, 0x3d0739f78a5292eaul,
    0x6bfb5fb11f8d5d08ul, 0x56033046fc7b6babul, 0xf0cfbc209af4361dul};

// An angle between -pi/4 and pi/4 as two doubles, and how many quarter turns were taken off.
struct __agpu_angle { double high, low; int quadrant; };

// Payne and Hanek: the product of the mantissa with the 192 bits of 2/pi that matter, as quarter turns: two bits of quadrant, 126
// of fraction. For size of at least 2^20.
__device__ __agpu_angle __agpu_reduce_large(double size) {
    unsigned long bits = __builtin_bits_long(size);
    unsigned long mantissa = bits & 0xffffffffffffful | 0x10000000000000ul;
    int position = (int)(bits >> 52) - 1075 + 62;
    int word = position >> 6;
    int shift = position & 63;
    unsigned long a = __agpu_two_over_pi_words[word] << shift | __agpu_two_over_pi_words[word + 1] >> 1 >> (63 - shift);
    unsigned long b = __agpu_two_over_pi_words[word + 1] << shift | __agpu_two_over_pi_words[word + 2] >> 1 >> (63 - shift);
    unsigned long c = __agpu_two_over_pi_words[word + 2] << shift | __agpu_two_over_pi_words[word + 3] >> 1 >> (63 - shift);
    unsigned long low = __builtin_multiply_high(mantissa, c);
    unsigned long middle = mantissa * b;
    low += middle;
    unsigned long high = __builtin_multiply_high(mantissa, b) + mantissa * a + (low < middle ? 1ul : 0ul);
    // The nearest multiple of pi/2 is taken off.
    unsigned long nearest = high + 0x2000000000000000ul >> 62;
    high -= nearest << 62;
    bool is_negative = (long)high < 0;
    if (is_negative) {
        low = ~low + 1;
        high = ~high + (low == 0 ? 1ul : 0ul);
    }
    int zeros = 0;
    if (high == 0) {
        high = low;
        low = 0;
        zeros = 64;
    }
    int lead = high == 0 ? 0 : __builtin_leading_zeros(high);
    high = high << lead | low >> 1 >> (63 - lead);
    low <<= lead;
    zeros += lead;
    // The top 53 bits and the 53 below.
    double scale = __builtin_bits_double((long)(1023 - 51 - zeros) << 52);
    double first = (double)(long)(high >> 11) * scale;
    double second = (double)(long)((high & 0x7fful) << 42 | low >> 22) * (scale * 0x1p-53);
    double product = first * 0x1.921fb54442d18p+0;
    double rest = __builtin_fma(first, 0x1.921fb54442d18p+0, -product) + (first * 0x1.1a62633145c07p-54 + second * 0x1.921fb54442d18p+0);
    double angle = product + rest;
    rest = (product - angle) + rest;
    return __agpu_angle{is_negative ? -angle : angle, is_negative ? -rest : rest, (int)nearest};
}

__device__ __agpu_angle __agpu_reduce(double x) {
    double size = __builtin_fabs(x);
    if (size >= 0x1p20) {
        __agpu_angle angle = __agpu_reduce_large(size);
        return x < 0.0 ? __agpu_angle{-angle.high, -angle.low, -angle.quadrant} : angle;
    }
    // Cody and Waite with pi/2 in three parts; the first difference is exact.
    double n = __builtin_roundeven(x * 0x1.45f306dc9c883p-1);
    double r = __builtin_fma(n, -0x1.921fb54442d18p+0, x);
    double product = n * 0x1.1a62633145c07p-54;
    double product_low = __builtin_fma(n, 0x1.1a62633145c07p-54, -product) + n * -0x1.f1976b7ed8fbcp-110;
    double high = r - product;
    double low = (r - high) - product - product_low;
    double angle = high + low;
    return __agpu_angle{angle, (high - angle) + low, (int)n};
}

__device__ double __agpu_sine(double x, double low) {
    double z = x * x;
    double p = 0x1.5e0ae8e372075p-33;
    p = __builtin_fma(p, z, -0x1.ae600a7a70c62p-26);
    p = __builtin_fma(p, z, 0x1.71de379607474p-19);
    p = __builtin_fma(p, z, -0x1.a01a019e83460p-13);
    p = __builtin_fma(p, z, 0x1.1111111110bb1p-7);
    p = __builtin_fma(p, z, -0x1.5555555555555p-3);
    double tail = x * z * p;
    return x + (tail + __builtin_fma(-0.5 * z, low, low));
}

__device__ double __agpu_cosine(double x, double low) {
    double z = x * x;
    double p = -0x1.907d724680d4ep-37;
    p = __builtin_fma(p, z, 0x1.1eeb68a508535p-29);
    p = __builtin_fma(p, z, -0x1.27e4fa179895fp-22);
    p = __builtin_fma(p, z, 0x1.a01a019f4e7d9p-16);
    p = __builtin_fma(p, z, -0x1.6c16c16c16966p-10);
    p = __builtin_fma(p, z, 0x1.5555555555555p-5);
    double half = 0.5 * z;
    double whole = 1.0 - half;
    double lost = (1.0 - whole) - half;
    double tail = z * z * p - x * low;
    return whole + (lost + tail);
}

__device__ double __agpu_sine_or_cosine(__agpu_angle angle, int quadrant) {
    double sine = __agpu_sine(angle.high, angle.low);
    double cosine = __agpu_cosine(angle.high, angle.low);
    double value = (quadrant & 1) != 0 ? cosine : sine;
    return (quadrant & 2) != 0 ? -value : value;
}

__device__ double sin(double x) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) return NAN;
    if (x == 0.0) return x;
    __agpu_angle angle = __agpu_reduce(x);
    return __agpu_sine_or_cosine(angle, angle.quadrant);
}
__device__ double cos(double x) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) return NAN;
    __agpu_angle angle = __agpu_reduce(x);
    return __agpu_sine_or_cosine(angle, angle.quadrant + 1);
}
__device__ void sincos(double x, double* sine, double* cosine) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) {
        *sine = NAN;
        *cosine = NAN;
        return;
    }
    __agpu_angle angle = __agpu_reduce(x);
    *sine = x == 0.0 ? x : __agpu_sine_or_cosine(angle, angle.quadrant);
    *cosine = __agpu_sine_or_cosine(angle, angle.quadrant + 1);
}
__device__ double tan(double x) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) return NAN;
    if (x == 0.0) return x;
    __agpu_angle angle = __agpu_reduce(x);
    double sine = __agpu_sine(angle.high, angle.low);
    double cosine = __agpu_cosine(angle.high, angle.low);
    return (angle.quadrant & 1) != 0 ? -cosine / sine : sine / cosine;
}

// Half turns: the argument is reduced exactly.
__device__ __agpu_angle __agpu_reduce_pi(double x) {
    // Even from 2^54 on.
    double limited = __builtin_fabs(x) >= 0x1p54 ? 0.0 : x;
    double n = __builtin_roundeven(2.0 * limited);
    double r = __builtin_fma(-0.5, n, limited);
    double high = r * 0x1.921fb54442d18p+1;
    double low = __builtin_fma(r, 0x1.921fb54442d18p+1, -high) + r * 0x1.1a62633145c07p-53;
    return __agpu_angle{high, low, (int)((long long)n & 3)};
}
__device__ double sinpi(double x) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) return NAN;
    if (__builtin_trunc(x) == x) return __builtin_copysign(0.0, x);
    __agpu_angle angle = __agpu_reduce_pi(x);
    return __agpu_sine_or_cosine(angle, angle.quadrant);
}
__device__ double cospi(double x) {
    if (!(__builtin_fabs(x) < HUGE_VAL)) return NAN;
    __agpu_angle angle = __agpu_reduce_pi(x);
    // Zero at the halves has no sign.
    return __agpu_sine_or_cosine(angle, angle.quadrant + 1) + 0.0;
}
__device__ void sincospi(double x, double* sine, double* cosine) {
    *sine = sinpi(x);
    *cosine = cospi(x);
}

__device__ double atan(double x) {
    double a = __builtin_fabs(x);
    // atan(a) = atan(c) + atan((a - c) / (1 + a c)).
    double c = a < 0.6875 ? 0.5 : (a < 1.1875 ? 1.0 : 1.5);
    double high = a < 0.6875 ? 0x1.dac670561bb4fp-2 : (a < 1.1875 ? 0x1.921fb54442d18p-1 : 0x1.f730bd281f69bp-1);
    double low = a < 0.6875 ? 0x1.a2b7f222f65e2p-56 : (a < 1.1875 ? 0x1.1a62633145c07p-55 : 0x1.007887af0cbbdp-56);
    bool is_small = a < 0.4375;
    bool is_large = a >= 2.4375;
    double above = is_small ? a : (is_large ? -1.0 : a - c);
    double below = is_small ? 1.0 : (is_large ? a : __builtin_fma(a, c, 1.0));
    high = is_small ? 0.0 : (is_large ? 0x1.921fb54442d18p+0 : high);
    low = is_small ? 0.0 : (is_large ? 0x1.1a62633145c07p-54 : low);
    double t = above / below;
    double z = t * t;
    double p = 0x1.e3ddb8d3850abp-7;
    p = __builtin_fma(p, z, -0x1.0f54730d6c30ep-5);
    p = __builtin_fma(p, z, 0x1.6ffb4e901f5dbp-5);
    p = __builtin_fma(p, z, -0x1.ab582fd05ec97p-5);
    p = __builtin_fma(p, z, 0x1.e1704532a7e28p-5);
    p = __builtin_fma(p, z, -0x1.110c9a0c8644ap-4);
    p = __builtin_fma(p, z, 0x1.3b1375a0eb258p-4);
    p = __builtin_fma(p, z, -0x1.745d154ac3da3p-4);
    p = __builtin_fma(p, z, 0x1.c71c71bd21787p-4);
    p = __builtin_fma(p, z, -0x1.2492492485417p-3);
    p = __builtin_fma(p, z, 0x1.99999999998c4p-3);
    p = __builtin_fma(p, z, -0x1.5555555555555p-2);
    double result = high + (t + __builtin_fma(t * z, p, low));
    return x != x ? x : __builtin_copysign(result, x);
}

__device__ double atan2(double y, double x) {
    if (x != x || y != y) return x + y;
    double above = __builtin_fabs(y);
    double below = __builtin_fabs(x);
    double ratio = above == below ? 1.0 : above / below;
    double result = above == 0.0 ? 0.0 : atan(ratio);
    bool is_left = __builtin_bits_long(x) < 0;
    result = is_left ? 0x1.921fb54442d18p+1 - (result - 0x1.1a62633145c07p-53) : result;
    return __builtin_copysign(result, y);
}

// (asin(x) / x - 1) / x^2 in z = x^2.
__device__ double __agpu_asin_tail(double z) {
    double p = 0x1.d78189767524ep-6;
    p = __builtin_fma(p, z, -0x1.e7a24f548c99dp-7);
    p = __builtin_fma(p, z, 0x1.1d661531b222ep-6);
    p = __builtin_fma(p, z, 0x1.653a8f8cfd43dp-8);
    p = __builtin_fma(p, z, 0x1.524ea8b3aad31p-7);
    p = __builtin_fma(p, z, 0x1.78246f32d075cp-7);
    p = __builtin_fma(p, z, 0x1.c9cf3759fd8ffp-7);
    p = __builtin_fma(p, z, 0x1.1c4d343fa57f6p-6);
    p = __builtin_fma(p, z, 0x1.6e8bb1d89492bp-6);
    p = __builtin_fma(p, z, 0x1.f1c71c1d4aa0dp-6);
    p = __builtin_fma(p, z, 0x1.6db6db6e3292ep-5);
    p = __builtin_fma(p, z, 0x1.3333333332ec4p-4);
    p = __builtin_fma(p, z, 0x1.5555555555556p-3);
    return p;
}

__device__ double asin(double x) {
    double a = __builtin_fabs(x);
    if (!(a <= 1.0)) return NAN;
    if (a < 0.5) return a < 0x1p-27 ? x : __builtin_fma(x * (x * x), __agpu_asin_tail(x * x), x);
    // pi/2 - 2 asin(sqrt((1 - a) / 2)), with the root as two doubles.
    double z = 0.5 * (1.0 - a);
    double s = __builtin_sqrt(z);
    double c = s == 0.0 ? 0.0 : __builtin_fma(-s, s, z) / (2.0 * s);
    double twice = 2.0 * s;
    double whole = 0x1.921fb54442d18p+0 - twice;
    double lost = (0x1.921fb54442d18p+0 - whole) - twice;
    double tail = __builtin_fma(s * z, __agpu_asin_tail(z), c);
    return __builtin_copysign(whole + (lost - (2.0 * tail - 0x1.1a62633145c07p-54)), x);
}
__device__ double acos(double x) {
    double a = __builtin_fabs(x);
    if (!(a <= 1.0)) return NAN;
    if (a < 0.5) {
        double whole = 0x1.921fb54442d18p+0 - x;
        double lost = (0x1.921fb54442d18p+0 - whole) - x;
        double tail = x * (x * x) * __agpu_asin_tail(x * x);
        return whole + (lost - (tail - 0x1.1a62633145c07p-54));
    }
    double z = 0.5 * (1.0 - a);
    double s = __builtin_sqrt(z);
    double c = s == 0.0 ? 0.0 : __builtin_fma(-s, s, z) / (2.0 * s);
    double tail = __builtin_fma(s * z, __agpu_asin_tail(z), c);
    double near = 2.0 * (s + tail);
    double far = 0x1.921fb54442d18p+1 - 2.0 * (s + (tail - 0x1.1a62633145c07p-54));
    return x < 0.0 ? far : near;
}

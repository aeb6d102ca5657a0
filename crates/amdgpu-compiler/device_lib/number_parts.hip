// Parts of floating-point numbers, remainders, and rounding to integers: all exact.

// x = m * 2^k with 0.5 <= m < 1.
__device__ double frexp(double x, int* exponent) {
    bool is_small = __builtin_fabs(x) < 0x1p-1022;
    long long bits = __builtin_bits_long(is_small ? x * 0x1p54 : x);
    int field = (int)(bits >> 52) & 0x7ff;
    bool is_special = x == 0.0 || field == 0x7ff;
    *exponent = is_special ? 0 : field - 1022 - (is_small ? 54 : 0);
    return is_special ? x : __builtin_bits_double(bits & (long long)0x800fffffffffffffull | 0x3fe0000000000000ll);
}
__device__ double ldexp(double x, int k) {
    int exponent;
    double m = frexp(x, &exponent);
    if (x == 0.0 || !(__builtin_fabs(x) < HUGE_VAL)) return x;
    // The mantissa takes both factors exactly, but for one rounding of what is denormal at the end.
    int limited = k > 5000 ? 5000 : (k < -5000 ? -5000 : k);
    int total = exponent + limited;
    total = total > 1100 ? 1100 : (total < -1100 ? -1100 : total);
    return __agpu_scaled(m, total);
}
__device__ double scalbn(double x, int k) { return ldexp(x, k); }
__device__ double scalbln(double x, long k) { return ldexp(x, k > 5000 ? 5000 : (k < -5000 ? -5000 : (int)k)); }
__device__ int ilogb(double x) {
    if (x == 0.0 || x != x) return -2147483647 - 1;
    if (__builtin_fabs(x) == HUGE_VAL) return 2147483647;
    int exponent;
    frexp(x, &exponent);
    return exponent - 1;
}
__device__ double logb(double x) {
    if (x == 0.0) return -HUGE_VAL;
    return __builtin_fabs(x) < HUGE_VAL ? (double)ilogb(x) : x * x;
}
__device__ double modf(double x, double* whole) {
    double cut = __builtin_trunc(x);
    *whole = cut;
    double rest = __builtin_fabs(x) == HUGE_VAL ? 0.0 : x - cut;
    return __builtin_copysign(rest, x);
}
__device__ double nextafter(double x, double y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0.0) return __builtin_copysign(0x1p-1074, y);
    return __agpu_step(x, (x < y) == (x > 0.0) ? 1 : -1);
}
__device__ float nextafterf(float x, float y) {
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0.0f) return __builtin_copysign(0x1p-149f, y);
    return __agpu_step(x, (x < y) == (x > 0.0f) ? 1 : -1);
}
__device__ double fdim(double a, double b) { return a > b ? a - b : (a == a && b == b ? 0.0 : a + b); }

// |a| modulo |b| by long division of the mantissas, eleven bits a step, and the last bits of the quotient. For finite a and b != 0.
__device__ double __agpu_remainder(double a, double b, unsigned int* quotient) {
    unsigned long x = __builtin_bits_long(__builtin_fabs(a));
    unsigned long y = __builtin_bits_long(__builtin_fabs(b));
    *quotient = 0u;
    if (x < y) return __builtin_fabs(a);
    unsigned long x_part = x & 0xffffffffffffful | (x >> 52 != 0 ? 0x10000000000000ul : 0ul);
    unsigned long y_part = y & 0xffffffffffffful | (y >> 52 != 0 ? 0x10000000000000ul : 0ul);
    int x_exponent = max((int)(x >> 52), 1);
    int y_exponent = max((int)(y >> 52), 1);
    int distance = x_exponent - y_exponent;
    unsigned long count = x_part / y_part;
    x_part -= count * y_part;
    while (distance > 0) {
        int step = distance < 11 ? distance : 11;
        x_part <<= step;
        unsigned long digits = x_part / y_part;
        x_part -= digits * y_part;
        count = count << step | digits;
        distance -= step;
    }
    *quotient = (unsigned int)count & 0x7fffffffu;
    if (x_part == 0) return 0.0;
    // Less than b, so that its exponent is not above that of b.
    int lead = __builtin_leading_zeros(x_part) - 11;
    int shift = lead < y_exponent - 1 ? lead : y_exponent - 1;
    x_part <<= shift;
    int exponent = y_exponent - shift;
    // The top bit of a normal mantissa adds one to the exponent; denormals have none.
    return __builtin_bits_double(((unsigned long)(exponent - 1) << 52) + x_part);
}
__device__ double fmod(double a, double b) {
    if (!(__builtin_fabs(a) < HUGE_VAL) || b != b || b == 0.0) return NAN;
    if (__builtin_fabs(b) == HUGE_VAL) return a;
    unsigned int quotient;
    return __builtin_copysign(__agpu_remainder(a, b, &quotient), a);
}
__device__ double remquo(double a, double b, int* quotient) {
    *quotient = 0;
    if (!(__builtin_fabs(a) < HUGE_VAL) || b != b || b == 0.0) return NAN;
    if (__builtin_fabs(b) == HUGE_VAL) return a;
    unsigned int count;
    double size = __builtin_fabs(b);
    double rest = __agpu_remainder(a, b, &count);
    // To the nearest multiple, the even one of two.
    double other = size - rest;
    bool goes_up = rest > other || rest == other && (count & 1u) != 0;
    double result = goes_up ? -other : rest;
    count += goes_up ? 1u : 0u;
    int bits = (int)(count & 0x7fffffffu);
    *quotient = (__builtin_bits_long(a) ^ __builtin_bits_long(b)) < 0 ? -bits : bits;
    return result == 0.0 ? __builtin_copysign(0.0, a) : (__builtin_bits_long(a) < 0 ? -result : result);
}
__device__ double remainder(double a, double b) {
    int quotient;
    return remquo(a, b, &quotient);
}

__device__ int __signbitd(double x) { return __builtin_bits_long(x) < 0; }
__device__ int __signbitf(float x) { return __builtin_bits_int(x) < 0; }
__device__ long lrint(double x) { return (long)__builtin_roundeven(x); }
__device__ long lrint(float x) { return (long)__builtin_roundeven(x); }
__device__ long lrintf(float x) { return (long)__builtin_roundeven(x); }
__device__ long long llrint(double x) { return (long long)__builtin_roundeven(x); }
__device__ long long llrint(float x) { return (long long)__builtin_roundeven(x); }
__device__ long long llrintf(float x) { return (long long)__builtin_roundeven(x); }
__device__ long lround(double x) { return (long)round(x); }
__device__ long lround(float x) { return (long)roundf(x); }
__device__ long lroundf(float x) { return (long)roundf(x); }
__device__ long long llround(double x) { return (long long)round(x); }
__device__ long long llround(float x) { return (long long)roundf(x); }
__device__ long long llroundf(float x) { return (long long)roundf(x); }

// In double every one of these is exact, or rounds once at the end.
__device__ float frexpf(float x, int* exponent) { return (float)frexp((double)x, exponent); }
__device__ float frexp(float x, int* exponent) { return (float)frexp((double)x, exponent); }
__device__ float ldexpf(float x, int k) {
    int limited = k > 300 ? 300 : (k < -300 ? -300 : k);
    return (float)((double)x * __agpu_power_of_two(limited));
}
__device__ float ldexp(float x, int k) { return ldexpf(x, k); }
__device__ float scalbnf(float x, int k) { return ldexpf(x, k); }
__device__ float scalbn(float x, int k) { return ldexpf(x, k); }
__device__ float scalblnf(float x, long k) { return ldexpf(x, k > 300 ? 300 : (k < -300 ? -300 : (int)k)); }
__device__ int ilogbf(float x) { return ilogb((double)x); }
__device__ int ilogb(float x) { return ilogb((double)x); }
__device__ float logbf(float x) { return (float)logb((double)x); }
__device__ float logb(float x) { return (float)logb((double)x); }
__device__ float modff(float x, float* whole) {
    float cut = __builtin_trunc(x);
    *whole = cut;
    float rest = __builtin_fabs(x) == INFINITY ? 0.0f : x - cut;
    return __builtin_copysign(rest, x);
}
__device__ float modf(float x, float* whole) { return modff(x, whole); }
__device__ float nextafter(float x, float y) { return nextafterf(x, y); }
__device__ float fdim(float a, float b) { return fdimf(a, b); }
__device__ float fmod(float a, float b) { return fmodf(a, b); }
__device__ float remainderf(float a, float b) { return (float)remainder((double)a, (double)b); }
__device__ float remainder(float a, float b) { return (float)remainder((double)a, (double)b); }
__device__ float remquof(float a, float b, int* quotient) { return (float)remquo((double)a, (double)b, quotient); }
__device__ float remquo(float a, float b, int* quotient) { return (float)remquo((double)a, (double)b, quotient); }

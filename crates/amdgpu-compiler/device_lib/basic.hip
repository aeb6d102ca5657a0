// Functions that are exact: the result is the correctly rounded one, on every target.

#define AGPU_FLOAT1(name, builtin)                                                                                 \
    __device__ float name##f(float x) { return builtin(x); }                                                       \
    __device__ double name(double x) { return builtin(x); }                                                        \
    __device__ float name(float x) { return builtin(x); }
AGPU_FLOAT1(sqrt, __builtin_sqrt)
AGPU_FLOAT1(floor, __builtin_floor)
AGPU_FLOAT1(ceil, __builtin_ceil)
AGPU_FLOAT1(trunc, __builtin_trunc)
AGPU_FLOAT1(rint, __builtin_roundeven)
AGPU_FLOAT1(nearbyint, __builtin_roundeven)
AGPU_FLOAT1(fabs, __builtin_fabs)
#undef AGPU_FLOAT1

__device__ float fmaf(float a, float b, float c) { return __builtin_fma(a, b, c); }
__device__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__device__ float fma(float a, float b, float c) { return __builtin_fma(a, b, c); }
__device__ float copysignf(float x, float y) { return __builtin_copysign(x, y); }
__device__ double copysign(double x, double y) { return __builtin_copysign(x, y); }
__device__ float copysign(float x, float y) { return __builtin_copysign(x, y); }

// The other argument when one is NaN; -0 is less than +0.
__device__ float fminf(float a, float b) { return __builtin_fmin(a, b); }
__device__ double fmin(double a, double b) { return __builtin_fmin(a, b); }
__device__ float fmin(float a, float b) { return __builtin_fmin(a, b); }
__device__ float fmaxf(float a, float b) { return __builtin_fmax(a, b); }
__device__ double fmax(double a, double b) { return __builtin_fmax(a, b); }
__device__ float fmax(float a, float b) { return __builtin_fmax(a, b); }
__device__ float min(float a, float b) { return __builtin_fmin(a, b); }
__device__ double min(double a, double b) { return __builtin_fmin(a, b); }
__device__ float max(float a, float b) { return __builtin_fmax(a, b); }
__device__ double max(double a, double b) { return __builtin_fmax(a, b); }

#define AGPU_MIN_MAX(type)                                                                                         \
    __device__ type min(type a, type b) { return a < b ? a : b; }                                                  \
    __device__ type max(type a, type b) { return a > b ? a : b; }
AGPU_MIN_MAX(int)
AGPU_MIN_MAX(unsigned int)
AGPU_MIN_MAX(long)
AGPU_MIN_MAX(unsigned long)
AGPU_MIN_MAX(long long)
AGPU_MIN_MAX(unsigned long long)
#undef AGPU_MIN_MAX

__device__ int abs(int x) { return x < 0 ? -x : x; }
__device__ long abs(long x) { return x < 0 ? -x : x; }
__device__ long long abs(long long x) { return x < 0 ? -x : x; }
__device__ float abs(float x) { return __builtin_fabs(x); }
__device__ double abs(double x) { return __builtin_fabs(x); }
__device__ long labs(long x) { return x < 0 ? -x : x; }
__device__ long long llabs(long long x) { return x < 0 ? -x : x; }

__device__ float rsqrtf(float x) { return 1.0f / __builtin_sqrt(x); }
__device__ double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__device__ float rsqrt(float x) { return 1.0f / __builtin_sqrt(x); }
__device__ float fdimf(float a, float b) { return a > b ? a - b : (a == a && b == b ? 0.0f : a + b); }
__device__ float __saturatef(float x) { return __builtin_fmin(__builtin_fmax(x, 0.0f), 1.0f); }

// Halves go away from zero.
__device__ float roundf(float x) {
    float whole = __builtin_trunc(x);
    float away = __builtin_fabs(x - whole) >= 0.5f ? __builtin_copysign(1.0f, x) : 0.0f;
    return __builtin_copysign(whole + away, x);
}
__device__ double round(double x) {
    double whole = __builtin_trunc(x);
    double away = __builtin_fabs(x - whole) >= 0.5 ? __builtin_copysign(1.0, x) : 0.0;
    return __builtin_copysign(whole + away, x);
}
__device__ float round(float x) { return roundf(x); }

#define AGPU_CLASSIFY(type, bits, infinity)                                                                        \
    __device__ bool isnan(type x) { return x != x; }                                                               \
    __device__ bool isinf(type x) { return __builtin_fabs(x) == infinity; }                                        \
    __device__ bool isfinite(type x) { return __builtin_fabs(x) < infinity; }                                      \
    __device__ bool signbit(type x) { return bits(x) < 0; }
AGPU_CLASSIFY(float, __builtin_bits_int, INFINITY)
AGPU_CLASSIFY(double, __builtin_bits_long, HUGE_VAL)
#undef AGPU_CLASSIFY

// Exact remainder by long division of the mantissas, one bit a step: at most 277 steps, as many as the exponents differ.
__device__ float fmodf(float a, float b) {
    int sign = __builtin_bits_int(a) & 0x80000000;
    unsigned int x = __builtin_bits_int(a) & 0x7fffffff;
    unsigned int y = __builtin_bits_int(b) & 0x7fffffff;
    if (x >= 0x7f800000u || y > 0x7f800000u || y == 0u) return NAN;
    if (x < y) return a;
    // Mantissas of 24 bits with the top one set, denormals included.
    unsigned int x_part = x >= 0x800000u ? (x & 0x7fffff) | 0x800000 : x;
    unsigned int y_part = y >= 0x800000u ? (y & 0x7fffff) | 0x800000 : y;
    int x_shift = __builtin_leading_zeros(x_part) - 8;
    int y_shift = __builtin_leading_zeros(y_part) - 8;
    int exponent = max((int)(x >> 23), 1) - x_shift;
    int y_exponent = max((int)(y >> 23), 1) - y_shift;
    x_part <<= x_shift;
    y_part <<= y_shift;
    for (; exponent > y_exponent; --exponent) {
        if (x_part >= y_part) x_part -= y_part;
        x_part <<= 1;
    }
    if (x_part >= y_part) x_part -= y_part;
    if (x_part == 0) return __builtin_bits_float(sign);
    int shift = __builtin_leading_zeros(x_part) - 8;
    x_part <<= shift;
    exponent -= shift;
    int bits = exponent >= 1 ? (int)(x_part - 0x800000) | exponent << 23 : (int)(x_part >> (1 - exponent));
    return __builtin_bits_float(sign | bits);
}

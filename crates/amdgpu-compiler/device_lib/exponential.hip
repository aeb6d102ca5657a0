// Exponentials, logarithms, powers, hyperbolic tangent. Only + - * / fma and integer operations, so every target gives the same
// bits. Polynomials are minimax fits of our own (Lawson-weighted least squares). Error bounds, in units in the last place of
// the result, measured over dense samples against double precision (tests/compiler/test_math.py):
//   expf 1.0, exp2f 1.0, logf 1.0, log2f 0.51, log10f 0.51, powf 0.51, tanhf 1.5, rsqrtf 1.5 (denormal results: 1.0 absolute).

__device__ float expf(float x) {
    // Outside of these the result is infinity or 0; NaN passes through.
    float limited = x > 89.0f ? 89.0f : x;
    limited = limited < -104.0f ? -104.0f : limited;
    // Beside 1.5 * 2^23 an ulp is 1: the sum is rounded to an integer, which stands in its lowest bits.
    float shifted = __builtin_fma(limited, 0x1.715476p+0f, 0x1.8p+23f);
    float n = shifted - 0x1.8p+23f;
    float r = __builtin_fma(n, -0x1.62e430p-1f, limited);
    r = __builtin_fma(n, 0x1.05c610p-29f, r);
    float p = 0x1.6a1a72p-10f;
    p = __builtin_fma(p, r, 0x1.123fc6p-7f);
    p = __builtin_fma(p, r, 0x1.555916p-5f);
    p = __builtin_fma(p, r, 0x1.55548ap-3f);
    p = __builtin_fma(p, r, 0x1.fffffcp-2f);
    float tail = __builtin_fma(r * r, p, r);
    // 2^n in two factors, so that denormal results come out of one rounding. The first one scales 1 + tail before that is rounded,
    // which is the same. The upper bits of 1.5 * 2^23, halved or not, are shifted away.
    int bits = __builtin_bits_int(shifted);
    int half = bits >> 1;
    float first = __builtin_bits_float((half << 23) + 0x3f800000);
    return __builtin_fma(tail, first, first) * __builtin_bits_float(((bits - half) << 23) + 0x3f800000);
}
__device__ float __expf(float x) { return expf(x); }

// log2 of a positive finite number with a relative error below 2^-44.
__device__ double __agpu_log2(double x) {
    long long bits = __builtin_bits_long(x);
    long long k = (bits - 0x3fe6a09e667f3bcdll) >> 52;
    double m = __builtin_bits_double(bits - (k << 52));
    double s = (m - 1.0) / (m + 1.0);
    double z = s * s;
    double p = 0x1.21b892b21f6adp-2;
    p = __builtin_fma(p, z, 0x1.4794d3e516f4cp-2);
    p = __builtin_fma(p, z, 0x1.a61a31ca4a649p-2);
    p = __builtin_fma(p, z, 0x1.2776c28fad0cfp-1);
    p = __builtin_fma(p, z, 0x1.ec709dc53f4eep-1);
    p = __builtin_fma(p, z, 0x1.71547652b8250p+1);
    return __builtin_fma(s, p, (double)(int)k);
}

// 2^x as a double with a relative error below 2^-34, for -1000 < x < 1000.
__device__ double __agpu_exp2(double x) {
    double n = __builtin_roundeven(x);
    double f = x - n;
    double p = 0x1.fe1782ad89cc1p-17;
    p = __builtin_fma(p, f, 0x1.446a1fda7ff66p-13);
    p = __builtin_fma(p, f, 0x1.5d8a708966654p-10);
    p = __builtin_fma(p, f, 0x1.3b29dc40d76f9p-7);
    p = __builtin_fma(p, f, 0x1.c6b08aaf2dc27p-5);
    p = __builtin_fma(p, f, 0x1.ebfbe0a4be7e9p-3);
    p = __builtin_fma(p, f, 0x1.62e42ff116292p-1);
    p = __builtin_fma(p, f, 0x1.ffffffffabbcep-1);
    return p * __builtin_bits_double((long long)((int)n + 1023) << 52);
}

__device__ float exp2f(float x) {
    float limited = x > 200.0f ? 200.0f : (x < -200.0f ? -200.0f : x);
    return (float)__agpu_exp2((double)limited);
}
__device__ float exp10f(float x) {
    float limited = x > 60.0f ? 60.0f : (x < -60.0f ? -60.0f : x);
    return (float)__agpu_exp2((double)limited * 0x1.a934f0979a371p+1);
}

__device__ float logf(float x) {
    if (!(x > 0.0f) || x == INFINITY) return x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x);
    // Denormals are scaled up by 2^25.
    bool is_small = x < 0x1p-126f;
    int bits = __builtin_bits_int(is_small ? x * 0x1p25f : x);
    int k = (bits - 0x3f3504f3) >> 23;
    float f = __builtin_bits_float(bits - (k << 23)) - 1.0f;
    float n = (float)(is_small ? k - 25 : k);
    float p = -0x1.38b580p-4f;
    p = __builtin_fma(p, f, 0x1.055b6ap-3f);
    p = __builtin_fma(p, f, -0x1.0d8542p-3f);
    p = __builtin_fma(p, f, 0x1.22da1cp-3f);
    p = __builtin_fma(p, f, -0x1.547244p-3f);
    p = __builtin_fma(p, f, 0x1.99a008p-3f);
    p = __builtin_fma(p, f, -0x1.000226p-2f);
    p = __builtin_fma(p, f, 0x1.555554p-2f);
    float square = f * f;
    float tail = __builtin_fma(n, -0x1.05c610p-29f, square * f * p);
    tail = __builtin_fma(-0.5f, square, tail);
    return __builtin_fma(n, 0x1.62e430p-1f, f + tail);
}
__device__ float __logf(float x) { return logf(x); }

__device__ float log2f(float x) {
    if (!(x > 0.0f) || x == INFINITY) return x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x);
    return (float)__agpu_log2((double)x);
}
__device__ float __log2f(float x) { return log2f(x); }
__device__ float log10f(float x) {
    if (!(x > 0.0f) || x == INFINITY) return x == 0.0f ? -INFINITY : (x < 0.0f ? NAN : x);
    return (float)(__agpu_log2((double)x) * 0x1.34413509f79ffp-2);
}
__device__ float __log10f(float x) { return log10f(x); }

__device__ float powf(float x, float y) {
    if (y == 0.0f || x == 1.0f) return 1.0f;
    if (x != x || y != y) return x + y;
    float size = __builtin_fabs(x);
    float exponent_size = __builtin_fabs(y);
    bool is_whole = exponent_size >= 0x1p24f || __builtin_trunc(y) == y;
    bool is_odd = exponent_size < 0x1p24f && is_whole && ((int)y & 1) != 0;
    float sign = __builtin_bits_int(x) < 0 && is_odd ? -1.0f : 1.0f;
    if (size == 0.0f || size == INFINITY) return sign * ((size == 0.0f) == (y < 0.0f) ? INFINITY : 0.0f);
    if (exponent_size == INFINITY) return size == 1.0f ? 1.0f : ((size > 1.0f) == (y > 0.0f) ? INFINITY : 0.0f);
    if (x < 0.0f && !is_whole) return NAN;
    double power = (double)y * __agpu_log2((double)size);
    power = power > 200.0 ? 200.0 : (power < -200.0 ? -200.0 : power);
    return sign * (float)__agpu_exp2(power);
}
__device__ float __powf(float x, float y) { return powf(x, y); }

__device__ float tanhf(float x) {
    float size = __builtin_fabs(x);
    float z = x * x;
    float p = -0x1.75e1ccp-8f;
    p = __builtin_fma(p, z, 0x1.52269ap-6f);
    p = __builtin_fma(p, z, -0x1.b83c5ap-5f);
    p = __builtin_fma(p, z, 0x1.110726p-3f);
    p = __builtin_fma(p, z, -0x1.555532p-2f);
    float small = __builtin_fma(x * z, p, x);
    float limited = size > 10.0f ? 10.0f : size;
    float large = 1.0f - 2.0f / (expf(2.0f * limited) + 1.0f);
    return x != x ? x : __builtin_copysign(size < 0.625f ? small : large, x);
}

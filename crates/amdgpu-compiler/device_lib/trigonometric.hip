// Sine and cosine in single precision, for every argument. Error bound: 1.6 units in the last place, tanf 4 (measured, see
// tests/compiler/test_math.py).

// Bits of 2/pi, after 32 zero bits.
__constant__ unsigned int __agpu_two_over_pi[10] = {0u,          0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
                                                    0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0u};

// Payne and Hanek: the product of the mantissa with the bits of 2/pi that matter, as quarter turns: two bits of quadrant, 62 of
// fraction. For x of at least 2^16.
__device__ unsigned long __agpu_quarter_turns(float size) {
    int bits = __builtin_bits_int(size);
    unsigned long mantissa = (bits & 0x7fffff) | 0x800000;
    int position = (bits >> 23) - 150 + 30;
    int word = position >> 5;
    int shift = position & 31;
    unsigned long a = ((unsigned long)__agpu_two_over_pi[word] << 32 | __agpu_two_over_pi[word + 1]) << shift >> 32;
    unsigned long b = ((unsigned long)__agpu_two_over_pi[word + 1] << 32 | __agpu_two_over_pi[word + 2]) << shift >> 32;
    unsigned long c = ((unsigned long)__agpu_two_over_pi[word + 2] << 32 | __agpu_two_over_pi[word + 3]) << shift >> 32;
    unsigned long low = (mantissa * c >> 32) + mantissa * b;
    unsigned long high = (low >> 32) + mantissa * a;
    return high << 32 | (low & 0xffffffffu);
}

__device__ float __agpu_sine(float x) {
    float z = x * x;
    float p = 0x1.6cccc8p-19f;
    p = __builtin_fma(p, z, -0x1.a00f6ap-13f);
    p = __builtin_fma(p, z, 0x1.111108p-7f);
    p = __builtin_fma(p, z, -0x1.555556p-3f);
    return __builtin_fma(x * z, p, x);
}

__device__ float __agpu_cosine(float x) {
    float z = x * x;
    float p = -0x1.241ab6p-22f;
    p = __builtin_fma(p, z, 0x1.a010ccp-16f);
    p = __builtin_fma(p, z, -0x1.6c16b8p-10f);
    p = __builtin_fma(p, z, 0x1.555556p-5f);
    return __builtin_fma(z * z, p, __builtin_fma(z, -0.5f, 1.0f));
}

__device__ float __agpu_sine_or_cosine(float x, int shift) {
    float size = __builtin_fabs(x);
    // Infinity and NaN give NaN.
    if (!(size < INFINITY)) return NAN;
    float rest;
    int quadrant;
    if (size > 65536.0f) {
        unsigned long turns = __agpu_quarter_turns(size);
        // The nearest multiple of pi/2 is taken off.
        unsigned long nearest = turns + 0x2000000000000000ul >> 62;
        rest = (float)((double)(long)(turns - (nearest << 62)) * 0x1.921fb54442d18p-62);
        quadrant = (int)nearest;
        rest = x < 0.0f ? -rest : rest;
        quadrant = x < 0.0f ? -quadrant : quadrant;
    } else {
        // Cody and Waite with pi/2 in three parts; fused multiply-add keeps the products exact.
        float n = __builtin_roundeven(x * 0x1.45f306p-1f);
        rest = __builtin_fma(n, -0x1.921fb6p+0f, x);
        rest = __builtin_fma(n, 0x1.777a5cp-25f, rest);
        rest = __builtin_fma(n, 0x1.ee59dap-50f, rest);
        quadrant = (int)n;
    }
    quadrant += shift;
    float sine = __agpu_sine(rest);
    float cosine = __agpu_cosine(rest);
    float value = (quadrant & 1) != 0 ? cosine : sine;
    return (quadrant & 2) != 0 ? -value : value;
}

__device__ float sinf(float x) { return x == 0.0f ? x : __agpu_sine_or_cosine(x, 0); }
__device__ float cosf(float x) { return __agpu_sine_or_cosine(x, 1); }
__device__ float __sinf(float x) { return sinf(x); }
__device__ float __cosf(float x) { return cosf(x); }
__device__ float tanf(float x) { return sinf(x) / cosf(x); }
__device__ void sincosf(float x, float* sine, float* cosine) {
    *sine = sinf(x);
    *cosine = cosf(x);
}
__device__ void __sincosf(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }

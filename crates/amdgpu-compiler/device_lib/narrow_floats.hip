// half and bfloat16: conversions, the functions of cuda_fp16.h, hip_fp16.h, cuda_bf16.h and hip_bf16.h, and pairs. Arithmetic is that
// of float rounded once more, which is correct rounding for + - * / and square roots; sums of products are rounded to odd first.

typedef _Float16 __half;
typedef _Float16 half;
typedef __bf16 __hip_bfloat16;
typedef __bf16 hip_bfloat16;
typedef __bf16 __nv_bfloat16;
typedef __bf16 nv_bfloat16;

struct __align__(4) __half2 { __half x, y; };
typedef __half2 half2;
struct __align__(4) __hip_bfloat162 { __bf16 x, y; };
typedef __hip_bfloat162 __nv_bfloat162;
typedef __hip_bfloat162 nv_bfloat162;

// The neighbour of a rounded value: away from zero or towards it.
__device__ __half __agpu_half_step(__half value, int away) {
    return __builtin_bits_half((unsigned short)(__builtin_bits_short(value) + away));
}
__device__ __bf16 __agpu_bfloat_step(__bf16 value, int away) {
    return __builtin_bits_bfloat((unsigned short)(__builtin_bits_short(value) + away));
}

// The nearest float of a + b, its last bit set when the sum is not a float.
__device__ float __agpu_odd_sum(float a, float b) {
    float sum = a + b;
    float part = sum - a;
    float lost = (a - (sum - part)) + (b - part);
    int bits = __builtin_bits_int(sum);
    bool is_inexact = lost < 0.0f || lost > 0.0f;
    int neighbour = (lost > 0.0f) == (sum > 0.0f) ? bits + 1 : bits - 1;
    return __builtin_bits_float(is_inexact && (bits & 1) == 0 ? neighbour : bits);
}
__device__ double __agpu_odd_sum(double a, double b) {
    double sum = a + b;
    double part = sum - a;
    double lost = (a - (sum - part)) + (b - part);
    long bits = __builtin_bits_long(sum);
    bool is_inexact = lost < 0.0 || lost > 0.0;
    long neighbour = (lost > 0.0) == (sum > 0.0) ? bits + 1 : bits - 1;
    return __builtin_bits_double(is_inexact && (bits & 1) == 0 ? neighbour : bits);
}
// Products of two halves are exact in float; those of two bfloat16 may be too small for it, and are exact in double.
__device__ __half __hfma(__half a, __half b, __half c) {
    if (!__builtin_is_cpu()) return __builtin_fma_half(a, b, c);
    float product = (float)a * (float)b;
    return (__half)__agpu_odd_sum(product, (float)c);
}
__device__ __bf16 __hfma(__bf16 a, __bf16 b, __bf16 c) {
    double product = (double)a * (double)b;
    return (__bf16)__agpu_odd_sum(product, (double)c);
}

#define AGPU_NARROW(type, type2, name, step, bits, from_bits)                                                                     \
    __device__ type __float2##name(float x) { return (type)x; }                                                                   \
    __device__ type __float2##name##_rn(float x) { return (type)x; }                                                              \
    __device__ type __float2##name##_rz(float x) {                                                                                \
        type near = (type)x;                                                                                                      \
        return __builtin_fabs((float)near) > __builtin_fabs(x) ? step(near, -1) : near;                                           \
    }                                                                                                                             \
    __device__ type __float2##name##_rd(float x) {                                                                                \
        type near = (type)x;                                                                                                      \
        return (float)near > x ? step(near, __builtin_bits_int(x) < 0 ? 1 : -1) : near;                                           \
    }                                                                                                                             \
    __device__ type __float2##name##_ru(float x) {                                                                                \
        type near = (type)x;                                                                                                      \
        return (float)near < x ? step(near, __builtin_bits_int(x) < 0 ? -1 : 1) : near;                                           \
    }                                                                                                                             \
    __device__ float __##name##2float(type x) { return (float)x; }                                                                \
    __device__ type __double2##name(double x) { return (type)x; }                                                                 \
    __device__ type __int2##name##_rn(int x) { return (type)x; }                                                                  \
    __device__ type __uint2##name##_rn(unsigned int x) { return (type)x; }                                                        \
    __device__ type __short2##name##_rn(short x) { return (type)x; }                                                              \
    __device__ type __ushort2##name##_rn(unsigned short x) { return (type)x; }                                                    \
    __device__ type __ll2##name##_rn(long long x) { return (type)x; }                                                             \
    __device__ type __ull2##name##_rn(unsigned long long x) { return (type)x; }                                                   \
    __device__ int __##name##2int_rn(type x) { return (int)__builtin_roundeven((float)x); }                                       \
    __device__ int __##name##2int_rz(type x) { return (int)x; }                                                                   \
    __device__ int __##name##2int_rd(type x) { return (int)__builtin_floor((float)x); }                                           \
    __device__ int __##name##2int_ru(type x) { return (int)__builtin_ceil((float)x); }                                            \
    __device__ unsigned int __##name##2uint_rn(type x) { return (unsigned int)__builtin_roundeven((float)x); }                    \
    __device__ unsigned int __##name##2uint_rz(type x) { return (unsigned int)x; }                                                \
    __device__ short __##name##2short_rn(type x) {                                                                                \
        return (short)max(min((int)__builtin_roundeven((float)x), 32767), -32768);                                                \
    }                                                                                                                             \
    __device__ short __##name##2short_rz(type x) { return (short)max(min((int)x, 32767), -32768); }                               \
    __device__ unsigned short __##name##2ushort_rn(type x) {                                                                      \
        return (unsigned short)max(min((int)__builtin_roundeven((float)x), 65535), 0);                                            \
    }                                                                                                                             \
    __device__ unsigned short __##name##2ushort_rz(type x) { return (unsigned short)max(min((int)x, 65535), 0); }                 \
    __device__ long long __##name##2ll_rn(type x) { return (long long)__builtin_roundeven((float)x); }                            \
    __device__ long long __##name##2ll_rz(type x) { return (long long)x; }                                                        \
    __device__ unsigned long long __##name##2ull_rn(type x) { return (unsigned long long)__builtin_roundeven((float)x); }         \
    __device__ unsigned long long __##name##2ull_rz(type x) { return (unsigned long long)x; }                                     \
    __device__ short __##name##_as_short(type x) { return (short)__builtin_bits_short(x); }                                       \
    __device__ unsigned short __##name##_as_ushort(type x) { return __builtin_bits_short(x); }                                    \
    __device__ type __short_as_##name(short x) { return from_bits(x); }                                                           \
    __device__ type __ushort_as_##name(unsigned short x) { return from_bits(x); }                                                 \
    __device__ type __hadd(type a, type b) { return a + b; }                                                                      \
    __device__ type __hadd_rn(type a, type b) { return a + b; }                                                                   \
    __device__ type __hsub(type a, type b) { return a - b; }                                                                      \
    __device__ type __hsub_rn(type a, type b) { return a - b; }                                                                   \
    __device__ type __hmul(type a, type b) { return a * b; }                                                                      \
    __device__ type __hmul_rn(type a, type b) { return a * b; }                                                                   \
    __device__ type __hdiv(type a, type b) { return a / b; }                                                                      \
    __device__ type __hadd_sat(type a, type b) { return (type)__saturatef((float)(a + b)); }                                      \
    __device__ type __hsub_sat(type a, type b) { return (type)__saturatef((float)(a - b)); }                                      \
    __device__ type __hmul_sat(type a, type b) { return (type)__saturatef((float)(a * b)); }                                      \
    __device__ type __hfma_sat(type a, type b, type c) { return (type)__saturatef((float)__hfma(a, b, c)); }                      \
    __device__ type __hfma_relu(type a, type b, type c) {                                                                         \
        type r = __hfma(a, b, c);                                                                                                 \
        return r < (type)0.0f ? (type)0.0f : r;                                                                                   \
    }                                                                                                                             \
    __device__ type __hneg(type a) { return from_bits((unsigned short)(bits(a) ^ 0x8000)); }                                      \
    __device__ type __habs(type a) { return from_bits((unsigned short)(bits(a) & 0x7fff)); }                                      \
    __device__ type __hmax(type a, type b) { return (type)__builtin_fmax((float)a, (float)b); }                                   \
    __device__ type __hmin(type a, type b) { return (type)__builtin_fmin((float)a, (float)b); }                                   \
    __device__ type __hmax_nan(type a, type b) { return a != a ? a : (b != b ? b : __hmax(a, b)); }                               \
    __device__ type __hmin_nan(type a, type b) { return a != a ? a : (b != b ? b : __hmin(a, b)); }                               \
    __device__ type max(type a, type b) { return __hmax(a, b); }                                                                  \
    __device__ type min(type a, type b) { return __hmin(a, b); }                                                                  \
    __device__ bool __heq(type a, type b) { return a == b; }                                                                      \
    __device__ bool __hne(type a, type b) { return a < b || a > b; }                                                              \
    __device__ bool __hlt(type a, type b) { return a < b; }                                                                       \
    __device__ bool __hle(type a, type b) { return a <= b; }                                                                      \
    __device__ bool __hgt(type a, type b) { return a > b; }                                                                       \
    __device__ bool __hge(type a, type b) { return a >= b; }                                                                      \
    __device__ bool __hequ(type a, type b) { return !(a < b || a > b); }                                                          \
    __device__ bool __hneu(type a, type b) { return a != b; }                                                                     \
    __device__ bool __hltu(type a, type b) { return !(a >= b); }                                                                  \
    __device__ bool __hleu(type a, type b) { return !(a > b); }                                                                   \
    __device__ bool __hgtu(type a, type b) { return !(a <= b); }                                                                  \
    __device__ bool __hgeu(type a, type b) { return !(a < b); }                                                                   \
    __device__ bool __hisnan(type a) { return a != a; }                                                                           \
    __device__ int __hisinf(type a) { return a == (type)INFINITY ? 1 : (a == (type)(-INFINITY) ? -1 : 0); }                       \
    __device__ bool isnan(type a) { return a != a; }                                                                              \
    __device__ bool isinf(type a) { return __hisinf(a) != 0; }                                                                    \
    __device__ type2 __floats2##name##2_rn(float x, float y) { return type2{(type)x, (type)y}; }                                  \
    __device__ type2 __float2##name##2_rn(float x) { return type2{(type)x, (type)x}; }                                            \
    __device__ type2 __float22##name##2_rn(float2 x) { return type2{(type)x.x, (type)x.y}; }                                      \
    __device__ float2 __##name##22float2(type2 a) { return float2{(float)a.x, (float)a.y}; }                                      \
    __device__ float __low2float(type2 a) { return (float)a.x; }                                                                  \
    __device__ float __high2float(type2 a) { return (float)a.y; }                                                                 \
    __device__ type __low2##name(type2 a) { return a.x; }                                                                         \
    __device__ type __high2##name(type2 a) { return a.y; }                                                                        \
    __device__ type2 __low2##name##2(type2 a) { return type2{a.x, a.x}; }                                                         \
    __device__ type2 __high2##name##2(type2 a) { return type2{a.y, a.y}; }                                                        \
    __device__ type2 __lows2##name##2(type2 a, type2 b) { return type2{a.x, b.x}; }                                               \
    __device__ type2 __highs2##name##2(type2 a, type2 b) { return type2{a.y, b.y}; }                                              \
    __device__ type2 __lowhigh2highlow(type2 a) { return type2{a.y, a.x}; }                                                       \
    __device__ type2 __halves2##name##2(type x, type y) { return type2{x, y}; }                                                   \
    __device__ type2 __##name##2##name##2(type x) { return type2{x, x}; }                                                         \
    __device__ type2 __hadd2(type2 a, type2 b) { return type2{a.x + b.x, a.y + b.y}; }                                            \
    __device__ type2 __hsub2(type2 a, type2 b) { return type2{a.x - b.x, a.y - b.y}; }                                            \
    __device__ type2 __hmul2(type2 a, type2 b) { return type2{a.x * b.x, a.y * b.y}; }                                            \
    __device__ type2 __h2div(type2 a, type2 b) { return type2{a.x / b.x, a.y / b.y}; }                                            \
    __device__ type2 __hadd2_rn(type2 a, type2 b) { return __hadd2(a, b); }                                                       \
    __device__ type2 __hsub2_rn(type2 a, type2 b) { return __hsub2(a, b); }                                                       \
    __device__ type2 __hmul2_rn(type2 a, type2 b) { return __hmul2(a, b); }                                                       \
    __device__ type2 __hadd2_sat(type2 a, type2 b) { return type2{__hadd_sat(a.x, b.x), __hadd_sat(a.y, b.y)}; }                  \
    __device__ type2 __hmul2_sat(type2 a, type2 b) { return type2{__hmul_sat(a.x, b.x), __hmul_sat(a.y, b.y)}; }                  \
    __device__ type2 __hfma2(type2 a, type2 b, type2 c) { return type2{__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; }           \
    __device__ type2 __hneg2(type2 a) { return type2{__hneg(a.x), __hneg(a.y)}; }                                                 \
    __device__ type2 __habs2(type2 a) { return type2{__habs(a.x), __habs(a.y)}; }                                                 \
    __device__ type2 __hmax2(type2 a, type2 b) { return type2{__hmax(a.x, b.x), __hmax(a.y, b.y)}; }                              \
    __device__ type2 __hmin2(type2 a, type2 b) { return type2{__hmin(a.x, b.x), __hmin(a.y, b.y)}; }                              \
    __device__ type2 operator+(type2 a, type2 b) { return __hadd2(a, b); }                                                        \
    __device__ type2 operator-(type2 a, type2 b) { return __hsub2(a, b); }                                                        \
    __device__ type2 operator*(type2 a, type2 b) { return __hmul2(a, b); }                                                        \
    __device__ type2 operator/(type2 a, type2 b) { return __h2div(a, b); }                                                        \
    __device__ type2 operator-(type2 a) { return __hneg2(a); }                                                                    \
    __device__ type2& operator+=(type2& a, type2 b) { a = __hadd2(a, b); return a; }                                              \
    __device__ type2& operator-=(type2& a, type2 b) { a = __hsub2(a, b); return a; }                                              \
    __device__ type2& operator*=(type2& a, type2 b) { a = __hmul2(a, b); return a; }                                              \
    __device__ type2& operator/=(type2& a, type2 b) { a = __h2div(a, b); return a; }                                              \
    __device__ bool operator==(type2 a, type2 b) { return a.x == b.x && a.y == b.y; }                                             \
    __device__ bool operator!=(type2 a, type2 b) { return a.x != b.x || a.y != b.y; }                                             \
    __device__ type __agpu_truth(type, bool value) { return value ? (type)1.0f : (type)0.0f; }                                    \
    __device__ type2 __heq2(type2 a, type2 b) { return type2{__agpu_truth(a.x, a.x == b.x), __agpu_truth(a.x, a.y == b.y)}; }     \
    __device__ type2 __hne2(type2 a, type2 b) { return type2{__agpu_truth(a.x, __hne(a.x, b.x)), __agpu_truth(a.x, __hne(a.y, b.y))}; } \
    __device__ type2 __hlt2(type2 a, type2 b) { return type2{__agpu_truth(a.x, a.x < b.x), __agpu_truth(a.x, a.y < b.y)}; }       \
    __device__ type2 __hle2(type2 a, type2 b) { return type2{__agpu_truth(a.x, a.x <= b.x), __agpu_truth(a.x, a.y <= b.y)}; }     \
    __device__ type2 __hgt2(type2 a, type2 b) { return type2{__agpu_truth(a.x, a.x > b.x), __agpu_truth(a.x, a.y > b.y)}; }       \
    __device__ type2 __hge2(type2 a, type2 b) { return type2{__agpu_truth(a.x, a.x >= b.x), __agpu_truth(a.x, a.y >= b.y)}; }     \
    __device__ type2 __hisnan2(type2 a) { return type2{__agpu_truth(a.x, a.x != a.x), __agpu_truth(a.x, a.y != a.y)}; }           \
    __device__ bool __hbeq2(type2 a, type2 b) { return a.x == b.x && a.y == b.y; }                                                \
    __device__ bool __hbne2(type2 a, type2 b) { return __hne(a.x, b.x) && __hne(a.y, b.y); }                                      \
    __device__ bool __hblt2(type2 a, type2 b) { return a.x < b.x && a.y < b.y; }                                                  \
    __device__ bool __hble2(type2 a, type2 b) { return a.x <= b.x && a.y <= b.y; }                                                \
    __device__ bool __hbgt2(type2 a, type2 b) { return a.x > b.x && a.y > b.y; }                                                  \
    __device__ bool __hbge2(type2 a, type2 b) { return a.x >= b.x && a.y >= b.y; }

AGPU_NARROW(__half, __half2, half, __agpu_half_step, __builtin_bits_short, __builtin_bits_half)
AGPU_NARROW(__bf16, __hip_bfloat162, bfloat16, __agpu_bfloat_step, __builtin_bits_short, __builtin_bits_bfloat)
#undef AGPU_NARROW

__device__ __half2 make_half2(__half x, __half y) { return __half2{x, y}; }
__device__ __hip_bfloat162 make_bfloat162(__bf16 x, __bf16 y) { return __hip_bfloat162{x, y}; }

// Functions of one argument: the float function, rounded once more.
#define AGPU_NARROW_FUNCTION(name, expression)                                                                                    \
    __device__ __half h##name(__half a) {                                                                                         \
        float x = a;                                                                                                              \
        return (__half)(expression);                                                                                              \
    }                                                                                                                             \
    __device__ __bf16 h##name(__bf16 a) {                                                                                         \
        float x = a;                                                                                                              \
        return (__bf16)(expression);                                                                                              \
    }                                                                                                                             \
    __device__ __half2 h2##name(__half2 a) { return __half2{h##name(a.x), h##name(a.y)}; }                                        \
    __device__ __hip_bfloat162 h2##name(__hip_bfloat162 a) { return __hip_bfloat162{h##name(a.x), h##name(a.y)}; }
AGPU_NARROW_FUNCTION(ceil, __builtin_ceil(x))
AGPU_NARROW_FUNCTION(floor, __builtin_floor(x))
AGPU_NARROW_FUNCTION(trunc, __builtin_trunc(x))
AGPU_NARROW_FUNCTION(rint, __builtin_roundeven(x))
AGPU_NARROW_FUNCTION(sqrt, __builtin_sqrt(x))
AGPU_NARROW_FUNCTION(rsqrt, 1.0f / __builtin_sqrt(x))
AGPU_NARROW_FUNCTION(rcp, 1.0f / x)
AGPU_NARROW_FUNCTION(exp, expf(x))
AGPU_NARROW_FUNCTION(exp2, exp2f(x))
AGPU_NARROW_FUNCTION(exp10, exp10f(x))
AGPU_NARROW_FUNCTION(log, logf(x))
AGPU_NARROW_FUNCTION(log2, log2f(x))
AGPU_NARROW_FUNCTION(log10, log10f(x))
AGPU_NARROW_FUNCTION(sin, sinf(x))
AGPU_NARROW_FUNCTION(cos, cosf(x))
AGPU_NARROW_FUNCTION(tanh, tanhf(x))
#undef AGPU_NARROW_FUNCTION

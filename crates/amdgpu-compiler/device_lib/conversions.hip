// Bits of numbers, conversions with a rounding mode, and arithmetic with one. The suffixes: rn to nearest, rz towards zero, rd down,
// ru up. Integers that do not fit saturate, NaN gives 0.

__device__ int __float_as_int(float x) { return __builtin_bits_int(x); }
__device__ unsigned int __float_as_uint(float x) { return (unsigned int)__builtin_bits_int(x); }
__device__ float __int_as_float(int x) { return __builtin_bits_float(x); }
__device__ float __uint_as_float(unsigned int x) { return __builtin_bits_float(x); }
__device__ long long __double_as_longlong(double x) { return __builtin_bits_long(x); }
__device__ double __longlong_as_double(long long x) { return __builtin_bits_double(x); }
__device__ int __double2hiint(double x) { return (int)(__builtin_bits_long(x) >> 32); }
__device__ int __double2loint(double x) { return (int)__builtin_bits_long(x); }
__device__ double __hiloint2double(int high, int low) {
    return __builtin_bits_double((long long)high << 32 | (long long)(unsigned int)low);
}

#define AGPU_TO_INTEGER(from, from_name, to, to_name)                                                              \
    __device__ to __##from_name##2##to_name##_rn(from x) { return (to)__builtin_roundeven(x); }                    \
    __device__ to __##from_name##2##to_name##_rz(from x) { return (to)x; }                                         \
    __device__ to __##from_name##2##to_name##_rd(from x) { return (to)__builtin_floor(x); }                        \
    __device__ to __##from_name##2##to_name##_ru(from x) { return (to)__builtin_ceil(x); }
AGPU_TO_INTEGER(float, float, int, int)
AGPU_TO_INTEGER(float, float, unsigned int, uint)
AGPU_TO_INTEGER(float, float, long long, ll)
AGPU_TO_INTEGER(float, float, unsigned long long, ull)
AGPU_TO_INTEGER(double, double, int, int)
AGPU_TO_INTEGER(double, double, unsigned int, uint)
AGPU_TO_INTEGER(double, double, long long, ll)
AGPU_TO_INTEGER(double, double, unsigned long long, ull)
#undef AGPU_TO_INTEGER

// The neighbour of a float: away from zero or towards it.
__device__ float __agpu_step(float x, int away) { return __builtin_bits_float(__builtin_bits_int(x) + away); }
__device__ double __agpu_step(double x, int away) { return __builtin_bits_double(__builtin_bits_long(x) + away); }

__device__ float __double2float_rn(double x) { return (float)x; }
__device__ float __double2float_rz(double x) {
    float near = (float)x;
    return __builtin_fabs((double)near) > __builtin_fabs(x) ? __agpu_step(near, -1) : near;
}
__device__ float __double2float_rd(double x) {
    float near = (float)x;
    return (double)near > x ? __agpu_step(near, x < 0.0 ? 1 : -1) : near;
}
__device__ float __double2float_ru(double x) {
    float near = (float)x;
    return (double)near < x ? __agpu_step(near, x < 0.0 ? -1 : 1) : near;
}

// Every int is a double.
#define AGPU_FROM_INTEGER(from, from_name)                                                                         \
    __device__ float __##from_name##2float_rn(from x) { return (float)x; }                                         \
    __device__ float __##from_name##2float_rz(from x) { return __double2float_rz((double)x); }                     \
    __device__ float __##from_name##2float_rd(from x) { return __double2float_rd((double)x); }                     \
    __device__ float __##from_name##2float_ru(from x) { return __double2float_ru((double)x); }                     \
    __device__ double __##from_name##2double_rn(from x) { return (double)x; }
AGPU_FROM_INTEGER(int, int)
AGPU_FROM_INTEGER(unsigned int, uint)
#undef AGPU_FROM_INTEGER

// Of 64-bit integers, whether the nearest float lies above or below them is asked in integers; 2^63 and 2^64 lie above.
#define AGPU_FROM_LONG(from, from_name, to, to_name, top)                                                          \
    __device__ int __agpu_side(from x, to near) {                                                                  \
        if (near >= top) return 1;                                                                                 \
        from back = (from)near;                                                                                    \
        return back > x ? 1 : (back < x ? -1 : 0);                                                                 \
    }                                                                                                              \
    __device__ to __##from_name##2##to_name##_rn(from x) { return (to)x; }                                         \
    __device__ to __##from_name##2##to_name##_rd(from x) {                                                         \
        to near = (to)x;                                                                                           \
        return __agpu_side(x, near) > 0 ? __agpu_step(near, near < (to)0 ? 1 : -1) : near;                         \
    }                                                                                                              \
    __device__ to __##from_name##2##to_name##_ru(from x) {                                                         \
        to near = (to)x;                                                                                           \
        return __agpu_side(x, near) < 0 ? __agpu_step(near, near < (to)0 ? -1 : 1) : near;                         \
    }                                                                                                              \
    __device__ to __##from_name##2##to_name##_rz(from x) {                                                         \
        return x < 0 ? __##from_name##2##to_name##_ru(x) : __##from_name##2##to_name##_rd(x);                      \
    }
AGPU_FROM_LONG(long long, ll, float, float, 0x1p63f)
AGPU_FROM_LONG(unsigned long long, ull, float, float, 0x1p64f)
AGPU_FROM_LONG(long long, ll, double, double, 0x1p63)
AGPU_FROM_LONG(unsigned long long, ull, double, double, 0x1p64)
#undef AGPU_FROM_LONG

// Arithmetic on floats in double: products are exact, sums are rounded to odd, and quotients and roots of floats are never so close
// to another float that double cannot tell.
#define AGPU_DIRECTED(mode)                                                                                        \
    __device__ float __fadd_##mode(float a, float b) { return __double2float_##mode(__agpu_odd_sum((double)a, (double)b)); }  \
    __device__ float __fsub_##mode(float a, float b) { return __double2float_##mode(__agpu_odd_sum((double)a, -(double)b)); } \
    __device__ float __fmul_##mode(float a, float b) { return __double2float_##mode((double)a * (double)b); }      \
    __device__ float __fdiv_##mode(float a, float b) { return __double2float_##mode((double)a / (double)b); }      \
    __device__ float __frcp_##mode(float x) { return __double2float_##mode(1.0 / (double)x); }                     \
    __device__ float __fsqrt_##mode(float x) { return __double2float_##mode(__builtin_sqrt((double)x)); }          \
    __device__ float __fmaf_##mode(float a, float b, float c) {                                                    \
        double product = (double)a * (double)b;                                                                    \
        return __double2float_##mode(__agpu_odd_sum(product, (double)c));                                          \
    }
AGPU_DIRECTED(rz)
AGPU_DIRECTED(rd)
AGPU_DIRECTED(ru)
#undef AGPU_DIRECTED

// To nearest; each its own rounding, whatever surrounds the call.
__device__ float __fadd_rn(float a, float b) { return a + b; }
__device__ float __fsub_rn(float a, float b) { return a - b; }
__device__ float __fmul_rn(float a, float b) { return a * b; }
__device__ float __fdiv_rn(float a, float b) { return a / b; }
__device__ float __fdividef(float a, float b) { return a / b; }
__device__ float fdividef(float a, float b) { return a / b; }
__device__ float __fmaf_rn(float a, float b, float c) { return __builtin_fma(a, b, c); }
__device__ float __fsqrt_rn(float x) { return __builtin_sqrt(x); }
__device__ float __frsqrt_rn(float x) { return rsqrtf(x); }
__device__ float __frcp_rn(float x) { return 1.0f / x; }
__device__ double __dadd_rn(double a, double b) { return a + b; }
__device__ double __dsub_rn(double a, double b) { return a - b; }
__device__ double __dmul_rn(double a, double b) { return a * b; }
__device__ double __ddiv_rn(double a, double b) { return a / b; }
__device__ double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
__device__ double __dsqrt_rn(double x) { return __builtin_sqrt(x); }
__device__ double __drcp_rn(double x) { return 1.0 / x; }

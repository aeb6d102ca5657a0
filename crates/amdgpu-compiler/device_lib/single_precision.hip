// Functions in single precision that are those of double rounded once more, and the overloads of <cmath>.

#define AGPU_SINGLE(name)                                                                                          \
    __device__ float name##f(float x) { return (float)name((double)x); }                                           \
    __device__ float name(float x) { return (float)name((double)x); }
AGPU_SINGLE(expm1)
AGPU_SINGLE(log1p)
AGPU_SINGLE(sinh)
AGPU_SINGLE(cosh)
AGPU_SINGLE(asinh)
AGPU_SINGLE(acosh)
AGPU_SINGLE(atanh)
AGPU_SINGLE(sinpi)
AGPU_SINGLE(cospi)
AGPU_SINGLE(atan)
AGPU_SINGLE(asin)
AGPU_SINGLE(acos)
AGPU_SINGLE(cbrt)
AGPU_SINGLE(rcbrt)
AGPU_SINGLE(erf)
AGPU_SINGLE(erfc)
AGPU_SINGLE(erfcx)
AGPU_SINGLE(erfinv)
AGPU_SINGLE(erfcinv)
AGPU_SINGLE(normcdf)
AGPU_SINGLE(normcdfinv)
AGPU_SINGLE(lgamma)
AGPU_SINGLE(tgamma)
#undef AGPU_SINGLE

#define AGPU_OVERLOAD(name) __device__ float name(float x) { return name##f(x); }
AGPU_OVERLOAD(exp)
AGPU_OVERLOAD(exp2)
AGPU_OVERLOAD(exp10)
AGPU_OVERLOAD(log)
AGPU_OVERLOAD(log2)
AGPU_OVERLOAD(log10)
AGPU_OVERLOAD(sin)
AGPU_OVERLOAD(cos)
AGPU_OVERLOAD(tan)
AGPU_OVERLOAD(tanh)
#undef AGPU_OVERLOAD

__device__ float pow(float x, float y) { return powf(x, y); }
__device__ double pow(double x, int n) { return pow(x, (double)n); }
__device__ float pow(float x, int n) { return powf(x, (float)n); }
__device__ float powif(float x, int n) { return powf(x, (float)n); }
__device__ double powi(double x, int n) { return pow(x, (double)n); }
__device__ void sincos(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
__device__ void sincospif(float x, float* sine, float* cosine) {
    *sine = sinpif(x);
    *cosine = cospif(x);
}
__device__ float __tanf(float x) { return tanf(x); }
__device__ float __exp10f(float x) { return exp10f(x); }
__device__ float atan2f(float y, float x) { return (float)atan2((double)y, (double)x); }
__device__ float atan2(float y, float x) { return (float)atan2((double)y, (double)x); }

// Squares of floats are exact in double and their sums do not over- or underflow.
__device__ float __agpu_length(float a, float b, float c, float d) {
    if (__builtin_fabs(a) == INFINITY || __builtin_fabs(b) == INFINITY || __builtin_fabs(c) == INFINITY || __builtin_fabs(d) == INFINITY) return INFINITY;
    return (float)__builtin_sqrt((double)a * a + (double)b * b + (double)c * c + (double)d * d);
}
__device__ double __agpu_inverse_length(float a, float b, float c, float d) {
    if (__builtin_fabs(a) == INFINITY || __builtin_fabs(b) == INFINITY || __builtin_fabs(c) == INFINITY || __builtin_fabs(d) == INFINITY) return 0.0;
    return 1.0 / __builtin_sqrt((double)a * a + (double)b * b + (double)c * c + (double)d * d);
}
__device__ float hypotf(float x, float y) { return __agpu_length(x, y, 0.0f, 0.0f); }
__device__ float hypot(float x, float y) { return __agpu_length(x, y, 0.0f, 0.0f); }
__device__ float norm3df(float x, float y, float z) { return __agpu_length(x, y, z, 0.0f); }
__device__ float norm4df(float x, float y, float z, float w) { return __agpu_length(x, y, z, w); }
__device__ float rhypotf(float x, float y) { return (float)__agpu_inverse_length(x, y, 0.0f, 0.0f); }
__device__ float rnorm3df(float x, float y, float z) { return (float)__agpu_inverse_length(x, y, z, 0.0f); }
__device__ float rnorm4df(float x, float y, float z, float w) { return (float)__agpu_inverse_length(x, y, z, w); }

#define STR(x) #x
#define UNROLL(n) _Pragma(STR(unroll n))

template <int K> __device__ float strided(const float* p, int n) {
    float sum = 0;
    #pragma unroll K
    for (int i = 0; i < n; ++i) sum += p[i * n];
    return sum;
}

// What is said about loops: obeyed by the pass where the number of turns is known, handed to LLVM elsewhere.
__global__ void unrolling(float* p, int n) {
    float sum = strided<7>(p, n);
    #pragma unroll
    for (int i = 0; i < 40; ++i) sum += p[i];
    #pragma unroll(4)
    for (int i = 0; i < 4; ++i) sum += p[2 * i];
    #pragma unroll 4
    for (int i = 0; i < 12; ++i) sum += p[3 * i];
    #pragma nounroll
    for (int i = 0; i < 4; ++i) sum += p[4 * i];
    #pragma unroll 1
    do sum += p[n]; while (--n > 0);
    UNROLL(2)
    while (sum < 3) sum += p[(int)sum];
    _Pragma("unroll") for (int i = 0; i < n; i++) sum *= p[i];
    #pragma clang loop vectorize(enable) unroll_count(3)
    for (int i = 0; i < n; ++i) sum -= p[2 * i];
    p[0] = sum;
}

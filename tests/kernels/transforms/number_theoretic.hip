// Transform modulo 998244353: the products are exact, so any order of operations gives the same.
constexpr unsigned MODULUS = 998244353u;

__device__ unsigned times(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b % MODULUS); }
__device__ unsigned power(unsigned base, unsigned exponent) {
    unsigned result = 1;
    while (exponent) {
        if (exponent & 1) result = times(result, base);
        base = times(base, base);
        exponent >>= 1;
    }
    return result;
}

__global__ void number_theoretic(unsigned* values, int bits) {
    __shared__ unsigned x[128];
    int n = 1 << bits, t = threadIdx.x;
    for (int i = t; i < n; i += blockDim.x) x[__brev((unsigned)i) >> (32 - bits)] = values[blockIdx.x * n + i];
    __syncthreads();
    for (int half = 1; half < n; half *= 2) {
        unsigned root = power(3, (MODULUS - 1) / (2 * half));
        for (int k = t; k < n / 2; k += blockDim.x) {
            int place = k % half, first = k / half * 2 * half + place;
            unsigned a = x[first], b = times(x[first + half], power(root, place));
            x[first] = a + b >= MODULUS ? a + b - MODULUS : a + b;
            x[first + half] = a >= b ? a - b : a + MODULUS - b;
        }
        __syncthreads();
    }
    for (int i = t; i < n; i += blockDim.x) values[blockIdx.x * n + i] = x[i];
}

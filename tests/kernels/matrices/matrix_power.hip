// Fibonacci numbers modulo a prime by powers of a 2 x 2 matrix.
constexpr unsigned PRIME = 1000000007u;

struct Square {
    unsigned long long a, b, c, d;
};
__device__ Square operator*(Square x, Square y) {
    return {(x.a * y.a + x.b * y.c) % PRIME, (x.a * y.b + x.b * y.d) % PRIME, (x.c * y.a + x.d * y.c) % PRIME,
            (x.c * y.b + x.d * y.d) % PRIME};
}

__global__ void matrix_power(const unsigned* exponents, unsigned* results, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Square result = {1, 0, 0, 1}, base = {1, 1, 1, 0};
    for (unsigned left = exponents[i]; left; left >>= 1) {
        if (left & 1) result = result * base;
        base = base * base;
    }
    results[i] = (unsigned)result.b;
}

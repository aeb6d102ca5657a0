// Structured bindings, a destructor that ends a scope, a range of a fixed array.
struct Division {
    int quotient, remainder;
};
__device__ Division divided(int a, int b) { return {a / b, a % b}; }

struct Guard {
    int* depth;
    __device__ explicit Guard(int* d) : depth(d) { ++*depth; }
    __device__ ~Guard() { *depth += 10; }
};

__device__ int visits(int x, int* depth) {
    Guard outer(depth);
    for (int i = 0; i < 3; ++i) {
        Guard inner(depth);
        if (i == x) return *depth;
        if (x == 7) continue;
    }
    return -*depth;
}

__global__ void bindings_and_guards(const int* in, int* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    auto [q, r] = divided(in[i], 10);
    int depth = 0;
    int answer = visits(r, &depth);
    const int primes[] = {2, 3, 5, 7};
    int sum = 0;
    for (int p : primes) sum += q % p;
    out[4 * i] = q * 100 + r;
    out[4 * i + 1] = answer;
    out[4 * i + 2] = depth;
    out[4 * i + 3] = sum;
}

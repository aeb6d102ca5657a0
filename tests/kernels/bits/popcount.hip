// Bits of words counted three ways; all must agree.
__device__ int counted_by_folding(unsigned x) {
    x -= (x >> 1) & 0x55555555u;
    x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0fu;
    return x * 0x01010101u >> 24;
}

__device__ int counted_one_by_one(unsigned x) {
    int count = 0;
    for (; x; x &= x - 1) ++count;
    return count;
}

__global__ void popcount(const unsigned* words, int4* counts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned x = words[i];
    counts[i] = make_int4(__popc(x), counted_by_folding(x), counted_one_by_one(x), __popcll(((unsigned long long)x << 32) | ~x));
}

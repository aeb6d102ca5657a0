// Dropout with a counter-based generator, scaled, added to the residual; the mask is kept as bits.
__device__ uint2 philox2(uint2 counter, unsigned key) {
    for (int round = 0; round < 10; ++round) {
        unsigned high = __umulhi(0xD256D193u, counter.x), low = 0xD256D193u * counter.x;
        counter = make_uint2(high ^ key ^ counter.y, low);
        key += 0x9E3779B9u;
    }
    return counter;
}

__global__ void dropout_residual(const float* in, float* residual, unsigned* mask, unsigned threshold, float scale, unsigned seed, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    bool is_kept = philox2(make_uint2(i, 0), seed).x >= threshold;
    if (is_kept) {
        residual[i] += in[i] * scale;
        atomicOr(&mask[i >> 5], 1u << (i & 31));
    }
}

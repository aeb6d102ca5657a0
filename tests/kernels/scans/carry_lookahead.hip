// Addition of long numbers: generate and propagate flags of 32-bit words are scanned, then every word adds its carry.
__global__ void carry_lookahead(const unsigned* a, const unsigned* b, unsigned* sum, int words) {
    __shared__ unsigned char state[2][256];
    int t = threadIdx.x;
    unsigned x = t < words ? a[t] : 0, y = t < words ? b[t] : 0, plain = x + y;
    // 2: makes a carry, 1: hands one on, 0: swallows it.
    state[0][t] = plain < x ? 2 : plain == 0xffffffffu ? 1 : 0;
    __syncthreads();
    int from = 0;
    for (int d = 1; d < blockDim.x; d *= 2) {
        unsigned char mine = state[from][t];
        state[1 - from][t] = mine == 1 && t >= d ? state[from][t - d] : mine;
        from = 1 - from;
        __syncthreads();
    }
    if (t < words) sum[t] = plain + (t > 0 && state[from][t - 1] == 2 ? 1u : 0u);
    if (t == 0) sum[words] = state[from][words - 1] == 2;
}

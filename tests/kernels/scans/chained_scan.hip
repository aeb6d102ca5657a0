// One pass over the array: blocks take numbers in order and wait for the sum of the one before (decoupled, simplest form).
// The upper half of a word of `state` says whether the sum in the lower half is there.
__global__ void chained_scan(const unsigned* in, unsigned* out, unsigned long long* state, unsigned* ticket, int n) {
    __shared__ unsigned buffer[64];
    __shared__ unsigned block, before;
    int t = threadIdx.x;
    if (t == 0) block = atomicAdd(ticket, 1u);
    __syncthreads();
    int i = block * 64 + t;
    buffer[t] = i < n ? in[i] : 0;
    __syncthreads();
    for (int d = 1; d < 64; d *= 2) {
        unsigned other = t >= d ? buffer[t - d] : 0;
        __syncthreads();
        buffer[t] += other;
        __syncthreads();
    }
    if (t == 0) {
        unsigned long long previous = 1ull << 32;
        if (block > 0) {
            do {
                previous = atomicAdd(&state[block - 1], 0ull);
            } while (previous >> 32 == 0);
        }
        before = (unsigned)previous;
        unsigned long long sum = (unsigned)(before + buffer[63]);
        atomicExch(&state[block], sum | 1ull << 32);
    }
    __syncthreads();
    if (i < n) out[i] = before + buffer[t];
}

// A whole sort of a block by four bits at a time, with counters in shared memory.
__global__ void radix_sort_block(unsigned short* keys) {
    __shared__ unsigned short part[2][64];
    __shared__ int counts[16];
    int t = threadIdx.x, from = 0;
    part[0][t] = keys[blockIdx.x * 64 + t];
    for (int shift = 0; shift < 16; shift += 4, from ^= 1) {
        if (t < 16) counts[t] = 0;
        __syncthreads();
        unsigned short key = part[from][t];
        int digit = key >> shift & 15;
        atomicAdd(&counts[digit], 1);
        __syncthreads();
        int place = 0;
        for (int d = 0; d < digit; ++d) place += counts[d];
        for (int other = 0; other < t; ++other) place += (part[from][other] >> shift & 15) == digit;
        part[from ^ 1][place] = key;
        __syncthreads();
    }
    keys[blockIdx.x * 64 + t] = part[from][t];
}

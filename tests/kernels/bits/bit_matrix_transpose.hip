// 32 x 32 bits by five rounds of exchanges (Hacker's Delight, section 7-3); a block has one matrix.
__global__ void bit_matrix_transpose(unsigned* rows) {
    __shared__ unsigned m[32];
    int t = threadIdx.x;
    m[t] = rows[blockIdx.x * 32 + t];
    __syncthreads();
    unsigned mask = 0x0000ffffu;
    for (int step = 16; step > 0; step /= 2, mask ^= mask << step) {
        if (!(t & step)) {
            unsigned differs = (m[t] >> step ^ m[t + step]) & mask;
            m[t] ^= differs << step;
            m[t + step] ^= differs;
        }
        __syncthreads();
    }
    rows[blockIdx.x * 32 + t] = m[t];
}

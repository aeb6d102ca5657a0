// Sum of each block through shared memory, then one atomic for all blocks.
__global__ void block_reduction(const float* __restrict__ in, float* __restrict__ partial, float* total, int n) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    int i = blockIdx.x * blockDim.x + t;
    tile[t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int s = blockDim.x / 2; s > 0; s >>= 1) {
        if (t < s) tile[t] += tile[t + s];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = tile[0];
        atomicAdd(total, tile[0]);
    }
}

// Counts with the barrier that counts; every work-item of the block has to arrive, those outside of the array too.
__global__ void count_if(const float* values, unsigned* counts, unsigned* flags, float limit, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool is_valid = i < n;
    int above = __syncthreads_count(is_valid && values[i] > limit);
    int any_negative = __syncthreads_or(is_valid && values[i] < 0.0f);
    int all_small = __syncthreads_and(!is_valid || fabsf(values[i]) < 2.0f);
    if (threadIdx.x == 0) {
        counts[blockIdx.x] = above;
        flags[blockIdx.x] = (any_negative ? 1u : 0u) | (all_small ? 2u : 0u);
    }
}

// Segments given by their ends; a block for each segment, whatever its length.
__global__ void segmented_sum(const int* values, const int* ends, long long* sums) {
    __shared__ long long parts[32];
    int begin = blockIdx.x == 0 ? 0 : ends[blockIdx.x - 1], end = ends[blockIdx.x];
    long long sum = 0;
    for (int i = begin + threadIdx.x; i < end; i += 32) sum += values[i];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 16; s > 0; s >>= 1) {
        if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

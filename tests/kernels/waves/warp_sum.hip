// Sum of a block: shuffles within waves of 32 lanes, then the first of them adds up what they left.
__inline__ __device__ int wave_sum(int value) {
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset, 32);
    return value;
}

__global__ void warp_sum(const int* values, int* sums, int n) {
    __shared__ int parts[32];
    int lane = threadIdx.x % 32, wave = threadIdx.x / 32;
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += values[i];
    sum = wave_sum(sum);
    if (lane == 0) parts[wave] = sum;
    __syncthreads();
    if (wave == 0) {
        sum = lane < blockDim.x / 32 ? parts[lane] : 0;
        sum = wave_sum(sum);
        if (lane == 0) sums[blockIdx.x] = sum;
    }
}

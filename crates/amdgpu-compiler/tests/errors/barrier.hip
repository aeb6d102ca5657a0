// What HIP has for work-items that meet, and this compiler has not; and wrong uses of what it has.
__global__ void reduce(float* data, float* sum) {
    __shared__ float tile[256];
    tile[threadIdx.x] = data[threadIdx.x];
    __syncthreads();
    float other = __shfl_down(tile[0]);
    if (__any(other > 0.0f)) atomicAdd_system(sum, other);
    __syncwarp(1, 2);
    float* next = __shfl(data, 1);
    int sum = __builtin_wave_shuffle(0, other, 1);
}

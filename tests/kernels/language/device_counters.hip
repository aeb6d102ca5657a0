// Variables of the module that kernels write and the host reads.
__device__ unsigned long long total = 1000;
__device__ unsigned counts[4];

__global__ void device_counters(const unsigned* values, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    atomicAdd(&total, (unsigned long long)values[i]);
    atomicAdd(&counts[values[i] & 3], 1u);
}

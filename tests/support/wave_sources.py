"""Kernels of wave operations, for the CPU and for GPUs."""

REDUCTION = """
template <typename T> __device__ T wave_sum(T v) {
    for (int step = warpSize / 2; step > 0; step >>= 1) v += __shfl_down_sync(0xffffffff, v, step);
    return v;
}
template <typename T> __device__ T block_sum(T v) {
    __shared__ T partial[32];
    int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize;
    v = wave_sum(v);
    __syncthreads();
    if (lane == 0) partial[wave] = v;
    __syncthreads();
    v = threadIdx.x < (blockDim.x + warpSize - 1) / warpSize ? partial[lane] : T(0);
    if (wave == 0) v = wave_sum(v);
    return v;
}
__global__ void sums(const int* in, int* out, double* doubles, int n) {
    int total = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) total += in[i];
    auto twice = [&](int x) { return block_sum(x) + block_sum(2 * x); };
    int sum = twice(total);
    double other = block_sum(total * 0.5);
    if (threadIdx.x == 0) { out[blockIdx.x] = sum; doubles[blockIdx.x] = other; }
}
"""
EVERYTHING = """
__global__ void k(int* i, double* d, unsigned long long* m) {
    int t = threadIdx.x, all;
    i[t] = __shfl_xor(i[t], 1) + warpSize + __reduce_add_sync(__activemask(), i[t]) + __lane_id();
    d[t] = __shfl_down_sync(0xffffffff, d[t], 2, 16);
    m[t] = __ballot(i[t]) + __match_any(d[t]) + __match_all_sync(0xffffffff, i[t], &all) + __any(all);
    __syncwarp();
    m[t] += __lanemask_gt();
}
"""

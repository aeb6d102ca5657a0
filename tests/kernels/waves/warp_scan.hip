// Inclusive scan of floats by shuffles within groups of 32 lanes.
__global__ void warp_scan(const float* in, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x & 31;
    float value = i < n ? in[i] : 0.0f;
    for (int d = 1; d < 32; d <<= 1) {
        float other = __shfl_up_sync(0xffffffff, value, d, 32);
        if (lane >= d) value += other;
    }
    if (i < n) out[i] = value;
}

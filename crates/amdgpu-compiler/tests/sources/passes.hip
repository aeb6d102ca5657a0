// Gives every pass something to do.
__device__ float squared(float x) {
    return x * x;
}

__global__ void passes(float* __restrict__ out, const float* __restrict__ in, int n) {
    __shared__ float tile[4][16];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float parts[4] = {};
    for (int k = 0; k < 4; ++k) parts[k] = squared(in[i * 4 + k]);
    tile[1][threadIdx.x] = parts[0] / 4.0f;
    float sum = tile[1][threadIdx.x] + parts[3];
    #pragma unroll 2
    for (int k = 0; k < n; ++k) {
        float weight = n * 3 + 1;
        if (k > i) weight = 0;
        sum += weight * in[k];
    }
    out[i] = sum + 2.0f * 0.5f;
}

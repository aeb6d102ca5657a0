// Both passes of a separable filter in one launch: rows into shared memory, then columns from there.
#define R 3
__constant__ float weights[2 * R + 1] = {0.015625f, 0.09375f, 0.234375f, 0.3125f, 0.234375f, 0.09375f, 0.015625f};

__global__ void gaussian_separable(const float* in, float* out, int width, int height) {
    __shared__ float rows[8 + 2 * R][16];
    int x = blockIdx.x * 16 + threadIdx.x;
    for (int r = threadIdx.y; r < 8 + 2 * R; r += 8) {
        int y = min(max((int)blockIdx.y * 8 + r - R, 0), height - 1);
        float sum = 0.0f;
        for (int d = -R; d <= R; ++d) sum += weights[d + R] * in[y * width + min(max(x + d, 0), width - 1)];
        rows[r][threadIdx.x] = sum;
    }
    __syncthreads();
    int y = blockIdx.y * 8 + threadIdx.y;
    if (x >= width || y >= height) return;
    float sum = 0.0f;
    for (int d = 0; d <= 2 * R; ++d) sum += weights[d] * rows[threadIdx.y + d][threadIdx.x];
    out[y * width + x] = sum;
}

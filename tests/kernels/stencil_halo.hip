#define W 16
#define H 8

__device__ int clamped(int value, int size) {
    return value < 0 ? 0 : value >= size ? size - 1 : value;
}

// Mean of a cell and its four neighbours; the tile has a halo of one cell, and edges repeat.
__global__ void stencil_halo(const float* __restrict__ in, float* __restrict__ out, int width, int height) {
    __shared__ float tile[H + 2][W + 2];
    int left = blockIdx.x * W - 1, top = blockIdx.y * H - 1;
    for (int i = threadIdx.y * W + threadIdx.x; i < (H + 2) * (W + 2); i += W * H) {
        int y = i / (W + 2), x = i % (W + 2);
        tile[y][x] = in[clamped(top + y, height) * width + clamped(left + x, width)];
    }
    __syncthreads();
    int x = threadIdx.x + 1, y = threadIdx.y + 1;
    if (left + x < width && top + y < height) {
        float sum = tile[y][x] + tile[y - 1][x] + tile[y + 1][x] + tile[y][x - 1] + tile[y][x + 1];
        out[(top + y) * width + left + x] = sum * 0.2f;
    }
}

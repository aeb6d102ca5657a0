#define TILE 16

// c = a b, row-major, with tiles of both in shared memory.
__global__ void tiled_gemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[TILE][TILE];
    __shared__ float bs[TILE][TILE];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE + ty, column = blockIdx.x * TILE + tx;
    float sum = 0.0f;
    for (int start = 0; start < k; start += TILE) {
        as[ty][tx] = row < m && start + tx < k ? a[row * k + start + tx] : 0.0f;
        bs[ty][tx] = start + ty < k && column < n ? b[(start + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < TILE; ++i) sum += as[ty][i] * bs[i][tx];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

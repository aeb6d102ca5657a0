// Halves in memory and in shared tiles, floats in registers.
__global__ void half_gemm(const half* a, const half* b, half* c, int n) {
    __shared__ half as[8][8], bs[8][8];
    int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
    float sum = 0.0f;
    for (int start = 0; start < n; start += 8) {
        as[ty][tx] = row < n && start + tx < n ? a[row * n + start + tx] : __float2half(0.0f);
        bs[ty][tx] = start + ty < n && column < n ? b[(start + ty) * n + column] : __float2half(0.0f);
        __syncthreads();
        for (int k = 0; k < 8; ++k) sum += __half2float(as[ty][k]) * __half2float(bs[k][tx]);
        __syncthreads();
    }
    if (row < n && column < n) c[row * n + column] = __float2half(sum);
}

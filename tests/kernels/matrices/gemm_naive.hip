// alpha A B + beta C in double, column-major as in BLAS.
__global__ void gemm_naive(const double* a, const double* b, double* c, int m, int n, int k, double alpha, double beta) {
    int row = blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    double sum = 0.0;
    for (int i = 0; i < k; ++i) sum += a[row + (size_t)i * m] * b[i + (size_t)column * k];
    c[row + (size_t)column * m] = alpha * sum + beta * c[row + (size_t)column * m];
}

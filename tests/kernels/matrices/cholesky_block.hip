// Lower factor of a symmetric positive definite matrix, column by column, in dynamic shared memory.
__global__ void cholesky_block(const double* in, double* out, int n) {
    extern __shared__ double m[];
    int t = threadIdx.x;
    for (int i = t; i < n * n; i += blockDim.x) m[i] = in[blockIdx.x * n * n + i];
    for (int k = 0; k < n; ++k) {
        __syncthreads();
        if (t == 0) m[k * n + k] = sqrt(m[k * n + k]);
        __syncthreads();
        for (int row = k + 1 + t; row < n; row += blockDim.x) m[row * n + k] /= m[k * n + k];
        __syncthreads();
        for (int row = k + 1 + t; row < n; row += blockDim.x) {
            for (int column = k + 1; column <= row; ++column) m[row * n + column] -= m[row * n + k] * m[column * n + k];
        }
    }
    __syncthreads();
    for (int i = t; i < n * n; i += blockDim.x) out[blockIdx.x * n * n + i] = i / n >= i % n ? m[i] : 0.0;
}

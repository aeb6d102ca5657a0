// y = A^T x with x in shared memory piece by piece; work-items side by side read columns side by side.
__global__ void matvec_transposed(const double* matrix, const double* x, double* y, int rows, int columns) {
    __shared__ double piece[32];
    int column = blockIdx.x * 32 + threadIdx.x;
    double sum = 0.0;
    for (int start = 0; start < rows; start += 32) {
        piece[threadIdx.x] = start + threadIdx.x < rows ? x[start + threadIdx.x] : 0.0;
        __syncthreads();
        if (column < columns) {
            for (int k = 0; k < 32 && start + k < rows; ++k) sum += matrix[(start + k) * columns + column] * piece[k];
        }
        __syncthreads();
    }
    if (column < columns) y[column] = sum;
}

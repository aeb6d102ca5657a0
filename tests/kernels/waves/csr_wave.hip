// Sparse matrix times vector with a wave for each row.
__global__ void csr_wave(const int* starts, const int* columns, const double* values, const double* x, double* y, int rows) {
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    double sum = 0.0;
    if (row < rows) {
        for (int i = starts[row] + lane; i < starts[row + 1]; i += 32) sum += values[i] * x[columns[i]];
    }
    for (int offset = 16; offset; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset, 32);
    if (lane == 0 && row < rows) y[row] = sum;
}

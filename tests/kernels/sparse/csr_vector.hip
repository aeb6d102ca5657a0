// y = A x with sixteen work-items for each row, four rows to a block.
__global__ void csr_vector(const int* starts, const int* columns, const double* values, const double* x, double* y, int rows) {
    __shared__ double parts[4][16];
    int row = blockIdx.x * 4 + threadIdx.y, lane = threadIdx.x;
    double sum = 0.0;
    if (row < rows) {
        for (int i = starts[row] + lane; i < starts[row + 1]; i += 16) sum += values[i] * x[columns[i]];
    }
    parts[threadIdx.y][lane] = sum;
    for (int s = 8; s > 0; s /= 2) {
        __syncthreads();
        if (lane < s) parts[threadIdx.y][lane] += parts[threadIdx.y][lane + s];
    }
    if (lane == 0 && row < rows) y[row] = parts[threadIdx.y][0];
}

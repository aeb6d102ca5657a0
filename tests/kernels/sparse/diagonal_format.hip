// Matrix of few diagonals.
__global__ void diagonal_format(const int* offsets, const double* diagonals, const double* x, double* y, int n, int count) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        double sum = 0.0;
        for (int d = 0; d < count; ++d) {
            int column = row + offsets[d];
            if (column >= 0 && column < n) sum += diagonals[d * n + row] * x[column];
        }
        y[row] = sum;
    }
}

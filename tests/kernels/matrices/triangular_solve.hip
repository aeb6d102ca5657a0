// L x = b for many right-hand sides: a work-item has a column, the solved entries of its column are in private memory.
__global__ void triangular_solve(const double* lower, const double* b, double* x, int n, int columns) {
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    double solved[16];
    for (int row = 0; row < n; ++row) {
        double value = b[row * columns + column];
        for (int k = 0; k < row; ++k) value -= lower[row * n + k] * solved[k];
        solved[row] = value / lower[row * n + row];
        x[row * columns + column] = solved[row];
    }
}

// Coordinate format: every entry is added to its row by an atomic.
__global__ void coo_atomic(const int* rows, const int* columns, const double* values, const double* x, double* y, int entries) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < entries) atomicAdd(&y[rows[i]], values[i] * x[columns[i]]);
}

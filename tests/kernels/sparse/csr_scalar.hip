// y = A x with a work-item for each row.
__global__ void csr_scalar(const int* starts, const int* columns, const float* values, const float* x, float* y, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = starts[row]; i < starts[row + 1]; ++i) sum += values[i] * __ldg(&x[columns[i]]);
    y[row] = sum;
}

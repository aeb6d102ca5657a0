// ELLPACK: every row has the same number of entries, stored column by column; -1 marks padding.
__global__ void ell(const int* columns, const float* values, const float* x, float* y, int rows, int width) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int k = 0; k < width; ++k) {
        int column = columns[k * rows + row];
        if (column < 0) continue;
        sum += values[k * rows + row] * x[column];
    }
    y[row] = sum;
}

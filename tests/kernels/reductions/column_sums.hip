// Sums of the columns of a matrix: lanes side by side read side by side, rows of a block meet in shared memory.
__global__ void column_sums(const short* matrix, int* sums, int rows, int columns) {
    __shared__ int parts[8][33];
    int column = blockIdx.x * 32 + threadIdx.x;
    int sum = 0;
    if (column < columns) {
        for (int row = threadIdx.y; row < rows; row += 8) sum += matrix[row * columns + column];
    }
    parts[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < columns) {
        for (int i = 1; i < 8; ++i) sum += parts[i][threadIdx.x];
        sums[column] = sum;
    }
}

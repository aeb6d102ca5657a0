// Converts sorted row numbers of coordinates into row starts by bisection.
__device__ int lower_bound(const int* values, int n, int wanted) {
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (values[middle] < wanted) low = middle + 1;
        else high = middle;
    }
    return low;
}

__global__ void row_lengths(const int* sorted_rows, int* starts, int entries, int rows) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row <= rows) starts[row] = lower_bound(sorted_rows, entries, row);
}

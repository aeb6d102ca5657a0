// Each work-item walks over the array, a block sums its parts in a tree, one number per block.
__global__ void dot_product(const double* a, const double* b, double* partial, int n) {
    extern __shared__ double parts[];
    double sum = 0.0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += a[i] * b[i];
    parts[threadIdx.x] = sum;
    for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
        __syncthreads();
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = parts[0];
}

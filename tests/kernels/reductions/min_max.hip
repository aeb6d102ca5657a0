// Smallest and largest value of all, signed, by atomics that each block issues once.
__global__ void min_max(const int* values, int* smallest, int* largest, int n) {
    __shared__ int low, high;
    if (threadIdx.x == 0) {
        low = INT_MAX;
        high = INT_MIN;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        atomicMin(&low, values[i]);
        atomicMax(&high, values[i]);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicMin(smallest, low);
        atomicMax(largest, high);
    }
}

// 64-bit integer sum with one atomic per work-item.
__global__ void sum_atomic(const int* values, unsigned long long* total, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(total, (unsigned long long)(long long)values[i]);
}

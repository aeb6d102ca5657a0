// Entries of A B^T where a pattern has entries.
template <int DEPTH>
__global__ void sampled_product(const int* starts, const int* columns, const float* a, const float* b, float* out) {
    int row = blockIdx.x;
    __shared__ float mine[DEPTH];
    for (int i = threadIdx.x; i < DEPTH; i += blockDim.x) mine[i] = a[row * DEPTH + i];
    __syncthreads();
    for (int i = starts[row] + threadIdx.x; i < starts[row + 1]; i += blockDim.x) {
        float sum = 0.0f;
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) sum += mine[k] * b[columns[i] * DEPTH + k];
        out[i] = sum;
    }
}
template __global__ void sampled_product<24>(const int*, const int*, const float*, const float*, float*);

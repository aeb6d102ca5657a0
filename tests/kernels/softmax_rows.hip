#define THREADS 128

// A value of all threads of a block; the tree is used twice, so the ends are guarded as well.
__device__ float block_sum(float value, float* tree) {
    int t = threadIdx.x;
    tree[t] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) tree[t] += tree[t + s];
        __syncthreads();
    }
    float sum = tree[0];
    __syncthreads();
    return sum;
}

__device__ float block_max(float value, float* tree) {
    int t = threadIdx.x;
    tree[t] = value;
    __syncthreads();
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (t < s) tree[t] = fmaxf(tree[t], tree[t + s]);
        __syncthreads();
    }
    float largest = tree[0];
    __syncthreads();
    return largest;
}

// One block for each row.
__global__ void softmax_rows(const float* in, float* out, int columns) {
    __shared__ float tree[THREADS];
    const float* row = in + blockIdx.x * columns;
    float largest = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += THREADS) largest = fmaxf(largest, row[i]);
    largest = block_max(largest, tree);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += THREADS) sum += expf(row[i] - largest);
    sum = block_sum(sum, tree);
    for (int i = threadIdx.x; i < columns; i += THREADS) out[blockIdx.x * columns + i] = expf(row[i] - largest) / sum;
}

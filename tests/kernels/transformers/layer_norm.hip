template <int THREADS>
__device__ float block_sum(float value) {
    __shared__ float tree[THREADS];
    tree[threadIdx.x] = value;
    __syncthreads();
#pragma unroll
    for (int s = THREADS / 2; s > 0; s /= 2) {
        if (threadIdx.x < s) tree[threadIdx.x] += tree[threadIdx.x + s];
        __syncthreads();
    }
    float sum = tree[0];
    __syncthreads();
    return sum;
}

// (x - mean) / deviation * gain + bias, a block for each row; mean and deviation are kept for the way back.
__global__ void layer_norm(const float* in, const float* gain, const float* bias, float* out, float2* kept, int columns, float epsilon) {
    const float* row = in + blockIdx.x * columns;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) sum += row[i];
    float mean = block_sum<128>(sum) / columns;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 128) squares += (row[i] - mean) * (row[i] - mean);
    float inverse = rsqrtf(block_sum<128>(squares) / columns + epsilon);
    for (int i = threadIdx.x; i < columns; i += 128) out[blockIdx.x * columns + i] = (row[i] - mean) * inverse * gain[i] + bias[i];
    if (threadIdx.x == 0) kept[blockIdx.x] = make_float2(mean, inverse);
}

// A query for each block: scores in shared memory, softmax by one pass each, then the weighted values.
__global__ void attention_naive(const float* q, const float* k, const float* v, float* out, int keys, int width, float scale) {
    extern __shared__ float scores[];
    __shared__ float largest, sum;
    const float* query = q + blockIdx.x * width;
    for (int j = threadIdx.x; j < keys; j += blockDim.x) {
        float score = 0.0f;
        for (int d = 0; d < width; ++d) score += query[d] * k[j * width + d];
        scores[j] = score * scale;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        largest = scores[0];
        for (int j = 1; j < keys; ++j) largest = fmaxf(largest, scores[j]);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < keys; j += blockDim.x) scores[j] = expf(scores[j] - largest);
    __syncthreads();
    if (threadIdx.x == 0) {
        sum = 0.0f;
        for (int j = 0; j < keys; ++j) sum += scores[j];
    }
    __syncthreads();
    for (int d = threadIdx.x; d < width; d += blockDim.x) {
        float value = 0.0f;
        for (int j = 0; j < keys; ++j) value += scores[j] * v[j * width + d];
        out[blockIdx.x * width + d] = value / sum;
    }
}

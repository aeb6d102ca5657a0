// The residual is added, kept, and normalised in one go.
__global__ void rms_norm(float* residual, const float* added, const float* gain, float* out, int columns, float epsilon) {
    extern __shared__ float tree[];
    int t = threadIdx.x;
    float* row = residual + blockIdx.x * columns;
    float squares = 0.0f;
    for (int i = t; i < columns; i += blockDim.x) {
        float value = row[i] += added[blockIdx.x * columns + i];
        squares += value * value;
    }
    tree[t] = squares;
    __syncthreads();
    for (int s = blockDim.x >> 1; s; s >>= 1) {
        if (t < s) tree[t] += tree[t + s];
        __syncthreads();
    }
    float scale = 1.0f / sqrtf(tree[0] / columns + epsilon);
    for (int i = t; i < columns; i += blockDim.x) out[blockIdx.x * columns + i] = row[i] * scale * gain[i];
}

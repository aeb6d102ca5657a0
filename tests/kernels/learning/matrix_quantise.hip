// Rows to signed bytes with a scale for each: the largest magnitude becomes 127, halves are rounded to even.
__global__ void matrix_quantise(const float* in, signed char* out, float* scales, int columns) {
    __shared__ float largest[64];
    const float* row = in + blockIdx.x * columns;
    float mine = 0.0f;
    for (int i = threadIdx.x; i < columns; i += 64) mine = fmaxf(mine, fabsf(row[i]));
    largest[threadIdx.x] = mine;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (threadIdx.x < s) largest[threadIdx.x] = fmaxf(largest[threadIdx.x], largest[threadIdx.x + s]);
        __syncthreads();
    }
    float scale = largest[0] / 127.0f;
    for (int i = threadIdx.x; i < columns; i += 64) {
        float scaled = scale == 0.0f ? 0.0f : row[i] / scale;
        out[blockIdx.x * columns + i] = (signed char)fminf(fmaxf(rintf(scaled), -127.0f), 127.0f);
    }
    if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

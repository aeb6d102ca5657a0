// y = A x, a block for each row, four elements at a time where they are aligned.
__global__ void matvec_rows(const float* __restrict__ matrix, const float* __restrict__ x, float* __restrict__ y, int columns) {
    __shared__ float parts[64];
    const float4* row = reinterpret_cast<const float4*>(matrix + (size_t)blockIdx.x * columns);
    const float4* x4 = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
    for (int i = threadIdx.x; i < columns / 4; i += 64) {
        float4 a = row[i], b = x4[i];
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    parts[threadIdx.x] = sum;
    for (int s = 32; s > 0; s >>= 1) {
        __syncthreads();
        if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = parts[0];
}
